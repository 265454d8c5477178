// fits -> choose, by predicted time. Pure: no CUDA call, no global.
#include <ridge/core/check_indices.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/gemm/by_columns.hpp>
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/model.hpp>
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/repack.hpp>
#include <ridge/gemm/run_cached.hpp>
#include <ridge/gemm/slices.hpp>
#include <ridge/gemm/validate.hpp>
#include <ridge/gemm/variants.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>

namespace ridge {

using namespace gemm_detail;

namespace {

// Why an operand cannot be read 16 bytes at a time; empty: it can.
std::string unaligned(const char* name, const GemmOperand& o, std::int64_t pitch) {
  if (starts_on(o, pitch, access_bytes)) return {};
  return std::string("rows of ") + name + " do not all start on 16 bytes";
}

std::string hopper_fits(const Config& c, const GemmProblem& p) {
  if (products(p) == 0) return "there are no products";
  const std::int64_t most = 0x7fffffff - 256, batch = p.grouped ? 1 : std::max<std::int64_t>(p.batch, 1);
  if (p.m > most || p.n > most || p.k > most / 3) return "it counts rows, columns and k to 2^31";
  if (c.family == Family::tma_tile) {
    if (batch > max_grid_z) return "it takes batches of at most " + std::to_string(max_grid_z);
    return {};
  }
  if (is_by_columns_alone(c) && !is_by_columns(c, p))
    return "its sums leave no registers for types, strides and addends of D that TMA does not move";
  const int side = std::min(c.bm, c.bn);  // of a square within every tile, in either orientation
  const std::int64_t tiles = c.family == Family::wgmma ? wgmma_raster(c, p.m, p.n).tiles() * c.cluster
                                                       : raster_of(p.m, p.n, side, side).tiles() * max_split;
  if (tiles > max_tiles / batch) return "more than 2^31 - 1 tiles";
  const Repack repack = repack_of(c, p, c.family == Family::wgmma_split && is_wider_across(p));
  if (repack.needed() && p.batch > max_grid_z)
    return "it copies batches of at most " + std::to_string(max_grid_z) + " first";
  return {};
}

// Why this row cannot run this problem; empty: it can.
std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (!row.types.contains(p.dtype)) return "not instantiated for " + std::string(name(p.dtype));
  if (p.grouped != c.grouped)
    return p.grouped ? "it multiplies by one operand B, or by one for each matrix of a batch, and not by groups of rows"
                     : "it is for groups of rows";
  if (p.gate != c.gated) return p.gate ? "it multiplies by one operand B, and not by a gate too" : "it is for a gate";
  if (row.math != GemmMath::exact && row.math != p.scalars.math)
    return "computes as math=" + std::string(name(row.math)) + ", which was not asked for";
  if ((c.family == Family::mma_sync || c.family == Family::wmma) && device.cc < 80)
    return "tensor cores' instructions of compute capability 8.0 and later, and " + device.name + " is another device";
  if (is_hopper(c))
    if (std::string why = roofline::refuse_all_but_hopper(device); !why.empty()) return why;
  if (tiles_of(c, p) > max_tiles) return "more than 2^31 - 1 tiles";
  if (std::string why = roofline::refuse_smem(smem_bytes(c, p.dtype), device); !why.empty()) return why;
  if (c.family == Family::naive || c.family == Family::shared) return {};
  if (products(p) > 0x7fffffff - c.bk) return "k is " + std::to_string(p.k) + ", and it counts to 2^31";
  if (c.loads == Loads::strided) return {};
  if (row.nn_only && layout_of(p) != GemmLayout::nn)
    return "shown in layout nn, and this is " + std::string(name(layout_of(p)));
  if (is_hopper(c)) {
    if (row.nn_only && p.a && p.b && (major_of_a(p) == Major::none || major_of_b(p) == Major::none))
      return "shown in layout nn, and operands are neighbours in neither axis";
    return hopper_fits(c, p);
  }
  const Major a = major_of_a(p), b = major_of_b(p);
  if (a == Major::none) return "a's elements are neighbours in neither axis";
  if (b == Major::none) return "b's elements are neighbours in neither axis";
  const bool along_k = c.family == Family::mma_sync && mma_reads_along_k(p.dtype);
  if ((along_k || a_is_k_major(c)) && a != Major::k) return "a's elements are not neighbours along k";
  if (along_k && b != Major::k) return "b's elements are not neighbours along k";
  if (p.gate && major_of_gate(p) != b) return "the gate's elements are neighbours in another axis than b's";
  if (c.loads != Loads::vectors) return {};
  if (auto why = unaligned("a", *p.a, a == Major::k ? p.a->row_stride : p.a->col_stride); !why.empty()) return why;
  if (p.gate)
    if (auto why = unaligned("the gate", *p.gate_layout,
                             b == Major::k ? p.gate_layout->col_stride : p.gate_layout->row_stride);
        !why.empty())
      return why;
  return unaligned("b", *p.b, b == Major::k ? p.b->col_stride : p.b->row_stride);
}

Result<int> choose(const GemmProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      "gemm", variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict(row, p, device).us; }, record);
}

// The row measured as fastest for a problem with packed, aligned tensors; -1: none was.
Result<int> tuned(const GemmProblem& p, const DeviceInfo& device, const Tuning& tuning) {
  const Tuning::Entry* entry = tuning.find(device.name, "gemm", p.text());
  if (!entry) return -1;
  GemmProblem packed = p;
  packed.layout = layout_of(p);
  for (auto* o :
       {&packed.a, &packed.b, &packed.c, &packed.d, &packed.bias_layout, &packed.residual_layout, &packed.gate_layout})
    o->reset();
  packed = with_operands(packed);
  packed.layout = p.layout;
  if (packed != p) return -1;
  for (int i = 0; i < variant_count; ++i)
    if (variants[i].name == entry->variant) return fits(variants[i], p, device).empty() ? i : -1;
  return Status::invalid("gemm", "tuning", "'" + entry->variant + "' for " + p.text(),
                         "a variant of this version: the file is of another one");
}

// The launch of the chosen row, for the roofline account.
roofline::Kernel kernel_of(const GemmPlan& plan) {
  const Config& c = variants[plan.variant].config;
  const GemmProblem& p = plan.problem;
  roofline::Kernel k;
  k.cost = cost(p);
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  int tile_rows = c.bm;
  bool gathers = false;
  k.block = {.threads = threads(c), .smem = smem_bytes(c, p.dtype)};
  if (c.family == Family::wgmma_split && plan.tiles > 0) {
    const Repack repack = repack_of(c, p, plan.swap_ab);
    tile_rows = split_wide_rows(c, p, plan.device.sms, plan.split, plan.swap_ab);
    gathers = (plan.swap_ab ? repack.a : repack.b).major == Major::none;
    k.block.threads = split_threads(c, gathers);
  }
  // Registers per thread under the launch bounds.
  constexpr int registers = 65536, most = 255;
  if (c.family != Family::naive && c.family != Family::shared)
    k.block.registers = std::min(registers / (k.block.threads * c.blocks_per_sm) / 8 * 8, most);
  k.registers_source = "at most, by the launch bounds";
  const std::int64_t down = plan.swap_ab ? p.n : p.m, across = plan.swap_ab ? p.m : p.n,
                     rows = std::int64_t{tile_rows} * c.cluster;
  k.tile_efficiency = roofline::tile_efficiency(down, rows) * roofline::tile_efficiency(across, columns(c));
  k.blocks = plan.tiles == 0 ? 0
             : p.grouped     ? plan.tiles
                             : raster_of(down, across, static_cast<int>(rows), columns(c)).tiles() * p.batch;
  if (c.persistent) k.blocks = std::min<std::int64_t>(k.blocks, std::max(plan.device.sms / c.cluster, 1));
  if (c.family == Family::wgmma_split) k.blocks = split_blocks(k.blocks, plan.split, gathers, plan.device.sms);
  else k.blocks *= c.cluster * plan.split;
  const double stage = static_cast<double>(c.bm + c.bn) * c.bk * static_cast<double>(size_of(p.dtype));
  k.trip_bytes =
      c.family == Family::naive ? 2.0 * threads(c) * static_cast<double>(size_of(p.dtype)) : c.stages * stage;
  return k;
}

Status launch(const Arguments& args) {
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      const Family family = variants[args.plan.variant].config.family;
      if (family == Family::tma_tile) return launch_tma_tile_f32(args);
      if (family == Family::wgmma_split) switch (args.problem.dtype) {
          case f16: return launch_split_f16(args);
          case f32: return launch_split_tf32(args);
          case i8: return launch_split_i8(args);
          case f8e4m3:
          case f8e5m2: return launch_split_fp8(args);
          default: return launch_split_bf16(args);
        }
      if (family == Family::wgmma) switch (args.problem.dtype) {
          case f16: return launch_wgmma_f16(args);
          case f32: return launch_wgmma_tf32(args);
          case i8: return launch_wgmma_i8(args);
          case f8e4m3:
          case f8e5m2: return launch_wgmma_fp8(args);
          default: return launch_wgmma_bf16(args);
        }
      if (family == Family::mma_sync || family == Family::wmma) switch (args.problem.dtype) {
          case f64: return launch_mma_f64(args);
          case f32: return launch_mma_tf32(args);
          case f16: return launch_mma_f16(args);
          case i8: return launch_mma_i8(args);
          default: return launch_mma_bf16(args);
        }
    }
    switch (args.problem.dtype) {
      case f64: return launch_f64<B>(args);
      case f32: return launch_f32<B>(args);
      case i8: return launch_i8<B>(args);
      case f8e4m3:
      case f8e5m2: return launch_fp8<B>(args);
      default: return launch_16bit<B>(args);
    }
  });
}

}  // namespace

Result<GemmPlan> plan_gemm(const GemmProblem& problem, const DeviceInfo& device, const PlanOptions& options,
                           const Tuning* tuning) {
  const GemmProblem p = with_operands(problem);
  RIDGE_TRY(validate(p));
  auto chosen = tuning && options.variant.empty() ? tuned(p, device, *tuning) : -1;
  if (chosen && *chosen < 0) chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  GemmPlan plan{p, device, *chosen, p.batch == 0 || p.m == 0 ? 0 : tiles_of(c, p)};
  const Arrangement way = arranged(c, p, device);
  plan.split = way.split;
  plan.swap_ab = way.swap_ab;
  plan.workspace = is_hopper(c) ? repack_of(c, p, way.swap_ab).bytes() : slice_bytes(p, way.split);
  plan.checked = p.grouped && options.checked.value_or(device.is_cpu());
  return plan;
}

Explanation GemmPlan::explain() const {
  Explanation e;
  e.op = "gemm";
  e.problem = problem.text();
  e.variant = variants[variant].name;
  const Config& c = variants[variant].config;
  const Prediction r = predict(variants[variant], problem, device);
  const roofline::Kernel kernel = kernel_of(*this);
  const Repack copies = is_hopper(c) ? repack_of(c, problem, swap_ab) : Repack{};
  roofline::account(e, kernel, r.us, terms_of(c, problem, device, r, copies, kernel.tile_efficiency), device);
  e.workspace_bytes = workspace;
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// Whether TMA cannot read an operand in the way that was planned.
static bool needs_more_copies(const GemmPlan& plan, const GemmProblem& given) {
  const Config& c = variants[plan.variant].config;
  if (!is_hopper(c)) return false;
  const Repack planned = repack_of(c, plan.problem, plan.swap_ab), now = repack_of(c, given, plan.swap_ab);
  const auto more = [](const Repacked& is, const Repacked& was) {  // copied, or gathered
    return !was.needed && was.major != Major::none && (is.needed || is.major == Major::none);
  };
  return more(now.a, planned.a) || more(now.b, planned.b) || more(now.gate, planned.gate);
}

Status GemmPlan::run(const GemmTensors& tensors, Workspace given_workspace, Stream stream) const {
  auto given = GemmProblem::of(tensors, problem.scalars);
  if (!given) return given.error();
  given->layout = problem.layout;  // ignored where operands are given
  if (*given != problem) {
    // Tensors with a better alignment than planned are as good.
    GemmProblem planned = problem;
    const auto take_alignment = [](std::optional<GemmOperand>& to, const std::optional<GemmOperand>& from) {
      if (to && from) to->alignment_offset = from->alignment_offset;
    };
    take_alignment(planned.a, given->a);
    take_alignment(planned.b, given->b);
    take_alignment(planned.c, given->c);
    take_alignment(planned.d, given->d);
    take_alignment(planned.bias_layout, given->bias_layout);
    take_alignment(planned.residual_layout, given->residual_layout);
    take_alignment(planned.gate_layout, given->gate_layout);
    if (*given != planned || !fits(variants[variant], *given, device).empty() || needs_more_copies(*this, *given))
      return not_as_planned("gemm", given->text(), problem.text());
  }
  RIDGE_TRY(check_device("gemm", tensors.d.device, device));
  if (tiles == 0) return {};
  RIDGE_TRY(check_workspace("gemm", given_workspace, workspace));
  if (workspace > 0 && (!given_workspace.data || alignment_of(given_workspace.data) < access_bytes))
    return Status::invalid("gemm", "workspace.data", given_workspace.data ? "misaligned" : "null",
                           "aligned to " + std::to_string(access_bytes) + " bytes");
  if (checked) RIDGE_TRY(check_offsets("gemm", "offsets", *tensors.offsets, problem.m, "the rows of a", stream));
  return launch({*this, *given, tensors, given_workspace, stream});
}

Status gemm_detail::run_cached(const GemmTensors& tensors, const GemmScalars& scalars, Stream stream) {
  thread_local PlanCache<GemmProblem, GemmPlan> cache;
  auto problem = GemmProblem::of(tensors, scalars);
  if (!problem) return problem.error();
  auto tuning = Tuning::from_environment();
  if (!tuning) return tuning.error();
  auto plan = cache.find(*problem, tensors.d.device, [&](auto& p, auto& d) { return plan_gemm(p, d, {}, *tuning); });
  if (!plan) return plan.error();
  return run_with_workspace(**plan, tensors.d.device, stream,
                            [&](Workspace workspace) { return (*plan)->run(tensors, workspace, stream); });
}

void gemm(const GemmTensors& tensors, const GemmScalars& scalars, Stream stream) {
  throw_if(run_cached(tensors, scalars, stream));
}

}  // namespace ridge
