// Rows too long to keep on chip, read twice by 16-byte vectors.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::vector {

inline constexpr int in_flight = 4;  // a thread's vectors

inline std::string fits(const Variant&, const SoftmaxProblem& p, const DeviceInfo&) {
  if (p.backward) return "it has no gradient";
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_misaligned(p); !why.empty()) return why;
  return refuse_apart(p);
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
  add_code(k, 0.4);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::vector
