// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/as_given.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/norm/launch.hpp>
#include <ridge/norm/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>

namespace ridge {

using namespace norm_detail;

static std::string_view op_name(Norm norm, bool added) {
  if (norm == Norm::layer) return added ? "add_layer_norm" : "layer_norm";
  return added ? "add_rms_norm" : "rms_norm";
}
static std::string_view op_name(const NormProblem& p) { return op_name(p.norm, p.added); }

// ---- what views need

namespace {
struct Named {
  std::string_view name;
  const TensorView* view;  // null: not given
};
using NamedViews = std::initializer_list<Named>;
}  // namespace

static const TensorView* given(const std::optional<TensorView>& view) { return view ? &*view : nullptr; }

static Status check_like(std::string_view op, const TensorView& x, NamedViews rows, NamedViews vectors) {
  if (x.rank() < 1) return Status::invalid(op, "x.shape", "scalar", "of at least one axis");
  const Layout vector = Layout::contiguous({x.size(-1)});
  for (const NamedViews& group : {rows, vectors})
    for (const auto& [name, view] : group) {
      if (!view) continue;
      const Layout& shape = std::data(group) == std::data(rows) ? x.layout : vector;
      const std::string argument(name);
      if (view->dtype != x.dtype)
        return Status::invalid(op, argument + ".dtype", std::string(ridge::name(view->dtype)),
                               "that of x, " + std::string(ridge::name(x.dtype)));
      if (!view->layout.same_shape(shape))
        return Status::invalid(op, argument + ".shape", view->layout.text(), shape.text());
      if (view->device != x.device) return Status::invalid(op, argument + ".device", "another", "that of x");
      RIDGE_TRY(check_data(op, argument, *view));
    }
  return {};
}

// Outputs may overlap no input, but for those that they may be, and not each other.
static Status check_overlap(std::string_view op, NamedViews outputs, NamedViews replaceable, NamedViews others) {
  for (const auto* out = outputs.begin(); out != outputs.end(); ++out) {
    if (!out->view) continue;
    const auto refuse = [&](std::string_view other, const char* must) {
      return Status::invalid(op, std::string(out->name), "overlapping " + std::string(other), must);
    };
    for (const auto& [name, in] : replaceable)
      if (in && overlap(*out->view, *in) && !same_elements(*out->view, *in))
        return refuse(name, "apart from it, or the same elements");
    for (const auto& [name, in] : others)
      if (in && overlap(*out->view, *in)) return refuse(name, "apart from it");
    for (const auto* before = outputs.begin(); before != out; ++before)
      if (before->view && overlap(*out->view, *before->view)) return refuse(before->name, "apart from it");
  }
  return {};
}

static NormProblem problem_of(Norm norm, double eps, const TensorView& x, const TensorView* (&&rows)[3],
                              NamedViews vectors) {
  NormProblem p{.norm = norm, .cols = x.size(-1), .dtype = x.dtype, .eps = eps};
  p.rows = 1;
  for (int axis = 0; axis + 1 < x.rank(); ++axis) p.rows *= x.size(axis);
  const TensorView views[] = {x, rows[0] ? *rows[0] : x, rows[1] ? *rows[1] : x, rows[2] ? *rows[2] : x};
  rows_of(views, p.rows_lie.emplace());
  for (const auto& [name, view] : vectors)
    p.vectors_contiguous = p.vectors_contiguous && (!view || view->size(0) <= 1 || view->stride(0) == 1);
  return p;
}

Result<NormProblem> NormProblem::of(Norm norm, double eps, const NormTensors& t, Accumulate accumulate) {
  const bool added = t.residual || t.sum;
  const std::string_view op = op_name(norm, added);
  if (t.residual.has_value() != t.sum.has_value())
    return Status::invalid(op, t.sum ? "residual" : "sum", "missing", "given, as the other of the two is");
  const TensorView *residual = given(t.residual), *sum = given(t.sum), *gamma = given(t.gamma), *beta = given(t.beta);
  RIDGE_TRY(check_like(op, t.x, {{"y", &t.y}, {"x", &t.x}, {"residual", residual}, {"sum", sum}},
                       {{"gamma", gamma}, {"beta", beta}}));
  RIDGE_TRY(check_overlap(op, {{"y", &t.y}, {"sum", sum}}, {{"x", &t.x}, {"residual", residual}},
                          {{"gamma", gamma}, {"beta", beta}}));
  NormProblem p = problem_of(norm, eps, t.x, {&t.y, residual, sum}, {{"gamma", gamma}, {"beta", beta}});
  p.added = added;
  p.gamma = gamma != nullptr;
  p.beta = beta != nullptr;
  p.accumulate = accumulate;
  return p;
}

Result<NormProblem> NormProblem::of(Norm norm, double eps, const NormGradientTensors& t) {
  const std::string_view op = op_name(norm, t.dsum.has_value());
  const TensorView *gamma = given(t.gamma), *dsum = given(t.dsum), *dgamma = given(t.dgamma), *dbeta = given(t.dbeta);
  const NamedViews vectors = {{"gamma", gamma}, {"dgamma", dgamma}, {"dbeta", dbeta}};
  RIDGE_TRY(check_like(op, t.x, {{"dy", &t.dy}, {"x", &t.x}, {"dsum", dsum}, {"dx", &t.dx}}, vectors));
  RIDGE_TRY(check_overlap(op, {{"dx", &t.dx}, {"dgamma", dgamma}, {"dbeta", dbeta}}, {},
                          {{"dy", &t.dy}, {"x", &t.x}, {"gamma", gamma}, {"dsum", dsum}}));
  for (const auto& [name, view] : NamedViews{{"dgamma", dgamma}, {"dbeta", dbeta}})
    if (view && view->size(0) > 1 && view->stride(0) == 0)
      return Status::invalid(op, std::string(name) + ".strides", "0", "such that elements are apart");
  NormProblem p = problem_of(norm, eps, t.x, {&t.dx, &t.dy, dsum}, vectors);
  p.backward = true;
  p.added = dsum != nullptr;
  p.gamma = gamma != nullptr;
  p.beta = false;
  p.dgamma = dgamma != nullptr;
  p.dbeta = dbeta != nullptr;
  return p;
}

static NormProblem with_layouts(NormProblem p) {
  const Rows rows = Rows::contiguous(p.rows, p.cols);
  if (!p.rows_lie) p.rows_lie = {rows, rows, rows, rows};
  return p;
}

static Status validate(const NormProblem& p) {
  const std::string_view op = op_name(p);
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16 f64");
  if (p.accumulate == Accumulate::two_float && (p.dtype != f32 || p.backward))
    return Status::invalid(op, "accumulate", "two_float",
                           "left away: it is for rows of f32, forward, and " +
                               (p.backward ? "these are gradients" : "these are of " + std::string(name(p.dtype))));
  if (p.rows < 0 || p.cols < 0)
    return Status::invalid(op, "shape", std::to_string(p.rows) + "x" + std::to_string(p.cols), "of sizes from 0");
  if (!(p.eps >= 0) || !std::isfinite(p.eps))
    return Status::invalid(op, "eps", std::to_string(p.eps), "finite and not negative");
  for (int i : {1, 3}) {
    const Rows& rows = (*p.rows_lie)[i];
    if (i == 3 && (p.backward || !p.added)) continue;  // an input, or none
    const std::string argument = i == 3 ? "sum.strides" : p.backward ? "dx.strides" : "y.strides";
    for (int axis = 0; axis < rows.outer.rank; ++axis)
      if (rows.outer.stride[axis] == 0) return Status::invalid(op, argument, "0", "such that elements are apart");
    if (rows.step == 0 && p.cols > 1) return Status::invalid(op, argument, "0", "such that elements are apart");
  }
  return {};
}

// ---- which rows of the table take it

static bool wants_sums(const NormProblem& p) { return p.backward && (p.dgamma || p.dbeta); }
static bool is_two_float(const NormProblem& p) { return p.accumulate == Accumulate::two_float; }
static int tensors_kept(const NormProblem& p) { return p.backward ? 2 : 1; }
static std::int64_t size(const NormProblem& p) { return static_cast<std::int64_t>(size_of(p.dtype)); }
// Whole 16-byte units of the longest row: that of one that starts on a boundary.
static std::int64_t units(const NormProblem& p) { return p.cols / (unit_bytes / size(p)); }

// And of the shortest, one that starts behind a boundary; and what of it is left for a cluster's last block.
static std::int64_t least_units(const NormProblem& p) {
  const std::int64_t of_unit = unit_bytes / size(p);
  return phases_of(p) > 1 || (*p.rows_lie)[0].phase != 0 ? std::max<std::int64_t>(p.cols - of_unit + 1, 0) / of_unit
                                                         : units(p);
}
static std::int64_t last_slice(const Config& c, const NormProblem& p) {
  const std::int64_t slice = (units(p) + c.cluster - 1) / c.cluster;
  return least_units(p) - (c.cluster - 1) * slice;
}

// Why 16-byte units do not lie alike in every row of every tensor; empty: they do.
static std::string units_differ(const NormProblem& p) {
  const Rows& x = (*p.rows_lie)[0];
  for (const Rows& rows : *p.rows_lie) {
    if (rows.step != 1) return "a row's elements are not contiguous";
    if (rows.outer.rank > 1) return "rows are not evenly spaced";
    if (rows.phase != x.phase || (rows.pitch() - x.pitch()) * size(p) % unit_bytes != 0)
      return "rows of the tensors start at different distances from 16-byte boundaries";
  }
  return p.vectors_contiguous ? "" : "gamma, beta or a gradient of them is not contiguous";
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (is_two_float(p) && !c.two_float) return "it has no sums in two floats";
  if (c.method == Method::streaming) return {};
  if (c.method == Method::vector && p.backward) return "it has no gradient";
  if (keeps_sums(c) && !wants_sums(p) && c.method != Method::span_sums) return "it is for gradients of gamma and beta";
  if (c.overlaps && p.backward) return "it has no gradient";
  if (c.overlaps && p.rows > device.sms) return "it is for no more rows than there are multiprocessors";
  if (c.plain && use_of(p) != Use::plain) return "it has rows alone: no sum, no gradient";
  if (c.added && use_of(p) != Use::added) return "it is for rows with a residual";
  if (c.method == Method::span || c.method == Method::span_sums) {
    if (p.backward != (c.method == Method::span_sums)) return p.backward ? "it has no gradient" : "it is for gradients";
    if (p.cols > tile::span_most_cols)
      return "a row has " + std::to_string(p.cols) + " elements, and a thread keeps " +
             std::to_string(tile::span_most_cols);
    const Rows& x = (*p.rows_lie)[0];
    for (const Rows& rows : *p.rows_lie) {
      if (rows.step != 1) return "a row's elements are not contiguous";
      if (rows.outer.rank > 1 || (p.rows > 1 && rows.pitch() != p.cols)) return "there are gaps between rows";
      if (rows.phase != x.phase) return "the tensors start at different distances from 16-byte boundaries";
    }
    if (const int smem = span_shape(c, p, device).smem; smem > device.smem_optin)
      return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
    return {};
  }
  if (p.dtype == f64) return "f64 has no 16-byte row of this kind";
  if (std::string why = units_differ(p); !why.empty()) return why;
  if (c.method == Method::vector) return {};
  if (c.method == Method::split) {
    if (slices_of(c, p, device).of_row < 2) return "rows are too short to be split, or as many as hold all blocks";
    return {};
  }
  if (c.four_bytes && size(p) != 4) return "it is for elements of 4 bytes";
  if (c.method == Method::short_rows || c.method == Method::short_sums || c.method == Method::even) {
    if (p.backward && c.method != Method::short_sums) return "it has no gradient";
    if (p.cols % (unit_bytes / size(p)) != 0 || (*p.rows_lie)[0].phase != 0 || phases_of(p) > 1)
      return "rows are not of whole 16-byte units, from a boundary on";
  }
  if (c.method == Method::short_rows || c.method == Method::short_sums) {
    if (units(p) > lanes(c))
      return "a row has " + std::to_string(units(p)) + " units of 16 bytes, and " + std::to_string(lanes(c)) +
             " are kept";
    return {};
  }
  // A cluster lies within a GPC. More than 8 blocks, of a multiprocessor each, are promised by none; those of an H100
  // and of an H200 have 16 and more, and those of smaller parts may not.
  constexpr int portable_cluster = 8, wide_clusters_from_sms = 100;
  if (c.cluster > portable_cluster && device.sms < wide_clusters_from_sms)
    return "clusters of " + std::to_string(c.cluster) + " blocks are for devices of " +
           std::to_string(wide_clusters_from_sms) + " multiprocessors and more";
  if (is_ring(c)) {
    if (device.cc != 90) return "the copy engine and clusters are of compute capability 9.0";
    if (p.backward) return "it has no gradient";
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    if (ring.slice_units > ring_units(c) || ring.stages == 0)
      return "a row's slice has " + std::to_string(ring.slice_units) + " units of 16 bytes; " +
             std::to_string(ring_units(c)) + " are kept, and rows must fit in " + std::to_string(device.smem_optin) +
             " bytes of shared memory";
    return {};
  }
  if (c.cluster > 1 && device.cc != 90) return "clusters are of compute capability 9.0";
  if (c.cluster > 1 && units(p) < c.cluster)
    return "a row has " + std::to_string(units(p)) + " units of 16 bytes for " + std::to_string(c.cluster) + " blocks";
  if (const std::int64_t most = capacity(c, use_of(p)); units(p) > most)
    return "a row has " + std::to_string(units(p)) + " units of 16 bytes, and " + std::to_string(most) + " are kept";
  if (c.method == Method::fused) {
    if (p.rows >= std::int64_t{1} << 31) return "it counts rows in 31 bits";
    if (has_roles(c)) {
      if (size(p) != 2) return "it is for elements of 2 bytes";
      if (p.added) return "it has no dsum";
      if (const std::int64_t least = c.summing * c.cluster; least_units(p) < least || last_slice(c, p) < c.summing)
        return "a row has " + std::to_string(least_units(p)) + " units of 16 bytes for " + std::to_string(least) +
               " threads that sum it up";
      if (role_rows(c, p, device.smem_optin).stages == 0)
        return "three rows do not fit in " + std::to_string(device.smem_optin) + " bytes of shared memory";
      return {};
    }
    if (fused_rows(c, p, device.smem_optin).stages == 0)
      return "two rows for each that is worked on do not fit in " + std::to_string(device.smem_optin) +
             " bytes of shared memory";
    return {};
  }
  if (const int smem = smem_bytes(c, use_of(p)); smem > device.smem_optin)
    return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
  return {};
}

// ---- grids

static std::int64_t grid_of(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (p.cols == 0 || p.rows == 0) return 0;
  if (is_ring(c)) {  // blocks stay, and go through rows
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    const std::int64_t room = roofline::resident_clusters(device, c.cluster);
    return std::max<std::int64_t>(std::min(ring.clusters_of(p.rows), room) / ring.phases, 1) * ring.phases * c.cluster;
  }
  if (c.method == Method::split) return p.rows * slices_of(c, p, device).of_row;
  if (c.method == Method::span || c.method == Method::span_sums) {
    const std::int64_t rows = span_shape(c, p, device).rows, blocks = (p.rows + rows - 1) / rows;
    return c.method == Method::span ? blocks : std::min<std::int64_t>(blocks, device.sms * c.blocks_per_sm);
  }
  const std::int64_t blocks = (p.rows + rows_per_block(c) - 1) / rows_per_block(c);
  if (c.method == Method::short_sums) return std::min<std::int64_t>(blocks, device.sms * c.blocks_per_sm);
  if (c.method != Method::fused) return blocks * c.cluster;
  // As many blocks, or clusters, as there is room for.
  return std::min<std::int64_t>(blocks, roofline::resident_clusters(device, c.cluster)) * c.cluster;
}

namespace norm_detail {

SumsPlan sums_plan(const NormPlan& plan) {
  const NormProblem& p = plan.problem;
  const std::int64_t x_bytes = p.dtype == f64 ? 8 : 4;
  SumsPlan sums;
  if (!wants_sums(p) || p.rows == 0 || p.cols == 0) return sums;
  const Config& c = variants[plan.variant].config;
  sums.fused = keeps_sums(c);
  if (sums.fused) {
    // A share of the rows, and one for each phase that another begins.
    sums.slices = plan.grid / c.cluster;
    if (c.method != Method::span_sums) sums.slices += std::min(phases_of(p), p.rows) - 1;
  } else {
    constexpr std::int64_t line = 256;
    sums.statistics_bytes = static_cast<std::size_t>((p.rows * statistics_size * x_bytes + line - 1) / line * line);
    sums.of_few = p.rows <= few_rows;
  }
  if (!sums.fused && !sums.of_few) {
    constexpr std::int64_t least_rows = 64, blocks_per_sm = 8;  // to be worth a slice; of the kernel over columns
    const std::int64_t groups = (p.cols + columns_wide - 1) / columns_wide;
    const std::int64_t wanted = (plan.device.sms * blocks_per_sm + groups - 1) / groups;
    const std::int64_t slices = std::clamp<std::int64_t>(wanted, 1, (p.rows + least_rows - 1) / least_rows);
    sums.rows_of_slice = (p.rows + slices - 1) / slices;
    sums.slices = (p.rows + sums.rows_of_slice - 1) / sums.rows_of_slice;
  }
  sums.bytes = sums.statistics_bytes + static_cast<std::size_t>(sums.slices * 2 * p.cols * x_bytes);
  return sums;
}

std::size_t partials_at(const SumsPlan& sums) {
  constexpr std::size_t line = 256;
  return (sums.bytes + line - 1) / line * line;
}

}  // namespace norm_detail

std::size_t NormPlan::workspace_bytes() const {
  const SumsPlan sums = sums_plan(*this);
  if (variants[variant].config.method != Method::split || grid == 0) return sums.bytes;
  return partials_at(sums) + static_cast<std::size_t>(grid) * partial_floats * sizeof(float);
}

// ---- cost

static double elements(const NormProblem& p) { return static_cast<double>(p.rows) * static_cast<double>(p.cols); }

static Cost cost(const NormProblem& p) {
  const double n = elements(p), bytes = static_cast<double>(size(p)), cols = static_cast<double>(p.cols);
  Cost c;
  c.bytes_read = n * bytes * ((p.backward ? 2 : 1) + p.added) + cols * bytes * (p.gamma + p.beta);
  c.bytes_written = n * bytes * (1 + (p.added && !p.backward)) + cols * bytes * (p.dgamma + p.dbeta);
  // Forward: sum; difference, its square and sums; difference, scale, gamma and beta. Backward: the sums of g, and dx.
  const double forward = is_two_float(p) ? p.norm == Norm::rms ? 11 : 18 : 9;  // two_float.cuh
  c.on(p.dtype == f64 ? Unit::fp64 : Unit::fp32) =
      n * (forward + p.added) + (p.backward ? n * (7 + 2 * p.dgamma + p.dbeta) : 0);
  return c;
}

// Registers of a thread, to the unit in which they are handed out: what nvcc 13 makes of the rows for sm_90a.
static int registers(const Config& c, const NormProblem& p) {
  if (is_two_float(p))
    return c.method == Method::streaming ? 64 : c.in_registers >= 8 ? 80 : c.in_registers >= 4 ? 64 : 48;
  if (c.method == Method::fused) return 128;
  if (c.method == Method::short_sums) return 64;
  if (is_ring(c)) return c.threads > 384 ? 128 : 168;
  if (c.method == Method::even) return 64;
  if (c.method == Method::span || c.method == Method::span_sums) return 64;
  if (c.method != Method::resident) return c.method == Method::vector || c.method == Method::split ? 64 : 40;
  return c.in_registers >= 8 ? 80 : c.in_registers >= 4 || p.backward ? 64 : 40;
}

// Clocks of a multiprocessor for 32 elements of a forward pass, beyond what loads hide.
// In two floats as fitted to an H200.
static double forward_clocks(const NormProblem& p) {
  if (is_two_float(p)) return p.norm == Norm::rms ? 2.75 : 4.25;
  return p.dtype == f64 ? 40 : 2.5;
}

// How often a thread goes to memory and waits, in all passes; loads of a pass follow one another by fours.
static double trips(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  const auto times = [](double work, double at_once) { return std::ceil(work / at_once); };
  const double cols = static_cast<double>(p.cols);
  switch (c.method) {
    case Method::streaming: return (is_two_float(p) ? 2 : 3) * times(times(cols, lanes(c)), lanes(c) == 1 ? 1 : 4);
    case Method::vector: return 2 * times(static_cast<double>(units(p)), 4.0 * c.threads);
    case Method::split: {
      const double of_unit = unit_bytes / static_cast<double>(size_of(p.dtype));
      return 2 * times(static_cast<double>(slices_of(c, p, device).cols), of_unit * c.threads * (p.backward ? 2 : 4)) +
             1;
    }
    case Method::span:
    case Method::span_sums:
    case Method::short_rows:
    case Method::short_sums:
    case Method::resident:
    case Method::even:
    case Method::ring:
    case Method::fused: return 1;
  }
  return 1;
}

static roofline::Kernel kernel_of(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Cost least = cost(p);
  const double bytes = static_cast<double>(size(p)), row_bytes = static_cast<double>(p.cols) * bytes;
  NormPlan plan{p, device, static_cast<int>(&row - variants), grid_of(c, p, device)};
  roofline::Kernel k;
  k.cost = least;
  k.blocks = plan.grid;
  k.block = {.threads = has_roles(c) ? role_threads(c) : c.threads,
             .registers = registers(c, p),
             .smem = c.method == Method::span || c.method == Method::span_sums ? span_shape(c, p, device).smem
                     : is_ring(c)                ? ring_of(c, p, device.smem_optin).smem_bytes()
                     : has_roles(c)              ? role_rows(c, p, device.smem_optin).smem
                     : c.method == Method::fused ? fused_rows(c, p, device.smem_optin).smem
                                                 : smem_bytes(c, use_of(p))};
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  if (c.method == Method::vector) k.memory_share = 0.75;  // measured at 1024x131072
  // The next time the rows come from where those under way fit: beside shared memory, in the L2 cache, in memory.
  const double per_sm = std::min(static_cast<double>(roofline::occupancy(device, k.block).blocks),
                                 std::ceil(static_cast<double>(k.blocks) / device.sms));
  const double under_way = per_sm * static_cast<double>(rows_per_block(c)) * row_bytes * tensors_kept(p);
  const double after_first = c.method == Method::vector || is_two_float(p) ? 1 : p.backward ? 1.5 : 2;
  const double passes = c.method == Method::streaming || c.method == Method::vector ? after_first : 0;
  const double again = passes * elements(p) * bytes * tensors_kept(p);
  constexpr double l2_share = 0.3;  // of the cache, for the input: as much is output, and its halves keep copies
  if (again > 0 && under_way * device.sms > l2_share * static_cast<double>(device.l2_bytes)) k.bytes_read += again;
  else if (under_way > device.smem_per_sm) k.l2_bytes = again;
  k.trips = trips(c, p, device);
  k.trip_bytes = std::min(row_bytes * static_cast<double>(rows_per_block(c)),
                          (c.method == Method::vector ? 4.0 * unit_bytes : bytes) * c.threads);
  if (c.method == Method::split) {
    // The row is read again as far as the L2 cache has it, behind a wait for what all of its blocks have found; the
    // more blocks there are, the longer that takes. Fitted to an H200.
    k.launches = 2;
    k.memory_share = p.backward ? 0.5 : 0.8;
    k.serial_us = 1.2 + (p.backward ? 0.02 : 0.015) * static_cast<double>(k.blocks);
    k.trip_bytes = 4.0 * unit_bytes * c.threads;
    k.block_us = 1.5;
  } else if (c.method == Method::span || c.method == Method::span_sums) {
    // Of gradients, turns follow one another, each brought while the one before is worked on.
    const SpanShape shape = span_shape(c, p, device);
    const double in_turn = c.method == Method::span
                               ? 1
                               : std::ceil(static_cast<double>(p.rows) / static_cast<double>(plan.grid * shape.rows));
    const double of_thread = std::ceil(static_cast<double>(shape.rows) / c.threads) * static_cast<double>(p.cols);
    k.trip_bytes = row_bytes * shape.rows * tensors_kept(p);
    k.trips = in_turn;
    k.block_us = (p.backward ? 2.0 + 0.06 * of_thread : 0.8 + 0.06 * of_thread) * in_turn;
  } else if (has_roles(c)) {
    // The same, each row's sums behind those of the row before. Fitted to an H200.
    const double in_turn = std::ceil(static_cast<double>(p.rows) * c.cluster / static_cast<double>(plan.grid));
    const RoleRows shape = role_rows(c, p, device.smem_optin);
    k.trips = 1 + 0.25 * in_turn;
    k.trip_bytes = static_cast<double>(shape.smem);
    k.block_us = (0.35 + 0.16 * static_cast<double>(shape.slice_units) / c.threads) * in_turn;
    if (c.cluster > 4) k.serial_us += 14;  // as below
  } else if (c.method == Method::fused) {
    // Turns follow one another, each brought while two are worked on: the reductions of one, and the passes over each
    // unit that a lane can have; a cluster's with a message. Fitted to an H200.
    const double in_turn = std::ceil(static_cast<double>(p.rows) * c.cluster / static_cast<double>(plan.grid * c.rows));
    constexpr double fitted_threads = 448;  // clusters had blocks of as many when this was fitted
    const double of_lanes = c.cluster > 1 ? c.in_registers * c.threads / fitted_threads : c.in_registers;
    const double turn_us =
        0.7 + 0.01 * lanes(c) / device.warp + (c.cluster > 1 ? 0.3 : 0) + (bytes == 2 ? 0.4 : 0.25) * of_lanes;
    k.trips = 1 + 0.25 * in_turn;
    k.trip_bytes = static_cast<double>(fused_rows(c, p, device.smem_optin).smem);
    k.block_us = turn_us * in_turn;
    if (c.cluster > 4)
      k.serial_us += 14;  // until all of such a cluster's blocks have their memory: of 1 to 8 rows, measured
    k.tile_efficiency = static_cast<double>(units(p)) / static_cast<double>(capacity(c, Use::gradient));
  } else if (c.method == Method::even) {
    // Of a row: its reduction, and two passes over each unit; fitted to an H200.
    const double of_lane = std::max(std::ceil(static_cast<double>(units(p)) / lanes(c)), 1.0);
    k.block_us = 0.6 + 0.01 * c.threads / 32 + (bytes == 4 ? 0.1 : 0.27) * of_lane;
    k.trip_bytes = row_bytes;
    k.tile_efficiency = static_cast<double>(units(p)) / static_cast<double>(capacity(c, use_of(p)));
    // A residual beyond four units of a lane comes behind them, which several small blocks do not hide. Measured.
    if (p.added && of_lane > 4 && c.threads <= 256) k.memory_share = 0.97;
  } else if (c.method == Method::resident) {
    // Of a row: its reductions, and the passes over each unit, which take longer where they are in shared memory;
    // fitted to an H200.
    const double of_lane = std::max(std::ceil(static_cast<double>(units(p)) / (lanes(c) * c.cluster)), 1.0);
    const double in_registers = std::min<double>(of_lane, held(c, use_of(p)).in_registers);
    const double register_us = p.backward ? (bytes == 2 ? 0.68 : 0.5) : bytes == 2 ? 0.3 : 0.1;
    const double shared_us = p.backward ? (bytes == 2 ? 2.4 : 3.0) : (bytes == 2 ? 0.93 : 0.8) * (p.added ? 1 : 0.68);
    const double shifted =
        phases_of(p) > 1 && p.gamma ? (bytes == 2 ? 2.4 : 1.7) : 1;  // gamma lies differently from the row
    const double longer_us = is_two_float(p) ? register_us * (forward_clocks(p) / 2.5 - 1) : 0;  // as instructions go
    k.block_us = (lanes(c) > device.warp ? 0.6 + 0.01 * c.threads / 32 : 0.2) +
                 (c.cluster > 1 ? (c.cluster > 2 ? 2.7 : 0.65) * c.cluster : 0) +
                 shifted * (register_us * in_registers + shared_us * (of_lane - in_registers)) + longer_us * of_lane;
    if (lanes(c) <= device.warp && p.cols <= tile::span_most_cols) k.block_us += 0.6;  // nearly all lanes are idle
    if (bytes == 4 && use_of(p) == Use::plain) k.memory_share = 0.975;                 // measured
    k.trip_bytes = row_bytes / c.cluster * tensors_kept(p) * c.rows;
    k.tile_efficiency = static_cast<double>(units(p)) / static_cast<double>(capacity(c, use_of(p)));
  } else if (is_ring(c)) {
    // A team's rows follow one another. Of a row: its reduction, and the passes over each unit; fitted to an H200.
    const tile::RowRing ring = ring_of(c, p, device.smem_optin);
    const double of_lane = std::ceil(static_cast<double>(ring.slice_units) / c.team);
    const double of_16_bits = c.team > 384 ? 0.22 : 0.19;
    const double unit_us = (bytes == 2 ? of_16_bits : 0.1) * (!p.added ? 1 : phases_of(p) > 1 ? 1.6 : 1.05);
    const double row_us = 0.24 + 0.05 * c.cluster + unit_us * of_lane;
    const double teams = static_cast<double>(plan.grid) / c.cluster * ring.teams;
    k.trip_bytes = static_cast<double>(ring.teams) * ring.stages * ring.slot();
    k.trips = std::ceil(static_cast<double>(p.rows) / teams);  // one row while another is brought
    k.block_us = (row_us - device.memory_latency_us) * k.trips;
    k.serial_us = tile::RowRing::start_us(c.cluster) + 1.5;  // then gamma and beta
  } else if (c.method == Method::short_sums) {
    // Blocks stay: a turn's loads, reductions and passes follow one another, beside another block's. Fitted to an H200.
    const double turns = std::ceil(static_cast<double>(p.rows) / static_cast<double>(plan.grid * c.rows));
    k.trips = turns;
    k.trip_bytes = row_bytes * c.rows * tensors_kept(p);
    k.block_us = (bytes == 2 ? 2.2 : 1.3) * turns;
  } else if (c.method == Method::short_rows) {
    k.trip_bytes = row_bytes * static_cast<double>(rows_per_block(c));
    k.block_us = 0.5 * lanes(c) / static_cast<double>(units(p));
  } else {
    // Units of two passes, and merging what they give; softmax's row of this kind has 2.2.
    k.block_us = c.method == Method::vector ? 2.2 + 0.3 * static_cast<double>(units(p)) / c.threads : 0.25;
  }
  if (c.overlaps && device.cc == 90) k.serial_us -= 1;  // its beginning lies behind the end of the kernel before it
  // 16-bit elements are converted in each pass, of gradients gamma for every row.
  const bool is_short = c.method == Method::short_rows;
  double conversions = 0;
  if (bytes == 2 && c.method == Method::resident) conversions = p.backward ? 4 + 1.5 * p.gamma : 2;
  if (bytes == 2 && is_short) conversions = 1;
  // Lanes that have no unit of a short row take as long as those that do.
  const double worked_on = is_short ? static_cast<double>(p.rows) * lanes(c) * unit_bytes / bytes : elements(p);
  k.clocks = (forward_clocks(p) + conversions) / 32 * (p.backward ? 2 : 1) * worked_on;
  if (bytes <= 4 && (c.method == Method::span || c.method == Method::span_sums)) {
    // Instructions, four warps' at a time: of an element, and of a row. Fitted to an H200.
    const double of_element = p.backward ? 120 : 56, of_row = p.backward ? 200 : 260;
    k.clocks = (of_element * static_cast<double>(p.cols) + of_row) / 128 * static_cast<double>(p.rows);
  }
  if (wants_sums(p)) {
    const SumsPlan sums = sums_plan(plan);
    const double slices = static_cast<double>(sums.bytes);
    k.launches += sums.fused || sums.of_few ? 1 : 2;
    k.bytes_written += slices;
    if (!sums.fused) {
      k.bytes_read += 2 * elements(p) * bytes;
      const double high = columns_threads / columns_wide * 4.0;  // rows on their way at once
      k.serial_us += 2 + device.memory_latency_us * static_cast<double>(sums.rows_of_slice) / high;
    }
    k.serial_us += 2 * device.memory_latency_us + (device.l2_gbs > 0 ? slices / device.l2_gbs * 1e-3 : 0);
  }
  return k;
}

static double predict_us(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

Result<NormPlan> plan_norm(const NormProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  const NormProblem p = with_layouts(problem);
  RIDGE_TRY(validate(p));
  auto chosen = select<Variant>(
      op_name(p), variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) {
        // The textbook's steps are for what nothing else takes, also where a few elements would take equally long.
        return predict_us(row, p, device) * (!row.config.ladder ? 1 : lanes(row.config) == 1 ? 10 : 2);
      });
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  const std::int64_t grid = grid_of(c, p, device);
  if (grid > max_grid)
    return Status::invalid(op_name(p), "rows", std::to_string(p.rows),
                           "at most " + std::to_string(max_grid / c.cluster * rows_per_block(c)));
  return NormPlan{p, device, *chosen, grid};
}

Explanation NormPlan::explain() const {
  Explanation e;
  e.op = op_name(problem);
  e.problem = std::string(name(problem.dtype)) + " " + std::to_string(problem.rows) + "x" +
              std::to_string(problem.cols) + (problem.backward ? " backward" : "") +
              (is_two_float(problem) ? ", in two floats" : "");
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace_bytes();
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)select<Variant>(
      e.op, variants, {}, [&](const Variant& row) { return fits(row, problem, device); },
      [&](const Variant& row) { return predict_us(row, problem, device); }, &e.candidates);
  return e;
}

// ---- run

static Status check_planned(const NormPlan& plan, const Result<NormProblem>& views, const TensorView& x,
                            const Workspace& workspace) {
  if (!views) return views.error();
  const std::string_view op = op_name(plan.problem);
  if (*views != plan.problem) {
    // Tensors may start elsewhere than was planned for where the row takes them so.
    NormProblem planned = plan.problem;
    for (int i = 0; i < 4; ++i) (*planned.rows_lie)[i].phase = (*views->rows_lie)[i].phase;
    if (*views != planned || !fits(variants[plan.variant], *views, plan.device).empty())
      return Status::invalid(op, "tensors", std::string(name(x.dtype)) + " " + x.layout.text() + " or their alignment",
                             "as planned, " + std::string(name(planned.dtype)) + " " + std::to_string(planned.rows) +
                                 "x" + std::to_string(planned.cols));
  }
  if (x.device != plan.device.id) return Status::invalid(op, "device", "another", "the plan's");
  if (workspace.bytes < plan.workspace_bytes())
    return Status::invalid(op, "workspace", std::to_string(workspace.bytes) + " bytes",
                           "at least " + std::to_string(plan.workspace_bytes()));
  return {};
}

static Vector vector_of(const std::optional<TensorView>& v) {
  return v ? Vector{v->data, v->layout.stride[0]} : Vector{};
}
static void* data_of(const std::optional<TensorView>& v) { return v ? v->data : nullptr; }

// given: the problem of the tensors. Rings have more room for those off the units that were planned for.
static Status start(const NormPlan& planned, const NormProblem& given, const Operands& operands, Stream stream) {
  if (given.cols == 0 || (planned.grid == 0 && !wants_sums(given))) return {};
  return as_given(planned, given, [&](const NormPlan& plan) {
    return on_backend(plan.device.id, [&](auto backend) {
      if (is_two_float(given)) return launch_two_float<decltype(backend)>(plan, operands, stream);
      return Types::visit(given.dtype, Status{},
                          [&]<class T>() { return launch<decltype(backend), T>(plan, operands, stream); });
    });
  });
}

Status NormPlan::run(const NormTensors& t, Workspace workspace, Stream stream) const {
  const auto given = NormProblem::of(problem.norm, problem.eps, t, problem.accumulate);
  RIDGE_TRY(check_planned(*this, given, t.x, workspace));
  return start(*this, *given,
               {.x = t.x.data,
                .y = t.y.data,
                .other = data_of(t.residual),
                .added = data_of(t.sum),
                .gamma = vector_of(t.gamma),
                .beta = vector_of(t.beta),
                .workspace = workspace.data},
               stream);
}

Status NormPlan::run(const NormGradientTensors& t, Workspace workspace, Stream stream) const {
  const auto given = NormProblem::of(problem.norm, problem.eps, t);
  RIDGE_TRY(check_planned(*this, given, t.x, workspace));
  return start(*this, *given,
               {.x = t.x.data,
                .y = t.dx.data,
                .other = t.dy.data,
                .added = data_of(t.dsum),
                .gamma = vector_of(t.gamma),
                .dgamma = vector_of(t.dgamma),
                .dbeta = vector_of(t.dbeta),
                .workspace = workspace.data},
               stream);
}

// ---- one line

template <class Tensors>
static void run_cached(const Result<NormProblem>& problem, const Tensors& tensors, Stream stream) {
  thread_local PlanCache<NormProblem, NormPlan> cache;
  const Device device = tensors.x.device;
  throw_if(problem.error());
  auto plan = cache.find(*problem, device, [](auto& p, auto& d) { return plan_norm(p, d); });
  throw_if(plan.error());
  throw_if(run_with_workspace(**plan, device, stream,
                              [&](Workspace workspace) { return (*plan)->run(tensors, workspace, stream); }));
}
static void run_forward(Norm norm, const NormTensors& tensors, const NormOptions& o, Stream stream) {
  run_cached(NormProblem::of(norm, o.eps, tensors, o.accumulate), tensors, stream);
}

void layer_norm(const TensorView& x, const TensorView& y, const NormOptions& o, Stream stream) {
  run_forward(Norm::layer, {.x = x, .gamma = o.gamma, .beta = o.beta, .y = y}, o, stream);
}
void rms_norm(const TensorView& x, const TensorView& y, const NormOptions& o, Stream stream) {
  run_forward(Norm::rms, {.x = x, .gamma = o.gamma, .beta = o.beta, .y = y}, o, stream);
}
void add_layer_norm(const TensorView& x, const TensorView& residual, const TensorView& y, const TensorView& sum,
                    const NormOptions& o, Stream stream) {
  run_forward(Norm::layer, {.x = x, .residual = residual, .gamma = o.gamma, .beta = o.beta, .y = y, .sum = sum}, o,
              stream);
}
void add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& y, const TensorView& sum,
                  const NormOptions& o, Stream stream) {
  run_forward(Norm::rms, {.x = x, .residual = residual, .gamma = o.gamma, .beta = o.beta, .y = y, .sum = sum}, o,
              stream);
}
void norm_gradients(Norm norm, const NormGradientTensors& t, double eps, Stream stream) {
  run_cached(NormProblem::of(norm, eps, t), t, stream);
}

}  // namespace ridge
