// nms by name.
#include <ridge/core/op.hpp>
#include <ridge/nms/launch.hpp>
#include <ridge/nms/variants.hpp>

namespace ridge {

using namespace nms_detail;

static constexpr std::string_view op = "nms";

// The checklist item of a table row.
static std::string_view checklist_item(const Variant& row) {
  if (row.config.method == Method::walk) return {};
  return row.config.specialized ? "occupancy" : "better maths";
}

static Result<std::vector<TensorType>> infer(Views in, const Options&) {
  if (in[0].rank() != 2) return Status::invalid(op, "boxes.shape", in[0].layout.text(), "of 2 axes");
  return std::vector<TensorType>{{i64, {in[0].size(0)}}, {i64, {1}}};
}

static NmsTensors tensors_of(Views in, Views out) {
  NmsTensors t{.boxes = in[0], .scores = in[1], .indices = out[0], .count = out[1]};
  if (in.size() > 2) t.classes = in[2];
  return t;
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto iou = options.real32(op, "iou", 0.5f);
  if (!iou) return iou.error();
  auto legacy = options.flag(op, "legacy");
  if (!legacy) return legacy.error();
  auto problem = nms_problem(tensors_of(in, out), {.iou = *iou, .legacy = *legacy});
  if (!problem) return problem.error();
  auto plan = plan_nms(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const NmsPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
    return p.run(tensors_of(x, y), workspace, stream);
  });
}

static const RegisterOp registered(
    {.name = op,
     .family = "nms",
     .summary =
         "the boxes that overlap no kept one of a higher score: indices by descending score, then -1; and how many",
     .inputs = {"boxes", "scores", "classes"},
     .outputs = {"indices", "count"},
     .dtypes = {f32, f16},
     .options = {{"iou", "number", "boxes overlap above this share of their union", "0.5"},
                 {"legacy", "0|1", "corners count as pixels: a side is x2 - x1 + 1", "0"}},
     .variants = variant_infos(variants, checklist_item),
     .infer = infer,
     .plan = plan_by_name,
     .optional = {"classes"}});

}  // namespace ridge
