#include <ridge/roofline/occupancy.hpp>

#include <algorithm>
#include <limits>

namespace ridge::roofline {

static int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

Occupancy occupancy(const DeviceInfo& d, const Resources& block) {
  constexpr int register_unit = 256;  // allocation unit of a warp's registers
  constexpr int smem_unit = 128;      // allocation unit of a block's shared memory
  const int threads = round_up(std::max(block.threads, 1), d.warp);
  struct Limit {
    std::string_view name;
    int blocks;
  };
  const int none = std::numeric_limits<int>::max();
  const int warp_registers = round_up(block.registers * d.warp, register_unit);
  const int block_smem = round_up(block.smem + d.smem_reserved, smem_unit);
  const Limit limits[] = {
      {"threads", d.threads_per_sm / threads},
      {"blocks", d.blocks_per_sm},
      {"registers", block.registers > 0 ? d.registers_per_sm / warp_registers / (threads / d.warp) : none},
      {"shared memory", block.smem > 0 && block_smem > 0 ? d.smem_per_sm / block_smem : none}};
  const Limit& least = *std::ranges::min_element(limits, {}, &Limit::blocks);
  return {least.blocks, least.name, static_cast<double>(least.blocks) * threads / d.threads_per_sm};
}

int resident_clusters(const DeviceInfo& d, int blocks) {
  // Clusters of two use all multiprocessors, because pairs are never split. Larger clusters leave the last ones of a
  // GPC unused: 12 of an H200's 132, as cudaOccupancyMaxActiveClusters says for 4, 8 and 16 blocks.
  return std::max((blocks > 2 ? d.sms * 10 / 11 : d.sms) / blocks, 1);
}

Waves waves(std::int64_t blocks, int per_sm, int sms) {
  const std::int64_t wave = std::int64_t{per_sm} * sms;
  if (blocks <= 0 || wave <= 0) return {};
  Waves w;
  w.full = blocks / wave;
  const std::int64_t rest = blocks % wave;
  w.tail = rest == 0 ? 1 : static_cast<double>(rest) / static_cast<double>(wave);
  w.efficiency = static_cast<double>(blocks) / static_cast<double>(w.count() * wave);
  return w;
}

double tile_efficiency(std::int64_t size, std::int64_t tile) {
  if (size <= 0 || tile <= 0) return 1;
  return static_cast<double>(size) / static_cast<double>((size + tile - 1) / tile * tile);
}

double bytes_to_saturate(const DeviceInfo& device) { return device.memory_gbs * device.memory_latency_us * 1e3; }

int padding_multiple(const DeviceInfo& device, int element_bytes) {
  return std::max(1, (device.cc >= 80 ? 128 : 16) / element_bytes);
}

}  // namespace ridge::roofline
