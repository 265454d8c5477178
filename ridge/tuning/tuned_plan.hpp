// Plans that mend their own choice. The model of time picks a variant; where tuning is on, the few variants that it
// predicts to be nearly as fast are timed on the device when a plan first runs, and the choice is kept in a file.
//
// How it is asked for, the first that says something:
//   the option tune=1 (or tune=0) of a plan           this plan alone
//   set_tuning(), in Python ridge.tune()              the process
//   the environment's RIDGE_TUNE=1, read or 0         1: measure and keep; read: take what a file has, measure nothing
//   RIDGE_TUNE_CACHE alone                            read
// The file is the one that RIDGE_TUNE_CACHE names, else ridge/tuning in the user's cache folder. Choices are those of a
// device's name, this version of the library and a problem: its text, strides and alignment.
#pragma once
#include <ridge/core/op.hpp>
#include <ridge/core/tuning.hpp>

namespace ridge {

// Those that are worth the time that measuring takes: the plan's choice first, then variants that are predicted to take
// at most 1.6 times as long as it, the fastest first; six in all at most.
RIDGE_API std::vector<std::string> near_variants(const Explanation&);

// plan_op(), and the plan takes a choice that was measured, or measures. A first run that measures waits for the
// stream, allocates room for copies of the tensors and takes some milliseconds. While its stream is captured, the
// model's choice runs, and a later run measures; where there is no room, the model's choice stays. Results are those of
// any variant. A file that cannot be read or written is an error here, and none of a run.
RIDGE_API Result<std::unique_ptr<OpPlan>> plan_tuned(const OpInfo&, Views inputs, Views outputs, const Options&,
                                                     const DeviceInfo&);

}  // namespace ridge
