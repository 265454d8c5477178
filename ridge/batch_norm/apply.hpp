// What the families that apply statistics share.
#pragma once
#include <ridge/batch_norm/problem.hpp>

namespace ridge::batch_norm_detail {

using ApplyFamily = roofline::Family<ApplyVariant, BatchNormProblem>;

// The start of every family's model. bytes: of each tensor, that a thread has in flight; instructions: per element,
// counted in the source.
inline roofline::Kernel kernel_of(const Footprint& launch, const BatchNormProblem& p, double bytes,
                                  double instructions) {
  const double n = elements_of(p);
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  const double read = p.residual ? 2 : 1;
  k.bytes_written = n * element_bytes(p);
  k.bytes_read = read * k.bytes_written;
  k.trip_bytes = launch.threads * bytes * read;
  k.clocks = n / 32 / 4 * (instructions + (p.residual ? 1 : 0) + activation_instructions(p));
  return k;
}

// The same for 16-byte vectors: a position and a channel's parameters for each thread.
inline roofline::Kernel kernel_of_vectors(const ApplyConfig& c, const Footprint& launch, const BatchNormProblem& p) {
  const double size = element_bytes(p), bytes = static_cast<double>(vector_bytes * c.vectors);
  const double elements = bytes / size;
  roofline::Kernel k = kernel_of(launch, p, bytes, 60 / elements + (size == 2 ? 5 : 3));
  if (c.vectors > 1) k.overlap = 6;
  return k;
}

}  // namespace ridge::batch_norm_detail
