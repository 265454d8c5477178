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

// The same where a step is used in Parts parts, each of which is read into registers while the one before it is used:
// also the first one of the next step, for which all wait before the last part of this one is used, and not after it.
//   start(stage)        starts to bring the next step
//   finish(stage)       ends that, where it takes more than to wait for asynchronous copies
//   read(stage, part)   from shared memory to registers; after the last step, of what lies there, which is not used
//   use(part)           what was read
template <int Stages, int Parts, class Start, class Finish, class Read, class Use>
__device__ __forceinline__ void run_multistage_in_parts(int steps, Start start, Finish finish, Read read, Use use) {
  static_assert(Stages >= 2 && Parts >= 2, "one stage is used while another is filled, one part while another is read");
  for (int stage = 0; stage < Stages - 1; ++stage) {
    if (stage < steps) {
      start(stage);
      finish(stage);
    }
    commit_copies();
  }
  wait_copies<Stages - 2>();
  __syncthreads();
  read(0, 0);
  int used = 0, filled = Stages - 1;
  for (int step = 0; step < steps; ++step) {
    const bool more = step + Stages - 1 < steps;
    RIDGE_UNROLL
    for (int part = 0; part < Parts; ++part) {
      if (part + 1 < Parts) {
        read(used, part + 1);
      } else {
        if (more) finish(filled);
        wait_copies<Stages - 2>();
        __syncthreads();  // the next step is there, and nobody still reads this one
        filled = used;
        used = used + 1 == Stages ? 0 : used + 1;
        read(used, 0);
      }
      if (part == 0) {
        if (more) start(filled);
        commit_copies();
      }
      use(part);
    }
  }
}

}  // namespace ridge::tile
