// What the families of gradients share: refusals, the mean's divisor, and the start of a launch's model.
#pragma once
#include <ridge/pool/problem.hpp>

namespace ridge::pool_detail {

inline bool reads_values(const PoolProblem& p) { return p.function == Pool::max; }  // x and y, besides dy

// The divisor of all windows, if they have one.
inline std::optional<double> divisor_of_all(const PoolProblem& p) {
  if (p.uneven || !counts_padding(p) || clips(p)) return std::nullopt;
  return static_cast<double>(p.window.size.h) * static_cast<double>(p.window.size.w);
}

// ---- refusals; empty: none

inline std::string refuse_all_but_gradients(const PoolProblem& p) { return p.backward ? "" : "it is of gradients"; }

// Of sizes that kernels with 32-bit indices do not count. items: threads with work.
inline std::string refuse_large_gradient(const PoolProblem& p, std::int64_t items) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // sums of two of them have 31 bits
  const PoolPad& pad = p.window.pad;
  const PoolPair extent = p.window.extent();
  if (std::max({p.x.shape[2] + pad.top + pad.bottom, p.x.shape[3] + pad.left + pad.right, extent.h, extent.w}) >= most)
    return "a padded plane or a window has a side of 2^30 or more";
  return items >= Divider::limit ? "more than 2^31 pieces of work" : "";
}

// Of rows of dx, and of x where it is read, that are not 16-byte vectors.
inline std::string refuse_rows(const PoolProblem& p) {
  const std::int64_t vector = vector_elements(p.dtype);
  const auto contiguous = [](const Layout& t) { return t.shape[3] <= 1 || t.stride[3] == 1; };
  const auto on_vectors = [&](const Layout& t, int alignment) {
    bool good = alignment >= vector_bytes && t.shape[3] % vector == 0;
    for (int axis : {0, 1, 2}) good = good && (t.shape[axis] <= 1 || t.stride[axis] % vector == 0);
    return good;
  };
  const bool values = reads_values(p);
  if (!contiguous(p.x) || (values && !contiguous(p.value_x))) return "a row's elements are not contiguous";
  if (!on_vectors(p.x, p.align_x) || (values && !on_vectors(p.value_x, p.align_values)))
    return "rows are not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

// Of other windows than those that the row is compiled for. Padding behind the input is free.
inline std::string refuse_compiled_window(const Config& c, const PoolProblem& p) {
  if (std::string why = refuse_window(c, p.window); !why.empty()) return why;
  if (p.window.pad.top != c.pad || p.window.pad.left != c.pad) return "the padding is not " + std::to_string(c.pad);
  return p.uneven ? "the windows are of several sizes, or overlap, as no stride says" : "";
}

// ---- models

// The windows that hold an input, on average, if the plane has many.
inline double windows_of_input(const PoolProblem& p) {
  const auto along = [](std::int64_t taps, std::int64_t outputs, std::int64_t inputs) {
    return static_cast<double>(taps) * static_cast<double>(outputs) / std::max(static_cast<double>(inputs), 1.0);
  };
  return along(p.window.size.h, p.y.shape[2], p.x.shape[2]) * along(p.window.size.w, p.y.shape[3], p.x.shape[3]);
}

inline Cost gradient_cost(const PoolProblem& p) {
  const double size = element_bytes(p), inputs = static_cast<double>(p.x.count()), outputs = outputs_of(p);
  Cost c;
  c.bytes_read = (outputs + (reads_values(p) ? inputs + outputs : 0)) * size;
  c.bytes_written = inputs * size;
  c.on(Unit::fp32) = inputs + outputs;  // an addition for each input at least, and a quotient or a comparison
  return c;
}

// instructions: for an input, counted in the source.
inline roofline::Kernel kernel_of_gradient(const Footprint& launch, const PoolProblem& p, double instructions) {
  roofline::Kernel k = roofline::kernel_of(launch, gradient_cost(p));
  k.clocks = static_cast<double>(p.x.count()) / 32 * instructions / 4;  // four warps issue one each per clock
  return k;
}

}  // namespace ridge::pool_detail
