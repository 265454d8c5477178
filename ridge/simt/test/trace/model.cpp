// The memory model alone, from lane addresses to sectors and wavefronts. Nothing is traced.
#include <ridge/simt/trace/model.hpp>

#include <gtest/gtest.h>

#include <array>

namespace ridge::simt::trace {

inline void PrintTo(const Cost& cost, std::ostream* out) { *out << cost.units << " (" << cost.least << ")"; }
inline bool operator==(const Cost& a, const Cost& b) { return a.units == b.units && a.least == b.least; }

namespace {

constexpr std::uint64_t whole_warp = 0xffffffff;

class Lanes {
 public:
  // Lane l accesses `bytes` bytes at address(l).
  template <class F> Lanes(int bytes, F address, std::uint64_t lanes = whole_warp) : bytes_(bytes), lanes_(lanes) {
    for (int lane = 0; lane < 64; ++lane)
      at_[static_cast<std::size_t>(lane)] = base + static_cast<Address>(address(lane));
  }
  operator Request() const { return {lanes_, bytes_, at_.data()}; }

 private:
  static constexpr Address base = 1 << 20;
  int bytes_;
  std::uint64_t lanes_;
  std::array<Address, 64> at_{};
};

Cost load_of_shared(const Request& r) { return wavefronts(Kind::load, r); }

// ---- sectors -----------------------------------------------------------------------------------------------------

TEST(TraceModel, SectorsOfNeighbours) {
  for (int bytes : {1, 2, 4, 8, 16})
    EXPECT_EQ(sectors(Lanes(bytes, [=](int l) { return bytes * l; })), (Cost{bytes, bytes})) << bytes;
}

TEST(TraceModel, SectorsOfStrides) {
  EXPECT_EQ(sectors(Lanes(4, [](int l) { return 4 * 2 * l; })), (Cost{8, 4}));
  EXPECT_EQ(sectors(Lanes(4, [](int l) { return 4 * 8 * l; })), (Cost{32, 4}));
  EXPECT_EQ(sectors(Lanes(4, [](int l) { return 4 * 33 * l; })), (Cost{32, 4}));
  EXPECT_EQ(sectors(Lanes(4, [](int l) { return 4 * (31 - l); })), (Cost{4, 4}));  // backwards
}

TEST(TraceModel, SectorsOfOneAddressAndOfOverlap) {
  EXPECT_EQ(sectors(Lanes(4, [](int) { return 64; })), (Cost{1, 1}));
  EXPECT_EQ(sectors(Lanes(16, [](int l) { return l / 8 * 16; })), (Cost{2, 2}));
  EXPECT_EQ(sectors(Lanes(4, [](int l) { return l / 2 * 4; })), (Cost{2, 2}));  // bytes count once
}

TEST(TraceModel, SectorsOffABoundary) {
  EXPECT_EQ(sectors(Lanes(4, [](int l) { return 4 + 4 * l; })), (Cost{5, 4}));
  EXPECT_EQ(sectors(Lanes(8, [](int l) { return 8 + 8 * l; })), (Cost{9, 8}));
}

TEST(TraceModel, LanesThatTakeNoPartCostNothing) {
  EXPECT_EQ(sectors(Lanes(
                4, [](int l) { return 4 * l; }, 0xff)),
            (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(
                16, [](int l) { return 16 * l; }, 0xff)),
            (Cost{1, 1}));
}

// ---- wavefronts --------------------------------------------------------------------------------------------------

TEST(TraceModel, WavefrontsOfNeighbours) {
  EXPECT_EQ(load_of_shared(Lanes(1, [](int l) { return l; })), (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(2, [](int l) { return 2 * l; })), (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(4, [](int l) { return 4 * l; })), (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(8, [](int l) { return 8 * l; })), (Cost{2, 2}));
  EXPECT_EQ(load_of_shared(Lanes(16, [](int l) { return 16 * l; })), (Cost{4, 4}));
}

TEST(TraceModel, WavefrontsOfStrides) {
  const int expected[][2] = {{1, 1}, {2, 2}, {3, 1}, {4, 4}, {8, 8}, {31, 1}, {32, 32}, {33, 1}, {64, 32}};
  for (const auto [stride, conflicts] : expected)
    EXPECT_EQ(load_of_shared(Lanes(4, [=, s = stride](int l) { return 4 * s * l; })), (Cost{conflicts, 1})) << stride;
  EXPECT_EQ(load_of_shared(Lanes(8, [](int l) { return 16 * l; })), (Cost{4, 2}));
  EXPECT_EQ(load_of_shared(Lanes(16, [](int l) { return 32 * l; })), (Cost{8, 4}));
  EXPECT_EQ(load_of_shared(Lanes(16, [](int l) { return 128 * l; })), (Cost{32, 4}));
}

TEST(TraceModel, AWordThatSeveralLanesReadIsReadOnce) {
  EXPECT_EQ(load_of_shared(Lanes(4, [](int) { return 0; })), (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(4, [](int l) { return 4 * (l % 4); })), (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(4, [](int l) { return 128 * (l % 2); })), (Cost{2, 1}));
}

// As counted on an H200 (64x64 matrix product of 4x4 per thread: 24,576 wavefronts of 8,192 loads).
TEST(TraceModel, WideLoadsOfPairsGoTogether) {
  EXPECT_EQ(load_of_shared(Lanes(16, [](int) { return 0; })), (Cost{2, 2}));
  EXPECT_EQ(load_of_shared(Lanes(16, [](int l) { return l / 16 * 16; })), (Cost{2, 2}));
  EXPECT_EQ(load_of_shared(Lanes(16, [](int l) { return l / 2 * 16; })), (Cost{2, 2}));
  EXPECT_EQ(load_of_shared(Lanes(16, [](int l) { return (l / 4 * 2 + l % 2) * 16; })), (Cost{2, 2}));  // l and l ^ 2
  EXPECT_EQ(load_of_shared(Lanes(16, [](int l) { return l % 16 * 16; })), (Cost{4, 4}));
  EXPECT_EQ(load_of_shared(Lanes(8, [](int) { return 0; })), (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(8, [](int l) { return l / 2 * 8; })), (Cost{1, 1}));
  EXPECT_EQ(load_of_shared(Lanes(8, [](int l) { return l % 16 * 8; })), (Cost{2, 2}));
}

TEST(TraceModel, WideStoresDoNotGoTogether) {
  EXPECT_EQ(wavefronts(Kind::store, Lanes(8, [](int l) { return l / 2 * 8; })), (Cost{2, 2}));
}

TEST(TraceModel, AtomicsOnOneWordGoOneAfterTheOther) {
  EXPECT_EQ(wavefronts(Kind::atomic, Lanes(4, [](int l) { return 4 * l; })), (Cost{1, 1}));
  EXPECT_EQ(wavefronts(Kind::atomic, Lanes(4, [](int l) { return 4 * (l % 8); })), (Cost{4, 1}));
  EXPECT_EQ(wavefronts(Kind::atomic, Lanes(4, [](int) { return 0; })), (Cost{32, 1}));
}

TEST(TraceModel, AWarpOf64IsTwoPasses) {
  EXPECT_EQ(load_of_shared(Lanes(
                4, [](int l) { return 4 * l; }, ~0ull)),
            (Cost{2, 2}));
  EXPECT_EQ(sectors(Lanes(
                4, [](int l) { return 4 * l; }, ~0ull)),
            (Cost{8, 8}));
}

}  // namespace
}  // namespace ridge::simt::trace
