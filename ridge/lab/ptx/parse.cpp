// The text of an asm statement to steps. The compiler's own escapes come first: %0 and %[name] are operands, %% is %.
#include <ridge/lab/ptx/program.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

namespace ridge::lab::isa {
namespace {

// In the order of Type.
struct Named {
  std::string_view name;
  Type type;
  unsigned bits;
};
constexpr std::array<Named, 24> types{
    {{"pred", Type::pred, 1},      {"b4", Type::b4, 4},      {"b8", Type::b8, 8},        {"b16", Type::b16, 16},
     {"b32", Type::b32, 32},       {"b64", Type::b64, 64},   {"b128", Type::b128, 128},  {"u4", Type::u4, 4},
     {"u8", Type::u8, 8},          {"u16", Type::u16, 16},   {"u32", Type::u32, 32},     {"u64", Type::u64, 64},
     {"s4", Type::s4, 4},          {"s8", Type::s8, 8},      {"s16", Type::s16, 16},     {"s32", Type::s32, 32},
     {"s64", Type::s64, 64},       {"f16", Type::f16, 16},   {"f16x2", Type::f16x2, 32}, {"bf16", Type::bf16, 16},
     {"bf16x2", Type::bf16x2, 32}, {"tf32", Type::tf32, 32}, {"f32", Type::f32, 32},     {"f64", Type::f64, 64}}};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }

// ---- one instruction ------------------------------------------------------------------------------------------------
class Parser {
 public:
  Parser(std::string_view text, const PtxOperand* operands, unsigned count, Program& program)
      : text_(text), operands_(operands), program_(program) {
    program.operands = program.registers = count;
    scopes_.emplace_back();
  }

  void parse() {
    for (skip(); !at_end(); skip()) {
      begin_ = at_;
      if (take(';')) continue;
      if (take('{')) scopes_.emplace_back();
      else if (take('}')) close_scope();
      else if (peek() == '.') directive();
      else instruction();
    }
  }

  // The instruction that parsing has come to, on one line.
  std::string current() const {
    std::string line;
    for (char c : text_.substr(begin_, std::min(text_.find(';', begin_), text_.size()) - begin_)) {
      if (is_blank(c)) c = ' ';
      if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
  }

 private:
  // ---- characters ---------------------------------------------------------------------------------------------------
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip() {
    for (;;) {
      while (!at_end() && is_blank(peek())) ++at_;
      const std::string_view rest = text_.substr(std::min(at_, text_.size()));
      if (rest.starts_with("//")) at_ = std::min(text_.find('\n', at_), text_.size());
      else if (rest.starts_with("/*")) at_ = std::min(text_.find("*/", at_), text_.size() - 2) + 2;
      else return;
    }
  }
  bool take(char c) {
    skip();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) throw Refusal{"it cannot be read"};
  }
  // Letters, digits and what else names have: "ld.global.L1::no_allocate.f32" with `dotted`.
  std::string_view word(bool dotted) {
    skip();
    const std::size_t begin = at_;
    for (;; ++at_) {
      const bool colons = dotted && peek() == ':' && (peek(1) == ':' || (at_ > begin && text_[at_ - 1] == ':'));
      if (!is_letter(peek()) && !is_digit(peek()) && !(dotted && peek() == '.') && !colons) break;
    }
    if (at_ == begin) throw Refusal{"it cannot be read"};
    return text_.substr(begin, at_ - begin);
  }

  // ---- registers ----------------------------------------------------------------------------------------------------
  void close_scope() {
    if (scopes_.size() < 2) throw Refusal{"a brace is not opened"};
    scopes_.pop_back();
  }
  struct Own {
    unsigned number;
    bool is_predicate;
  };
  void declare(const std::string& name, bool is_predicate) {
    if (program_.registers - program_.operands >= Program::most_own) throw Refusal{"too many registers"};
    scopes_.back()[name] = {program_.registers++, is_predicate};
  }
  // .reg .b32 a, b<4>;
  void directive() {
    ++at_;
    if (word(false) != "reg") throw Refusal{"a directive"};
    bool is_predicate = false;
    while (take('.')) is_predicate = word(false) == "pred";
    do {
      const std::string name = register_name();
      if (take('<')) {
        const int count = std::atoi(std::string(word(false)).c_str());
        expect('>');
        for (int i = 0; i < count; ++i) declare(name + std::to_string(i), is_predicate);
      } else {
        declare(name, is_predicate);
      }
    } while (take(','));
    expect(';');
  }
  // "r1", or "%%r1" as the compiler's language has it.
  std::string register_name() {
    skip();
    std::string name;
    if (peek() == '%') {
      at_ += peek(1) == '%' ? 2 : 1;
      name = "%";
    }
    return name + std::string(word(false));
  }
  std::optional<Own> find(const std::string& name) const {
    for (std::size_t i = scopes_.size(); i-- > 0;)
      if (const auto found = scopes_[i].find(name); found != scopes_[i].end()) return found->second;
    return std::nullopt;
  }
  unsigned operand_named(std::string_view name) const {
    for (unsigned i = 0; operands_ && i < program_.operands; ++i)
      if (operands_[i].name && operands_[i].name == name) return i;
    throw Refusal{"an operand that the statement does not have"};
  }

  // A register of any kind.
  Argument reg() {
    Argument a{.kind = Argument::Kind::reg};
    skip();
    if (peek() == '%' && is_digit(peek(1))) {
      ++at_;
      unsigned number = 0;
      while (is_digit(peek())) number = number * 10 + static_cast<unsigned>(text_[at_++] - '0');
      if (number >= program_.operands) throw Refusal{"an operand that the statement does not have"};
      a.base = static_cast<unsigned char>(number);
      return a;
    }
    if (peek() == '%' && peek(1) == '[') {
      at_ += 2;
      a.base = static_cast<unsigned char>(operand_named(word(false)));
      expect(']');
      return a;
    }
    std::string name = register_name();
    if (const auto own = find(name)) {
      a.base = static_cast<unsigned char>(own->number);
      a.is_predicate = own->is_predicate;
      return a;
    }
    while (peek() == '.') {  // %tid.x
      ++at_;
      name += "." + std::string(word(false));
    }
    const int special = name.starts_with('%') ? special_named(name) : -1;
    if (special < 0) throw Refusal{"a name that it does not declare"};
    a.kind = Argument::Kind::special;
    a.base = static_cast<unsigned char>(special);
    return a;
  }

  // ---- operands -----------------------------------------------------------------------------------------------------
  bool at_number() const { return is_digit(peek()) || ((peek() == '-' || peek() == '+') && is_digit(peek(1))); }

  // 12, -1, 0x1f, 0b1, 7U; 1.5; 0f3F800000, 0d3FF0000000000000
  Argument constant() {
    const bool minus = peek() == '-';
    if (minus || peek() == '+') ++at_;
    const std::size_t begin = at_;
    const char kind = peek() == '0' ? peek(1) : '\0';
    const bool of_bits = kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D';
    const bool decimal = !of_bits && kind != 'x' && kind != 'X';
    bool real = false;
    for (; is_digit(peek()) || is_letter(peek()) || peek() == '.'; ++at_) {
      real = real || (decimal && (peek() == '.' || peek() == 'e' || peek() == 'E'));
      if (decimal && (peek() == 'e' || peek() == 'E') && (peek(1) == '-' || peek(1) == '+')) ++at_;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    Argument a{.kind = Argument::Kind::constant};
    if (of_bits) {
      a.value = std::strtoull(digits.c_str() + 2, nullptr, 16);
      if (kind == 'f' || kind == 'F') {
        if (minus) a.value ^= 0x80000000u;
      } else if (minus) {
        a.value ^= std::uint64_t(1) << 63;
      }
      return a;
    }
    if (real) {
      const double value = std::strtod(digits.c_str(), nullptr);
      a.kind = Argument::Kind::real;
      a.value = std::bit_cast<std::uint64_t>(minus ? -value : value);
      return a;
    }
    const bool binary = kind == 'b' || kind == 'B';
    a.value = std::strtoull(digits.c_str() + (binary ? 2 : 0), nullptr, binary ? 2 : 0);
    if (minus) a.value = 0 - a.value;
    return a;
  }

  // [a], [a + 16], [a + b], [16]
  Argument address() {
    Argument a{.kind = Argument::Kind::address};
    for (bool minus = false;; minus = false) {
      skip();
      if (!at_number()) {
        const Argument r = reg();
        if (r.kind != Argument::Kind::reg || minus || a.has_second) throw Refusal{"an address"};
        (a.has_base ? a.second : a.base) = r.base;
        (a.has_base ? a.has_second : a.has_base) = true;
      } else {
        const Argument offset = constant();
        a.value += offset.value;
      }
      if (take(']')) return a;
      skip();
      if (peek() == '-' && is_digit(peek(1))) continue;
      expect('+');
    }
  }

  Argument scalar() {
    skip();
    if (take('!')) {
      Argument a = reg();
      a.negated = true;
      return a;
    }
    if (at_number()) return constant();
    if (peek() == '_' && !is_letter(peek(1)) && !is_digit(peek(1))) {
      ++at_;
      return {};
    }
    return reg();
  }

  void operand(Step& s) {
    unsigned char count = 1;
    if (take('[')) {
      s.arguments.push_back(address());
    } else if (take('{')) {
      count = 0;
      do {
        s.arguments.push_back(scalar());
        ++count;
      } while (take(','));
      expect('}');
    } else {
      s.arguments.push_back(scalar());
      if (take('|')) {
        s.arguments.push_back(scalar());
        count = 2;
      }
    }
    s.groups.push_back(count);
  }

  // ---- instructions -------------------------------------------------------------------------------------------------
  void instruction() {
    Step s;
    if (take('@')) {
      s.guarded = true;
      const bool negated = take('!');
      s.guard = reg();
      s.guard.negated = negated;
    }
    const std::string_view name = word(true);
    s.spelled = current();
    if (take(':')) throw Refusal{"a label"};
    skip();
    if (peek() == '(') throw Refusal{"a call"};
    if (peek() != ';' && !at_end() && peek() != '}') {
      // What comes first decides before operands that cannot be read: branches have labels.
      if (const std::string_view first = name.substr(0, name.find('.')); first == "bra" || first == "brx")
        throw Refusal{"a branch"};
      do operand(s);
      while (take(','));
    }
    skip();
    if (!at_end() && peek() != '}') expect(';');
    build(name, s);
    program_.steps.push_back(std::move(s));
  }

  static void build(std::string_view name, Step& s) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('.', begin), name.size());
      parts.push_back(name.substr(begin, end - begin));
      begin = end + 1;
    }
    const std::string_view first = parts.front();
    parts.erase(parts.begin());
    for (const Opcodes& some :
         {move_opcodes(), integer_opcodes(), bit_opcodes(), float_opcodes(), convert_opcodes(), compare_opcodes(),
          memory_opcodes(), copy_opcodes(), warp_opcodes(), barrier_opcodes(), matrix_opcodes()})
      for (const Opcode* o = some.first; o != some.first + some.count; ++o) {
        if (o->name != first) continue;
        Parts left(parts);
        Step built = s;
        if (!o->build(left, built) || !left.empty() || !built.run) continue;
        settle_reals(built);
        s = std::move(built);
        return;
      }
    throw Refusal{""};
  }

  // Constants such as 1.0 have the bits of the operands' type.
  static void settle_reals(Step& s) {
    const Type type = s.from == Type::none ? s.type : s.from;
    for (Argument& a : s.arguments) {
      if (a.kind != Argument::Kind::real) continue;
      a.kind = Argument::Kind::constant;
      if (bits_of(type) == 32) a.value = bits_from(static_cast<float>(std::bit_cast<double>(a.value)));
      else if (bits_of(type) != 64) throw Refusal{"a constant"};
    }
  }

  std::string_view text_;
  const PtxOperand* operands_;
  Program& program_;
  std::size_t at_ = 0, begin_ = 0;
  std::vector<std::map<std::string, Own>> scopes_;
};

}  // namespace

Type type_named(std::string_view name) {
  const auto found = std::ranges::find(types, name, &Named::name);
  return found == types.end() ? Type::none : found->type;
}
unsigned bits_of(Type type) { return type == Type::none ? 0 : types[static_cast<std::size_t>(type) - 1].bits; }

bool Step::is(std::initializer_list<int> sizes) const {
  return std::ranges::equal(groups, sizes, [](int x, int y) { return x == y; });
}

bool Parts::take(std::string_view part) {
  const auto found = std::ranges::find(left_, part);
  if (found == left_.end()) return false;
  left_.erase(found);
  return true;
}
bool Parts::take_beginning(std::string_view with) {
  const auto found = std::ranges::find_if(left_, [&](std::string_view part) { return part.starts_with(with); });
  if (found == left_.end()) return false;
  left_.erase(found);
  return true;
}
Type Parts::take_type() {
  const auto found = std::ranges::find_if(left_, [](std::string_view p) { return type_named(p) != Type::none; });
  if (found == left_.end()) return Type::none;
  const Type type = type_named(*found);
  left_.erase(found);
  return type;
}

bool take_only_type(Parts& parts, Step& s) {
  s.type = parts.take_type();
  return s.type != Type::none && parts.empty();
}

std::unique_ptr<Program> parse(const char* instructions, const PtxOperand* operands, unsigned count) {
  auto program = std::make_unique<Program>();
  for (unsigned i = 0; operands && i < count; ++i)
    program->names.emplace_back(operands[i].name ? operands[i].name : "");
  Parser parser(instructions, operands, count, *program);
  try {
    parser.parse();
  } catch (const Refusal& refusal) {
    program->refused = parser.current();
    program->why = refusal.why;
  }
  return program;
}

}  // namespace ridge::lab::isa
