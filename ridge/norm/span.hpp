// Rows of a few columns, without gaps between them: a block loads its rows to shared memory as one span. Gradients are
// variants of their own: their blocks are persistent and keep the sums of dgamma and dbeta.
#pragma once
#include <ridge/norm/sums.hpp>
#include <ridge/tile/row_span.hpp>

namespace ridge::norm_detail {

// The rows that a block loads at a time, and its shared memory. Gradients load the next rows meanwhile, and keep
// `of_row` statistics of each row.
struct SpanShape {
  static constexpr int stages = 2, of_row = 5;

  int rows = 0, smem = 0;
};

namespace span {

inline SpanShape shape_of(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  const int size = static_cast<int>(element_bytes(p)), cols = static_cast<int>(p.cols);
  if (!p.backward) {
    constexpr std::int64_t bytes = 8192, blocks_per_sm = 8;
    const int rows = tile::span_rows(c.threads, p.rows, std::int64_t{cols} * size, bytes, device.sms * blocks_per_sm);
    return {rows, tile::span_room(rows, cols, size)};
  }
  constexpr std::int64_t bytes = 24576;
  constexpr int most_smem = 72 << 10;  // for three blocks on a Hopper multiprocessor
  const int x_bytes = p.dtype == f64 ? 8 : 4, tensors = p.added ? 3 : 2, kept = SpanShape::of_row * x_bytes;
  const auto smem = [&](int rows) {
    return SpanShape::stages * tensors * tile::span_room(rows, cols, size) + rows * kept;
  };
  int rows = tile::span_rows(c.threads, p.rows, std::int64_t{tensors} * cols * size + kept, bytes,
                             device.sms * c.blocks_per_sm);
  while (rows > tile::span_pair && smem(rows) > most_smem) rows /= 2;
  return {rows, std::max(smem(rows), 2 * c.threads * x_bytes)};  // at the end, the sums of all threads
}

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (p.backward != (c.algorithm == Algorithm::span_sums))
    return p.backward ? "it has no gradient" : "it is for gradients";
  if (p.cols > tile::span_most_cols)
    return "a row has " + std::to_string(p.cols) + " elements, and a thread keeps " +
           std::to_string(tile::span_most_cols);
  const Rows& x = (*p.row_layouts)[0];
  for (const Rows& rows : *p.row_layouts) {
    if (rows.step != 1) return "a row's elements are not contiguous";
    if (rows.outer.rank > 1 || (p.rows > 1 && rows.pitch() != p.cols)) return "there are gaps between rows";
    if (rows.alignment_offset != x.alignment_offset)
      return "the tensors start at different distances from 16-byte boundaries";
  }
  return refuse_smem(shape_of(c, p, device).smem, device);
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const SpanShape shape = shape_of(c, p, device);
  Footprint launch{.threads = c.threads, .registers = 64, .smem = shape.smem};
  if (!is_empty(p)) launch.grid = ceil_div(p.rows, shape.rows);
  if (p.backward) launch.grid = std::min<std::int64_t>(launch.grid, device.sms * c.blocks_per_sm);
  return with_sums(launch, c, p, device);
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  // In gradients, a block's spans follow one another; each is loaded while the block works on the one before.
  const SpanShape shape = shape_of(c, p, device);
  const double iterations =
      p.backward ? std::ceil(static_cast<double>(p.rows) / static_cast<double>(k.blocks * shape.rows)) : 1;
  const double of_thread = std::ceil(static_cast<double>(shape.rows) / c.threads) * static_cast<double>(p.cols);
  k.trip_bytes = row_bytes(p) * shape.rows * tensors_kept(p);
  k.trips = iterations;
  k.block_us = (p.backward ? 2.0 + 0.06 * of_thread : 0.8 + 0.06 * of_thread) * iterations;
  if (p.dtype != f64) {  // instructions of an element and of a row, four warps at a time; fitted to an H200
    const double of_element = p.backward ? 120 : 56, of_row = p.backward ? 200 : 260;
    k.clocks = (of_element * static_cast<double>(p.cols) + of_row) / 128 * static_cast<double>(p.rows);
  }
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant& row) {
  return row.config.algorithm == Algorithm::span ? "coalescing" : "privatisation";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace span
}  // namespace ridge::norm_detail
