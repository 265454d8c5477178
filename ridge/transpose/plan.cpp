// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/roofline/predict.hpp>
#include <ridge/transpose/launch.hpp>
#include <ridge/transpose/variants.hpp>

#include <algorithm>
#include <array>
#include <cmath>
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

// Contiguous, of x's axes in this order.
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

int phase_of(const void* data) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % chunk_bytes); }

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
                          .phase_x = phase_of(x.data),
                          .phase_y = phase_of(y.data)};
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

static std::string bytes_text(int bytes) { return bytes == 1 ? "1 byte" : std::to_string(bytes) + " bytes"; }

// Whether every row of x starts and ends on an access's boundary, and every column of y on a chunk's.
static bool whole_accesses(const Form& f, int access_bytes) {
  const std::int64_t A = access_bytes / f.unit, V = per_chunk(f.unit);
  bool whole = f.phase_x % access_bytes == 0 && f.phase_y == 0 && f.cols % A == 0 && f.rows % V == 0 &&
               f.pitch_x % A == 0 && f.pitch_y % V == 0;
  for (int axis = 0; axis < f.outer.rank; ++axis) whole = whole && f.outer.x[axis] % A == 0 && f.outer.y[axis] % V == 0;
  return whole;
}

// Why this row cannot run this form; empty: it can.
static std::string fits(const Variant& row, const Form& f, const DeviceInfo& device) {
  const Config& c = row.config;
  const auto kind_refusal = [&]() -> std::string {
    switch (f.kind) {
      case Kind::copy: return "the axes merge into one, which does not move";
      case Kind::runs: return "the innermost axis stays in its place";
      case Kind::matrices: return "the innermost axis does not stay in its place";
      case Kind::strided: return "no axis of x, or none of y, is contiguous";
    }
    return {};
  };
  if (f.phase_x % f.unit || f.phase_y % f.unit)
    return "a tensor does not start on " + bytes_text(f.unit) + ", as was planned for";
  switch (c.method) {
    case Method::strided: return {};
    case Method::copy:
      if (f.kind != Kind::copy) return kind_refusal();
      return f.phase_x || f.phase_y ? "a tensor does not start on 16 bytes" : "";
    case Method::runs: return f.kind == Kind::runs || f.kind == Kind::copy ? "" : kind_refusal();
    default:
      if (f.kind != Kind::matrices) return kind_refusal();
  }
  if (c.method == Method::tile || c.method == Method::shifted) {
    if (c.method == Method::shifted && f.unit == chunk_bytes) return "elements of 16 bytes start on 16 bytes anywhere";
    if (c.method == Method::tile && f.unit > c.access_bytes)
      return "elements of 16 bytes are more than an access of " + bytes_text(c.access_bytes);
    if (!has_tile(c, f.unit))
      return "its tile of elements of " + bytes_text(f.unit) + " has " + std::to_string(tile_bytes(c, f.unit)) +
             " bytes, too few or too many";
    if (c.method == Method::tile && !whole_accesses(f, c.access_bytes))
      return c.access_bytes == chunk_bytes ? "rows of x or of y are not whole 16-byte units"
                                           : "rows of x are not whole 8-byte units, or those of y 16-byte units";
  }
  if (c.method == Method::thin) {
    if (f.unit == chunk_bytes) return "elements of 16 bytes are chunks by themselves";
    if (!is_thin(f.cols)) return "not 2, 3, 4 or 8 columns";
    if (f.pitch_x != f.cols) return "rows of x have gaps";
    bool apart = f.phase_x != 0;
    for (int axis = 0; axis < f.outer.rank; ++axis) apart = apart || f.outer.x[axis] * f.unit % chunk_bytes != 0;
    if (apart) return "a matrix of x starts off 16 bytes";
  }
  if (c.method == Method::narrow_in) {
    if (f.pitch_x != f.cols) return "rows of x have gaps";
    if (f.cols > narrow_width(c)) return "more than " + std::to_string(narrow_width(c)) + " columns";
  }
  if (c.method == Method::narrow_out) {
    if (f.pitch_y != f.rows) return "columns of y have gaps";
    if (f.rows > narrow_width(c)) return "more than " + std::to_string(narrow_width(c)) + " rows";
  }
  if (c.method == Method::span) {
    const std::int64_t size = f.rows * f.cols;
    if (f.pitch_x != f.cols || f.pitch_y != f.rows || f.outer.rank > 1 ||
        (f.outer.rank == 1 && (f.outer.x[0] != size || f.outer.y[0] != size)))
      return "matrices do not lie behind one another without gaps";
    if (size * f.unit > c.stage_bytes) return "a matrix of more than " + bytes_text(c.stage_bytes);
  }
  if (smem_bytes(c, f.unit) > device.smem_optin)
    return std::to_string(smem_bytes(c, f.unit)) + " bytes of shared memory, and the device has " +
           std::to_string(device.smem_optin);
  return {};
}

static Cost cost(const TransposeProblem& p) {
  const double bytes = static_cast<double>(p.y.count()) * p.element_bytes;
  double read = bytes;
  for (int axis = 0; axis < p.x.rank; ++axis)  // a broadcast axis is read once
    if (p.x.stride[axis] == 0 && p.x.shape[axis] > 1) read /= static_cast<double>(p.x.shape[axis]);
  Cost c;
  c.bytes_read = read;
  c.bytes_written = bytes;
  return c;
}

// Units that the tiles of a variant have room for, over those there are: what tiles that hang over the edge waste.
static double tile_use(const Config& c, const Form& f) {
  const Tiles t = tiles_of(c, f);
  double room = 1;
  switch (c.method) {
    case Method::square: room = square_side * square_side; break;
    case Method::tile:
    case Method::shifted: room = tile_bytes(c, f.unit) / f.unit; break;
    case Method::thin:
      room = static_cast<double>(f.cols * per_chunk(f.unit)) * thin_groups(c, f.unit, f.cols, y_shifted(f));
      break;
    case Method::narrow_in: room = static_cast<double>(f.cols) * narrow_length(c, f.unit, f.cols); break;
    case Method::narrow_out: room = static_cast<double>(f.rows) * narrow_length(c, f.unit, f.rows); break;
    case Method::span:  // a block with less than it has room for has less under way: 0.88 where that is half
      return (0.75 + 0.25 * static_cast<double>(span_matrices(c, f) * f.rows * f.cols * f.unit) / c.stage_bytes) *
             (f.unit == 1 && span_period(f) > c.threads ? 0.75 : 1);  // and places are computed for each chunk
    default: return 1;
  }
  return static_cast<double>(f.count()) / (room * static_cast<double>(t.count()));
}

static roofline::Kernel kernel_of(const Variant& row, const TransposeProblem& p, const Form& f) {
  const Config& c = row.config;
  const double use = tile_use(c, f);
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = tiles_of(c, f).count();
  k.block = {.threads = c.threads, .smem = smem_bytes(c, f.unit)};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.memory_share = row.share(f.unit) * std::max(use, 1e-3);  // tiles beyond the edge move nothing and take their time
  k.trip_bytes = k.blocks > 0 ? k.bytes_read / static_cast<double>(k.blocks) : 0;
  k.tile_efficiency = use;
  return k;
}

static double predict_us(const Variant& row, const TransposeProblem& p, const Form& f, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, f), device).us;
}

static Result<int> choose(const TransposeProblem& p, const Form& f, const DeviceInfo& device,
                          const PlanOptions& options, std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      p.op, variants, options, [&](const Variant& row) { return fits(row, f, device); },
      [&](const Variant& row) { return predict_us(row, p, f, device); }, record);
}

// The spread by which a warp's gathers from shared memory take the fewest turns, counted over the first chunks.
static int least_conflicts(const Form& f) {
  constexpr int banks = 32, word = 4, warps = 2;
  const int V = per_chunk(f.unit), lanes = std::min(32, 32 * word / f.unit);  // of one turn
  const std::int64_t size = f.rows * f.cols;
  int best = 31, fewest = 1 << 30;
  for (int spread : {31, 1, 2, 3, 4, 5, 6, 7}) {
    int turns = 0;
    for (int v = 0; v < V; v += std::max(1, V / 4))
      for (int warp = 0; warp < warps; ++warp) {
        std::array<std::array<int, 32>, banks> words;
        std::array<int, banks> count{};
        int most = 0;
        for (int lane = 0; lane < lanes; ++lane) {
          const std::int64_t unit = std::int64_t{warp * lanes + lane} * V + v, within = unit % size;
          const auto at = static_cast<int>(unit - within + within % f.rows * f.cols + within / f.rows);
          const int place = span_place(at, V, spread) * f.unit / word, bank = place % banks;
          auto& there = words[bank];
          const auto end = there.begin() + count[bank];
          if (std::find(there.begin(), end, place) == end) there[count[bank]++] = place;
          most = std::max(most, count[bank]);
        }
        turns += most;
      }
    if (turns < fewest) best = spread, fewest = turns;
  }
  return best;
}

std::string TransposeProblem::text() const {
  return "elements of " + bytes_text(element_bytes) + ", " + x.text() + " to " + y.text();
}

Result<TransposePlan> plan_transpose(const TransposeProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  Form form = form_of(p);
  auto chosen = choose(p, form, device, options);
  if (!chosen) return chosen.error();
  if (tiles_of(variants[*chosen].config, form).count() > max_grid)
    return Status::invalid(p.op, "y.shape", p.y.text(),
                           "of at most " + std::to_string(max_grid) + " blocks for this variant");
  if (variants[*chosen].config.method == Method::span) form.spread = least_conflicts(form);
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
  Explanation e;
  e.op = problem.op;
  e.problem = problem.text() + ", " + form_text(form);
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem, form), device);
  (void)choose(problem, form, device, {}, &e.candidates);
  return e;
}

Status TransposePlan::run(const void* x, void* y, Stream stream) const {
  if (form.count() == 0) return {};
  // Tensors that start elsewhere than was planned for are as good where the variant takes them.
  Form given = form;
  given.phase_x = phase_of(x);
  given.phase_y = phase_of(y);
  if (const std::string why = fits(variants[variant], given, device); !why.empty())
    return Status::error(Code::invalid_argument,
                         std::string(problem.op) + ": the tensors' alignment is not what was planned for: " + why);
  return on_backend(device.id,
                    [&](auto backend) { return launch<decltype(backend)>(variant, device, given, x, y, stream); });
}

Status TransposePlan::run(const TensorView& x, const TensorView& y, Stream stream) const {
  auto given = problem_of(problem.op, x, problem.axes, y);
  if (!given) return given.error();
  TransposeProblem planned = problem;
  planned.phase_x = given->phase_x;
  planned.phase_y = given->phase_y;
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
