// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/dwconv/launch.hpp>
#include <ridge/dwconv/variants.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/roofline/predict.hpp>

#include <array>
#include <cmath>

namespace ridge {

using namespace dwconv_detail;

static constexpr std::string_view op = "dwconv";

DwconvProblem DwconvProblem::contiguous(DType dtype, std::int64_t batch, std::int64_t channels, std::int64_t time,
                                        std::int64_t taps, bool backward) {
  DwconvProblem p{.batch = batch, .channels = channels, .time = time, .taps = taps, .dtype = dtype};
  p.backward = backward;
  p.y = p.k = Layout::contiguous({batch, channels, time});
  p.w = Layout::contiguous({channels, taps});
  if (backward) p.dk = p.k;
  if (backward) p.dw = p.w;
  return p;
}

namespace {

struct Named {
  std::string name;
  const TensorView* view;
};

// Checks that inputs and outputs share dtype and device, and do not overlap.
Status check_together(const TensorView& k, std::initializer_list<Named> inputs, std::initializer_list<Named> outputs) {
  for (const auto& list : {inputs, outputs})
    for (const auto& [label, view] : list) {
      if (view->dtype != k.dtype)
        return Status::invalid(op, label + ".dtype", std::string(name(view->dtype)),
                               "that of k, " + std::string(name(k.dtype)));
      RIDGE_TRY(check_same_device(op, label, view->device, "k", k.device));
    }
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    for (const Named& in : inputs)
      if (share_memory(*in.view, *out->view))
        return Status::invalid(op, out->name, "overlapping " + in.name, "apart from it");
    for (auto other = outputs.begin(); other != out; ++other)
      if (share_memory(*other->view, *out->view))
        return Status::invalid(op, out->name, "overlapping " + other->name, "apart from it");
    RIDGE_TRY(check_elements_apart(op, out->name, out->view->layout));
  }
  return {};
}

Status check_like(const Named& given, const Named& model) {
  if (given.view->layout.same_shape(model.view->layout)) return {};
  return Status::invalid(op, given.name + ".shape", given.view->layout.text(),
                         "that of " + model.name + ", " + model.view->layout.text());
}

Result<DwconvProblem> signal_and_filter(const TensorView& k, const TensorView& w) {
  if (k.rank() != 3) return Status::invalid(op, "k.shape", k.layout.text(), "of 3 axes: batch, channels, time");
  if (w.rank() != 2 || w.size(0) != k.size(1))
    return Status::invalid(op, "w.shape", w.layout.text(),
                           "of 2 axes: k's " + std::to_string(k.size(1)) + " channels, and the filter's length");
  DwconvProblem p{.batch = k.size(0), .channels = k.size(1), .time = k.size(2), .taps = w.size(1), .dtype = k.dtype};
  p.k = k.layout;
  p.w = w.layout;
  return p;
}

int least_alignment(std::initializer_list<const TensorView*> views) {
  int least = 16;
  for (const TensorView* view : views) least = std::min(least, alignment_of(view->data));
  return least;
}

Status validate(const DwconvProblem& p) {
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "k.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (!std::isfinite(p.eps)) return Status::invalid(op, "eps", number_text(p.eps), "finite");
  RIDGE_TRY(check_sizes(op, "k.shape", {p.batch, p.channels, p.time}));
  return check_sizes(op, "w.shape", {p.channels, p.taps});
}

// ---- fits -----------------------------------------------------------------------------------------------------------

constexpr std::int64_t max_steps = std::int64_t{1} << 30;  // for int arithmetic within a row

// Blocks of the largest launch.
std::int64_t grid_of(const Config& c, const DwconvProblem& p, int sms) {
  const std::int64_t of_w = p.backward ? p.taps : 0;
  if (c.method == Method::element) return ceil_div(p.channels * std::max(p.batch * p.time, of_w), c.threads);
  if (c.method == Method::tiled)
    return std::max(tiled_grid(c, p, p.time, false), of_w ? tiled_grid(c, p, of_w, true) : 0);
  if (c.method == Method::spectral)
    return std::max(spectral_grid(c, p, p.time, false), of_w ? spectral_grid(c, p, of_w, true) : 0);
  if (c.method == Method::ring) return ring_grid(c, p, sms);
  if (c.method == Method::whole) return whole_items(p.batch, p.channels);
  return std::max(tensor_grid(c, p), p.backward ? p.channels : 0);
}

std::int64_t whole_rows_bytes(const DwconvProblem& p) { return whole_smem_bytes(whole_chunks(p)) + whole_static_bytes; }

// Bytes of shared memory, in the launch that takes most.
std::int64_t smem_of(const Config& c, const DwconvProblem& p) {
  if (c.method == Method::spectral) return spectral_smem_bytes(c);
  if (c.method == Method::ring) return ring_smem_bytes(c);
  if (c.method == Method::tiled) return tiled_smem_bytes(c, false);
  if (c.method == Method::element) return 0;
  if (c.method == Method::tensor) return p.backward ? band_smem_bytes(p) : tensor_smem_bytes(c, p.dtype);
  if (!p.backward) return whole_rows_bytes(p);
  const std::int64_t chunks = whole_chunks(p);
  return std::max(whole_rows_bytes(p),
                  chunks <= most_whole_chunks ? whole_lags_smem_bytes(chunks) : band_smem_bytes(p));
}

// Why this row cannot run this problem; empty: it can.
std::string fits(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const bool empty = p.taps == 0 || p.batch == 0 || p.time == 0;
  if ((c.method == Method::spectral || c.method == Method::ring) && empty) return "there is nothing to multiply";
  if (c.method == Method::ring && p.time > c.points)
    return "rows of " + std::to_string(p.time) + " steps, and it takes " + std::to_string(c.points);
  if (c.method != Method::element && (p.time > max_steps || p.taps > max_steps))
    return "time or the filter is longer than 2^30";
  if (grid_of(c, p, device.sms) > max_grid) return "more than 2^31 blocks";
  if (c.method == Method::element || c.method == Method::tiled) return {};
  if (c.method == Method::tensor && (device.is_cpu() || device.cc < 80))
    return "the device has no tensor cores of compute capability 8.0";
  if (c.method == Method::whole && device.cc != 90) return "the device has no wgmma, of compute capability 9.0";
  if (c.method == Method::whole && p.dtype != f32) return "it takes f32 alone";
  if (empty) return "there is nothing to multiply";
  return roofline::refuse_smem(smem_of(c, p), device);
}

// ---- cost -----------------------------------------------------------------------------------------------------------

// Products of one row of k and one filter: each lag below L as often as it fits.
double products(const DwconvProblem& p) {
  const double n = static_cast<double>(lags(p)), t = static_cast<double>(p.time);
  return n * t - n * (n - 1) / 2;
}

Cost cost(const DwconvProblem& p) {
  const double size = static_cast<double>(size_of(p.dtype)), channels = static_cast<double>(p.channels);
  const double signal = channels * static_cast<double>(p.batch) * static_cast<double>(p.time) * size;
  const double filter = channels * static_cast<double>(p.taps) * size;
  Cost c;
  c.bytes_read = (p.backward ? 2 : 1) * signal + filter;
  c.bytes_written = signal + (p.backward ? filter : 0);
  const double all = 2 * channels * static_cast<double>(p.batch) * products(p) * (p.backward ? 2 : 1);
  // The tensor cores' products: a float32 takes three, hi hi, hi lo and lo hi.
  c.on(Unit::fp16_tensor) = all * (p.dtype == f32 ? 3 : 1);
  return c;
}

// Transforms of a spectral row for one sum of the problem.
double transforms_of(const Config& c, const DwconvProblem& p, bool summed) {
  const SpectralTiles tiles = spectral_tiles(c, p, summed);
  const double pairs = static_cast<double>(ceil_div(p.batch, 2)), channels = static_cast<double>(p.channels);
  if (summed) {  // lags from o on need the steps of both signals from o on
    const double outputs = static_cast<double>(ceil_div(lags(p), tiles.outputs));
    const double steps = static_cast<double>(p.time) - (outputs - 1) * tiles.outputs / 2;
    return channels * outputs * (2 * pairs * std::ceil(steps / tiles.steps) + 1);
  }
  const double outputs = static_cast<double>(ceil_div(p.time, tiles.outputs));
  if (tiles.steps == c.points) return channels * outputs * (2 * pairs + static_cast<double>(tiles.groups));
  // Tile i of outputs meets the tiles of steps up to i, as far as the filter looks back;
  // each pair transforms the filter too.
  const double reach = std::min(outputs, static_cast<double>(ceil_div(lags(p) + tiles.outputs - 1, tiles.steps)));
  const double tiles_met = reach * (reach + 1) / 2 + (outputs - reach) * reach;
  return channels * pairs * (2 * tiles_met + outputs);
}

// Transforms of a ring row for one sum of the problem.
double ring_transforms(const Config& c, const DwconvProblem& p, int sms, bool summed) {
  const double rows = static_cast<double>(p.batch), channels = static_cast<double>(p.channels);
  const double filters = summed ? 1 : static_cast<double>(ceil_div(p.batch, ring_rows(c, p, sms)));
  return channels * (2 * rows + filters);
}

// Products of 64 x 64 steps in a row of Method::whole, for all items of a channel and 32 rows.
double whole_products(const DwconvProblem& p) {
  const double chunks = static_cast<double>(whole_chunks(p));
  const double reach =
      std::min(chunks, static_cast<double>(ceil_div(lags(p) - 1, chunk)) + 1);  // chunks that a tile looks back
  const double met = reach * (reach + 1) / 2 + (chunks - reach) * reach;
  return met * static_cast<double>(whole_items(p.batch, p.channels));
}

// Clocks on a multiprocessor's busiest pipe, for one sum of the problem.
double clocks_of(const Config& c, const DwconvProblem& p, const DeviceInfo& device, bool summed) {
  const double channels = static_cast<double>(p.channels), rows = static_cast<double>(p.batch);
  const double all = channels * rows * products(p);
  if (c.method == Method::element) return all / 32 * 4;  // two loads and their addresses per product
  if (c.method == Method::tiled) {
    // A multiply-add per lane, and shared memory's wavefronts: steps of p for all lanes, of q for each. The additional
    // cost of loading tiles was measured on an H200; a sum over the batch loads one for every row.
    const double g = tile_rows(c, summed), r = c.outputs;
    const double waste = summed ? 1 : std::ceil(rows / g) * g / std::max(rows, 1.0);
    const double per_product = 1.0 / 128 + (g + std::max(4.0, r)) / (4 * r * g * 32);
    const double tiles = summed ? (c.paired ? 6.6 : 5.5) : c.paired ? 2.6 : 2.8;
    return all * waste * per_product * tiles;
  }
  if (c.method == Method::spectral) {
    // A thread's pass has 330 instructions, of which 128 issue per clock, and 32 accesses of 8 bytes to shared memory,
    // each two wavefronts per warp. Loading and measuring a row takes about one pass more. Passes end in barriers, so
    // that arithmetic and memory hide little of each other; on an H200 it takes a tenth more than their sum.
    const double passes = std::log2(c.points) / std::log2(fft_radix);
    return transforms_of(c, p, summed) * (std::ceil(passes) + 1) * c.threads * 1.1 * (330.0 / 128 + 32 * 2 / 32.0);
  }
  if (c.method == Method::ring) {
    // A level takes seven instructions per two values, of which 128 issue per clock: six forward, eight in the inverse.
    // The additional cost of exchanges, loads and waits was measured on an H200.
    const double levels = c.points * std::log2(c.points) / 2;
    const double slack = (summed ? 2.15 : 1.9) * (p.dtype == f32 ? 1 : 1.2);
    return ring_transforms(c, p, device.sms, summed) * levels * 7 / 128 * slack;
  }
  if (c.method == Method::whole && (!summed || whole_chunks(p) <= most_whole_chunks)) {
    // The tensor cores take 192 for hi hi, hi lo and lo hi; loading, splitting and storing rows come on top, and two
    // resident blocks hide more of it than one. Measured on an H200.
    const std::int64_t smem = whole_rows_bytes(p) + device.smem_reserved;
    const bool two = c.blocks_per_sm > 1 && 2 * smem <= device.smem_per_sm;
    return whole_products(p) * (summed ? 700 : two ? 510 : 800);
  }
  // mma.sync reaches about 0.6 of the tensor cores' rate, with operands from shared memory. The cost of splitting
  // float32 and of adding up its sums, and of loading 16-bit rows, was measured on an H200,
  // at 768 steps.
  const double rate = device.fp16_tflops * 1e12 / 2 / std::max(device.sms, 1) / (device.clock_ghz * 1e9);
  const double rows_used = summed ? rows : std::ceil(rows / tensor_batch(c)) * tensor_batch(c);
  const double edge =
      static_cast<double>(p.time + (summed ? band_lags / 2 : chunk)) / std::max(static_cast<double>(p.time), 1.0);
  const double slow = (summed ? 1.2 : c.batches == 1 ? 1.4 : 1) * (p.dtype == f32 ? 2.7 : 5.2);
  return channels * rows_used * products(p) * edge * (p.dtype == f32 ? 3 : 1) * slow / (0.6 * std::max(rate, 1.0));
}

roofline::Kernel kernel_of(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k;
  k.cost = cost(p);
  if (c.method == Method::spectral) {  // the transforms' operations: fewer than the direct sum's
    const double transforms = transforms_of(c, p, false) + (p.backward ? transforms_of(c, p, true) : 0);
    k.cost.on(Unit::fp16_tensor) = 0;
    k.cost.on(Unit::fp32) = transforms * 5 * c.points * std::log2(c.points);
  }
  if (c.method == Method::ring) {
    const double transforms =
        ring_transforms(c, p, device.sms, false) + (p.backward ? ring_transforms(c, p, device.sms, true) : 0);
    k.cost.on(Unit::fp16_tensor) = 0;
    k.cost.on(Unit::fp32) = transforms * 5 * c.points * std::log2(c.points);
  }
  k.launches = p.backward ? 2 : 1;
  k.blocks = c.method == Method::whole ? whole_grid(c, p, device.sms) : grid_of(c, p, device.sms);
  const std::int64_t smem = c.method == Method::tensor  ? tensor_smem_bytes(c, p.dtype)
                            : c.method == Method::whole ? whole_rows_bytes(p)
                                                        : smem_of(c, p);
  const bool in_registers = c.method != Method::element && c.method != Method::tiled;
  k.block = {.threads = c.threads, .registers = in_registers ? 128 : 64, .smem = static_cast<int>(smem)};
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.trips = 1;
  k.clocks = clocks_of(c, p, device, false) + (p.backward ? clocks_of(c, p, device, true) : 0);
  return k;
}

double predict_us(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

Result<int> choose(const DwconvProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Status launch(const Arguments& args) {
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    const DType dtype = args.plan.problem.dtype;
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      if (variants[args.plan.variant].config.method == Method::whole) return launch_whole_f32(args);
      if (variants[args.plan.variant].config.method == Method::tensor)
        return dtype == f32   ? launch_tensor_f32(args)
               : dtype == f16 ? launch_tensor_f16(args)
                              : launch_tensor_bf16(args);
    }
    return dtype == f32 ? launch_f32<B>(args) : dtype == f16 ? launch_f16<B>(args) : launch_bf16<B>(args);
  });
}

// Better alignment than planned is fine.
Status check_planned(const DwconvPlan& plan, Result<DwconvProblem> given, const TensorView& k) {
  if (!given) return given.error();
  const DwconvProblem& planned = plan.problem;
  given->alignment = std::min(given->alignment, planned.alignment);
  if (*given != planned) return not_as_planned(op, given->text(), planned.text());
  RIDGE_TRY(check_device(op, k.device, plan.device));
  return {};
}

}  // namespace

Result<DwconvProblem> DwconvProblem::of(const TensorView& k, const TensorView& w, const TensorView& y, float eps) {
  auto p = signal_and_filter(k, w);
  if (!p) return p;
  RIDGE_TRY(check_like({"y", &y}, {"k", &k}));
  RIDGE_TRY(check_together(k, {{"k", &k}, {"w", &w}}, {{"y", &y}}));
  p->eps = eps;
  p->y = y.layout;
  p->alignment = least_alignment({&k, &w, &y});
  return p;
}

Result<DwconvProblem> DwconvProblem::of_gradient(const TensorView& dy, const TensorView& k, const TensorView& w,
                                                 const TensorView& dk, const TensorView& dw) {
  auto p = signal_and_filter(k, w);
  if (!p) return p;
  RIDGE_TRY(check_like({"dy", &dy}, {"k", &k}));
  RIDGE_TRY(check_like({"dk", &dk}, {"k", &k}));
  RIDGE_TRY(check_like({"dw", &dw}, {"w", &w}));
  RIDGE_TRY(check_together(k, {{"dy", &dy}, {"k", &k}, {"w", &w}}, {{"dk", &dk}, {"dw", &dw}}));
  p->backward = true;
  p->y = dy.layout;
  p->dk = dk.layout;
  p->dw = dw.layout;
  p->alignment = least_alignment({&dy, &k, &w, &dk, &dw});
  return p;
}

std::string DwconvProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(batch) + "x" + std::to_string(channels) + "x" +
         std::to_string(time) + ", filters of " + std::to_string(taps) + (backward ? " backward" : "");
}

Result<DwconvPlan> plan_dwconv(const DwconvProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  return DwconvPlan{p, device, *chosen};
}

Explanation DwconvPlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status DwconvPlan::run(const TensorView& k, const TensorView& w, const TensorView& y, Stream stream) const {
  RIDGE_TRY(check_planned(*this, DwconvProblem::of(k, w, y, problem.eps), k));
  return launch({*this, nullptr, k.data, w.data, y.data, nullptr, nullptr, stream});
}

Status DwconvPlan::run_gradient(const TensorView& dy, const TensorView& k, const TensorView& w, const TensorView& dk,
                                const TensorView& dw, Stream stream) const {
  RIDGE_TRY(check_planned(*this, DwconvProblem::of_gradient(dy, k, w, dk, dw), k));
  return launch({*this, dy.data, k.data, w.data, nullptr, dk.data, dw.data, stream});
}

static constexpr auto planned = [](const DwconvProblem& p, const DeviceInfo& d) { return plan_dwconv(p, d); };

void dwconv(const TensorView& k, const TensorView& w, const TensorView& y, float eps, Stream stream) {
  run_cached(DwconvProblem::of(k, w, y, eps), planned, k.device, stream,
             [&](const DwconvPlan& plan, Workspace) { return plan.run(k, w, y, stream); });
}

void dwconv_gradient(const TensorView& dy, const TensorView& k, const TensorView& w, const TensorView& dk,
                     const TensorView& dw, Stream stream) {
  run_cached(DwconvProblem::of_gradient(dy, k, w, dk, dw), planned, k.device, stream,
             [&](const DwconvPlan& plan, Workspace) { return plan.run_gradient(dy, k, w, dk, dw, stream); });
}

}  // namespace ridge
