// Which row of the table takes which problem: preconditions of the kernels, each with a sentence for who named the row.
#include <ridge/conv/launch.hpp>
#include <ridge/conv/plan.hpp>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/core/divider.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace conv_detail;

namespace {

constexpr double int_range = 2147483648.0;

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
  if (multiplies || !are_patches(p)) {
    if (std::max(h.stride, w.stride) > tile::sm90::most_image_step) return "it is for strides of at most 8";
    if (std::max(extent(h), extent(w)) > tile::sm90::most_image_corner)
      return "it is for filters of an extent of at most 128";
  }
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

}  // namespace

std::string conv_detail::fits(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
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

}  // namespace ridge
