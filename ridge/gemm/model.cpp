// The predicted time of a variant. Pure: no CUDA call, no global.
#include <ridge/core/grid.hpp>
#include <ridge/core/text.hpp>
#include <ridge/gemm/by_columns.hpp>
#include <ridge/gemm/model.hpp>
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/slices.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::gemm_detail {

Cost cost(const GemmProblem& p) {
  const auto elements = [&](std::int64_t rows, std::int64_t cols, const GemmOperand& o, std::int64_t batch) {
    const double n = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(size_of(o.dtype));
    return o.batch_stride == 0 && batch > 1 ? n : n * static_cast<double>(batch);
  };
  // Groups: one A, D and so on, and one B for each group.
  const std::int64_t matrices = p.grouped ? 1 : p.batch;
  Cost cost;
  if (products(p) > 0)
    cost.bytes_read = elements(p.m, p.k, *p.a, matrices) + elements(p.k, p.n, *p.b, p.batch) * (p.gate ? 2 : 1);
  if (p.c) cost.bytes_read += elements(p.m, p.n, *p.c, matrices);
  if (p.residual_layout) cost.bytes_read += elements(p.m, p.n, *p.residual_layout, matrices);
  if (p.bias_layout)
    cost.bytes_read += elements(p.bias == GemmBias::along_m ? p.m : 1, p.bias == GemmBias::along_n ? p.n : 1,
                                *p.bias_layout, p.grouped ? p.batch : 1);
  cost.bytes_written = elements(p.m, p.n, *p.d, matrices);
  // On the fastest unit for the type: what bounds the operator, not what a variant uses.
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

namespace {

// ---- the time of a variant, in clocks of one multiprocessor -------------------------------------------------------

// Warp instructions of multiply-adds that a multiprocessor takes per clock. Since Ampere, data sheets give the tensor
// cores' rate for double on the chips that have such.
double multiply_adds_per_clock(DType dtype, const DeviceInfo& d) {
  const double per_tflop = 1e3 / (2 * 32 * d.sms * d.clock_ghz);
  if (dtype == f64) return d.fp64_tflops * per_tflop / (d.cc == 80 || d.cc == 90 ? 2 : 1);
  // dp4a: half as many instructions, of four products each.
  return d.fp32_tflops * per_tflop / (dtype == i8 ? 2 : 1);
}

constexpr double load_latency = 800;   // clocks from a global load to its use, from the L2 cache
constexpr double barrier_clocks = 40;  // a barrier, and the first read of shared memory after it
constexpr double tile_clocks = 3000;   // a block's start, its first loads and its epilogue
// Families that copy by threads keep all stages but one in flight: the latency of these copies, and the share of
// memory's rate that all of them reach. Measured on an H100 with few rows.
constexpr double copies_late_us = 1.1, copies_share = 0.62;
constexpr double schedulers = 4;  // of a multiprocessor: warp instructions per clock of all kinds
// Clocks per float multiply-add where a scheduler issues one each clock: the compiler's register choice causes bank
// conflicts (sm90_thread_tile.cuh), which are hidden where one takes two clocks. Measured on an H200.
constexpr double register_conflicts = 1.45;
constexpr double single_copy_clocks = 13;             // of a multiprocessor, per warp
constexpr double few_warps = 12, waits_of_few = 1.3;  // of a multiprocessor in all, and how much longer so few take

Step longest(std::initializer_list<Step> steps) {
  return std::max(steps, [](const Step& a, const Step& b) { return a.clocks < b.clocks; });
}

bool uses_tensor_cores(const Config& c) {
  return c.family == Family::mma_sync || c.family == Family::wmma || (is_hopper(c) && c.family != Family::tma_tile);
}

// Single multiply-adds that D needs. parts: products on tensor cores per product of float32.
double needed_products(const GemmProblem& p, int parts = 1) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(products(p)) *
         static_cast<double>(p.grouped ? 1 : p.batch) * (p.gate ? 2 : 1) * parts;
}
int parts_of_product(const GemmProblem& p) { return p.scalars.math == GemmMath::tf32x3 ? 3 : 1; }

// Fills what follows from the products: `needed` by D, `step` in each of `steps` steps of a tile, at `per_clock`.
void count_products(Clocks& c, double needed, double step, double steps, double per_clock, const DeviceInfo& device) {
  c.step_products = step / per_clock;
  c.products = needed / (per_clock * device.sms);
  c.waves = c.tiles * steps * c.step_products - c.products;
}

// Single multiply-adds that a multiprocessor's tensor cores take per clock.
double tensor_products_per_clock(DType dtype, const DeviceInfo& d) {
  const double tflops = dtype == f64                         ? d.fp64_tflops
                        : dtype == f32                       ? d.tf32_tflops
                        : dtype == i8                        ? d.int8_tops
                        : dtype == f8e4m3 || dtype == f8e5m2 ? d.fp8_tflops
                                                             : d.fp16_tflops;
  return tflops * 1e3 / (2 * d.sms * d.clock_ghz);
}

// ---- Family::mma_sync: clocks of one step of bk -------------------------------------------------------------------

// Share of Hopper's rates that mma.sync reaches instead of wgmma: 16-bit types and TF32, and signed bytes.
constexpr double hopper_share = 0.45, hopper_share_of_bytes = 0.24;
// Clocks of a scheduler: rounding a warp's 32 elements to TF32, and the extra cost of reading them one by one, not
// along k.
constexpr double round_clocks = 11, single_read_clocks = 32;
constexpr double mma_efficiency = 0.9;     // share of the tensor cores' rate that warps reach that also read and copy
constexpr double mma_tile_clocks = 5000;   // a block's start, first loads from memory and epilogue, as for wgmma
constexpr double shifted_clocks = 2000;    // minimum for a step of 64 x 64: a read of memory. H100, few rows.
constexpr double shift_instructions = 80;  // per thread, for 16 bytes of an unaligned row, in all

// Number of C, bias and residual present.
int addends(const GemmProblem& p) { return (p.c ? 1 : 0) + (p.bias_layout ? 1 : 0) + (p.residual_layout ? 1 : 0); }

// Clocks of a multiprocessor per element of D in the epilogue. Measured on an H100 with short k.
double mma_finish_clocks(const GemmProblem& p) {
  return 0.25 + 0.1 * addends(p) + (p.scalars.activation == Activation::none ? 0 : 0.1);
}

// The same for threads that finish one vector of D after another, and wait for each one's addends.
double thread_finish_clocks(const GemmProblem& p) {
  return 0.1 + 0.8 * addends(p) + (p.scalars.activation == Activation::none ? 0 : 0.3);
}

Step mma_step(const Config& c, const GemmProblem& p, const DeviceInfo& device, double resident) {
  const DType dtype = p.dtype;
  const double warps = threads(c) / 32.0, bytes = c.bk * static_cast<double>(size_of(dtype));
  const double share = mma_efficiency * (device.cc != 90 || dtype == f64 ? 1
                                         : dtype == i8                   ? hopper_share_of_bytes
                                                                         : hopper_share);
  const double multiply = static_cast<double>(c.bm) * c.bn * c.bk / (tensor_products_per_clock(dtype, device) * share);
  // Shared memory moves 128 bytes a clock: the warps' reads and the copies.
  const double shared = (warps * (c.wm + c.wn) + c.bm + c.bn) * bytes / 128;
  // Unaligned rows: doubles are copied one by one, 16-bit elements through registers, a step ahead.
  const bool shifts = c.loads == Loads::elements && dtype != f64;
  const double copies = (c.bm + c.bn) * bytes / (c.loads == Loads::vectors || shifts ? access_bytes : 8);
  const double issue = copies * (shifts ? shift_instructions : 2) / (32 * schedulers);
  double rounding = 0;
  if (dtype == f32) {
    const auto clocks_of = [&](int edge, Major major) {
      return edge * (round_clocks + (major == Major::k ? 0 : single_read_clocks));
    };
    rounding = (clocks_of(c.wm, major_of_a(p)) + clocks_of(c.wn, major_of_b(p))) * c.bk / 32 * warps / schedulers;
  }
  Step step = longest({{multiply, "warps that feed the tensor cores"},
                       {shared, "shared memory"},
                       {issue, "copies"},
                       {rounding, "rounding to TF32"}});
  step.clocks += barrier_clocks / resident;
  // Shifted operands are read only one step ahead, and a block has nothing to do meanwhile.
  if (shifts) step.clocks = std::max(step.clocks, shifted_clocks * (c.bm + c.bn) / 128);
  return step;
}

// A step of bk on a multiprocessor with `resident` blocks to hide its waits.
Step step_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, double resident) {
  if (c.family == Family::mma_sync) return mma_step(c, p, device, resident);
  if (c.family == Family::wmma) {  // like a step of mma.sync, with every wait exposed
    const double clocks = mma_step(c, p, device, resident).clocks;
    return {clocks + (load_latency + 2 * barrier_clocks) / resident, "waits for every step's operands"};
  }
  const double rate = multiply_adds_per_clock(p.dtype, device), warps = threads(c) / 32.0;
  if (c.family != Family::thread_tile) {
    // Two loads per multiply-add; naive's go through the L1 cache, which takes the addresses of 4 lanes at a time for
    // one of them.
    const double k = c.family == Family::naive ? 1 : c.bk, loads = c.family == Family::naive ? 6 : 2;
    const double work = (c.gated ? 2 : 1) * warps * k * std::max(1 / rate * (p.dtype == i8 ? 0.5 : 1), loads);
    constexpr double naive_wait = 150;  // until a product's loads arrive, where few warps hide it; on an H100
    if (c.family == Family::naive) return {std::max(work, naive_wait), "two loads for each product"};
    return {work + 2 * (load_latency / 2 + barrier_clocks) / resident, "two loads for each product"};
  }
  const int staged = c.bk / pack(p.dtype), fragment_size = fragment(p.dtype);
  const double fragments = (c.tm + c.tn) / static_cast<double>(fragment_size);
  // Instructions of a warp: multiply-adds, fragments, and per copied element its share of load, store and address.
  const double per_copy = c.loads == Loads::vectors ? 1.5 : c.pipeline == Pipeline::multistage ? 3 : 8;
  const double copied = static_cast<double>(c.bm + c.bn) * staged / threads(c);
  const double conflicts = p.dtype != f64 && p.dtype != i8 && rate > schedulers / 2 * 1.5 ? register_conflicts : 1;
  const double issue = (staged * fragments + copied * per_copy) / schedulers + staged * c.tm * c.tn / rate * conflicts;
  // A warp's 16-byte read of shared memory takes 2 clocks where lanes are arranged for it. Otherwise neighbouring lanes
  // read every other 16 bytes of B, which conflict (8 clocks), and share those of A (4). Copies pass through the same
  // port.
  const double shared = staged * fragments * (c.conflict_free ? 2 : 6) + copied * (c.loads == Loads::vectors ? 1 : 2);
  const double busy = std::min(1.0, resident * warps / schedulers);  // share of schedulers that have a warp
  // Asynchronous copies of single elements: those of K-major operands, which they transpose.
  const auto single = [&](int edge, Major major) {
    const bool is = c.pipeline == Pipeline::multistage && (c.loads == Loads::elements || major == Major::k);
    return is ? edge * staged / 32.0 : 0;
  };
  const double singles = single(c.bm, major_of_a(p)) + single(c.bn, major_of_b(p));
  Step step = longest({{warps * issue / busy, "issue slots and banks of registers"},
                       {warps * shared, "shared memory"},
                       {singles * single_copy_clocks, "copies of single elements"}});
  const double work = step.clocks;
  const double waits = c.pipeline == Pipeline::single          ? load_latency + 2 * barrier_clocks
                       : c.pipeline == Pipeline::double_buffer ? std::max(0.0, load_latency - work) + barrier_clocks
                                                               : barrier_clocks;
  step.clocks = work + waits / resident;
  return step;
}

// ---- Family::wgmma --------------------------------------------------------------------------------------------------
// Constants are fitted to measurements on an H200; README.md says to which.

constexpr double store_clocks = 1200;  // for 64 x 256 elements of D: registers to shared memory, and the first wait
constexpr double odd_copies = 1.5;     // factor where a tile has an odd number of copies of 64 columns
constexpr double wgmma_start_clocks = 1800;   // a block's start and its barriers, without the launch; on an H100
constexpr double split_start_clocks = 3000;   // the same for Family::wgmma_split and blocks that are not persistent
constexpr double cluster_start_clocks = 300;  // clusters start later
constexpr double without_multicast = 1.01;    // factor by which a step takes longer
constexpr double shared_share = 0.9;          // share of shared memory's busy time that products do not hide
constexpr double multicast_clocks = 460;      // the shortest step of blocks that wait for each other's copies
constexpr double multicast_ping_pong = 640;   // the same where their warpgroups ping-pong
constexpr double multicast_waves = 725;       // the same where tiles are 128 x 128, in several waves
constexpr double l2_bytes_per_clock = 50;     // of a multiprocessor while all of them load
// The same where no block has a second tile: of one multiprocessor at most, and of all together with tiles of 128 rows.
// Measured on an H100.
constexpr double l2_bytes_of_one = 64, l2_bytes_of_one_wave = 5200;
constexpr double line_clocks = 1.5;  // of the copy engine, for a line of 128 bytes
// The same for rows aligned to sectors of the L2 cache but not to its lines; for unaligned ones; and for operands along
// M or N, whose boxes are narrow and tall. Measured on an H100.
constexpr double sector_line_clocks = 3.2, unaligned_line_clocks = 4.9, outer_line_clocks = 5.2;
constexpr double memory_bytes_per_clock = 30;  // of a multiprocessor from memory, however few load
constexpr double tail_clocks = 3000;           // at most, until a last wave has issued all its loads; on an H100
constexpr double wgmma_memory_share = 0.95;    // share of memory's rate of large tiles with few rows; on an H100
constexpr double block_bytes_per_clock = 50;   // of a block of Family::wgmma_split, in all
constexpr double crowd = 0.8, crowded_block_bytes_per_clock = 36;  // where this share of multiprocessors load; H100
constexpr double split_memory_share = 0.94;  // share of memory's rate of its skinny tiles; measured on an H100
constexpr double not_hidden = 0.2;           // share of its work, while it waits for memory
constexpr double one_warpgroup = 1.13;       // factor of a step where a block has one tile and one warpgroup is idle
constexpr double single_stores = 64;         // instructions per element of D in unaligned rows
constexpr double single_addends = 35;        // per element of C or of a residual that TMA cannot load
constexpr double epilogue_vectors = 4;       // of four elements, that a thread finishes at a time
constexpr double addend_late = 700;          // clocks until C, bias or residual arrives in threads
constexpr double brought_addends = 3;        // the same where TMA loads it
constexpr double late_addends = 20;          // the same after an activation, with its waits; H100
// Share of memory's rate for addends that sums begin with, with nothing to overlap; measured on an H100.
constexpr double addend_share = 0.9;
// Share of an activation during which overlapping products stand still; and where sums take all registers. H100.
constexpr double beside_products = 0.6, beside_largest_tiles = 1.05;
constexpr double promoted = 1.15;        // factor of a step whose sums leave the tensor cores with nothing to overlap
constexpr double split_promoted = 1.25;  // the same in Family::wgmma_split: two warpgroups begin and end together
constexpr double sums_bytes_per_clock = 48;   // for a tile's sums on their way to other blocks and to D
constexpr double sums_in_stages = 0.25;       // share of that rate where a cluster waits before it sends them
constexpr double split_finish_clocks = 0.35;  // per element of D in the epilogue; and where another tile
constexpr double split_next_tile_clocks = 1;  // of the block follows. Measured on an H100 with short k.
constexpr double split_clocks = 300;          // a cluster's blocks start, and wait for each other at the end
constexpr double repack_share = 0.7;          // share of memory's rate that copies of operands reach
constexpr double further_launch_us = 2.5;     // start and end of such a copy
// Products of random numbers at full rate draw more power than the card allows: after some time the clock falls.
constexpr double power_slows = 0.31, power_us = 120, full_power_share = 0.7;

// Instructions per element of D for its activation. quick: for 16-bit D by columns (tile/quick_activation.cuh), with
// the selection of the sums.
double activation_instructions(const GemmProblem& p, bool quick) {
  const Activation a = p.scalars.activation;
  if (a == Activation::none || a == Activation::relu) return 1;
  return quick ? 30 : a == Activation::gelu ? 28 : 16;
}

// The same for the whole epilogue, and for single stores in unaligned rows. addend: per element of an addend.
double epilogue_instructions(const GemmProblem& p, bool quick = false, double addend = 8) {
  const double activation = activation_instructions(p, quick);
  const bool vectors = p.d->col_stride == 1 && starts_on(*p.d, p.d->row_stride, access_bytes);
  return activation + (p.gate ? 2 : 0) + (p.c ? addend : 0) + (p.residual_layout ? addend : 0) +
         (p.bias_layout ? 2 : 0) + (vectors ? 0 : single_stores);
}

// Tiles of D, in clusters. A plan does not know where groups begin: as many as for random cuts, between which there are
// at least x rows with probability exp(-x groups / m).
double wgmma_tiles(const Config& c, const GemmProblem& p) {
  const Raster tiles = wgmma_raster(c, p.m, p.n);
  if (!c.grouped) return static_cast<double>(tiles.tiles() * p.batch);
  const double groups = static_cast<double>(std::min(p.m, p.batch));  // that have rows
  if (groups == 0) return 0;
  const double rows = groups / -std::expm1(-c.bm * groups / static_cast<double>(p.m));
  return std::ceil(rows) * static_cast<double>(tiles.cols);
}

// Clocks of a multiprocessor's copy engine per line of an operand.
double clocks_of_line(const GemmOperand& o, const Repacked& read) {
  const auto pitch = read.pitch * static_cast<std::int64_t>(size_of(o.dtype));
  if (read.needed || pitch % 128 == 0) return line_clocks;
  if (read.major == Major::outer) return outer_line_clocks;
  return starts_on(o, read.pitch, 32) ? sector_line_clocks : unaligned_line_clocks;
}

Clocks wgmma_clocks_of_tiles(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double products_per_clock = tensor_products_per_clock(p.dtype, device);
  const double elements = static_cast<double>(c.bm) * c.bn, stage = wgmma_stage_bytes(c);
  // Shared memory moves lines of 128 bytes: the products of 64 rows read these and all columns, and TMA writes both.
  const double lines = c.bm / 64 * (64 + c.bn) + c.bm + c.bn;
  const double tiles = wgmma_tiles(c, p), columns_loaded = static_cast<double>(c.bn) / c.cluster;
  const double loaded = (c.bm + columns_loaded) * wgmma_line_bytes;
  const bool one_wave = tiles * c.cluster <= device.sms;
  const Repack reads = repack_of(c, p, false);
  const double copied = c.bm * clocks_of_line(*p.a, reads.a) + columns_loaded * clocks_of_line(*p.b, reads.b);
  const double of_l2 = !one_wave    ? l2_bytes_per_clock
                       : c.bm <= 64 ? l2_bytes_of_one
                                    : std::min(l2_bytes_of_one, l2_bytes_of_one_wave / (tiles * c.cluster));
  const auto sizeof_operand = size_of(p.dtype);
  Clocks clocks;
  clocks.step = longest({{elements * c.bk / products_per_clock * (c.cluster == 1 ? without_multicast : 1),
                          "loads that no cluster shares"},
                         {lines * shared_share, "shared memory"},
                         {copied, "the copy engine"},
                         {c.cluster == 1                                                 ? 0
                          : !one_wave && c.bm * c.bn == 128 * 128 && sizeof_operand == 2 ? multicast_waves
                          : c.schedule == Schedule::ping_pong                            ? multicast_ping_pong
                                                                                         : multicast_clocks,
                          "the blocks of a cluster, which wait for each other"},
                         {loaded / of_l2, "the L2 cache"}});
  if (c.promote && !has_two_parts(c)) clocks.step = {clocks.step.clocks * promoted, "sums that leave the tensor cores"};
  const double step = clocks.step.clocks;
  const double steps = static_cast<double>(ceil_div(products(p), c.bk)) * (p.scalars.math == GemmMath::tf32x3 ? 3 : 1);
  const double stored = static_cast<double>(c.bm) * columns(c);
  const bool by_columns = is_by_columns(c, p), quick = by_columns && size_of(*p.out) == 2;
  // An addend loads like operands, as first or last steps. A residual after an activation takes the last ones, and
  // delays the next tile's first ones.
  const GemmOperand* addend = by_columns ? tile_addend(p) : nullptr;
  const bool last_steps = addend && ((p.residual_layout && p.scalars.activation != Activation::none) ||
                                     !addend_comes_first(c, static_cast<std::int64_t>(tiles), device.sms));
  const double instructions = epilogue_instructions(p, quick,
                                                    last_steps   ? late_addends
                                                    : by_columns ? brought_addends
                                                                 : single_addends);
  // The last steps use the bandwidth that operands leave.
  const double brought = addend ? stored * static_cast<double>(size_of(addend->dtype)) : 0;
  const double memory_bytes = device.memory_gbs / (device.clock_ghz * device.sms);  // of a multiprocessor, per clock
  const double waits = last_steps ? std::max(0.0, (steps * loaded + brought) / l2_bytes_per_clock - steps * step)
                                  : brought / (memory_bytes * addend_share);
  const double store = columns(c) / 64 % 2 == 0 ? 1 : odd_copies;
  const double finish = stored / (64 * 256) * store_clocks * store + stored * instructions / (4 * 32) + waits;
  const double most = std::ceil(tiles / std::max(1, device.sms / c.cluster));  // of one block
  const double first_load = stage * device.sms / device.memory_gbs * device.clock_ghz;
  const double start = wgmma_start_clocks + first_load + (c.cluster > 1 ? cluster_start_clocks : 0);
  clocks.tiles = most;
  clocks.mean_tiles = tiles * c.cluster / device.sms;
  clocks.start = start;
  count_products(clocks, needed_products(p, parts_of_product(p)), elements * c.bk, steps, products_per_clock, device);
  switch (c.schedule) {
    case Schedule::one: {  // a step's copy and products do not overlap; other blocks fill in
      const double resident = std::max(1.0, std::min<double>(c.blocks_per_sm, most));
      const double alone = load_latency + barrier_clocks + step;
      clocks.step = {std::max(step * 1.5, alone / resident), "copies, which products wait for"};
      clocks.finish = most * finish;
      clocks.total = start + most * (steps * clocks.step.clocks + finish);
      break;
    }
    case Schedule::ping_pong: {  // only the last tile's end is exposed, or what exceeds the other tile's products
      const double of_one = elements * c.bk / products_per_clock * one_warpgroup;  // a step's products
      const double alone = steps * (most == 1 ? std::max(step, of_one) : step),
                   active = (activation_instructions(p, quick) - 1) * stored / (4 * 32),
                   both = last_steps ? alone + finish
                                     : std::max(alone, (steps * step + finish - waits) / 2) + waits +
                                           (is_by_columns_alone(c) ? beside_largest_tiles : beside_products) * active;
      if (most == 1 && of_one > step) clocks.step = {of_one, "a tile that one of two warpgroups has alone"};
      clocks.finish = most * (both - alone) + finish;
      clocks.total = start + most * both + finish;
      break;
    }
    default:
      clocks.start += c.persistent ? 0 : most * split_start_clocks;
      clocks.finish = most * finish;
      clocks.total = start + most * (steps * step + finish + (c.persistent ? 0 : split_start_clocks));
  }
  return clocks;
}

// Bytes per clock that `sms` multiprocessors get from memory; tail: in a last wave, where each gets less the more of
// them load. Measured on an H100 with 16 to 132.
double memory_rate(double sms, bool tail, const DeviceInfo& device) {
  constexpr double many = 0.53, least = 16.5;  // a share of the device's; bytes that one gets
  const double crowding = tail ? sms / (many * device.sms) : 0;
  const double of_one = std::max(least, memory_bytes_per_clock / (1 + crowding * crowding));
  return std::min(sms * of_one, device.memory_gbs * wgmma_memory_share / device.clock_ghz);
}

Clocks wgmma_clocks(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const double tiles = wgmma_tiles(row.config, p) * row.config.cluster;
  // Where memory is the limit, the last wave's few tiles take longer than their share.
  const double last = std::fmod(tiles, device.sms), of_tile = cost(p).bytes() / tiles;
  const bool tail = tiles > device.sms;
  const double from_memory = (tiles - last) * of_tile / memory_rate(device.sms, false, device) +
                             (last > 0 ? last * of_tile / memory_rate(last, tail, device) : 0) +
                             (tail ? std::min(tail_clocks, of_tile / memory_bytes_per_clock) : 0);
  Clocks clocks = wgmma_clocks_of_tiles(row, p, device);
  const double work = clocks.total;
  const double start = wgmma_start_clocks + (row.config.cluster > 1 ? cluster_start_clocks : 0);
  clocks.total = std::max(work, start + from_memory + not_hidden * std::min(work, from_memory));
  clocks.memory = clocks.total - work;
  return clocks;
}

// ---- Family::wgmma_split --------------------------------------------------------------------------------------------

Clocks split_clocks_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, const Arrangement& way) {
  const int rows = split_wide_rows(c, p, device.sms, way.split, way.swap_ab);
  const double wide = static_cast<double>(ceil_div(way.swap_ab ? p.n : p.m, rows)),
               skinny = static_cast<double>(ceil_div(way.swap_ab ? p.m : p.n, c.bn));
  const double tiles = wide * skinny * static_cast<double>(p.batch);
  const Repack reads = repack_of(c, p, way.swap_ab);
  // Blocks on one multiprocessor alternate; where memory alone limits, they hide each other's waits. In persistent
  // blocks, the next tile's loads overlap the store.
  const bool stay = split_stays(way.split, (way.swap_ab ? reads.a : reads.b).major == Major::none);
  const double at_a_time = static_cast<double>(clusters_at_a_time(device.sms, way.split)),
               resident = stay ? 1 : std::clamp<double>(std::ceil(tiles / at_a_time), 1, c.blocks_per_sm),
               waves = std::ceil(tiles / (at_a_time * resident)), ends = stay ? 1 : waves;
  const double steps = static_cast<double>(ceil_div(ceil_div(products(p), c.bk), way.split));
  const double elements = static_cast<double>(c.bm) * c.bn;
  const double lines = split_consumers(c) * (64 + c.bn) + rows + c.bn;
  const auto copied_of = [&](const GemmOperand& o, const Repacked& read, int of) {
    return read.major == Major::none ? 0 : of * clocks_of_line(o, read);  // threads gather it
  };
  const double copied =
      copied_of(*p.a, reads.a, way.swap_ab ? c.bn : rows) + copied_of(*p.b, reads.b, way.swap_ab ? rows : c.bn);
  const double per_clock = tensor_products_per_clock(p.dtype, device);
  // Tiles that read the wide operand again for each skinny tile, on nearly all multiprocessors.
  const bool crowded = skinny > 1 && way.split == 1 && tiles > crowd * device.sms;
  const double block_bytes = crowded ? crowded_block_bytes_per_clock : block_bytes_per_clock;
  Clocks clocks;
  clocks.step = longest({{elements * c.bk / per_clock, "the tensor cores"},
                         {lines * shared_share, "shared memory"},
                         {copied, "the copy engine"},
                         {wgmma_stage_bytes(c) / block_bytes, "what a block gets from the L2 cache"}});
  if (c.promote)
    clocks.step = {clocks.step.clocks * (c.bn > 64 ? split_promoted : promoted), "sums that leave the tensor cores"};
  const double blocks = tiles * way.split, fullest = std::ceil(blocks / device.sms);  // blocks of a multiprocessor
  const double from_memory =
      std::max(cost(p).bytes_read / blocks * fullest / memory_bytes_per_clock,
               cost(p).bytes() / (device.memory_gbs * (c.bn > 64 ? 1 : split_memory_share)) * device.clock_ghz);
  // Each thread has a few vectors of D at a time, and waits for their addends.
  const double vectors = std::max(1.0, c.bn / 8.0 / way.split);
  const double finish = elements * 4 / (sums_bytes_per_clock * (split_sums_apart(c) ? 1 : sums_in_stages)) +
                        elements / way.split * (split_finish_clocks + epilogue_instructions(p) / (4 * 32)) +
                        std::ceil(vectors / epilogue_vectors) * addends(p) * addend_late +
                        (way.split > 1 ? split_clocks : 0);
  const double between_tiles = stay ? (waves - 1) * elements * split_next_tile_clocks : 0;
  const double work = waves * resident * steps * clocks.step.clocks + between_tiles,
               waits = skinny > 1 ? not_hidden : not_hidden / resident,
               loaded = std::max(work, from_memory + waits * std::min(work, from_memory));
  clocks.tiles = waves * resident;
  clocks.mean_tiles = tiles * way.split / device.sms;
  count_products(clocks, needed_products(p), elements * c.bk, steps, per_clock, device);
  // With few rows the first loads start before the previous kernel ends (sm90_split.cuh).
  const bool early = c.bn <= 64 && skinny == 1 && !reads.needed();
  clocks.start = (early ? ends - 1 : ends) * split_start_clocks;
  clocks.finish = ends * finish + between_tiles;
  clocks.memory = loaded - work;
  clocks.total = loaded + clocks.start + ends * finish;
  return clocks;
}

// ---- Family::tma_tile -----------------------------------------------------------------------------------------------

constexpr double tma_tile_share = 0.784;           // of the multiply-adds' rate, where two warps share a scheduler
constexpr double tma_tile_share_of_groups = 0.75;  // the same where groups of warps have their own steps
constexpr double tma_tile_share_of_8x8 = 0.67;     // the same for 8 x 8 per thread, which reads more per product
constexpr double tma_tile_share_of_one = 0.55;     // and where one warp is alone with its waits
// Factor where the operand `down` is K-major: more multiply-adds then have register bank conflicts.
constexpr double tma_tile_share_along_k = 0.96;
constexpr double tma_tile_clocks = 5000;  // a block's start, first loads from memory and epilogue

Arrangement tma_tile_arrangement(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  // The operand `across` lies along M or N. Where neither does, B is transposed.
  Arrangement way{.swap_ab = !transposes_down(c, p) && major_of_a(p) == Major::outer && major_of_b(p) == Major::k};
  const double tiles =
      static_cast<double>(raster_of(way.swap_ab ? p.n : p.m, way.swap_ab ? p.m : p.n, c.bm, c.bn).tiles() * p.batch);
  const double most = std::ceil(tiles / device.sms), resident = std::clamp<double>(most, 1, c.blocks_per_sm);
  const double warps = resident * threads(c) / 32;
  const double share = warps < 2 * schedulers ? tma_tile_share_of_one
                       : c.tm == 8            ? tma_tile_share_of_8x8
                       : c.k_groups > 1       ? tma_tile_share_of_groups
                                              : tma_tile_share;
  const bool along_k = !transposes_down(c, p) && (way.swap_ab ? major_of_b(p) : major_of_a(p)) == Major::k;
  const double instructions = static_cast<double>(ceil_div(products(p), c.bk) * c.bk) * c.bm * c.bn / 32;
  const double rate = multiply_adds_per_clock(p.dtype, device) * std::min(1.0, warps / schedulers) * share *
                      (along_k ? tma_tile_share_along_k : 1);
  const double steps = static_cast<double>(ceil_div(products(p), c.bk));
  Clocks& clocks = way.clocks;
  clocks.tiles = most;
  clocks.mean_tiles = tiles / device.sms;
  count_products(clocks, needed_products(p), static_cast<double>(c.bm) * c.bn * c.bk, steps,
                 32 * multiply_adds_per_clock(p.dtype, device), device);
  clocks.step = {instructions / steps / rate, "reads of shared memory, and waits that few warps hide"};
  clocks.start = most * (tma_tile_clocks / resident);
  clocks.total = most * (instructions / rate + tma_tile_clocks / resident);
  return way;
}

// ---- families with split-K slices -----------------------------------------------------------------------------------

double slices_us(const GemmProblem& p, const DeviceInfo& device, int slices) {
  if (slices == 1) return 0;
  return device.launch_us + add_slices_us(static_cast<std::int64_t>(slice_bytes(p, slices)), slices, device);
}

Prediction predict_slices(const Config& c, const GemmProblem& p, const DeviceInfo& device, int slices) {
  double memory_us = cost(p).bytes() / device.memory_gbs * 1e-3;
  const double whole_tiles = static_cast<double>(tiles_of(c, p)) * static_cast<double>(p.grouped ? 1 : p.batch),
               tiles = whole_tiles * slices;
  const int smem = smem_bytes(c, p.dtype);
  const int room = std::max(1, std::min(device.threads_per_sm / threads(c), smem ? device.smem_per_sm / smem : 32));
  // The fullest multiprocessor's tiles: where they are few, little hides their waits.
  const double most = static_cast<double>(ceil_div(static_cast<std::int64_t>(tiles), device.sms));
  const bool tensor_cores = uses_tensor_cores(c);
  const int registers_allow = c.family == Family::thread_tile || tensor_cores ? c.blocks_per_sm : 8;
  const double resident =
      std::max(1.0, std::min({static_cast<double>(room), static_cast<double>(registers_allow), most}));
  const int step = c.family == Family::naive ? 1 : c.bk;
  const double steps = static_cast<double>(ceil_div(slices_of(c, products(p), slices).k, step));
  const double tile = tensor_cores ? mma_tile_clocks : tile_clocks;
  const double finish =
      static_cast<double>(c.bm) * columns(c) * (tensor_cores ? mma_finish_clocks(p) : thread_finish_clocks(p));
  const bool few = c.family == Family::thread_tile && most * threads(c) / 32 < few_warps;
  Prediction r;
  Clocks& clocks = r.clocks;
  clocks.tiles = most;
  clocks.mean_tiles = tiles / device.sms;
  clocks.step = step_of(c, p, device, resident);
  // Four signed bytes per instruction, except where a thread has one element: there single ones, at the full rate.
  const double of_instruction = p.dtype != i8 ? 32 : c.family == Family::thread_tile ? 32 * 4 : 32 * 2;
  count_products(clocks, needed_products(p), static_cast<double>(c.bm) * columns(c) * (c.gated ? 2 : 1) * step, steps,
                 tensor_cores ? tensor_products_per_clock(p.dtype, device)
                              : multiply_adds_per_clock(p.dtype, device) * of_instruction,
                 device);
  clocks.start = most * (tile / resident);
  clocks.finish = most * finish;
  clocks.total = most * (steps * clocks.step.clocks * (few ? waits_of_few : 1) + tile / resident + finish);
  if (few) clocks.step = {clocks.step.clocks * waits_of_few, "waits that few warps hide"};
  const double sm_us = clocks.total / device.clock_ghz * 1e-3;
  // Each block reads its operands from the L2 cache.
  const double size = static_cast<double>(size_of(p.dtype));
  const double l2_bytes = whole_tiles * static_cast<double>(c.bm + c.bn) * static_cast<double>(products(p)) * size;
  const double l2_us = device.l2_gbs > 0 ? l2_bytes / device.l2_gbs * 1e-3 : 0;
  if (c.family == Family::mma_sync && tiles > 0) {
    const double rows = static_cast<double>(std::min<std::int64_t>(c.bm, p.m) + std::min<std::int64_t>(c.bn, p.n));
    const double under_way = std::min(tiles, device.sms * resident) * (c.stages - 1) * rows * c.bk * size;  // bytes
    memory_us = std::max(memory_us / copies_share, cost(p).bytes_read / under_way * copies_late_us);
  }
  r.cache_us = std::max(0.0, l2_us - sm_us);
  r.memory_us = std::max(0.0, memory_us - std::max(sm_us, l2_us));
  r.slices_us = slices_us(p, device, slices);
  r.us = device.launch_us + std::max({sm_us, l2_us, memory_us}) + r.slices_us;
  return r;
}

// The CPU runtime runs few blocks at a time, and its plans should be the same on every machine.
Arrangement slice_arrangement(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  Arrangement best;
  constexpr double most_tiles = 4;  // per multiprocessor: with more, slices never paid off
  const double tiles = static_cast<double>(tiles_of(c, p)) * static_cast<double>(p.batch);
  if (!has_slices(c, p) || device.id.kind == DeviceKind::cpu || products(p) == 0 || tiles == 0 ||
      tiles > most_tiles * device.sms)
    return best;
  double least_us = predict_slices(c, p, device, 1).us;
  for (int wanted = 2; wanted <= max_slices; wanted += std::max(1, wanted / 2)) {
    const int slices = slices_of(c, products(p), wanted).count;
    const double us = predict_slices(c, p, device, slices).us;
    if (us < least_us) least_us = us, best.split = slices;
  }
  return best;
}

}  // namespace

Arrangement arranged(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  if (c.family == Family::tma_tile && products(p) > 0) return tma_tile_arrangement(c, p, device);
  if (!is_hopper(c)) return slice_arrangement(c, p, device);
  Arrangement best;
  if (c.family != Family::wgmma_split || products(p) == 0) return best;
  for (int split = 1; split <= max_split && split <= ceil_div(products(p), c.bk); split *= 2) {
    Arrangement way{split, is_wider_across(p)};
    way.clocks = split_clocks_of(c, p, device, way);
    if (best.clocks.total == 0 || way.clocks.total < best.clocks.total) best = way;
  }
  return best;
}

namespace {

// The time of the copies before the product.
double repack_us(const Repack& r, const GemmProblem& p, const DeviceInfo& device) {
  if (!r.needed()) return 0;
  bool kept = false, transposed = false;  // one kernel for each
  const auto count = [&](const Repacked& to, Major major) {
    if (to.needed) (r.low == 0 && to.major == major ? kept : transposed) = true;
  };
  count(r.a, major_of_a(p));
  count(r.b, major_of_b(p));
  if (r.gate.needed) count(r.gate, major_of_gate(p));
  const double bytes = static_cast<double>(r.bytes()) * (r.low ? 1.5 : 2);
  return (kept + transposed) * (device.launch_us + further_launch_us) +
         bytes / (device.memory_gbs * repack_share) * 1e-3;
}

Prediction predict_hopper(const Variant& row, const GemmProblem& p, const DeviceInfo& device, double memory_us) {
  const Config& c = row.config;
  const Arrangement way = arranged(c, p, device);
  Prediction r;
  r.clocks = c.family == Family::wgmma ? wgmma_clocks(row, p, device) : way.clocks;
  const double full_clock_us = r.clocks.total / device.clock_ghz * 1e-3;
  // 3xtf32 also adds sums outside of the tensor cores.
  const bool full_power = uses_tensor_cores(c) && p.scalars.math != GemmMath::tf32x3;
  // Share of the time in which tensor cores draw that much.
  const double busy = r.clocks.total > 0 ? std::min(1.0, r.clocks.products / r.clocks.total / full_power_share) : 0;
  r.slower = full_power ? busy * power_slows * -std::expm1(-full_clock_us / power_us) : 0;
  const double work_us = full_clock_us * (1 + r.slower);
  r.memory_us = std::max(0.0, memory_us - work_us);
  r.copies_us = repack_us(repack_of(c, p, way.swap_ab), p, device);
  r.us = device.launch_us + std::max(work_us, memory_us) + r.copies_us;
  return r;
}

}  // namespace

Prediction predict(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (is_hopper(c)) return predict_hopper(row, p, device, cost(p).bytes() / device.memory_gbs * 1e-3);
  return predict_slices(c, p, device, slice_arrangement(c, p, device).split);
}

// ---- the account ----------------------------------------------------------------------------------------------------

std::vector<Analysis::Term> terms_of(const Config& c, const GemmProblem& p, const DeviceInfo& device,
                                     const Prediction& r, const Repack& copies, double full) {
  const Clocks& clocks = r.clocks;
  const auto us = [&](double of) { return of / device.clock_ghz * 1e-3; };
  const double gbs = device.memory_gbs, bytes = cost(p).bytes();
  std::vector<Analysis::Term> terms;
  double sum = 0;
  const auto add = [&](const char* name, double term_us, std::string why) {
    if (term_us > 1e-9 * r.us) terms.push_back({name, term_us, std::move(why)}), sum += term_us;
  };
  add("launch", device.launch_us, format("1 x %.2f us", device.launch_us));
  add("copies", r.copies_us, format("%.4g MB of operands, copied first", static_cast<double>(copies.bytes()) * 1e-6));
  add("slices", r.slices_us, "sums of slices of k, written to the workspace and added up by a second kernel");
  add("products", us(clocks.products),
      format("all multiply-adds, at the rate of %s on every multiprocessor",
             uses_tensor_cores(c) ? "tensor cores" : "multiply-add units"));
  add("waves", us(clocks.waves),
      format("%.4g tiles for each multiprocessor, the fullest has %.4g; tiles are %.0f %% full", clocks.mean_tiles,
             clocks.tiles, 100 * full));
  const std::size_t here = terms.size();
  add("start", us(clocks.start),
      clocks.finish > 0 ? "of blocks, and their first loads" : "of blocks, their first loads and their epilogues");
  add("epilogue", us(clocks.finish), "ends of tiles that no products hide");
  add("cache", r.cache_us,
      format("operands of all tiles at the %.0f GB/s of the L2 cache, beyond the above", device.l2_gbs));
  add("memory", us(clocks.memory) + r.memory_us,
      format("%.4g MB at %.0f GB/s are %.2f us; what the above does not hide", bytes * 1e-6, gbs, bytes / gbs * 1e-3));
  add("clock", us(clocks.total) * r.slower,
      format("falls by %.0f %% for the power of products at full rate", 100 * r.slower / (1 + r.slower)));
  // The rest: how much longer steps take than their products.
  if (const double rest = r.us - sum; rest > 1e-9 * r.us)
    terms.insert(
        terms.begin() + static_cast<std::ptrdiff_t>(here),
        {"operands", rest,
         format("a step of %d takes %.0f clocks because of %s; its products %.0f", c.family == Family::naive ? 1 : c.bk,
                clocks.step.clocks, std::string(clocks.step.limit).c_str(), clocks.step_products)});
  return terms;
}

}  // namespace ridge::gemm_detail
