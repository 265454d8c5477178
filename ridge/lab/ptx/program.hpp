// A parsed asm statement: steps that compute on the frame's registers.
//
// A register has 64 bits: an unsigned number extended by zeros, a signed one by its sign, a float's bits, or a
// predicate, 0 or 1. Whoever reads one as a type takes the type's low bits.
#pragma once
#include <ridge/lab/ptx/frame.hpp>
#include <ridge/lab/rounding.hpp>

#include <bit>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ridge::lab::isa {

enum class Type : unsigned char {
  none,
  pred,
  b4,
  b8,
  b16,
  b32,
  b64,
  b128,
  u4,
  u8,
  u16,
  u32,
  u64,
  s4,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64
};
Type type_named(std::string_view);  // or none
unsigned bits_of(Type);
constexpr bool is_signed(Type t) { return t >= Type::s4 && t <= Type::s64; }
constexpr bool is_integer(Type t) { return t >= Type::b8 && t <= Type::s64 && t != Type::b128; }

enum class Space : unsigned char { generic, shared, global };

// ---- operands ------------------------------------------------------------------------------------------------------
struct Argument {
  enum class Kind : unsigned char { sink, reg, constant, real, special, address };
  Kind kind = Kind::sink;
  bool negated = false;  // !p
  bool is_predicate = false;
  bool has_base = false;  // of an address: a register, and another one
  bool has_second = false;
  unsigned char base = 0, second = 0;  // registers; or the number of a special one
  std::uint64_t value = 0;             // a constant, a double's bits, an address's offset
};

std::uint64_t special_register(unsigned number);
int special_named(std::string_view);  // -1: there is none

inline std::uint64_t& register_of(const PtxFrame& f, unsigned number) {
  return number < f.operands ? f.registers[number] : f.own[number - f.operands];
}
inline std::uint64_t bits(const PtxFrame& f, const Argument& a) {
  using Kind = Argument::Kind;
  switch (a.kind) {
    case Kind::reg: return a.negated ? register_of(f, a.base) == 0 : register_of(f, a.base);
    case Kind::special: return special_register(a.base);
    case Kind::address:
      return a.value + (a.has_base ? register_of(f, a.base) : 0) + (a.has_second ? register_of(f, a.second) : 0);
    default: return a.value;
  }
}
inline void put(PtxFrame& f, const Argument& a, std::uint64_t value) {
  if (a.kind == Argument::Kind::reg) register_of(f, a.base) = value;
}

// As a number of C++.
template <class T> T number(std::uint64_t bits) {
  if constexpr (std::same_as<T, float>) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (std::same_as<T, double>) return std::bit_cast<double>(bits);
  else return static_cast<T>(bits);
}
template <class T> std::uint64_t bits_from(T x) {
  if constexpr (std::same_as<T, float>) return std::bit_cast<std::uint32_t>(x);
  else if constexpr (std::same_as<T, double>) return std::bit_cast<std::uint64_t>(x);
  else return static_cast<std::uint64_t>(x);  // sign and all
}

// ---- steps ---------------------------------------------------------------------------------------------------------
struct Step {
  PtxAction (*run)(PtxFrame&, const Step&) = nullptr;
  void (*finish)(PtxFrame&, const Step&) = nullptr;  // after an action
  std::uint64_t (*update)(PtxFrame&, const Step&, std::uint64_t) = nullptr;

  std::vector<Argument> arguments;
  std::vector<unsigned char> groups;  // how many arguments each operand has: {a, b} is two
  bool guarded = false;
  Argument guard;

  Type type = Type::none, from = Type::none;  // the result's, and the operands' where it is another
  Type b = Type::none, c = Type::none;        // of mma's operands
  Space space = Space::generic;
  Round round = Round::nearest;
  bool ftz = false, sat = false, relu = false, nan = false, whole = false, carries_in = false, carries_out = false;
  bool orders = false;
  unsigned char width = 1;   // of a vector, in elements
  unsigned char detail = 0;  // what one kind of step has besides
  std::string spelled;       // for sentences

  bool is(std::initializer_list<int> sizes) const;  // of the groups
  const Argument& operator[](std::size_t i) const { return arguments[i]; }
};

struct Program {
  static constexpr unsigned most_own = 128;  // registers

  std::vector<Step> steps;
  std::vector<std::string> names;  // of the operands; none if none has one
  unsigned operands = 0, registers = 0;
  std::string refused, why;  // the instruction that is not emulated, if there is one
};

std::unique_ptr<Program> parse(const char* instructions, const PtxOperand* operands, unsigned count);

// ---- from an instruction's name to what it does --------------------------------------------------------------------
// The parts of a name after the first: add.rn.f32. A builder takes those that it knows; what is left is not emulated.
class Parts {
 public:
  explicit Parts(std::vector<std::string_view> parts) : left_(std::move(parts)) {}
  bool take(std::string_view part);
  template <class... More> bool take_any(More... parts) { return (static_cast<int>(take(parts)) + ...) > 0; }
  bool take_beginning(std::string_view with);  // one that begins so
  Type take_type();                            // the first one that is a type, or none
  std::string_view front() const { return left_.empty() ? std::string_view() : left_.front(); }
  void take_front() { left_.erase(left_.begin()); }
  bool empty() const { return left_.empty(); }

 private:
  std::vector<std::string_view> left_;
};

// Thrown by a builder that knows why not.
struct Refusal {
  const char* why;
};

struct Opcode {
  std::string_view name;
  bool (*build)(Parts&, Step&);  // false: the instruction is of another kind, or is not known
};
struct Opcodes {
  const Opcode* first;
  std::size_t count;
};
Opcodes move_opcodes();
Opcodes integer_opcodes();
Opcodes bit_opcodes();
Opcodes float_opcodes();
Opcodes convert_opcodes();
Opcodes compare_opcodes();
Opcodes memory_opcodes();
Opcodes copy_opcodes();
Opcodes warp_opcodes();
Opcodes barrier_opcodes();
Opcodes matrix_opcodes();

// Calls f<T>() with the integer type of C++.
template <class F> bool with_integer(Type t, F f) {
  switch (t) {
    case Type::b8:
    case Type::u8: f.template operator()<std::uint8_t>(); return true;
    case Type::b16:
    case Type::u16: f.template operator()<std::uint16_t>(); return true;
    case Type::b32:
    case Type::u32: f.template operator()<std::uint32_t>(); return true;
    case Type::b64:
    case Type::u64: f.template operator()<std::uint64_t>(); return true;
    case Type::s8: f.template operator()<std::int8_t>(); return true;
    case Type::s16: f.template operator()<std::int16_t>(); return true;
    case Type::s32: f.template operator()<std::int32_t>(); return true;
    case Type::s64: f.template operator()<std::int64_t>(); return true;
    default: return false;
  }
}

// The same for predicates as well.
template <class F> bool with_bits(Type t, F f) {
  if (t != Type::pred) return with_integer(t, f);
  f.template operator()<bool>();
  return true;
}

template <class T> T get(const PtxFrame& f, const Step& s, std::size_t i) { return number<T>(bits(f, s[i])); }
template <class T> void set(PtxFrame& f, const Step& s, T x) { put(f, s[0], bits_from(x)); }

// The first operand = op(the others), all of type T.
template <class T, auto op> PtxAction run_unary(PtxFrame& f, const Step& s) {
  set<T>(f, s, static_cast<T>(op(get<T>(f, s, 1))));
  return PtxAction::done;
}
template <class T, auto op> PtxAction run_binary(PtxFrame& f, const Step& s) {
  set<T>(f, s, static_cast<T>(op(get<T>(f, s, 1), get<T>(f, s, 2))));
  return PtxAction::done;
}
template <auto op> bool unary(Step& s) {
  return s.is({1, 1}) && with_integer(s.type, [&]<class T>() { s.run = run_unary<T, op>; });
}
template <auto op> bool binary(Step& s) {
  return s.is({1, 1, 1}) && with_integer(s.type, [&]<class T>() { s.run = run_binary<T, op>; });
}

// Whether the name has exactly one type, and nothing else.
bool take_only_type(Parts&, Step&);

}  // namespace ridge::lab::isa
