// Groups: the rows and group that a block of a grouped product computes. Groups are runs of A's rows, and offsets in
// device memory say where they begin; a plan or a graph capture knows nothing of them.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge::gemm_kernels {

// Group g has rows offsets[g] to offsets[g + 1]. Offsets are clamped to 0 ... `rows`.
struct Groups {
  const std::int32_t* offsets = nullptr;
  std::int64_t count = 0, rows = 0;

  RIDGE_HD constexpr std::int64_t first(std::int64_t g) const {
    const std::int64_t row = offsets[g];
    return row < 0 ? 0 : row > rows ? rows : row;
  }
};

// Slots are tile rows of `bm`. Group g has the slots from first(g) / bm + g up to those of g + 1: at least as many as
// its tiles, since a run of n rows is cut by at most n / bm + 1 multiples of bm. So a block finds its group by
// bisection, without a sum over the groups before it; each group leaves at most one slot unused.
RIDGE_HD constexpr std::int64_t group_slots(std::int64_t rows, std::int64_t groups, int bm) {
  return rows / bm + groups;
}

struct GroupTile {
  std::int64_t group = 0, first = 0, rows = 0;  // the group's first row and number of rows; 0 rows: unused slot
  std::int64_t tile = 0;                        // index among the group's tile rows
};

// Preconditions: 0 <= slot < group_slots(g.rows, g.count, bm); g.count > 0.
RIDGE_HD constexpr GroupTile group_tile(const Groups& g, int bm, std::int64_t slot) {
  const auto slot_of = [&](std::int64_t group) { return g.first(group) / bm + group; };
  std::int64_t low = 0,
               high = g.count;  // the last group whose slots begin at or before this one, if any: in [low, high)
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (slot_of(middle) <= slot ? low : high) = middle;
  }
  const std::int64_t first = g.first(low), rows = g.first(low + 1) - first, tile = slot - slot_of(low);
  if (tile < 0 || tile * bm >= rows) return {};
  return {low, first, rows, tile};
}

}  // namespace ridge::gemm_kernels
