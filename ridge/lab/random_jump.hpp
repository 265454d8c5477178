// Jumps of the XORWOW generator. Its five words are linear over bits: 2^k steps are a matrix of 160 by 160 bits.
#pragma once
#include <cstdint>

namespace ridge::lab {

struct XorwowWords {
  std::uint32_t word[5];
};

inline void xorwow_step(XorwowWords& v) {
  const std::uint32_t t = v.word[0] ^ v.word[0] >> 2, last = v.word[4];
  v = {v.word[1], v.word[2], v.word[3], last, (last ^ last << 4) ^ (t ^ t << 1)};
}

// Steps of 2^k for all k of offsets (below 2^64) and of sequences, which are 2^67 steps apart. The hooks of sanitizers,
// by which a kernel is traced, stay out: this is the device's library, not the kernel.
class XorwowJumps {
 public:
  static constexpr int sequence = 67;

  static const XorwowJumps& all() {
    static const XorwowJumps jumps;
    return jumps;
  }

  // Makes count * 2^first steps.
  [[gnu::noinline, gnu::no_sanitize_thread, gnu::no_sanitize_coverage]]  //
  void
  jump(XorwowWords& v, std::uint64_t count, int first) const {
    for (int k = first; count != 0; ++k, count >>= 1) {
      if (count & 1) v = product(matrix_[k], v);
    }
  }

 private:
  static constexpr int bits = 160, powers = sequence + 64;

  [[gnu::noinline, gnu::no_sanitize_thread, gnu::no_sanitize_coverage]] XorwowJumps() {
    for (int i = 0; i < bits; ++i) {
      XorwowWords v{};
      v.word[i / 32] = 1u << i % 32;
      xorwow_step(v);
      matrix_[0][i] = v;
    }
    for (int k = 1; k < powers; ++k) {
      for (int i = 0; i < bits; ++i) matrix_[k][i] = product(matrix_[k - 1], matrix_[k - 1][i]);
    }
  }

  [[gnu::no_sanitize_thread, gnu::no_sanitize_coverage]]  //
  static XorwowWords
  product(const XorwowWords (&matrix)[bits], const XorwowWords& v) {
    XorwowWords sum{};
    for (int w = 0; w < 5; ++w) {
      for (std::uint32_t left = v.word[w]; left; left &= left - 1) {
        const XorwowWords& row = matrix[32 * w + __builtin_ctz(left)];
        for (int i = 0; i < 5; ++i) sum.word[i] ^= row.word[i];
      }
    }
    return sum;
  }

  XorwowWords matrix_[powers][bits];  // of 2^k steps: what each single bit becomes
};

}  // namespace ridge::lab
