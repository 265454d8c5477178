// The histogram by name.
#include <ridge/core/op.hpp>
#include <ridge/histogram/launch.hpp>
#include <ridge/histogram/variants.hpp>

#include <charconv>
#include <cmath>

namespace ridge {

using namespace histogram_detail;

static constexpr std::string_view op = "histogram";

// "lo,hi"
static Result<std::optional<HistogramRange>> range_option(const Options& options) {
  if (!options.has("range")) return std::optional<HistogramRange>{};
  const std::string_view text = options.text("range");
  HistogramRange range;
  const char* end = text.data() + text.size();
  const auto lo = std::from_chars(text.data(), end, range.lo);
  if (lo.ec == std::errc{} && lo.ptr != end && *lo.ptr == ',') {
    const auto hi = std::from_chars(lo.ptr + 1, end, range.hi);
    if (hi.ec == std::errc{} && hi.ptr == end && std::isfinite(range.lo) && std::isfinite(range.hi))
      return std::optional(range);
  }
  return Status::invalid(op, "range", "'" + std::string(text) + "'", "two finite numbers, lo,hi");
}

static Result<std::vector<TensorType>> infer(Views, const Options& options) {
  auto bins = options.integer(op, "bins", 256);
  if (!bins) return bins.error();
  if (*bins < 1 || *bins > max_bins)
    return Status::invalid(op, "bins", std::to_string(*bins), "from 1 to " + std::to_string(max_bins));
  const std::string_view out = options.text("out", "i64");
  if (out != "i64" && out != "i32") return Status::invalid(op, "out", "'" + std::string(out) + "'", "i64 or i32");
  return std::vector<TensorType>{{out == "i64" ? DType::i64 : DType::i32, {*bins}}};
}

// The checklist item of a table row.
static std::string_view checklist_item(const Variant& row) {
  const Config& c = row.config;
  if (c.table == Table::none) return {};
  if (c.access_bytes == 0 || c.copies > 1 || c.counter_bits < 32) return "privatisation";
  return c.vectors > 1 ? "coarsening" : "coalescing";
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto range = range_option(options);
  if (!range) return range.error();
  auto problem = HistogramProblem::of(in[0], out[0], *range);
  if (!problem) return problem.error();
  auto plan = plan_histogram(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const HistogramPlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.run(x[0], y[0], stream);
  });
}

static const RegisterOp registered({.name = op,
                                    .family = op,
                                    .summary = "how many samples fall in each of `bins` even bins over [lo, hi]",
                                    .inputs = {"x"},
                                    .outputs = {"counts"},
                                    .dtypes = {u8, i8, i32, i64, f16, bf16, f32, f64},
                                    .options = {{"bins", "1..2^30", "the number of bins", "256"},
                                                {"range", "lo,hi",
                                                 "the first and the last edge; u8 and i8 default to all their values"},
                                                {"out", "i64|i32", "the type of the counts", "i64"}},
                                    .variants = variant_infos(variants, checklist_item),
                                    .infer = infer,
                                    .plan = plan_by_name});

}  // namespace ridge
