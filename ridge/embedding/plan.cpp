// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/check_indices.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/rows.hpp>
#include <ridge/core/text.hpp>
#include <ridge/embedding/launch.hpp>
#include <ridge/embedding/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace embedding_detail;

static constexpr std::string_view op = "embedding";

EmbeddingProblem EmbeddingProblem::contiguous(DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t n) {
  EmbeddingProblem p{.rows = rows, .cols = cols, .n = n, .dtype = dtype, .table_pitch = rows > 1 ? cols : 0};
  Layout merged[] = {Layout::contiguous({n}), Layout::contiguous({n})};
  merged[0].stride[0] = std::max<std::int64_t>(cols, 1);
  collapse(merged);
  p.y_rows = merged[0];
  p.indices = merged[1];
  return p;
}

Result<EmbeddingProblem> EmbeddingProblem::of(const TensorView& table, const TensorView& indices, const TensorView& y,
                                              float scale) {
  if (table.rank() != 2) return Status::invalid(op, "table.shape", table.layout.text(), "of 2 axes");
  if (indices.dtype != DType::i32 && indices.dtype != DType::i64)
    return Status::invalid(op, "indices.dtype", std::string(name(indices.dtype)), "i32 or i64");
  if (indices.rank() >= max_rank)
    return Status::invalid(op, "indices.shape", indices.layout.text(),
                           "of at most " + std::to_string(max_rank - 1) + " axes");
  if (y.dtype != table.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)),
                           "that of table, " + std::string(name(table.dtype)));
  bool fits = y.rank() == indices.rank() + 1 && y.size(-1) == table.size(1);
  for (int axis = 0; fits && axis < indices.rank(); ++axis) fits = y.size(axis) == indices.size(axis);
  if (!fits)
    return Status::invalid(
        op, "y.shape", y.layout.text(),
        "that of indices, " + indices.layout.text() + ", followed by " + std::to_string(table.size(1)));
  for (const auto& [view, label] : {std::pair{&table, "table"}, std::pair{&indices, "indices"}}) {
    RIDGE_TRY(check_same_device(op, label, view->device, "y", y.device));
    RIDGE_TRY(check_data(op, label, *view));
    RIDGE_TRY(check_no_overlap(op, "y", y, label, *view));
  }
  RIDGE_TRY(check_data(op, "y", y));
  EmbeddingProblem p{.rows = table.size(0), .cols = table.size(1), .dtype = table.dtype, .index = indices.dtype};
  p.scale = scale;
  p.n = indices.count();
  p.table_pitch = p.rows > 1 ? table.stride(0) : 0;
  p.table_step = p.cols > 1 ? table.stride(1) : 1;
  p.y_step = p.cols > 1 ? y.stride(-1) : 1;
  Layout merged[] = {y.layout, indices.layout};
  merged[0].rank = indices.rank();
  collapse(merged);
  p.y_rows = merged[0];
  p.indices = merged[1];
  p.alignment = std::min(alignment_of(table.data), alignment_of(y.data));
  return p;
}

std::string EmbeddingProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(n) + " of " + std::to_string(rows) + "x" +
         std::to_string(cols);
}

static Status validate(const EmbeddingProblem& p) {
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "table.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (!std::isfinite(p.scale)) return Status::invalid(op, "scale", number_text(p.scale), "finite");
  RIDGE_TRY(check_sizes(op, "table.shape", {p.rows, p.cols}));
  RIDGE_TRY(check_sizes(op, "y.shape", {p.n, p.cols}));
  return check_elements_apart(op, "y", Rows{p.y_rows, p.y_step}.layout(p.cols));
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const EmbeddingProblem& p) {
  const Config& c = row.config;
  if (c.method == Method::element) return {};
  const std::int64_t vector = vector_elements(p.dtype);
  if (p.table_step != 1 || p.y_step != 1) return "a row's elements are not contiguous";
  if (p.y_rows.rank > 1) return "rows of y or indices are not evenly spaced";
  if (p.cols % vector != 0) return "cols not a multiple of " + std::to_string(vector);
  if (p.table_pitch % vector != 0 || (p.y_rows.rank == 1 && p.y_rows.stride[0] % vector != 0) ||
      p.alignment < vector_bytes)
    return "rows do not start on 16 bytes";
  if (items_of(c, p) >= Divider::limit) return "more than 2^31 pieces of work";
  return {};
}

static Cost cost(const EmbeddingProblem& p) {
  const double elements = static_cast<double>(p.n) * static_cast<double>(p.cols);
  const double size = static_cast<double>(size_of(p.dtype));
  Cost c;
  // Repeated indices may read a row only once, which no plan knows. A table is read at most once.
  const double table = static_cast<double>(p.rows) * static_cast<double>(p.cols);
  c.bytes_read = std::min(elements, table) * size + static_cast<double>(p.n) * static_cast<double>(size_of(p.index));
  c.bytes_written = elements * size;
  if (p.scale != 1) c.on(Unit::fp32) = elements;
  return c;
}

static roofline::Kernel kernel_of(const Variant& row, const EmbeddingProblem& p) {
  const Config& c = row.config;
  const double elements = static_cast<double>(p.n) * static_cast<double>(p.cols);
  const double size = static_cast<double>(size_of(p.dtype));
  const bool vectors = c.method == Method::vectors;
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = grid_of(c, p);
  k.block = {.threads = c.threads, .registers = registers(c)};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.trips = 2;  // the index, and the row
  k.trip_bytes = static_cast<double>(block_items(c)) * (vectors ? vector_bytes : size);
  k.clocks = elements / 32 / 4 * (vectors ? 25.0 / static_cast<double>(vector_elements(p.dtype)) : 90);
  if (c.vectors > 1) k.overlap = 6;
  return k;
}

static double predict_us(const Variant& row, const EmbeddingProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

static Result<int> choose(const EmbeddingProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<EmbeddingPlan> plan_embedding(const EmbeddingProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  const std::int64_t grid = grid_of(c, p);
  if (grid > max_grid)
    return Status::invalid(op, "the number of indices", std::to_string(p.n),
                           "at most " + std::to_string(max_grid * block_items(c) / p.cols) + " for this variant");
  return EmbeddingPlan{p, device, *chosen, grid, options.checked.value_or(false)};
}

Explanation EmbeddingPlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status EmbeddingPlan::run(const TensorView& table, const TensorView& indices, const TensorView& y,
                          Stream stream) const {
  auto given = EmbeddingProblem::of(table, indices, y, problem.scale);
  if (!given) return given.error();
  // Tensors may have a higher alignment than planned.
  given->alignment = std::min(given->alignment, problem.alignment);
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, y.device, device));
  if (grid == 0) return {};
  if (checked) RIDGE_TRY(check_indices(op, "indices", indices, problem.rows, "the rows of table", stream));
  return on_backend(device.id, [&](auto backend) {
    return launch<decltype(backend)>(*this, table.data, indices.data, y.data, stream);
  });
}

void embedding(const TensorView& table, const TensorView& indices, const TensorView& y, float scale, Stream stream) {
  run_cached(
      EmbeddingProblem::of(table, indices, y, scale), [](auto& p, auto& d) { return plan_embedding(p, d); }, y.device,
      stream, [&](const EmbeddingPlan& plan, Workspace) { return plan.run(table, indices, y, stream); });
}

}  // namespace ridge
