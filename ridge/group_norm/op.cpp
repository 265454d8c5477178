// group_norm by name.
#include <ridge/core/op.hpp>
#include <ridge/group_norm/families.hpp>
#include <ridge/group_norm/request.hpp>

namespace ridge {

using namespace group_norm_detail;

static const OpInfo& info();

// A request and the names of its views.
namespace {
struct Asked {
  Request request;
  Names inputs, outputs;
};
}  // namespace
static Result<Asked> asked(const Options& options, std::size_t given) {
  auto request = request_of(options);
  if (!request) return request.error();
  auto inputs = input_names(info(), options, given);
  if (!inputs) return inputs.error();
  auto outputs = output_names(info(), options);
  if (!outputs) return outputs.error();
  return Asked{*request, *inputs, *outputs};
}

static std::optional<TensorView> view_if(Views views, const Names& names, std::string_view name) {
  const TensorView* found = find_view(views, names, name);
  return found ? std::optional(*found) : std::nullopt;
}

static GroupNormTensors forward_of(const Asked& a, Views in, Views out) {
  return {.x = in[0], .y = out[0], .gamma = view_if(in, a.inputs, "gamma"), .beta = view_if(in, a.inputs, "beta")};
}
static GroupNormGradientTensors backward_of(const Asked& a, Views in, Views out) {
  return {.dy = in[0],
          .x = in[1],
          .gamma = view_if(in, a.inputs, "gamma"),
          .beta = view_if(in, a.inputs, "beta"),
          .dx = out[0],
          .dgamma = view_if(out, a.outputs, "dgamma"),
          .dbeta = view_if(out, a.outputs, "dbeta")};
}

// dgamma has gamma's type and dbeta beta's; if that is not given, the other one's, or f32.
static DType type_of_gradient(Views in, const Names& names, std::string_view of, std::string_view other) {
  for (std::string_view name : {of, other})
    if (const TensorView* found = find_view(in, names, name)) return found->dtype;
  return f32;
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto a = asked(options, in.size());
  if (!a) return a.error();
  const TensorView& x = in[a->request.backward ? 1 : 0];
  const Layout& shape = x.layout;
  if (shape.rank < 2) return Status::invalid("group_norm", "x.shape", shape.text(), "of 2 axes or more");
  const bool nhwc = a->request.options.layout == GroupNormLayout::nhwc;
  const std::int64_t channels = shape.shape[nhwc ? shape.rank - 1 : 1];
  std::vector<TensorType> types;
  for (std::string_view name : a->outputs) {
    if (name == "dgamma") types.push_back({type_of_gradient(in, a->inputs, "gamma", "beta"), {channels}});
    else if (name == "dbeta") types.push_back({type_of_gradient(in, a->inputs, "beta", "gamma"), {channels}});
    else types.push_back({x.dtype, {shape.shape.begin(), shape.shape.begin() + shape.rank}});
  }
  return types;
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto a = asked(options, in.size());
  if (!a) return a.error();
  const Request& r = a->request;
  auto problem = r.backward ? GroupNormProblem::of(backward_of(*a, in, out), r.options)
                            : GroupNormProblem::of(forward_of(*a, in, out), r.options);
  if (!problem) return problem.error();
  auto plan = plan_group_norm(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan),
                      [a = *a](const GroupNormPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
                        return a.request.backward ? p.run(backward_of(a, x, y), workspace, stream)
                                                  : p.run(forward_of(a, x, y), workspace, stream);
                      });
}

static OpInfo make_info() {
  return {.name = "group_norm",
          .family = "group_norm",
          .summary = "y = act((x - mean) / sqrt(var + eps) * gamma + beta), by groups of a sample's channels",
          .inputs = inputs_of(false),
          .outputs = outputs_of(false),
          .dtypes = {f32, f16, bf16},
          .options = {{"groups", "integer", "that x's channels are in", {}, true},
                      {"eps", "number", "added inside the root", "1e-5"},
                      {"activation", "none|relu|gelu|gelu_tanh|silu|sigmoid|relu6|hardswish|hardsigmoid", "", "none"},
                      {"layout", "nchw|nhwc", "where x has its channels", "nchw"},
                      {"backward", "0|1", "takes dy, x, [gamma], [beta] and gives dx, [dgamma], [dbeta]", "0"}},
          .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
          .infer = infer,
          .plan = plan_by_name,
          // Not of the other options: the registry asks what a gradient takes without them.
          .takes = [](const Options& options, std::size_t) -> Result<Names> {
            auto backward = options.flag("group_norm", "backward");
            return backward ? Result<Names>(inputs_of(*backward)) : backward.error();
          },
          .gives = [](const Options& options) -> Result<Names> {
            auto backward = options.flag("group_norm", "backward");
            return backward ? Result<Names>(outputs_of(*backward)) : backward.error();
          },
          .optional = {"gamma", "beta", "dgamma", "dbeta"}};
}

static const OpInfo& info() {
  static const OpInfo instance = make_info();
  return instance;
}

static const RegisterOp registered(info());

}  // namespace ridge
