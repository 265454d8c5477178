// tile<N>: every collective, at warp widths 32 and 64, in blocks with and without a partial warp.
#include <ridge/simt/test/support.hpp>

#include <vector>

namespace simt_test {
namespace {

// ---- where a lane is ---------------------------------------------------------------------------------------------
template <int N> __global__ void positions(int* rank, int* index, simt::lane_mask* mask) {
  const int i = simt::thread_rank();
  rank[i] = tile<N>::rank();
  index[i] = tile<N>::index();
  mask[i] = tile<N>::mask();
}

template <int N> void check_positions(dim3 block, int warp) {
  const int threads = static_cast<int>(block.x * block.y * block.z);
  std::vector<int> rank(threads), index(threads);
  std::vector<simt::lane_mask> mask(threads);
  ASSERT_RUNS(launch({dim3(1), block, 0, nullptr, warp}, positions<N>, rank.data(), index.data(), mask.data()));
  for (int i = 0; i < threads; ++i) {
    EXPECT_EQ(rank[i], i % N);
    EXPECT_EQ(index[i], i / N);
    const simt::lane_mask lanes = N == 64 ? ~simt::lane_mask(0) : (simt::lane_mask(1) << N) - 1;
    EXPECT_EQ(mask[i], lanes << (i % warp / N * N));
  }
}

TEST(SimtTile, KnowsItsLanes) {
  check_positions<32>(dim3(96), 32);
  check_positions<64>(dim3(96), 64);
  check_positions<32>(dim3(96), 64);
  check_positions<8>(dim3(50), 32);
  check_positions<1>(dim3(33), 32);
  check_positions<16>(dim3(4, 5, 3), 64);
}

// ---- shuffles, of every kind of type -----------------------------------------------------------------------------
struct Five {
  unsigned char bytes[5];
  bool operator==(const Five&) const = default;
};
struct Twelve {
  float a;
  int b, c;
  bool operator==(const Twelve&) const = default;
};
struct Twenty {
  double a, b;
  int c;
  bool operator==(const Twenty&) const = default;
};

template <class T> __host__ __device__ T make(int i) { return static_cast<T>(static_cast<float>(i % 50 + 1)); }
template <> Five make(int i) {
  const auto b = static_cast<unsigned char>(i);
  return {{b, static_cast<unsigned char>(b + 1), 7, b, 9}};
}
template <> Twelve make(int i) { return {static_cast<float>(i), i, -i}; }
template <> Twenty make(int i) { return {i * 0.5, -1.0 * i, i}; }

template <class T, int N> __global__ void shuffles(T* index, T* flip, T* up, T* down, int source, int distance) {
  const tile<N> t;
  const int i = simt::thread_rank();
  const T mine = make<T>(i);
  index[i] = t.shfl(mine, source);
  flip[i] = t.shfl_xor(mine, distance);
  up[i] = t.shfl_up(mine, distance);
  down[i] = t.shfl_down(mine, distance);
}

template <class T> bool equal(const T& a, const T& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
template <> bool equal(const Twenty& a, const Twenty& b) { return a == b; }

template <class T, int N> void check_shuffles(int warp, int source, int distance) {
  constexpr int threads = 128;
  std::vector<T> index(threads), flip(threads), up(threads), down(threads);
  ASSERT_RUNS(launch(one_block(threads, warp), shuffles<T, N>, index.data(), flip.data(), up.data(), down.data(),
                     source, distance));
  for (int i = 0; i < threads; ++i) {
    const int first = i / N * N, end = first + N;
    EXPECT_TRUE(equal(index[i], make<T>(first + (source & (N - 1))))) << i;
    EXPECT_TRUE(equal(flip[i], make<T>((i ^ distance) < end ? i ^ distance : i))) << i;
    EXPECT_TRUE(equal(up[i], make<T>(i - distance >= first ? i - distance : i))) << i;
    EXPECT_TRUE(equal(down[i], make<T>(i + distance < end ? i + distance : i))) << i;
  }
}

template <class T> void check_shuffles_of() {
  check_shuffles<T, 32>(32, 5, 1);
  check_shuffles<T, 64>(64, 63, 33);
  check_shuffles<T, 32>(64, 0, 16);
  check_shuffles<T, 8>(32, 7, 3);
  check_shuffles<T, 8>(64, 9, 4);  // source 9 is lane 1 of 8
}

TEST(SimtTile, ShufflesBytes) { check_shuffles_of<char>(); }
TEST(SimtTile, ShufflesHalves) {
  check_shuffles_of<half>();
  check_shuffles_of<short>();
}
TEST(SimtTile, ShufflesWords) {
  check_shuffles_of<float>();
  check_shuffles_of<unsigned>();
}
TEST(SimtTile, ShufflesDoubleWords) {
  check_shuffles_of<double>();
  check_shuffles_of<long long>();
}
TEST(SimtTile, ShufflesStructs) {
  check_shuffles_of<Five>();
  check_shuffles_of<Twelve>();
  check_shuffles_of<Twenty>();
}

// ---- reductions and votes ----------------------------------------------------------------------------------------
template <int N> __global__ void reductions(int* sum, float* most) {
  const tile<N> t;
  const int i = simt::thread_rank();
  sum[i] = t.reduce(i, [](int a, int b) { return a + b; });
  most[i] = t.reduce(static_cast<float>(i * 37 % 101), [](float a, float b) { return fmaxf(a, b); });
}

template <int N> void check_reductions(int warp) {
  constexpr int threads = 192;
  std::vector<int> sum(threads);
  std::vector<float> most(threads);
  ASSERT_RUNS(launch(one_block(threads, warp), reductions<N>, sum.data(), most.data()));
  for (int i = 0; i < threads; ++i) {
    int expected_sum = 0;
    float expected_most = 0;
    for (int k = i / N * N; k < i / N * N + N; ++k) {
      expected_sum += k;
      expected_most = std::max(expected_most, static_cast<float>(k * 37 % 101));
    }
    EXPECT_EQ(sum[i], expected_sum);
    EXPECT_EQ(most[i], expected_most);
  }
}

TEST(SimtTile, Reduces) {
  check_reductions<32>(32);
  check_reductions<64>(64);
  check_reductions<32>(64);
  check_reductions<16>(32);
  check_reductions<1>(32);
}

template <int N> __global__ void votes(simt::lane_mask* odd, int* any, int* all) {
  const tile<N> t;
  const int i = simt::thread_rank();
  odd[i] = t.ballot(i % 2 == 1);
  any[i] = t.any(i == 9) + 2 * t.any(false);
  all[i] = t.all(i != 9) + 2 * t.all(true);
}

template <int N> void check_votes(int threads, int warp) {
  std::vector<simt::lane_mask> odd(threads);
  std::vector<int> any(threads), all(threads);
  ASSERT_RUNS(launch(one_block(threads, warp), votes<N>, odd.data(), any.data(), all.data()));
  for (int i = 0; i < threads; ++i) {
    simt::lane_mask expected = 0;
    for (int k = 0; k < N && i / N * N + k < threads; ++k) expected |= simt::lane_mask(k % 2) << k;
    EXPECT_EQ(odd[i], expected) << i;
    const bool with_nine = threads > 9 && i / N == 9 / N;
    EXPECT_EQ(any[i], with_nine ? 1 : 0) << i;
    EXPECT_EQ(all[i], with_nine ? 2 : 3) << i;
  }
}

TEST(SimtTile, Votes) {
  check_votes<32>(96, 32);
  check_votes<64>(128, 64);
  check_votes<8>(64, 64);
  check_votes<2>(64, 32);
}
TEST(SimtTile, VotesInBlocksThatAreNotWholeWarps) {
  check_votes<32>(41, 32);
  check_votes<64>(100, 64);
  check_votes<16>(19, 32);
  check_votes<32>(1, 32);
}

// ---- lanes that do not exist -------------------------------------------------------------------------------------
__global__ void read_beyond_the_block(float* x) { x[threadIdx.x] = tile<32>().shfl_down(x[threadIdx.x], 8); }

TEST(SimtTile, ALaneThatDoesNotExistReadsAsNaN) {
  std::vector<float> x(20, 1.0f);
  ASSERT_RUNS(launch(one_block(20), read_beyond_the_block, x.data()));
  EXPECT_EQ(x[11], 1.0f);          // from lane 19
  EXPECT_TRUE(std::isnan(x[12]));  // from lane 20, which does not exist
}

template <int Warp> __global__ void some_return(simt::lane_mask* rest, int* value) {
  const tile<Warp> t;
  if (t.rank() % 3 == 0) return;
  const int i = simt::thread_rank();
  rest[i] = t.ballot(true);
  value[i] = t.shfl(i, 1);
}

template <int Warp> void check_some_return() {
  constexpr int threads = 2 * Warp;
  std::vector<simt::lane_mask> rest(threads);
  std::vector<int> value(threads, -7);
  ASSERT_RUNS(launch(one_block(threads, Warp), some_return<Warp>, rest.data(), value.data()));
  simt::lane_mask staying = 0;
  for (int k = 0; k < Warp; ++k) staying |= simt::lane_mask(k % 3 != 0) << k;
  for (int i = 0; i < threads; ++i) {
    EXPECT_EQ(rest[i], i % Warp % 3 == 0 ? 0 : staying);
    EXPECT_EQ(value[i], i % Warp % 3 == 0 ? -7 : i / Warp * Warp + 1);
  }
}

TEST(SimtTile, LanesThatReturnedAreSkipped) {
  check_some_return<32>();
  check_some_return<64>();
}

// Halves of a warp in separate collectives, at different lines.
__global__ void halves_apart(int* x) {
  const tile<16> t;
  if (t.index() % 2 == 0) x[threadIdx.x] = t.reduce(1, [](int a, int b) { return a + b; });
  else x[threadIdx.x] = t.shfl(static_cast<int>(threadIdx.x), 0);
}

TEST(SimtTile, PartsOfAWarpGoTheirOwnWays) {
  std::vector<int> x(64);
  ASSERT_RUNS(launch(one_block(64), halves_apart, x.data()));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(x[i], i / 16 % 2 == 0 ? 16 : i / 16 * 16);
}

// Tiles that call together give the same results as each tile by itself.
template <int N> __global__ void together(int* sum, int* low, int* next) {
  const simt::tiles<N> t;
  const int i = simt::thread_rank();
  sum[i] = t.reduce(i, [](int a, int b) { return a + b; });
  low[i] = static_cast<int>(t.ballot(i % 3 == 0) & 1);
  next[i] = t.shfl(i, 1);
}

template <int N> void check_together(int threads) {
  std::vector<int> sum(static_cast<std::size_t>(threads)), low(sum), next(sum);
  ASSERT_RUNS(launch(one_block(threads), together<N>, sum.data(), low.data(), next.data()));
  for (int i = 0; i < threads; ++i) {
    const int first = i / N * N;
    EXPECT_EQ(sum[static_cast<std::size_t>(i)], first * N + N * (N - 1) / 2);
    EXPECT_EQ(low[static_cast<std::size_t>(i)], first % 3 == 0);
    EXPECT_EQ(next[static_cast<std::size_t>(i)], first + 1);
  }
}

TEST(SimtTile, TilesOfAWarpTogether) {
  check_together<4>(64);
  check_together<8>(40);  // the last warp is partial
  check_together<16>(96);
}

__global__ void exchange(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  tile<8>().sync();
  x[threadIdx.x] = s[threadIdx.x ^ 7];
}

TEST(SimtTile, SyncOrdersSharedMemory) {
  std::vector<float> x(64);
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  ASSERT_RUNS(launch(one_block(64), exchange, x.data()));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(x[i], i ^ 7);
}

}  // namespace
}  // namespace simt_test
