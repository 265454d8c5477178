// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/reduce/launch.hpp>
#include <ridge/reduce/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ridge {

using namespace reduce_detail;

std::string_view name(Reduce f) {
  constexpr std::string_view names[] = {"sum", "mean", "max", "min", "argmax", "argmin", "dot", "trace"};
  return names[static_cast<int>(f)];
}

ReduceProblem ReduceProblem::flat(Reduce f, DType dtype, std::int64_t n) {
  const Layout line = Layout::contiguous({n});
  return {.function = f, .dtype = dtype, .x = line, .z = line, .y = {}};
}

ReduceProblem ReduceProblem::rows(Reduce f, DType dtype, std::int64_t rows, std::int64_t cols) {
  const std::int64_t shape[] = {rows, cols};
  return along(f, dtype, shape, -1);
}

static Layout diagonal(const Layout& matrix) {
  Layout line = Layout::contiguous({std::min(matrix.shape[0], matrix.shape[1])});
  line.stride[0] = line.shape[0] <= 1 ? 1 : matrix.stride[0] + matrix.stride[1];
  return line;
}

ReduceProblem ReduceProblem::trace(DType dtype, std::int64_t rows, std::int64_t cols) {
  const Layout line = diagonal(Layout::contiguous({rows, cols}));
  return {.function = Reduce::trace, .dtype = dtype, .x = line, .z = line, .y = {}};
}

ReduceProblem ReduceProblem::along(Reduce f, DType dtype, std::span<const std::int64_t> shape, int axis) {
  std::vector<std::int64_t> kept(shape.begin(), shape.end());
  kept.erase(kept.begin() + (axis < 0 ? axis + static_cast<int>(shape.size()) : axis));
  const Layout x = Layout::contiguous(shape);
  return {.function = f, .dtype = dtype, .x = x, .z = x, .y = Layout::contiguous(kept), .axis = axis};
}

// The widest access, in bytes, that every input meets after the same few elements. One input meets any.
static int reach(const void* x, const void* z, int element_bytes) {
  const int own = std::min(alignment_of(x), alignment_of(z));
  if (own < element_bytes || x == z) return own < element_bytes ? own : 16;
  const auto apart = reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(z);
  return alignment_of(reinterpret_cast<const void*>(apart));
}

Result<ReduceProblem> ReduceProblem::of(Reduce f, const TensorView& x, const TensorView* z, const TensorView& y,
                                        int axis, Accumulate accumulate) {
  const std::string_view op = name(f);
  RIDGE_TRY(check_extent(op, "x", x.layout));
  if (z && z->dtype != x.dtype)
    return Status::invalid(op, "z.dtype", std::string(name(z->dtype)), "that of x, " + std::string(name(x.dtype)));
  if (z && !z->layout.same_shape(x.layout))
    return Status::invalid(op, "z.shape", z->layout.text(), "that of x, " + x.layout.text());
  if (y.dtype != result_type(f, x.dtype))
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), std::string(name(result_type(f, x.dtype))));
  for (const TensorView* input : {&x, z ? z : &x}) {
    const std::string label = input == z ? "z" : "x";
    RIDGE_TRY(check_same_device(op, "y", y.device, "x", x.device));
    RIDGE_TRY(check_same_device(op, label, input->device, "x", x.device));
    RIDGE_TRY(check_no_overlap(op, "y", y, label, *input));
  }
  RIDGE_TRY(check_data(op, "y", y));
  if (f == Reduce::trace && x.rank() != 2) return Status::invalid(op, "x.shape", x.layout.text(), "of 2 axes");
  const Layout lies = f == Reduce::trace ? diagonal(x.layout) : x.layout;
  return ReduceProblem{.function = f,
                       .dtype = x.dtype,
                       .x = lies,
                       .z = z ? z->layout : lies,
                       .y = y.layout,
                       .alignment = reach(x.data, z ? z->data : x.data, static_cast<int>(size_of(x.dtype))),
                       .start = alignment_of(x.data),
                       .axis = axis,
                       .accumulate = accumulate};
}

// The axis along which x is reduced, from the first. Preconditions: y is no scalar; the axis is one of x.
static int axis_of(const ReduceProblem& p) { return p.axis < 0 ? p.axis + p.x.rank : p.axis; }

static Layout without(Layout layout, int axis) {
  std::copy(layout.shape.begin() + axis + 1, layout.shape.end(), layout.shape.begin() + axis);
  std::copy(layout.stride.begin() + axis + 1, layout.stride.end(), layout.stride.begin() + axis);
  --layout.rank;
  layout.shape[layout.rank] = layout.stride[layout.rank] = 0;
  return layout;
}

static bool has_identity(Reduce f) {
  return f == Reduce::sum || f == Reduce::mean || f == Reduce::dot || f == Reduce::trace;
}

static std::string along_text(const ReduceProblem& p) {
  if (p.y.rank == 0) return "";
  const int axis = axis_of(p);
  return axis == p.x.rank - 1 ? ", last axis" : ", axis " + std::to_string(axis);
}

std::string ReduceProblem::text() const {
  return std::string(name(dtype)) + " " + x.text() + along_text(*this) +
         (accumulate == Accumulate::two_float ? ", in two floats" : "");
}

static Status validate(const ReduceProblem& p) {
  const std::string_view op = name(p.function);
  if (!Types::contains(p.dtype)) {
    std::string known;
    for (int i = 0; i < dtype_count; ++i)
      if (Types::contains(static_cast<DType>(i))) known += " " + std::string(name(static_cast<DType>(i)));
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of" + known);
  }
  if (p.accumulate == Accumulate::two_float && (p.dtype != f32 || !has_identity(p.function)))
    return Status::invalid(
        op, "accumulate", "two_float",
        "left away: it is for sum, mean, dot and trace of f32, and this is of " + std::string(name(p.dtype)));
  for (const auto& [argument, layout] : {std::pair("x", &p.x), std::pair("z", &p.z), std::pair("y", &p.y)})
    RIDGE_TRY(check_extent(op, argument, *layout));
  if (!p.z.same_shape(p.x)) return Status::invalid(op, "z.shape", p.z.text(), "that of x, " + p.x.text());
  if ((p.function == Reduce::dot || p.function == Reduce::trace) && p.y.rank != 0)
    return Status::invalid(op, "y.shape", p.y.text(), "a scalar");
  if (p.y.rank != 0) {
    if (p.axis < -p.x.rank || p.axis >= p.x.rank)
      return Status::invalid(op, "axis", std::to_string(p.axis), "one of the " + std::to_string(p.x.rank) + " of x");
    if (const Layout kept = without(p.x, axis_of(p)); !p.y.same_shape(kept))
      return Status::invalid(op, "y.shape", p.y.text(),
                             "a scalar, or x without its axis " + std::to_string(p.axis) + ", " +
                                 Layout::contiguous(std::span(kept.shape.data(), kept.rank)).text());
  }
  RIDGE_TRY(check_elements_apart(op, "y", p.y));
  if (!has_identity(p.function) && p.y.count() > 0 && p.x.count() == 0)
    return Status::invalid(op, "x.shape", p.x.text(), "one with an element for each result");
  if (p.alignment < static_cast<int>(size_of(p.dtype)))
    return Status::invalid(op, "alignment", std::to_string(p.alignment) + " bytes",
                           "a multiple of an element's " + std::to_string(size_of(p.dtype)));
  return {};
}

namespace {

// A problem in the kernels' terms.
struct Geometry {
  ReduceAxes axes;
  Extent extent;
  bool neighbours = false;  // the elements of a row
};

// Layouts of the same axes, in the order of the first one's strides: neighbours last, so that they merge and are read
// side by side; broadcast axes first.
void sort_axes(std::vector<Layout>& views) {
  const Layout first = views[0];
  std::array<int, max_rank> order{};
  std::iota(order.begin(), order.end(), 0);
  const auto distance = [&](int axis) {
    const std::int64_t stride = first.stride[axis];
    return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
  };
  std::stable_sort(order.begin(), order.begin() + first.rank, [&](int a, int b) { return distance(a) > distance(b); });
  for (Layout& view : views) {
    const Layout was = view;
    for (int axis = 0; axis < was.rank; ++axis) {
      view.shape[axis] = was.shape[order[axis]];
      view.stride[axis] = was.stride[order[axis]];
    }
  }
}

Geometry geometry_of(const ReduceProblem& p) {
  Geometry g;
  const bool everything = p.y.rank == 0, counts_places = p.function == Reduce::argmax || p.function == Reduce::argmin;
  std::vector<Layout> kept{Layout{}, Layout{}}, reduced{p.x, p.z};  // x and y; x and z
  if (!everything) {
    const int axis = axis_of(p);
    kept = {without(p.x, axis), p.y};
    for (Layout* layout : {&reduced[0], &reduced[1]}) {
      layout->shape[0] = layout->shape[axis];
      layout->stride[0] = layout->stride[axis];
      layout->rank = 1;
    }
  }
  sort_axes(kept);
  if (!counts_places) sort_axes(reduced);
  collapse(kept);
  collapse(reduced);
  g.axes.outer = kept[0].rank;
  g.axes.rank = kept[0].rank + reduced[0].rank;
  for (int axis = 0; axis < g.axes.rank; ++axis) {
    const bool is_row = axis < g.axes.outer;
    const auto& views = is_row ? kept : reduced;
    const int from = is_row ? axis : axis - g.axes.outer;
    g.axes.shape[axis] = views[0].shape[from];
    g.axes.x[axis] = views[0].stride[from];
    (is_row ? g.axes.y : g.axes.z)[axis] = views[1].stride[from];
  }
  g.extent = {.rows = kept[0].count(), .cols = reduced[0].count()};
  g.neighbours = g.extent.cols <= 1 || (reduced[0].rank == 1 && reduced[0].stride[0] == 1 && reduced[1].stride[0] == 1);
  const int last = g.axes.outer - 1;
  if (last >= 0 && (g.extent.cols == 1 || !g.neighbours)) {  // lanes on neighbouring rows, where those are the nearer
    const std::int64_t across = std::abs(g.axes.x[last]);
    if (g.extent.cols == 1 || (across != 0 && across < std::abs(g.axes.x[g.axes.rank - 1])))
      g.extent.inner = g.axes.shape[last];
  }
  return g;
}

int index_of(const Variant& row) { return static_cast<int>(&row - variants); }

// Why columns cannot be read by whole accesses; empty: they can.
std::string no_columns(const Config& c, const ReduceProblem& p, const Geometry& g, int sms) {
  const int size = static_cast<int>(size_of(p.dtype)), v = access_elements(c, size), last = g.axes.outer - 1;
  if (last < 0 || g.axes.x[last] != 1) return "rows do not lie side by side";
  if (g.axes.rank - g.axes.outer != 1 && (g.extent.cols != 1 || c.kernel == Kernel::shifted))
    return "not one axis is reduced";
  if (c.kernel == Kernel::shifted) {
    if (g.extent.inner != g.axes.shape[last]) return "rows do not lie side by side";
    if (g.axes.x[g.axes.rank - 1] < g.extent.inner)
      return "the axis that is reduced does not step past what lies side by side";
    const std::int64_t cut = slices(c, g.extent, size, sms);
    if (row_blocks(c, g.extent, size) > max_grid || cut > max_grid_y) return "more blocks than one launch has";
    return {};
  }
  const std::string bytes = std::to_string(c.access_bytes) + " bytes";
  if (g.axes.shape[last] % v != 0) return "what lies side by side is not a multiple of " + bytes;
  bool apart = p.start < c.access_bytes;
  for (int axis = 0; axis < g.axes.rank; ++axis) apart = apart || (axis != last && g.axes.x[axis] % v != 0);
  return apart ? "rows do not lie on boundaries of " + bytes : "";
}

// Why this row cannot run this problem; empty: it can.
std::string fits(const Variant& row, const ReduceProblem& p, const Geometry& g, const DeviceInfo& device, bool named) {
  const Config c = config_of(index_of(row), p.function);
  const int size = static_cast<int>(size_of(p.dtype));
  if (!instantiated(c, p.function, p.dtype, p.accumulate)) {
    if (c.kernel == Kernel::atomic) return "an atomic instruction does sums of f32 and i32, and max and min of i32";
    if (is_textbook(c)) return "a step of the textbook: sum, mean, max and min of f32 and i32 (vec4: dot too)";
    if (c.last_block) return "the last block finishes plain sums and means of f32, f16 and bf16";
    if (c.threads == 1024) return "one block of 1,024 threads is for sums, means and dots of f32, f16 and bf16";
    if (c.kernel == Kernel::spans) return "dot has one row";
    if (c.lanes == 8 && p.function != Reduce::dot) return "eight lanes per row are for f32, f16 and bf16";
    if (c.kernel == Kernel::shifted) return "columns at any pitch are for plain sums and means of f32, f16 and bf16";
    if (c.kernel == Kernel::columns && p.function != Reduce::dot)
      return "columns by 16 bytes are for f32, f16 and bf16";
    return p.function == Reduce::dot ? "dot has one row" : "one input is read by 16 bytes wherever it starts";
  }
  if (c.kernel == Kernel::atomic && is_floating(p.dtype) && !named)
    return "the order of its additions changes from run to run: only by name";
  if (is_textbook(c) && g.extent.rows != 1) return "there is not one row";
  if ((row.name == "best" || row.name == "one_wave" || row.name == "one_block" || c.last_block) && g.extent.rows != 1)
    return "there is not one row";
  if (c.last_block && slices(c, g.extent, size, device.sms) > tile::most_arrivals)
    return "more than " + std::to_string(tile::most_arrivals) + " slices, which is what arrivals are counted to";
  if (row.name == "row_split" && g.extent.rows < 2) return "there are no several rows";
  if (c.kernel == Kernel::cluster) {
    if (device.cc != 90) return "clusters of blocks need compute capability 9.0";
    if (g.extent.rows != 1) return "there is not one row";
  } else if (has_columns(c)) {
    if (!c.strided)
      if (auto why = no_columns(c, p, g, device.sms); !why.empty()) return why;
  } else if (!g.neighbours) {
    return "the elements of a row are not neighbours";
  }
  if (c.kernel == Kernel::spans) {
    if (g.extent.cols < 1 || g.extent.cols * size > span_most_bytes)
      return "a row is not of 1 to " + std::to_string(span_most_bytes) + " bytes";
    if (g.axes.outer != 1 || g.axes.x[0] != g.extent.cols) return "rows do not follow one another without gaps";
    if (row_blocks(c, g.extent, size) > max_grid) return "more blocks than one launch has";
  }
  if (arity(p.function) == 2 && access_elements(c, size) > 1 && c.access_bytes > p.alignment)
    return "the inputs are not equally far from a boundary of " + std::to_string(c.access_bytes) + " bytes";
  if (const std::int64_t longest = longest_slice(c, g.extent, size);
      c.cut == Cut::whole && c.kernel != Kernel::atomic && g.extent.cols > longest)
    return "more than " + std::to_string(longest) + " elements in a row: sums would lose digits";
  if (is_textbook(c) && c.kernel != Kernel::slices && ceil_div(g.extent.cols, c.threads) > max_grid)
    return "more than " + std::to_string(max_grid * c.threads) + " elements, one per thread";
  return {};
}

Cost cost(const ReduceProblem& p) {
  const auto distinct = [&](const Layout& layout) {  // a broadcast axis is read once
    double count = layout.count() == 0 ? 0 : 1;
    for (int axis = 0; axis < layout.rank; ++axis)
      count *= layout.stride[axis] == 0 ? 1.0 : static_cast<double>(layout.shape[axis]);
    return count;
  };
  Cost c;
  c.bytes_read = (distinct(p.x) + (arity(p.function) == 2 ? distinct(p.z) : 0)) * static_cast<double>(size_of(p.dtype));
  c.bytes_written = static_cast<double>(p.y.count()) * static_cast<double>(size_of(result_type(p.function, p.dtype)));
  const Unit unit = p.dtype == DType::f64 ? Unit::fp64 : is_floating(p.dtype) ? Unit::fp32 : Unit::int32;
  c.on(unit) = static_cast<double>(p.x.count()) * arity(p.function);
  return c;
}

// Clocks of a multiprocessor for 32 elements beyond what loads hide, measured on an H200 (bench/results/h200).
double clocks(const ReduceProblem& p) {
  if (p.accumulate == Accumulate::two_float)
    return p.function == Reduce::dot ? 4.25 : 3.75;  // 6 additions more, counted
  switch (p.function) {
    case Reduce::argmax:
    case Reduce::argmin: return 4.5;
    case Reduce::max:
    case Reduce::min: return size_of(p.dtype) == 2 ? 2.5 : 2;
    default: return 2;
  }
}

// What nvcc 13 makes of the kernels for sm_90a, to the unit in which registers are handed out.
int registers(const Config& c, int element_bytes) {
  if (is_textbook(c) && c.kernel != Kernel::slices) return 24;
  if (c.kernel == Kernel::spans) return element_bytes == 1 ? 56 : 48;
  if (c.kernel == Kernel::shifted) return element_bytes == 2 ? 40 : 32;
  if (by_elements(c)) return 64;
  return c.vectors == 1 ? 32 : element_bytes <= 2 ? 56 : 40;
}

bool locates(const ReduceProblem& p) { return p.function == Reduce::argmax || p.function == Reduce::argmin; }

// Clocks of a multiprocessor for a row of Kernel::rows whose last tile is not whole: its accesses are guarded one by
// one, and all of a tile's elements are seen to, as much as it lacks. A warp that locates an extreme goes through a
// tile again, also a whole one. Measured on an H200 with rows of 33 to 4,096 bytes.
double clocks_of_last_tile(const Config& c, const ReduceProblem& p, int element_bytes) {
  if (c.lanes < 32) return element_bytes == 2 ? (locates(p) ? 70 : 30) : (locates(p) ? 42 : 18);
  switch (element_bytes) {
    case 1: return locates(p) ? 250 : 140;
    case 2: return locates(p) ? 215 : 92;
    default: return locates(p) ? 155 : 62;
  }
}

// What Kernel::spans asks of a multiprocessor beside memory: instructions of a thread for a word (or element) of a row,
// and for its part of a row. Fitted to times on an H200.
struct SpanWork {
  double of_word, of_part;
};
SpanWork span_work(const ReduceProblem& p, int element_bytes, bool by_words) {
  if (!by_words) return {locates(p) ? (element_bytes == 1 ? 18.0 : 28.0) : 8.0, 60};
  switch (element_bytes) {
    case 1: return {locates(p) ? 18.0 : 13.0, 150};
    case 2: return {locates(p) ? 24.0 : 11.0, 150};
    default: return {locates(p) ? 20.0 : 8.0, 100};
  }
}

// From one lane's element to the next one's, where kernels take any strides.
std::int64_t between_lanes(const Geometry& g) {
  std::int64_t nearest = g.axes.outer < g.axes.rank ? std::abs(g.axes.x[g.axes.rank - 1]) : 1;
  if (g.extent.inner > 1) nearest = std::abs(g.axes.x[g.axes.outer - 1]);
  return std::max<std::int64_t>(nearest, 1);
}
// Of the sectors of 32 bytes that such a kernel reads, the share that it asked for: elements that are apart bring their
// neighbours along.
double share_of_sectors(const Geometry& g, int element_bytes) {
  return std::max(element_bytes / 32.0, 1.0 / static_cast<double>(between_lanes(g)));
}
// Clocks that 32 lanes' elements take of a multiprocessor: one for each line of 128 bytes they lie in.
double lines_of_warp(const Geometry& g, int element_bytes) {
  return std::clamp(32.0 * static_cast<double>(between_lanes(g)) * element_bytes / 128, 1.0, 32.0);
}

roofline::Kernel kernel_of(const Variant& row, const ReduceProblem& p, const Geometry& g, const DeviceInfo& device) {
  // Measured on an H200: what a block does before its first load, at a barrier, and in an iteration with offsets.
  constexpr double barrier_us = 0.057, offsets_us = 0.13;
  const Extent& e = g.extent;
  // One addition after another on one address: float, and integer.
  const double atomic_us = is_floating(p.dtype) ? 1.757e-3 : 0.73e-3;
  const Config c = config_of(index_of(row), p.function);
  const bool columns = by_elements(c);
  constexpr double cluster_us = 0.6;  // two barriers of a cluster
  const double prologue_us = c.kernel == Kernel::spans ? 0.25
                             : c.lanes == 0            ? 0.45
                             : c.lanes < device.warp   ? 0.65
                                                       : 0.35;
  const int size = static_cast<int>(size_of(p.dtype)), inputs = arity(p.function);
  const std::int64_t cut = slices(c, e, size, device.sms), at_a_time = block_rows(c, e, size);
  const std::int64_t tile = tile_elements(c, e, size), in_slice = ceil_div(e.cols, cut);
  const Cost least = cost(p);
  roofline::Kernel k;
  k.cost = least;
  k.blocks = e.cols > 0 ? grid_of(c, e, cut, size).blocks() : 0;
  k.block = {.threads = c.threads, .registers = registers(c, size)};
  if (c.kernel == Kernel::spans) k.block.smem = tile::span_room(span_rows(c, e, size), static_cast<int>(e.cols), size);
  k.launches = launches(c, cut);
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  k.trip_bytes = static_cast<double>(std::min(tile, std::max<std::int64_t>(e.cols, 1)) * at_a_time) * size * inputs;
  // Groups of fewer than a block's threads read rows that lie apart: less than the whole rate.
  k.memory_share = c.lanes == 0 ? 1 : c.lanes < device.warp ? 0.92 : 0.96;
  if (c.kernel == Kernel::slices && c.cut == Cut::fill && c.waves == 1 && c.access_bytes > 0)
    k.memory_share = 0.978;  // the multiprocessors do not finish together
  if (c.kernel == Kernel::shifted) {
    k.memory_share = 0.98;
  } else if (columns) {  // blocks are long: those of the last wave leave a part of the device idle
    const double waves = static_cast<double>(k.blocks) / (device.sms * c.blocks_per_sm);
    k.memory_share = share_of_sectors(g, size) * (waves > 1 ? waves / std::ceil(waves) : 1);
  }
  k.clocks = static_cast<double>(e.rows) * static_cast<double>(e.cols) / 32 * clocks(p) *
             (access_elements(c, size) > 1 ? 1 : 2);  // an instruction for each load
  if (c.strided) k.clocks += static_cast<double>(e.rows) * static_cast<double>(e.cols) / 32 * lines_of_warp(g, size);
  if (c.kernel == Kernel::rows && (e.cols % tile != 0 || (locates(p) && c.lanes == 32)))
    k.clocks += static_cast<double>(e.rows) * clocks_of_last_tile(c, p, size);
  k.tile_efficiency = roofline::tile_efficiency(in_slice, tile);
  constexpr double barriers_of_shuffle = 2;
  if (c.kernel == Kernel::slices || c.kernel == Kernel::rows || columns) {
    // A tile that is not whole is read access by access.
    const std::int64_t whole = in_slice / tile, rest = in_slice % tile;
    k.trips =
        static_cast<double>(whole + ceil_div(rest, std::int64_t{row_threads(c, e, size)} * row_elements(c, size)));
    if (e.cols > tile || columns) k.trips = static_cast<double>(ceil_div(in_slice, tile));
    k.block_us = prologue_us;
    if (c.kernel == Kernel::slices) k.block_us += barriers_of_shuffle * barrier_us;
    if (columns) {
      if (c.kernel == Kernel::cluster) k.block_us += cluster_us;
      else if (c.kernel == Kernel::shifted) k.block_us += 2 * barrier_us;
      else k.block_us += 2 * std::log2(columns_of(c, e, size).depth) * barrier_us;
      if (g.axes.rank - g.axes.outer > 1) {  // one element at a time, each with its offset
        k.trips *= column_vectors(c.vectors, size);
        k.block_us += k.trips * offsets_us;
      }
    }
    // A block is all beginning and end where there is one element: measured 1.4 to 1.8 times what others are predicted.
    if (c.kernel == Kernel::columns && !c.strided && e.cols == 1) {
      constexpr double of_one_element = 1.8;
      k.block_us *= of_one_element;
      k.trips *= of_one_element;
      k.clocks *= of_one_element;
      k.memory_share /= of_one_element;
    }
    // Where the grid is shorter than rows and slices, blocks go on to further ones.
    const double in_turn =
        static_cast<double>(ceil_div(row_blocks(c, e, size) * cut, std::max<std::int64_t>(k.blocks, 1)));
    k.trips *= in_turn;
    k.block_us *= in_turn;
  } else if (c.kernel == Kernel::spans) {
    const int lanes = span_lanes(c, e, size);
    const double bytes = static_cast<double>(e.cols) * size,
                 turns = static_cast<double>(span_rows(c, e, size)) * lanes / c.threads;
    const bool by_words = bytes > static_cast<double>(span_short_bytes);
    const SpanWork work = span_work(p, size, by_words);
    const double words = (by_words ? bytes / std::max(size, 4) : static_cast<double>(e.cols)) / lanes;
    k.trips = 1;
    k.block_us = prologue_us + 2 * barrier_us + 0.02 * words * turns;  // a thread's words follow one another
    k.clocks = static_cast<double>(e.rows) * lanes * (words * work.of_word + work.of_part) / 128;  // of four warps
    if (by_words) {  // what a row costs beside its bytes, measured, in bytes
      const double moved = bytes + static_cast<double>(size_of(result_type(p.function, p.dtype)));
      k.memory_share = 0.98 * moved / (moved + (size == 1 ? 12 : 5));
    }
  } else {
    const double barriers = c.kernel == Kernel::shuffle ? barriers_of_shuffle : 1 + std::log2(c.threads);
    k.block_us = c.kernel == Kernel::atomic ? 0 : barriers * barrier_us;
  }
  if (c.kernel == Kernel::atomic) k.serial_us = static_cast<double>(g.extent.cols) * atomic_us;
  if (has_partials(c, cut)) {  // few blocks, a trip or some: the latency of each pass
    constexpr double pass_us = 0.9, arrival_us = 0.9;
    k.serial_us += c.last_block ? arrival_us : pass_us * (launches(c, cut) - 1);
  }
  return k;
}

double predict_us(const Variant& row, const ReduceProblem& p, const Geometry& g, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, g, device), device).us;
}

}  // namespace

Result<ReducePlan> plan_reduce(const ReduceProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(problem));
  const Geometry g = geometry_of(problem);
  ReducePlan plan{problem, device, g.axes, g.extent};
  auto chosen = select<Variant>(
      name(problem.function), variants, options,
      [&](const Variant& row) { return fits(row, problem, g, device, options.variant == row.name); },
      [&](const Variant& row) { return predict_us(row, problem, g, device); });
  if (!chosen) return chosen.error();
  plan.variant = *chosen;
  if (g.extent.rows == 0) return plan;
  const Config c = config_of(*chosen, problem.function);
  plan.slices = slices(c, g.extent, static_cast<int>(size_of(problem.dtype)), device.sms);
  plan.workspace = static_cast<std::size_t>(partial_count(c, g.extent.rows, plan.slices)) *
                   static_cast<std::size_t>(partial_bytes(problem.function, problem.dtype, problem.accumulate));
  plan.workspace += arrival_bytes(c, plan.slices);
  return plan;
}

Explanation ReducePlan::explain() const {
  Explanation e;
  const Geometry g = geometry_of(problem);
  e.op = name(problem.function);
  e.problem = problem.text();
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace;
  roofline::account(e, kernel_of(variants[variant], problem, g, device), device);
  (void)select<Variant>(
      e.op, variants, {}, [&](const Variant& row) { return fits(row, problem, g, device, row.name == e.variant); },
      [&](const Variant& row) { return predict_us(row, problem, g, device); }, &e.candidates);
  return e;
}

Status ReducePlan::run(const TensorView& x, const TensorView& z, const TensorView& y, Workspace scratch,
                       Stream stream) const {
  const std::string_view op = name(problem.function);
  auto given = ReduceProblem::of(problem.function, x, arity(problem.function) == 2 ? &z : nullptr, y, problem.axis,
                                 problem.accumulate);
  if (!given) return given.error();
  const int planned = problem.alignment;
  const bool columns = variants[variant].config.kernel == Kernel::columns;
  if (given->alignment <
      std::min(planned, std::max(variants[variant].config.access_bytes, static_cast<int>(size_of(problem.dtype)))))
    return Status::invalid(op, "alignment", std::to_string(given->alignment) + " bytes",
                           "what was planned for, " + std::to_string(planned));
  if (const int bytes = columns ? variants[variant].config.access_bytes : 1;
      given->start < bytes && problem.start >= bytes)
    return Status::invalid(op, "x.data", "at an address that is no multiple of " + std::to_string(bytes),
                           "as planned, a multiple of " + std::to_string(problem.start));
  given->alignment = planned;
  given->start = problem.start;
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, x.device, device));
  RIDGE_TRY(check_workspace(op, scratch, workspace));
  if (workspace && alignment_of(scratch.data) < 16)
    return Status::invalid(op, "workspace", "at an address that is no multiple of 16", "aligned to 256 bytes");
  if (extent.rows == 0) return {};
  const Arguments args{*this, x.data, arity(problem.function) == 2 ? z.data : nullptr, y.data, scratch.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    if constexpr (std::is_same_v<Backend, simt::Cuda>)
      if (variants[variant].config.kernel == Kernel::cluster) return launch_cluster(args);
    if (problem.accumulate == Accumulate::two_float) return launch_two_float<Backend>(args);
    switch (problem.function) {
      case Reduce::sum:
      case Reduce::trace:
      case Reduce::mean: return launch_sum<Backend>(args);
      case Reduce::max:
      case Reduce::min: return launch_extreme<Backend>(args);
      case Reduce::argmax:
      case Reduce::argmin: return launch_arg<Backend>(args);
      case Reduce::dot: return launch_dot<Backend>(args);
    }
    return Status{};
  });
}

static void plan_and_run(Reduce f, const TensorView& x, const TensorView* z, const TensorView& y, int axis,
                         Stream stream, Accumulate accumulate) {
  run_cached(
      ReduceProblem::of(f, x, z, y, axis, accumulate), [](auto& p, auto& d) { return plan_reduce(p, d); }, y.device,
      stream, [&](const ReducePlan& plan, Workspace w) { return plan.run(x, z ? *z : x, y, w, stream); });
}

void reduce(Reduce f, const TensorView& x, int axis, const TensorView& y, Stream stream, Accumulate accumulate) {
  if (arity(f) != 1) throw Error(Status::invalid(name(f), "inputs", "1 tensor", "2 tensors"));
  plan_and_run(f, x, nullptr, y, axis, stream, accumulate);
}

void reduce(Reduce f, const TensorView& x, const TensorView& y, Stream stream) { reduce(f, x, -1, y, stream); }

void dot(const TensorView& x, const TensorView& z, const TensorView& y, Stream stream, Accumulate accumulate) {
  plan_and_run(Reduce::dot, x, &z, y, -1, stream, accumulate);
}

}  // namespace ridge
