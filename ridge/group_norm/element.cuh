// A block per group, which goes through it once for each pass, an element at a time; any strides.
#pragma once
#include <ridge/group_norm/element.hpp>
#include <ridge/group_norm/sums.cuh>

namespace ridge::group_norm_detail {

template <class T> using ElementPart = Part<Access::element, T>;

// Adds f(item) over a group's items, which are the block's. Precondition: all of the block's threads call.
template <int Warp, class T, class F> __device__ __forceinline__ float sum_of(const ElementPart<T>& part, F&& f) {
  float sum = 0;
  for (unsigned item = part.first; item < part.end; item += part.s.lanes) sum += f(item);
  return tile::any_block<Warp>().reduce(sum, plus);
}

// The moments of a block's group, in two passes: distances from the first value, then from the mean.
template <int Warp, class T>
__device__ __forceinline__ Partial moments_of_group(const ElementPart<T>& part, const T* x) {
  const Shape& s = part.s;
  const T* at = x + part.origin(s.x);
  const float base = float(*at);
  const auto value = [&](unsigned item) { return float(part.load(at, s.x, item)); };
  const float mean = sum_of<Warp>(part, [&](unsigned item) { return value(item) - base; }) / s.count;
  const float squares = sum_of<Warp>(part, [&](unsigned item) {
    const float distance = value(item) - base - mean;
    return distance * distance;
  });
  return {{s.count, mean, squares}, base};
}

// y[n, c, h, w] = act(gamma[c] x normalised + beta[c])          x, y: [n, c, h, w], any strides. y may be x.
// Precondition: a block for each group of each sample.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    group_norm_element(const T* x, T* y, Shape s, Parameters parameters) {
  const ElementPart<T> part(s, blockIdx.x);
  const Partial p = moments_of_group<Warp>(part, x);
  const Statistics of[1] = {Statistics::of(p.base, p.moments.mean, p.moments.squares / s.count, parameters.eps)};
  const Output<Access::element, T> output(part, parameters, of);
  const T* from = x + part.origin(s.x);
  T* to = y + part.origin(s.y);
  for (unsigned item = part.first; item < part.end; item += s.lanes)
    part.store(to, s.y, item, output(item, part.values(part.load(from, s.x, item))));
}

// dx, and the group's moments for the kernel over planes.       x, dy, dx: [n, c, h, w], any strides
// partials: [groups of all], or null. Precondition: a block for each group of each sample.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    group_norm_element_gradient(const T* x, const T* dy, T* dx, Partial* partials, Shape s, Parameters parameters) {
  tile::launch_dependents();
  const ElementPart<T> part(s, blockIdx.x);
  const Partial p = moments_of_group<Warp>(part, x);
  if (partials && threadIdx.x == 0) partials[blockIdx.x] = p;
  const Statistics of[1] = {Statistics::of(p.base, p.moments.mean, p.moments.squares / s.count, parameters.eps)};
  const Affine<Access::element, T> affine(part, parameters);
  const T *from_x = x + part.origin(s.x), *from_dy = dy + part.origin(s.dy);
  GradientSums sums{0, 0};
  for (unsigned item = part.first; item < part.end; item += s.lanes) {
    simt::vec<float, 1> n = part.values(part.load(from_x, s.x, item)), g = part.values(part.load(from_dy, s.dy, item));
    affine(item, [&](const float(&gamma)[1], const float(&beta)[1]) {
      normalise_and_unwind(of, gamma, beta, parameters.activation, n.v, g.v);
      g[0] *= gamma[0];
    });
    sums = sums + GradientSums{g[0], g[0] * n[0]};
  }
  sums = tile::any_block<Warp>().reduce(sums, [](const GradientSums& a, const GradientSums& b) { return a + b; });
  const GroupGradient gradient[1] = {{of[0], sums.g / s.count, sums.gn / s.count}};
  T* to = dx + part.origin(s.y);
  for (unsigned item = part.first; item < part.end; item += s.lanes)
    part.store(to, s.y, item,
               gradient_of_item<Access::element, T>(affine, parameters, gradient, item,
                                                    part.values(part.load(from_x, s.x, item)),
                                                    part.values(part.load(from_dy, s.dy, item))));
}

namespace element {

template <class Policy, class T, int Warp> static Status launch(const Call<T>& call) {
  const GroupNormPlan& plan = call.plan;
  const GroupNormProblem& p = plan.problem;
  const Division d = division_of(Policy::config, p, plan.device);
  const Shape s = shape_of(Policy::config, p, d);
  const simt::Config at = call.config(d.blocks(), d.threads, 0, Warp);
  if (!p.backward) return simt::launch(at, group_norm_element<Policy, T, Warp>, call.x, call.y, s, call.parameters);
  const SumsPlan sums = sums_of(p);
  RIDGE_TRY(simt::launch(at, group_norm_element_gradient<Policy, T, Warp>, call.x, call.dy, call.y,
                         wants_sums(p) ? call.partials() : nullptr, s, call.parameters));
  if (!wants_sums(p)) return {};
  RIDGE_TRY((launch_planes<false, Warp>(call, sums, 1)));
  return launch_finish<Warp>(call, sums);
}

}  // namespace element
}  // namespace ridge::group_norm_detail
