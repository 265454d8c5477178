// dwconv by name.
#include <ridge/core/op.hpp>
#include <ridge/dwconv/dwconv.hpp>
#include <ridge/dwconv/families.hpp>

namespace ridge {

using namespace dwconv_detail;

static constexpr std::string_view op = "dwconv";

static std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.layout.shape.begin(), view.layout.shape.begin() + view.rank()};
}

static Result<std::vector<TensorType>> infer(Views in, const Options&) {
  if (in.size() == 2) return std::vector<TensorType>{{in[0].dtype, shape_of(in[0])}};
  return std::vector<TensorType>{{in[1].dtype, shape_of(in[1])}, {in[2].dtype, shape_of(in[2])}};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto eps = options.real32(op, "eps", 0);
  if (!eps) return eps.error();
  auto problem = in.size() == 2 ? DwconvProblem::of(in[0], in[1], out[0], *eps)
                                : DwconvProblem::of_gradient(in[0], in[1], in[2], out[0], out[1]);
  if (!problem) return problem.error();
  auto plan = plan_dwconv(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const DwconvPlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.problem.backward ? p.run_gradient(x[0], x[1], x[2], y[0], y[1], stream) : p.run(x[0], x[1], y[0], stream);
  });
}

using Names = std::vector<std::string_view>;

static const RegisterOp registered(
    {.name = op,
     .family = "dwconv",
     .summary = "y[b,c,t] = eps + sum over u <= t of w[c,L-1-(t-u)] k[b,c,u]: a long causal filter per channel",
     .inputs = {"k", "w"},
     .outputs = {"y"},
     .dtypes = {f32, f16, bf16},
     .options = {{"eps", "number", "added to every output", "0"},
                 {"backward", "0|1", "takes dy, k and w, and gives dk and dw", "0"}},
     .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
     .infer = infer,
     .plan = plan_by_name,
     .takes = [](const Options& options, std::size_t) -> Result<Names> {
       auto backward = options.flag(op, "backward");
       if (!backward) return backward.error();
       return *backward ? Names{"dy", "k", "w"} : Names{"k", "w"};
     },
     .gives = [](const Options& options) -> Result<Names> {
       auto backward = options.flag(op, "backward");
       if (!backward) return backward.error();
       return *backward ? Names{"dk", "dw"} : Names{"y"};
     }});

}  // namespace ridge
