// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/nms/launch.hpp>
#include <ridge/nms/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace nms_detail;

static constexpr std::string_view op = "nms";

static Status check_line(const std::string& label, const TensorView& view, std::int64_t n) {
  if (view.rank() == 1 && view.size(0) == n) return {};
  return Status::invalid(op, label + ".shape", view.layout.text(), std::to_string(n));
}

Result<NmsProblem> nms_problem(const NmsTensors& t, const NmsOptions& options) {
  const TensorView& boxes = t.boxes;
  if (boxes.rank() != 2 || boxes.size(1) != 4)
    return Status::invalid(op, "boxes.shape", boxes.layout.text(), "of 2 axes, the last of 4 coordinates");
  NmsProblem p{.n = boxes.size(0), .dtype = boxes.dtype, .iou = options.iou, .legacy = options.legacy};
  RIDGE_TRY(check_line("scores", t.scores, p.n));
  RIDGE_TRY(check_line("indices", t.indices, p.n));
  RIDGE_TRY(check_line("count", t.count, 1));
  if (t.scores.dtype != boxes.dtype)
    return Status::invalid(op, "scores.dtype", std::string(name(t.scores.dtype)),
                           "that of boxes, " + std::string(name(boxes.dtype)));
  for (const auto& [label, view] : {std::pair{"indices", &t.indices}, std::pair{"count", &t.count}})
    if (view->dtype != i64)
      return Status::invalid(op, std::string(label) + ".dtype", std::string(name(view->dtype)), "i64");
  if (t.classes) {
    RIDGE_TRY(check_line("classes", *t.classes, p.n));
    if (t.classes->dtype != i32 && t.classes->dtype != i64)
      return Status::invalid(op, "classes.dtype", std::string(name(t.classes->dtype)), "i32 or i64");
    p.classes = t.classes->dtype;
    p.class_step = p.n > 1 ? t.classes->stride(0) : 1;
  }
  const std::pair<std::string, const TensorView*> inputs[] = {
      {"boxes", &boxes}, {"scores", &t.scores}, {"classes", t.classes ? &*t.classes : nullptr}};
  for (const auto& [label, view] : inputs) {
    if (!view) continue;
    RIDGE_TRY(check_same_device(op, label, view->device, "indices", t.indices.device));
    RIDGE_TRY(check_no_overlap(op, "indices", t.indices, label, *view));
    RIDGE_TRY(check_no_overlap(op, "count", t.count, label, *view));
  }
  RIDGE_TRY(check_same_device(op, "count", t.count.device, "indices", t.indices.device));
  RIDGE_TRY(check_no_overlap(op, "count", t.count, "indices", t.indices));
  p.box_pitch = p.n > 1 ? boxes.stride(0) : 4;
  p.box_step = boxes.stride(1);
  p.score_step = p.n > 1 ? t.scores.stride(0) : 1;
  p.index_step = p.n > 1 ? t.indices.stride(0) : 1;
  return p;
}

std::string NmsProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(n) + " boxes" + (classes ? " of classes" : "");
}

static Status validate(const NmsProblem& p) {
  if (!Types::contains(p.dtype)) return Status::invalid(op, "boxes.dtype", std::string(name(p.dtype)), "f32 or f16");
  if (!(p.iou >= 0 && p.iou <= 1)) return Status::invalid(op, "iou", number_text(p.iou), "from 0 to 1");
  if (p.n > max_boxes)
    return Status::invalid(op, "the number of boxes", std::to_string(p.n), "at most " + std::to_string(max_boxes));
  Layout indices = Layout::contiguous({p.n});
  indices.stride[0] = p.index_step;
  RIDGE_TRY(check_elements_apart(op, "indices", indices));
  return {};
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const NmsProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (c.method == Method::walk) return {};
  if (p.n == 0) return "there are no boxes";
  if (mask_grid(p.n) > max_grid) return "more than 2^31 blocks";
  if (choose_smem_bytes(c, p.n) > device.smem_optin - 1024) return "a bit of each box is more than shared memory holds";
  const std::int64_t most = device.memory_bytes > 0 ? device.memory_bytes / 4 : std::int64_t{1} << 30;
  if (workspace_layout(c, p).bytes > most)
    return "the pairs' bits are " + std::to_string(workspace_layout(c, p).bytes) +
           " bytes, and a quarter of memory is " + std::to_string(most);
  return {};
}

static double pairs(const NmsProblem& p) { return 0.5 * static_cast<double>(p.n) * static_cast<double>(p.n); }

static Cost cost(const NmsProblem& p) {
  const double n = static_cast<double>(p.n), size = static_cast<double>(size_of(p.dtype));
  Cost c;
  c.bytes_read = n * (5 * size + (p.classes ? static_cast<double>(size_of(*p.classes)) : 0));
  c.bytes_written = 8 * n + 8;
  c.on(Unit::fp32) =
      10 * pairs(p);  // two sides of the intersection, its area against the union's; no plan knows how many intersect
  return c;
}

// A step of the selecting block, and the rate at which its multiprocessor reads the mask.
static constexpr double tile_us = 0.4, walk_us = 1.0, sm_bytes_per_us = 1e5;

static roofline::Kernel kernel_of(const Variant& row, const NmsProblem& p) {
  const Config& c = row.config;
  const double n = static_cast<double>(p.n);
  const bool mask = c.method == Method::mask;
  roofline::Kernel k;
  k.cost = cost(p);
  k.launches = (sort_tiles(p.n) > 1 ? 2 : p.n > 0 ? 1 : 0) + (mask ? 2 : 1);
  k.blocks = mask ? mask_grid(p.n) : 1;
  k.block = {.threads = mask ? mask_threads : c.threads, .registers = 32};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written + (mask ? pairs(p) / 8 : 0);
  k.trips = 2;
  k.clocks = mask ? pairs(p) * 20 / 128 : 0;
  // Assumes that half of the boxes are kept, which depends on the data.
  k.serial_us =
      4 + (mask ? static_cast<double>(words(p.n)) * tile_us * (c.specialized ? 1 : 2) + pairs(p) / 16 / sm_bytes_per_us
                : n * walk_us / 2 + pairs(p) / 2 * 20 / 128 / 1800);
  return k;
}

static double predict_us(const Variant& row, const NmsProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

static Result<int> choose(const NmsProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<NmsPlan> plan_nms(const NmsProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  return NmsPlan{p, device, *chosen};
}

std::size_t NmsPlan::workspace_bytes() const {
  return static_cast<std::size_t>(workspace_layout(variants[variant].config, problem).bytes);
}

Explanation NmsPlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace_bytes();
  roofline::account(e, kernel_of(variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status NmsPlan::run(const NmsTensors& t, Workspace workspace, Stream stream) const {
  auto given = nms_problem(t, {.iou = problem.iou, .legacy = problem.legacy});
  if (!given) return given.error();
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, t.boxes.device, device));
  RIDGE_TRY(check_workspace(op, workspace, workspace_bytes()));
  if (workspace_bytes() > 0 && alignment_of(workspace.data) < 16)
    return Status::invalid(op, "workspace", "at an address that is not a multiple of 16", "aligned to 256 bytes");
  return on_backend(device.id, [&](auto backend) { return launch<decltype(backend)>(*this, t, workspace, stream); });
}

void nms(const NmsTensors& t, const NmsOptions& options, Stream stream) {
  run_cached(
      nms_problem(t, options), [](auto& p, auto& d) { return plan_nms(p, d); }, t.boxes.device, stream,
      [&](const NmsPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

}  // namespace ridge
