// Histogram: counts[k] = number of samples of x in bin k of `bins` uniform bins over [lo, hi].
//
// Bins      Edge k is the float64 number lo + k * ((hi - lo) / bins), and edge `bins` is hi: numpy.linspace's edges.
//           Bin k contains the samples with edge k <= x < edge k+1; the last bin also x == hi. Samples of all types are
//           compared exactly, so the counts are those of numpy.histogram(x.astype(float64), bins, (lo, hi))
//           on every device. Samples below lo, samples above hi and NaN are not counted.
// Range     lo < hi, finite, and hi - lo finite; a bin must not be narrower than float64 can resolve near lo and hi
//           (bins * 2^-47 of the larger magnitude). i8 and u8 have a default, all their values: -128,128 and 0,256, so
//           that 256 bins (the default number) are the byte histogram. Other types need a range: finding it in the
//           data, as numpy.histogram and torch.histc do by default, would take another pass and a synchronisation.
// Shapes    x has any shape and strides, counts shape [bins] and any stride but 0; bins from 1 to 2^30. Every variant
//           accepts a contiguous x, at any alignment of its elements.
// Types     x: u8 i8 i32 i64 f16 bf16 f32 f64. counts: i64, or i32, refused if x has 2^31 samples or more.
// Empty     counts are all 0.
// Aliasing  counts may not overlap x.
// Repeats   bitwise identical: integer sums are the same in any order.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

#include <optional>

namespace ridge {

struct HistogramRange {
  double lo = 0, hi = 0;
  bool operator==(const HistogramRange&) const = default;
};

struct HistogramProblem {
  DType dtype = DType::u8;
  Layout x;
  DType counts_dtype = DType::i64;
  Layout counts;
  HistogramRange range;
  std::int64_t bins() const { return counts.shape[0]; }
  bool operator==(const HistogramProblem&) const = default;

  // n contiguous samples. Without a range: the type's default, or, if it has none, NaN, which the plan refuses.
  RIDGE_API static HistogramProblem flat(DType, std::int64_t n, std::int64_t bins = 256,
                                         std::optional<HistogramRange> = {});
  // The problem of these views. Refuses misaligned elements and overlap.
  RIDGE_API static Result<HistogramProblem> of(const TensorView& x, const TensorView& counts,
                                               std::optional<HistogramRange> = {});
  RIDGE_API std::string text() const;  // for explain()
};

class HistogramPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& x, const TensorView& counts, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  HistogramProblem problem;  // x collapsed
  DeviceInfo device;
  int variant = 0;        // row of the table in variants.hpp
  std::int64_t grid = 0;  // blocks; 0 if there is nothing to count
};

RIDGE_API Result<HistogramPlan> plan_histogram(const HistogramProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line: plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void histogram(const TensorView& x, const TensorView& counts, std::optional<HistogramRange>, Stream = {});
inline void histogram(const TensorView& x, const TensorView& counts, Stream s = {}) { histogram(x, counts, {}, s); }

}  // namespace ridge
