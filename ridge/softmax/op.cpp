// softmax and log_softmax by name.
#include <ridge/core/axes.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/softmax/families.hpp>

namespace ridge {

using namespace softmax_detail;

using Names = std::vector<std::string_view>;
static constexpr std::string_view name_of(bool log) { return log ? "log_softmax" : "softmax"; }

// The axis that is summed over, counted from the first; of a scalar, which is refused later, none.
static Result<int> axis_option(bool log, const TensorView& x, const Options& options) {
  const auto axis = options.integer(name_of(log), "axis", -1);
  if (!axis) return axis.error();
  return x.rank() == 0 ? Result<int>(0) : axis_of(name_of(log), *axis, x.rank());
}

template <bool Log>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  const bool backward = in.size() == 2;
  const auto axis = axis_option(Log, in[0], options);
  if (!axis) return axis.error();
  for (std::size_t i = 1; i < in.size(); ++i) RIDGE_TRY(check_like(name_of(Log), "y", in[i], "dy", in[0]));
  RIDGE_TRY(check_like(name_of(Log), backward ? "dx" : "y", out[0], backward ? "dy" : "x", in[0]));
  const auto accumulate = accumulate_option(name_of(Log), options);
  if (!accumulate) return accumulate.error();
  const auto seen = [axis = *axis](const TensorView& v) { return v.rank() > axis ? axis_last(v, axis) : v; };
  auto problem = backward ? SoftmaxProblem::of_gradient(Log, seen(in[0]), seen(in[1]), seen(out[0]))
                          : SoftmaxProblem::of(Log, seen(in[0]), seen(out[0]));
  if (!problem) return problem.error();
  problem->accumulate = *accumulate;
  auto plan = plan_softmax(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [seen](const SoftmaxPlan& p, Views x, Views y, Workspace room, Stream stream) {
    return p.problem.backward ? p.run_gradient(seen(x[0]), seen(x[1]), seen(y[0]), room, stream)
                              : p.run(seen(x[0]), seen(y[0]), room, stream);
  });
}

template <bool Log> static OpInfo info(std::string_view summary) {
  return {.name = name_of(Log),
          .family = "softmax",
          .summary = summary,
          .inputs = {"x"},
          .outputs = {"y"},
          .dtypes = {f32, f16, bf16, f64},
          .options = {{"axis", "integer", "along that axis", "-1"},
                      {"backward", "0|1", "takes dy and y, and gives dx", "0"},
                      {"accumulate", "plain|two_float", "two_float: f32 with nearly the accuracy of f64", "plain"}},
          .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
          .infer = [](Views in, const Options& options) -> Result<std::vector<TensorType>> {
            if (const auto axis = axis_option(Log, in[0], options); !axis) return axis.error();
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
    RegisterOp(info<false>("y = exp(x - max) / sum, over one axis")),
    RegisterOp(info<true>("y = x - max - log(sum), over one axis")),
};

}  // namespace ridge
