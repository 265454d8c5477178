// Software pipelines over a number of steps: how loading later steps overlaps computing this one. Each is a loop around
// functions of the caller, and all of the block's threads call it. `stage` numbers the caller's buffers in shared
// memory.
#pragma once
#include <ridge/tile/async_copy.cuh>

namespace ridge::tile {

// One buffer, no overlap.
//   fetch()         loads the next step from global memory into registers
//   put(stage)      writes the fetched step to shared memory
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

// `Stages` buffers, Stages - 1 steps in flight by asynchronous copies. One barrier per step: after it the step's copies
// are visible to all threads, and no thread still reads the buffer that is filled next.
//   start(stage)    starts the copies of the next step
//   compute(stage)  uses a step that has arrived
template <int Stages, class Start, class Compute>
__device__ __forceinline__ void run_multistage(int steps, Start start, Compute compute) {
  static_assert(Stages >= 2, "one stage is computed while another is filled");
  for (int stage = 0; stage < Stages - 1; ++stage) {
    if (stage < steps) start(stage);
    commit_copies();  // an empty group too: wait_copies() counts groups
  }
  int stage = Stages - 1;  // filled next; the one after it is then computed
  for (int step = 0; step < steps; ++step) {
    wait_copies<Stages - 2>();
    __syncthreads();
    if (step + Stages - 1 < steps) start(stage);
    commit_copies();
    stage = stage + 1 == Stages ? 0 : stage + 1;
    compute(stage);
  }
}

// The same where a step is used in Parts parts, and each part is read into registers while the part before it is used.
// That goes for the first part of the next step too: all threads wait for it before they use the last part of this one.
//   start(stage)        starts to load the next step
//   finish(stage)       ends that, where it takes more than waiting for asynchronous copies
//   read(stage, part)   loads a part from shared memory to registers; after the last step it reads stale data, unused
//   use(part)           uses the part that was read
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
        __syncthreads();  // the next step is visible to all threads, and no thread still reads this one
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
