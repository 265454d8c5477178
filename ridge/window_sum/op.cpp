// window_sum by name.
#include <ridge/core/op.hpp>
#include <ridge/window_sum/launch.hpp>
#include <ridge/window_sum/variants.hpp>

namespace ridge {

using namespace window_sum_detail;

// The checklist item of a table row.
static std::string_view checklist_item(const Variant& row) {
  switch (row.config.method) {
    case Method::naive: return {};
    case Method::shared: return "tiling";
    case Method::neighbours: return "coarsening";
    case Method::pieces:
    case Method::wide: return "better maths";
  }
  return {};
}

static Result<std::int64_t> width_of(const Options& options) {
  if (!options.has("w")) return Status::invalid("window_sum", "w", "missing", "given: the window's width");
  return options.integer("window_sum", "w", 1);
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto w = width_of(options);
  if (!w) return w.error();
  const Layout& shape = in[0].layout;
  return std::vector<TensorType>{{in[0].dtype, {shape.shape.begin(), shape.shape.begin() + shape.rank}}};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto w = width_of(options);
  if (!w) return w.error();
  auto problem = WindowSumProblem::of(in[0], out[0], *w);
  if (!problem) return problem.error();
  auto plan = plan_window_sum(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const WindowSumPlan& p, Views x, Views y, Workspace sums, Stream stream) {
    return p.run(x[0], y[0], sums, stream);
  });
}

static const RegisterOp registered({.name = "window_sum",
                                    .family = "window_sum",
                                    .summary = "the sum of a centred window of w, along the last axis",
                                    .inputs = {"x"},
                                    .outputs = {"y"},
                                    .dtypes = {f32, f16, bf16, i32},
                                    .options = {{"w", "odd number", "the window's width", {}, true}},
                                    .variants = variant_infos(variants, checklist_item),
                                    .infer = infer,
                                    .plan = plan_by_name});

}  // namespace ridge
