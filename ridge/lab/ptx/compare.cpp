// Comparisons, and the choice between two operands.
#include <ridge/lab/ptx/reals.hpp>

#include <array>
#include <iterator>
#include <optional>

namespace ridge::lab::isa {
namespace {

enum class Test : unsigned char { eq, ne, lt, le, gt, ge, num, nan };

struct NamedTest {
  std::string_view name;
  Test test;
  bool or_nan, is_unsigned;
};
constexpr std::array<NamedTest, 18> tests{{{"eq", Test::eq, false, false},
                                           {"ne", Test::ne, false, false},
                                           {"lt", Test::lt, false, false},
                                           {"le", Test::le, false, false},
                                           {"gt", Test::gt, false, false},
                                           {"ge", Test::ge, false, false},
                                           {"lo", Test::lt, false, true},
                                           {"ls", Test::le, false, true},
                                           {"hi", Test::gt, false, true},
                                           {"hs", Test::ge, false, true},
                                           {"equ", Test::eq, true, false},
                                           {"neu", Test::ne, true, false},
                                           {"ltu", Test::lt, true, false},
                                           {"leu", Test::le, true, false},
                                           {"gtu", Test::gt, true, false},
                                           {"geu", Test::ge, true, false},
                                           {"num", Test::num, false, false},
                                           {"nan", Test::nan, false, false}}};

template <class T> bool holds(const Step& s, T a, T b) {
  const bool unordered = a != a || b != b;
  const auto test = static_cast<Test>(s.detail);
  if (unordered) return test == Test::nan || (s.nan && test != Test::num);
  switch (test) {
    case Test::eq: return a == b;
    case Test::ne: return a != b;
    case Test::lt: return a < b;
    case Test::le: return a <= b;
    case Test::gt: return a > b;
    case Test::ge: return a >= b;
    case Test::num: return true;
    case Test::nan: return false;
  }
  return false;
}

// How .and, .or, .xor combine the result with a predicate. Of setp's p|q, the second is made of the opposite result.
enum Combine : unsigned char { alone, with_and, with_or, with_xor };
bool combined(const Step& s, bool result, bool with) {
  if (s.width == with_and) return result && with;
  if (s.width == with_or) return result || with;
  if (s.width == with_xor) return result != with;
  return result;
}
void conclude(PtxFrame& f, const Step& s, bool result) {
  const std::size_t outputs = s.groups[0];
  const bool with = s.width != alone && bits(f, s[outputs + 2]) != 0;
  put(f, s[0], combined(s, result, with));
  if (outputs == 2) put(f, s[1], combined(s, !result, with));
}
template <class T> PtxAction run_integer(PtxFrame& f, const Step& s) {
  const std::size_t first = s.groups[0];
  conclude(f, s, holds(s, get<T>(f, s, first), get<T>(f, s, first + 1)));
  return PtxAction::done;
}
template <class F> PtxAction run_real(PtxFrame& f, const Step& s) {
  const std::size_t first = s.groups[0];
  const auto a = flushed(s, F::from(bits(f, s[first]))), b = flushed(s, F::from(bits(f, s[first + 1])));
  conclude(f, s, holds(s, a, b));
  return PtxAction::done;
}

// set: all ones, or 1.0, if the comparison holds.
template <class T> PtxAction run_set(PtxFrame& f, const Step& s) {
  const auto [a, b] = [&] {
    if constexpr (std::is_class_v<T>)
      return std::pair(flushed(s, T::from(bits(f, s[1]))), flushed(s, T::from(bits(f, s[2]))));
    else return std::pair(get<T>(f, s, 1), get<T>(f, s, 2));
  }();
  const bool result = combined(s, holds(s, a, b), s.width != alone && bits(f, s[3]) != 0);
  const std::uint64_t yes = s.type == Type::f32 ? bits_from(1.0f) : is_signed(s.type) ? ~std::uint64_t(0) : 0xffffffffu;
  put(f, s[0], result ? yes : 0);
  return PtxAction::done;
}

std::optional<NamedTest> take_test(Parts& parts) {
  for (const NamedTest& t : tests)
    if (parts.front() == t.name) {
      parts.take_front();
      return t;
    }
  return std::nullopt;
}

bool take_comparison(Parts& parts, Step& s) {
  const auto test = take_test(parts);
  if (!test) return false;
  s.detail = static_cast<unsigned char>(test->test);
  s.nan = test->or_nan;
  s.width = parts.take("and") ? with_and : parts.take("or") ? with_or : parts.take("xor") ? with_xor : alone;
  s.ftz = parts.take("ftz");
  return true;
}

bool build_setp(Parts& parts, Step& s) {
  if (!take_comparison(parts, s) || !take_only_type(parts, s)) return false;
  const std::size_t operands = s.width == alone ? 3 : 4;
  if (s.groups.size() != operands || s.arguments.size() != operands - 1 + s.groups[0] || s.groups[0] > 2) return false;
  if (s.type == Type::f16x2 || s.type == Type::bf16x2) return false;
  return with_integer(s.type, [&]<class T>() { s.run = run_integer<T>; }) ||
         with_real(s.type, [&]<class F>() { s.run = run_real<F>; });
}
bool build_set(Parts& parts, Step& s) {
  if (!take_comparison(parts, s)) return false;
  s.type = parts.take_type();
  s.from = parts.take_type();
  if (!parts.empty() || !(s.width == alone ? s.is({1, 1, 1}) : s.is({1, 1, 1, 1}))) return false;
  if ((s.type != Type::f32 && bits_of(s.type) != 32) || s.from == Type::f16x2 || s.from == Type::bf16x2) return false;
  return with_integer(s.from, [&]<class T>() { s.run = run_set<T>; }) ||
         with_real(s.from, [&]<class F>() { s.run = run_set<F>; });
}

// ---- choices --------------------------------------------------------------------------------------------------------
PtxAction run_choice(PtxFrame& f, const Step& s) {
  put(f, s[0], bits(f, s[bits(f, s[3]) != 0 ? 1 : 2]));
  return PtxAction::done;
}
bool build_choice(Parts& parts, Step& s) {
  s.run = run_choice;
  return take_only_type(parts, s) && s.type != Type::pred && s.is({1, 1, 1, 1});
}
// By the third operand's sign.
PtxAction run_choice_by_sign(PtxFrame& f, const Step& s) {
  const std::uint64_t by = bits(f, s[3]);
  const bool first = s.detail ? flushed(s, number<float>(by)) >= 0 : number<std::int32_t>(by) >= 0;
  put(f, s[0], bits(f, s[first ? 1 : 2]));
  return PtxAction::done;
}
bool build_choice_by_sign(Parts& parts, Step& s) {
  s.ftz = parts.take("ftz");
  s.type = parts.take_type();
  const Type by = parts.take_type();
  s.detail = by == Type::f32;
  s.run = run_choice_by_sign;
  return s.type != Type::none && (by == Type::f32 || by == Type::s32) && s.is({1, 1, 1, 1});
}

constexpr Opcode all[] = {
    {"setp", build_setp}, {"set", build_set}, {"selp", build_choice}, {"slct", build_choice_by_sign}};

}  // namespace

Opcodes compare_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
