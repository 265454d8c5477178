// Facts of the table of kernels, and the schedulers that map blocks to tiles.
#include <ridge/gemm/families.hpp>
#include <ridge/gemm/raster.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge {
namespace {

using gemm_detail::variants;

// Bytes of shared memory of kernels for Hopper; of others 0.
int hopper_smem_bytes(const gemm_kernels::Config& c) {
  using namespace gemm_kernels;
  switch (c.family) {
    case Family::wgmma: return wgmma_smem_bytes(c);
    case Family::wgmma_split: return split_smem_bytes(c);
    case Family::tma_tile: return tma_tile_smem_bytes(c);
    default: return 0;
  }
}

TEST(GemmTable, KernelsForHopperFitAMultiprocessor) {
  using namespace gemm_kernels;
  for (const auto& row : variants)
    if (const int bytes = hopper_smem_bytes(row.config); bytes > 0) {
      const DeviceInfo h200 = *device_model("H200");
      EXPECT_LE(bytes, h200.smem_optin) << row.name;
      EXPECT_LE(row.config.blocks_per_sm * (bytes + h200.smem_reserved), h200.smem_per_sm) << row.name;
      EXPECT_EQ(wgmma_stage_bytes(row.config) % 1024, 0) << row.name;  // swizzled tiles
    }
}

TEST(GemmTable, KernelsOfMmaSyncFitAMultiprocessor) {
  using namespace gemm_kernels;
  for (const auto& row : variants) {
    const Config& c = row.config;
    if (c.family != Family::mma_sync) continue;
    const DType dtype = row.types.contains(f64)   ? f64
                        : row.types.contains(f32) ? f32
                        : row.types.contains(f16) ? f16
                                                  : i8;  // or as wide
    const DeviceInfo a100 = *device_model("A100");
    EXPECT_LE(mma_smem_bytes(c, dtype), a100.smem_optin) << row.name;
    EXPECT_LE(c.blocks_per_sm * (mma_smem_bytes(c, dtype) + a100.smem_reserved), a100.smem_per_sm) << row.name;
    const int sums = c.wm * c.wn / 32 * (c.promote > 0 ? 2 : 1);
    EXPECT_LE(sums * staged_bytes(dtype) / 4, 128) << row.name;  // accumulator registers
  }
}

TEST(GemmTable, NamesAreUniqueAndLastResortsTakeEverything) {
  std::set<std::string_view> names;
  for (const auto& row : variants) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_EQ(variants[0].types.bits, gemm_detail::any_type.bits);
}

TEST(GemmConfig, EachColumnOfASplitTileIsAddedUpByOneBlock) {
  using namespace gemm_kernels;
  for (const auto& row : variants) {
    const Config& c = row.config;
    if (c.family != Family::wgmma_split) continue;
    for (int split = 1; split <= max_split_of(c); split *= 2) {
      const int share = 8 << split_share_log2(c, split);
      EXPECT_EQ(c.bn % share, 0) << row.name << " " << split;
      EXPECT_LE(c.bn / share, split) << row.name << " " << split;  // every share has an owner
      EXPECT_TRUE(share == 8 || share * split == c.bn) << row.name << " " << split;
      EXPECT_LE(split_received_bytes(c, split), split_sums_bytes(c)) << row.name << " " << split;
    }
    EXPECT_LE(split_sums_at(c) + split_sums_bytes(c), split_barriers_at(c)) << row.name;
    EXPECT_LE(split_smem_bytes(c), 232448 / c.blocks_per_sm) << row.name;
  }
}

TEST(GemmRaster, EveryTileOnceAndBandsInOrder) {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {8, 5}, {9, 3}, {23, 7}, {3, 40}}) {
    const gemm_kernels::Raster raster{rows, cols, 8};
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (std::int64_t i = 0; i < raster.tiles(); ++i) {
      const auto at = raster.at(i);
      EXPECT_TRUE(at.row >= 0 && at.row < rows && at.col >= 0 && at.col < cols);
      EXPECT_EQ(at.row / 8, i / (8 * cols));
      seen.insert({at.row, at.col});
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(rows * cols));
  }
}

// Every tile of every group once, for any offsets, and no slot outside the range.
TEST(GemmGroups, EveryTileOnce) {
  using namespace gemm_kernels;
  for (const std::vector<std::int32_t>& offsets : {std::vector<std::int32_t>{0, 5},
                                                   {0, 0, 0, 7, 7},
                                                   {3, 4, 4, 130, 131, 131, 200},
                                                   {0, 128, 256, 256},
                                                   {127, 128, 129},
                                                   {10, 10, 10},
                                                   {0, 1, 2, 3, 4, 5, 6}})
    for (const int bm : {1, 3, 16, 128}) {
      const auto count = static_cast<std::int64_t>(offsets.size()) - 1;
      const Groups groups{offsets.data(), count, 300};
      std::set<std::pair<std::int64_t, std::int64_t>> seen;
      for (std::int64_t slot = 0; slot < group_slots(300, count, bm); ++slot) {
        const GroupTile at = group_tile(groups, bm, slot);
        if (at.rows == 0) continue;
        EXPECT_EQ(at.first, offsets[at.group]);
        EXPECT_EQ(at.first + at.rows, offsets[at.group + 1]);
        EXPECT_LT(at.tile * bm, at.rows);
        EXPECT_TRUE(seen.insert({at.group, at.tile}).second);
      }
      std::size_t tiles = 0;
      for (std::int64_t g = 0; g < count; ++g) tiles += (offsets[g + 1] - offsets[g] + bm - 1) / bm;
      EXPECT_EQ(seen.size(), tiles);
    }
}

TEST(GemmGroups, OffsetsOutsideStayInside) {
  using namespace gemm_kernels;
  const std::vector<std::int32_t> wild{-7, 2000000000, 3, -2000000000, 40};
  const Groups groups{wild.data(), 4, 30};
  for (std::int64_t slot = 0; slot < group_slots(30, 4, 8); ++slot) {
    const GroupTile at = group_tile(groups, 8, slot);
    EXPECT_GE(at.first, 0);
    EXPECT_LE(at.first + at.rows, 30);
  }
}

}  // namespace
}  // namespace ridge
