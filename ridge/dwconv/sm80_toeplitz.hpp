// The filter as a Toeplitz matrix on tensor cores, by mma.sync; w's gradient is that of sm80_lags.hpp.
#pragma once
#include <ridge/dwconv/sm80_lags.hpp>

namespace ridge::dwconv_detail {

inline constexpr int max_load_threads = 256;  // threads of a block that load k
constexpr int tensor_batch(const Config& c) { return sum_cols * c.batches; }
constexpr int warp_outputs(const Config& c) { return sum_rows * c.row_tiles; }
constexpr int strip(const Config& c) { return c.threads / 32 * warp_outputs(c); }  // outputs of a block
// The ring of lags: those of a chunk (strip + chunk), and those of the next one, which reach 8 entries to either side;
// a power of two, so that the index wraps by a mask.
constexpr int lag_ring(const Config& c) {
  int ring = 1;
  while (ring < strip(c) + 2 * chunk + 16) ring *= 2;
  return ring;
}
// A fragment is read as 16 rows, even if k has eight.
constexpr int line_rows(const Config& c, DType dtype) { return std::max(components(dtype) * tensor_batch(c), 16); }
// Two chunks of k, four registers per lag, scales of rows for two chunks, a mark per row,
// and the scratch of a block's reduction.
constexpr int scratch_words = 32;
constexpr int tensor_smem_bytes(const Config& c, DType dtype) {
  return 2 * line_rows(c, dtype) * line_bytes +
         static_cast<int>(sizeof(float)) * (4 * components(dtype) * lag_ring(c) + 3 * tensor_batch(c) + scratch_words);
}
constexpr std::int64_t strips(const Config& c, const DwconvProblem& p) { return ceil_div(p.time, strip(c)); }
constexpr std::int64_t tensor_grid(const Config& c, const DwconvProblem& p) {
  return p.channels * ceil_div(p.batch, tensor_batch(c)) * strips(c, p);
}

namespace tensor {

inline std::int64_t largest_grid(const Config& c, const DwconvProblem& p) {
  return std::max(tensor_grid(c, p), p.backward ? p.channels : 0);
}

inline std::string fits(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_long(p); !why.empty()) return why;
  if (std::string why = refuse_grid(largest_grid(c, p)); !why.empty()) return why;
  if (device.is_cpu() || device.cc < 80) return "the device has no tensor cores of compute capability 8.0";
  if (std::string why = refuse_empty(p); !why.empty()) return why;
  return refuse_smem(p.backward ? band_smem_bytes(p) : tensor_smem_bytes(c, p.dtype), device);
}

// A block of the convolution or of k's gradient; w's gradient has blocks of its own.
inline Footprint footprint(const Variant& row, const DwconvProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = largest_grid(c, p), .threads = c.threads, .registers = 128, .smem = tensor_smem_bytes(c, p.dtype)};
}

inline double clocks(const Config& c, const DwconvProblem& p, const DeviceInfo& device, bool summed) {
  if (summed) return band_clocks(p, device);
  const double rows = std::ceil(static_cast<double>(p.batch) / tensor_batch(c)) * tensor_batch(c);
  return mma_clocks(p, device, rows, chunk, c.batches == 1 ? 1.4 : 1);
}

inline roofline::Kernel model(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  k.clocks = over_sums(p, [&](bool summed) { return clocks(row.config, p, device, summed); });
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace tensor
}  // namespace ridge::dwconv_detail
