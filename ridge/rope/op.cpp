// rope by name.
#include <ridge/core/op.hpp>
#include <ridge/rope/rotation.hpp>
#include <ridge/rope/variants.hpp>

namespace ridge {

using namespace rope_detail;

// One more input is positions, two are the tables, three are all of them, in this order.
static Result<std::vector<std::string_view>> takes(const Options&, std::size_t given) {
  if (given == 1) return std::vector<std::string_view>{"x"};
  if (given == 2) return std::vector<std::string_view>{"x", "positions"};
  if (given == 3) return std::vector<std::string_view>{"x", "cos", "sin"};
  return std::vector<std::string_view>{"x", "positions", "cos", "sin"};
}

static RopeTensors tensors_of(Views in, Views out) {
  RopeTensors t{.x = in[0], .y = out[0]};
  if (in.size() % 2 == 0) t.positions = in[1];
  if (in.size() > 2) {
    t.cos = in[in.size() - 2];
    t.sin = in[in.size() - 1];
  }
  return t;
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto given = rope_options("rope", options);
  if (!given) return given.error();
  const Layout& shape = in[0].layout;
  return std::vector<TensorType>{{in[0].dtype, {shape.shape.begin(), shape.shape.begin() + shape.rank}}};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto given = rope_options("rope", options);
  if (!given) return given.error();
  auto problem = RopeProblem::of(tensors_of(in, out), *given);
  if (!problem) return problem.error();
  auto checked = options.flag_if_given("rope", "checked");
  if (!checked) return checked.error();
  auto plan = plan_rope(*problem, device, {.variant = std::string(options.text("variant")), .checked = *checked});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const RopePlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.run(tensors_of(x, y), stream);
  });
}

static const RegisterOp registered(
    {.name = "rope",
     .family = "rope",
     .summary = "rotary embedding: pairs of a head's elements rotated by the position",
     .inputs = {"x", "positions", "cos", "sin"},
     .outputs = {"y"},
     .dtypes = {f32, f16, bf16},
     .options = {{"style", "neox|gptj", "pairs are halves or neighbours", "neox"},
                 {"rotary_dim", "even number", "elements rotated; default all"},
                 {"base", "number", "of the angles: finite, and 1 or more", "10000"},
                 {"checked", "0|1", "positions outside of the tables are refused, for which a GPU is waited for", "0"}},
     .variants = variant_infos(variants, checklist_item),
     .infer = infer,
     .plan = plan_by_name,
     .takes = takes});

}  // namespace ridge
