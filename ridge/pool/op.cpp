// max_pool2d, avg_pool2d and adaptive_avg_pool2d by name.
#include <ridge/core/op.hpp>
#include <ridge/pool/families.hpp>
#include <ridge/pool/request.hpp>

namespace ridge {

using namespace pool_detail;

using Names = std::vector<std::string_view>;

// The rows and columns that a request names are those of x.
static Status check_size_of_x(std::string_view op, const Request& r, const Layout& x) {
  const int rows = r.layout == PoolLayout::nchw ? 2 : 1;
  if (r.h && *r.h != x.shape[rows])
    return Status::invalid(op, "h", std::to_string(*r.h), "that of x, " + std::to_string(x.shape[rows]));
  if (r.w && *r.w != x.shape[rows + 1])
    return Status::invalid(op, "w", std::to_string(*r.w), "that of x, " + std::to_string(x.shape[rows + 1]));
  return {};
}

// The shape of dx. The mean's gradient has no x to read it from, but for images and channels.
static Result<std::vector<std::int64_t>> gradient_shape(Pool function, const Request& r, Views in) {
  if (function == Pool::max) return std::vector(in[1].layout.shape.begin(), in[1].layout.shape.begin() + in[1].rank());
  const Layout& dy = in[0].layout;
  const bool nchw = r.layout == PoolLayout::nchw;
  for (const auto* size : {&r.h, &r.w})
    if (!*size)
      return Status::invalid(name(function), size == &r.h ? "h" : "w", "missing",
                             "given: a gradient's dy does not tell the size of x");
  if (dy.rank != 4)
    return Status::invalid(name(function), "dy.shape", dy.text(), nchw ? "of 4 axes, n c h w" : "of 4 axes, n h w c");
  if (nchw) return std::vector{dy.shape[0], dy.shape[1], *r.h, *r.w};
  return std::vector{dy.shape[0], *r.h, *r.w, dy.shape[3]};
}

template <Pool F> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(F, options);
  if (!request) return request.error();
  auto shape = request->backward ? gradient_shape(F, *request, in)
                                 : pool_shape(F, request->window, request->layout, in[0].layout);
  if (!shape) return shape.error();
  if (!request->backward) RIDGE_TRY(check_size_of_x(name(F), *request, in[0].layout));
  return std::vector<TensorType>{{in[0].dtype, *shape}};
}

template <Pool F> static PoolGradientTensors gradient_of(Views in, Views out) {
  if constexpr (F == Pool::max) return {.dy = in[0], .x = in[1], .y = in[2], .dx = out[0]};
  return {.dy = in[0], .dx = out[0]};
}

template <Pool F>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(F, options);
  if (!request) return request.error();
  const auto& [window, layout, backward, h, w] = *request;
  auto problem = backward ? PoolProblem::of_gradient(F, window, layout, gradient_of<F>(in, out))
                          : PoolProblem::of(F, window, layout, in[0], out[0]);
  if (!problem) return problem.error();
  auto plan = plan_pool(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const PoolPlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.problem.backward ? p.run_gradient(gradient_of<F>(x, y), stream) : p.run(x[0], y[0], stream);
  });
}

// The gradient's request: the maximum's reads x and y as well.
template <Pool F> static Result<Names> takes(const Options& options, std::size_t) {
  auto backward = options.flag(name(F), "backward");
  if (!backward) return backward.error();
  if (!*backward) return Names{"x"};
  return F == Pool::max ? Names{"dy", "x", "y"} : Names{"dy"};
}
template <Pool F> static Result<Names> gives(const Options& options) {
  auto backward = options.flag(name(F), "backward");
  if (!backward) return backward.error();
  return Names{*backward ? "dx" : "y"};
}

template <Pool F> static std::vector<OptionInfo> options_of() {
  const OptionInfo layout{"layout", "nchw|nhwc", "of x and y", "nchw"};
  const OptionInfo backward{"backward", "0|1",
                            F == Pool::max ? "takes dy, x and y, and gives dx" : "takes dy and gives dx", "0"};
  const OptionInfo h{"h", "rows", "of x, which a gradient must be told"};
  const OptionInfo w{"w", "columns", "of x, which a gradient must be told"};
  if (F == Pool::adaptive_avg) return {{"size", "n or h,w", "rows and columns of y", {}, true}, layout, h, w, backward};
  std::vector<OptionInfo> options{{"r", "rows", "of the window", {}, true},
                                  {"s", "columns", "of the window; default r"},
                                  {"stride", "n or h,w", "", "1"},
                                  {"pad", "n, h,w or top,left,bottom,right", "on either side", "0"},
                                  layout,
                                  {"ceil_mode", "0|1", "rounds the numbers of windows up", "0"}};
  if (F == Pool::max) options.push_back({"dilation", "n or h,w", "", "1"});
  else options.insert(options.end(), {{"count_include_pad", "0|1", "whether padding counts, as zeros", "1"}, h, w});
  options.push_back(backward);
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
          .plan = plan_by_name<F>,
          .takes = takes<F>,
          .gives = gives<F>};
}

static const RegisterOp registered[] = {
    RegisterOp(info<Pool::max>("the greatest of each window of a plane; NaN passes through")),
    RegisterOp(info<Pool::avg>("the mean of each window of a plane")),
    RegisterOp(info<Pool::adaptive_avg>("the mean of each window of a plane, of as many windows as asked for")),
};

}  // namespace ridge
