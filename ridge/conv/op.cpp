// conv1d, conv2d, conv3d and the transposed ones by name.
#include <ridge/conv/conv_transpose.hpp>
#include <ridge/conv/families.hpp>
#include <ridge/conv/problem_checks.hpp>
#include <ridge/conv/request.hpp>
#include <ridge/core/op.hpp>

namespace ridge {

using namespace conv_detail;

namespace {

using Names = std::vector<std::string_view>;

// Of an operator of so many axes of an image.
template <int Axes, bool Transposed> const OpInfo& info();

std::optional<TensorView> view_of(Views views, const Names& names, std::string_view name) {
  const TensorView* found = find_view(views, names, name);
  return found ? std::optional(*found) : std::nullopt;
}

// Preconditions: as many views as the request has.
ConvTensors tensors_of(const Request& r, Views in, const TensorView& y) {
  const Names names = r.inputs();
  return {
      .x = in[0], .w = in[1], .y = y, .bias = view_of(in, names, "bias"), .residual = view_of(in, names, "residual")};
}
ConvGradientTensors gradient_of(Views in, Views out, const Names& outputs) {
  return {.dy = in[0], .x = in[1], .w = in[2], .dx = view_of(out, outputs, "dx"), .dw = view_of(out, outputs, "dw")};
}

std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.layout.shape.begin(), view.layout.shape.begin() + view.rank()};
}

// An operator takes its own number of axes; the shapes' functions take either.
Status check_rank(const Request& r, const TensorView& x, const char* name) {
  if (x.rank() == r.axes + 2) return {};
  return Status::invalid(r.op, std::string(name) + ".shape", x.layout.text(),
                         "of " + std::to_string(r.axes + 2) + " axes");
}

template <int Axes, bool Transposed> Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(info<Axes, Transposed>().name, options);
  if (!request) return request.error();
  const Request& r = *request;
  RIDGE_TRY(check_rank(r, in[r.backward ? 1 : 0], "x"));
  if (!r.backward) {
    auto shape = r.transposed ? conv_transpose2d_shape(r.geometry, r.output_pad, in[0].layout, in[1].layout)
                              : conv2d_shape(r.geometry, in[0].layout, in[1].layout);
    if (!shape) return shape.error();
    return std::vector<TensorType>{{in[0].dtype, *shape}};
  }
  auto names = output_names(info<Axes, Transposed>(), options);
  if (!names) return names.error();
  std::vector<TensorType> types;
  for (const std::string_view name : *names) {
    const TensorView& like = in[name == "dx" ? 1 : 2];
    types.push_back({like.dtype, shape_of(like)});
  }
  return types;
}

template <int Axes, bool Transposed>
Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options, const DeviceInfo& device) {
  auto request = request_of(info<Axes, Transposed>().name, options);
  if (!request) return request.error();
  auto names = output_names(info<Axes, Transposed>(), options);
  if (!names) return names.error();
  const Request& r = *request;
  auto problem = r.backward     ? ConvProblem::of_gradient(gradient_of(in, out, *names), r.geometry)
                 : r.transposed ? ConvProblem::of_transposed(tensors_of(r, in, out[0]), r.geometry, r.epilogue)
                                : ConvProblem::of(tensors_of(r, in, out[0]), r.geometry, r.epilogue, r.math);
  if (!problem) return problem.error();
  auto plan = plan_conv2d(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [request = r, outputs = *names](const ConvPlan& p, Views x, Views y,
                                                                        Workspace workspace, Stream stream) {
    return request.backward ? p.run_gradient(gradient_of(x, y, outputs), workspace, stream)
                            : p.run(tensors_of(request, x, y[0]), workspace, stream);
  });
}

std::vector<OptionInfo> options_of(int axes, bool transposed) {
  static constexpr const char* sides[] = {"n", "n or h,w", "n or d,h,w"};
  static constexpr const char* pads[] = {"n or left,right", "n, h,w or top,left,bottom,right",
                                         "n, d,h,w or front,top,left,back,bottom,right"};
  static constexpr const char* layouts[] = {"ncw|nwc", "nchw|nhwc", "ncdhw|ndhwc"};
  static constexpr const char* filters[] = {"of x and y, and of w as kcs or ksc",
                                            "of x and y, and of w as kcrs or krsc",
                                            "of x and y, and of w as kctrs or ktrsc"};
  static constexpr const char* transposed_filters[] = {"of x and y, and of w as cks or csk",
                                                       "of x and y, and of w as ckrs or crsk"};
  static constexpr const char* first_layout[] = {"ncw", "nchw", "ncdhw"};
  const int at = axes - 1;
  std::vector<OptionInfo> options{
      {"stride", sides[at], "", "1"},
      {"pad", pads[at], "", "0"},
      {"dilation", sides[at], "", "1"},
      {"groups", "n", transposed ? "of channels of x" : "of channels and of filters", "1"},
      {"layout", layouts[at], transposed ? transposed_filters[at] : filters[at], first_layout[at]},
      {"epilogue", "bias+relu ...",
       "bias, an activation, residual, joined by + in the order in which they are applied"}};
  if (transposed) {
    options.push_back({"output_pad", sides[at], "what y is larger, below the stride", "0"});
    return options;
  }
  options.push_back(
      {"math", "exact|tf32", "tf32: products of f32 on tensor cores, with 10 bits of fractions", "exact"});
  options.push_back({"backward", "0|1", "takes dy, x and w, and gives dx and dw", "0"});
  return options;
}

// The rows that may take an operator's problems: a transposed one is the gradient of x, and few rows take volumes.
std::vector<VariantInfo> rows_of(int axes, bool transposed) {
  std::vector<VariantInfo> rows;
  for (const Variant& row : variants)
    if ((!transposed || has_gradients(row.config)) && (axes < 3 || takes_volumes(row.config)))
      rows.push_back({row.name, row.step, family_of(row).lesson(row)});
  return rows;
}

template <int Axes, bool Transposed> OpInfo describe() {
  OpInfo of{.name = name_of(Axes, Transposed),
            .family = "conv",
            .summary = Transposed ? "y = act(the transposed convolution of x with filters w + bias) + residual"
                                  : "y = act(the cross-correlation of x with filters w + bias) + residual",
            .inputs = {"x", "w", "bias", "residual"},
            .outputs = {"y"},
            .dtypes = {f32, f16, bf16},
            .options = options_of(Axes, Transposed),
            .variants = rows_of(Axes, Transposed),
            .infer = infer<Axes, Transposed>,
            .plan = plan_by_name<Axes, Transposed>,
            .takes = [](const Options& options, std::size_t) -> Result<Names> {
              auto request = request_of(info<Axes, Transposed>().name, options);
              if (!request) return request.error();
              return request->inputs();
            },
            .gives = [](const Options& options) -> Result<Names> {
              auto request = request_of(info<Axes, Transposed>().name, options);
              if (!request) return request.error();
              return request->backward ? Names{"dx", "dw"} : Names{"y"};
            }};
  if (!Transposed) of.optional = {"dx", "dw"};
  return of;
}

template <int Axes, bool Transposed> const OpInfo& info() {
  static const OpInfo of = describe<Axes, Transposed>();
  return of;
}

const RegisterOp conv2d_by_name(info<2, false>()), conv1d_by_name(info<1, false>()), conv3d_by_name(info<3, false>()),
    conv_transpose2d_by_name(info<2, true>()), conv_transpose1d_by_name(info<1, true>());

}  // namespace
}  // namespace ridge
