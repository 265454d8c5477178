// max_pool2d, avg_pool2d and adaptive_avg_pool2d by name.
#include <ridge/core/op.hpp>
#include <ridge/pool/families.hpp>
#include <ridge/pool/request.hpp>

namespace ridge {

using namespace pool_detail;

template <Pool F> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(F, options);
  if (!request) return request.error();
  auto shape = pool_shape(F, request->window, request->layout, in[0].layout);
  if (!shape) return shape.error();
  return std::vector<TensorType>{{in[0].dtype, *shape}};
}

template <Pool F>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(F, options);
  if (!request) return request.error();
  auto problem = PoolProblem::of(F, request->window, request->layout, in[0], out[0]);
  if (!problem) return problem.error();
  auto plan = plan_pool(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const PoolPlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.run(x[0], y[0], stream);
  });
}

template <Pool F> static std::vector<OptionInfo> options_of() {
  const OptionInfo layout{"layout", "nchw|nhwc", "of x and y", "nchw"};
  if (F == Pool::adaptive_avg) return {{"size", "n or h,w", "rows and columns of y", {}, true}, layout};
  std::vector<OptionInfo> options{{"r", "rows", "of the window", {}, true},
                                  {"s", "columns", "of the window; default r"},
                                  {"stride", "n or h,w", "", "1"},
                                  {"pad", "n, h,w or top,left,bottom,right", "on either side", "0"},
                                  layout,
                                  {"ceil_mode", "0|1", "rounds the numbers of windows up", "0"}};
  if (F == Pool::max) options.push_back({"dilation", "n or h,w", "", "1"});
  else options.push_back({"count_include_pad", "0|1", "whether padding counts, as zeros", "1"});
  return options;
}

template <Pool F> static OpInfo info(std::string_view summary) {
  return {.name = name(F),
          .family = "pool",
          .summary = summary,
          .inputs = {"x"},
          .outputs = {"y"},
          .dtypes = {f32, f16, bf16},
          .options = options_of<F>(),
          .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
          .infer = infer<F>,
          .plan = plan_by_name<F>};
}

static const RegisterOp registered[] = {
    RegisterOp(info<Pool::max>("the greatest of each window of a plane; NaN passes through")),
    RegisterOp(info<Pool::avg>("the mean of each window of a plane")),
    RegisterOp(info<Pool::adaptive_avg>("the mean of each window of a plane, of as many windows as asked for")),
};

}  // namespace ridge
