// The elementwise operators by name.
#include <ridge/core/op.hpp>
#include <ridge/elementwise/launch.hpp>
#include <ridge/elementwise/variants.hpp>

namespace ridge {

using namespace elementwise_detail;

// The checklist item of a table row.
static std::string_view checklist_item(const Variant& row) {
  const Config& c = row.config;
  if (c.walk == Walk::broadcast) return "tiling";  // the shared row stays in cache
  if (c.walk == Walk::strided || c.access_bytes == 0) return {};
  return c.vectors > 1 ? "coarsening" : "coalescing";
}

template <Elementwise F>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  constexpr bool binary = arity(F) == 2;
  const TensorView b = broadcast_to(in[binary ? 1 : 0], in[0].layout);
  auto problem = ElementwiseProblem::of(F, in[0], binary ? &b : nullptr, out[0]);
  if (!problem) return problem.error();
  auto plan = plan_elementwise(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const ElementwisePlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.run(x[0], broadcast_to(x[binary ? 1 : 0], x[0].layout), y[0], stream);
  });
}

template <Elementwise F> static OpInfo info(std::string_view summary, std::vector<DType> dtypes) {
  return {.name = name(F),
          .family = "elementwise",
          .summary = summary,
          .inputs = arity(F) == 2 ? std::vector<std::string_view>{"a", "b"} : std::vector<std::string_view>{"a"},
          .outputs = {"y"},
          .dtypes = std::move(dtypes),
          .options = {},
          .variants = variant_infos(variants, checklist_item),
          .infer = [](Views in, const Options&) -> Result<std::vector<TensorType>> {
            const Layout& shape = in[0].layout;
            return std::vector<TensorType>{{in[0].dtype, {shape.shape.begin(), shape.shape.begin() + shape.rank}}};
          },
          .plan = plan_by_name<F>};
}

static const std::vector<DType> floats{f32, f16, bf16, f64}, arithmetic{f32, f16, bf16, f64, i32},
    all{f32, f16, bf16, f64, i64, i32, i8, u8, boolean, f8e4m3, f8e5m2};

static const RegisterOp registered[] = {
    RegisterOp(info<Elementwise::add>("y = a + b; b may be a bias, a row for all rows of a", arithmetic)),
    RegisterOp(info<Elementwise::mul>("y = a * b; b may be a row for all rows of a", arithmetic)),
    RegisterOp(info<Elementwise::relu>("y = max(a, 0), NaN stays NaN", arithmetic)),
    RegisterOp(info<Elementwise::sigmoid>("y = 1 / (1 + exp(-a))", floats)),
    RegisterOp(info<Elementwise::tanh>("y = tanh(a)", floats)),
    RegisterOp(info<Elementwise::gelu>("y = a * Phi(a), by erf", floats)),
    RegisterOp(info<Elementwise::gelu_tanh>("y = a * Phi(a), by the tanh approximation", floats)),
    RegisterOp(info<Elementwise::silu>("y = a / (1 + exp(-a))", floats)),
    RegisterOp(info<Elementwise::exp>("y = exp(a)", floats)),
    RegisterOp(info<Elementwise::copy>("y = a", all)),
};

}  // namespace ridge
