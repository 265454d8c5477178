// Few tiles of D and a long k: slices of k as the matrices of a batch, by a plan of their own, whose sums are added up.
// Gradients of narrow layers, and of filters of one tap, have such products: k is all their rows, or pixels.
#pragma once
#include <ridge/gemm/family.hpp>
#include <ridge/gemm/slices.hpp>

namespace ridge::gemm_detail::sliced {

// The batch: A and B cut along k into `slices` equal parts, and D the sums in float32, in the layout that
// launch_add_slices() reads.
RIDGE_API GemmProblem batch_of(const GemmProblem&, int slices);

RIDGE_API std::string fits(const Variant&, const GemmProblem&, const DeviceInfo&);
RIDGE_API Arrangement arrange(const Variant&, const GemmProblem&, const DeviceInfo&);
RIDGE_API Footprint footprint(const Variant&, const GemmProblem&, const DeviceInfo&, const Arrangement&);
RIDGE_API Prediction model(const Variant&, const GemmProblem&, const DeviceInfo&);
inline std::string_view lesson(const Variant&) { return "occupancy"; }

inline constexpr KernelFamily family{
    .fits = fits, .arrange = arrange, .footprint = footprint, .model = model, .lesson = lesson};

}  // namespace ridge::gemm_detail::sliced
