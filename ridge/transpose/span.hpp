// Many small matrices: a block moves a span of whole ones, which is contiguous in x and in y.
#pragma once
#include <ridge/transpose/request.hpp>

#include <array>

namespace ridge::transpose_detail {

// Position of a staged unit: three bits of its chunk's index, `swizzle_shift` bits further up, are XORed into the
// lowest three, so that the units that a warp gathers are in different banks.
RIDGE_HD constexpr int span_swizzle(int unit, int chunk_units, int swizzle_shift) {
  return unit ^ (unit >> swizzle_shift & 7 * chunk_units);
}

namespace span {

constexpr std::int64_t matrix_bytes(const Form& f) { return f.rows * f.cols * f.unit; }

// Matrices per block: enough for spans of whole chunks, where the stage has room for them.
constexpr std::int64_t matrices_of_block(const Config& c, const Form& f) {
  const std::int64_t bytes = matrix_bytes(f), room = c.stage_bytes / bytes;
  std::int64_t whole = 1;
  while (whole * bytes % chunk_bytes != 0) whole *= 2;
  return room >= whole ? room / whole * whole : room;
}
// Distance in chunks between two that hold the same units of their matrices.
constexpr std::int64_t period_of(const Form& f) {
  std::int64_t bytes = matrix_bytes(f);
  while (bytes % chunk_bytes != 0) bytes *= 2;
  return bytes / chunk_bytes;
}

// Wavefronts that a warp takes to gather unit v of its chunks of y.
inline int wavefronts(const Form& f, int warp, int v, int swizzle_shift) {
  constexpr int banks = 32, word = 4;
  const int V = per_chunk(f.unit), lanes = std::min(32, 32 * word / f.unit);  // of one wavefront
  const std::int64_t size = f.rows * f.cols;
  std::array<std::array<int, 32>, banks> words;
  std::array<int, banks> count{};
  int most = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int64_t unit = std::int64_t{warp * lanes + lane} * V + v, within = unit % size;
    const auto at = static_cast<int>(unit - within + within % f.rows * f.cols + within / f.rows);
    const int place = span_swizzle(at, V, swizzle_shift) * f.unit / word, bank = place % banks;
    auto& there = words[bank];
    const auto end = there.begin() + count[bank];
    if (std::find(there.begin(), end, place) == end) there[count[bank]++] = place;
    most = std::max(most, count[bank]);
  }
  return most;
}

// The swizzle_shift with the fewest wavefronts of a warp's gathers from shared memory, counted over the first chunks.
inline int best_swizzle(const Form& f) {
  constexpr int warps = 2;
  const int V = per_chunk(f.unit);
  int best = 31, fewest = 1 << 30;
  for (int swizzle_shift : {31, 1, 2, 3, 4, 5, 6, 7}) {
    int sum = 0;
    for (int v = 0; v < V; v += std::max(1, V / 4))
      for (int warp = 0; warp < warps; ++warp) sum += wavefronts(f, warp, v, swizzle_shift);
    if (sum < fewest) best = swizzle_shift, fewest = sum;
  }
  return best;
}

// Adds a chunk for the shift, and the swizzle's groups of eight.
constexpr int smem_bytes(const Config& c) { return c.stage_bytes + 8 * chunk_bytes; }

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config& c = row.config;
  const Form& f = r.form;
  if (std::string why = refuse_form(f, {Kind::matrices}); !why.empty()) return why;
  const std::int64_t size = f.rows * f.cols;
  if (f.pitch_x != f.cols || f.pitch_y != f.rows || f.outer.rank > 1 ||
      (f.outer.rank == 1 && (f.outer.x[0] != size || f.outer.y[0] != size)))
    return "matrices do not lie behind one another without gaps";
  if (matrix_bytes(f) > c.stage_bytes) return "a matrix of more than " + bytes_text(c.stage_bytes);
  return refuse_smem(smem_bytes(c), device);
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(r.form.outer.count(), matrices_of_block(c, r.form)),
          .threads = c.threads,
          .smem = smem_bytes(c)};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config& c = row.config;
  const Form& f = r.form;
  // A block that fills less of its stage has fewer loads in flight: 0.88 where it fills half.
  const auto staged = static_cast<double>(matrices_of_block(c, f) * f.rows * f.cols * f.unit);
  const double use = (0.75 + 0.25 * staged / c.stage_bytes) *
                     (f.unit == 1 && period_of(f) > c.threads ? 0.75 : 1);  // and positions are computed for each chunk
  return kernel_of(row, footprint(row, r, device), r, use);
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace span
}  // namespace ridge::transpose_detail
