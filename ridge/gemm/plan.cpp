// fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/repack.hpp>
#include <ridge/gemm/validate.hpp>
#include <ridge/gemm/variants.hpp>
#include <ridge/roofline/bound.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace gemm_detail;

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t tiles_of(const Config& c, const GemmProblem& p) {
  return gemm_kernels::tiles_of(c, {p.m, p.n, p.k, p.batch});
}

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
  const int side = std::min(c.bm, c.bn);  // of a square that no tile is smaller than, whichever way it lies
  const std::int64_t tiles = c.family == Family::wgmma ? wgmma_raster(c, p.m, p.n).tiles() * c.cluster
                                                       : raster_of(p.m, p.n, side, side).tiles() * max_split;
  if (tiles > max_tiles / batch) return "more than 2^31 - 1 tiles";
  const Repack repack = repack_of(c, p, false);
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
  if (is_hopper(c) && device.cc != 90)
    return "Hopper's instructions, of compute capability 9.0, and " + device.name + " is another device";
  if (tiles_of(c, p) > max_tiles) return "more than 2^31 - 1 tiles";
  if (smem_bytes(c, p.dtype) > device.smem_optin)
    return std::to_string(smem_bytes(c, p.dtype)) + " bytes of shared memory, and the device has " +
           std::to_string(device.smem_optin);
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
  if (a_is_k_major(c) && a != Major::k) return "a's elements are not neighbours along k";
  if (p.gate && major_of_gate(p) != b) return "the gate's elements are neighbours in another axis than b's";
  if (c.loads != Loads::vectors) return {};
  if (auto why = unaligned("a", *p.a, a == Major::k ? p.a->row_stride : p.a->col_stride); !why.empty()) return why;
  if (p.gate)
    if (auto why =
            unaligned("the gate", *p.gate_lies, b == Major::k ? p.gate_lies->col_stride : p.gate_lies->row_stride);
        !why.empty())
      return why;
  return unaligned("b", *p.b, b == Major::k ? p.b->col_stride : p.b->row_stride);
}

Cost cost(const GemmProblem& p) {
  const auto elements = [&](std::int64_t rows, std::int64_t cols, const GemmOperand& o, std::int64_t batch) {
    const double n = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(size_of(o.dtype));
    return o.batch_stride == 0 && batch > 1 ? n : n * static_cast<double>(batch);
  };
  // Groups: of A, D and the like there is one, and of B one for each.
  const std::int64_t matrices = p.grouped ? 1 : p.batch;
  Cost cost;
  if (products(p) > 0)
    cost.bytes_read = elements(p.m, p.k, *p.a, matrices) + elements(p.k, p.n, *p.b, p.batch) * (p.gate ? 2 : 1);
  if (p.c) cost.bytes_read += elements(p.m, p.n, *p.c, matrices);
  if (p.residual_lies) cost.bytes_read += elements(p.m, p.n, *p.residual_lies, matrices);
  if (p.bias_lies)
    cost.bytes_read += elements(p.bias == GemmBias::along_m ? p.m : 1, p.bias == GemmBias::along_n ? p.n : 1,
                                *p.bias_lies, p.grouped ? p.batch : 1);
  cost.bytes_written = elements(p.m, p.n, *p.d, matrices);
  // On the fastest unit that has the type: what bounds the operator, and not what a variant uses.
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) *
                            static_cast<double>(products(p)) * static_cast<double>(matrices) * (p.gate ? 2 : 1);
  switch (p.dtype) {
    case f64: cost.on(Unit::fp64) = operations; break;
    case f16:
    case bf16: cost.on(Unit::fp16_tensor) = operations; break;
    case f8e4m3:
    case f8e5m2: cost.on(Unit::fp8_tensor) = operations; break;
    case i8: cost.on(Unit::int8_tensor) = operations; break;
    default:
      if (p.scalars.math == GemmMath::exact) cost.on(Unit::fp32) = operations;
      else cost.on(Unit::tf32) = operations * (p.scalars.math == GemmMath::tf32x3 ? 3 : 1);
  }
  return cost;
}

// ---- the time of a variant, in clocks of one multiprocessor -------------------------------------------------------

// Warp instructions of multiply-adds that a multiprocessor takes per clock. Since Ampere, the double rate of data sheets
// is that of tensor cores on the chips that have such.
double multiply_adds_per_clock(DType dtype, const DeviceInfo& d) {
  const double per_tflop = 1e3 / (2 * 32 * d.sms * d.clock_ghz);
  if (dtype == f64) return d.fp64_tflops * per_tflop / (d.cc == 80 || d.cc == 90 ? 2 : 1);
  // dp4a: half as many instructions, of four products each.
  return d.fp32_tflops * per_tflop / (dtype == i8 ? 2 : 1);
}

constexpr double load_latency = 800;   // clocks from a global load to its use, from the L2 cache
constexpr double barrier_clocks = 40;  // a barrier, and the first read of shared memory after it
constexpr double tile_clocks = 3000;   // a block's start, its first loads, its epilogue
constexpr double schedulers = 4;       // of a multiprocessor: warp instructions per clock of all kinds
// Clocks of a float multiply-add where a scheduler begins one each clock: the compiler's choice of registers meets
// their banks' limits (sm90_thread_tile.cuh), which it does not where one takes two clocks. Measured on an H200.
constexpr double register_conflicts = 1.45;
constexpr double few_warps = 12, waits_of_few = 1.3;  // of a multiprocessor in all, and how much longer these take

// Multiply-adds of single elements that a multiprocessor's tensor cores take per clock.
double tensor_products_per_clock(DType dtype, const DeviceInfo& d) {
  const double tflops = dtype == f64                         ? d.fp64_tflops
                        : dtype == f32                       ? d.tf32_tflops
                        : dtype == i8                        ? d.int8_tops
                        : dtype == f8e4m3 || dtype == f8e5m2 ? d.fp8_tflops
                                                             : d.fp16_tflops;
  return tflops * 1e3 / (2 * d.sms * d.clock_ghz);
}

// ---- Family::mma_sync: clocks of one step of bk -------------------------------------------------------------------

constexpr double hopper_share = 0.62;   // of Hopper's rate for 16-bit types, what comes from registers instead of wgmma
constexpr double mma_efficiency = 0.9;  // of the tensor cores' rate, what warps reach that also read and copy
constexpr double mma_tile_clocks = 5000;  // a block's start, its first loads from memory, its epilogue: as wgmma's rows
constexpr double shift_instructions = 80;  // of a thread, for 16 bytes of a row that starts anywhere, all in all

double mma_step_clocks(const Config& c, DType dtype, const DeviceInfo& device, double resident) {
  const double warps = threads(c) / 32.0, bytes = c.bk * static_cast<double>(size_of(dtype));
  const double share = mma_efficiency * (device.cc == 90 && dtype != f64 ? hopper_share : 1);
  const double multiply = static_cast<double>(c.bm) * c.bn * c.bk / (tensor_products_per_clock(dtype, device) * share);
  // Shared memory moves 128 bytes a clock: what warps read, and the copies.
  const double shared = (warps * (c.wm + c.wn) + c.bm + c.bn) * bytes / 128;
  // Where rows start anywhere, doubles are copied one by one, and 16-bit elements by way of registers, a step ahead.
  const bool shifts = c.loads == Loads::elements && dtype != f64;
  const double copies = (c.bm + c.bn) * bytes / (c.loads == Loads::vectors || shifts ? access_bytes : 8);
  const double issue = copies * (shifts ? shift_instructions : 2) / (32 * schedulers);
  const double work = std::max({multiply, shared, issue});
  return work + (barrier_clocks + (shifts ? std::max(0.0, load_latency - work) : 0)) / resident;
}

// Clocks that one step of bk takes a multiprocessor which has `resident` blocks to hide its waits.
double step_clocks(const Variant& row, const GemmProblem& p, const DeviceInfo& device, double resident) {
  const Config& c = row.config;
  if (c.family == Family::mma_sync) return mma_step_clocks(c, p.dtype, device, resident);
  if (c.family == Family::wmma)  // as such a step, with every wait
    return mma_step_clocks(c, p.dtype, device, resident) + (load_latency + 2 * barrier_clocks) / resident;
  const double rate = multiply_adds_per_clock(p.dtype, device), warps = threads(c) / 32.0;
  if (c.family != Family::thread_tile) {
    // A multiply-add for two loads; those of naive go through the L1 cache, 4 lanes' addresses at a time in one of them.
    const double k = c.family == Family::naive ? 1 : c.bk, loads = c.family == Family::naive ? 6 : 2;
    const double work = (c.gated ? 2 : 1) * warps * k * std::max(1 / rate * (p.dtype == i8 ? 0.5 : 1), loads);
    return work + (c.family == Family::shared ? 2 * (load_latency / 2 + barrier_clocks) / resident : 0);
  }
  const int staged = c.bk / pack(p.dtype), fragment_size = fragment(p.dtype);
  const double fragments = (c.tm + c.tn) / static_cast<double>(fragment_size);
  // Instructions of a warp: multiply-adds, fragments, and for each element copied its share of load, store and address.
  const double per_copy = c.loads == Loads::vectors ? 1.5 : c.pipeline == Pipeline::multistage ? 3 : 8;
  const double copied = static_cast<double>(c.bm + c.bn) * staged / threads(c);
  const double conflicts = p.dtype != f64 && p.dtype != i8 && rate > schedulers / 2 * 1.5 ? register_conflicts : 1;
  const double issue = (staged * fragments + copied * per_copy) / schedulers + staged * c.tm * c.tn / rate * conflicts;
  // A warp's 16-byte read of shared memory takes 2 clocks where lanes are laid out for it. Plain, neighbouring lanes read
  // every other 16 bytes of B, which conflict (8 clocks), and share those of A (4).
  // What is copied passes the same port.
  const double shared = staged * fragments * (c.conflict_free ? 2 : 6) + copied * (c.loads == Loads::vectors ? 1 : 2);
  const double work = warps * std::max(issue, shared);
  const double waits = c.pipeline == Pipeline::single          ? load_latency + 2 * barrier_clocks
                       : c.pipeline == Pipeline::double_buffer ? std::max(0.0, load_latency - work) + barrier_clocks
                                                               : barrier_clocks;
  return work + waits / resident;
}

// ---- Family::wgmma --------------------------------------------------------------------------------------------------
// Constants are fitted to measurements on an H200; README.md says to which.

constexpr double store_clocks = 1000;  // of 64 x 256 elements of D: registers to shared memory, and the first wait
constexpr double wgmma_start_clocks = 3000;    // a block's start and its barriers
constexpr double cluster_start_clocks = 700;   // clusters start later
constexpr double without_multicast = 1.01;     // a step takes longer by so much
constexpr double shared_share = 0.9;           // of what shared memory is busy, what products do not hide
constexpr double multicast_clocks = 460;       // the shortest step of blocks that wait for each other's copies
constexpr double l2_bytes_per_clock = 50;      // that a multiprocessor gets while all of them load
constexpr double l2_bytes_of_one_wave = 64;    // and where none has a second tile: what it takes at most
constexpr double line_clocks = 1.5;            // of the copy engine, for a line of 128 bytes
constexpr double unaligned_line_clocks = 4;    // and where rows start inside of the L2 cache's sectors
constexpr double memory_bytes_per_clock = 27;  // that one gets from memory, however few load
constexpr double block_bytes_per_clock = 50;   // and that one of Family::wgmma_split gets in all
constexpr double not_hidden = 0.2;             // of its work, while it waits for memory
constexpr double left_over = 0.025;            // of multiprocessors, for each block of a cluster but the first
constexpr double one_warpgroup = 1.13;         // of a step, where a block has one tile and the other warpgroup none
constexpr double promoted = 1.15;  // of a step whose sums leave the tensor cores, and nothing else is under way
constexpr double sums_bytes_per_clock = 24;  // of a tile's sums on their way through shared memory
constexpr double sums_in_stages = 0.5;       // of that rate, where a cluster waits before it sends them
constexpr double split_clocks = 300;         // a cluster's blocks start, and wait for each other at the end
constexpr double repack_share = 0.7;         // of memory's rate, what copies of operands reach
constexpr double repack_launch_us = 1;       // such a copy starts and ends
// Products of random numbers at full rate draw more power than the card is given: within some time the clock falls.
constexpr double power_slows = 0.31, power_us = 120;

// Instructions per element of D of what the epilogue computes.
double epilogue_instructions(const GemmProblem& p) {
  const Activation a = p.scalars.activation;
  const double activation = a == Activation::none || a == Activation::relu ? 1 : a == Activation::gelu ? 28 : 16;
  return activation + (p.gate ? 2 : 0) + (p.c ? 8 : 0) + (p.residual_lies ? 8 : 0) + (p.bias_lies ? 2 : 0);
}

// Tiles of D, of clusters. Where groups begin is not known when a plan is made: as many as random cuts make, between which
// there are x rows or more with probability exp(-x groups / m).
double wgmma_tiles(const Config& c, const GemmProblem& p) {
  const Raster tiles = wgmma_raster(c, p.m, p.n);
  if (!c.grouped) return static_cast<double>(tiles.tiles() * p.batch);
  const double groups = static_cast<double>(std::min(p.m, p.batch));  // that have rows
  if (groups == 0) return 0;
  const double rows = groups / -std::expm1(-c.bm * groups / static_cast<double>(p.m));
  return std::ceil(rows) * static_cast<double>(tiles.cols);
}

// Clocks in which a multiprocessor's copy engine brings a line of an operand.
double clocks_of_line(const GemmOperand& o, const Repacked& read) {
  constexpr std::int64_t sector = 32;
  const bool aligned = read.needed || starts_on(o, read.pitch, sector);
  return aligned ? line_clocks : unaligned_line_clocks;
}

double wgmma_clocks_of_tiles(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double products_per_clock = tensor_products_per_clock(p.dtype, device);
  const double elements = static_cast<double>(c.bm) * c.bn, stage = wgmma_stage_bytes(c);
  // Shared memory moves lines of 128 bytes: each 64 rows' products read theirs and all columns', and TMA writes both.
  const double lines = c.bm / 64 * (64 + c.bn) + c.bm + c.bn;
  const double tiles = wgmma_tiles(c, p), columns_loaded = static_cast<double>(c.bn) / c.cluster;
  const double loaded = (c.bm + columns_loaded) * wgmma_line_bytes;
  const bool one_wave = tiles * c.cluster <= device.sms;
  const Repack reads = repack_of(c, p, false);
  const double copied = c.bm * clocks_of_line(*p.a, reads.a) + columns_loaded * clocks_of_line(*p.b, reads.b);
  const double step = std::max({elements * c.bk / products_per_clock * (c.cluster == 1 ? without_multicast : 1),
                                lines * shared_share, copied, c.cluster > 1 ? multicast_clocks : 0,
                                loaded / (one_wave ? l2_bytes_of_one_wave : l2_bytes_per_clock)}) *
                      (c.promote && !has_two_parts(c) ? promoted : 1);
  const double steps = static_cast<double>(ceil_div(products(p), c.bk)) * (p.scalars.math == GemmMath::tf32x3 ? 3 : 1);
  const double stored = static_cast<double>(c.bm) * columns(c);
  const double finish = stored / (64 * 256) * store_clocks + stored * epilogue_instructions(p) / (4 * 32);
  const double most = std::ceil(tiles / std::max(1, device.sms / c.cluster));  // of one block
  const double first_load = stage * device.sms / device.memory_gbs * device.clock_ghz;
  const double start = wgmma_start_clocks + first_load + (c.cluster > 1 ? cluster_start_clocks : 0);
  switch (c.schedule) {
    case Schedule::one: {  // a step's copy and its products wait for each other; other blocks fill in
      const double resident = std::max(1.0, std::min<double>(c.blocks_per_sm, most));
      const double alone = load_latency + barrier_clocks + step;
      return start + most * (steps * std::max(step * 1.5, alone / resident) + finish);
    }
    case Schedule::ping_pong:  // only the last tile's end is met, or what does not fit beside the other's products
      return start + most * std::max(steps * step * (most == 1 ? one_warpgroup : 1), (steps * step + finish) / 2) +
             finish;
    default: return start + most * (steps * step + finish + (c.persistent ? 0 : wgmma_start_clocks));
  }
}

double wgmma_clocks(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const double tiles = wgmma_tiles(row.config, p) * row.config.cluster;
  const double from_memory =
      std::max(cost(p).bytes_read / (std::min<double>(tiles, device.sms) * memory_bytes_per_clock),
               cost(p).bytes() / device.memory_gbs * device.clock_ghz);
  const double work = wgmma_clocks_of_tiles(row, p, device);
  const double start = wgmma_start_clocks + (row.config.cluster > 1 ? cluster_start_clocks : 0);
  return std::max(work, start + from_memory + not_hidden * std::min(work, from_memory));
}

// ---- Family::wgmma_split --------------------------------------------------------------------------------------------

// How a row of Family::wgmma_split takes a problem, and the time that it takes so.
struct Arrangement {
  int split = 1;
  bool swapped = false;
  double clocks = 0;
};

// Clusters that run at a time, a block to a multiprocessor: the chip's groups of multiprocessors have odd ones left over.
double clusters_at_a_time(const DeviceInfo& device, int size) {
  return std::max(1.0, std::floor(device.sms * (1 - left_over * (size - 1)) / size));
}

double split_clocks_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, const Arrangement& way) {
  const double wide = static_cast<double>(ceil_div(way.swapped ? p.n : p.m, c.bm)),
               narrow = static_cast<double>(ceil_div(way.swapped ? p.m : p.n, c.bn));
  const double tiles = wide * narrow * static_cast<double>(p.batch);
  const double waves = std::ceil(tiles / clusters_at_a_time(device, way.split));
  const double steps = static_cast<double>(ceil_div(ceil_div(products(p), c.bk), way.split));
  const double elements = static_cast<double>(c.bm) * c.bn;
  const double lines = split_multipliers(c) * (64 + c.bn) + c.bm + c.bn;
  const Repack reads = repack_of(c, p, way.swapped);
  const double copied = (way.swapped ? c.bn : c.bm) * clocks_of_line(*p.a, reads.a) +
                        (way.swapped ? c.bm : c.bn) * clocks_of_line(*p.b, reads.b);
  const double step = std::max({elements * c.bk / tensor_products_per_clock(p.dtype, device), lines * shared_share,
                                copied, wgmma_stage_bytes(c) / block_bytes_per_clock});
  const double loading = std::min<double>(tiles * way.split, device.sms);
  const double from_memory = std::max(cost(p).bytes_read / (loading * memory_bytes_per_clock),
                                      cost(p).bytes() / device.memory_gbs * device.clock_ghz);
  const double finish = elements * 4 / (sums_bytes_per_clock * (split_sums_apart(c) ? 1 : sums_in_stages)) +
                        elements / way.split * epilogue_instructions(p) / (4 * 32) + (way.split > 1 ? split_clocks : 0);
  const double work = waves * steps * step;
  return std::max(work, from_memory + not_hidden * std::min(work, from_memory)) + waves * (wgmma_start_clocks + finish);
}

// ---- Family::tma_tile -----------------------------------------------------------------------------------------------

constexpr double tma_tile_share = 0.77;            // of the rate of multiply-adds, where two warps share a scheduler
constexpr double tma_tile_share_of_groups = 0.75;  // that where groups of warps have steps of their own
constexpr double tma_tile_share_of_8x8 = 0.67;  // that where a thread's tile is 8 x 8, and reads more for each product
constexpr double tma_tile_share_of_one = 0.55;  // and where one is alone with its waits
constexpr double tma_tile_clocks = 5000;        // a block's start, its first loads from memory, its epilogue

Arrangement tma_tile_arrangement(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  // The operand across a tile lies along M or N. Where neither does, B is turned.
  Arrangement way{.swapped = major_of_a(p) == Major::outer && major_of_b(p) == Major::k};
  const double tiles =
      static_cast<double>(raster_of(way.swapped ? p.n : p.m, way.swapped ? p.m : p.n, c.bm, c.bn).tiles() * p.batch);
  const double most = std::ceil(tiles / device.sms), resident = std::min<double>(c.blocks_per_sm, most);
  const double warps = resident * threads(c) / 32;
  const double share = warps < 2 * schedulers ? tma_tile_share_of_one
                       : c.tm == 8            ? tma_tile_share_of_8x8
                       : c.k_groups > 1       ? tma_tile_share_of_groups
                                              : tma_tile_share;
  const double instructions = static_cast<double>(ceil_div(products(p), c.bk) * c.bk) * c.bm * c.bn / 32;
  const double rate = multiply_adds_per_clock(p.dtype, device) * std::min(1.0, warps / schedulers) * share;
  way.clocks = most * (instructions / rate + tma_tile_clocks / resident);
  return way;
}

Arrangement arranged(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  if (c.family == Family::tma_tile && products(p) > 0) return tma_tile_arrangement(c, p, device);
  Arrangement best;
  if (c.family != Family::wgmma_split || products(p) == 0) return best;
  for (int split = 1; split <= max_split && split <= ceil_div(products(p), c.bk); split *= 2) {
    Arrangement way{split, p.n > p.m};  // the larger matrix is the wide operand
    way.clocks = split_clocks_of(c, p, device, way);
    if (best.clocks == 0 || way.clocks < best.clocks) best = way;
  }
  return best;
}

// What is copied before the product.
double repack_us(const Repack& r, const GemmProblem& p, const DeviceInfo& device) {
  if (!r.needed()) return 0;
  bool kept = false, turned = false;  // a kernel for each
  const auto count = [&](const Repacked& to, Major major) {
    if (to.needed) (r.low == 0 && to.major == major ? kept : turned) = true;
  };
  count(r.a, major_of_a(p));
  count(r.b, major_of_b(p));
  if (r.gate.needed) count(r.gate, major_of_gate(p));
  const double bytes = static_cast<double>(r.bytes()) * (r.low ? 1.5 : 2);
  return (kept + turned) * (device.launch_us + repack_launch_us) + bytes / (device.memory_gbs * repack_share) * 1e-3;
}

double predict_us(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double memory_us = cost(p).bytes() / device.memory_gbs * 1e-3;
  if (is_hopper(c)) {
    const Arrangement way = arranged(c, p, device);
    const double clocks = c.family == Family::wgmma ? wgmma_clocks(row, p, device) : way.clocks;
    const double full_clock_us = clocks / device.clock_ghz * 1e-3;
    // 3xtf32 adds sums up besides.
    const bool full_power = c.family != Family::tma_tile && p.scalars.math != GemmMath::tf32x3;
    const double slower = full_power ? power_slows * -std::expm1(-full_clock_us / power_us) : 0;
    return device.launch_us + std::max(full_clock_us * (1 + slower), memory_us) +
           repack_us(repack_of(c, p, way.swapped), p, device);
  }
  const double tiles = static_cast<double>(tiles_of(c, p)) * static_cast<double>(p.grouped ? 1 : p.batch);
  const int smem = smem_bytes(c, p.dtype);
  const int room = std::max(1, std::min(device.threads_per_sm / threads(c), smem ? device.smem_per_sm / smem : 32));
  // The fullest multiprocessor's tiles: where they are few, little hides their waits.
  const double most = static_cast<double>(ceil_div(static_cast<std::int64_t>(tiles), device.sms));
  const bool in_registers = c.family == Family::thread_tile || c.family == Family::mma_sync || c.family == Family::wmma;
  const int registers_allow = in_registers ? c.blocks_per_sm : 8;
  const double resident =
      std::max(1.0, std::min({static_cast<double>(room), static_cast<double>(registers_allow), most}));
  const double steps = static_cast<double>(ceil_div(products(p), c.family == Family::naive ? 1 : c.bk));
  const double tile = c.family == Family::mma_sync || c.family == Family::wmma ? mma_tile_clocks : tile_clocks;
  const bool few = c.family == Family::thread_tile && most * threads(c) / 32 < few_warps;
  const double clocks =
      most * (steps * step_clocks(row, p, device, resident) * (few ? waits_of_few : 1) + tile / resident);
  const double sm_us = clocks / device.clock_ghz * 1e-3;
  // Each block reads its operands from the L2 cache.
  const double size = static_cast<double>(size_of(p.dtype));
  const double l2_bytes = tiles * static_cast<double>(c.bm + c.bn) * static_cast<double>(products(p)) * size;
  const double l2_us = device.l2_gbs > 0 ? l2_bytes / device.l2_gbs * 1e-3 : 0;
  return device.launch_us + std::max({sm_us, l2_us, memory_us});
}

Result<int> choose(const GemmProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      "gemm", variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

// The row that was measured to be the fastest of a problem whose tensors are packed and aligned; -1: none was.
Result<int> tuned(const GemmProblem& p, const DeviceInfo& device, const Tuning& tuning) {
  const Tuning::Entry* entry = tuning.find(device.name, "gemm", p.text());
  if (!entry) return -1;
  GemmProblem packed = p;
  packed.layout = layout_of(p);
  for (auto* o :
       {&packed.a, &packed.b, &packed.c, &packed.d, &packed.bias_lies, &packed.residual_lies, &packed.gate_lies})
    o->reset();
  packed = with_operands(packed);
  packed.layout = p.layout;
  if (packed != p) return -1;
  for (int i = 0; i < variant_count; ++i)
    if (variants[i].name == entry->variant) return fits(variants[i], p, device).empty() ? i : -1;
  return Status::invalid("gemm", "tuning", "'" + entry->variant + "' for " + p.text(),
                         "a variant that there is; the file is of another version");
}

Status launch(const Arguments& args) {
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      const Family family = variants[args.plan.variant].config.family;
      if (family == Family::tma_tile) return launch_tma_tile_f32(args);
      if (family == Family::wgmma_split)
        return args.problem.dtype == f16 ? launch_split_f16(args) : launch_split_bf16(args);
      if (family == Family::wgmma) switch (args.problem.dtype) {
          case f16: return launch_wgmma_f16(args);
          case f32: return launch_wgmma_tf32(args);
          case i8: return launch_wgmma_i8(args);
          case f8e4m3:
          case f8e5m2: return launch_wgmma_fp8(args);
          default: return launch_wgmma_bf16(args);
        }
      if (family == Family::mma_sync || family == Family::wmma)
        return args.problem.dtype == f64   ? launch_mma_f64(args)
               : args.problem.dtype == f16 ? launch_mma_f16(args)
                                           : launch_mma_bf16(args);
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
  if (!is_hopper(c)) return plan;
  const Arrangement way = arranged(c, p, device);
  plan.split = way.split;
  plan.swapped = way.swapped;
  plan.workspace = repack_of(c, p, way.swapped).bytes();
  return plan;
}

Explanation GemmPlan::explain() const {
  Explanation e;
  e.op = "gemm";
  e.problem = problem.text();
  e.device = device.name;
  e.variant = variants[variant].name;
  e.cost = cost(problem);
  const roofline::Bound b = roofline::bound(e.cost, device);
  e.bound = b.name;
  e.least_us = b.least_us;
  e.predicted_us = predict_us(variants[variant], problem, device);
  e.workspace_bytes = workspace;
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// Whether TMA cannot read an operand that the plan leaves where it is.
static bool needs_more_copies(const GemmPlan& plan, const GemmProblem& given) {
  const Config& c = variants[plan.variant].config;
  if (!is_hopper(c)) return false;
  const Repack planned = repack_of(c, plan.problem, plan.swapped), now = repack_of(c, given, plan.swapped);
  return (now.a.needed && !planned.a.needed) || (now.b.needed && !planned.b.needed) ||
         (now.gate.needed && !planned.gate.needed);
}

Status GemmPlan::run(const GemmTensors& tensors, Workspace given_workspace, Stream stream) const {
  auto given = GemmProblem::of(tensors, problem.scalars);
  if (!given) return given.error();
  given->layout = problem.layout;  // says nothing where operands are given
  if (*given != problem) {
    // Tensors that start on rounder addresses than were planned for are as good.
    GemmProblem planned = problem;
    const auto take_phase = [](std::optional<GemmOperand>& to, const std::optional<GemmOperand>& from) {
      if (to && from) to->phase = from->phase;
    };
    take_phase(planned.a, given->a);
    take_phase(planned.b, given->b);
    take_phase(planned.c, given->c);
    take_phase(planned.d, given->d);
    take_phase(planned.bias_lies, given->bias_lies);
    take_phase(planned.residual_lies, given->residual_lies);
    take_phase(planned.gate_lies, given->gate_lies);
    if (*given != planned || !fits(variants[variant], *given, device).empty() || needs_more_copies(*this, *given))
      return Status::invalid("gemm", "tensors", given->text() + " or their strides or alignment",
                             "as planned, " + problem.text());
  }
  if (tensors.d.device != device.id) return Status::invalid("gemm", "device", "another", "the plan's");
  if (tiles == 0) return {};
  if (given_workspace.bytes < workspace)
    return Status::invalid("gemm", "workspace", std::to_string(given_workspace.bytes) + " bytes",
                           "at least " + std::to_string(workspace));
  return launch({*this, *given, tensors, given_workspace, stream});
}

static const RegisterTuned registered("gemm");

void gemm(const GemmTensors& tensors, const GemmScalars& scalars, Stream stream) {
  thread_local PlanCache<GemmProblem, GemmPlan> cache;
  auto problem = GemmProblem::of(tensors, scalars);
  throw_if(problem.error());
  auto tuning = Tuning::from_environment();
  throw_if(tuning.error());
  auto plan = cache.find(*problem, tensors.d.device, [&](auto& p, auto& d) { return plan_gemm(p, d, {}, *tuning); });
  throw_if(plan.error());
  throw_if(run_with_workspace(**plan, tensors.d.device, stream,
                              [&](Workspace workspace) { return (*plan)->run(tensors, workspace, stream); }));
}

}  // namespace ridge
