// The lessons' tables, and every fact that plan and kernel share.
#pragma once
#include <ridge/checklist/checklist.hpp>

#include <array>
#include <span>

namespace ridge::checklist_detail {

enum class Way : std::uint8_t {
  plain,     // the first step of the lesson's table
  strided,   // copy: a thread's elements are contiguous, so those of a warp are `step` apart
  shifted,   // copy: every warp starts one element late
  apart,     // branch: whole warps take one side
  select,    // branch: every lane computes both sides and keeps one
  coarse,    // `step` elements per thread, a block apart
  adjacent,  // vecadd: `step` contiguous elements per thread
  shared,    // through shared memory
};

struct Config {
  Way way = Way::plain;
  int step = 1;  // elements per thread; banks: words between neighbours
  int threads = 256;
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  double share;  // of the roof: an estimate, until measured on a GPU
};

// clang-format off
inline constexpr Variant copy_variants[] = {
    {"contiguous", "eight elements per thread, a block apart: 32 lanes share 4 sectors of 32 bytes", {.way = Way::coarse, .step = 8}, .90},
    {"strided_2", "two elements per thread, neighbours: a warp's request spans 8 sectors", {.way = Way::strided, .step = 2}, .69},
    {"strided_8", "eight: 32 sectors, one for each lane; the cache has to keep them for the other seven requests",
     {.way = Way::strided, .step = 8}, .21},
    {"strided_32", "32: a line for each lane, and more lines at a time than the cache holds", {.way = Way::strided, .step = 32}, .05},
    {"misaligned", "a warp starts one element off its line: 5 sectors instead of 4", {.way = Way::shifted, .step = 8}, .85},
};
inline constexpr Variant branch_variants[] = {
    {"uniform", "whole warps take elements of even index, or odd: each goes one way", {.way = Way::apart}, .60},
    {"divergent", "neighbouring lanes go different ways: each warp goes both", {}, .30},
    {"branch_free", "each lane computes both and selects one: all lanes work and store together", {.way = Way::select}, .30},
};
inline constexpr Variant vecadd_variants[] = {
    {"one_per_thread", "an element per thread", {}, .88},
    {"coarsened_4", "four elements per thread, a block apart: lanes still read neighbours", {.way = Way::coarse, .step = 4}, .92},
    {"adjacent_4", "four neighbours per thread: lanes read elements that are 16 bytes apart", {.way = Way::adjacent, .step = 4}, .60},
};
inline constexpr Variant histogram_variants[] = {
    {"atomic", "an atomic addition in global memory per sample", {}, .01},
    {"privatised", "each block counts in shared memory, and adds its counts once", {.way = Way::shared, .step = 4}, .10},
    {"coarsened", "64 samples per thread: fewer blocks, so fewer counts to add", {.way = Way::coarse, .step = 64}, .30},
};
inline constexpr Variant window_variants[] = {
    {"global", "each thread reads its whole window: every element w times, from the cache", {}, .50},
    {"shared", "a block's elements and a window's half on either side are read once", {.way = Way::shared}, .80},
};
inline constexpr Variant banks_variants[] = {
    {"stride_1", "neighbours in neighbouring banks: one pass", {.step = 1, .threads = 128}, .60},
    {"stride_2", "two lanes to a bank: two passes", {.step = 2, .threads = 128}, .40},
    {"stride_3", "odd: every bank once again", {.step = 3, .threads = 128}, .60},
    {"stride_4", "four lanes to a bank", {.step = 4, .threads = 128}, .25},
    {"stride_32", "all lanes in one bank: 32 passes", {.step = 32, .threads = 128}, .04},
    {"stride_33", "one word of padding per 32: every bank once", {.step = 33, .threads = 128}, .50},
};
// clang-format on

// The table of a lesson, at compile time.
template <Lesson L> constexpr auto& table() {
  if constexpr (L == Lesson::copy) return copy_variants;
  else if constexpr (L == Lesson::branch) return branch_variants;
  else if constexpr (L == Lesson::vecadd) return vecadd_variants;
  else if constexpr (L == Lesson::histogram) return histogram_variants;
  else if constexpr (L == Lesson::window) return window_variants;
  else return banks_variants;
}
// Calls f.template operator()<L>() for a lesson known at run time.
template <class R, class F> R with_lesson(Lesson lesson, F&& f) {
  switch (lesson) {
    case Lesson::copy: return f.template operator()<Lesson::copy>();
    case Lesson::branch: return f.template operator()<Lesson::branch>();
    case Lesson::vecadd: return f.template operator()<Lesson::vecadd>();
    case Lesson::histogram: return f.template operator()<Lesson::histogram>();
    case Lesson::window: return f.template operator()<Lesson::window>();
    default: return f.template operator()<Lesson::banks>();
  }
}

inline constexpr int warp_elements = 32;  // strides count groups of 32 lanes, even on wider warps
inline constexpr int bins = 256;
inline constexpr int rounds = 64;    // of the hashes: enough arithmetic for divergence to show beside memory
inline constexpr int reversals = 9;  // of each block in shared memory: enough passes to show; odd, so it is reversed
inline constexpr int most_width = 1023;  // of a window: a block and its halo fit in static shared memory

constexpr std::int64_t block_elements(Lesson lesson, Config c) {
  return std::int64_t{c.threads} * (lesson == Lesson::banks ? 1 : c.step);
}
constexpr int smem_bytes(Lesson lesson, Config c, std::int64_t width) {  // dynamic
  switch (lesson) {
    case Lesson::window: return c.way == Way::shared ? (c.threads + static_cast<int>(width) - 1) * 4 : 0;
    case Lesson::banks: return c.threads * c.step * 4;
    case Lesson::histogram: return c.way == Way::plain ? 0 : bins * 4;
    default: return 0;
  }
}

}  // namespace ridge::checklist_detail
