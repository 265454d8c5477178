// What a row asks of the device, for the model that predicts its time (roofline/predict.hpp).
#include <ridge/conv/plan.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace conv_detail;

namespace {

double products(const ConvProblem& p) { return real(pixels_of(p)) * real(p.w.shape[0]) * real(terms_of(p)); }

Cost cost(const ConvProblem& p) {
  const double size = real(static_cast<std::int64_t>(size_of(p.dtype)));
  Cost c;
  c.bytes_read = (real(p.x.count()) + real(p.w.count())) * size;
  c.bytes_written = real(p.y.count()) * size;
  if (p.backward) {
    std::swap(c.bytes_read, c.bytes_written);  // dx and dw, for dy
    c.bytes_read += (real(p.x.count()) + real(p.w.count())) * size;
  }
  if (p.bias) c.bytes_read += real(p.bias->count()) * size;
  if (p.residual) c.bytes_read += real(p.y.count()) * size;
  const Unit unit = p.dtype != f32 ? Unit::fp16_tensor : p.math == ConvMath::tf32 ? Unit::tf32 : Unit::fp32;
  c.on(unit) = 2 * products(p) * (p.backward ? 2 : 1);
  return c;
}

double padded(std::int64_t size, std::int64_t tile) { return real(ceil_div(size, tile) * tile); }

constexpr double stem_patch_clocks = 550;  // of a patch and 64 filters: reads of shared memory, by threads and by wgmma

// Clocks of a multiprocessor's busiest pipe, for all blocks together; instructions from the source,
// four warps' in a clock.
double clocks_of(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  const std::int64_t channels = channels_of_group(p), filters = filters_of_group(p);
  const double warps = real(p.y.count()) / 32, terms = real(terms_of(p));
  switch (c.method) {
    case Method::naive: return products(p) / 32 * 16 / 4 * (p.backward ? 2.5 : 1) + warps * 60;
    case Method::coarse: return products(p) / 32 * 8 + warps * 20;  // lanes' tiles are apart: eight lines of L1 a load
    case Method::direct: {
      const double blocks = real(direct_grid(c, p)), bands = real(c.threads / direct_lanes);
      const double turns = std::ceil(real(filters) / c.filters);
      const double reads = direct_filter_row(c) / 4.0 + direct_window(c) / 4.0;
      const double products_of_row = real(c.size * c.filters * c.rows * direct_strip);
      const double copies = real(channels) * direct_input_rows(c) / bands * std::ceil(direct_pitch(c) / 32.0) * 8;
      const double stores = real(c.rows * filters) * direct_strip * 5;
      // Two operands of a product are often in one bank of the registers.
      constexpr double bank_conflicts = 1.35;
      return blocks * bands / 4 *
             (turns * real(channels) * c.size * (products_of_row * bank_conflicts + 2 * reads) + copies + stores);
    }
    case Method::implicit: {
      // 64 multiply-adds of a thread to four reads, and what bringing and turning the operands takes beside; measured.
      const double work = c.tile_filters < 128 ? 2.4 : 2.2;
      const double groups = real(p.geometry.groups);
      const double output = padded(filters, c.tile_filters) * padded(pixels_of(p), c.tile_pixels) * terms;
      if (!p.backward) return groups * output / 128 * work;
      const std::int64_t images = p.x.shape[0] * p.x.shape[2] * p.x.shape[3];
      const double by_stride = real(p.geometry.stride.h * p.geometry.stride.w);
      const double inputs = padded(channels, c.tile_filters) * padded(images, c.tile_pixels) * real(filters) *
                            std::max(1.0, real(taps_of(p)) / by_stride);
      const double weights = padded(filters, c.tile_filters) * padded(terms_of(p), c.tile_pixels) * real(pixels_of(p));
      return groups * (inputs + 1.3 * weights) / 128 * work;
    }
    case Method::grouped: {
      // Of a tap and a vector: its address and widening, and the products; filters are read once for all outputs.
      const double vector = grouped_vector(size_of(p.dtype)), groups = c.filters;
      const double vectors = warps / vector * real(taps_of(p));
      return vectors / 4 * (12 + vector * (groups + 1) + vector * groups / c.rows) + warps / vector * 30;
    }
    case Method::winograd: return 0;  // winograd_kernel()
    case Method::fma: return 0;       // fma_kernel()
    case Method::wgmma: return 0;     // wgmma_kernel()
    case Method::stem: {
      const double patches_each = std::ceil(real(stem_patches(p)) / (device.sms * stem_warpgroups(c)));
      return patches_each * stem_warpgroups(c) * real(device.sms) * real(ceil_div(filters, c.tile_filters)) *
             stem_patch_clocks;
    }
  }
  return 0;
}

// Multiply-adds of 16-bit floats that a multiprocessor's tensor cores take per clock, and what else a tile waits for.
// Not fitted to measurements of this operator: these are gemm's.
constexpr double tile_clocks = 1500, start_us = 2;
// Bytes that TMA brings to a multiprocessor from the L2 cache in a clock, while all of them load, and where none has a
// second tile. DeviceInfo::l2_gbs, what threads' reads get, is half of it.
constexpr double l2_bytes_per_clock = 50, l2_bytes_of_one_wave = 64;
constexpr double winograd_efficiency = 0.7;  // of multiply-adds' rate in its products
constexpr double fma_efficiency = 0.68;      // of multiply-adds' rate in fma rows, which waits for shared memory leave
constexpr double fma_waits_alone = 1.15;     // longer, where a scheduler has one warp
constexpr double implicit_waits_alone = 1.35, implicit_start_us = 2;
constexpr double wgmma_least_step = 275;  // clocks from a step to the next, however small a tile is
constexpr double ping_pong_alone = 1.1;   // longer, where the other warpgroup has no tile
// Bytes a clock of a multiprocessor while most of the others load nothing.
constexpr double l2_bytes_of_few_blocks = 90;

// Copies are a kernel of their own, before the product. They are short, and reach half of memory's rate.
double copy_us(const Gathering& g, const DeviceInfo& device) {
  constexpr double copy_start_us = 1, copy_share = 0.5;
  if (g.bytes() == 0) return 0;
  return copy_start_us + 2 * real(g.bytes()) / (copy_share * std::max(1.0, device.memory_gbs) * 1e3);
}

// The kernel that adds slices up, whose launch the product hides.
void add_slices_to(roofline::Kernel& k, const gemm_kernels::Shape& shape, const DeviceInfo& device) {
  if (shape.slices == 1) return;
  k.serial_us += gemm_kernels::add_slices_us(slice_bytes(shape), static_cast<int>(shape.slices), device);
}

roofline::Kernel wgmma_kernel(const Config& c, const ConvProblem& p, const DeviceInfo& device, int slices) {
  const gemm_kernels::Config tile = wgmma_tile(c);
  const Gathering g = gathering_of(p, c);
  const double rate = (c.tf32 ? device.tf32_tflops : device.fp16_tflops) * 1e3 / (2 * device.sms * device.clock_ghz);
  const gemm_kernels::Shape shape = shape_in_slices(c, p, slices);
  const std::int64_t tiles =
      gemm_kernels::wgmma_raster(tile, pixels_of(p), p.w.shape[0]).tiles() * tile.cluster * shape.slices;
  const bool ping_pong = tile.schedule == gemm_kernels::Schedule::ping_pong;
  // Persistent blocks: the fullest has so many tiles one after the other. Alone, a warpgroup of two has half the rate.
  const std::int64_t most = ceil_div(tiles, std::max(1, device.sms));
  const double loaded = real((tile.bm + tile.bn / tile.cluster) * tile.line);  // of a step
  const double of_one_wave =
      std::min(l2_bytes_of_few_blocks, l2_bytes_of_one_wave * device.sms / std::max(1.0, real(tiles)));
  const double step = std::max({real(tile.bm * tile.bn) * tile.bk / rate, wgmma_least_step,
                                loaded / (most == 1 ? of_one_wave : l2_bytes_per_clock)});
  const double alone = ping_pong && most == 1 ? ping_pong_alone : 1;
  const double finish = ping_pong && most > 1 ? tile_clocks / 2 : tile_clocks;
  roofline::Kernel k;
  k.blocks = std::min<std::int64_t>(tiles, device.sms);
  k.block = {.threads = c.threads, .registers = 168, .smem = gemm_kernels::wgmma_smem_bytes(tile)};
  k.clocks = real(most) * (real(shape.slice_k) * step * alone + finish) * real(k.blocks);
  k.block_us = start_us;
  k.launches = g.bytes() > 0 ? 2 : 1;
  k.serial_us = copy_us(g, device);
  add_slices_to(k, shape, device);
  k.tile_efficiency = real(p.w.shape[0]) * real(pixels_of(p)) /
                      (padded(p.w.shape[0], tile.bn) * padded(pixels_of(p), tile.bm * tile.cluster));
  return k;
}

// Both gradients: dx as the convolution is, of all classes, and dw beside it.
roofline::Kernel wgmma_gradient_kernel(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  const double rate = device.fp16_tflops * 1e3 / (2 * device.sms * device.clock_ghz);
  const auto step_clocks = [&](const gemm_kernels::Config& tile) {
    const double lines = (tile.bm / 64 * (64 + tile.bn) + tile.bm + tile.bn) * tile.line / 128.0;
    return std::max(real(tile.bm * tile.bn) * tile.bk / rate, lines);
  };
  const int sms = std::max(1, device.sms);
  const gemm_kernels::Config of_x = wgmma_tile(c), of_w = filter_gradient_tile();
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0], split = split_of(c, p, sms);
  const std::int64_t classes = p.geometry.stride.h * p.geometry.stride.w;
  const std::int64_t pixels = p.x.shape[0] * p.x.shape[2] * p.x.shape[3] / classes;
  const std::int64_t tiles_x = ceil_div(pixels, of_x.bm * of_x.cluster) * of_x.cluster * ceil_div(channels, of_x.bn);
  const double steps_x = std::max(1.0, real(taps_of(p)) / real(classes)) * real(ceil_div(filters, of_x.bk));
  const double stores = classes > 1 ? 4 : 1;  // by threads, of places that are apart
  const std::int64_t tiles_w = ceil_div(filters, of_w.bm) * ceil_div(filter_gradient_columns(p), of_w.bn) * split;
  const double steps_w = real(ceil_div(ceil_div(pixels_of(p), gradient_group), split));
  roofline::Kernel k;
  k.blocks = sms;
  k.block = {.threads = c.threads, .registers = 168, .smem = gemm_kernels::wgmma_smem_bytes(of_x)};
  k.clocks = (real(classes * ceil_div(tiles_x, sms)) * (steps_x * step_clocks(of_x) + stores * tile_clocks) +
              real(ceil_div(tiles_w, sms)) * (steps_w * step_clocks(of_w) + 2 * tile_clocks)) *
             sms;
  k.block_us = start_us;
  k.launches = static_cast<int>(classes) + 3;
  k.bytes_read = k.bytes_written = 4.0 * real(split) * real(p.w.count());
  return k;
}

roofline::Kernel fma_kernel(const Config& c, const ConvProblem& p, const DeviceInfo& device, int slices) {
  const Gathering g = gathering_of(p, c);
  const gemm_kernels::Shape shape = shape_in_slices(c, p, slices);
  const std::int64_t tiles = fma_tiles(c, p) * shape.slices,
                     places = std::max<std::int64_t>(1, device.sms) * c.blocks_per_sm;
  const std::int64_t most = ceil_div(tiles, places);
  // Four channels at a time, of the last step those that are there; threads alone on a scheduler wait for their reads.
  const double channels =
      real(ceil_div(g.channels, 4) * 4) * real(g.h.taps * g.w.taps) * real(shape.slice_k) / real(shape.k);
  const double left_out = g.copies_image && g.image.channels == 4 && p.x.shape[1] == 3 ? 0.75 : 1;
  const double alone = ceil_div(tiles, std::max(1, device.sms)) * fma_warps(c) <= 4 ? fma_waits_alone : 1;
  const double tile =
      real(c.tile_pixels * c.tile_filters) * channels * left_out * alone / 128 / fma_efficiency + tile_clocks;
  roofline::Kernel k;
  k.blocks = std::min(tiles, places);
  k.block = {.threads = c.threads, .registers = 168, .smem = fma_smem_bytes(c)};
  k.clocks = real(most) * tile * real(k.blocks);
  k.block_us = start_us;
  k.launches = g.bytes() > 0 ? 2 : 1;
  k.serial_us = copy_us(g, device);
  add_slices_to(k, shape, device);
  k.tile_efficiency = real(p.w.shape[0]) * real(pixels_of(p)) /
                      (padded(p.w.shape[0], c.tile_filters) * padded(pixels_of(p), c.tile_pixels));
  return k;
}

roofline::Kernel winograd_kernel(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  const WinogradParts parts = winograd_parts(p);
  const double channels = real(p.w.shape[1]), filters = real(p.w.shape[0]);
  const std::int64_t tiles = parts.tiles(parts.images);
  const std::int64_t blocks = winograd_products * implicit_tiles(c, p.w.shape[0], tiles);
  const std::int64_t sms = std::max(1, device.sms), places = sms * c.blocks_per_sm;
  const std::int64_t most = blocks < places ? ceil_div(blocks, sms) : ceil_div(blocks, places) * c.blocks_per_sm;
  const double steps = padded(p.w.shape[1], c.step) + 2 * c.step;  // and the first copies, and the sums' way out
  const double transformed = 4.0 * winograd_products * real(tiles) * (channels + filters);
  roofline::Kernel k;
  k.cost = cost(p);
  k.cost.on(Unit::fp32) = 2.0 * winograd_products * real(parts.tiles(p.y.shape[0])) * channels * filters;
  k.blocks = blocks;
  const gemm_kernels::Config tile = winograd_tile(c);
  k.block = {.threads = gemm_kernels::threads(tile), .registers = 128, .smem = gemm_kernels::smem_bytes(tile, f32)};
  k.clocks = real(parts.parts * most * sms) * c.tile_filters * c.tile_pixels * steps / 128 / winograd_efficiency;
  k.block_us = start_us;
  k.launches = static_cast<int>(1 + 3 * parts.parts);
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  // The transforms come before and after, and wait for memory: for what the L2 cache keeps, a third as long. The
  // filters' sums are written and read once.
  const double gbs = std::max(1.0, device.memory_gbs), share = 2 * transformed < real(device.l2_bytes) ? 0.3 : 1;
  // Turning tiles of NHWC costs a few barriers' waits of each transform, and a part of memory's rate; measured.
  const bool turns = p.geometry.layout == ConvLayout::nhwc;
  const double turn_us = turns ? 6 : 0, slower = turns ? 1.3 : 1;
  k.serial_us = real(parts.parts) * (slower * share * transformed / (gbs * 1e3) + 2 * start_us + turn_us) +
                2 * 4.0 * winograd_products * channels * filters / (gbs * 1e3);
  k.tile_efficiency = filters * real(tiles) / (padded(p.w.shape[0], c.tile_filters) * padded(tiles, c.tile_pixels));
  return k;
}

}  // namespace

roofline::Kernel conv_detail::kernel_of(const Variant& row, const ConvProblem& p, const DeviceInfo& device,
                                        int slices) {
  const Config& c = row.config;
  const std::int64_t channels = channels_of_group(p), filters = filters_of_group(p);
  roofline::Kernel k;
  if (gathers(c)) {
    k = c.method == Method::fma ? fma_kernel(c, p, device, slices)
        : p.backward            ? wgmma_gradient_kernel(c, p, device)
                                : wgmma_kernel(c, p, device, slices);
    k.cost = cost(p);
    k.bytes_read += k.cost.bytes_read;
    k.bytes_written += k.cost.bytes_written;
    // predict() has a block wait for its share of all bytes, which here come while it multiplies.
    if (!p.backward && k.blocks > 0)
      k.block_us -= std::min(k.block_us, (k.bytes_read + k.bytes_written) / real(k.blocks) /
                                             (l2_bytes_of_one_wave * std::max(0.1, device.clock_ghz)) * 1e-3);
    return k;
  }
  if (c.method == Method::winograd) return winograd_kernel(c, p, device);
  k.cost = cost(p);
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.block = {.threads = c.threads, .registers = 64};
  k.trips = 1;
  k.clocks = clocks_of(c, p, device);
  switch (c.method) {
    case Method::naive:
      k.blocks = ceil_div(std::max(p.y.count(), p.backward ? p.x.count() : 0), c.threads);
      k.trips = std::max(1.0, real(terms_of(p)) / 4);
      k.launches = p.backward ? 2 : 1;
      break;
    case Method::coarse:
      k.blocks = ceil_div(coarse_items(p), c.threads);
      k.trips = std::max(1.0, real(terms_of(p)));
      break;
    case Method::direct:
      k.blocks = direct_grid(c, p);
      k.block.registers = c.filters > 4 ? 128 : 80;
      k.block.smem = static_cast<int>(direct_smem_bytes(c, channels, filters));
      k.block_us = 1;
      k.tile_efficiency = real(p.y.shape[2] * p.y.shape[3]) /
                          std::max(1.0, padded(p.y.shape[2], direct_rows(c)) * padded(p.y.shape[3], direct_columns));
      break;
    case Method::implicit: {
      const int split = static_cast<int>(split_of(c, p, device.sms));
      const gemm_kernels::Shape shape = shape_in_slices(c, p, slices);
      k.blocks = p.geometry.groups * implicit_tiles(c, filters, pixels_of(p)) * shape.slices;
      k.block.registers = 128;
      k.block.smem = gemm_kernels::smem_bytes(implicit_tile(c, false), f32);
      const std::int64_t terms = shape.slices > 1 ? shape.slice_k * implicit_step : terms_of(p);
      k.block_us = 0.02 * std::min(real(terms), 1e6);  // steps of eight, each with a barrier
      add_slices_to(k, shape, device);
      if (!p.backward) {
        k.block_us += implicit_start_us;
        if (k.blocks <= device.sms && c.threads <= 128) k.clocks *= implicit_waits_alone;
      } else {
        k.launches = static_cast<int>(p.geometry.stride.h * p.geometry.stride.w) + 2;
        k.blocks = std::max(k.blocks, p.geometry.groups * split * implicit_tiles(c, filters, terms_of(p)));
        k.bytes_written += 2.0 * split * 4 * real(p.w.count());
      }
      k.tile_efficiency = real(filters) * real(pixels_of(p)) /
                          std::max(1.0, padded(filters, c.tile_filters) * padded(pixels_of(p), c.tile_pixels));
      break;
    }
    case Method::grouped:
      k.blocks = std::max(1, device.sms) * c.blocks_per_sm;
      k.block.registers = 80;
      k.block.smem = static_cast<int>(grouped_smem_bytes(c, p));
      k.block_us = start_us;
      break;
    case Method::stem:
      k.blocks = std::max(1, device.sms);
      k.block = {.threads = c.threads, .registers = 128, .smem = stem_smem_bytes(c)};
      k.block_us = start_us;
      break;
    case Method::winograd:
    case Method::fma:
    case Method::wgmma: break;
  }
  return k;
}

// The CPU runtime's blocks are few at a time, and its plans are to be the same on every machine.
int conv_detail::slices_of(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (device.is_cpu() || !has_slices(c, p)) return 1;
  const std::int64_t tiles =
      p.geometry.groups * ceil_div(pixels_of(p), c.tile_pixels) * ceil_div(filters_of_group(p), c.tile_filters);
  const std::int64_t places = 2 * std::max<std::int64_t>(device.sms, 1);
  if (tiles >= places) return 1;
  int best = 1;
  double least_us = roofline::predict(kernel_of(row, p, device, 1), device).us;
  const std::int64_t most = std::min<std::int64_t>(gemm_kernels::max_slices, ceil_div(2 * places, tiles));
  for (int wanted = 2; wanted <= most; wanted += std::max(1, wanted / 8)) {
    const int slices = static_cast<int>(shape_in_slices(c, p, wanted).slices);
    const double us = roofline::predict(kernel_of(row, p, device, slices), device).us;
    if (us < least_us) least_us = us, best = slices;
  }
  return best;
}

}  // namespace ridge
