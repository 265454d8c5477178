// The mean of each plane, of planes that are contiguous: lanes of a warp, or a block, along each.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/global_planes.hpp>
#include <ridge/pool/launch.cuh>
#include <ridge/tile/row_reduce.cuh>

namespace ridge::pool_detail {

struct GlobalPlanesShape {
  unsigned planes, items;  // items: loads of a plane
  float count;             // its elements
  Divider channels;
  std::int64_t x[2], y[2];  // strides of n, c
};

// y[n, c] = mean of a plane of x                        x: [n, c, plane], planes contiguous  y: [n, c], any strides
// Config::lanes neighbouring threads reduce a plane: each takes every lanes-th item, then a tree adds the lanes.
// Preconditions: gridDim.x * threads / lanes covers planes < 2^31; items < 2^31; Vectorized: planes_on_vectors().
template <class Policy, class T, bool Vectorized, int Warp>
__global__ void __launch_bounds__(Policy::config.threads) pool_global_planes(const T* x, T* y, GlobalPlanesShape p) {
  constexpr int lanes = Policy::config.lanes, loads = Policy::config.loads;
  constexpr unsigned planes_of_block = Policy::config.threads / lanes;
  __shared__ tile::RowScratch<float, lanes, Warp> scratch;
  const unsigned plane = blockIdx.x * planes_of_block + threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const bool exists = plane < p.planes;  // lanes without a plane still join the reduction
  unsigned channel = exists ? plane : 0;
  const unsigned image = p.channels.divide(channel), items = exists ? p.items : 0;
  x += image * p.x[0] + channel * p.x[1];

  const auto load = [&](unsigned item) {
    if constexpr (Vectorized)
      return item < items ? tile::load_packed(x + std::int64_t{item} * tile::vector_elements<T>) : tile::Packed{};
    else return item < items ? x[item] : T(0.0f);
  };
  float sum = 0;
  for (unsigned first = lane; first < items; first += lanes * loads) {
    decltype(load(0)) in[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) in[k] = load(first + k * lanes);
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      if constexpr (Vectorized) tile::for_elements<T>(in[k], [&](float element, int) { sum += element; });
      else sum += float(in[k]);
    }
  }
  sum = tile::row_reduce<lanes, Warp>(
      sum, [](float a, float b) { return a + b; }, scratch);
  if (lane == 0 && exists) y[image * p.y[0] + channel * p.y[1]] = T(Mean::finish<T>(sum, p.count, 1.0f / p.count));
}

namespace global_planes {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  const PoolProblem& p = call.plan.problem;
  const GlobalPlanesShape s{.planes = static_cast<unsigned>(planes_of(p)),
                            .items = static_cast<unsigned>(items_of(p)),
                            .count = static_cast<float>(elements_of(p)),
                            .channels = Divider(p.x.shape[1]),
                            .x = {p.x.stride[0], p.x.stride[1]},
                            .y = {p.y.stride[0], p.y.stride[1]}};
  const simt::Config at = launch_config(call);
  return simt::with_warp(at.warp, [&](auto warp) {
    constexpr int width = decltype(warp)::value;
    return planes_on_vectors(p) ? simt::launch(at, pool_global_planes<Policy, T, true, width>, call.x, call.y, s)
                                : simt::launch(at, pool_global_planes<Policy, T, false, width>, call.x, call.y, s);
  });
}

}  // namespace global_planes
}  // namespace ridge::pool_detail
