// The pipeline of a warp-specialized kernel: a producer fills the stages of a ring of buffers in shared memory, and
// consumers read them. Each of the N stages has two barriers: a phase of `full` ends when the stage's data are there,
// one of `empty` when all consumers have released the stage.
//
//   const Pipeline<N> pipeline{full, empty};         of barriers in shared memory
//   one thread: pipeline.init(1, consumers); fence_init();  then a barrier of the block, or the cluster
//
//   producer    for (PipelineState<N> at; ...; at.next()) {
//                 pipeline.producer_acquire(at);
//                 load(map, buffer(at.stage), pipeline.producer_expect(at, bytes), x, y, z);
//               }
//   consumers   for (PipelineState<N> at; ...; at.next()) {
//                 pipeline.consumer_wait(at);  ...  one thread: pipeline.consumer_release(at.stage);
//               }
#pragma once
#include <ridge/tile/sm90/mbarrier.cuh>

namespace ridge::tile::sm90 {

template <int N> struct Pipeline {
  Barrier* full;   // [N]
  Barrier* empty;  // [N]

  // producers: arrivals that fill a stage, besides the bytes of copies; consumers: arrivals that release it.
  __device__ __forceinline__ void init(unsigned producers, unsigned consumers) const {
    for (int s = 0; s < N; ++s) {
      sm90::init(full + s, producers);
      sm90::init(empty + s, consumers);
    }
  }

  // Waits until all consumers have released the stage. In the first round it returns at once.
  __device__ __forceinline__ void producer_acquire(const PipelineState<N>& at) const {
    wait(empty + at.stage, at.parity ^ 1);
  }
  // Arrives, and makes the stage wait for `bytes` of copies too: those that are started with the barrier it returns.
  __device__ __forceinline__ Barrier* producer_expect(const PipelineState<N>& at, unsigned bytes) const {
    arrive_and_expect_tx(full + at.stage, bytes);
    return full + at.stage;
  }
  // Arrives, for stages that threads fill.
  __device__ __forceinline__ void producer_commit(const PipelineState<N>& at) const { arrive(full + at.stage); }

  __device__ __forceinline__ void consumer_wait(const PipelineState<N>& at) const { wait(full + at.stage, at.parity); }
  // Releases a stage, perhaps some stages after the wait for it.
  __device__ __forceinline__ void consumer_release(int stage) const { arrive(empty + stage); }
  // The same in block `rank` of the cluster, whose producer fills this block's stage too.
  __device__ __forceinline__ void consumer_release(int stage, unsigned rank) const { arrive_at(empty + stage, rank); }
};

}  // namespace ridge::tile::sm90
