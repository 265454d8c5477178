// What plan.cpp knows of model.cpp: what a row of the table launches for a problem, and what a device makes of that.
#pragma once
#include <ridge/norm/variants.hpp>
#include <ridge/roofline/predict.hpp>

namespace ridge::norm_detail {

inline bool wants_sums(const NormProblem& p) { return p.backward && (p.dgamma || p.dbeta); }
inline bool is_two_float(const NormProblem& p) { return p.accumulate == Accumulate::two_float; }
inline int tensors_kept(const NormProblem& p) { return p.backward ? 2 : 1; }
inline std::int64_t element_bytes(const NormProblem& p) { return static_cast<std::int64_t>(size_of(p.dtype)); }
// Whole 16-byte units of the longest row: that of one that starts on a boundary.
inline std::int64_t units(const NormProblem& p) { return p.cols / (unit_bytes / element_bytes(p)); }

// Blocks of the kernel over rows.
std::int64_t grid_of(const Config&, const NormProblem&, const DeviceInfo&);

// Precondition: the row takes the problem, whose layouts are given.
roofline::Kernel kernel_of(const Variant&, const NormProblem&, const DeviceInfo&);

}  // namespace ridge::norm_detail
