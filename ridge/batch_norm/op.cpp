// batch_norm, batch_norm_stats and batch_norm_train by name.
#include <ridge/batch_norm/families.hpp>
#include <ridge/core/activation_option.hpp>
#include <ridge/core/op.hpp>

namespace ridge {

using namespace batch_norm_detail;

using Names = std::vector<std::string_view>;

struct Request {
  BatchNormOptions options = {};
  bool backward = false;
};

static Result<Request> request_of(BatchNorm function, const Options& options) {
  const std::string_view op = name(function), layout = options.text("layout", "nchw");
  if (layout != "nchw" && layout != "nhwc")
    return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "nchw or nhwc");
  auto eps = options.real32(op, "eps", 1e-5f);
  if (!eps) return eps.error();
  auto backward = options.flag(op, "backward");
  if (!backward) return backward.error();
  const auto activation = activation_option(op, options);
  if (!activation) return activation.error();
  return Request{{*eps, layout == "nhwc" ? BatchNormLayout::nhwc : BatchNormLayout::nchw, *activation}, *backward};
}

// All tensors that can be given and asked for; those in `optional` below may be left out.
static Names inputs_of(BatchNorm function, bool backward) {
  if (backward) return {"dy", "x", "mean", "var", "gamma", "beta", "residual"};
  if (function == BatchNorm::inference) return {"x", "mean", "var", "gamma", "beta", "residual"};
  return function == BatchNorm::stats ? Names{"x"} : Names{"x", "gamma", "beta", "residual"};
}
// dresidual is given where it is asked for by name: without an activation it is dy.
static Names outputs_of(BatchNorm function, bool backward, bool asked) {
  if (backward) return asked ? Names{"dx", "dgamma", "dbeta", "dresidual"} : Names{"dx", "dgamma", "dbeta"};
  if (function == BatchNorm::inference) return {"y"};
  return function == BatchNorm::stats ? Names{"mean", "var"} : Names{"y", "mean", "var"};
}

// A request and the names of its views.
namespace {
struct Named {
  Request request;
  Names inputs, outputs;
};
}  // namespace
template <BatchNorm F> static Result<Named> named(const Options& options, std::size_t given) {
  auto request = request_of(F, options);
  if (!request) return request.error();
  const auto op = find_op(name(F));
  if (!op) return op.error();
  auto inputs = input_names(**op, options, given);
  if (!inputs) return inputs.error();
  auto outputs = output_names(**op, options);
  if (!outputs) return outputs.error();
  return Named{*request, *inputs, *outputs};
}

static std::optional<TensorView> view_if(Views views, const Names& names, std::string_view name) {
  const TensorView* found = find_view(views, names, name);
  return found ? std::optional(*found) : std::nullopt;
}

// Precondition: as many tensors as the names and infer() give.
template <BatchNorm F> static BatchNormTensors tensors_of(const Named& n, Views in, Views out) {
  if constexpr (F == BatchNorm::stats) return {.x = in[0], .y = {}, .mean = out[0], .var = out[1]};
  constexpr bool inference = F == BatchNorm::inference;
  return {.x = in[0],
          .y = out[0],
          .mean = inference ? in[1] : out[1],
          .var = inference ? in[2] : out[2],
          .gamma = view_if(in, n.inputs, "gamma"),
          .beta = view_if(in, n.inputs, "beta"),
          .residual = view_if(in, n.inputs, "residual")};
}
static BatchNormGradientTensors gradient_of(const Named& n, Views in, Views out) {
  return {.dy = in[0],
          .x = in[1],
          .mean = in[2],
          .var = in[3],
          .gamma = view_if(in, n.inputs, "gamma"),
          .beta = view_if(in, n.inputs, "beta"),
          .residual = view_if(in, n.inputs, "residual"),
          .dx = out[0],
          .dgamma = view_if(out, n.outputs, "dgamma"),
          .dbeta = view_if(out, n.outputs, "dbeta"),
          .dresidual = view_if(out, n.outputs, "dresidual")};
}

template <BatchNorm F> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto names = named<F>(options, in.size());
  if (!names) return names.error();
  const Request& r = names->request;
  const Layout& x = in[r.backward ? 1 : 0].layout;
  if (x.rank < 2) return Status::invalid(name(F), "x.shape", x.text(), "of 2 axes or more");
  const std::int64_t channels = x.shape[r.options.layout == BatchNormLayout::nchw ? 1 : x.rank - 1];
  std::vector<TensorType> types;
  for (const std::string_view output : names->outputs) {
    if (output == "y" || output == "dx" || output == "dresidual")
      types.push_back({in[0].dtype, {x.shape.begin(), x.shape.begin() + x.rank}});
    else types.push_back({f32, {channels}});
  }
  return types;
}

template <BatchNorm F>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto names = named<F>(options, in.size());
  if (!names) return names.error();
  const Request& r = names->request;
  auto problem = r.backward ? BatchNormProblem::of_gradient(F, gradient_of(*names, in, out), r.options)
                            : BatchNormProblem::of(F, tensors_of<F>(*names, in, out), r.options);
  if (!problem) return problem.error();
  auto plan = plan_batch_norm(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [n = std::move(*names)](const BatchNormPlan& p, Views x, Views y,
                                                                Workspace workspace, Stream stream) {
    return n.request.backward ? p.run_gradient(gradient_of(n, x, y), workspace, stream)
                              : p.run(tensors_of<F>(n, x, y), workspace, stream);
  });
}

template <BatchNorm F> static OpInfo info(std::string_view summary) {
  std::vector<OptionInfo> options{{"layout", "nchw|nhwc", "where x has its channels", "nchw"}};
  if (F != BatchNorm::stats) {
    options.push_back({"eps", "number", "added inside the root", "1e-5"});
    options.push_back({"activation", "none|relu|gelu|gelu_tanh|silu|sigmoid|relu6|hardswish|hardsigmoid",
                       "applied to the norm and the residual", "none"});
    options.push_back({"backward", "0|1",
                       "takes dy, x, mean, var, [gamma] and with an activation [beta], [residual]; gives dx, [dgamma], "
                       "[dbeta], and dresidual if outputs= has it",
                       "0"});
  }
  const auto item = [](const auto& row) { return family_of(row).lesson(row); };
  OpInfo of{
      .name = name(F),
      .family = "batch_norm",
      .summary = summary,
      .inputs = inputs_of(F, false),
      .outputs = outputs_of(F, false, false),
      .dtypes = {f32, f16, bf16},
      .options = std::move(options),
      .variants = F == BatchNorm::inference ? variant_infos(apply_variants, item) : variant_infos(stats_variants, item),
      .infer = infer<F>,
      .plan = plan_by_name<F>};
  if (F == BatchNorm::stats) return of;
  of.takes = [](const Options& asked, std::size_t) -> Result<Names> {
    auto request = request_of(F, asked);
    return request ? Result<Names>(inputs_of(F, request->backward)) : request.error();
  };
  of.gives = [](const Options& asked) -> Result<Names> {
    auto request = request_of(F, asked);
    return request ? Result<Names>(outputs_of(F, request->backward, asked.has("outputs"))) : request.error();
  };
  of.optional = {"gamma", "beta", "residual", "dgamma", "dbeta", "dresidual"};
  return of;
}

static const RegisterOp registered[] = {
    RegisterOp(
        info<BatchNorm::inference>("y = act((x - mean) / sqrt(var + eps) * gamma + beta + residual), per channel")),
    RegisterOp(info<BatchNorm::stats>("mean and biased variance of each channel")),
    RegisterOp(info<BatchNorm::train>("the same y by x's own mean and var, which come along")),
};

}  // namespace ridge
