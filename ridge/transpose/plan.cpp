// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/transpose/families.hpp>
#include <ridge/transpose/launch.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace ridge {

using namespace transpose_detail;

namespace {

std::string axes_text(std::span<const int> axes) {
  std::string text;
  for (int axis : axes) text += (text.empty() ? "" : ",") + std::to_string(axis);
  return text;
}

Status check_axes(std::string_view op, int rank, std::span<const int> axes) {
  bool good = static_cast<int>(axes.size()) == rank;
  for (int axis = 0; axis < rank; ++axis) good = good && std::ranges::count(axes, axis) == 1;
  if (good) return {};
  return Status::invalid(op, "axes", axes_text(axes), "each of the " + std::to_string(rank) + " axes of x once");
}

// Contiguous layout of x's axes in this order.
Layout result_layout(const Layout& x, std::span<const int> axes) {
  std::array<std::int64_t, max_rank> shape{};
  for (int axis = 0; axis < x.rank; ++axis) shape[axis] = x.shape[axes[axis]];
  return Layout::contiguous(std::span(shape).first(static_cast<std::size_t>(x.rank)));
}

// The last two axes exchanged.
std::vector<int> transposing_axes(int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[rank - 1], axes[rank - 2]);
  return axes;
}

int alignment_offset(const void* data) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % chunk_bytes);
}

Result<TransposeProblem> problem_of(std::string_view op, const TensorView& x, std::span<const int> axes,
                                    const TensorView& y) {
  RIDGE_TRY(check_axes(op, x.rank(), axes));
  if (y.dtype != x.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), "that of x, " + std::string(name(x.dtype)));
  const Layout layout = result_layout(x.layout, axes);
  if (!y.layout.same_shape(layout))
    return Status::invalid(op, "y.shape", y.layout.text(),
                           layout.text() + ", the axes of x in the order " + axes_text(axes));
  RIDGE_TRY(check_same_device(op, "y", y.device, "x", x.device));
  RIDGE_TRY(check_no_overlap(op, "y", y, "x", x));
  return TransposeProblem{.op = op,
                          .element_bytes = static_cast<int>(size_of(x.dtype)),
                          .x = x.layout,
                          .y = y.layout,
                          .axes = {axes.begin(), axes.end()},
                          .offset_x = alignment_offset(x.data),
                          .offset_y = alignment_offset(y.data)};
}

}  // namespace

TransposeProblem TransposeProblem::matrix(int element_bytes, std::int64_t rows, std::int64_t cols, std::int64_t batch) {
  return {.element_bytes = element_bytes,
          .x = Layout::contiguous({batch, rows, cols}),
          .y = Layout::contiguous({batch, cols, rows}),
          .axes = {0, 2, 1}};
}

Result<TransposeProblem> TransposeProblem::permute(int element_bytes, std::span<const std::int64_t> shape,
                                                   std::span<const int> axes) {
  if (shape.size() > max_rank)
    return Status::invalid("permute", "x.shape", std::to_string(shape.size()) + " axes",
                           "of at most " + std::to_string(max_rank));
  RIDGE_TRY(check_axes("permute", static_cast<int>(shape.size()), axes));
  const Layout x = Layout::contiguous(shape);
  return TransposeProblem{.op = "permute",
                          .element_bytes = element_bytes,
                          .x = x,
                          .y = result_layout(x, axes),
                          .axes = {axes.begin(), axes.end()}};
}

Result<TransposeProblem> TransposeProblem::transpose(const TensorView& x, const TensorView& y) {
  if (x.rank() < 2) return Status::invalid("transpose", "x.shape", x.layout.text(), "of at least two axes");
  return problem_of("transpose", x, transposing_axes(x.rank()), y);
}

Result<TransposeProblem> TransposeProblem::permute(const TensorView& x, std::span<const int> axes,
                                                   const TensorView& y) {
  return problem_of("permute", x, axes, y);
}

std::string TransposeProblem::text() const {
  return "elements of " + bytes_text(element_bytes) + ", " + x.text() + " to " + y.text();
}

static Status validate(const TransposeProblem& p) {
  if (!std::ranges::count(std::array{1, 2, 4, 8, 16}, p.element_bytes))
    return Status::invalid(p.op, "element size", std::to_string(p.element_bytes) + " bytes", "1, 2, 4, 8 or 16 bytes");
  RIDGE_TRY(check_axes(p.op, p.x.rank, p.axes));
  if (!p.y.same_shape(result_layout(p.x, p.axes)))
    return Status::invalid(p.op, "y.shape", p.y.text(), "that of x, " + p.x.text() + ", in the order of the axes");
  RIDGE_TRY(check_extent(p.op, "x", p.x));
  RIDGE_TRY(check_extent(p.op, "y", p.y));
  return check_elements_apart(p.op, "y", p.y);
}

// ---- choose ------------------------------------------------------------------------------------------------------

// Why a row cannot take the form; empty: it can.
static std::string refuse(const Variant& row, const Request& request, const DeviceInfo& device) {
  const Family& family = family_of(row);
  if (std::string why = family.fits(row, request, device); !why.empty()) return why;
  return family.footprint(row, request, device).grid > max_grid ? "more than 2^31 - 1 blocks" : "";
}

static Result<int> choose(const Request& request, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      request.problem.op, variants, options, [&](const Variant& row) { return refuse(row, request, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, request, device), device).us; },
      record);
}

Result<TransposePlan> plan_transpose(const TransposeProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  Form form = form_of(p);
  const Request request{p, form};
  const auto chosen = choose(request, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  form.swizzle_shift = swizzle_of(row, form);
  return TransposePlan{p, device, form, *chosen};
}

static std::string form_text(const Form& f) {
  const std::string many = std::to_string(f.outer.count()), cols = std::to_string(f.cols);
  std::string text;
  switch (f.kind) {
    case Kind::copy: text = "a copy of " + cols; break;
    case Kind::runs: text = many + " runs of " + cols; break;
    case Kind::matrices:
      text = many + (many == "1" ? " matrix of " : " matrices of ") + std::to_string(f.rows) + "x" + cols;
      break;
    case Kind::strided: text = many; break;
  }
  return text + " units of " + bytes_text(f.unit);
}

Explanation TransposePlan::explain() const {
  const Variant& row = variants[variant];
  const Request request{problem, form};
  Explanation e;
  e.op = problem.op;
  e.problem = problem.text() + ", " + form_text(form);
  e.variant = row.name;
  roofline::account(e, family_of(row).model(row, request, device), device);
  (void)choose(request, device, {}, &e.candidates);
  return e;
}

// ---- run ---------------------------------------------------------------------------------------------------------

Status TransposePlan::run(const void* x, void* y, Stream stream) const {
  if (form.count() == 0) return {};
  // Tensors may have other alignment offsets than planned if the variant accepts them.
  Form given = form;
  given.offset_x = alignment_offset(x);
  given.offset_y = alignment_offset(y);
  const Variant& row = variants[variant];
  if (const std::string why = refuse(row, {problem, given}, device); !why.empty())
    return Status::error(Code::invalid_argument,
                         std::string(problem.op) + ": the tensors' alignment is not what was planned for: " + why);
  return on_backend(device.id, [&](auto backend) { return launch<decltype(backend)>(*this, given, x, y, stream); });
}

Status TransposePlan::run(const TensorView& x, const TensorView& y, Stream stream) const {
  auto given = problem_of(problem.op, x, problem.axes, y);
  if (!given) return given.error();
  TransposeProblem planned = problem;
  planned.offset_x = given->offset_x;
  planned.offset_y = given->offset_y;
  if (*given != planned) return not_as_planned(problem.op, given->text(), problem.text());
  RIDGE_TRY(check_device(problem.op, x.device, device));
  return run(x.data, y.data, stream);
}

static void plan_and_run(const Result<TransposeProblem>& problem, const TensorView& x, const TensorView& y,
                         Stream stream) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_transpose(p, d); }, y.device, stream,
      [&](const TransposePlan& plan, Workspace) { return plan.run(x.data, y.data, stream); });
}

void transpose(const TensorView& x, const TensorView& y, Stream stream) {
  plan_and_run(TransposeProblem::transpose(x, y), x, y, stream);
}
void permute(const TensorView& x, std::span<const int> axes, const TensorView& y, Stream stream) {
  plan_and_run(TransposeProblem::permute(x, axes, y), x, y, stream);
}

}  // namespace ridge
