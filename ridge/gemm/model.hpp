// What plan.cpp knows of model.cpp: the time that a variant takes of a device, and where it goes.
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

// One step along k, and what it waits for most.
struct Step {
  double clocks = 0;
  std::string_view limit;
};

// Where the clocks of the multiprocessor with the most tiles go. Not named: what steps take beyond their products.
struct Clocks {
  double total = 0;
  double products = 0;           // the problem's, of all multiprocessors alike, at the unit's rate
  double waves = 0;              // further ones: tiles beyond D's edges, and that multiprocessor's beyond the mean
  double start = 0, finish = 0;  // of blocks and tiles, what no products hide; in `start` alone where not told apart
  double memory = 0;             // waits for memory beyond all of these
  double tiles = 0, mean_tiles = 0;  // of that multiprocessor, and of the mean one
  double step_products = 0;          // clocks of a step's products at the unit's rate
  Step step;
};

// How a row takes a problem, and, of Hopper's families that are arranged by it, the time that it takes so.
struct Arrangement {
  int split = 1;
  bool swapped = false;
  Clocks clocks = {};
};

// The time of a run in us, and its parts: launch, copies, the adding up of slices, `clocks` at the full clock, and what
// is beyond these.
struct Prediction {
  double us = 0, copies_us = 0, slices_us = 0;
  Clocks clocks;
  double slower = 0;                   // share of the clocks' time that a falling clock adds
  double cache_us = 0, memory_us = 0;  // by which the L2 cache, then memory take longer
};

// Preconditions from here on: the problem is as with_operands() returns it, and the row takes it.
Arrangement arranged(const Config&, const GemmProblem&, const DeviceInfo&);

Prediction predict(const Variant&, const GemmProblem&, const DeviceInfo&);

// The parts of a prediction, which add up to it. `full`: of the elements that tiles cover, those that D has.
std::vector<Analysis::Term> terms_of(const Config&, const GemmProblem&, const DeviceInfo&, const Prediction&,
                                     const Repack& copies, double full);

}  // namespace ridge::gemm_detail
