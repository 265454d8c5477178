// Arithmetic of integers.
#include <ridge/lab/ptx/program.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace ridge::lab::isa {
namespace {

__extension__ typedef __int128 Long;
__extension__ typedef unsigned __int128 UnsignedLong;
using std::uint64_t;

// The carry of add.cc, for a later statement as well. A thread leaves no others between that would change it.
thread_local bool carry = false;

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> constexpr unsigned width = 8 * sizeof(T);

// ---- sums -----------------------------------------------------------------------------------------------------------
// a + b, a - b and their forms with a carry; `minus` is subtraction, whose carry is a borrow.
template <class T, bool minus> T sum(const Step& s, T a, T b) {
  const auto x = static_cast<UnsignedLong>(static_cast<Unsigned<T>>(a));
  const auto y = static_cast<UnsignedLong>(static_cast<Unsigned<T>>(b)) + (s.carries_in && carry);
  const UnsignedLong result = minus ? x - y : x + y;
  if (s.carries_out) carry = (result >> width<T> & 1) != 0;
  return static_cast<T>(result);
}
template <class T, bool minus> T saturated_sum(T a, T b) {
  const Long result = minus ? Long{a} - b : Long{a} + b;
  return static_cast<T>(std::clamp<Long>(result, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
template <class T, bool minus> PtxAction run_sum(PtxFrame& f, const Step& s) {
  const T a = get<T>(f, s, 1), b = get<T>(f, s, 2);
  set<T>(f, s, s.sat ? saturated_sum<T, minus>(a, b) : sum<T, minus>(s, a, b));
  return PtxAction::done;
}

template <bool minus, bool carried> bool build_sum(Parts& parts, Step& s) {
  s.carries_in = carried;
  s.carries_out = parts.take("cc");
  s.sat = parts.take("sat");
  if (!take_only_type(parts, s) || !is_integer(s.type) || bits_of(s.type) < 16) return false;
  if (s.sat && s.type != Type::s32) return false;
  return s.is({1, 1, 1}) && with_integer(s.type, [&]<class T>() { s.run = run_sum<T, minus>; });
}

// ---- products -------------------------------------------------------------------------------------------------------
enum Half : unsigned char { low, high, both };

template <class T> Long product(T a, T b) {
  if constexpr (std::is_unsigned_v<T>) return static_cast<Long>(static_cast<UnsignedLong>(a) * b);
  else return static_cast<Long>(a) * b;
}
template <class T> PtxAction run_product(PtxFrame& f, const Step& s) {
  const Long exact = product(get<T>(f, s, 1), get<T>(f, s, 2));
  const bool adds = s.arguments.size() == 4;
  if (s.detail == both) {
    auto wide = static_cast<uint64_t>(exact) + (adds ? bits(f, s[3]) : 0);
    if constexpr (sizeof(T) == 2)
      wide = bits_from(number<std::conditional_t<std::is_signed_v<T>, int, unsigned>>(wide));
    put(f, s[0], wide);
    return PtxAction::done;
  }
  const T part =
      static_cast<T>(s.detail == high ? static_cast<Long>(static_cast<UnsignedLong>(exact) >> width<T>) : exact);
  if (!adds) set<T>(f, s, part);
  else set<T>(f, s, s.sat ? saturated_sum<T, false>(part, get<T>(f, s, 3)) : sum<T, false>(s, part, get<T>(f, s, 3)));
  return PtxAction::done;
}

template <bool adds, bool carried> bool build_product(Parts& parts, Step& s) {
  s.detail = parts.take("hi") ? high : parts.take("wide") ? both : low;
  if (s.detail == low && !parts.take("lo")) return false;
  s.carries_in = carried;
  s.carries_out = parts.take("cc");
  s.sat = parts.take("sat");
  if (!take_only_type(parts, s) || !is_integer(s.type) || bits_of(s.type) < 16) return false;
  if (s.detail == both && (bits_of(s.type) == 64 || s.carries_in || s.carries_out)) return false;
  if (!(adds ? s.is({1, 1, 1, 1}) : s.is({1, 1, 1}))) return false;
  return with_integer(s.type, [&]<class T>() { s.run = run_product<T>; });
}

// The low 24 bits of both.
template <class T> PtxAction run_product24(PtxFrame& f, const Step& s) {
  const auto cut = [&](std::size_t i) { return static_cast<T>(static_cast<T>(bits(f, s[i]) << 8) >> 8); };
  const Long exact = product<T>(cut(1), cut(2));
  const auto part = static_cast<uint64_t>(s.detail == high ? exact >> 16 : exact);
  set<T>(f, s, static_cast<T>(part + (s.arguments.size() == 4 ? bits(f, s[3]) : 0)));
  return PtxAction::done;
}
template <bool adds> bool build_product24(Parts& parts, Step& s) {
  s.detail = parts.take("hi") ? high : low;
  if (s.detail == low && !parts.take("lo")) return false;
  if (!take_only_type(parts, s) || !(adds ? s.is({1, 1, 1, 1}) : s.is({1, 1, 1}))) return false;
  if (s.type == Type::u32) s.run = run_product24<std::uint32_t>;
  if (s.type == Type::s32) s.run = run_product24<std::int32_t>;
  return s.run != nullptr;
}

// ---- the rest -------------------------------------------------------------------------------------------------------
bool take_integer(Parts& parts, Step& s) { return take_only_type(parts, s) && is_integer(s.type); }

// A device divides by zero too: the result has no meaning, and no consequence.
bool build_div(Parts& parts, Step& s) {
  return take_integer(parts, s) && binary<[](auto a, auto b) {
           using T = decltype(a);
           if (b == 0) return static_cast<T>(~T(0));
           return static_cast<T>(Long{a} / Long{b});
         }>(s);
}
bool build_rem(Parts& parts, Step& s) {
  return take_integer(parts, s) && binary<[](auto a, auto b) {
           using T = decltype(a);
           return b == 0 ? a : static_cast<T>(Long{a} % Long{b});
         }>(s);
}
bool build_min(Parts& parts, Step& s) {
  s.relu = parts.take("relu");
  if (!take_integer(parts, s)) return false;
  return s.relu ? binary<[](auto a, auto b) {
    return b < a ? (b < 0 ? decltype(b)(0) : b) : (a < 0 ? decltype(a)(0) : a);
  }>(s)
                : binary<[](auto a, auto b) { return b < a ? b : a; }>(s);
}
bool build_max(Parts& parts, Step& s) {
  s.relu = parts.take("relu");
  if (!take_integer(parts, s)) return false;
  return s.relu ? binary<[](auto a, auto b) {
    return a < b ? (b < 0 ? decltype(b)(0) : b) : (a < 0 ? decltype(a)(0) : a);
  }>(s)
                : binary<[](auto a, auto b) { return a < b ? b : a; }>(s);
}
bool build_abs(Parts& parts, Step& s) {
  return take_integer(parts, s) && is_signed(s.type) &&
         unary<[](auto a) { return a < 0 ? uint64_t(0) - static_cast<uint64_t>(a) : static_cast<uint64_t>(a); }>(s);
}
bool build_neg(Parts& parts, Step& s) {
  return take_integer(parts, s) && is_signed(s.type) &&
         unary<[](auto a) { return uint64_t(0) - static_cast<uint64_t>(a); }>(s);
}

template <class T> PtxAction run_sad(PtxFrame& f, const Step& s) {
  const T a = get<T>(f, s, 1), b = get<T>(f, s, 2);
  const Long apart = a < b ? Long{b} - a : Long{a} - b;
  set<T>(f, s, static_cast<T>(static_cast<uint64_t>(apart) + bits(f, s[3])));
  return PtxAction::done;
}
bool build_sad(Parts& parts, Step& s) {
  return take_integer(parts, s) && s.is({1, 1, 1, 1}) && with_integer(s.type, [&]<class T>() { s.run = run_sad<T>; });
}

// ---- four bytes -----------------------------------------------------------------------------------------------------
int byte_of(uint64_t word, int i, bool is_signed) {
  const auto byte = static_cast<std::uint8_t>(word >> 8 * i);
  return is_signed ? static_cast<std::int8_t>(byte) : byte;
}
PtxAction run_dp4a(PtxFrame& f, const Step& s) {
  uint64_t total = bits(f, s[3]);
  for (int i = 0; i < 4; ++i)
    total += static_cast<uint64_t>(
        std::int64_t{byte_of(bits(f, s[1]), i, s.type == Type::s32) * byte_of(bits(f, s[2]), i, s.from == Type::s32)});
  put(f, s[0], static_cast<std::uint32_t>(total));
  return PtxAction::done;
}
bool build_dp4a(Parts& parts, Step& s) {
  s.type = parts.take_type();
  s.from = parts.take_type();
  const auto is_word = [](Type t) { return t == Type::u32 || t == Type::s32; };
  s.run = run_dp4a;
  return is_word(s.type) && is_word(s.from) && s.is({1, 1, 1, 1});
}

// The differences of four bytes, or with .add their sum and c.
PtxAction run_vabsdiff4(PtxFrame& f, const Step& s) {
  std::uint32_t each = 0, total = static_cast<std::uint32_t>(bits(f, s[3]));
  for (int i = 0; i < 4; ++i) {
    const auto apart = static_cast<std::uint32_t>(
        std::abs(byte_of(bits(f, s[1]), i, is_signed(s.type)) - byte_of(bits(f, s[2]), i, is_signed(s.from))));
    each |= (apart & 0xff) << 8 * i;
    total += apart;
  }
  put(f, s[0], s.detail ? total : each);
  return PtxAction::done;
}
bool build_vabsdiff4(Parts& parts, Step& s) {
  const Type result = parts.take_type();
  s.type = parts.take_type();
  s.from = parts.take_type();
  s.detail = parts.take("add");
  const auto is_word = [](Type t) { return t == Type::u32 || t == Type::s32; };
  s.run = run_vabsdiff4;
  return is_word(result) && is_word(s.type) && is_word(s.from) && s.is({1, 1, 1, 1});
}

constexpr Opcode all[] = {{"add", build_sum<false, false>},
                          {"addc", build_sum<false, true>},
                          {"sub", build_sum<true, false>},
                          {"subc", build_sum<true, true>},
                          {"mul", build_product<false, false>},
                          {"mad", build_product<true, false>},
                          {"madc", build_product<true, true>},
                          {"mul24", build_product24<false>},
                          {"mad24", build_product24<true>},
                          {"div", build_div},
                          {"rem", build_rem},
                          {"min", build_min},
                          {"max", build_max},
                          {"abs", build_abs},
                          {"neg", build_neg},
                          {"sad", build_sad},
                          {"dp4a", build_dp4a},
                          {"vabsdiff4", build_vabsdiff4}};

}  // namespace

Opcodes integer_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
