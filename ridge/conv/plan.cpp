// fits -> cost -> choose. Pure: no CUDA call, no global. What is taken at all: problem.cpp.
#include <ridge/conv/launch.hpp>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/conv/variants.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace conv_detail;

static constexpr std::string_view op = "conv2d";

namespace {

// ---- which row takes what --------------------------------------------------------------------------------------------

constexpr double int_range = 2147483648.0;

double real(std::int64_t n) { return static_cast<double>(n); }

// The farthest that an offset in these planes comes to, taps outside of them included. In double: it may be any number.
double reach(const Layout& t, const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const auto along = [&](int axis, std::int64_t beyond) {
    return static_cast<double>(std::max<std::int64_t>(t.shape[axis], 1) - 1 + beyond) *
           std::fabs(static_cast<double>(t.stride[axis]));
  };
  const auto beyond = [](std::int64_t taps, std::int64_t dilation, std::int64_t before, std::int64_t after,
                         std::int64_t stride) { return (taps - 1) * dilation + std::max(before, after) + stride; };
  return along(0, 0) + along(1, 0) + along(2, beyond(p.w.shape[2], g.dilation.h, g.pad.top, g.pad.bottom, g.stride.h)) +
         along(3, beyond(p.w.shape[3], g.dilation.w, g.pad.left, g.pad.right, g.stride.w));
}

std::string implicit_fits(const ConvProblem& p) {
  constexpr std::int64_t most = (std::int64_t{1} << 31) - implicit_step;
  const std::int64_t filter_terms = filters_of_group(p) * taps_of(p);  // of an element of dx
  const std::int64_t pixels = std::max(pixels_of(p), p.x.shape[0] * p.x.shape[2] * p.x.shape[3]);
  if (std::max({pixels, terms_of(p), filter_terms}) >= most) return "sums or images of 2^31 elements or more";
  for (const Layout* t : {&p.x, &p.y, &p.dx})
    if (t->rank > 0 && reach(*t, p) >= int_range) return "offsets of 2^31 or more";
  for (const Layout* t : {&p.w, &p.dw})
    if (t->rank > 0 && t->span() >= most) return "offsets of 2^31 or more";
  const std::int64_t extent_h = (p.w.shape[2] - 1) * p.geometry.dilation.h;
  const std::int64_t extent_w = (p.w.shape[3] - 1) * p.geometry.dilation.w;
  if (std::max(extent_h, extent_w) >= std::int64_t{1} << 30) return "an extent of 2^30 or more";
  constexpr std::int64_t most_classes = 64;  // launches of the gradient of x
  if (p.backward && p.geometry.stride.h * p.geometry.stride.w > most_classes)
    return "the gradient of x takes more than 64 launches with these strides";
  return {};
}

// Beyond what forward asks.
std::string gradient_fits(const ConvProblem& p, const DeviceInfo& device) {
  const Layout& w = p.w;
  Gathering g;
  if (!gather_in_place(g, p) || !is_walkable(g.h) || !is_walkable(g.w))
    return "its gradients are for x with channels innermost, whose pixels start on 16 bytes, and for less padding";
  if (!is_matrix(p, p.y)) return "its gradients are for dy with filters innermost, whose pixels start on 16 bytes";
  if (w.shape[2] > 1 && w.shape[3] > 1 && w.stride[2] != w.shape[3] * w.stride[3])
    return "its gradients are for filters whose taps are evenly spaced";
  if (pixels_of(p) + 64 * 64 * gradient_group >= max_grid) return "it counts pixels to 2^31";
  if (real(p.x.shape[0]) * real(p.x.shape[2]) * real(p.x.shape[3]) >= int_range / 2 || reach(p.dx, p) >= int_range ||
      reach(p.y, p) >= int_range || p.dw.span() >= max_grid)
    return "offsets of 2^31 or more";
  const Axis h = axis_h(p), v = axis_w(p);
  for (std::int64_t i = 0; i < h.stride; ++i)
    for (std::int64_t j = 0; j < v.stride; ++j) {
      const AxisMap of_h = h.gradient(i), of_w = v.gradient(j);
      if (of_h.outputs == 0 || of_w.outputs == 0) continue;
      const Gathering of_class = gradient_gathering(p, of_h, of_w);
      if (!is_walkable(of_class.h) || !is_walkable(of_class.w)) return "its gradients are for less padding";
    }
  if (gemm_kernels::wgmma_smem_bytes(filter_gradient_tile()) > device.smem_optin)
    return "more shared memory than the device has";
  return {};
}

std::string hopper_fits(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  if (device.cc != 90)
    return "Hopper's instructions, of compute capability 9.0, and " + device.name + " is another device";
  if (p.backward && !has_gradient(c)) return "it has no gradients";
  if (p.geometry.groups != 1) return "it takes all channels as one group";
  if (p.y.count() == 0 || terms_of(p) == 0) return "there are no products";
  const bool multiplies = c.method == Method::fma;
  // Tiles of a cluster may begin past the last pixel.
  const std::int64_t most = max_grid - c.tile_pixels * c.cluster;
  if (pixels_of(p) > most || p.w.shape[0] > most || taps_of(p) > most || p.x.shape[1] > most / taps_of(p))
    return "it counts pixels, filters and terms to 2^31";
  if (ceil_div(pixels_of(p), c.tile_pixels) + c.cluster > max_grid / ceil_div(p.w.shape[0], c.tile_filters))
    return "more than 2^31 tiles";
  const int smem = multiplies ? fma_smem_bytes(c) : gemm_kernels::wgmma_smem_bytes(wgmma_tile(c));
  if (smem > device.smem_optin)
    return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
  const auto extent = [](const Axis& a) { return (a.taps - 1) * a.dilation; };
  const auto reach = [](const Axis& a) { return real((a.outputs - 1) * a.stride + (a.taps - 1) * a.dilation + 1); };
  const Axis h = axis_h(p), w = axis_w(p);
  if (std::max(h.stride, w.stride) > tile::sm90::most_image_step) return "it is for strides of at most 8";
  if (std::max(extent(h), extent(w)) > tile::sm90::most_image_corner)
    return "it is for filters of an extent of at most 128";
  // What a copy would have, if there is one. Channels and filters are rounded up to 8 at most.
  const double channels = real(p.x.shape[1] + 7);
  if (real(p.x.shape[0]) * reach(h) * reach(w) * channels >= int_range ||
      real(p.w.shape[0] + 7) * real(taps_of(p)) * channels >= int_range)
    return "images or filters of 2^31 elements or more";
  return p.backward ? gradient_fits(p, device) : std::string{};
}

std::string grouped_fits(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  if (p.backward) return "it has no gradients";
  if (channels_of_group(p) != c.filters || filters_of_group(p) != c.filters)
    return "groups are not of " + std::to_string(c.filters) + " channels and as many filters";
  const Layout &x = p.x, &y = p.y;
  const std::int64_t vector = grouped_vector(size_of(p.dtype));
  if (p.alignment < 16 || x.shape[1] % vector != 0 || x.stride[1] != 1 || y.stride[1] != 1)
    return "channels are not innermost, or not whole pieces of 16 bytes";
  for (const int axis : {0, 2, 3})
    for (const Layout* t : {&x, &y})
      if (t->shape[axis] > 1 && t->stride[axis] % vector != 0) return "pixels do not start on 16 bytes";
  if (reach(x, p) - real(x.shape[0] - 1) * std::fabs(real(x.stride[0])) >= int_range ||
      reach(y, p) - real(y.shape[0] - 1) * std::fabs(real(y.stride[0])) >= int_range)
    return "offsets of 2^31 or more within an image";
  const std::int64_t extent =
      std::max((p.w.shape[2] - 1) * p.geometry.dilation.h, (p.w.shape[3] - 1) * p.geometry.dilation.w);
  if (real(y.shape[2]) * real(p.geometry.stride.h) + real(extent) >= int_range / 2 ||
      real(y.shape[3] + c.rows) * real(p.geometry.stride.w) + real(extent) >= int_range / 2)
    return "images of 2^30 rows or columns";
  if (real(grouped_strips(c, p)) >= int_range / 2 || x.shape[1] / vector > grouped_most_vectors * max_grid_yz)
    return "more than 2^30 pieces of work";
  const double smem = real(grouped_vectors(p)) * real(vector) * real(taps_of(p)) * c.filters * 4;
  if (smem > device.smem_optin) return "filters larger than shared memory";
  return {};
}

std::string winograd_fits(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  if (p.backward) return "it has no gradients";
  if (p.w.shape[2] != 3 || p.w.shape[3] != 3) return "filters are not 3x3";
  if (g.stride != ConvPair{} || g.dilation != ConvPair{}) return "stride or dilation is not 1";
  if (g.groups != 1) return "it takes all channels as one group";
  if (g.layout != ConvLayout::nchw) return "channels are innermost";
  if (p.y.count() == 0 || terms_of(p) == 0) return "there are no products";
  // In double: sizes may be any. Threads count what they transform.
  const double channels = real(p.w.shape[1]), filters = real(p.w.shape[0]);
  const double tiles =
      real(p.y.shape[0]) * real(ceil_div(p.y.shape[2], winograd_outputs) * ceil_div(p.y.shape[3], winograd_outputs));
  if (std::max({channels * 9, channels * tiles, filters * tiles, channels * filters}) >= int_range - 1024)
    return "more than 2^31 pieces of work";
  return {};
}

std::string stem_fits(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  if (device.cc != 90)
    return "Hopper's instructions, of compute capability 9.0, and " + device.name + " is another device";
  if (p.backward) return "it has no gradients";
  const ConvGeometry& g = p.geometry;
  const Layout &x = p.x, &w = p.w, &y = p.y;
  if (g.groups != 1) return "it takes all channels as one group";
  if (w.shape[2] != c.size || g.dilation != ConvPair{})
    return "it is for filters of " + std::to_string(c.size) + " rows, and dilations of 1";
  const std::int64_t channels = x.shape[1];
  if (channels > c.step || w.shape[3] > c.step || w.shape[3] * channels + stem_lead(p) % 2 > c.step ||
      w.shape[3] * channels <= c.step - stem_unit)
    return "a window's row is not of " + std::to_string(c.step - stem_unit + 1) + " to " + std::to_string(c.step) +
           " elements, or one less where padding is an odd number of them";
  if (y.count() == 0 || x.count() == 0) return "there are no products";
  const std::int64_t step = g.stride.w > stem_pitch ? stem_pitch : g.stride.w * channels;
  if (g.stride.h > stem_most_stride || step % 2 != 0 || (stem_columns - 1) * step + stem_unit + c.step > stem_pitch)
    return "it is for strides of at most " + std::to_string(stem_most_stride) +
           ", and an even number of elements from window to window";
  if (p.alignment < 16 || (channels > 1 && x.stride[1] != 1) || (x.shape[3] > 1 && x.stride[3] != channels) ||
      !is_regular(x.shape[2], x.stride[2], p.dtype) || !is_regular(x.shape[0], x.stride[0], p.dtype))
    return "x is not [n, h, w, c] whose rows start on 16 bytes";
  if ((channels > 1 && w.stride[1] != 1) || (w.shape[3] > 1 && w.stride[3] != channels))
    return "rows of filters are not contiguous";
  if (p.residual) return "it adds no residual";
  if (y.stride[1] != 1 || y.shape[1] % unit_elements(p.dtype) != 0 || !is_regular(y.shape[3], y.stride[3], p.dtype) ||
      !is_regular(y.shape[2], y.stride[2], p.dtype) || !is_regular(y.shape[0], y.stride[0], p.dtype) ||
      (y.shape[0] > 1 && y.stride[0] != y.shape[2] * y.stride[2]))
    return "y is not [n, oh, ow, k] whose pixels start on 16 bytes";
  const double padded_row = real(x.shape[3] + g.pad.left + g.pad.right + stem_unit) * real(channels);
  if (padded_row >= int_range / 2 || real(y.shape[0]) * real(y.shape[2]) >= int_range / 2 ||
      real(stem_patches(p)) >= int_range / 2 || y.shape[1] > max_grid_yz)
    return "it counts rows and patches to 2^30, and filters to 2^16";
  if (stem_smem_bytes(c) > device.smem_optin)
    return std::to_string(stem_smem_bytes(c)) + " bytes of shared memory, and the device has " +
           std::to_string(device.smem_optin);
  return {};
}

// Why this row cannot run this problem; empty: it can.
std::string fits(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvGeometry& g = p.geometry;
  if (c.tf32 && p.math != ConvMath::tf32) return "computes as math=tf32, which was not asked for";
  if (!is_compiled(c, p.dtype)) return p.dtype == f32 ? "it is for 16-bit types" : "it is for f32";
  if (gathers(c)) return hopper_fits(c, p, device);
  if (c.method == Method::stem) return stem_fits(c, p, device);
  if (c.method == Method::naive) {
    if (ceil_div(std::max({p.y.count(), p.x.count(), p.w.count()}), c.threads) > max_grid)
      return "more than 2^31 blocks";
    return {};
  }
  if (c.method == Method::implicit) {
    std::string why = implicit_fits(p);
    if (!why.empty()) return why;
    const std::int64_t images = p.x.shape[0] * std::max(p.x.shape[2] * p.x.shape[3], p.y.shape[2] * p.y.shape[3]);
    const std::int64_t sums = std::max(images, terms_of(p));
    const std::int64_t rows = std::max(filters_of_group(p), channels_of_group(p));
    const bool fewer =
        ceil_div(rows, c.tile_filters) <= max_grid / std::max<std::int64_t>(1, ceil_div(sums, c.tile_pixels));
    return fewer ? "" : "more than 2^31 blocks";
  }
  if (c.method == Method::grouped) return grouped_fits(c, p, device);
  if (c.method == Method::winograd) return winograd_fits(p);
  if (p.backward) return "it has no gradients";
  if (c.method == Method::coarse) {
    // In double: sizes may be any.
    const double items =
        static_cast<double>(p.y.shape[0]) * static_cast<double>(p.y.shape[1]) *
        static_cast<double>(ceil_div(p.y.shape[2], coarse_rows) * ceil_div(p.y.shape[3], coarse_columns));
    return items >= int_range - c.threads ? "more than 2^31 pieces of work" : "";
  }
  if (p.w.shape[2] != c.size || p.w.shape[3] != c.size)
    return "filters are not " + std::to_string(c.size) + "x" + std::to_string(c.size);
  if (g.stride != ConvPair{} || g.dilation != ConvPair{}) return "stride or dilation is not 1";
  if (c.filters == 1 && filters_of_group(p) != 1) return "groups have more than one filter";
  if (g.layout != ConvLayout::nchw) return "channels are innermost";
  if (reach(p.x, p) - static_cast<double>(p.x.shape[0] - 1) * std::fabs(static_cast<double>(p.x.stride[0])) >=
      int_range)
    return "offsets of 2^31 or more within an image";
  if (direct_grid(c, p) >= Divider::limit) return "more than 2^31 blocks";
  const std::int64_t channels = channels_of_group(p), filters = filters_of_group(p);
  constexpr std::int64_t many = 1 << 20;  // of either; their products stay small
  const std::int64_t smem = channels < many && filters < many ? direct_smem_bytes(c, channels, filters) : many;
  if (smem > device.smem_optin)
    return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
  return {};
}

// ---- cost --------------------------------------------------------------------------------------------------------------

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

// Clocks of a multiprocessor's busiest pipe, for all blocks together; instructions from the source, four warps' in a clock.
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
constexpr double winograd_efficiency = 0.7;  // of multiply-adds' rate in its products
constexpr double fma_efficiency = 0.68;      // of multiply-adds' rate in fma rows, which waits for shared memory leave

roofline::Kernel wgmma_kernel(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  const gemm_kernels::Config tile = wgmma_tile(c);
  const Gathering g = gathering_of(p, c);
  const double rate = (c.tf32 ? device.tf32_tflops : device.fp16_tflops) * 1e3 / (2 * device.sms * device.clock_ghz);
  // Shared memory moves lines of 128 bytes: each 64 rows' products read theirs and all columns', and TMA writes both.
  const double lines = (tile.bm / 64 * (64 + tile.bn) + tile.bm + tile.bn) * tile.line / 128.0;
  const double step = std::max(real(tile.bm * tile.bn) * tile.bk / rate, lines);
  const std::int64_t tiles = gemm_kernels::wgmma_raster(tile, pixels_of(p), p.w.shape[0]).tiles() * tile.cluster;
  const bool ping_pong = tile.schedule == gemm_kernels::Schedule::ping_pong;
  // Persistent blocks: the fullest has so many tiles one after the other. Alone, a warpgroup of two has half the rate.
  const std::int64_t most = ceil_div(tiles, std::max(1, device.sms));
  const double alone = ping_pong && most == 1 ? 1.5 : 1;
  const double finish = ping_pong && most > 1 ? tile_clocks / 2 : tile_clocks;
  roofline::Kernel k;
  k.blocks = std::min<std::int64_t>(tiles, device.sms);
  k.block = {.threads = c.threads, .registers = 168, .smem = gemm_kernels::wgmma_smem_bytes(tile)};
  k.clocks = real(most) * (real(g.steps(c.step)) * step * alone + finish) * real(k.blocks);
  k.block_us = start_us;
  k.launches = g.bytes() > 0 ? 2 : 1;
  k.bytes_read = k.bytes_written = real(g.bytes());  // of copies
  k.l2_bytes = real(tiles) * real(g.steps(c.step)) * (tile.bm + tile.bn / tile.cluster) * tile.line;
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

roofline::Kernel fma_kernel(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  const Gathering g = gathering_of(p, c);
  const std::int64_t tiles = fma_tiles(c, p), places = std::max<std::int64_t>(1, device.sms) * c.blocks_per_sm;
  const std::int64_t most = ceil_div(tiles, places);
  // Four channels at a time, of the last step those that are there; threads alone on a scheduler wait for their reads.
  const double channels = real(ceil_div(g.channels, 4) * 4) * real(g.h.taps * g.w.taps);
  const double left_out = g.copies_image && g.image.channels == 4 && p.x.shape[1] == 3 ? 0.75 : 1;
  const double tile = real(c.tile_pixels * c.tile_filters) * channels * left_out / 128 / fma_efficiency + tile_clocks;
  roofline::Kernel k;
  k.blocks = std::min(tiles, places);
  k.block = {.threads = c.threads, .registers = 168, .smem = fma_smem_bytes(c)};
  k.clocks = real(most) * tile * real(k.blocks);
  k.block_us = start_us;
  k.launches = g.bytes() > 0 ? 2 : 1;
  k.bytes_read = k.bytes_written = real(g.bytes());  // of copies
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
  // The transforms come before and after, and wait for memory: for what the L2 cache keeps, a third as long.
  const double gbs = std::max(1.0, device.memory_gbs), share = 2 * transformed < real(device.l2_bytes) ? 0.3 : 1;
  k.serial_us = real(parts.parts) * (share * transformed / (gbs * 1e3) + 2 * start_us);
  k.tile_efficiency = filters * real(tiles) / (padded(p.w.shape[0], c.tile_filters) * padded(tiles, c.tile_pixels));
  return k;
}

roofline::Kernel kernel_of(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t channels = channels_of_group(p), filters = filters_of_group(p);
  roofline::Kernel k;
  if (gathers(c)) {
    k = c.method == Method::fma ? fma_kernel(c, p, device)
        : p.backward            ? wgmma_gradient_kernel(c, p, device)
                                : wgmma_kernel(c, p, device);
    k.cost = cost(p);
    k.bytes_read += k.cost.bytes_read;
    k.bytes_written += k.cost.bytes_written;
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
      k.blocks = p.geometry.groups * implicit_tiles(c, filters, pixels_of(p));
      k.block.registers = 128;
      k.block.smem = gemm_kernels::smem_bytes(implicit_tile(c, false), f32);
      k.block_us = 0.02 * std::min(real(terms_of(p)), 1e6);  // steps of eight, each with a barrier
      if (p.backward) {
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

double predict_us(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

Result<int> choose(const ConvProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) {
        // The steps on the way are for what the last rows do not take, also where little work would take equally long.
        const bool step = row.config.method == Method::naive || row.config.method == Method::coarse;
        return predict_us(row, p, device) * (step && !record ? 1.5 : 1);
      },
      record);
}

// ---- run -------------------------------------------------------------------------------------------------------------

Status check_run(const ConvPlan& plan, Result<ConvProblem> given, const TensorView& x, Workspace workspace) {
  if (!given) return given.error();
  // Tensors that start on rounder addresses than were planned for are as good.
  given->alignment = std::min(given->alignment, plan.problem.alignment);
  if (*given != plan.problem)
    return Status::invalid(op, "tensors", given->text() + " or their strides or alignment",
                           "as planned, " + plan.problem.text());
  if (x.device != plan.device.id) return Status::invalid(op, "device", "another", "the plan's");
  if (workspace.bytes < plan.workspace)
    return Status::invalid(op, "workspace", std::to_string(workspace.bytes) + " bytes",
                           "at least " + std::to_string(plan.workspace));
  return {};
}

Status launch(const Arguments& args) {
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      if (is_for_hopper(variants[args.plan.variant].config)) {
        if (variants[args.plan.variant].config.tf32) return launch_wgmma_tf32(args);
        if (args.plan.problem.dtype == f32) return launch_fma(args);
        return args.plan.problem.dtype == f16 ? launch_wgmma_f16(args) : launch_wgmma_bf16(args);
      }
    }
    switch (args.plan.problem.dtype) {
      case DType::f16: return launch_f16<B>(args);
      case DType::bf16: return launch_bf16<B>(args);
      default: return launch_f32<B>(args);
    }
  });
}

}  // namespace

Result<ConvPlan> plan_conv2d(const ConvProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  ConvPlan plan{p, device, *chosen};
  const Config& c = variants[*chosen].config;
  plan.split = static_cast<int>(split_of(c, p, device.sms));
  if (c.method == Method::implicit && p.backward)
    plan.workspace = static_cast<std::size_t>(plan.split) * static_cast<std::size_t>(p.w.count()) * sizeof(float);
  if (c.method == Method::winograd) plan.workspace = static_cast<std::size_t>(winograd_parts(p).floats) * sizeof(float);
  if (c.method == Method::wgmma && p.backward)
    plan.workspace = static_cast<std::size_t>(turned_filter_bytes(p) + plan.split * p.w.count() * 4);
  else if (gathers(c)) plan.workspace = static_cast<std::size_t>(gathering_of(p, c).bytes());
  return plan;
}

Explanation ConvPlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace;
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status ConvPlan::run(const ConvTensors& t, Workspace given, Stream stream) const {
  RIDGE_TRY(check_run(*this, ConvProblem::of(t, problem.geometry, problem.epilogue, problem.math), t.x, given));
  if (problem.y.count() == 0) return {};
  return launch({.plan = *this,
                 .x = t.x.data,
                 .w = t.w.data,
                 .bias = t.bias ? t.bias->data : nullptr,
                 .residual = t.residual ? t.residual->data : nullptr,
                 .dy = nullptr,
                 .y = t.y.data,
                 .dx = nullptr,
                 .dw = nullptr,
                 .workspace = given.data,
                 .stream = stream});
}

Status ConvPlan::run_gradient(const ConvGradientTensors& t, Workspace given, Stream stream) const {
  RIDGE_TRY(check_run(*this, ConvProblem::of_gradient(t, problem.geometry), t.x, given));
  if (problem.dx.count() == 0 && problem.dw.count() == 0) return {};
  return launch({.plan = *this,
                 .x = t.x.data,
                 .w = t.w.data,
                 .bias = nullptr,
                 .residual = nullptr,
                 .dy = t.dy.data,
                 .y = nullptr,
                 .dx = t.dx.data,
                 .dw = t.dw.data,
                 .workspace = given.data,
                 .stream = stream});
}

template <class Run>
static void run_cached(const Result<ConvProblem>& problem, Device device, Stream stream, Run&& run) {
  thread_local PlanCache<ConvProblem, ConvPlan> cache;
  throw_if(problem.error());
  auto plan = cache.find(*problem, device, [](auto& p, auto& d) { return plan_conv2d(p, d); });
  throw_if(plan.error());
  throw_if(run_with_workspace(**plan, device, stream, [&](Workspace workspace) { return run(**plan, workspace); }));
}

void conv2d(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& epilogue, Stream stream, ConvMath math) {
  run_cached(ConvProblem::of(t, g, epilogue, math), t.x.device, stream,
             [&](const ConvPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

void conv2d_gradient(const ConvGradientTensors& t, const ConvGeometry& g, Stream stream) {
  run_cached(ConvProblem::of_gradient(t, g), t.x.device, stream,
             [&](const ConvPlan& plan, Workspace workspace) { return plan.run_gradient(t, workspace, stream); });
}

}  // namespace ridge
