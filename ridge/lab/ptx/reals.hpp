// Floating-point formats: how elements lie in a register, and the type in which C++ computes with them.
#pragma once
#include <ridge/lab/ptx/program.hpp>
#include <ridge/lab/small_float_functions.hpp>

#include <cmath>

namespace ridge::lab::isa {

// 16-bit numbers are computed in double, which rounds their sums and products as if once (small_float_functions.hpp).
struct F32 {
  using Value = float;
  static constexpr int elements = 1, bits = 32;
  static float from(std::uint64_t x) { return number<float>(x); }
  static std::uint64_t to(float x, Round) { return bits_from(x); }
};
struct F64 {
  using Value = double;
  static constexpr int elements = 1, bits = 64;
  static double from(std::uint64_t x) { return number<double>(x); }
  static std::uint64_t to(double x, Round) { return bits_from(x); }
};
template <class Format, int Elements> struct Small {
  using Value = double;
  static constexpr int elements = Elements, bits = 16;
  static double from(std::uint64_t x) { return Format::value(static_cast<std::uint16_t>(x)); }
  static std::uint64_t to(double x, Round mode) { return round_to<Format>(x, mode); }
};

template <class F> bool with_real(Type t, F f) {
  switch (t) {
    case Type::f32: f.template operator()<F32>(); return true;
    case Type::f64: f.template operator()<F64>(); return true;
    case Type::f16: f.template operator()<Small<Binary16, 1>>(); return true;
    case Type::f16x2: f.template operator()<Small<Binary16, 2>>(); return true;
    case Type::bf16: f.template operator()<Small<Brain16, 1>>(); return true;
    case Type::bf16x2: f.template operator()<Small<Brain16, 2>>(); return true;
    default: return false;
  }
}

// .ftz: what is too small for a normal float is zero.
template <class T> T flushed(const Step& s, T x) {
  if constexpr (std::same_as<T, float>)
    if (s.ftz && std::fabs(x) < 0x1p-126f) return std::copysign(0.0f, x);
  return x;
}

// .rn .rz .rm .rp
inline bool take_rounding(Parts& parts, Step& s) {
  if (parts.take("rn")) s.round = Round::nearest;
  else if (parts.take("rz")) s.round = Round::zero;
  else if (parts.take("rm")) s.round = Round::down;
  else if (parts.take("rp")) s.round = Round::up;
  else return false;
  return true;
}

// Calls f<mode>().
template <class F> auto with_round(Round mode, F f) {
  switch (mode) {
    case Round::zero: return f.template operator()<Round::zero>();
    case Round::down: return f.template operator()<Round::down>();
    case Round::up: return f.template operator()<Round::up>();
    default: return f.template operator()<Round::nearest>();
  }
}

}  // namespace ridge::lab::isa
