// cvt: between integers and floating point, and within each.
#include <ridge/lab/ptx/reals.hpp>

#include <algorithm>
#include <iterator>
#include <limits>

namespace ridge::lab::isa {
namespace {

__extension__ typedef __int128 Long;

template <class To, class From> PtxAction integer_to_integer(PtxFrame& f, const Step& s) {
  const From x = get<From>(f, s, 1);
  constexpr Long least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
  set<To>(f, s, static_cast<To>(s.sat ? std::clamp<Long>(x, least, most) : Long{x}));
  return PtxAction::done;
}

template <class To, class From> PtxAction real_to_integer(PtxFrame& f, const Step& s) {
  using Value = std::conditional_t<std::same_as<From, F64>, double, float>;
  const auto x = flushed(s, static_cast<Value>(From::from(bits(f, s[1]))));
  set<To>(f, s, to_integer<To>(x, s.round));
  return PtxAction::done;
}

// .sat and .relu of a floating-point result.
double limited(const Step& s, double x) {
  if (s.relu) x = x > 0 ? x : x != x ? x : 0;
  if (s.sat) x = x > 0 ? std::min(x, 1.0) : 0;
  return x;
}

template <class To, class From> PtxAction integer_to_real(PtxFrame& f, const Step& s) {
  const From x = get<From>(f, s, 1);
  if constexpr (To::bits == 16) put(f, s[0], To::to(limited(s, integer_to_odd(x)), s.round));
  else {
    using Value = typename To::Value;
    const Value y = narrow<Value, Quad>({static_cast<Quad>(x)}, s.round);
    put(f, s[0], To::to(static_cast<Value>(limited(s, static_cast<double>(y))), s.round));
  }
  return PtxAction::done;
}

// Every float is a double.
template <class To> std::uint64_t rounded(const Step& s, double x) {
  if constexpr (std::same_as<To, F32>) return bits_from(flushed(s, narrow<float, double>({x}, s.round)));
  else return To::to(x, s.round);
}
template <class To, class From> PtxAction real_to_real(PtxFrame& f, const Step& s) {
  double x = static_cast<double>(flushed(s, From::from(bits(f, s[1]))));
  if (s.whole) x = to_whole(x, s.round);
  put(f, s[0], rounded<To>(s, limited(s, x)));
  return PtxAction::done;
}
// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
template <class To> PtxAction two_reals(PtxFrame& f, const Step& s) {
  const auto half = [&](std::size_t i) { return To::to(limited(s, flushed(s, get<float>(f, s, i))), s.round); };
  const std::uint64_t upper = half(1), lower = half(2);
  put(f, s[0], upper << 16 | lower);
  return PtxAction::done;
}

// TF32 is a float without its lower 13 bits.
PtxAction to_tf32(PtxFrame& f, const Step& s) {
  constexpr unsigned infinity = 0x7f800000, cut = 13;
  auto x = get<std::uint32_t>(f, s, 1);
  if (s.relu && x >> 31) x = 0;
  if ((x & infinity) != infinity) {
    if (s.detail) x += 1u << (cut - 1);  // .rna: half-way away from zero
    else if (s.round == Round::nearest) x += (1u << (cut - 1)) - 1 + (x >> cut & 1);
    x = x >> cut << cut;
  }
  set(f, s, x);
  return PtxAction::done;
}

bool take_whole(Parts& parts, Step& s) {
  if (parts.take("rni")) s.round = Round::nearest;
  else if (parts.take("rzi")) s.round = Round::zero;
  else if (parts.take("rmi")) s.round = Round::down;
  else if (parts.take("rpi")) s.round = Round::up;
  else return false;
  return true;
}

bool is_single(Type t) { return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64; }
template <class F> bool with_single(Type t, F f) { return is_single(t) && with_real(t, f); }

bool build_convert(Parts& parts, Step& s) {
  const bool away = parts.take("rna");
  s.whole = take_whole(parts, s);
  if (!s.whole) take_rounding(parts, s);
  s.ftz = parts.take("ftz");
  s.sat = parts.take("sat");
  s.relu = parts.take("relu");
  s.type = parts.take_type();
  s.from = parts.take_type();
  if (!parts.empty()) return false;
  if (s.type == Type::tf32) {
    s.detail = away;
    s.run = to_tf32;
    return s.from == Type::f32 && s.is({1, 1});
  }
  if (away) return false;
  if (s.type == Type::f16x2 || s.type == Type::bf16x2) {
    if (s.type == Type::f16x2) s.run = two_reals<Small<Binary16, 1>>;
    else s.run = two_reals<Small<Brain16, 1>>;
    return s.from == Type::f32 && s.is({1, 1, 1});
  }
  if (!s.is({1, 1})) return false;
  const bool to_int = is_integer(s.type), from_int = is_integer(s.from);
  if (to_int && from_int)
    return with_integer(
        s.type, [&]<class To>() { with_integer(s.from, [&]<class From>() { s.run = integer_to_integer<To, From>; }); });
  if (to_int)
    return s.whole && with_integer(s.type, [&]<class To>() {
             with_single(s.from, [&]<class From>() { s.run = real_to_integer<To, From>; });
           });
  if (from_int)
    return with_single(
        s.type, [&]<class To>() { with_integer(s.from, [&]<class From>() { s.run = integer_to_real<To, From>; }); });
  return with_single(s.type,
                     [&]<class To>() { with_single(s.from, [&]<class From>() { s.run = real_to_real<To, From>; }); });
}

constexpr Opcode all[] = {{"cvt", build_convert}};

}  // namespace

Opcodes convert_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
