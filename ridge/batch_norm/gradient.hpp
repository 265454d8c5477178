// What the families of dx share. Of batch statistics dx follows from dy, x and a channel's sums; of given ones from dy
// alone.
#pragma once
#include <ridge/batch_norm/apply.hpp>
#include <ridge/batch_norm/sums.hpp>

namespace ridge::batch_norm_detail {

using GradientFamily = ApplyFamily;

inline bool of_batch(const BatchNormProblem& p) { return p.function == BatchNorm::train; }  // its statistics

// The start of every family's model. bytes: of each tensor, that a thread has in flight; instructions: per element,
// counted in the source.
inline roofline::Kernel kernel_of_dx(const Footprint& launch, const BatchNormProblem& p, double bytes,
                                     double instructions) {
  const double n = elements_of(p), read = of_batch(p) ? 2 : 1;
  roofline::Kernel k = roofline::kernel_of(launch, gradient_cost(p));
  k.bytes_read = read * n * element_bytes(p);
  k.bytes_written = n * element_bytes(p);
  k.trip_bytes = launch.threads * bytes * read;
  k.clocks = n / 32 / 4 * instructions;
  return k;
}

// The same for 16-byte vectors: a position and a channel's parameters for each thread.
inline roofline::Kernel kernel_of_dx_vectors(const ApplyConfig& c, const Footprint& launch, const BatchNormProblem& p) {
  const double size = element_bytes(p), bytes = static_cast<double>(vector_bytes * c.vectors);
  const double instructions = 90 / (bytes / size) + (of_batch(p) ? 4 : 1) + (size == 2 ? 3 : 0);
  roofline::Kernel k = kernel_of_dx(launch, p, bytes, instructions);
  k.overlap = 6;
  return k;
}

}  // namespace ridge::batch_norm_detail
