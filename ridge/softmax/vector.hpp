// Rows too long to keep on chip, read twice by 16-byte vectors.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::vector {

inline constexpr int in_flight = 4;  // a thread's vectors

// Rows of x and y that are not co-aligned are written element by element. A warp's access is a line of 128 bytes, or
// half of one: an estimate.
inline void write_apart(roofline::Kernel& k, const SoftmaxProblem& p) {
  if (!co_aligned(p, *p.y)) k.memory_share = element_bytes(p) == 2 ? 0.5 : 0.8;
}

inline std::string fits(const Variant&, const SoftmaxProblem& p, const DeviceInfo&) {
  if (p.backward) return "it has no gradient";
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  return refuse_misaligned(p);
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  return {.grid = is_empty(p) ? 0 : p.rows, .threads = row.config.threads, .registers = 40};
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  read_again(k, 1, 1, p, device);
  const double of_thread = std::ceil(static_cast<double>(vectors(p)) / c.threads);
  k.trips = 2 * (std::floor(of_thread / in_flight) + std::fmod(of_thread, in_flight));
  k.trip_bytes = std::min(row_bytes(p), static_cast<double>(in_flight * vector_bytes) * c.threads);
  if (element_bytes(p) == 2) k.block_us *= 1.35;  // twice the elements in a vector
  if (!co_aligned(p, *p.y))                       // eight elements in flight
    k.trips = k.trips / 2 + std::ceil(static_cast<double>(p.cols) / (c.threads * 8));
  write_apart(k, p);
  add_code(k, 0.4);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::vector
