// What the families of a gradient's sums share: those of dz and of dz (x - mean), over all axes but the channel. dz is
// dy times the activation's slope at z, and dy itself without an activation. Their work is divided as that of
// statistics is.
#pragma once
#include <ridge/batch_norm/stats.hpp>

namespace ridge::batch_norm_detail {

using SumsFamily = StatsFamily;

// How dz follows from dy: it is the same, or times a slope. relu's has instances of its own: those for any activation
// take more registers.
enum class Dz : std::uint8_t { is_dy, by_relu, by_any };
constexpr Dz dz_of(const BatchNormProblem& p) {
  return !is_activated(p) ? Dz::is_dy : p.options.activation == Activation::relu ? Dz::by_relu : Dz::by_any;
}

// That of three numbers which is for this way, as registers are counted.
constexpr int by_dz(Dz how, int is_dy, int by_relu, int by_any) {
  return how == Dz::is_dy ? is_dy : how == Dz::by_relu ? by_relu : by_any;
}

// Whether a gradient has sums, whose kernels also write dz where it is asked for; and whether it reads x.
inline bool has_sums(const BatchNormProblem& p) {
  return p.function == BatchNorm::train || p.dgamma || p.dbeta || p.dresidual;
}
inline bool reads_x(const BatchNormProblem& p) { return p.function == BatchNorm::train || p.dgamma || is_activated(p); }

// Whether f(layout, alignment) holds for all that the sums' kernels read and write per element.
template <class F> constexpr bool holds_for_all_summed(const BatchNormProblem& p, F&& f) {
  return f(p.x, p.align_x) && f(p.dy, p.align_dy) && (!p.residual || f(p.of_residual, p.align_residual)) &&
         (!p.dresidual || f(p.of_dresidual, p.align_dresidual));
}

// Bytes of both sums of a slice of a channel, and of what dx's kernel needs of a channel.
inline constexpr int sums_bytes = 8, folded_bytes = 16;

// Shared memory for both sums of each lane's elements.
constexpr int smem_of_sums(const StatsConfig& c, DType dtype) {
  return c.threads * 2 * static_cast<int>(elements_of_load(c, dtype)) * 4;
}

// The launch of this grid, but for registers and shared memory. The workspace has what each channel's sums are folded
// into, and behind them the sums of its slices, if there are several.
inline Footprint footprint_of_sums(const StatsConfig& c, const StatsGrid& g, const BatchNormProblem& p) {
  const std::int64_t slices = g.slices > 1 ? g.slices : 0;
  return {.grid = g.blocks(),
          .threads = c.threads,
          .workspace = static_cast<std::size_t>(p.x.shape[1] * (folded_bytes + slices * sums_bytes))};
}

// ---- models

// Instructions of dz for each element: z, the slope, and a product.
inline double of_dz(const BatchNormProblem& p) { return is_activated(p) ? 4 + activation_instructions(p) : 0; }

// The least work of a gradient, which may have a row of each table.
inline Cost gradient_cost(const BatchNormProblem& p) {
  const double n = elements_of(p), size = element_bytes(p), channels = static_cast<double>(p.x.shape[1]);
  Cost c;
  c.bytes_read = n * size * ((reads_x(p) ? 2 : 1) + (p.residual ? 1 : 0)) +
                 4 * channels * (2 + (p.gamma ? 1 : 0) + (p.beta ? 1 : 0));
  c.bytes_written = n * size * (p.dresidual ? 2 : 1) + 4 * channels * ((p.dgamma ? 1 : 0) + (p.dbeta ? 1 : 0));
  c.on(Unit::fp32) = n * ((has_sums(p) ? 3 : 0) + (p.function == BatchNorm::train ? 4 : 1) + of_dz(p));
  return c;
}

// The start of every family's model.
inline roofline::Kernel kernel_of_sums(const StatsConfig& c, const StatsGrid& g, const Footprint& launch,
                                       const BatchNormProblem& p) {
  roofline::Kernel k = roofline::kernel_of(launch, gradient_cost(p));
  k.launches = g.slices == 1 ? 1 : 2;
  const double of_tensor = elements_of(p) * element_bytes(p), read = p.residual ? 3 : 2;
  k.bytes_read = read * of_tensor;
  k.bytes_written = static_cast<double>(p.x.shape[1]) * sums_bytes + (p.dresidual ? of_tensor : 0);
  k.serial_us = g.slices == 1 ? 0 : 2;                                          // the second kernel's trip to memory
  const std::int64_t at_a_time = std::max<std::int64_t>(g.step * g.slices, 1);  // of a channel, by all of its blocks
  k.trips = std::max(1.0, static_cast<double>(ceil_div(g.items, at_a_time)));
  k.trip_bytes = read * c.threads * c.loads * static_cast<double>(elements_of_load(c, p.dtype)) * element_bytes(p);
  k.block_us = 1;  // barriers
  // Per element: two conversions and three operations, and where elements are loaded one by one, its place.
  k.clocks = elements_of(p) / 32 / 4 * ((c.vectorized ? 7 : 18) + of_dz(p));
  return k;
}

}  // namespace ridge::batch_norm_detail
