// Launches of the portable rows: forward pass, and gradients.
#pragma once
#include <ridge/attention/gradient_tile.cuh>
#include <ridge/attention/naive.cuh>
#include <ridge/attention/register_tile.cuh>
#include <ridge/attention/tiled.cuh>
#include <ridge/attention/two_float.cuh>

namespace ridge::attention_detail {
namespace {

template <class T, int Warp> struct PortableRows : RowsOfAny<NaiveRows<T, Warp>, TiledRows<T, Warp>> {};
template <int Warp>
struct PortableRows<float, Warp>
    : RowsOfAny<NaiveRows<float, Warp>, TiledRows<float, Warp>, RegisterTileRows, TwoFloatRows> {};

template <class T> Status launch_portable(const Call& call) {
  return simt::with_warp(call.plan.device.warp,
                         [&](auto warp) { return launch_row<PortableRows<T, decltype(warp)::value>>(call); });
}

template <class T> Status launch_portable_gradient(const Call& call) {
  return launch_row<RowsOfAny<NaiveGradientRows<T>, GradientTileRows<T>>>(call);
}

}  // namespace
}  // namespace ridge::attention_detail
