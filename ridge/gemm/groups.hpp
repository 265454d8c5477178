// Groups: which rows of which group a block of a grouped product computes. Groups are runs of A's rows, and offsets in
// device memory say where they begin, so that nothing of them is known when a plan is made or a graph is captured.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge::gemm_kernels {

// Rows from offsets[g] to offsets[g + 1] are group g's. Offsets are taken into 0 to `rows`, whatever they are.
struct Groups {
  const std::int32_t* offsets = nullptr;
  std::int64_t count = 0, rows = 0;

  RIDGE_HD constexpr std::int64_t first(std::int64_t g) const {
    const std::int64_t row = offsets[g];
    return row < 0 ? 0 : row > rows ? rows : row;
  }
};

// Tile rows of `bm`. Group g has the slots from first(g) / bm + g on, up to those of g + 1: no fewer than the tiles
// that it has, for a run of n rows is cut by at most n / bm + 1 multiples of bm. So a block finds its group by
// bisection, with no sum over those before it; each group leaves at most one slot unused.
RIDGE_HD constexpr std::int64_t group_slots(std::int64_t rows, std::int64_t groups, int bm) {
  return rows / bm + groups;
}

struct GroupTile {
  std::int64_t group = 0, first = 0, rows = 0;  // the group's first row and its number of rows; 0: the slot is not used
  std::int64_t tile = 0;                        // of the group's tile rows
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
