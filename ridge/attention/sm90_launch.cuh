// Helpers of launches on Hopper. Internal to its translation unit, like launch_arguments.cuh.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm90_order.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>

namespace ridge::attention_detail {
namespace {

// Tensor map of [batch, heads, rows, columns], in boxes of `box` rows.
template <class T>
Status make_map(tile::sm90::TensorMap* map, const void* data, const AttentionOperand& at, std::int64_t columns,
                std::int64_t rows, std::int64_t heads, std::int64_t batch, int box) {
  return tile::sm90::make_tensor_map(map, data, dtype_of<T>, columns,
                                     {{rows, at.row}, {heads, at.head}, {batch, at.batch}}, box);
}

// Tile scheduler of persistent blocks.
[[maybe_unused]] WgmmaTileScheduler scheduler_of(const Config& c, const AttentionProblem& p, const DeviceInfo& device) {
  return WgmmaTileScheduler::of(
      static_cast<unsigned>(ceil_div(p.sq, c.bm)), static_cast<unsigned>(p.b * p.hq), static_cast<unsigned>(p.hq),
      static_cast<unsigned>(p.hq / std::max<std::int64_t>(1, p.hkv)), p.rule.right >= 0 && p.rule.left < 0,
      static_cast<unsigned>(device.sms * c.blocks_per_sm));
}

}  // namespace
}  // namespace ridge::attention_detail
