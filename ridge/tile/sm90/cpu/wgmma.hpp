// wgmma on the CPU runtime. A product is taken when it is waited for, from what its operands are by then: one that is
// not waited for is never taken, and registers that are changed too early spoil it.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/sm90/swizzle.hpp>
#include <ridge/tile/sm90/warpgroup.cuh>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace ridge::tile::sm90 {

namespace detail {

inline constexpr int product_outer = 64, most_columns = 256;

// One element of the operand that a descriptor describes, decoded from its bits as the hardware does.
template <class T> float operand_at(std::uint64_t descriptor, Axis axis, unsigned outer, unsigned k) {
  const auto field = [&](int bit) { return static_cast<unsigned>(descriptor >> bit & 0x3fff) << 4; };
  const unsigned groups = field(16), atoms = field(32), in_line = line_bytes / sizeof(T);
  const unsigned line = descriptor >> 62 == 1 ? line_bytes : line_bytes / 2;
  unsigned at = field(0);
  if (axis == Axis::k) at += outer / 8 * atoms + outer % 8 * line + k * sizeof(T);
  else at += outer / in_line * groups + k / 8 * atoms + k % 8 * line_bytes + outer % in_line * sizeof(T);
  at ^= at / line_bytes % (line / 16) * 16;  // the swizzle is one of addresses
  T value;
  std::memcpy(&value, swizzled_shared() + at, sizeof value);
  if constexpr (std::is_same_v<T, float>) {  // TF32: the last 13 bits are not read
    constexpr std::uint32_t read = ~std::uint32_t{0x1fff};
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, value) & read);
  } else {
    return static_cast<float>(value);
  }
}

// The operands of a warpgroup's product, which its threads read together.
struct ProductTiles {
  float a[product_outer][16], b[16][most_columns];
};
inline unsigned warpgroup() { return threadIdx.x / warpgroup_threads; }
inline ProductTiles& product_tiles() {
  static thread_local ProductTiles tiles[warpgroups];
  return tiles[warpgroup()];
}
inline void sync_product() { sync_named(named_barriers + static_cast<int>(warpgroup()), warpgroup_threads); }

struct Product {
  float* sums;
  const unsigned* kept;  // a in registers; null: by its descriptor
  std::uint64_t a, b;
  bool accumulate;
  void (*take)(const Product&);
};

template <class T, Axis A, Axis B, int N> void take_product(const Product& p) {
  ProductTiles& tiles = product_tiles();
  const unsigned t = threadIdx.x % warpgroup_threads, row = t / 32 * 16 + t % 32 / 4, pair = t % 4 * 2;
  constexpr unsigned K = 32 / sizeof(T);
  if (p.kept) {
    for (unsigned i = 0; i < 4; ++i) {
      T two[4 / sizeof(T)];
      std::memcpy(two, p.kept + i, sizeof two);
      for (unsigned e = 0; e < std::size(two); ++e)
        tiles.a[row + i % 2 * 8][i / 2 * 8 + pair + e] = static_cast<float>(two[e]);
    }
  } else {
    for (unsigned i = t; i < product_outer * K; i += warpgroup_threads)
      tiles.a[i / K][i % K] = operand_at<T>(p.a, A, i / K, i % K);
  }
  for (unsigned i = t; i < N * K; i += warpgroup_threads) tiles.b[i % K][i / K] = operand_at<T>(p.b, B, i / K, i % K);
  sync_product();
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned j = 0; j < N / 8; ++j)
      for (unsigned e = 0; e < 2; ++e) {
        float& to = p.sums[4 * j + 2 * half + e];
        float sum = p.accumulate ? to : 0.0f;
        for (unsigned k = 0; k < K; ++k) sum += tiles.a[row + 8 * half][k] * tiles.b[k][8 * j + pair + e];
        to = sum;
      }
  sync_product();
}

// What a thread has issued and not waited for, in groups. Plain arrays:
// their constructor is none that threads could meet in.
struct IssuedProducts {
  static constexpr int most = 128, most_groups = 8;
  std::size_t block;
  int products, groups;
  Product product[most];
  int end[most_groups];  // of a group
};
inline IssuedProducts& issued_products() {
  static thread_local IssuedProducts of_threads[warpgroups * warpgroup_threads];
  IssuedProducts& mine = of_threads[threadIdx.x];
  if (const std::size_t block = simt::detail::block_number(); mine.block != block) {
    mine.block = block;
    mine.products = mine.groups = 0;
  }
  return mine;
}
inline void issue(const Product& p) {
  IssuedProducts& mine = issued_products();
  if (mine.products == IssuedProducts::most)
    throw std::length_error("wgmma: more products are pending than are emulated");
  mine.product[mine.products++] = p;
}

}  // namespace detail

inline void fence_sums() {}
inline void commit_products() {
  detail::IssuedProducts& mine = detail::issued_products();
  if (mine.groups == detail::IssuedProducts::most_groups)
    throw std::length_error("wgmma: more groups are pending than are emulated");
  mine.end[mine.groups++] = mine.products;
}
template <int Pending> void wait_products() {
  detail::IssuedProducts& mine = detail::issued_products();
  if (const int groups = mine.groups - Pending; groups > 0) {
    const int end = mine.end[groups - 1];
    for (int i = 0; i < end; ++i) mine.product[i].take(mine.product[i]);
    std::copy(mine.product + end, mine.product + mine.products, mine.product);
    std::transform(mine.end + groups, mine.end + mine.groups, mine.end, [=](int e) { return e - end; });
    mine.products -= end;
    mine.groups -= groups;
  }
  detail::sync_product();  // the hardware's wait is for the whole warpgroup's
}
template <class S, int N> void take_sums(S (&)[N]) {}

template <class T, Axis A, Axis B, int N>
void multiply(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool accumulate) {
  static_assert(sizeof(T) == 2 || (std::is_same_v<T, float> && A == Axis::k && B == Axis::k), "what is emulated");
  static_assert(N % 8 == 0 && N <= detail::most_columns, "what is emulated");
  detail::issue({d, nullptr, a, b, accumulate, detail::take_product<T, A, B, N>});
}
template <class T, Axis B, int N>
void multiply_kept(float (&d)[N / 2], const unsigned (&a)[4], std::uint64_t b, bool accumulate) {
  static_assert(sizeof(T) == 2 && N % 8 == 0 && N <= detail::most_columns, "what is emulated");
  detail::issue({d, a, 0, b, accumulate, detail::take_product<T, Axis::k, B, N>});
}

}  // namespace ridge::tile::sm90
