// softmax and log_softmax by name.
#include <ridge/core/op.hpp>
#include <ridge/softmax/families.hpp>

namespace ridge {

using namespace softmax_detail;

template <bool Log>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  const bool backward = in.size() == 2;
  auto problem =
      backward ? SoftmaxProblem::of_gradient(Log, in[0], in[1], out[0]) : SoftmaxProblem::of(Log, in[0], out[0]);
  if (!problem) return problem.error();
  auto plan = plan_softmax(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const SoftmaxPlan& p, Views x, Views y, Workspace room, Stream stream) {
    return p.problem.backward ? p.run_gradient(x[0], x[1], y[0], room, stream) : p.run(x[0], y[0], room, stream);
  });
}

using Names = std::vector<std::string_view>;
static constexpr std::string_view name_of(bool log) { return log ? "log_softmax" : "softmax"; }

template <bool Log> static OpInfo info(std::string_view summary) {
  return {.name = name_of(Log),
          .family = "softmax",
          .summary = summary,
          .inputs = {"x"},
          .outputs = {"y"},
          .dtypes = {f32, f16, bf16, f64},
          .options = {{"backward", "0|1", "takes dy and y, and gives dx", "0"}},
          .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
          .infer = [](Views in, const Options&) -> Result<std::vector<TensorType>> {
            const Layout& shape = in[0].layout;
            return std::vector<TensorType>{{in[0].dtype, {shape.shape.begin(), shape.shape.begin() + shape.rank}}};
          },
          .plan = plan_by_name<Log>,
          .takes = [](const Options& options, std::size_t) -> Result<Names> {
            auto backward = options.flag(name_of(Log), "backward");
            if (!backward) return backward.error();
            return *backward ? Names{"dy", "y"} : Names{"x"};
          },
          .gives = [](const Options& options) -> Result<Names> {
            auto backward = options.flag(name_of(Log), "backward");
            if (!backward) return backward.error();
            return Names{*backward ? "dx" : "y"};
          }};
}

static const RegisterOp registered[] = {
    RegisterOp(info<false>("y = exp(x - max) / sum, over the last axis")),
    RegisterOp(info<true>("y = x - max - log(sum), over the last axis")),
};

}  // namespace ridge
