// The kernels of the pointer chase on the CPU runtime, which knows nothing of their times: where their walks go.
#include <ridge/bench/pointer_chase.cuh>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace ridge::bench {
namespace {

constexpr std::uint32_t links = 64;
constexpr std::int64_t stride = 3 * sizeof(Link);

// Each reading of its clock is one more than the last.
struct Cpu {
  static Reading now() {
    static std::int64_t readings = 0;
    ++readings;
    return {readings, 10 * readings};
  }
  static const Link* next(const Link* link) { return link->next; }
};

TEST(PointerChase, TheOrderIsOneCycle) {
  for (const std::uint32_t n : {1u, 2u, 3u, links, 1000u}) {
    const auto next = random_cycle(n, 7);
    std::set<std::uint32_t> met;
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < n; ++i) met.insert(at = next[at]);
    EXPECT_EQ(met.size(), n);
    EXPECT_EQ(at, 0u) << n;
  }
  EXPECT_NE(random_cycle(links, 7), random_cycle(links, 8));
}

// Where walks of 0, 1, 2, ... steps end: at each link once, and after as many steps as there are links at the first.
template <class WalkTo> void expect_each_link_once(WalkTo&& walk_to, std::int64_t bytes_apart) {
  std::set<std::int64_t> ends;
  for (std::int64_t steps = 0; steps < links; ++steps) {
    const Walk walk = walk_to(steps);
    EXPECT_EQ(walk.at % bytes_apart, 0);
    ends.insert(walk.at / bytes_apart);
    EXPECT_EQ(walk.taken.cycles, 1);
    EXPECT_EQ(walk.taken.ns, 10);
  }
  EXPECT_EQ(ends.size(), links);
  EXPECT_EQ(*ends.begin(), 0);
  EXPECT_EQ(*ends.rbegin(), links - 1);
  EXPECT_EQ(walk_to(links).at, 0);
}

TEST(PointerChase, AWalkOfLinksMeetsEachOnce) {
  const auto next = random_cycle(links, 7);
  alignas(Link) static std::byte chain[stride * links];
  char* first = reinterpret_cast<char*>(chain);
  ASSERT_TRUE(simt::launch({.grid = dim3(2), .block = dim3(40)}, tie_links_kernel, first, stride, next.data(), links));
  const auto walk_from = [&](std::int64_t warm, std::int64_t steps) {
    Walk walk;
    EXPECT_TRUE(simt::launch({.grid = dim3(1), .block = dim3(1)}, walk_links_kernel<Cpu>,
                             reinterpret_cast<const Link*>(first), warm, steps, &walk));
    return walk;
  };
  expect_each_link_once([&](std::int64_t steps) { return walk_from(0, steps); }, stride);
  EXPECT_EQ(walk_from(5, 6).at, walk_from(0, 11).at);  // the untimed part leads on
  EXPECT_EQ(walk_from(0, 1).at, next[0] * stride);
}

TEST(PointerChase, AWalkInSharedMemoryMeetsEachWordOnce) {
  const auto next = random_cycle(links, 9);
  expect_each_link_once(
      [&](std::int64_t steps) {
        Walk walk;
        EXPECT_TRUE(simt::launch({.grid = dim3(1), .block = dim3(32), .smem = links * sizeof(std::uint32_t)},
                                 walk_shared_kernel<Cpu>, next.data(), links, steps, &walk));
        return walk;
      },
      sizeof(std::uint32_t));
}

}  // namespace
}  // namespace ridge::bench
