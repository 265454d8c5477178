// The time of a GEMM kernel as plans predict it, by part, and what several families' models are made of.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/gemm/layout.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace ridge::gemm_detail {

// ---- the prediction

// One step along k, and its limiting resource.
struct Step {
  double clocks = 0;
  std::string_view limit;
};

// Clocks of the multiprocessor with the most tiles, by part. Implied: what steps take beyond their products.
struct Clocks {
  double total = 0;
  double products = 0;           // the problem's, spread over all multiprocessors, at the unit's rate
  double waves = 0;              // further ones: tiles beyond D's edges, and this multiprocessor's excess over the mean
  double start = 0, finish = 0;  // of blocks and tiles, not hidden by products; in `start` alone if not separated
  double memory = 0;             // waits for memory beyond all of these
  double tiles = 0, mean_tiles = 0;  // of this multiprocessor, and of the mean one
  double step_products = 0;          // clocks of a step's products at the unit's rate
  int step_k = 0;                    // products of an element of D in a step
  bool tensor_cores = false;         // they are the unit
  Step step;
};

// How a row runs a problem, and the time that follows, for Hopper's families that choose by it.
struct Arrangement {
  int split = 1;
  bool swap_ab = false;
  Clocks clocks = {};
};

// The time of a run in us, and its parts: launch, copies, the sum over slices, `clocks` at the full clock rate, and the
// excess over these.
struct Prediction {
  double us = 0, copies_us = 0, slices_us = 0;
  double copied_bytes = 0;  // of operands that are copied first
  Clocks clocks;
  double slower = 0;                   // share of the clocks' time added by a falling clock rate
  double cache_us = 0, memory_us = 0;  // time that the L2 cache, then memory add
};

// The parts of a prediction, which add up to it. full: D's share of the elements that tiles cover.
std::vector<Analysis::Term> terms_of(const GemmProblem&, const DeviceInfo&, const Prediction&, double full);

// ---- the problem. Precondition from here on: it comes from with_operands()

inline double instructions_of_multiply_add(const GemmProblem& p) {
  return is_two_float(p) ? two_float_multiply_add : 1;
}

inline Cost cost(const GemmProblem& p) {
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
  if (p.gate_bias_layout) cost.bytes_read += elements(1, p.n, *p.gate_bias_layout, 1);
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
      if (p.scalars.math == GemmMath::exact) cost.on(Unit::fp32) = operations * instructions_of_multiply_add(p);
      else cost.on(Unit::tf32) = operations * (p.scalars.math == GemmMath::tf32x3 ? 3 : 1);
  }
  return cost;
}

// Single multiply-adds that D needs. parts: products on tensor cores per product of float32.
inline double needed_products(const GemmProblem& p, int parts = 1) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(products(p)) *
         static_cast<double>(p.grouped ? 1 : p.batch) * (p.gate ? 2 : 1) * parts;
}

// Number of C, bias and residual present.
inline int addends(const GemmProblem& p) {
  return (p.c ? 1 : 0) + (p.bias_layout ? 1 : 0) + (p.residual_layout ? 1 : 0);
}

// ---- clocks of one multiprocessor

inline constexpr double load_latency = 800;   // clocks from a global load to its use, from the L2 cache
inline constexpr double barrier_clocks = 40;  // a barrier, and the first read of shared memory after it
inline constexpr double schedulers = 4;       // of a multiprocessor: warp instructions per clock of all kinds

// Warp instructions of multiply-adds that a multiprocessor takes per clock. Since Ampere, data sheets give the tensor
// cores' rate for double on the chips that have such.
inline double multiply_adds_per_clock(const GemmProblem& p, const DeviceInfo& d) {
  const double per_tflop = 1e3 / (2 * 32 * d.sms * d.clock_ghz) / instructions_of_multiply_add(p);
  if (p.dtype == f64) return d.fp64_tflops * per_tflop / (d.cc == 80 || d.cc == 90 ? 2 : 1);
  // dp4a: half as many instructions, of four products each.
  return d.fp32_tflops * per_tflop / (p.dtype == i8 ? 2 : 1);
}

// Single multiply-adds that a multiprocessor's tensor cores take per clock.
inline double tensor_products_per_clock(DType dtype, const DeviceInfo& d) {
  const double tflops = dtype == f64                         ? d.fp64_tflops
                        : dtype == f32                       ? d.tf32_tflops
                        : dtype == i8                        ? d.int8_tops
                        : dtype == f8e4m3 || dtype == f8e5m2 ? d.fp8_tflops
                                                             : d.fp16_tflops;
  return tflops * 1e3 / (2 * d.sms * d.clock_ghz);
}

inline Step longest(std::initializer_list<Step> steps) {
  return std::max(steps, [](const Step& a, const Step& b) { return a.clocks < b.clocks; });
}

// Fills what follows from the products: `needed` by D, `step` in each of `steps` steps of a tile, at `per_clock`.
inline void count_products(Clocks& c, double needed, double step, double steps, double per_clock,
                           const DeviceInfo& device) {
  c.step_products = step / per_clock;
  c.products = needed / (per_clock * device.sms);
  c.waves = c.tiles * steps * c.step_products - c.products;
}

}  // namespace ridge::gemm_detail
