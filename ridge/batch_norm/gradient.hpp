// What the families of dx share. Of batch statistics dx follows from dz, x and a channel's sums; of given ones from dz
// alone. Where dz was not stored as dresidual, it follows from dy again.
#pragma once
#include <ridge/batch_norm/apply.hpp>
#include <ridge/batch_norm/sums.hpp>

namespace ridge::batch_norm_detail {

using GradientFamily = ApplyFamily;

inline bool of_batch(const BatchNormProblem& p) { return p.function == BatchNorm::train; }  // its statistics

// Whether dx's kernel computes dz; else it reads it.
constexpr bool recomputes_dz(const BatchNormProblem& p) { return is_activated(p) && !p.dresidual; }
// How dx's kernel makes dz of what it reads.
constexpr Dz dz_for_dx(const BatchNormProblem& p) { return recomputes_dz(p) ? dz_of(p) : Dz::is_dy; }
inline bool reads_x_for_dx(const BatchNormProblem& p) { return of_batch(p) || recomputes_dz(p); }
inline const Layout& read_for_dz(const BatchNormProblem& p) { return p.dresidual ? p.of_dresidual : p.dy; }

// Whether f(layout, alignment) holds for all that dx's kernel reads and writes per element.
template <class F> constexpr bool holds_for_all_of_dx(const BatchNormProblem& p, F&& f) {
  return f(p.y, p.align_y) && f(read_for_dz(p), p.dresidual ? p.align_dresidual : p.align_dy) &&
         (!reads_x_for_dx(p) || f(p.x, p.align_x)) &&
         (!(recomputes_dz(p) && p.residual) || f(p.of_residual, p.align_residual));
}

// The start of every family's model. bytes: of each tensor, that a thread has in flight; instructions: per element,
// counted in the source.
inline roofline::Kernel kernel_of_dx(const Footprint& launch, const BatchNormProblem& p, double bytes,
                                     double instructions) {
  const double n = elements_of(p), read = 1.0 + reads_x_for_dx(p) + (recomputes_dz(p) && p.residual);
  roofline::Kernel k = roofline::kernel_of(launch, gradient_cost(p));
  k.bytes_read = read * n * element_bytes(p);
  k.bytes_written = n * element_bytes(p);
  k.trip_bytes = launch.threads * bytes * read;
  k.clocks = n / 32 / 4 * (instructions + (recomputes_dz(p) ? of_dz(p) : 0));
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
