// Findings and reports: divergence, unset reads, races, source lines, errors.
#include <ridge/simt/test/trace/traced.hpp>

#include <algorithm>
#include <thread>

namespace simt_test {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ---- lanes that part and meet again ------------------------------------------------------------------------------

__global__ void branches(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i)
    if ((int(threadIdx.x) + i) % 4 == 0) y[i * 32 + threadIdx.x] = x[i * 32 + threadIdx.x];  // divergent
  if (n > 3) y[threadIdx.x] = 1;                                                             // not
}

TEST(Trace, DivergentBranch) {
  const Aligned<float> x(32 * 8), y(32 * 8);
  const auto launch = traced(one_block(64), branches, x, y, 4);
  ASSERT_EQ(launch.branches.size(), 1u);
  EXPECT_EQ(launch.branches[0].executed, 8);
  EXPECT_EQ(launch.branches[0].divergent, 8);
  EXPECT_TRUE(contains(launch.branches[0].at.text, "// divergent")) << launch.branches[0].at.text;
  // A quarter of each warp's lanes in each iteration: their reads are in four sectors.
  EXPECT_EQ(global_loads(launch), (Cost{8, 4}));
  EXPECT_EQ(launch.total(Space::global, Kind::load).lanes, 64);
}

__global__ void nested(const float* x, float* y) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < int(threadIdx.x) % 3; ++j) y[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = x[32 + threadIdx.x];
  }
}

TEST(Trace, LanesMeetAgainAfterALoopOfDifferentLengths) {
  const Aligned<float> x(64), y(32);
  const auto launch = traced(one_block(32), nested, x, y);
  const auto wide = std::ranges::count_if(launch.accesses, [](const trace::Access& a) {
    return a.kind == Kind::load && a.requests == 3 && a.lanes == 3 * 32;
  });
  const auto narrow = std::ranges::count_if(launch.accesses, [](const trace::Access& a) {
    return a.kind == Kind::load && a.requests == 3 * 2 && a.lanes == 3 * 31;
  });
  EXPECT_EQ(wide, 1);
  EXPECT_EQ(narrow, 1);
}

__attribute__((noinline)) float fetch(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i * 32];
  return sum;
}
__global__ void calls(const float* x, float* y) {
  for (int i = 0; i < 3; ++i)
    if ((threadIdx.x + i) % 2 == 0) y[threadIdx.x] = fetch(x + threadIdx.x, 2);
}

TEST(Trace, FunctionsAreFollowed) {
  const Aligned<float> x(64), y(32);
  const auto launch = traced(one_block(32), calls, x, y);
  EXPECT_EQ(launch.total(Space::global, Kind::load).requests, 6);
  EXPECT_EQ(launch.total(Space::global, Kind::load).lanes, 6 * 16);
}

template <int Warp> __global__ void early_return(const float* x, float* y, int n) {
  if (int(threadIdx.x) >= n) return;
  const tile<Warp> warp;
  float v = x[threadIdx.x];
  for (int i = 0; i < 3; ++i) v += warp.shfl_xor(v, 1);
  y[threadIdx.x] = v;
}

TEST(Trace, LanesThatReturnEarly) {
  const Aligned<float> x(64), y(64);
  EXPECT_EQ(global_stores(traced(one_block(32), early_return<32>, x, y, 16)), (Cost{1, 2}));
  EXPECT_EQ(global_stores(traced(one_block(32), early_return<8>, x, y, 16)), (Cost{1, 2}));
  EXPECT_EQ(global_stores(traced(one_block(64, 64), early_return<64>, x, y, 48)), (Cost{1, 6}));
}

TEST(Trace, TheScheduleDoesNotMatter) {
  const Aligned<float> x(64), y(64);
  for (const char* seed : {"0", "7", "31415"}) {
    const Setting order("RIDGE_SEED", seed);
    EXPECT_EQ(global_stores(traced(one_block(64), early_return<16>, x, y, 64)), (Cost{2, 4})) << seed;
  }
}

// ---- shared memory that no thread wrote --------------------------------------------------------------------------

__global__ void unset(float* y, int written) {
  __shared__ float s[64];
  if (int(threadIdx.x) < written) s[threadIdx.x] = 1;
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
__global__ void unset_dynamic(float* y, int written) {
  float* s = simt::dynamic_shared<float>();
  if (int(threadIdx.x) < written) s[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}

TEST(Trace, UnsetSharedReads) {
  const Aligned<float> y(128);
  const Config two_blocks{.grid = dim3(2), .block = dim3(64)};
  EXPECT_EQ(traced(two_blocks, unset, y, 64).unset_reads(), 0);
  const auto launch = traced(two_blocks, unset, y, 40);  // the first block's writes do not count for the second
  EXPECT_EQ(launch.unset_reads(), 2 * 24);
  EXPECT_EQ(traced({.grid = dim3(1), .block = dim3(64), .smem = 256}, unset_dynamic, y, 60).unset_reads(), 4);
  trace::Report report;
  report.launches.push_back(launch);
  EXPECT_TRUE(contains(report.text(), "UNSET: 48 reads")) << report.text();
}

// ---- blocks that meet --------------------------------------------------------------------------------------------

__global__ void overlapping_stores(float* y) { y[blockIdx.x * 60 + threadIdx.x] = 1; }
__global__ void reads_neighbours(float* y) { y[blockIdx.x * 64 + threadIdx.x] = y[threadIdx.x]; }
__global__ void byte_neighbours(unsigned char* y) { y[blockIdx.x + gridDim.x * threadIdx.x] = 1; }
__global__ void only_reads(const float* x, float* y) { y[blockIdx.x * 64 + threadIdx.x] = x[threadIdx.x]; }
__global__ void only_atomics(unsigned* y) { atomicAdd(y + threadIdx.x, 1u); }
__global__ void atomic_and_store(unsigned* y) {
  if (blockIdx.x == 0) atomicAdd(y + threadIdx.x, 1u);
  else y[threadIdx.x] = 1;
}
// The last block to arrive adds up the others' partial sums.
__global__ void last_block(float* partial, unsigned* tickets, float* sum) {
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = 1;
    __threadfence();
    if (atomicAdd(tickets, 1u) == gridDim.x - 1) {
      __threadfence();
      float all = 0;
      for (unsigned i = 0; i < gridDim.x; ++i) all += partial[i];
      *sum = all;
    }
  }
}

TEST(Trace, RacesBetweenBlocks) {
  const Aligned<float> y(64 * 8);
  const Aligned<unsigned> counts(64);
  const Aligned<unsigned char> bytes(64 * 4);
  const Config config{.grid = dim3(4), .block = dim3(64)};
  const auto stores = traced(config, overlapping_stores, y);
  ASSERT_EQ(stores.races.size(), 1u);
  EXPECT_EQ(stores.races[0].accesses, 3 * 4);
  EXPECT_EQ(traced(config, reads_neighbours, y).races.size(), 1u);
  EXPECT_EQ(traced(config, atomic_and_store, counts).races.size(), 2u);  // with the atomics, and among the stores
  EXPECT_TRUE(traced(config, byte_neighbours, bytes).races.empty());
  EXPECT_TRUE(traced(config, only_reads, y, y + 64).races.empty());
  EXPECT_TRUE(traced(config, only_atomics, counts).races.empty());
}

TEST(Trace, BlocksThatHandOnByATicketDoNotRace) {
  const Aligned<float> partial(8), sum(1);
  const Aligned<unsigned> tickets(1);
  EXPECT_TRUE(traced({.grid = dim3(8), .block = dim3(32)}, last_block, partial, tickets, sum).races.empty());
  EXPECT_EQ(sum[0], 8);
}

// ---- reports -----------------------------------------------------------------------------------------------------

__global__ void scale_column(float* x) { x[threadIdx.x * 32] *= 2; }

TEST(Trace, LinesAreNamedAndQuoted) {
  const Aligned<float> x(32 * 32);
  auto report = trace::record([&] { return launch(one_block(32), scale_column, x.get()); });
  ASSERT_TRUE(report.ok());
  const trace::Launch& launch = report->launches[0];
  EXPECT_TRUE(contains(launch.kernel, "scale_column(float*)")) << launch.kernel;
  ASSERT_EQ(launch.accesses.size(), 2u);
  for (const trace::Access& a : launch.accesses) {
    EXPECT_TRUE(a.at.spelled().starts_with("findings.cu:")) << a.at.spelled();
    EXPECT_TRUE(contains(a.at.text, "x[threadIdx.x * 32] *= 2")) << a.at.text;
    EXPECT_EQ(a.note(32), "uncoalesced");
  }
  const std::string said = report->text();
  for (const char* part : {"scale_column", "findings.cu:", "x[threadIdx.x * 32] *= 2", "32.00 (4.00)", "uncoalesced",
                           "global load 4 B", "grid (1), block (32)"})
    EXPECT_TRUE(contains(said, part)) << part << "\n" << said;
}

TEST(Trace, AtomicsAndVectorsAreNamedWhereTheyAreUsed) {
  const Aligned<unsigned> counts(64);
  const auto launch = traced(one_block(32), only_atomics, counts);
  ASSERT_EQ(launch.accesses.size(), 1u);
  EXPECT_TRUE(contains(launch.accesses[0].at.text, "void only_atomics")) << launch.accesses[0].at.spelled();
}

__global__ void skips_barrier(float* x) {
  if (threadIdx.x < 32) __syncthreads();
  x[threadIdx.x] = 1;
}

TEST(Trace, AKernelThatBreaksARuleIsAnErrorWithItsLine) {
  const Aligned<float> x(32 * 32);
  auto report = trace::record([&] { return launch(one_block(64), skips_barrier, x.get()); });
  ASSERT_FALSE(report.ok());
  EXPECT_TRUE(contains(text(report.error()), "findings.cu:")) << text(report.error());
  // The next trace works normally.
  EXPECT_EQ(global_loads(traced(one_block(32), scale_column, x)), (Cost{1, 32}));
}

__global__ void waits_for_ever(const float* x, float* y) {
  while (*static_cast<const volatile float*>(x) == 0) {}
  *y = 1;
}

TEST(Trace, AKernelThatHangsIsGivenUp) {
  const Setting patience("RIDGE_WATCHDOG_SECONDS", "0.3");
  const Aligned<float> x(1), y(1);
  auto report = trace::record([&] { return launch(one_block(32), waits_for_ever, x.get(), y.get()); });
  ASSERT_FALSE(report.ok());
  EXPECT_TRUE(contains(text(report.error()), "watchdog")) << text(report.error());
}

TEST(Trace, ABlockThatDoesTooMuchIsGivenUp) {
  const Setting patience("RIDGE_WATCHDOG_SECONDS", "0");
  const Aligned<float> x(1), y(1);
  auto report = trace::record([&] { return launch(one_block(32), waits_for_ever, x.get(), y.get()); });
  ASSERT_FALSE(report.ok());
  EXPECT_TRUE(contains(text(report.error()), "more than can be kept")) << text(report.error());
}

TEST(Trace, NothingIsRecordedOutsideOfASession) {
  const Aligned<float> x(32 * 32);
  ASSERT_RUNS(launch(one_block(32), scale_column, x.get()));
  auto report = trace::record([] { return Status(); });
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->launches.empty());
  EXPECT_EQ(report->text(), "no kernel was launched\n");
}

TEST(Trace, OtherThreadsOfTheProgramAreNotHeard) {
  const Aligned<float> x(32 * 32);
  std::atomic<bool> stop{false};
  std::vector<float> own(64);
  std::thread other([&] {  // this file is compiled with the hooks, and so is this loop
    while (!stop)
      for (float& v : own) v += 1;
  });
  const auto launch = traced(one_block(32), scale_column, x);
  stop = true;
  other.join();
  EXPECT_EQ(launch.accesses.size(), 2u);
}

TEST(Trace, SessionsDoNotNest) {
  const auto report = trace::record([] { return trace::record([] { return Status(); }).error(); });
  EXPECT_FALSE(report.ok());
}

}  // namespace
}  // namespace simt_test
