// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/checklist/launch.hpp>
#include <ridge/checklist/variants.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/roofline/predict.hpp>

namespace ridge {

using namespace checklist_detail;

std::string_view name(Lesson lesson) {
  constexpr std::string_view names[lesson_count] = {"checklist_copy",      "checklist_branch", "checklist_vecadd",
                                                    "checklist_histogram", "checklist_window", "checklist_banks"};
  return names[static_cast<int>(lesson)];
}

static std::span<const Variant> table_of(Lesson lesson) {
  return with_lesson<std::span<const Variant>>(lesson, []<Lesson L>() { return std::span<const Variant>(table<L>()); });
}

static Status validate(const ChecklistProblem& p) {
  if (p.n < 0) return Status::invalid(name(p.lesson), "n", std::to_string(p.n), "at least 0");
  if (p.lesson == Lesson::window && (p.width < 1 || p.width > most_width || p.width % 2 == 0))
    return Status::invalid(name(p.lesson), "w", std::to_string(p.width),
                           "odd, from 1 to " + std::to_string(most_width));
  return {};
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const ChecklistProblem& p, const DeviceInfo& device) {
  return roofline::refuse_smem(smem_bytes(p.lesson, row.config, p.width), device);
}

static Cost cost(const ChecklistProblem& p) {
  const double n = static_cast<double>(p.n);
  Cost c;
  c.bytes_read = 4 * n;
  c.bytes_written = 4 * n;
  switch (p.lesson) {
    case Lesson::branch: c.on(Unit::int32) = n * rounds * 4; break;  // 2 operations per round, or 6
    case Lesson::vecadd:
      c.bytes_read = 8 * n;
      c.on(Unit::fp32) = n;
      break;
    case Lesson::histogram:
      c.bytes_read = n;
      c.bytes_written = bins * 4;
      break;
    case Lesson::window: c.on(Unit::fp32) = n * static_cast<double>(p.width); break;
    default: break;
  }
  return c;
}

static roofline::Kernel kernel_of(const Variant& row, const ChecklistProblem& p) {
  const std::int64_t per_block = block_elements(p.lesson, row.config);
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = (p.n + per_block - 1) / per_block;
  k.block = {.threads = row.config.threads};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.memory_share = row.share;
  return k;
}

static double predict_us(const Variant& row, const ChecklistProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

Result<ChecklistPlan> plan_checklist(const ChecklistProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto rows = table_of(p.lesson);
  auto chosen = select<Variant>(
      name(p.lesson), rows, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); });
  if (!chosen) return chosen.error();
  const std::int64_t per_block = block_elements(p.lesson, rows[*chosen].config);
  if (p.n / per_block >= max_grid || (p.lesson == Lesson::histogram && p.n > 0x7fffffff))
    return Status::invalid(name(p.lesson), "n", std::to_string(p.n),
                           p.lesson == Lesson::histogram ? "at most 2^31 - 1: its counts are i32"
                                                         : "at most " + std::to_string(max_grid * per_block));
  return ChecklistPlan{p, device, *chosen};
}

Explanation ChecklistPlan::explain() const {
  Explanation e;
  const auto rows = table_of(problem.lesson);
  e.op = name(problem.lesson);
  e.problem = std::to_string(problem.n) + " elements";
  if (problem.lesson == Lesson::window) e.problem += ", windows of " + std::to_string(problem.width);
  e.variant = rows[variant].name;
  roofline::account(e, kernel_of(rows[variant], problem), device);
  (void)select<Variant>(
      e.op, rows, {}, [&](const Variant& row) { return fits(row, problem, device); },
      [&](const Variant& row) { return predict_us(row, problem, device); }, &e.candidates);
  return e;
}

Status ChecklistPlan::check(Views inputs, const TensorView& y) const {
  const std::string_view op = name(problem.lesson);
  const bool counts = problem.lesson == Lesson::histogram, whole = problem.lesson == Lesson::branch;
  const DType in = counts ? u8 : whole ? i32 : f32, out = counts || whole ? i32 : f32;
  const std::size_t want = problem.lesson == Lesson::vecadd ? 2 : 1;
  if (inputs.size() != want)
    return Status::invalid(op, "the number of inputs", std::to_string(inputs.size()), std::to_string(want));
  const auto check_view = [&](const TensorView& view, std::string_view label, DType dtype, std::int64_t n) -> Status {
    if (view.dtype != dtype)
      return Status::invalid(op, std::string(label) + ".dtype", std::string(name(view.dtype)),
                             std::string(name(dtype)));
    if (view.count() != n)
      return Status::invalid(op, std::string(label) + ".shape", view.layout.text(), std::to_string(n) + " elements");
    if (!view.layout.is_contiguous())
      return Status::invalid(op, std::string(label) + ".strides", view.layout.text(), "contiguous");
    if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(dtype))
      return Status::invalid(op, std::string(label) + ".data", "misaligned", "aligned to its elements' size");
    return check_device(op, view.device, device);
  };
  for (const TensorView& x : inputs) {
    RIDGE_TRY(check_view(x, "x", in, problem.n));
    if (share_memory(x, y)) return Status::invalid(op, "y", "overlapping an input", "apart from it");
  }
  return check_view(y, "y", out, counts ? bins : problem.n);
}

Status ChecklistPlan::run(Views inputs, const TensorView& y, Stream stream) const {
  RIDGE_TRY(check(inputs, y));
  const bool counts = problem.lesson == Lesson::histogram;
  if (problem.n == 0 && !counts) return {};
  return on_backend(device.id, [&](auto backend) {
    return launch<decltype(backend)>(*this, inputs[0].data, inputs.size() == 2 ? inputs[1].data : nullptr, y.data,
                                     stream);
  });
}

}  // namespace ridge
