// Short rows without gaps between them: a block loads its rows to shared memory as one span, then one or several
// threads work on a row.
#pragma once
#include <ridge/reduce/request.hpp>
#include <ridge/tile/row_span.hpp>

namespace ridge::reduce_detail {

// Rows of up to span_short_bytes are processed element by element, longer ones by words.
inline constexpr std::int64_t span_short_bytes = 32, span_most_bytes = 4096;

namespace spans {

constexpr bool instantiated(Reduce f) { return f != Reduce::dot; }

// Threads that share a row: 256 bytes each, or fewer if there are few rows, so that multiprocessors have several
// blocks.
constexpr int lanes_of(const Config& c, const Extent& e, int element_bytes) {
  constexpr std::int64_t of_thread = 256, least = 32, blocks = 512, most = 32;
  const std::int64_t bytes = e.cols * element_bytes;
  std::int64_t lanes = 1;
  while (lanes < most && (bytes > of_thread * lanes || (bytes > least * lanes && e.rows * lanes < blocks * c.threads)))
    lanes *= 2;
  return static_cast<int>(lanes);
}
// Rows that a block loads: 8 to 16 KB, or one row for each group of lanes, which may be 32 KB.
constexpr int rows_of_block(const Config& c, const Extent& e, int element_bytes) {
  constexpr std::int64_t blocks = 1024;
  const std::int64_t row = e.cols * element_bytes, bytes = row > span_short_bytes ? 16384 : 8192;
  return tile::span_rows(c.threads / lanes_of(c, e, element_bytes), e.rows, row, bytes, blocks);
}

constexpr Tiling tiling(const Config& c, const Extent& e, int element_bytes) {
  const int block_rows = rows_of_block(c, e, element_bytes);
  return {.row_threads = lanes_of(c, e, element_bytes),
          .row_elements = access_elements(c, element_bytes),
          .vectors = c.vectors,
          .block_rows = block_rows,
          .row_blocks = ceil_div(e.rows, block_rows)};
}
constexpr std::int64_t additions(const Config&, const Extent& e, std::int64_t, int) { return e.cols; }

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config c = config_of(row, r);
  const Extent& e = r.extent;
  const int size = element_bytes(r.problem);
  if (!instantiated(r.problem.function)) return dot_has_one_row;
  if (std::string why = refuse_gaps(r); !why.empty()) return why;
  if (e.cols < 1 || e.cols * size > span_most_bytes)
    return "a row is not of 1 to " + std::to_string(span_most_bytes) + " bytes";
  if (r.axes.outer != 1 || r.axes.x[0] != e.cols) return "rows do not follow one another without gaps";
  return tiling(c, e, size).row_blocks > max_grid ? too_many_blocks : "";
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config c = config_of(row, r);
  const Extent& e = r.extent;
  const int size = element_bytes(r.problem);
  return {.grid = grid_of(tiling(c, e, size), 1),
          .threads = c.threads,
          .registers = size == 1 ? 56 : 48,
          .smem = tile::span_room(rows_of_block(c, e, size), static_cast<int>(e.cols), size)};
}

// Instructions of a thread for a word (or element) of a row, and for its part of a row. Fitted to times on an H200.
struct Work {
  double of_word, of_part;
};
inline Work work_of(const ReduceProblem& p, bool by_words) {
  const bool index = locates(p.function);
  const int size = element_bytes(p);
  if (!by_words) return {index ? (size == 1 ? 18.0 : 28.0) : 8.0, 60};
  switch (size) {
    case 1: return {index ? 18.0 : 13.0, 150};
    case 2: return {index ? 24.0 : 11.0, 150};
    default: return {index ? 20.0 : 8.0, 100};
  }
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  const Extent& e = r.extent;
  const int size = element_bytes(p), lanes = lanes_of(c, e, size);
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), tiling(c, e, size), 1, r);
  const double bytes = static_cast<double>(e.cols) * size,
               iterations = static_cast<double>(rows_of_block(c, e, size)) * lanes / c.threads;
  const bool by_words = bytes > static_cast<double>(span_short_bytes);
  const double words = (by_words ? bytes / std::max(size, 4) : static_cast<double>(e.cols)) / lanes;
  const Work work = work_of(p, by_words);
  constexpr double start_us = 0.25;  // measured on an H200
  k.block_us = start_us + 2 * barrier_us + shared_word_us * words * iterations;
  k.clocks = static_cast<double>(e.rows) * lanes * (words * work.of_word + work.of_part) / 128;  // of four warps
  if (by_words) {  // what a row costs beside its bytes, measured, in bytes
    const double moved = bytes + static_cast<double>(size_of(result_type(p.function, p.dtype)));
    k.memory_share = 0.98 * moved / (moved + (size == 1 ? 12 : 5));
  }
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{tiling, one_slice, additions};

}  // namespace spans
}  // namespace ridge::reduce_detail
