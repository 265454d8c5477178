// batch_norm, batch_norm_stats and batch_norm_train by name.
#include <ridge/batch_norm/families.hpp>
#include <ridge/core/op.hpp>

namespace ridge {

using namespace batch_norm_detail;

struct Request {
  BatchNormLayout layout = BatchNormLayout::nchw;
  float eps = 1e-5f;
};

static Result<Request> request_of(BatchNorm function, const Options& options) {
  const std::string_view op = name(function), layout = options.text("layout", "nchw");
  if (layout != "nchw" && layout != "nhwc")
    return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "nchw or nhwc");
  auto eps = options.real32(op, "eps", 1e-5f);
  if (!eps) return eps.error();
  return Request{layout == "nhwc" ? BatchNormLayout::nhwc : BatchNormLayout::nchw, *eps};
}

using Names = std::vector<std::string_view>;

// Precondition: as many tensors as the names and infer() give.
template <BatchNorm F> static BatchNormTensors tensors_of(const Names& inputs, Views in, Views out) {
  if constexpr (F == BatchNorm::stats) return {.x = in[0], .y = {}, .mean = out[0], .var = out[1]};
  constexpr bool inference = F == BatchNorm::inference;
  BatchNormTensors t{.x = in[0], .y = out[0], .mean = inference ? in[1] : out[1], .var = inference ? in[2] : out[2]};
  if (const TensorView* gamma = find_view(in, inputs, "gamma")) t.gamma = *gamma;
  if (const TensorView* beta = find_view(in, inputs, "beta")) t.beta = *beta;
  return t;
}

template <BatchNorm F> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(F, options);
  if (!request) return request.error();
  const Layout& x = in[0].layout;
  if (x.rank < 2) return Status::invalid(name(F), "x.shape", x.text(), "of 2 axes or more");
  const std::int64_t channels = x.shape[request->layout == BatchNormLayout::nchw ? 1 : x.rank - 1];
  const TensorType y{in[0].dtype, {x.shape.begin(), x.shape.begin() + x.rank}}, statistic{f32, {channels}};
  if (F == BatchNorm::inference) return std::vector<TensorType>{y};
  if (F == BatchNorm::stats) return std::vector<TensorType>{statistic, statistic};
  return std::vector<TensorType>{y, statistic, statistic};
}

template <BatchNorm F>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(F, options);
  if (!request) return request.error();
  const auto op = find_op(name(F));
  if (!op) return op.error();
  auto inputs = input_names(**op, options, in.size());
  if (!inputs) return inputs.error();
  auto problem = BatchNormProblem::of(F, request->layout, tensors_of<F>(*inputs, in, out), request->eps);
  if (!problem) return problem.error();
  auto plan = plan_batch_norm(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [names = std::move(*inputs)](const BatchNormPlan& p, Views x, Views y,
                                                                     Workspace workspace, Stream stream) {
    return p.run(tensors_of<F>(names, x, y), workspace, stream);
  });
}

template <BatchNorm F>
static OpInfo info(std::string_view summary, std::vector<std::string_view> inputs,
                   std::vector<std::string_view> outputs) {
  std::vector<OptionInfo> options{{"layout", "nchw|nhwc", "where x has its channels", "nchw"}};
  if (F != BatchNorm::stats) options.push_back({"eps", "number", "added inside the root", "1e-5"});
  const auto item = [](const auto& row) { return family_of(row).lesson(row); };
  return {
      .name = name(F),
      .family = "batch_norm",
      .summary = summary,
      .inputs = std::move(inputs),
      .outputs = std::move(outputs),
      .dtypes = {f32, f16, bf16},
      .options = std::move(options),
      .variants = F == BatchNorm::inference ? variant_infos(apply_variants, item) : variant_infos(stats_variants, item),
      .infer = infer<F>,
      .plan = plan_by_name<F>,
      .optional = {"gamma", "beta"}};
}

static const RegisterOp registered[] = {
    RegisterOp(info<BatchNorm::inference>("y = (x - mean) / sqrt(var + eps) * gamma + beta, per channel",
                                          {"x", "mean", "var", "gamma", "beta"}, {"y"})),
    RegisterOp(info<BatchNorm::stats>("mean and biased variance of each channel", {"x"}, {"mean", "var"})),
    RegisterOp(info<BatchNorm::train>("the same y by x's own mean and var, which come along", {"x", "gamma", "beta"},
                                      {"y", "mean", "var"})),
};

}  // namespace ridge
