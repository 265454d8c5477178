// fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/attention/launch.hpp>
#include <ridge/attention/validate.hpp>
#include <ridge/attention/variants.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge {

using namespace attention_detail;

namespace {

std::int64_t tiles_of(const Config& c, const AttentionProblem& p) { return ceil_div(p.sq * pack_of(c, p), c.bm); }
// Of one part of the keys.
std::int64_t blocks_of(const Config& c, const AttentionProblem& p) {
  if (p.backward) return query_blocks(c, p) + key_blocks(c, p);
  return p.hq == 0 ? 0 : tiles_of(c, p) * p.b * (p.hq / pack_of(c, p));
}

// Whether few queries share keys out among blocks by TMA.
bool decodes(const Config& c) { return c.family == Family::decode || c.family == Family::decode_one; }

// Of Family::decode and decode_one: as many parts as take the least time, counted in tiles, wave by wave. Measured on
// an H200, a block's beginning and end take as long as a tile of each of its warps,
// and what brings parts together as long as two.
int decode_splits(const Config& c, std::int64_t blocks, std::int64_t places, std::int64_t tiles) {
  const std::int64_t most_parts = c.family == Family::decode_one ? decode_most_parts(c) : 256;
  const std::int64_t warps = decode_warps(c), most = std::clamp<std::int64_t>(tiles / warps, 1, most_parts);
  std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t parts = 1; parts <= most; ++parts) {
    const std::int64_t each = ceil_div(tiles, parts), waves = ceil_div(blocks * parts, places);
    const std::int64_t time = waves * (std::max(each, warps) + warps) + (parts > 1 ? 2 * warps : 0);
    if (time < least && ceil_div(tiles, each) == parts) best = parts, least = time;  // all have keys
  }
  return static_cast<int>(best);
}

// Parts of the keys: as many as let one wave of blocks fill the device, and none of less than two tiles.
int splits_of(const Config& c, const AttentionProblem& p, const DeviceInfo& device) {
  const std::int64_t blocks = blocks_of(c, p);
  if (!c.split || blocks == 0) return 1;
  const KeyRange one = keys_of_one(p);
  const std::int64_t keys = c.family == Family::decode_one ? one.last - one.first : p.sk;
  const std::int64_t places = std::int64_t{device.sms} * c.blocks_per_sm, tiles = ceil_div(keys, c.bn);
  if (tiles <= 0) return 1;
  if (decodes(c)) return decode_splits(c, blocks, places, tiles);
  const std::int64_t parts = std::clamp<std::int64_t>(places / blocks, 1, std::max<std::int64_t>(1, tiles / 2));
  return static_cast<int>(ceil_div(tiles, ceil_div(tiles, parts)));  // parts that have keys
}

int smem_of(const Config& c, const AttentionProblem& p) {
  return smem_bytes(c, static_cast<int>(p.d), static_cast<int>(p.dv));
}

// Why this row cannot run this problem; empty: it can.
std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (p.backward && !has_gradient(c)) return "it has no gradient";
  if (!p.backward && !has_forward(c)) return "it computes gradients";
  if (!is_instantiated(row, p.dtype)) return "not instantiated for " + std::string(name(p.dtype));
  if (p.d > c.d) return "d is " + std::to_string(p.d) + ", and it has room for " + std::to_string(c.d);
  if (p.dv > c.dv) return "dv is " + std::to_string(p.dv) + ", and it has room for " + std::to_string(c.dv);
  if ((c.family == Family::mma_sync || c.family == Family::mma_gradient) && device.cc < 80)
    return "tensor cores' instructions of compute capability 8.0 and later, and " + device.name + " is another device";
  if (c.family == Family::wgmma) {
    if (device.cc != 90)
      return "tensor cores' instructions of compute capability 9.0, and " + device.name + " is another device";
    if ((p.cu_k ? p.total_k : p.sk) == 0) return "there are no keys, and TMA reads no empty tensor";
    if (p.dv * 2 % 16 != 0)
      return "TMA stores rows of O whose bytes are a multiple of 16, and dv is " + std::to_string(p.dv);
    for (const auto& operand : {p.q, p.k, p.v, p.o})
      if (!has_vectors(*operand, p.dtype)) return "rows that are contiguous and start on 16 bytes are what TMA takes";
  }
  if (c.family == Family::wgmma_terms) {
    if (p.rule.math != math_of(c)) return "it emulates float32, which has to be asked for: math=bf16x6";
    if (device.cc != 90)
      return "tensor cores' instructions of compute capability 9.0, and " + device.name + " is another device";
    if (p.d % 4 != 0 || p.dv % 4 != 0)
      return "rows are read by 4 elements, and d is " + std::to_string(p.d) + ", dv " + std::to_string(p.dv);
    for (const auto& operand : {p.q, p.k, p.v, p.o})
      if (!has_vectors(*operand, p.dtype)) return "rows that are contiguous and start on 16 bytes are what it reads";
  }
  if (c.family == Family::decode) {
    if (device.cc != 90) return "TMA of compute capability 9.0, and " + device.name + " is another device";
    if ((p.block_table ? p.pages : p.cu_k ? p.total_k : p.sk) == 0)
      return "there are no keys, and TMA reads no empty tensor";
    if (p.dv % 4 != 0) return "parts of O have rows of whole 16 bytes, and dv is " + std::to_string(p.dv);
    for (const auto& operand : {p.k, p.v})
      if (!has_vectors(*operand, p.dtype)) return "rows that are contiguous and start on 16 bytes are what TMA takes";
  }
  if (c.family == Family::decode_one) {
    if (device.cc != 90) return "TMA of compute capability 9.0, and " + device.name + " is another device";
    if (p.cu_q || p.cu_k) return "it takes no packed sequences";
    if (p.block_table) return "it finds no keys in pages";
    if (p.sq != 1) return "it takes one query, and there are " + std::to_string(p.sq);
    // Of uneven lengths the keys of a window would begin at another one in each sequence.
    const bool is_before = p.rule.right < 0 || p.rule.align == AttentionAlign::lower_right;  // all of its keys
    if (p.lengths && (p.rule.left >= 0 || !is_before)) return "of uneven lengths it takes no window";
    if (p.rule.softcap != 0) return "it takes no softcap";
    if (p.rule.scale && !(*p.rule.scale > 0)) return "the scale it takes is positive";
    if (p.d % 8 != 0 || p.dv % 4 != 0)
      return "it takes columns of Q by 8 and of O by 4, and d is " + std::to_string(p.d) + ", dv " +
             std::to_string(p.dv);
    if (const KeyRange keys = keys_of_one(p); keys.last <= keys.first) return "its query attends to no key";
    constexpr std::int64_t most = 65535;  // blocks in z
    if (p.b > most) return "more than 65535 sequences";
    for (const auto& operand : {p.q, p.k, p.v, p.o})
      if (!has_vectors(*operand, p.dtype)) return "rows that are contiguous and start on 16 bytes are what it reads";
  }
  if (c.family == Family::wgmma_gradient) {
    if (c.masks && p.mask == AttentionMask::none) return "it is for mask tensors";
    if (c.masks && p.mask_dtype == f32)
      return "masks that it takes are boolean, or of the tensors' type, and this one is of float32";
    if (device.cc != 90)
      return "tensor cores' instructions of compute capability 9.0, and " + device.name + " is another device";
    if (p.d % 8 != 0 || p.dv % 8 != 0)
      return "TMA stores rows whose bytes are a multiple of 16, and d is " + std::to_string(p.d) + ", dv " +
             std::to_string(p.dv);
    for (const auto& operand : {p.q, p.k, p.v, p.o, p.grad_o, p.grad_q, p.grad_k, p.grad_v})
      if (!has_vectors(*operand, p.dtype)) return "rows that are contiguous and start on 16 bytes are what TMA takes";
  }
  if (p.mask != AttentionMask::none && !takes_masks(c)) return "it takes no mask tensor";
  if (p.block_table && c.family != Family::naive && !c.split) return "it finds no keys in pages";
  if (!takes_lengths(c) && has_lengths(p)) return "it takes sequences of one length alone";
  if (tiles_of(c, p) > max_blocks / std::max<std::int64_t>(1, p.b * p.hq)) return "more than 2^31 - 1 blocks";
  if ((c.split || p.backward) && std::max(p.sq * p.b, query_rows(p)) > max_blocks / std::max<std::int64_t>(1, p.hq))
    return "more than 2^31 - 1 queries";
  if (p.backward && ceil_div(p.sk, c.bm) > max_blocks / std::max<std::int64_t>(1, p.b * p.hkv))
    return "more than 2^31 - 1 blocks";
  if (const int smem = smem_of(c, p); smem > device.smem_optin)
    return std::to_string(smem) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
  return {};
}

// Queries and keys of one sequence; where lengths are uneven, of the mean one, as far as that is known.
struct Lengths {
  double queries, keys;
};
Lengths lengths_of(const AttentionProblem& p) {
  const auto mean = [&](std::int64_t total) {
    return static_cast<double>(total) / std::max(1.0, static_cast<double>(p.b));
  };
  return {p.cu_q ? mean(p.total_q) : static_cast<double>(p.sq), p.cu_k ? mean(p.total_k) : static_cast<double>(p.sk)};
}

// Pairs of a query and a key that may meet, of one head: what neither causal rule nor window excludes.
double pairs(const AttentionProblem& p) {
  const AttentionRule& r = p.rule;
  const auto [sq, sk] = lengths_of(p);
  if (r.left < 0 && r.right < 0) return sq * sk;
  const double shift = r.align == AttentionAlign::lower_right ? sk - sq : 0;
  // Keys below a bound that rises by one from query to query: the sum of clamp(i + from, 0, sk).
  const auto below = [&](double from) {
    const double zero = std::clamp(-from, 0.0, sq), full = std::clamp(sk - from, zero, sq);  // first i of either kind
    return (full - zero) * from + (full * (full - 1) - zero * (zero - 1)) / 2 + (sq - full) * sk;
  };
  const double last = r.right < 0 ? sq * sk : below(shift + static_cast<double>(r.right) + 1);
  const double first = r.left < 0 ? 0 : below(shift - static_cast<double>(r.left));
  return std::max(last - first, 0.0);
}

// Multiply-adds of a query and a key: of the forward pass, and of gradients, which need Q K^T, dO V^T and three sums.
double multiply_adds(const AttentionProblem& p, std::int64_t d, std::int64_t dv) {
  return static_cast<double>(p.backward ? 3 * d + 2 * dv : d + dv);
}

Cost cost(const AttentionProblem& p) {
  const auto n = [](std::int64_t x) { return static_cast<double>(x); };
  const double size = static_cast<double>(size_of(p.dtype)), heads = n(p.b) * n(p.hq), scores = heads * pairs(p);
  const auto [sq, sk] = lengths_of(p);
  Cost c;
  c.bytes_read = (heads * sq * n(p.d) + n(p.b) * n(p.hkv) * sk * (n(p.d) + n(p.dv))) * size;
  if (p.mask != AttentionMask::none) {  // repeated axes are read once
    const AttentionOperand& m = *p.mask_lies;
    c.bytes_read += (m.batch ? n(p.b) : 1) * (m.head ? n(p.hq) : 1) * (m.row ? n(p.sq) : 1) *
                    (m.element ? n(p.sk) : 1) * static_cast<double>(size_of(p.mask_dtype));
  }
  c.bytes_written = heads * sq * (n(p.dv) * size + (p.lse ? 4 : 0));
  if (p.backward) {  // what was written is read, with dO; the gradients are as Q, K and V
    const double inputs = (heads * sq * n(p.d) + n(p.b) * n(p.hkv) * sk * (n(p.d) + n(p.dv))) * size;
    c.bytes_read += c.bytes_written + heads * sq * n(p.dv) * size;
    c.bytes_written = inputs;
  }
  const double operations = 2 * scores * multiply_adds(p, p.d, p.dv);
  if (p.rule.math == AttentionMath::bf16x6) c.on(Unit::fp16_tensor) = 6 * operations;
  else c.on(p.dtype == f32 ? Unit::fp32 : Unit::fp16_tensor) = operations;
  c.on(Unit::special) = scores;  // an exponential
  return c;
}

// What a kernel takes that has next to nothing to do, more than a launch: its code comes from memory a piece after the
// other. Measured on an H100 with cold caches.
double code_us(const Config& c) {
  switch (c.family) {
    case Family::naive: return 12;
    case Family::tiled: return 6;
    case Family::register_tile: return c.d > 128 ? 20 : 6;
    case Family::mma_sync: return c.split ? 11 : c.d > 128 ? 20 : 6;
    case Family::mma_gradient: return 40;
    case Family::wgmma_gradient: return has_gradient_roles(c) ? 12 : 7;
    default: return 0;
  }
}

roofline::Kernel kernel_of(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k;
  k.cost = cost(p);
  const int splits = splits_of(c, p, device);
  k.blocks = blocks_of(c, p) * splits;
  const bool merged = splits > 1 && c.family != Family::decode_one;  // by a kernel of its own
  const bool copies_mask = c.masks && gradient_mask_shape(c, p).is_copied;
  k.launches = c.family == Family::mma_gradient || copies_mask ? 4 : p.backward ? 3 : merged ? 2 : 1;
  k.block = {.threads = c.threads, .registers = 65536 / (c.threads * c.blocks_per_sm) / 8 * 8, .smem = smem_of(c, p)};
  k.block.registers = std::min(k.block.registers, 255);
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  // Every further tile of queries reads its keys again, from the L2 cache,
  // and of whole tiles what covers the problem's sizes.
  const std::int64_t pack = pack_of(c, p);
  const auto [sq, sk] = lengths_of(p);
  const double packed = sq * static_cast<double>(pack), tiles = std::ceil(packed / c.bm);
  const double keys_bytes =
      static_cast<double>(p.b * p.hq / pack * (p.d + p.dv)) * sk * static_cast<double>(size_of(p.dtype));
  const double share = sq > 0 && sk > 0 ? pairs(p) / (sq * sk) : 0;
  k.l2_bytes = std::max(0.0, tiles - 1) * keys_bytes * share;
  if (decodes(c)) k.l2_bytes *= 0.65;  // bulk copies of whole lines are so much faster, measured
  if (splits > 1)                      // what parts came to is written and read
    k.l2_bytes += 2.0 * splits * static_cast<double>(p.hq * query_rows(p)) * static_cast<double>(p.dv + 2) * 4;
  // And rows that do not exist; warps without any have nothing to do.
  const bool emulated = c.family == Family::wgmma_terms;
  const bool three_sums = c.family == Family::mma_gradient;  // each of a kernel of its own
  const bool tensor = c.family == Family::mma_sync || three_sums || c.family == Family::wgmma || decodes(c) ||
                      c.family == Family::wgmma_gradient || emulated;
  const int whole = c.family == Family::mma_sync ? c.rows : c.family == Family::tiled && c.split ? 1 : c.bm;
  const double rows = std::ceil(packed / whole) * whole / std::max(1.0, packed);
  const bool padded_d = tensor, padded_dv = padded_d || c.family == Family::register_tile;
  const bool padded_sums = c.family == Family::gradient_tile;  // three of them; products are taken for either side
  const double columns = three_sums              ? static_cast<double>(5 * c.d + 3 * c.dv)
                         : !p.backward || tensor ? multiply_adds(p, padded_d ? c.d : p.d, padded_dv ? c.dv : p.dv)
                         : padded_sums           ? static_cast<double>(2 * (p.d + p.dv) + 2 * c.d + c.dv)
                                                 : static_cast<double>(4 * p.d + 3 * p.dv);
  // Tensor cores take whole tiles of keys. At each edge of a mask, of which a window has two, half of one is met in
  // vain, and a whole one's scores are looked at one by one and its values searched, which takes half as long again.
  // wgmma's efficiencies are those without a mask; others' have the edge of a causal one in them.
  const bool near = p.rule.right >= 0 && c.family == Family::wgmma;
  const bool far = p.rule.left >= 0 && static_cast<double>(p.rule.left) + 1 < std::max(sq, sk);
  const int edges = tensor && !p.backward ? near + far : 0;
  const int step = decodes(c) ? decode_warps(c) * c.bn : c.bn;                    // keys that a block takes at a time
  const double keys = std::min(sk, pairs(p) / std::max(1.0, sq) + edges * step);  // of a query
  const double scores = static_cast<double>(p.b * p.hq) * sq * keys * rows;
  constexpr double emulation = 6;  // products of bf16 for one of float32
  const double rate = (tensor ? device.fp16_tflops / (emulated ? emulation : 1) : device.fp32_tflops) * 1e3 /
                      (2 * device.sms * std::max(device.clock_ghz, 0.1));  // multiply-adds per clock
  k.clocks = rate > 0 ? scores * columns / (rate * row.efficiency) : scores * columns;
  // Masks that threads read pair by pair: measured on an H100, 64 to 1408 queries and keys.
  constexpr double read_by_threads = 3.5;
  if (c.family == Family::mma_gradient && p.mask != AttentionMask::none) k.clocks *= read_by_threads;
  if (c.family == Family::wgmma && rate > 0) {
    constexpr double tile_clocks = 4000;  // a tile's beginning and end; measured on an H200, as efficiencies are
    const double masked = p.mask == AttentionMask::none ? 1 : 1.5;  // as edges are, all over
    k.clocks = static_cast<double>(p.b * p.hq) * tiles *
               (keys * c.bm * columns * masked / (rate * row.efficiency) + tile_clocks);
  }
  // Of a tile of queries too, measured on an H100 with short sequences.
  if (c.family == Family::mma_sync && !c.split && rate > 0) {
    constexpr double tile_clocks = 7000;
    k.clocks += static_cast<double>(p.b * p.hq) * tiles * tile_clocks;
  }
  // A block's life: a trip for the queries, and one for each tile of keys.
  const double each = sk * share / splits / c.bn;
  k.trips = 1 + 2 * each * mma_stages / c.stages;
  k.trip_bytes = static_cast<double>(c.bn * (p.d + p.dv)) * static_cast<double>(size_of(p.dtype));
  // Of the memory's rate, measured: a block's copies are two tiles, between barriers.
  if (c.split && c.family == Family::mma_sync) k.memory_share = 0.53;
  if (decodes(c)) {  // the warps' rings are on their way at once
    const int ring = decode_warps(c) * c.stages;
    k.trips = 1 + std::max(1.0, each / ring);
    k.trip_bytes *= ring;
    // Columns that there are not are written to shared memory as zeros.
    constexpr double bytes_per_clock = 64;
    const auto zeros = static_cast<double>((c.d - p.d + c.dv - p.dv) * c.bn) * static_cast<double>(size_of(p.dtype));
    if (device.clock_ghz > 0) k.block_us = each * zeros / (bytes_per_clock * device.clock_ghz) * 1e-3;
    // Blocks that follow each other begin and end by themselves: measured on an H200, with windows, and with one query
    // on an H100.
    const bool one = c.family == Family::decode_one;
    const double ends_us = one ? 2 : 8;
    // And much code comes first, where there are few keys.
    constexpr double few_keys_us = 2;
    if (!one && splits == 1) k.serial_us = few_keys_us;
    const double in_turn = static_cast<double>(k.blocks) / std::max(device.sms, 1);
    k.block_us += ends_us * std::max(0.0, 1 - 1 / std::max(in_turn, 1.0));
    // Many tiles of queries, each of which goes through all keys alone, are not what it is made for: measured on an
    // H100 with 197 of either.
    constexpr double many_tiles_us = 7;
    if (tiles > 1 && splits == 1 && !one) k.block_us += many_tiles_us;
  }
  if (c.family == Family::decode_one) {
    // Measured on an H200: the warp that loads waits for room alone, so that memory's reading rate is what counts;
    // where there are parts, the block that is the last to arrive has them to itself.
    constexpr double parts_us = 1.4;
    k.overlap = 8;
    k.memory_share = 0.98;
    // Columns that there are not leave less of the ring for those that there are: measured on an H100 with half of
    // them.
    constexpr double of_empty_ring = 0.2;
    k.memory_share *= 1 - of_empty_ring * (1 - static_cast<double>(p.d + p.dv) / (c.d + c.dv));
    if (splits > 1) k.serial_us = parts_us;
  }
  if (!p.backward || tensor) k.serial_us += code_us(c);
  k.tile_efficiency = roofline::tile_efficiency(p.sq, c.bm);
  return k;
}

double predict_us(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

Result<int> choose(const AttentionProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      "attention", variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Status launch(const Call& call) {
  return on_backend(call.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    const DType dtype = call.problem.dtype;
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      switch (variants[call.plan.variant].config.family) {
        case Family::mma_sync: return dtype == f16 ? launch_mma_f16(call) : launch_mma_bf16(call);
        case Family::mma_gradient: return dtype == f16 ? launch_mma_gradient_f16(call) : launch_mma_gradient_bf16(call);
        case Family::wgmma: return dtype == f16 ? launch_wgmma_f16(call) : launch_wgmma_bf16(call);
        case Family::wgmma_terms: return launch_wgmma_terms(call);
        case Family::decode: return launch_decode(call);
        case Family::decode_one: return launch_decode_one(call);
        case Family::wgmma_gradient: return launch_wgmma_gradient(call);
        default: break;  // portable
      }
    }
    if (call.gradient) return dtype == f32 ? launch_gradient_f32<B>(call) : launch_gradient_16bit<B>(call);
    return dtype == f32 ? launch_f32<B>(call) : launch_16bit<B>(call);
  });
}

}  // namespace

Result<AttentionPlan> plan_attention(const AttentionProblem& problem, const DeviceInfo& device,
                                     const PlanOptions& options) {
  const AttentionProblem p = with_operands(problem);
  RIDGE_TRY(validate(p));
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = variants[*chosen].config;
  return AttentionPlan{p,
                       device,
                       *chosen,
                       blocks_of(c, p),
                       splits_of(c, p, device),
                       has_lengths(p) && options.checked.value_or(device.is_cpu())};
}

// O of every part, its weights' sum and what they are relative to, in float32; or facts of every query.
std::size_t AttentionPlan::workspace_bytes() const {
  const Config& c = variants[variant].config;
  if (c.family == Family::wgmma_gradient) return static_cast<std::size_t>(wgmma_gradient_parts(c, problem).bytes());
  const std::int64_t queries = problem.hq * query_rows(problem);
  if (problem.backward) return static_cast<std::size_t>(queries * query_facts_bytes);
  if (splits == 1 || blocks == 0) return 0;
  if (c.family == Family::decode_one)  // parts, and a word of each block
    return static_cast<std::size_t>(blocks *
                                    (splits * decode_part_floats(c, decode_part_rows(c, pack_of(c, problem))) * 4 + 8));
  return static_cast<std::size_t>(splits * queries * (problem.dv + 2)) * sizeof(float);
}

Explanation AttentionPlan::explain() const {
  Explanation e;
  e.op = "attention";
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  e.workspace_bytes = workspace_bytes();
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// The problem of these tensors, where the plan was made for one like it and is given what it needs.
static Result<AttentionProblem> as_planned(const AttentionPlan& plan, Result<AttentionProblem> given, Device device,
                                           const Workspace& workspace) {
  if (!given) return given;
  const AttentionProblem& problem = plan.problem;
  if (*given != problem) {
    // Tensors that start on rounder addresses than were planned for are as good.
    AttentionProblem planned = problem;
    for (auto operand :
         {&AttentionProblem::q, &AttentionProblem::k, &AttentionProblem::v, &AttentionProblem::o,
          &AttentionProblem::grad_o, &AttentionProblem::grad_q, &AttentionProblem::grad_k, &AttentionProblem::grad_v})
      if (planned.*operand && (*given).*operand) (planned.*operand)->phase = ((*given).*operand)->phase;
    if (planned.mask_lies && given->mask_lies && given->mask_lies->phase == 0) planned.mask_lies->phase = 0;
    if (*given != planned || !fits(variants[plan.variant], *given, plan.device).empty())
      return not_as_planned("attention", given->text(), problem.text());
  }
  RIDGE_TRY(check_device("attention", device, plan.device));
  RIDGE_TRY(check_workspace("attention", workspace, plan.workspace_bytes()));
  return given;
}

Status AttentionPlan::run(const AttentionTensors& tensors, Workspace workspace, Stream stream) const {
  const auto given = as_planned(*this, AttentionProblem::of(tensors, problem.rule), tensors.o.device, workspace);
  if (!given) return given.error();
  if (blocks == 0) return {};
  if (checked) RIDGE_TRY(check_sequences(*given, tensors, stream));
  return launch({*this, *given, tensors, workspace, stream});
}

Status AttentionPlan::run_gradient(const AttentionGradientTensors& t, Workspace workspace, Stream stream) const {
  const auto given = as_planned(*this, AttentionProblem::of_gradient(t, problem.rule), t.grad_q.device, workspace);
  if (!given) return given.error();
  if (blocks == 0) return {};
  const AttentionTensors forward{
      .q = t.q, .k = t.k, .v = t.v, .o = t.o, .mask = t.mask, .lse = t.lse, .cu_q = t.cu_q, .cu_k = t.cu_k};
  if (checked) RIDGE_TRY(check_sequences(*given, forward, stream));
  return launch({*this, *given, forward, workspace, stream, &t});
}

// What the one-line functions do: run(plan, workspace).
template <class Run>
static void plan_and_run(const Result<AttentionProblem>& problem, Device device, Stream stream, Run&& run) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_attention(p, d); }, device, stream, run);
}

void attention(const AttentionTensors& t, const AttentionRule& rule, Stream stream) {
  plan_and_run(AttentionProblem::of(t, rule), t.o.device, stream,
               [&](const AttentionPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

void attention_gradients(const AttentionGradientTensors& t, const AttentionRule& rule, Stream stream) {
  plan_and_run(AttentionProblem::of_gradient(t, rule), t.grad_q.device, stream,
               [&](const AttentionPlan& plan, Workspace workspace) { return plan.run_gradient(t, workspace, stream); });
}

}  // namespace ridge
