// Software pipelines over a number of steps: how the loading of later steps overlaps the computing of this one. Each
// is a loop around three functions of the caller, all of whose threads call; `stage` numbers the buffers in shared
// memory that the caller keeps.
#pragma once
#include <ridge/tile/async_copy.cuh>

namespace ridge::tile {

// No overlap: one buffer.
//   fetch()         loads the next step from global memory into registers
//   put(stage)      writes what was fetched to shared memory
//   compute(stage)  uses it
template <class Fetch, class Put, class Compute>
__device__ __forceinline__ void run_single_stage(int steps, Fetch fetch, Put put, Compute compute) {
  for (int step = 0; step < steps; ++step) {
    fetch();
    put(0);
    __syncthreads();
    compute(0);
    __syncthreads();
  }
}

// Two buffers: the next step is on its way to registers while this one is computed. One barrier per step.
template <class Fetch, class Put, class Compute>
__device__ __forceinline__ void run_double_buffered(int steps, Fetch fetch, Put put, Compute compute) {
  if (steps == 0) return;
  fetch();
  put(0);
  __syncthreads();
  int stage = 0;
  for (int step = 1; step < steps; ++step) {
    fetch();
    compute(stage);
    stage ^= 1;
    put(stage);
    __syncthreads();
  }
  compute(stage);
}

// `Stages` buffers, Stages - 1 steps under way by asynchronous copies. One barrier per step: it says that the step's
// copies are there for all, and that nobody still reads the buffer which is filled next.
//   start(stage)    starts the copies of the next step
//   compute(stage)  uses a step that has arrived
template <int Stages, class Start, class Compute>
__device__ __forceinline__ void run_multistage(int steps, Start start, Compute compute) {
  static_assert(Stages >= 2, "one stage is computed while another is filled");
  for (int stage = 0; stage < Stages - 1; ++stage) {
    if (stage < steps) start(stage);
    commit_copies();  // of nothing, too: the groups that are waited for stay counted
  }
  int stage = Stages - 1;  // the one that is filled next, and then the one behind it, which is computed
  for (int step = 0; step < steps; ++step) {
    wait_copies<Stages - 2>();
    __syncthreads();
    if (step + Stages - 1 < steps) start(stage);
    commit_copies();
    stage = stage + 1 == Stages ? 0 : stage + 1;
    compute(stage);
  }
}

}  // namespace ridge::tile
