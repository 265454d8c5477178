// cooperative_groups: groups of every size against loops, in branches, and what is refused.
#include <ridge/lab/cooperative_groups.hpp>
#include <ridge/lab/groups/memcpy_async.hpp>
#include <ridge/lab/groups/reduce.hpp>
#include <ridge/lab/groups/scan.hpp>
#include <ridge/simt/test/support.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace simt_test {
namespace {

namespace cg = cooperative_groups;

// Each test runs in the default order of threads, and in others.
template <class F> void in_every_order(F f) {
  for (const char* seed : {"0", "1", "2"}) {
    const Setting order("RIDGE_SEED", seed);
    f();
  }
}
int number(int i) { return i * 37 % 101 - 40; }

// ---- where a thread is ---------------------------------------------------------------------------------------------
struct Place {
  unsigned block_rank, block_size, tile_rank, tile_size, meta_rank, meta_size;
  unsigned long long grid_rank, grid_size;
  unsigned any_rank, any_size;
};
template <int N> __global__ void places(Place* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<N>(block);
  const cg::thread_group any = tile;
  const cg::grid_group grid = cg::this_grid();
  const dim3 shape = block.group_dim(), at = block.group_index();
  out[grid.thread_rank()] = {block.thread_rank() + 0 * shape.x * at.x,
                             block.size(),
                             tile.thread_rank(),
                             tile.size(),
                             tile.meta_group_rank(),
                             tile.meta_group_size(),
                             grid.thread_rank(),
                             grid.size(),
                             static_cast<unsigned>(any.thread_rank()),
                             static_cast<unsigned>(cg::group_size(any))};
}

template <unsigned N> void check_places() {
  constexpr unsigned threads = 5 * 4 * 3, blocks = 6;
  std::vector<Place> out(threads * blocks);
  ASSERT_RUNS(launch({dim3(3, 2), dim3(5, 4, 3)}, places<N>, out.data()));
  for (unsigned i = 0; i < out.size(); ++i) {
    const Place& p = out[i];
    const unsigned rank = i % threads;
    EXPECT_EQ(p.block_rank, rank);
    EXPECT_EQ(p.block_size, threads);
    EXPECT_EQ(p.tile_rank, rank % N);
    EXPECT_EQ(p.any_rank, rank % N);
    EXPECT_EQ(p.tile_size, N);
    EXPECT_EQ(p.any_size, N);
    EXPECT_EQ(p.meta_rank, rank / N);
    EXPECT_EQ(p.meta_size, (threads + N - 1) / N);
    EXPECT_EQ(p.grid_rank, i);
    EXPECT_EQ(p.grid_size, threads * blocks);
  }
}
TEST(LabGroups, KnowTheirThreads) {
  check_places<1>();
  check_places<4>();
  check_places<32>();
}

// ---- tiles ----------------------------------------------------------------------------------------------------------
struct Pair {
  double a;
  int b, c;
};
struct Got {
  int index, down, up, flip;
  double pair;
  int any, all;
  unsigned ballot, match, match_all;
  int same;
  int sum, most, bits, inclusive, exclusive;
};
template <unsigned N> __global__ void collectives(const int* x, Got* out) {
  const cg::thread_block_tile<N> tile = cg::tiled_partition<N>(cg::this_thread_block());
  const int i = static_cast<int>(threadIdx.x), mine = x[i];
  Got& g = out[i];
  g.index = tile.shfl(mine, 3 % N);
  g.down = tile.shfl_down(mine, 1);
  g.up = tile.shfl_up(mine, 2);
  g.flip = tile.shfl_xor(mine, N / 2);
  g.pair = tile.shfl(Pair{mine * 0.5, mine, 0}, 0).a;
  g.any = tile.any(mine > 50);
  g.all = tile.all(mine > -35);
  g.ballot = tile.ballot(mine % 2 == 0);
  g.match = tile.match_any(mine % 3);
  g.match_all = tile.match_all(mine / 1000, g.same);
  tile.sync();
  g.sum = cg::reduce(tile, mine, cg::plus<int>());
  g.most = cg::reduce(tile, mine, cg::greater<int>());
  g.bits = cg::reduce(tile, mine, [](int a, int b) { return a ^ b; });
  g.inclusive = cg::inclusive_scan(tile, mine);
  g.exclusive = cg::exclusive_scan(tile, mine, cg::plus<int>());
}

template <int N> void check_collectives(int threads) {
  std::vector<int> x(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) x[static_cast<std::size_t>(i)] = number(i);
  std::vector<Got> out(x.size());
  ASSERT_RUNS(launch(one_block(threads), collectives<N>, x.data(), out.data()));
  for (int i = 0; i < threads; ++i) {
    const Got& g = out[static_cast<std::size_t>(i)];
    const int first = i / N * N, end = std::min(first + N, threads), flip = i ^ (N / 2);
    const auto at = [&](int k) { return x[static_cast<std::size_t>(k)]; };
    if (first + 3 % N < end) {
      EXPECT_EQ(g.index, at(first + 3 % N));
    }
    EXPECT_EQ(g.pair, at(first) * 0.5);
    if (i + 1 < end) {
      EXPECT_EQ(g.down, at(i + 1));
    }
    EXPECT_EQ(g.up, at(i - 2 >= first ? i - 2 : i));
    if (flip < end) {
      EXPECT_EQ(g.flip, at(flip));
    }
    int any = 0, all = 1, sum = 0, before = 0, most = at(first), bits = 0;
    unsigned ballot = 0, match = 0, everyone = 0;
    for (int k = first; k < end; ++k) {
      any |= at(k) > 50;
      all &= at(k) > -35;
      sum += at(k);
      if (k < i) before += at(k);
      most = std::max(most, at(k));
      bits ^= at(k);
      everyone |= 1u << (k - first);
      if (at(k) % 2 == 0) ballot |= 1u << (k - first);
      if (at(k) % 3 == at(i) % 3) match |= 1u << (k - first);
    }
    EXPECT_EQ(g.any, any);
    EXPECT_EQ(g.all, all);
    EXPECT_EQ(g.ballot, ballot);
    EXPECT_EQ(g.match, match);
    EXPECT_EQ(g.match_all, everyone);
    EXPECT_EQ(g.same, 1);
    EXPECT_EQ(g.sum, sum) << N << " " << i;
    EXPECT_EQ(g.most, most);
    EXPECT_EQ(g.bits, bits);
    EXPECT_EQ(g.inclusive, before + at(i));
    EXPECT_EQ(g.exclusive, before);
  }
}

TEST(LabGroups, TilesOfEverySize) {
  in_every_order([] {
    check_collectives<1>(64);
    check_collectives<4>(64);
    check_collectives<8>(96);
    check_collectives<16>(64);
    check_collectives<32>(64);
  });
  check_collectives<2>(64);  // 16 masks of a warp at once are more than the runtime keeps: in the default order
}
TEST(LabGroups, TilesOfBlocksThatAreNotWholeWarps) {
  in_every_order([] {
    check_collectives<4>(50);
    check_collectives<16>(39);
    check_collectives<32>(41);
    check_collectives<32>(1);
  });
}

// A function that takes any tile, a tile of a tile, and a group of any kind.
template <unsigned N> int sum_of(cg::thread_block_tile<N> tile, int value) {
  for (unsigned d = tile.size() / 2; d > 0; d /= 2) value += tile.shfl_down(value, d);
  return tile.shfl(value, 0);
}
int sum_in_memory(const cg::thread_group& group, int* memory, int value) {
  const auto rank = static_cast<unsigned>(group.thread_rank());
  for (auto half = static_cast<unsigned>(group.size()) / 2; half > 0; half /= 2) {
    memory[rank] = value;
    group.sync();
    if (rank < half) value += memory[rank + half];
    group.sync();
  }
  return value;
}
__global__ void nested(int* tiles, int* halves, int* blocks, unsigned* meta) {
  __shared__ int memory[128], small[128];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto eight = cg::tiled_partition<8>(warp);
  const int i = static_cast<int>(threadIdx.x);
  tiles[i] = sum_of(eight, i);
  meta[i] = eight.meta_group_rank() * 100 + eight.meta_group_size();
  const cg::thread_group half = cg::tiled_partition(block, 16);
  halves[i] = sum_in_memory(half, small + i / 16 * 16, i);
  const int sum = sum_in_memory(block, memory, i);
  if (cg::thread_rank(block) == 0) *blocks = sum;
  cg::sync(block);
}

TEST(LabGroups, Nest) {
  in_every_order([] {
    std::vector<int> tiles(128), halves(128);
    std::vector<unsigned> meta(128);
    int block = 0;
    ASSERT_RUNS(launch(one_block(128), nested, tiles.data(), halves.data(), &block, meta.data()));
    EXPECT_EQ(block, 127 * 64);
    for (int i = 0; i < 128; ++i) {
      const auto n = static_cast<std::size_t>(i);
      EXPECT_EQ(tiles[n], i / 8 * 64 + 28);
      EXPECT_EQ(meta[n], static_cast<unsigned>(i % 32 / 8 * 100 + 4));
      if (i % 16 == 0) {
        EXPECT_EQ(halves[n], i * 16 + 120);
      }
    }
  });
}

// ---- in branches ----------------------------------------------------------------------------------------------------
__global__ void apart(int* out) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int i = static_cast<int>(threadIdx.x);
  switch (tile.meta_group_rank() % 3) {
    case 0: out[i] = cg::reduce(tile, i, cg::plus<int>()); break;
    case 1:
      for (int k = 0; k < 3; ++k) tile.sync();
      out[i] = static_cast<int>(tile.ballot(i % 2));
      break;
    default: out[i] = tile.shfl(i, 7);
  }
}
TEST(LabGroups, TilesOfAWarpGoTheirOwnWays) {
  in_every_order([] {
    std::vector<int> out(64);
    ASSERT_RUNS(launch(one_block(64), apart, out.data()));
    for (int i = 0; i < 64; ++i) {
      const int first = i / 8 * 8, way = i / 8 % 3;
      EXPECT_EQ(out[static_cast<std::size_t>(i)], way == 0 ? first * 8 + 28 : way == 1 ? 0xaa : first + 7);
    }
  });
}

// ---- lanes that are together ----------------------------------------------------------------------------------------
// Each group adds once for all of its lanes: right for any grouping.
__global__ void count(const int* x, int n, int* counter, unsigned* sizes) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  sizes[i] = 0;
  if (i >= n) return;
  if (x[i] > 0) {
    const auto group = cg::coalesced_threads();
    int base = 0;
    if (group.thread_rank() == 0) base = atomicAdd(counter, static_cast<int>(group.size()));
    base = group.shfl(base, 0) + static_cast<int>(group.thread_rank());
    sizes[i] = group.size() + 100 * static_cast<unsigned>(base + 1);
  } else {
    const cg::coalesced_group group = cg::coalesced_threads();
    sizes[i] = group.size() + 0 * group.ballot(1);
  }
}
TEST(LabGroups, GathersLanesOfABranch) {
  in_every_order([] {
    constexpr int threads = 256, n = 250;
    std::vector<int> x(threads);
    for (int i = 0; i < threads; ++i) x[static_cast<std::size_t>(i)] = number(i);
    std::vector<unsigned> sizes(threads), bases;
    int counter = 0;
    ASSERT_RUNS(launch({dim3(2), dim3(128)}, count, x.data(), n, &counter, sizes.data()));
    for (int warp = 0; warp < threads; warp += 32) {
      unsigned positive = 0, others = 0;
      for (int i = warp; i < std::min(warp + 32, n); ++i) ++(x[static_cast<std::size_t>(i)] > 0 ? positive : others);
      for (int i = warp; i < std::min(warp + 32, n); ++i) {
        const unsigned got = sizes[static_cast<std::size_t>(i)];
        EXPECT_EQ(got % 100, x[static_cast<std::size_t>(i)] > 0 ? positive : others) << i;  // all of the branch
        if (got >= 100) bases.push_back(got / 100);
      }
    }
    EXPECT_EQ(static_cast<std::size_t>(counter), bases.size());
    std::sort(bases.begin(), bases.end());
    for (std::size_t i = 0; i < bases.size(); ++i) EXPECT_EQ(bases[i], i + 1);  // each place once
  });
}

__global__ void odd_lanes(int* sums, int* shifted, int* parts, unsigned* labels) {
  const int i = static_cast<int>(threadIdx.x);
  if (i % 2 == 0) return;
  const auto odd = cg::coalesced_threads();
  sums[i] = cg::reduce(odd, i, cg::plus<int>());
  shifted[i] = odd.shfl_down(i, 3) * 1000 + odd.shfl_up(i, 1);
  const auto four = cg::tiled_partition(odd, 4);
  parts[i] = cg::inclusive_scan(four, 1) * 100 + static_cast<int>(four.meta_group_rank());
  const auto same = cg::labeled_partition(odd, i % 3);
  labels[i] = same.size() * 100 + same.meta_group_size() * 10 + cg::binary_partition(odd, i > 8).size();
}
TEST(LabGroups, AnyLanes) {
  in_every_order([] {
    std::vector<int> sums(32), shifted(32), parts(32);
    std::vector<unsigned> labels(32);
    ASSERT_RUNS(launch(one_block(32), odd_lanes, sums.data(), shifted.data(), parts.data(), labels.data()));
    for (int i = 1; i < 32; i += 2) {
      const auto n = static_cast<std::size_t>(i);
      EXPECT_EQ(sums[n], 256);
      EXPECT_EQ(shifted[n], (i + 6 < 32 ? i + 6 : i) * 1000 + (i >= 3 ? i - 2 : i));
      EXPECT_EQ(parts[n], (i / 2 % 4 + 1) * 100 + i / 8);
      const unsigned same = i % 3 == 1 ? 6 : 5;  // 1 7 13 19 25 31, 3 9 15 21 27, 5 11 17 23 29
      EXPECT_EQ(labels[n], same * 100 + 30 + (i > 8 ? 12 : 4));
    }
  });
}

// Lanes that a barrier, or a collective, has just let go are not there yet; nobody may leave without them.
__global__ void after_waits(unsigned* sizes) {
  cg::this_thread_block().sync();
  unsigned size = cg::coalesced_threads().size();
  if (threadIdx.x % 2) {
    size += 100 * cg::coalesced_threads().size();
    if (threadIdx.x % 4 == 1) size += 10000 * cg::coalesced_threads().size();
  }
  __syncwarp();
  sizes[threadIdx.x] = size + 1000000 * cg::coalesced_threads().size();
}
TEST(LabGroups, GathersLanesThatWereJustLetGo) {
  in_every_order([] {
    std::vector<unsigned> sizes(96);
    ASSERT_RUNS(launch(one_block(96), after_waits, sizes.data()));
    for (unsigned i = 0; i < 96; ++i) {
      EXPECT_EQ(sizes[i], 32000032u + (i % 2 ? 1600u : 0u) + (i % 4 == 1 ? 80000u : 0u)) << i;
    }
  });
}

// Lanes that wait for this one's write do not keep it from going on.
__global__ void spin(volatile int* flag, unsigned* size) {
  if (threadIdx.x == 5) {
    *size = cg::coalesced_threads().size();
    *flag = 1;
  } else {
    while (*flag == 0) __nanosleep(100);
  }
}
TEST(LabGroups, GathersWhileOthersSpin) {
  if (race) GTEST_SKIP() << "the flag is a race";
  in_every_order([] {
    int flag = 0;
    unsigned size = 0;
    ASSERT_RUNS(launch(one_block(64), spin, &flag, &size));
    EXPECT_EQ(size, 1u);
  });
}

// ---- one for all ----------------------------------------------------------------------------------------------------
__global__ void elect(int* calls, int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  cg::invoke_one(tile, [&] { atomicAdd(calls, 1); });
  out[threadIdx.x] = cg::invoke_one_broadcast(
      tile, [](int x) { return x + static_cast<int>(threadIdx.x); }, 5);
}
TEST(LabGroups, OneThreadForAll) {
  std::vector<int> out(64);
  int calls = 0;
  ASSERT_RUNS(launch(one_block(64), elect, &calls, out.data()));
  EXPECT_EQ(calls, 4);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i / 16 * 16 + 5);
}

// ---- copies ---------------------------------------------------------------------------------------------------------
template <class T> __global__ void copy(const T* x, T* out, int n, bool wait) {
  __shared__ __align__(16) T memory[300];
  const auto block = cg::this_thread_block();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 64) memory[i] = T(1);
  block.sync();
  cg::memcpy_async(block, memory, x, sizeof(T) * static_cast<std::size_t>(n));
  if (wait) cg::wait(block);
  else block.sync();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 64) out[i] = memory[i];
}
template <class T> void check_copy(int n) {
  std::vector<T> x(static_cast<std::size_t>(n)), out(x.size());
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<T>(number(i));
  ASSERT_RUNS(launch(one_block(64), copy<T>, x.data(), out.data(), n, true));
  EXPECT_EQ(out, x);
  ASSERT_RUNS(launch(one_block(64), copy<T>, x.data(), out.data(), n, false));
  EXPECT_EQ(out, std::vector<T>(x.size(), T(1)));  // who does not wait reads what was there before
}
TEST(LabGroups, CopiesWhenItWaits) {
  check_copy<float>(300);
  check_copy<float>(7);
  check_copy<char>(299);
  check_copy<double>(100);
}

// ---- refusals -------------------------------------------------------------------------------------------------------
__global__ void grid_sync(int* x) {
  __shared__ int shared[64];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  cg::this_grid().sync();
  x[threadIdx.x] = shared[threadIdx.x ^ 63];
}
__global__ void cluster_sync(int*) { cg::this_cluster().sync(); }
__global__ void odd_tile(int*) { cg::tiled_partition(cg::this_thread_block(), 12).sync(); }

TEST(LabGroups, AGridOfOneBlockSynchronises) {
  std::vector<int> x(64);
  ASSERT_RUNS(launch(one_block(64), grid_sync, x.data()));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(x[static_cast<std::size_t>(i)], i ^ 63);
  ASSERT_RUNS(launch(one_block(64), cluster_sync, x.data()));
}
TEST(LabGroups, RefusesWhatNeedsAllBlocks) {
  std::vector<int> x(64);
  const std::string reason =
      " needs all of its blocks at once, and the CPU runtime runs a grid's blocks one after the other; launch one "
      "block, or split the kernel where it waits";
  const Status grid = launch({dim3(2), dim3(64)}, grid_sync, x.data());
  EXPECT_EQ(grid.code(), Code::kernel_fault);
  EXPECT_NE(text(grid).find("exception: grid.sync()" + reason), std::string::npos) << text(grid);
  const Status cluster = launch({dim3(2), dim3(64)}, cluster_sync, x.data());
  EXPECT_NE(text(cluster).find("exception: this_cluster()" + reason), std::string::npos) << text(cluster);
  EXPECT_NE(text(launch(one_block(64), odd_tile, x.data())).find("a tile is 1, 2, 4"), std::string::npos);
}

}  // namespace
}  // namespace simt_test
