// The collectives of tile/, on the CPU runtime: what a block of any size must agree on.
#include <ridge/tile/block_reduce.cuh>
#include <ridge/tile/extreme.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge::tile {
namespace {

struct Triple {  // 24 bytes, not a power of two
  double sum;
  int least, greatest, count;
};
struct Merge {
  __device__ Triple operator()(Triple a, Triple b) const {
    return {a.sum + b.sum, b.least < a.least ? b.least : a.least, b.greatest > a.greatest ? b.greatest : a.greatest,
            a.count + b.count};
  }
};
struct Odd {  // 3 bytes
  unsigned char low, high, ones;
};
struct Xor {
  __device__ Odd operator()(Odd a, Odd b) const {
    return {static_cast<unsigned char>(a.low ^ b.low), static_cast<unsigned char>(a.high ^ b.high),
            static_cast<unsigned char>(a.ones ^ b.ones)};
  }
};

// Twice in a row with the same scratch, and by every thread: out[t] is what thread t saw.
template <int Warp> __global__ void reduce_twice(Triple* first, Triple* second, Odd* third) {
  const int t = simt::thread_rank(), threads = static_cast<int>(blockDim.x);
  first[t] = block_reduce<Warp>(Triple{1.0 * t, t, t, 1}, Merge(), threads);
  second[t] = block_reduce<Warp>(Triple{0.5, -t, 2 * t, 3}, Merge(), threads);
  third[t] =
      block_reduce<Warp>(Odd{static_cast<unsigned char>(t), static_cast<unsigned char>(t >> 8), 1}, Xor(), threads);
}

TEST(BlockReduce, AnySizeAnyTypeAndEveryThreadKnows) {
  for (int warp : {32, 64})
    for (int threads : {1, 2, 31, 32, 33, 63, 64, 65, 96, 100, 127, 128, 250, 256, 1000, 1024}) {
      std::vector<Triple> first(threads), second(threads);
      std::vector<Odd> third(threads);
      const simt::Config at{.grid = dim3(1), .block = dim3(static_cast<unsigned>(threads)), .warp = warp};
      const Status status = simt::with_warp(warp, [&](auto width) {
        return simt::launch(at, reduce_twice<decltype(width)::value>, first.data(), second.data(), third.data());
      });
      ASSERT_TRUE(status.ok()) << status.message();
      unsigned char low = 0, high = 0;
      for (int t = 0; t < threads; ++t)
        low ^= static_cast<unsigned char>(t), high ^= static_cast<unsigned char>(t >> 8);
      for (int t = 0; t < threads; ++t) {
        EXPECT_EQ(first[t].sum, threads * (threads - 1) / 2) << threads << " threads, warp " << warp;
        EXPECT_EQ(first[t].least, 0);
        EXPECT_EQ(first[t].greatest, threads - 1);
        EXPECT_EQ(first[t].count, threads);
        EXPECT_EQ(second[t].sum, 0.5 * threads);
        EXPECT_EQ(second[t].least, 1 - threads);
        EXPECT_EQ(second[t].greatest, 2 * threads - 2);
        EXPECT_EQ(second[t].count, 3 * threads);
        EXPECT_EQ(third[t].low, low);
        EXPECT_EQ(third[t].high, high);
        EXPECT_EQ(third[t].ones, threads % 2);
      }
    }
}

TEST(Extreme, NanIsAboveAllAndZerosAreEqual) {
  using Max = Extreme<true>;
  using Min = Extreme<false>;
  EXPECT_EQ(Max::pick(2.0f, 3.0f), 3);
  EXPECT_EQ(Min::pick(2.0f, 3.0f), 2);
  EXPECT_TRUE(std::isnan(Max::pick(1.0f, NAN)) && std::isnan(Max::pick(NAN, 1.0f)) &&
              std::isnan(Min::pick(1.0, double(NAN))));
  EXPECT_FALSE(Max::beats(NAN, NAN));
  EXPECT_FALSE(Max::beats(0.0f, -0.0f) || Max::beats(-0.0f, 0.0f));
  EXPECT_EQ(Max::pick(std::int8_t{-128}, std::int8_t{5}), 5);
  EXPECT_EQ(Max::neutral<std::int64_t>(), std::numeric_limits<std::int64_t>::lowest());
  EXPECT_EQ(Min::neutral<std::uint8_t>(), 255);
  EXPECT_EQ(static_cast<float>(Max::neutral<half>()), -INFINITY);
}

template <class T> void check_packed() {
  const float values[] = {0.0f, -0.0f, 1.5f, -1.5f, INFINITY, -INFINITY, 1e-6f, 60000.0f, NAN};
  for (float a : values)
    for (float b : values) {
      const T pair[2] = {T(a), T(b)}, swapped[2] = {T(b), T(a)};
      std::uint32_t x, y;
      std::memcpy(&x, pair, 4);
      std::memcpy(&y, swapped, 4);
      for (bool greatest : {true, false}) {
        const std::uint32_t r = greatest ? Extreme<true>::packed_pick<T>(x, y) : Extreme<false>::packed_pick<T>(x, y);
        T got[2];
        std::memcpy(got, &r, 4);
        const float fa = static_cast<float>(pair[0]), fb = static_cast<float>(pair[1]);
        for (T g : got) {
          if (std::isnan(fa) || std::isnan(fb)) EXPECT_TRUE(std::isnan(static_cast<float>(g)));
          else EXPECT_EQ(static_cast<float>(g), greatest ? std::fmax(fa, fb) : std::fmin(fa, fb));
        }
      }
    }
}
TEST(Extreme, PairsOf16BitFloats) {
  check_packed<half>();
  check_packed<bfloat16>();
}

}  // namespace
}  // namespace ridge::tile
