// Gradients for groups of one channel and one filter of a fixed size, channels innermost. Both read a tensor about
// once:
//
//   dx  a row of dy is loaded once for all the neighbouring elements of a thread that it meets
//   dw  a thread has the sums of one row of its filters; those of all rows, which meet the same dy and neighbouring
//       rows of x, are in one block, so that the L1 cache has them
#pragma once
#include <ridge/conv/depthwise_gradient.hpp>
#include <ridge/conv/grouped.cuh>

namespace ridge::conv_detail {

// dx = epilogue(sum of dy w), filters of Config::size with this stride along h and w
//                                                       dy: [n, oh, ow, c]  dx: [n, h, w, c]
//
// Phase: the left padding's remainder by the stride (depthwise_gradient.hpp). In the shape x is dy and y is dx.
// Preconditions: those of conv_grouped; dilation 1; Config::rows is a multiple of the stride.
template <class Policy, int Stride, int Phase, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_depthwise_input_gradient(const T* dy, const T* w, T* dx, GroupedShape p, Epilogue<T> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int V = grouped_vector(sizeof(T)), P = c.rows, S = c.size;
  constexpr int least = gradient_least(P, Stride, Phase), N = gradient_most(S, Stride, Phase) - least + 1;
  static_assert(P % Stride == 0, "all strips have one phase");
  float* filters = simt::dynamic_shared<float>();
  const FilterPlaces places(p.vectors, V);
  const GroupedPlace<T> place(p, c.threads);

  // ---- load
  stage_filters<1>(filters, w, p, place.first_filter, c.threads);
  __syncthreads();
  if (!place.exists(p)) return;
  const float* own = filters + places.of_four(static_cast<int>(place.vector), 0);
  const VectorEpilogue<T> finish(epilogue, p, place.k);
  const StripsInARow strips(p, place.slot, place.slots);

  RIDGE_KEEP_LOOP
  for (unsigned strip = strips.first; strip < strips.end; strip += strips.apart) {
    unsigned across = strip, i = p.of_row.divide(across);
    const unsigned n = p.of_image.divide(i);
    const int first_j = static_cast<int>(across) * P, m = (first_j + p.left) / Stride, apart = static_cast<int>(p.x[3]);

    // ---- compute
    float sums[P][V] = {};
    const T* image = dy + n * p.x[0] + place.k;
    const int lifted = static_cast<int>(i) + p.top;
    RIDGE_KEEP_LOOP
    for (int a = lifted % Stride; a < S; a += Stride) {
      const int h = (lifted - a) / Stride;  // exact
      const bool row_inside = static_cast<unsigned>(h) < static_cast<unsigned>(p.h);
      const T* row = image + h * p.x[2];  // may be outside, and is not read there
      tile::Packed inputs[N];             // of columns m - least, m - least - 1 ...; zeros outside of dy
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < N; ++e) {
        const int j = m - least - e;
        inputs[e] = tile::Packed{};
        if (row_inside && static_cast<unsigned>(j) < static_cast<unsigned>(p.w))
          inputs[e] = tile::load_packed(row + j * apart);
      }
      float filter[S][V];
      RIDGE_UNROLL_ON_GPU
      for (int b = 0; b < S; ++b) load_filter(own + (a * S + b) * places.pitch, places, filter[b]);
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < N; ++e) {
        const auto values = tile::unpack_floats<T>(inputs[e]);
        RIDGE_UNROLL_ON_GPU
        for (int o = 0; o < P; ++o) {  // the elements that it meets, each by another tap
          const int b = o + Phase + Stride * (least + e);
          if (b < 0 || b >= S) continue;
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) sums[o][v] += values[v] * filter[b][v];
        }
      }
    }

    finish.store(sums, dx, n, static_cast<int>(i), first_j);
  }
}

// Parts of dw, each of some of the strips of dy: [part][tap][filter], in float32; part b is of block (b, v).
//                                                       dy: [n, oh, ow, c]  x: [n, h, w, c]
//
// A thread has a 16-byte vector of filters, one row of their taps and every so many-th strip of Config::rows
// neighbouring outputs. Preconditions: as for conv_grouped; dilation 1; filter_smem_bytes().
template <class Policy, int Stride, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_depthwise_filter_gradient(const T* dy, const T* x, float* partial, GroupedShape p) {
  constexpr Config c = Policy::config;
  constexpr int V = grouped_vector(sizeof(T)), P = c.rows, S = c.size, N = depthwise_inputs(P, S, Stride);
  float* staged = simt::dynamic_shared<float>();  // [V / 4][threads][4]
  unsigned vector = threadIdx.x, rest = p.of_block.divide(vector);
  const unsigned slot = rest / S, slots = p.of_block(static_cast<unsigned>(c.threads)) / S;
  const int a = static_cast<int>(rest % S), k = static_cast<int>(blockIdx.y * p.vectors + vector) * V;
  const bool exists = slot < slots && k < p.channels;
  const StripsInARow strips(p, slot, slots);

  float sums[S][V] = {};
  RIDGE_KEEP_LOOP
  for (unsigned strip = strips.first; exists && strip < strips.end; strip += strips.apart) {
    unsigned across = strip, i = p.of_row.divide(across);
    const unsigned n = p.of_image.divide(i);
    const int first_j = static_cast<int>(across) * P, count = ::min(P, p.ow - first_j),
              first_w = first_j * Stride - p.left, h = static_cast<int>(i) * Stride - p.top + a;

    // ---- load: zeros outside of the image
    const bool row_inside = static_cast<unsigned>(h) < static_cast<unsigned>(p.h);
    const T* row = x + n * p.x[0] + k + h * p.x[2] + first_w * p.x[3];  // may be outside, and is not read there
    const T* from = dy + n * p.y[0] + k + static_cast<int>(i) * p.y[2] + first_j * p.y[3];
    tile::Packed inputs[N];
    tile::Floats<T> gradients[P];
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < N; ++e) {
      inputs[e] = tile::Packed{};
      if (row_inside && static_cast<unsigned>(first_w + e) < static_cast<unsigned>(p.w))
        inputs[e] = tile::load_packed(row + e * p.x[3]);
    }
    RIDGE_UNROLL_ON_GPU
    for (int o = 0; o < P; ++o)
      gradients[o] = tile::unpack_floats<T>(o < count ? tile::load_packed(from + o * p.y[3]) : tile::Packed{});

    // ---- compute
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < N; ++e) {
      const auto values = tile::unpack_floats<T>(inputs[e]);
      RIDGE_UNROLL_ON_GPU
      for (int b = e % Stride; b < S; b += Stride) {  // the taps that meet it, each with another output
        const int o = (e - b) / Stride;
        if (e < b || o >= P || o >= count) continue;  // past the last output x may be infinite
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) sums[b][v] += values[v] * gradients[o][v];
      }
    }
  }

  // ---- finish: the slots' sums, in order, tap by tap
  const std::int64_t taps = S * S;
  float* const to = partial + (blockIdx.x * taps + a * S) * p.channels + k;
  const auto staged_at = [&](unsigned thread, int v) { return staged + (v / 4 * c.threads + thread) * 4; };
  RIDGE_UNROLL_ON_GPU
  for (int b = 0; b < S; ++b) {
    __syncthreads();  // the tap before has been read
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; v += 4)
      simt::store(staged_at(threadIdx.x, v),
                  simt::vec<float, 4>{sums[b][v], sums[b][v + 1], sums[b][v + 2], sums[b][v + 3]});
    __syncthreads();
    if (slot > 0 || !exists) continue;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; v += 4) {
      auto all = simt::load<4>(staged_at(threadIdx.x, v));
      RIDGE_KEEP_LOOP
      for (unsigned other = 1; other < slots; ++other) {
        const auto theirs = simt::load<4>(staged_at(threadIdx.x + other * p.vectors * S, v));
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e < 4; ++e) all[e] += theirs[e];
      }
      simt::store(to + b * std::int64_t{p.channels} + v, all);
    }
  }
}

// dw = the sum of its parts, in their order.                             partial: [parts][taps][filters]
// Precondition: gridDim.x * threads covers the elements.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_depthwise_add_parts(const float* partial, T* dw, int parts, Divider filters, int elements, int taps_of_row,
                             std::int64_t filter_stride, std::int64_t row_stride, std::int64_t column_stride) {
  const std::int64_t at = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (at >= elements) return;
  float sum = 0;
  for (int part = 0; part < parts; ++part) sum += partial[std::int64_t{part} * elements + at];
  unsigned filter = static_cast<unsigned>(at);
  const int tap = static_cast<int>(filters.divide(filter));
  dw[filter * filter_stride + tap / taps_of_row * row_stride + tap % taps_of_row * column_stride] = T(sum);
}

namespace depthwise_gradient {

// The grid has a block for each vector of channels and part of the strips.
static inline simt::Config launch_of(const Arguments& args, const Config& c, std::int64_t blocks, std::int64_t smem) {
  simt::Config at = launch_config(args, c.threads, blocks);
  at.grid.y = static_cast<unsigned>(grouped_columns(args.plan.problem));
  at.smem = static_cast<std::size_t>(smem);
  return at;
}

template <int I, class T> static Status launch_input_gradient(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  const GroupedShape s = grouped::shape_of(p, c, p.y, *p.dx);
  const auto launch = [&](auto kernel) {
    return simt::launch(launch_of(args, c, input_blocks(c, p, args.plan.device), grouped_smem_bytes(c, p)), kernel,
                        static_cast<const T*>(args.dy), static_cast<const T*>(args.w), static_cast<T*>(args.dx), s,
                        epilogue_of<T>(args));
  };
  if (p.geometry.stride.w == 1) return launch(conv_depthwise_input_gradient<Policy<I>, 1, 0, T>);
  if (p.geometry.pad.left % 2 == 0) return launch(conv_depthwise_input_gradient<Policy<I>, 2, 0, T>);
  return launch(conv_depthwise_input_gradient<Policy<I>, 2, 1, T>);
}

template <int I, class T> static Status launch_filter_gradient(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  const GroupedShape s = grouped::shape_of(p, c, p.x, p.y);
  const std::int64_t parts = parts_of(c, p, args.plan.device), elements = p.w.count();
  float* partial = static_cast<float*>(args.workspace);
  const auto launch = [&](auto kernel) {
    return simt::launch(launch_of(args, c, parts, filter_smem_bytes(c, p.dtype)), kernel,
                        static_cast<const T*>(args.dy), static_cast<const T*>(args.x), partial, s);
  };
  RIDGE_TRY(p.geometry.stride.w == 1 ? launch(conv_depthwise_filter_gradient<Policy<I>, 1, T>)
                                     : launch(conv_depthwise_filter_gradient<Policy<I>, 2, T>));
  const auto& stride = p.dw->stride;
  return simt::launch(launch_config(args, c.threads, ceil_div(elements, c.threads)),
                      conv_depthwise_add_parts<Policy<I>, T>, static_cast<const float*>(partial),
                      static_cast<T*>(args.dw), whole(parts), Divider(p.w.shape[0]), whole(elements), c.size, stride[0],
                      stride[2], stride[3]);
}

template <int I, class T> static Status launch(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  if (has_dx(p)) RIDGE_TRY((launch_input_gradient<I, T>(args)));
  return has_dw(p) ? launch_filter_gradient<I, T>(args) : Status{};
}

}  // namespace depthwise_gradient
}  // namespace ridge::conv_detail
