// ldmatrix, stmatrix, movmatrix and mma.sync: the lanes of a warp show each other what they have.
//
// With g = lane / 4, q = lane % 4 and e elements in 32 bits, a lane of mma m16n8k* has in register i of a the elements
// of row g + 8 (i % 2) from column (q + 4 (i / 2)) e on; in register i of b those of column g from row (q + 4 i) e on;
// and sum i is that of row g + 8 (i / 2), column 2 q + i % 2. m8n8k* is the upper half.
#include <ridge/lab/ptx/program.hpp>

#include <ridge/core/float16.hpp>
#include <ridge/lab/ptx/shared.hpp>
#include <ridge/lab/small_float.hpp>
#include <ridge/simt/tile.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace ridge::lab::isa {
namespace {

using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

unsigned lane() { return static_cast<unsigned>(simt::thread_rank()) % 32; }

// ---- showing --------------------------------------------------------------------------------------------------------
// A block's threads share an OS thread.
struct Shown {
  const void* of[32];
};

// Calls read(shown) when all lanes have shown, and returns when all have read.
template <class Read> void exchange(const PtxFrame& f, const void* mine, Read read) {
  static thread_local Shown all[32];
  Shown& shown = all[simt::thread_rank() / 32];
  shown.of[lane()] = mine;
  if (static_cast<uint32_t>(simt::detail::ballot(~0u, true, f.site->at)) != ~0u)
    throw std::runtime_error("PTX: a matrix instruction needs all 32 lanes of the warp; some have returned");
  read(shown);
  simt::detail::sync_warp(~0u, f.site->at);
}
template <class T> const T& shown_by(const Shown& shown, unsigned l, std::size_t i = 0) {
  return static_cast<const T*>(shown.of[l])[i];
}

// ---- ldmatrix: lane 8 m + r reads row r of matrix m, which the trace counts as such ---------------------------------
void end_load(PtxFrame& f, const Step& s) {
  const unsigned g = lane() / 4, q = lane() % 4;
  uint32_t result[4] = {};
  exchange(f, f.words, [&](const Shown& shown) {
    for (unsigned m = 0; m < s.width; ++m)
      if (!s.detail) result[m] = shown_by<uint32_t>(shown, 8 * m + g, q);
      else
        for (unsigned e = 0; e < 2; ++e)
          result[m] |= uint32_t{shown_by<uint16_t>(shown, 8 * m + 2 * q + e, g)} << 16 * e;
  });
  for (unsigned m = 0; m < s.width; ++m) put(f, s[m], result[m]);
}
void aim_at_row(PtxFrame& f, const Argument& address) {
  f.address = shared_pointer(bits(f, address));
  f.bytes = 16;
  if (reinterpret_cast<std::uintptr_t>(f.address) % 16 != 0) simt::detail::misaligned(f.address, 16, f.site->at);
}
PtxAction begin_load(PtxFrame& f, const Step& s) {
  if (lane() < 8u * s.width) {
    aim_at_row(f, s[s.width]);
    return PtxAction::load;
  }
  end_load(f, s);
  return PtxAction::done;
}

PtxAction begin_store(PtxFrame& f, const Step& s) {
  uint32_t mine[4] = {};
  for (unsigned m = 0; m < s.width; ++m) mine[m] = static_cast<uint32_t>(bits(f, s[1 + m]));
  const unsigned m = lane() / 8 % s.width, r = lane() % 8;
  uint16_t row[8];
  exchange(f, mine, [&](const Shown& shown) {
    for (unsigned c = 0; c < 8; ++c) {
      const unsigned from = s.detail ? c * 4 + r / 2 : r * 4 + c / 2, half = (s.detail ? r : c) % 2;
      row[c] = static_cast<uint16_t>(shown_by<uint32_t>(shown, from, m) >> 16 * half);
    }
  });
  if (lane() >= 8u * s.width) return PtxAction::done;
  aim_at_row(f, s[0]);
  std::memcpy(f.words, row, sizeof row);
  return PtxAction::store;
}

PtxAction run_transpose(PtxFrame& f, const Step& s) {
  const auto mine = static_cast<uint32_t>(bits(f, s[1]));
  const unsigned g = lane() / 4, q = lane() % 4;
  uint32_t result = 0;
  exchange(f, &mine, [&](const Shown& shown) {
    for (unsigned e = 0; e < 2; ++e)
      result |= (shown_by<uint32_t>(shown, (2 * q + e) * 4 + g / 2) >> 16 * (g % 2) & 0xffff) << 16 * e;
  });
  set(f, s, result);
  return PtxAction::done;
}

bool take_matrices(Parts& parts, Step& s) {
  if (!parts.take("sync") || !parts.take("aligned") || !parts.take("m8n8")) return false;
  s.width = parts.take("x4") ? 4 : parts.take("x2") ? 2 : parts.take("x1") ? 1 : 0;
  s.detail = parts.take("trans");
  return true;
}
bool build_load(Parts& parts, Step& s) {
  if (!take_matrices(parts, s) || s.width == 0) return false;
  parts.take_any("shared", "shared::cta");
  s.run = begin_load;
  s.finish = end_load;
  return parts.take("b16") && s.is({s.width, 1}) && s[s.width].kind == Argument::Kind::address;
}
bool build_store(Parts& parts, Step& s) {
  if (!take_matrices(parts, s) || s.width == 0) return false;
  parts.take_any("shared", "shared::cta");
  s.run = begin_store;
  return parts.take("b16") && s.is({1, s.width}) && s[0].kind == Argument::Kind::address;
}
bool build_transpose(Parts& parts, Step& s) {
  s.run = run_transpose;
  return take_matrices(parts, s) && s.detail && s.width == 0 && parts.take("b16") && s.is({1, 1});
}

// ---- mma.sync -------------------------------------------------------------------------------------------------------
// The elements of 32 bits, and the type in which products are exact.
struct Half {
  using Product = float;
  static constexpr unsigned bits = 16;
  static float at(uint32_t w, unsigned i) { return Binary16::value(static_cast<uint16_t>(w >> 16 * i)); }
};
struct Brain {
  using Product = float;
  static constexpr unsigned bits = 16;
  static float at(uint32_t w, unsigned i) { return Brain16::value(static_cast<uint16_t>(w >> 16 * i)); }
};
struct Single {  // tensor cores do not look at the lower bits
  using Product = float;
  static constexpr unsigned bits = 32;
  static float at(uint32_t w, unsigned) { return std::bit_cast<float>(w & ~0x1fffu); }
};
template <unsigned Bits, bool is_signed> struct Integer {
  using Product = std::int32_t;
  static constexpr unsigned bits = Bits;
  static std::int32_t at(uint32_t w, unsigned i) {
    const uint32_t top = w >> Bits * i << (32 - Bits);
    return is_signed ? static_cast<std::int32_t>(top) >> (32 - Bits) : static_cast<std::int32_t>(top >> (32 - Bits));
  }
};

constexpr unsigned most_k = 64;
template <class Product> struct Operands {  // the elements of a lane's registers, one after the other
  Product a[most_k / 2], b[most_k / 4];
};

float sum_of_products(const float* a, const float* b, unsigned k, float sum) {
  for (unsigned i = 0; i < k; ++i) sum += a[i] * b[i];
  return sum;
}
std::int64_t sum_of_products(const std::int32_t* a, const std::int32_t* b, unsigned k, std::int64_t sum) {
  for (unsigned i = 0; i < k; ++i) sum += std::int64_t{a[i]} * b[i];
  return sum;
}

// What an accumulator's register has: a float, two halves, or an integer.
template <class Product> Product start(const PtxFrame& f, const Argument* c, Type type, unsigned row, unsigned col) {
  if (type == Type::f16)
    return static_cast<Product>(Binary16::value(static_cast<uint16_t>(bits(f, c[row]) >> 16 * col)));
  const uint64_t word = bits(f, c[2 * row + col]);
  if constexpr (std::same_as<Product, float>) return number<float>(word);
  else return number<Product>(word);
}

// s.width is how many times 8 rows there are, s.detail is k.
template <class A, class B> PtxAction multiply(PtxFrame& f, const Step& s) {
  using Product = typename A::Product;
  constexpr unsigned each = 32 / A::bits;
  const unsigned blocks = s.width, k = s.detail, deep = k / (4 * each), g = lane() / 4, q = lane() % 4;
  const Argument* const a = &s.arguments[s.groups[0]];
  const Argument* const b = a + s.groups[1];
  const Argument* const c = b + s.groups[2];

  using Mine = Operands<Product>;
  Mine mine;
  for (unsigned i = 0; i < blocks * deep * each; ++i)
    mine.a[i] = A::at(static_cast<uint32_t>(bits(f, a[i / each])), i % each);
  for (unsigned i = 0; i < deep * each; ++i) mine.b[i] = B::at(static_cast<uint32_t>(bits(f, b[i / each])), i % each);
  Product rows[2][most_k], cols[2][most_k];
  exchange(f, &mine, [&](const Shown& shown) {
    for (unsigned i = 0; i < k; i += each) {
      const unsigned from = i / each % 4, d = i / (4 * each);
      for (unsigned block = 0; block < blocks; ++block)
        std::copy_n(shown_by<Mine>(shown, g * 4 + from).a + (d * blocks + block) * each, each, rows[block] + i);
      for (unsigned col = 0; col < 2; ++col)
        std::copy_n(shown_by<Mine>(shown, (2 * q + col) * 4 + from).b + d * each, each, cols[col] + i);
    }
  });

  for (unsigned row = 0; row < blocks; ++row) {
    uint64_t halves = 0;
    for (unsigned col = 0; col < 2; ++col) {
      const auto sum = sum_of_products(rows[row], cols[col], k, start<Product>(f, c, s.c, row, col));
      if constexpr (std::same_as<Product, float>) {
        if (s.type == Type::f16) halves |= uint64_t{Binary16::round(sum)} << 16 * col;
        else put(f, s[2 * row + col], bits_from(sum));
      } else {
        constexpr std::int64_t least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
        put(f, s[2 * row + col], bits_from(static_cast<int>(s.sat ? std::clamp<std::int64_t>(sum, least, most) : sum)));
      }
    }
    if (s.type == Type::f16) put(f, s[row], halves);
  }
  return PtxAction::done;
}

// m8n8k4 of doubles: a lane has an element of row g and of column g each, and two sums of row g.
PtxAction multiply_doubles(PtxFrame& f, const Step& s) {
  const double mine[] = {get<double>(f, s, 2), get<double>(f, s, 3)};
  const unsigned g = lane() / 4, q = lane() % 4;
  double sums[] = {get<double>(f, s, 4), get<double>(f, s, 5)};
  exchange(f, mine, [&](const Shown& shown) {
    for (unsigned col = 0; col < 2; ++col)
      for (unsigned k = 0; k < 4; ++k)
        sums[col] = std::fma(shown_by<double>(shown, g * 4 + k, 0), shown_by<double>(shown, (2 * q + col) * 4 + k, 1),
                             sums[col]);
  });
  for (unsigned col = 0; col < 2; ++col) put(f, s[col], bits_from(sums[col]));
  return PtxAction::done;
}

template <unsigned Bits> void choose_integers(Step& s) {
  const bool a = is_signed(s.from), b = is_signed(s.b);
  if (a)
    s.run =
        b ? multiply<Integer<Bits, true>, Integer<Bits, true>> : multiply<Integer<Bits, true>, Integer<Bits, false>>;
  else
    s.run =
        b ? multiply<Integer<Bits, false>, Integer<Bits, true>> : multiply<Integer<Bits, false>, Integer<Bits, false>>;
}

bool build_multiply(Parts& parts, Step& s) {
  if (!parts.take("sync")) return false;
  parts.take("aligned");
  const std::string_view shape = parts.front();
  if (!shape.starts_with("m")) return false;
  parts.take_front();
  if (!parts.take("row") || !parts.take("col")) return false;
  s.sat = parts.take("satfinite");
  s.type = parts.take_type();
  s.from = parts.take_type();
  s.b = parts.take_type();
  s.c = parts.take_type();
  if (!parts.empty() || s.c == Type::none) return false;
  if (s.from == Type::f64) {
    s.run = multiply_doubles;
    return shape == "m8n8k4" && s.type == Type::f64 && s.b == Type::f64 && s.c == Type::f64 && s.is({2, 1, 1, 2});
  }
  const bool upper = shape.starts_with("m8n8k");
  if (!upper && !shape.starts_with("m16n8k")) return false;
  const int k = std::atoi(std::string(shape.substr(upper ? 5 : 6)).c_str());
  const int bits = static_cast<int>(bits_of(s.from)), deep = k * bits / 128;
  if (bits_of(s.b) != bits_of(s.from) || k * bits % 128 != 0 || deep < 1 || deep > 2) return false;
  s.width = upper ? 1 : 2;
  s.detail = static_cast<unsigned char>(k);
  const bool integers = is_integer(s.from) || s.from == Type::s4 || s.from == Type::u4;
  if (upper && (!integers || deep != 1)) return false;  // the eight-row product of halves is Volta's
  if (integers) {
    if (s.type != Type::s32 || s.c != Type::s32) return false;
    if (bits == 8) choose_integers<8>(s);
    else if (bits == 4) choose_integers<4>(s);
  } else {
    if (s.b != s.from || s.sat) return false;
    const bool halves = s.from == Type::f16;
    if (halves) s.run = multiply<Half, Half>;
    else if (s.from == Type::bf16) s.run = multiply<Brain, Brain>;
    else if (s.from == Type::tf32) s.run = multiply<Single, Single>;
    const auto is_sum = [&](Type t) { return t == Type::f32 || (halves && t == Type::f16); };
    if (!is_sum(s.type) || !is_sum(s.c)) return false;
  }
  const auto sums = [&](Type t) { return t == Type::f16 ? s.width : 2 * s.width; };
  return s.is({sums(s.type), s.width * deep, deep, sums(s.c)});
}

constexpr Opcode all[] = {
    {"ldmatrix", build_load}, {"stmatrix", build_store}, {"movmatrix", build_transpose}, {"mma", build_multiply}};

}  // namespace

Opcodes matrix_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
