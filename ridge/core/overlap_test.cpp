// Overlap of strided views, checked against every pair of elements; and extents of layouts that 64 bits do not hold.
#include <ridge/core/check_data.hpp>
#include <ridge/core/checked.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <set>
#include <vector>

namespace ridge {
namespace {

constexpr std::int64_t huge = std::int64_t{1} << 62;

// The offsets of all elements, in elements.
std::vector<std::int64_t> offsets_of(const Layout& t) {
  std::vector<std::int64_t> offsets{0};
  for (int axis = 0; axis < t.rank; ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < t.shape[axis]; ++i) next.push_back(offset + i * t.stride[axis]);
    offsets = std::move(next);
  }
  return offsets;
}

bool share_by_force(const TensorView& a, const TensorView& b) {
  std::set<std::intptr_t> bytes;
  const auto each_byte = [](const TensorView& v, auto&& visit) {
    const auto size = static_cast<std::int64_t>(size_of(v.dtype));
    for (const std::int64_t offset : offsets_of(v.layout))
      for (std::int64_t byte = 0; byte < size; ++byte)
        visit(reinterpret_cast<std::intptr_t>(v.data) + offset * size + byte);
  };
  bool shared = false;
  each_byte(a, [&](std::intptr_t at) { bytes.insert(at); });
  each_byte(b, [&](std::intptr_t at) { shared = shared || bytes.contains(at); });
  return shared;
}

bool itself_by_force(const Layout& t) {
  const auto offsets = offsets_of(t);
  return std::set(offsets.begin(), offsets.end()).size() < offsets.size();
}

// A random layout of up to four axes with few elements and strides of either sign or 0: about half of them overlap.
Layout random_layout(std::mt19937& random, int most_stride) {
  const auto from = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Layout t;
  t.rank = from(0, 4);
  for (int axis = 0; axis < t.rank; ++axis) {
    t.shape[axis] = from(0, 30) == 0 ? 0 : from(1, 4);
    t.stride[axis] = from(-most_stride, most_stride);
  }
  return t;
}

TEST(Overlap, TwoViewsAreComparedByteForByte) {
  std::mt19937 random(1);
  constexpr DType types[] = {u8, f16, f32, f64};
  char* const memory = reinterpret_cast<char*>(1 << 20);
  int shared = 0, apart_in_range = 0;
  for (int round = 0; round < 40'000; ++round) {
    const int most_stride = round % 2 ? 7 : 40;
    TensorView views[2];
    for (TensorView& view : views) {
      view.dtype = types[random() % 4];
      view.layout = random_layout(random, most_stride);
      view.data = memory + static_cast<int>(random() % 128) * (random() % 2 ? 1 : 8);
    }
    const bool wanted = share_by_force(views[0], views[1]);
    ASSERT_EQ(share_memory(views[0], views[1]), wanted)
        << views[0].layout.text() << " and " << views[1].layout.text() << " in round " << round;
    ASSERT_EQ(share_memory(views[1], views[0]), wanted) << "round " << round;
    shared += wanted;
    apart_in_range += !wanted && views[0].count() > 4 && views[1].count() > 4;
  }
  EXPECT_GT(shared, 4'000);  // both answers occur
  EXPECT_GT(apart_in_range, 4'000);
}

TEST(Overlap, ElementsOfOneViewAreCompared) {
  std::mt19937 random(2);
  int overlapping = 0;
  for (int round = 0; round < 40'000; ++round) {
    const Layout t = random_layout(random, round % 2 ? 7 : 60);
    ASSERT_EQ(overlaps_itself(t), itself_by_force(t)) << t.text() << " in round " << round;
    overlapping += itself_by_force(t);
  }
  EXPECT_GT(overlapping, 4'000);
  EXPECT_LT(overlapping, 36'000);
}

Layout layout(std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> stride) {
  Layout t = Layout::contiguous(shape);
  std::copy(stride.begin(), stride.end(), t.stride.begin());
  return t;
}

TEST(Overlap, ColumnsOfOneMatrixAreApart) {  // q, k and v in one product of billions of elements
  std::byte* const data = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
  const Layout columns = layout({std::int64_t{1} << 30, 32, 128}, {3 * 4096, 128, 1});
  const TensorView q{data, bf16, columns, {}}, k{data + 2 * 4096, bf16, columns, {}},
      late{data + 2 * 4095, bf16, columns, {}};
  EXPECT_FALSE(share_memory(q, k));
  EXPECT_TRUE(share_memory(q, late));
  EXPECT_FALSE(overlaps_itself(columns));
  EXPECT_TRUE(overlaps_itself(layout({64, 32}, {31, 1})));  // windows
  EXPECT_FALSE(overlaps_itself(layout({64, 32}, {32, 1})));
  EXPECT_FALSE(overlaps_itself(layout({2, 3}, {3, 2})));  // 0 2 4 3 5 7: not nested, but all different
  EXPECT_TRUE(overlaps_itself(layout({2, 4}, {3, 1})));
}

TEST(Overlap, WhatIsDearToDecideMayOverlap) {
  // Steps without common divisors, none of which reaches past the next: the search visits all sums.
  Layout t;
  t.rank = 8;
  for (int axis = 0; axis < 8; ++axis) {
    t.shape[axis] = 1'000'003;
    t.stride[axis] = 2 * (std::int64_t{1} << 33) + 2 * (axis * axis * 977 + axis * 31 + 1);
  }
  const auto begin = std::chrono::steady_clock::now();
  const TensorView a{reinterpret_cast<void*>(std::uintptr_t{1} << 40), u8, t, {}};
  const TensorView b{reinterpret_cast<void*>((std::uintptr_t{1} << 40) + 20'000'000'001), u8, t, {}};
  (void)share_memory(a, b);
  (void)overlaps_itself(t);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 0.1);
}

TEST(Overlap, ExtremeShapesAndStrides) {
  EXPECT_EQ(Layout::contiguous({huge, 4}).count(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Layout::contiguous({huge, 4, 0}).count(), 0);
  EXPECT_EQ(layout({3, 3}, {huge, -huge}).span(), std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(overlaps_itself(layout({3, 3}, {huge, huge - 1})));  // no memory has these
  int here = 0;
  const TensorView far{&here, i32, layout({3, 3}, {huge, 1}), {}}, near = view(&here + 1, {1});
  EXPECT_TRUE(share_memory(far, near));
  Layout twice[] = {layout({huge, 4}, {4, 1}), layout({huge, 4}, {huge, 1})};
  collapse(twice);
  EXPECT_EQ(twice[0].rank, 2);
  EXPECT_EQ(saturating_product(huge, -4), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(saturating_sum(huge, huge), std::numeric_limits<std::int64_t>::max());
}

TEST(Overlap, WhatNoMemoryHoldsIsRefusedInWords) {
  EXPECT_EQ(check_extent("op", "x", Layout::contiguous({huge, 4})).message(),
            "op: x.shape is 4611686018427387904x4; it must be of at most 2^56 elements");
  EXPECT_EQ(check_extent("op", "x", Layout::contiguous({huge, 0})).message(),
            "op: x.shape is 4611686018427387904x0; it must be of at most 2^56 elements");
  EXPECT_EQ(check_extent("op", "x", layout({2, 2}, {-huge, 1})).message(),
            "op: x.strides is -4611686018427387904,1; it must be such that elements lie within 2^56 of the first");
  EXPECT_EQ(check_sizes("op", "shape", {3, -1}).message(), "op: shape is 3x-1; it must be of sizes that are 0 or more");
  EXPECT_TRUE(check_extent("op", "x", layout({1, 2}, {huge, 1})).ok());
  EXPECT_TRUE(check_extent("op", "x", Layout::contiguous({std::int64_t{1} << 40, 1 << 16})).ok());
  EXPECT_EQ(check_elements_apart("op", "y", layout({4, 3}, {2, 1})).message(),
            "op: y.strides is 2,1; it must be such that no two elements share memory");
}

// Prints a figure and sets no limit: the time that every operator call pays.
TEST(Overlap, TimesOfUsualViews) {
  std::vector<float> memory(1 << 16);
  const TensorView x = view(memory.data(), {64, 128}), y = view(memory.data() + 8192, {64, 128});
  const Layout columns = layout({64, 4, 32}, {384, 32, 1});
  const TensorView q{memory.data(), f32, columns, {}}, k{memory.data() + 128, f32, columns, {}};
  const auto time = [](const char* what, auto&& f) {
    constexpr int times = 100'000;
    int yes = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      yes += f();
      asm volatile("" ::: "memory");
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    std::printf("%-28s %6.1f ns\n", what, took.count() / times);
    return yes;
  };
  EXPECT_EQ(time("apart", [&] { return share_memory(x, y); }), 0);
  EXPECT_GT(time("in place", [&] { return share_memory(x, x); }), 0);
  EXPECT_EQ(time("columns of one matrix", [&] { return share_memory(q, k); }), 0);
  EXPECT_EQ(time("contiguous, itself", [&] { return overlaps_itself(x.layout); }), 0);
  EXPECT_EQ(time("strided, itself", [&] { return overlaps_itself(columns); }), 0);
  EXPECT_GT(time("check_data", [&] { return check_data("op", "x", x).ok(); }), 0);
}

}  // namespace
}  // namespace ridge
