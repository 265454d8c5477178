// Every atomic, from many blocks at once, compared with the expected total.
#include <ridge/simt/test/support.hpp>

#include <vector>

namespace simt_test {
namespace {

constexpr int blocks = 16, threads = 64, total = blocks * threads;

template <class T> __global__ void sums(T* out) {
  atomicAdd(out, T(1));
  atomicAdd_block(out + 1 + blockIdx.x, T(2));
}

template <class T> void check_sums() {
  std::vector<T> out(1 + blocks);
  ASSERT_RUNS(launch({dim3(blocks), dim3(threads)}, sums<T>, out.data()));
  EXPECT_EQ(out[0], T(total));
  for (int b = 0; b < blocks; ++b) EXPECT_EQ(out[1 + b], T(2 * threads));
}

TEST(SimtAtomics, Add) {
  check_sums<int>();
  check_sums<unsigned>();
  check_sums<unsigned long long>();
  check_sums<float>();
  check_sums<double>();
}

template <class T> __global__ void extremes(T* least, T* most) {
  const T mine = T((blockIdx.x * threads + threadIdx.x) * 37 % total) - (T(-1) < T(0) ? T(total / 2) : T(0));
  atomicMin(least, mine);
  atomicMax(most, mine);
  atomicMin_block(least + 1 + blockIdx.x, mine);
  atomicMax_block(most + 1 + blockIdx.x, mine);
}

template <class T> void check_extremes() {
  std::vector<T> least(1 + blocks, T(total)), most(1 + blocks, T(0));
  ASSERT_RUNS(launch({dim3(blocks), dim3(threads)}, extremes<T>, least.data(), most.data()));
  const T shift = std::is_signed_v<T> ? T(total / 2) : T(0);
  EXPECT_EQ(least[0], T(0) - shift);
  EXPECT_EQ(most[0], T(total - 1) - shift);
  EXPECT_EQ(*std::min_element(least.begin() + 1, least.end()), least[0]);
  EXPECT_EQ(*std::max_element(most.begin() + 1, most.end()), most[0]);
}

TEST(SimtAtomics, MinMax) {
  check_extremes<int>();
  check_extremes<unsigned>();
  check_extremes<long long>();
  check_extremes<unsigned long long>();
}

template <class T> __global__ void bits(T* out) {
  const T bit = T(1) << (threadIdx.x % 31);
  atomicOr(out, bit), atomicAnd(out + 1, ~bit), atomicXor(out + 2, bit);
  atomicOr_block(out + 3, bit), atomicAnd_block(out + 4, ~bit), atomicXor_block(out + 5, T(0));
}

template <class T> void check_bits() {
  T out[6] = {0, ~T(0), 0, 0, ~T(0), 3};
  ASSERT_RUNS(launch(one_block(31), bits<T>, out));
  const T all = (T(1) << 30) - 1 + (T(1) << 30);
  EXPECT_EQ(out[0], all);
  EXPECT_EQ(out[1], ~all);
  EXPECT_EQ(out[2], all);
  EXPECT_EQ(out[3], all);
  EXPECT_EQ(out[4], ~all);
  EXPECT_EQ(out[5], T(3));
}

TEST(SimtAtomics, AndOrXor) {
  check_bits<int>();
  check_bits<unsigned>();
  check_bits<unsigned long long>();
}

// Every thread gets a ticket of its own, by compare-and-swap.
template <class T> __global__ void tickets(T* counter, int* taken) {
  T old = *static_cast<volatile T*>(counter), seen;
  while ((seen = atomicCAS(counter, old, old + 1)) != old) old = seen;
  atomicAdd(&taken[static_cast<int>(old)], 1);
}

template <class T> void check_tickets() {
  T counter = 0;
  std::vector<int> taken(total);
  ASSERT_RUNS(launch({dim3(blocks), dim3(threads)}, tickets<T>, &counter, taken.data()));
  EXPECT_EQ(counter, T(total));
  EXPECT_EQ(taken, std::vector<int>(total, 1));
}

TEST(SimtAtomics, CompareAndSwap) {
  if (race) GTEST_SKIP() << "the first read is a race on purpose";
  check_tickets<int>();
  check_tickets<unsigned>();
  check_tickets<unsigned long long>();
}

// Values are exchanged through one cell: the values that come out and the one left in it are those that went in.
template <class T> __global__ void relay(T* cell, T* received) {
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  received[i] = atomicExch(cell, T(i + 1));
}

template <class T> void check_relay() {
  T cell = 0;
  std::vector<T> received(total);
  ASSERT_RUNS(launch({dim3(blocks), dim3(threads)}, relay<T>, &cell, received.data()));
  received.push_back(cell);
  std::sort(received.begin(), received.end());
  for (int i = 0; i <= total; ++i) EXPECT_EQ(received[i], T(i));
}

TEST(SimtAtomics, Exchange) {
  check_relay<int>();
  check_relay<unsigned>();
  check_relay<unsigned long long>();
  check_relay<float>();
}

__global__ void rings(unsigned* up, unsigned* down, int* less) {
  atomicInc(up, 9);
  atomicDec(down, 9);
  atomicSub(less, 3);
}

TEST(SimtAtomics, IncDecSub) {
  unsigned up = 0, down = 0;
  int less = 0;
  ASSERT_RUNS(launch(one_block(64), rings, &up, &down, &less));
  EXPECT_EQ(up, 4u);  // 64 steps round 0..9
  EXPECT_EQ(down, 6u);
  EXPECT_EQ(less, -192);
}

// The last block to finish adds up the partial sums of the others: the pattern of every two-stage reduction.
__global__ void last_block(const int* in, int* partial, unsigned* finished, int* out) {
  __shared__ int sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (threadIdx.x == 0) {
    *out = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) *out += partial[b];
  }
}

TEST(SimtAtomics, FencesOrderWhatTheLastBlockReads) {
  std::vector<int> in(total, 3), partial(blocks);
  unsigned finished = 0;
  int out = 0;
  ASSERT_RUNS(launch({dim3(blocks), dim3(threads)}, last_block, in.data(), partial.data(), &finished, &out));
  EXPECT_EQ(out, 3 * total);
}

}  // namespace
}  // namespace simt_test
