// conv2d by name.
#include <ridge/conv/families.hpp>
#include <ridge/conv/request.hpp>
#include <ridge/core/op.hpp>

namespace ridge {

using namespace conv_detail;

static constexpr std::string_view op = "conv2d";

// Preconditions: as many views as the request has.
static ConvTensors tensors_of(const Request& r, Views in, const TensorView& y) {
  ConvTensors t{.x = in[0], .w = in[1], .y = y};
  std::size_t next = 2;
  if (r.bias) t.bias = in[next++];
  if (r.residual) t.residual = in[next++];
  return t;
}
static ConvGradientTensors gradient_of(Views in, Views out) {
  return {.dy = in[0], .x = in[1], .w = in[2], .dx = out[0], .dw = out[1]};
}

static std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.layout.shape.begin(), view.layout.shape.begin() + view.rank()};
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  if (request->backward) return std::vector<TensorType>{{in[1].dtype, shape_of(in[1])}, {in[2].dtype, shape_of(in[2])}};
  auto shape = conv2d_shape(request->geometry, in[0].layout, in[1].layout);
  if (!shape) return shape.error();
  return std::vector<TensorType>{{in[0].dtype, *shape}};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(options);
  if (!request) return request.error();
  auto problem = request->backward ? ConvProblem::of_gradient(gradient_of(in, out), request->geometry)
                                   : ConvProblem::of(tensors_of(*request, in, out[0]), request->geometry,
                                                     request->epilogue, request->math);
  if (!problem) return problem.error();
  auto plan = plan_conv2d(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan),
                      [r = *request](const ConvPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
                        return r.backward ? p.run_gradient(gradient_of(x, y), workspace, stream)
                                          : p.run(tensors_of(r, x, y[0]), workspace, stream);
                      });
}

using Names = std::vector<std::string_view>;

static const RegisterOp registered(
    {.name = op,
     .family = "conv",
     .summary = "y = act(the cross-correlation of x with filters w + bias) + residual",
     .inputs = {"x", "w", "bias", "residual"},
     .outputs = {"y"},
     .dtypes = {f32, f16, bf16},
     .options = {{"stride", "n or h,w", "", "1"},
                 {"pad", "n, h,w or top,left,bottom,right", "", "0"},
                 {"dilation", "n or h,w", "", "1"},
                 {"groups", "n", "of channels and of filters", "1"},
                 {"layout", "nchw|nhwc", "of x and y, and of w as kcrs or krsc", "nchw"},
                 {"epilogue", "bias+relu ...",
                  "bias, an activation, residual, joined by + in the order in which they are applied"},
                 {"math", "exact|tf32", "tf32: products of f32 on tensor cores, with 10 bits of fractions", "exact"},
                 {"backward", "0|1", "takes dy, x and w, and gives dx and dw", "0"}},
     .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
     .infer = infer,
     .plan = plan_by_name,
     .takes = [](const Options& options, std::size_t) -> Result<Names> {
       auto request = request_of(options);
       if (!request) return request.error();
       return request->inputs();
     },
     .gives = [](const Options& options) -> Result<Names> {
       auto request = request_of(options);
       if (!request) return request.error();
       return request->backward ? Names{"dx", "dw"} : Names{"y"};
     }});

}  // namespace ridge
