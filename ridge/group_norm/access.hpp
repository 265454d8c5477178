// How a kernel divides its work among blocks and threads: the host's side of access.cuh.
//
// A block has a part of a sample: one group, or the few groups whose channels are whole 16-byte vectors together. The
// part's items are what a thread takes at a time: elements or vectors of a group, or, for pixels, one vector in each
// pixel. The block's threads are [lanes, columns]: columns lie along a pixel's vectors, lanes along the items.
#pragma once
#include <ridge/group_norm/problem.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace ridge::group_norm_detail {

struct Division {
  std::int64_t parts = 0;  // of all samples
  std::int64_t part_items = 0;
  std::int64_t slices = 1;  // of a part: blocks; none is empty
  std::int64_t slice_items = 0;
  int groups = 1;              // of a part
  int columns = 1, lanes = 1;  // lanes: a power of two
  int threads = 0;             // of a block: columns * lanes, in whole warps
  int slots = 1;               // of a thread: the groups that its vector's elements may be of, each with statistics
  std::int64_t in_shared = 0;  // resident: vectors of a thread in shared memory
  constexpr std::int64_t blocks() const { return parts * slices; }
};

constexpr std::int64_t elements_of_item(Access access, DType dtype) {
  return access == Access::element ? 1 : vector_elements(dtype);
}

// Whether each group is one contiguous span of whole, aligned 16-byte vectors.
constexpr bool groups_on_vectors(const Layout& t, DType dtype, int alignment, std::int64_t elements) {
  const std::int64_t of_vector = vector_elements(dtype);
  return alignment >= vector_bytes && t.shape[2] == 1 && (t.shape[3] == 1 || t.stride[3] == 1) &&
         (t.shape[1] == 1 || t.stride[1] == spatial(t)) && elements % of_vector == 0 &&
         (t.shape[0] == 1 || t.stride[0] % of_vector == 0);
}

// Whether channels are contiguous, and those of every pixel are whole, aligned 16-byte vectors.
constexpr bool channels_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t of_vector = vector_elements(dtype);
  return alignment >= vector_bytes && t.stride[1] == 1 && t.shape[1] % of_vector == 0 && t.shape[2] == 1 &&
         (t.shape[3] == 1 || t.stride[3] % of_vector == 0) && (t.shape[0] == 1 || t.stride[0] % of_vector == 0);
}

// The fewest groups whose channels are whole vectors together. They divide `groups`, because all channels are whole
// vectors.
constexpr std::int64_t least_groups(const GroupNormProblem& p) {
  const std::int64_t of_vector = vector_elements(p.dtype);
  return of_vector / std::gcd(of_vector, channels_of_group(p));
}

// Why the kernels of this access cannot take the problem, which is not empty; empty text: they can.
inline std::string refuse_access(const Config& c, const GroupNormProblem& p) {
  if (c.access == Access::span) {
    const auto fits = [&](const Layout& t, int alignment) {
      return groups_on_vectors(t, p.dtype, alignment, elements_of_group(p));
    };
    return holds_for_all(p, fits) ? ""
                                  : "groups are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  }
  if (c.access != Access::pixels) return {};
  if (!holds_for_all(p, [&](const Layout& t, int alignment) { return channels_on_vectors(t, p.dtype, alignment); }))
    return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  const std::int64_t columns = least_groups(p) * channels_of_group(p) / vector_elements(p.dtype);
  if (columns <= c.threads) return {};
  return "a pixel of a group has " + std::to_string(columns) + " vectors of 16 bytes, and a block " +
         std::to_string(c.threads) + " threads";
}

// Floats of shared memory in which columns of threads add up: a value for each lane of `slots` slots of each column,
// and a sum for each group. One lane more than there are keeps lanes in different banks.
constexpr std::int64_t floats_of_sums(const Division& d, std::int64_t slots) {
  return d.columns * slots * (d.lanes + 1) + d.groups;
}

// Shared memory of a resident block.
inline std::int64_t smem_of_resident(const Config& c, const Division& d) {
  const std::int64_t sums = c.access == Access::pixels ? floats_of_sums(d, d.slots) * 4 : 0;
  return d.in_shared * d.threads * vector_bytes + sums;
}

// The division where a part has this many groups. Precondition: refuse_access() is empty; the problem is not.
inline Division division_of_groups(const Config& c, const GroupNormProblem& p, const DeviceInfo& device,
                                   std::int64_t groups) {
  const std::int64_t of_item = elements_of_item(c.access, p.dtype), of_group = channels_of_group(p);
  Division d{.parts = groups_of_all(p) / groups, .groups = static_cast<int>(groups)};
  if (c.access == Access::pixels) {
    d.part_items = spatial(p.x);
    d.columns = static_cast<int>(groups * of_group / of_item);
    d.slots = of_group % of_item == 0 ? 1 : static_cast<int>(of_item);
  } else {
    d.part_items = elements_of_group(p) / of_item;
  }
  d.lanes = static_cast<int>(std::bit_floor(static_cast<unsigned>(c.threads / d.columns)));
  d.threads = static_cast<int>(ceil_div(d.columns * d.lanes, device.warp)) * device.warp;
  d.slice_items = d.part_items;
  if (c.algorithm == Algorithm::resident)
    d.in_shared = std::max<std::int64_t>(ceil_div(d.part_items, d.lanes) - c.in_registers, 0);
  if (c.algorithm != Algorithm::split) return d;
  // About as many blocks as the device holds at once, each of a step of its threads at least.
  const std::int64_t places = std::int64_t{device.sms} * c.blocks_per_sm, step = std::int64_t{d.lanes} * c.loads;
  const std::int64_t wanted = std::clamp<std::int64_t>(places / d.parts, 1, ceil_div(d.part_items, step));
  d.slice_items = ceil_div(ceil_div(d.part_items, wanted), d.lanes) * d.lanes;
  d.slices = ceil_div(d.part_items, d.slice_items);
  return d;
}

// How many groups a part has. Pixels are read by whole sectors if possible, and by whole lines where that leaves enough
// blocks, and as many of them on a multiprocessor as the row asks for: they load and store in each other's waits.
inline std::int64_t groups_of_part(const Config& c, const GroupNormProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t sector = 32, line = 128;  // bytes
  constexpr std::int64_t enough_blocks = 2;        // for each multiprocessor
  if (c.access != Access::pixels) return 1;
  const std::int64_t least = least_groups(p), of_group = channels_of_group(p);
  std::int64_t chosen = least;
  for (std::int64_t groups = 2 * least; groups <= p.options.groups; groups += least) {
    if (groups * of_group / vector_elements(p.dtype) > c.threads) break;
    if (p.options.groups % groups != 0) continue;
    const std::int64_t bytes = chosen * of_group * static_cast<std::int64_t>(size_of(p.dtype));
    const bool whole_sectors = bytes % sector == 0;
    if (whole_sectors && bytes >= line) break;
    if (c.algorithm == Algorithm::resident) {
      const std::int64_t smem = smem_of_resident(c, division_of_groups(c, p, device, groups));
      if (smem > device.smem_optin) break;
      if (whole_sectors && (smem + device.smem_reserved) * c.blocks_per_sm > device.smem_per_sm) break;
      if (whole_sectors && groups_of_all(p) / groups < enough_blocks * device.sms) break;
    }
    chosen = groups;
  }
  return chosen;
}

// Precondition: refuse_access() is empty. Of an empty problem there are no parts.
inline Division division_of(const Config& c, const GroupNormProblem& p, const DeviceInfo& device) {
  return is_empty(p) ? Division{.threads = c.threads} : division_of_groups(c, p, device, groups_of_part(c, p, device));
}

inline std::string refuse_blocks(const Division& d) { return d.blocks() > max_grid ? "more than 2^31 blocks" : ""; }

// The share of memory's rate that pixels' accesses reach: a part that begins or ends within a sector moves it twice.
inline double share_of_sectors(const Config& c, const GroupNormProblem& p, const Division& d) {
  constexpr double sector = 32;
  const double bytes = d.groups * static_cast<double>(channels_of_group(p)) * element_bytes(p);
  if (c.access == Access::pixels) return std::fmod(bytes, sector) == 0 ? 1 : bytes / (bytes + sector / 2);
  // An element at a time: neighbours are read together only if they are neighbours in memory.
  const bool along_rows = p.x.stride[3] == 1 || p.x.shape[3] == 1, along_channels = p.x.stride[1] == 1;
  return c.access == Access::span || along_rows || along_channels ? 1 : element_bytes(p) / sector;
}

}  // namespace ridge::group_norm_detail
