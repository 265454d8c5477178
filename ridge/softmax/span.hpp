// Rows of a few columns, without gaps between them: a block loads its rows to shared memory as one span.
#pragma once
#include <ridge/softmax/rows.hpp>
#include <ridge/tile/row_span.hpp>

namespace ridge::softmax_detail::span {

// The rows that a block loads at a time: 8 KB, if that leaves eight blocks for each multiprocessor.
inline int rows_of_block(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t bytes = 8192, blocks_per_sm = 8;
  const std::int64_t tensors = p.backward ? 2 : 1;
  return tile::span_rows(c.threads, p.rows, tensors * p.cols * element_bytes(p), bytes, device.sms * blocks_per_sm);
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int rows = rows_of_block(c, p, device);
  const int room = tile::span_room(rows, static_cast<int>(p.cols), static_cast<int>(element_bytes(p)));
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, rows),
          .threads = c.threads,
          .registers = 72,
          .smem = (p.backward ? 2 : 1) * room};
}

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (p.cols > tile::span_most_cols)
    return "a row has " + std::to_string(p.cols) + " elements, and a thread keeps " +
           std::to_string(tile::span_most_cols);
  for (const auto* rows : {&p.x, &p.y, &p.dy})
    if (*rows && p.rows > 1 && (*rows)->pitch() != p.cols) return "there are gaps between rows";
  if (p.x->alignment_offset % element_bytes(p)) return "a tensor starts off its own elements' size";
  if (!all_co_aligned(p)) return "the tensors start at different distances from 16-byte boundaries";
  return refuse_smem(footprint(row, p, device).smem, device);
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  const double cols = static_cast<double>(p.cols);
  const double iterations = static_cast<double>(rows_of_block(c, p, device)) / c.threads;
  k.trip_bytes = row_bytes(p) * iterations * c.threads * (p.backward ? 2 : 1);
  k.block_us += 0.03 * cols * iterations;  // a thread's elements follow one another
  if (p.backward) k.memory_share = 0.87;
  if (p.dtype != f64)  // instructions of an element and of a row, four warps at a time
    k.clocks = (20 * cols + 60) / 128 * static_cast<double>(p.rows);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::span
