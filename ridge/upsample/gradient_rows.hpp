// A gradient in two steps: a block sums the rows of dy that read a row of dx, column by column, into shared memory, and
// then what each pixel of dx gets of these sums along the row. Any sizes and alignment of contiguous rows.
#pragma once
#include <ridge/upsample/problem.hpp>

#include <cmath>

namespace ridge::upsample_detail::gradient_rows {

// Threads along a row of dy, each with V columns.
constexpr std::int64_t threads_across(const UpsampleProblem& p) { return ceil_div(p.y.shape[3], vector_of(p)); }
// Floats of shared memory of a row of sums: whole vectors.
constexpr std::int64_t pitch_of(const UpsampleProblem& p) { return threads_across(p) * vector_of(p); }

// Rows of dx in all planes, which blocks share without regard to planes, and of one block: as many as have their sums
// in shared memory. Rows of dx count like sums, so that a block's pixels are few too.
constexpr std::int64_t rows_of(const UpsampleProblem& p) { return p.x.shape[0] * p.x.shape[1] * p.x.shape[2]; }
constexpr std::int64_t rows_of_block(const Config& c, const UpsampleProblem& p) {
  return std::clamp<std::int64_t>(c.sums / std::max<std::int64_t>({pitch_of(p), p.x.shape[3], 1}), 1, c.rows);
}

constexpr std::int64_t smem_bytes(const Config& c, const UpsampleProblem& p) {
  return rows_of_block(c, p) * pitch_of(p) * static_cast<std::int64_t>(sizeof(float));
}

// Whether a thread's columns are neighbours, loaded as a vector.
inline bool loads_vectors(const UpsampleProblem& p) {
  return p.y.shape[3] % vector_of(p) == 0 && is_on_vectors(p.y, 3, vector_of(p), p.dtype, p.align_y);
}

inline std::string fits(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_direction(p, true); !why.empty()) return why;
  if (std::string why = refuse_large(p, rows_of(p)); !why.empty()) return why;
  if (std::string why = refuse_wide_places(p); !why.empty()) return why;
  if (std::string why = refuse_strided_rows(p); !why.empty()) return why;
  return roofline::refuse_smem(smem_bytes(row.config, p), device);
}

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(rows_of(p), rows_of_block(c, p)),
          .threads = c.threads,
          .registers = 56,
          .smem = static_cast<int>(smem_bytes(c, p))};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double ratio = readers(p, 3) / (blends(p) ? 2 : 1), vector = static_cast<double>(vector_of(p));
  // Per element of dy in the first step, per sum in the second.
  const double first = 2 + 14 / vector + (loads_vectors(p) ? 0 : 3), second = blends(p) ? 11 : 3;
  const double instructions = 30 + readers(p, 2) * ratio * first + readers(p, 3) * second;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  // Threads have several items in turn, and of each load four rows of dy at a time.
  const double items = static_cast<double>(rows_of_block(c, p) * threads_across(p));
  k.trips = std::max(1.0, std::ceil(items / c.threads) * std::max(1.0, readers(p, 2) / 4));
  k.trip_bytes = std::min<double>(c.threads, items) * vector_bytes * std::min(4.0, readers(p, 2));
  // Two rows of dx read a row of dy: about half of the time in one block at once, which has it in its L1 cache.
  if (blends(p)) k.l2_bytes = k.bytes_read / 2;
  k.block_us = 0.5;  // a barrier, and the second step behind it
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::gradient_rows
