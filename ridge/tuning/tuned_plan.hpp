// Plans that correct their own choice. The time model picks a variant; where tuning is on, a plan's first run times the
// few variants that are predicted to be nearly as fast, and keeps the fastest one in a file.
//
// Tuning is controlled by the first of these that is set:
//   the option tune=1 (or tune=0) of a plan           this plan alone
//   set_tuning(), in Python ridge.tune()              the process
//   the environment's RIDGE_TUNE=1, read or 0         1: measure and keep; read: take what a file has, measure nothing
//   RIDGE_TUNE_CACHE alone                            read
// The file is the one that RIDGE_TUNE_CACHE names, else ridge/tuning in the user's cache folder. A choice belongs to a
// device's name, a version of the library and a problem: its text, strides and alignment.
#pragma once
#include <ridge/core/op.hpp>
#include <ridge/core/tuning.hpp>

namespace ridge {

// The variants worth measuring: the plan's choice, then those that are predicted to take at most 1.6 times as long, the
// fastest first; six in all at most.
RIDGE_API std::vector<std::string> near_variants(const Explanation&);

// Like plan_op(), but the plan uses a measured choice or measures. A first run that measures waits for the stream,
// allocates copies of the tensors and takes some milliseconds. While the stream is captured, the model's choice runs,
// and a later run measures; where there is no room for copies, the model's choice stays. Every variant gives valid
// results. A file that cannot be read or written is an error of this function, not of a run.
RIDGE_API Result<std::unique_ptr<OpPlan>> plan_tuned(const OpInfo&, Views inputs, Views outputs, const Options&,
                                                     const DeviceInfo&);

}  // namespace ridge
