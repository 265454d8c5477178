// What plan.cpp needs of model.cpp: the time that a variant takes on a device, and its parts.
#pragma once
#include <ridge/gemm/repack.hpp>
#include <ridge/gemm/variants.hpp>

#include <string_view>
#include <vector>

namespace ridge::gemm_detail {

inline std::int64_t tiles_of(const Config& c, const GemmProblem& p) {
  return gemm_kernels::tiles_of(c, {p.m, p.n, p.k, p.batch});
}

Cost cost(const GemmProblem&);

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
  Clocks clocks;
  double slower = 0;                   // share of the clocks' time added by a falling clock rate
  double cache_us = 0, memory_us = 0;  // time that the L2 cache, then memory add
};

// Preconditions from here on: the problem comes from with_operands(), and the row fits it.
Arrangement arranged(const Config&, const GemmProblem&, const DeviceInfo&);

Prediction predict(const Variant&, const GemmProblem&, const DeviceInfo&);

// The parts of a prediction, which add up to it. full: D's share of the elements that tiles cover.
std::vector<Analysis::Term> terms_of(const Config&, const GemmProblem&, const DeviceInfo&, const Prediction&,
                                     const Repack& copies, double full);

}  // namespace ridge::gemm_detail
