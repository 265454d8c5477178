// Bits: logic, shifts, fields, permutations, counts.
#include <ridge/lab/ptx/program.hpp>

#include <algorithm>
#include <bit>
#include <iterator>

namespace ridge::lab::isa {
namespace {

using std::uint32_t;
using std::uint64_t;

// ---- logic ----------------------------------------------------------------------------------------------------------
template <auto op> bool logic(Step& s) {
  return s.is({1, 1, 1}) && with_bits(s.type, [&]<class T>() { s.run = run_binary<T, op>; });
}
bool build_and(Parts& parts, Step& s) {
  return take_only_type(parts, s) && logic<[](auto a, auto b) { return a & b; }>(s);
}
bool build_or(Parts& parts, Step& s) {
  return take_only_type(parts, s) && logic<[](auto a, auto b) { return a | b; }>(s);
}
bool build_xor(Parts& parts, Step& s) {
  return take_only_type(parts, s) && logic<[](auto a, auto b) { return a ^ b; }>(s);
}
bool build_not(Parts& parts, Step& s) {
  constexpr auto op = [](auto a) {
    if constexpr (std::same_as<decltype(a), bool>) return !a;
    else return ~a;
  };
  return take_only_type(parts, s) && s.is({1, 1}) && with_bits(s.type, [&]<class T>() { s.run = run_unary<T, op>; });
}
bool build_cnot(Parts& parts, Step& s) {
  return take_only_type(parts, s) && unary<[](auto a) { return a == 0; }>(s);
}

PtxAction run_lop3(PtxFrame& f, const Step& s) {
  const auto a = get<uint32_t>(f, s, 1), b = get<uint32_t>(f, s, 2), c = get<uint32_t>(f, s, 3);
  const uint64_t table = bits(f, s[4]);
  uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row)
    if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  set(f, s, result);
  return PtxAction::done;
}
bool build_lop3(Parts& parts, Step& s) {
  s.run = run_lop3;
  return take_only_type(parts, s) && s.type == Type::b32 && s.is({1, 1, 1, 1, 1});
}

// ---- shifts: by as many bits as there are, or more, gives zero, or the sign -----------------------------------------
template <class T> PtxAction run_left(PtxFrame& f, const Step& s) {
  const auto by = get<uint32_t>(f, s, 2);
  set<T>(f, s, by >= 8 * sizeof(T) ? T(0) : static_cast<T>(bits(f, s[1]) << by));
  return PtxAction::done;
}
template <class T> PtxAction run_right(PtxFrame& f, const Step& s) {
  const T x = get<T>(f, s, 1);
  const auto by = get<uint32_t>(f, s, 2);
  if (by >= 8 * sizeof(T)) set<T>(f, s, static_cast<T>(x < 0 ? ~T(0) : T(0)));
  else set<T>(f, s, static_cast<T>(x >> by));
  return PtxAction::done;
}
bool build_left(Parts& parts, Step& s) {
  return take_only_type(parts, s) && s.is({1, 1, 1}) && with_integer(s.type, [&]<class T>() {
           if constexpr (sizeof(T) > 1) s.run = run_left<T>;
         });
}
bool build_right(Parts& parts, Step& s) {
  return take_only_type(parts, s) && s.is({1, 1, 1}) && with_integer(s.type, [&]<class T>() {
           if constexpr (sizeof(T) > 1) s.run = run_right<T>;
         });
}

// shf: 32 bits of a pair {b, a}, a being the lower one.
template <bool left> PtxAction run_funnel(PtxFrame& f, const Step& s) {
  const uint64_t pair = bits(f, s[2]) << 32 | get<uint32_t>(f, s, 1);
  const auto given = get<uint32_t>(f, s, 3);
  const uint32_t by = s.detail ? given & 31 : std::min(given, 32u);
  set(f, s, static_cast<uint32_t>(left ? pair << by >> 32 : pair >> by));
  if (left && by == 32) set(f, s, static_cast<uint32_t>(pair));
  return PtxAction::done;
}
bool build_funnel(Parts& parts, Step& s) {
  const bool left = parts.take("l");
  if (!left && !parts.take("r")) return false;
  s.detail = parts.take("wrap");
  if (!s.detail && !parts.take("clamp")) return false;
  s.run = left ? run_funnel<true> : run_funnel<false>;
  return take_only_type(parts, s) && s.type == Type::b32 && s.is({1, 1, 1, 1});
}

// ---- fields ---------------------------------------------------------------------------------------------------------
template <class T> PtxAction run_extract(PtxFrame& f, const Step& s) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned all = 8 * sizeof(T);
  const auto x = static_cast<U>(get<T>(f, s, 1));
  const unsigned from = bits(f, s[2]) & 0xff, length = bits(f, s[3]) & 0xff;
  const unsigned top = std::min(from + length - 1, all - 1);
  const bool sign = std::is_signed_v<T> && length != 0 && (x >> top & 1) != 0;
  U result = from < all ? static_cast<U>(x >> from) : U(0);
  const unsigned got = std::min(length, from < all ? all - from : 0);
  if (got < all) result = static_cast<U>((result & ~(~U(0) << got)) | (sign ? ~U(0) << got : U(0)));
  set<T>(f, s, static_cast<T>(result));
  return PtxAction::done;
}
bool build_extract(Parts& parts, Step& s) {
  return take_only_type(parts, s) && s.is({1, 1, 1, 1}) && with_integer(s.type, [&]<class T>() {
           if constexpr (sizeof(T) >= 4) s.run = run_extract<T>;
         });
}

template <class T> PtxAction run_insert(PtxFrame& f, const Step& s) {
  constexpr unsigned all = 8 * sizeof(T);
  const T field = get<T>(f, s, 1), into = get<T>(f, s, 2);
  const unsigned to = bits(f, s[3]) & 0xff, length = std::min<unsigned>(bits(f, s[4]) & 0xff, all);
  const T mask = to >= all ? T(0) : static_cast<T>((length == all ? ~T(0) : ~(~T(0) << length)) << to);
  set<T>(f, s, static_cast<T>((into & ~mask) | (to >= all ? T(0) : static_cast<T>(field << to) & mask)));
  return PtxAction::done;
}
bool build_insert(Parts& parts, Step& s) {
  if (!take_only_type(parts, s) || !s.is({1, 1, 1, 1, 1})) return false;
  if (s.type == Type::b32) s.run = run_insert<uint32_t>;
  if (s.type == Type::b64) s.run = run_insert<uint64_t>;
  return s.run != nullptr;
}

// ---- permutations ---------------------------------------------------------------------------------------------------
uint64_t reversed(uint64_t x) {  // the first bit becomes the last
  uint64_t result = 0;
  for (int i = 0; i < 64; ++i) result |= (x >> i & 1) << (63 - i);
  return result;
}
bool build_reverse(Parts& parts, Step& s) {
  constexpr auto op = [](auto a) { return reversed(static_cast<uint64_t>(a) << (64 - 8 * sizeof(a))); };
  return take_only_type(parts, s) && unary<op>(s);
}

// Bytes of b:a by a selector of four digits; a digit's top bit asks for the byte's sign.
PtxAction run_permute(PtxFrame& f, const Step& s) {
  const uint64_t bytes = bits(f, s[2]) << 32 | get<uint32_t>(f, s, 1), selector = bits(f, s[3]);
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned digit = selector >> 4 * i & 15;
    auto byte = static_cast<std::uint8_t>(bytes >> 8 * (digit & 7));
    if (digit & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= static_cast<uint32_t>(byte) << 8 * i;
  }
  set(f, s, result);
  return PtxAction::done;
}
bool build_permute(Parts& parts, Step& s) {
  s.run = run_permute;
  return take_only_type(parts, s) && s.type == Type::b32 && s.is({1, 1, 1, 1});
}

// ---- counts: of 32 bits, whatever the operand -----------------------------------------------------------------------
template <class T, auto count> PtxAction run_count(PtxFrame& f, const Step& s) {
  set(f, s, static_cast<uint32_t>(count(get<T>(f, s, 1))));
  return PtxAction::done;
}
template <auto count> bool build_count(Parts& parts, Step& s) {
  if (!take_only_type(parts, s) || !s.is({1, 1})) return false;
  if (s.type == Type::b32) s.run = run_count<uint32_t, count>;
  if (s.type == Type::b64) s.run = run_count<uint64_t, count>;
  return s.run != nullptr;
}

// The highest bit that is not the sign; with .shiftamt how far it is from the top.
template <class T> PtxAction run_find(PtxFrame& f, const Step& s) {
  using U = std::make_unsigned_t<T>;
  const T x = get<T>(f, s, 1);
  const auto u = static_cast<U>(x < 0 ? ~x : x);
  const int zeros = std::countl_zero(u), top = static_cast<int>(8 * sizeof(T)) - 1;
  set(f, s, u == 0 ? ~uint32_t(0) : static_cast<uint32_t>(s.detail ? zeros : top - zeros));
  return PtxAction::done;
}
bool build_find(Parts& parts, Step& s) {
  s.detail = parts.take("shiftamt");
  return take_only_type(parts, s) && s.is({1, 1}) && with_integer(s.type, [&]<class T>() {
           if constexpr (sizeof(T) >= 4) s.run = run_find<T>;
         });
}

constexpr Opcode all[] = {{"and", build_and},
                          {"or", build_or},
                          {"xor", build_xor},
                          {"not", build_not},
                          {"cnot", build_cnot},
                          {"lop3", build_lop3},
                          {"shl", build_left},
                          {"shr", build_right},
                          {"shf", build_funnel},
                          {"bfe", build_extract},
                          {"bfi", build_insert},
                          {"brev", build_reverse},
                          {"prmt", build_permute},
                          {"popc", build_count<[](auto x) { return std::popcount(x); }>},
                          {"clz", build_count<[](auto x) { return std::countl_zero(x); }>},
                          {"bfind", build_find}};

}  // namespace

Opcodes bit_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
