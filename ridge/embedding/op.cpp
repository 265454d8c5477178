// embedding by name.
#include <ridge/core/op.hpp>
#include <ridge/embedding/launch.hpp>
#include <ridge/embedding/variants.hpp>

namespace ridge {

using namespace embedding_detail;

// The checklist item of a table row.
static std::string_view checklist_item(const Variant& row) {
  if (row.config.method == Method::element) return {};
  return row.config.vectors > 1 ? "coarsening" : "coalescing";
}

static Result<std::vector<TensorType>> infer(Views in, const Options&) {
  if (in[0].rank() != 2) return Status::invalid("embedding", "table.shape", in[0].layout.text(), "of 2 axes");
  const Layout& indices = in[1].layout;
  if (indices.rank >= max_rank)
    return Status::invalid("embedding", "indices.shape", indices.text(),
                           "of at most " + std::to_string(max_rank - 1) + " axes");
  std::vector<std::int64_t> shape(indices.shape.begin(), indices.shape.begin() + indices.rank);
  shape.push_back(in[0].size(1));
  return std::vector<TensorType>{{in[0].dtype, shape}};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto scale = options.real32("embedding", "scale", 1);
  if (!scale) return scale.error();
  auto problem = EmbeddingProblem::of(in[0], in[1], out[0], *scale);
  if (!problem) return problem.error();
  auto checked = options.flag_if_given("embedding", "checked");
  if (!checked) return checked.error();
  auto plan = plan_embedding(*problem, device, {.variant = std::string(options.text("variant")), .checked = *checked});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const EmbeddingPlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.run(x[0], x[1], y[0], stream);
  });
}

static const RegisterOp registered({.name = "embedding",
                                    .family = "embedding",
                                    .summary = "rows of a table by index; zeros where there is no such row",
                                    .inputs = {"table", "indices"},
                                    .outputs = {"y"},
                                    .dtypes = {f32, f16, bf16},
                                    .options = {{"scale", "number", "of the rows", "1"},
                                                {"checked", "0|1",
                                                 "indices of no row are refused, for which a GPU is waited for", "0"}},
                                    .variants = variant_infos(variants, checklist_item),
                                    .infer = infer,
                                    .plan = plan_by_name});

}  // namespace ridge
