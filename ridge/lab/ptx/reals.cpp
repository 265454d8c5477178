// Arithmetic of floating-point numbers. Approximations are exact here, or nearly so.
#include <ridge/lab/ptx/reals.hpp>

#include <iterator>
#include <limits>

namespace ridge::lab::isa {
namespace {

// What .relu and .sat make of a result.
template <class T> T limited(const Step& s, T x) {
  if (s.relu && x < 0) x = 0;
  if (s.sat) x = x > 0 ? x < 1 ? x : T(1) : T(0);  // NaN: 0
  return flushed(s, x);
}

// The first operand = op(step, the others), element by element.
template <class F, std::size_t count, auto op> PtxAction run_real(PtxFrame& f, const Step& s) {
  std::uint64_t given[count], result = 0;
  for (std::size_t i = 0; i < count; ++i) given[i] = bits(f, s[i + 1]);
  for (int e = 0; e < F::elements; ++e) {
    typename F::Value x[count];
    for (std::size_t i = 0; i < count; ++i) x[i] = flushed(s, F::from(given[i] >> e * F::bits));
    const typename F::Value y = op(s, x);
    result |= F::to(limited(s, y), s.round) << e * F::bits;
  }
  put(f, s[0], result);
  return PtxAction::done;
}

template <std::size_t count, auto op> bool build(Parts& parts, Step& s) {
  s.ftz = parts.take("ftz");
  if (!take_only_type(parts, s) || s.groups.size() != count + 1 || s.arguments.size() != count + 1) return false;
  return with_real(s.type, [&]<class F>() { s.run = run_real<F, count, op>; });
}
// Arithmetic's: a rounding mode that need not be there, .sat, .relu.
template <std::size_t count, auto op> bool build_rounded(Parts& parts, Step& s) {
  take_rounding(parts, s);
  s.sat = parts.take("sat");
  s.relu = parts.take("relu");
  if (!build<count, op>(parts, s)) return false;
  return s.round == Round::nearest || s.type == Type::f32 || s.type == Type::f64;
}

// ---- sums and products ----------------------------------------------------------------------------------------------
// In a variable of its own, so that no fused multiply-add is formed.
template <class T> T rounded(T x) {
  volatile T stored = x;
  return stored;
}

constexpr auto plus = []<class T>(const Step& s, const T* x) {
  if (s.round == Round::nearest) return rounded(x[0] + x[1]);
  return with_round(s.round, [&]<Round mode>() { return lab::add<mode>(x[0], x[1]); });
};
constexpr auto minus = []<class T>(const Step& s, const T* x) {
  if (s.round == Round::nearest) return rounded(x[0] - x[1]);
  return with_round(s.round, [&]<Round mode>() { return lab::add<mode>(x[0], -x[1]); });
};
constexpr auto times = []<class T>(const Step& s, const T* x) {
  if (s.round == Round::nearest) return rounded(x[0] * x[1]);
  return with_round(s.round, [&]<Round mode>() { return lab::multiply<mode>(x[0], x[1]); });
};
constexpr auto times_plus = []<class T>(const Step& s, const T* x) {
  const bool is_small = bits_of(s.type) == 16 || s.type == Type::f16x2 || s.type == Type::bf16x2;
  if (is_small) return static_cast<T>(sum_to_odd(static_cast<double>(x[0]) * x[1], x[2]));
  if (s.round == Round::nearest) return std::fma(x[0], x[1], x[2]);
  return with_round(s.round, [&]<Round mode>() { return lab::multiply_add<mode>(x[0], x[1], x[2]); });
};
constexpr auto over = []<class T>(const Step& s, const T* x) {
  if (s.round == Round::nearest) return x[0] / x[1];
  return with_round(s.round, [&]<Round mode>() { return lab::divide<mode>(x[0], x[1]); });
};

// ---- the smaller and the greater ------------------------------------------------------------------------------------
// A NaN gives way, but not with .NaN; -0 is less than +0.
template <bool greater, class T> T chosen(const Step& s, T a, T b) {
  if (a != a || b != b) {
    if (s.nan || (a != a && b != b)) return std::numeric_limits<T>::quiet_NaN();
    return a != a ? b : a;
  }
  if (a == b) return std::signbit(a) == greater ? b : a;
  return (a < b) == greater ? b : a;
}
template <bool greater> bool build_chosen(Parts& parts, Step& s) {
  s.nan = parts.take("NaN");
  return build<2, []<class T>(const Step& step, const T* x) { return chosen<greater, T>(step, x[0], x[1]); }>(parts, s);
}

// ---- signs: of bits, whatever they are ------------------------------------------------------------------------------
template <bool negates> PtxAction run_sign(PtxFrame& f, const Step& s) {
  const unsigned width = bits_of(s.type);
  std::uint64_t signs = std::uint64_t(1) << (width - 1), x = bits(f, s[1]);
  if (s.type == Type::f16x2 || s.type == Type::bf16x2) signs |= 0x8000;
  if (s.type == Type::f32) x = bits_from(flushed(s, number<float>(x)));
  put(f, s[0], negates ? x ^ signs : x & ~signs);
  return PtxAction::done;
}
template <bool negates> bool build_sign(Parts& parts, Step& s) {
  s.ftz = parts.take("ftz");
  s.run = run_sign<negates>;
  return take_only_type(parts, s) && s.type >= Type::f16 && s.type != Type::tf32 && s.is({1, 1});
}
bool build_copysign(Parts& parts, Step& s) {
  return build<2, []<class T>(const Step&, const T* x) { return std::copysign(x[1], x[0]); }>(parts, s);
}

// ---- functions ------------------------------------------------------------------------------------------------------
// .approx, .full or a rounding mode.
bool take_accuracy(Parts& parts, Step& s) { return parts.take_any("approx", "full") || take_rounding(parts, s); }

template <std::size_t count, auto op> bool build_function(Parts& parts, Step& s) {
  return take_accuracy(parts, s) && build<count, op>(parts, s) && (bits_of(s.type) >= 32 || s.round == Round::nearest);
}
constexpr auto reciprocal = []<class T>(const Step& s, const T* x) {
  if (s.round == Round::nearest) return T(1) / x[0];
  return with_round(s.round, [&]<Round mode>() { return lab::divide<mode>(T(1), x[0]); });
};
constexpr auto root = []<class T>(const Step& s, const T* x) {
  if (s.round == Round::nearest) return std::sqrt(x[0]);
  return with_round(s.round, [&]<Round mode>() { return lab::square_root<mode>(x[0]); });
};
constexpr auto reciprocal_root = []<class T>(const Step&, const T* x) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(x[0])));
};
constexpr auto power_of_two = []<class T>(const Step&, const T* x) {
  return static_cast<T>(std::exp2(static_cast<double>(x[0])));
};
constexpr auto logarithm = []<class T>(const Step&, const T* x) {
  return static_cast<T>(std::log2(static_cast<double>(x[0])));
};
constexpr auto sine = []<class T>(const Step&, const T* x) {
  return static_cast<T>(std::sin(static_cast<double>(x[0])));
};
constexpr auto cosine = []<class T>(const Step&, const T* x) {
  return static_cast<T>(std::cos(static_cast<double>(x[0])));
};
constexpr auto tangent = []<class T>(const Step&, const T* x) {
  return static_cast<T>(std::tanh(static_cast<double>(x[0])));
};

constexpr Opcode all[] = {{"add", build_rounded<2, plus>},
                          {"sub", build_rounded<2, minus>},
                          {"mul", build_rounded<2, times>},
                          {"fma", build_rounded<3, times_plus>},
                          {"mad", build_rounded<3, times_plus>},
                          {"div", build_function<2, over>},
                          {"min", build_chosen<false>},
                          {"max", build_chosen<true>},
                          {"abs", build_sign<false>},
                          {"neg", build_sign<true>},
                          {"copysign", build_copysign},
                          {"rcp", build_function<1, reciprocal>},
                          {"sqrt", build_function<1, root>},
                          {"rsqrt", build_function<1, reciprocal_root>},
                          {"ex2", build_function<1, power_of_two>},
                          {"lg2", build_function<1, logarithm>},
                          {"sin", build_function<1, sine>},
                          {"cos", build_function<1, cosine>},
                          {"tanh", build_function<1, tangent>}};

}  // namespace

Opcodes float_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
