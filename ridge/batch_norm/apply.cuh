// y = (x - mean) * scale + beta, where scale = gamma / sqrt(var + eps).
#pragma once
#include <ridge/batch_norm/variants.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::batch_norm_detail {

// One of mean, var, gamma and beta: [c], any of the types, any stride; null: not given.
struct Parameter {
  const void* data = nullptr;
  std::int64_t stride = 1;
  DType dtype = DType::f32;

  __device__ __forceinline__ float operator()(std::int64_t c, float otherwise) const {
    if (!data) return otherwise;
    if (dtype == DType::f16) return static_cast<const half*>(data)[c * stride];
    if (dtype == DType::bf16) return static_cast<const bfloat16*>(data)[c * stride];
    return static_cast<const float*>(data)[c * stride];
  }
  // Loads channels c to c + N - 1. It branches on the type once: once per channel would take the compiler seconds.
  template <int N> __device__ __forceinline__ void gather(std::int64_t c, float (&values)[N]) const {
    const auto take = [&](const auto* from) {
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] = float(from[(c + i) * stride]);
    };
    if (dtype == DType::f16) take(static_cast<const half*>(data));
    else if (dtype == DType::bf16) take(static_cast<const bfloat16*>(data));
    else take(static_cast<const float*>(data));
  }
  // The same for contiguous f32 on 16 bytes.
  template <int N> __device__ __forceinline__ void gather_vectors(std::int64_t c, float (&values)[N]) const {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const simt::vec<float, 4> four = simt::load<4>(static_cast<const float*>(data) + c + i);
#pragma unroll
      for (int k = 0; k < 4; ++k) values[i + k] = four[k];
    }
  }
};

struct Channel {
  float mean, scale, beta;
  // The difference first: x * scale + (beta - mean * scale) would lose it if the mean is far greater.
  __device__ __forceinline__ float operator()(float x) const { return fmaf(x - mean, scale, beta); }
};

struct Parameters {
  Parameter mean, var, gamma, beta;
  float eps;

  __device__ __forceinline__ Channel operator()(std::int64_t c) const {
    return {mean(c, 0), gamma(c, 1) * rsqrtf(var(c, 0) + eps), beta(c, 0)};
  }
  // N neighbouring channels; vectorized: all given parameters are contiguous f32 on 16 bytes.
  template <int N>
  __device__ __forceinline__ void gather(std::int64_t c, bool vectorized, Channel (&channels)[N]) const {
    const auto each = [&](const Parameter& parameter, float otherwise, auto&& take) {
      float values[N];
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] = otherwise;
      if (parameter.data && vectorized) parameter.gather_vectors(c, values);
      else if (parameter.data) parameter.gather(c, values);
#pragma unroll
      for (int i = 0; i < N; ++i) take(channels[i], values[i]);
    };
    each(mean, 0, [](Channel& ch, float v) { ch.mean = v; });
    each(var, 0, [&](Channel& ch, float v) { ch.scale = rsqrtf(v + eps); });
    each(gamma, 1, [](Channel& ch, float v) { ch.scale *= v; });
    each(beta, 0, [](Channel& ch, float v) { ch.beta = v; });
  }
};

struct ElementShape {
  std::int64_t shape[4] = {}, x[4] = {}, y[4] = {};  // n, c, h, w: sizes, strides
  bool channels_innermost = false;
};

// y[n, c, h, w] = its channel's function of x           x, y: [n, c, h, w], any strides. y may be x.
// Precondition: gridDim.x * threads covers the elements. Neighbouring threads are along the innermost axis.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_element(const T* x, T* y, ElementShape s, Parameters parameters) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at_x = 0, at_y = 0, channel = 0;
  const auto take = [&](int axis) {
    const std::uint64_t size = s.shape[axis], outer = quotient(rest, size);
    const std::int64_t i = static_cast<std::int64_t>(rest - outer * size);
    at_x += i * s.x[axis];
    at_y += i * s.y[axis];
    if (axis == 1) channel = i;
    rest = outer;
  };
  if (s.channels_innermost) take(1);
  take(3);
  take(2);
  if (!s.channels_innermost) take(1);
  const std::int64_t image = static_cast<std::int64_t>(rest);
  if (image >= s.shape[0]) return;
  at_x += image * s.x[0];
  at_y += image * s.y[0];
  y[at_y] = T(parameters(channel)(float(x[at_x])));
}

// A block's number; blocks go through memory from its beginning, or backwards from its end.
__device__ __forceinline__ unsigned block_number(bool backwards) {
  return backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
}
// Backwards, x is partly in the L2 cache and should stay there until it is read: so stores are evict-first.
template <class T> __device__ __forceinline__ void put(T* y, const tile::Packed& out, bool backwards) {
  if (backwards) simt::store_streaming(y, tile::unpack<T>(out));
  else tile::store_packed(y, out);
}

struct PlanesShape {
  std::int64_t count;  // elements
  unsigned items;      // vectors; the last may not be whole
  unsigned plane;      // vectors of a plane if whole_planes, else its elements
  int channels;
  bool whole_planes;  // planes are whole vectors
  bool backwards;
  Divider by_plane, by_channels;
};

// The same, with Config::vectors 16-byte vectors per thread.  x, y: [n, c, plane], contiguous. y may be x.
// Preconditions: gridDim.x * threads * vectors covers items < 2^31 (and count < 2^31 unless whole_planes); x and y
// start on 16 bytes. Several: a plane has fewer than V elements, so that a vector has several planes; else it has at
// least V.
template <class Policy, class T, bool Several>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_planes(const T* x, T* y, PlanesShape s, Parameters parameters) {
  constexpr int V = tile::vector_elements<T>, U = Policy::config.vectors, threads = Policy::config.threads;
  const unsigned item = block_number(s.backwards) * (threads * U) + threadIdx.x;
  tile::Packed in[U];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const std::int64_t first = std::int64_t{item + u * threads} * V;
    in[u] = first + V <= s.count ? tile::load_packed(x + first) : tile::Packed{};
  }
  unsigned known = ~0u;  // the channel of `here`
  Channel here{};
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const unsigned vector = item + u * threads;
    if (vector >= s.items) break;
    unsigned position = s.whole_planes ? vector : vector * V;  // after divide(): within the plane
    unsigned channel = s.by_plane.divide(position);
    s.by_channels.divide(channel);
    if (channel != known) here = parameters(channel);
    known = channel;
    const std::int64_t first = std::int64_t{vector} * V;
    const bool whole = first + V <= s.count;
    if constexpr (Several) {
      tile::Floats<T> elements = tile::unpack_floats<T>(in[u]);
      if (!whole)
#pragma unroll
        for (int v = 0; v < V; ++v) elements[v] = first + v < s.count ? float(x[first + v]) : 0;
#pragma unroll 1
      for (int begin = 0; begin < V;) {
        const int end = min(begin + static_cast<int>(s.plane - position), V);
#pragma unroll
        for (int v = 0; v < V; ++v) elements[v] = v >= begin && v < end ? here(elements[v]) : elements[v];
        begin = end;
        position = 0;
        if (begin == V) break;
        channel = static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0;
        here = parameters(channel);
      }
      known = channel;
      if (whole) {
        put(y + first, tile::pack_floats<T>(elements), s.backwards);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (first + v < s.count) y[first + v] = T(elements[v]);
      }
      continue;
    }
    if (whole && (s.whole_planes || position + V <= s.plane)) {
      tile::Floats<T> elements = tile::unpack_floats<T>(in[u]);
#pragma unroll
      for (int v = 0; v < V; ++v) elements[v] = here(elements[v]);
      put(y + first, tile::pack_floats<T>(elements), s.backwards);
      continue;
    }
    // The vector's elements in this plane; the others are in the next plane, or beyond the end.
    const int ours = s.whole_planes || position + V <= s.plane ? V : static_cast<int>(s.plane - position);
    Channel next = here;
    if (ours < V) next = parameters(static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0);
    if (whole) {
      tile::Floats<T> elements = tile::unpack_floats<T>(in[u]);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const Channel& of = v < ours ? here : next;
        elements[v] = of(elements[v]);
      }
      put(y + first, tile::pack_floats<T>(elements), s.backwards);
    } else {
      for (int v = 0; first + v < s.count; ++v) y[first + v] = T((v < ours ? here : next)(float(x[first + v])));
    }
  }
}

struct ChannelsShape {
  std::int64_t positions;
  std::int64_t pitch_x, pitch_y;
  unsigned items;
  Divider vectors;  // 16-byte vectors of a position
  bool aligned_parameters, backwards;
};

// The same, with a vector of channels per thread, in Config::vectors positions, positions_apart from one another.
//                                                       x, y: [positions, c], channels contiguous. y may be x.
// Preconditions: gridDim.x * threads covers items < 2^31; channels_on_vectors() for both.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_channels(const T* x, T* y, ChannelsShape s, Parameters parameters) {
  constexpr int V = tile::vector_elements<T>, P = Policy::config.vectors;
  const unsigned item = block_number(s.backwards) * Policy::config.threads + threadIdx.x;
  if (item >= s.items) return;
  unsigned vector = item;
  const unsigned group = s.vectors.divide(vector);
  const std::int64_t begin = std::int64_t{group / positions_apart} * (positions_apart * P) + group % positions_apart;
  x += vector * V + begin * s.pitch_x;
  y += vector * V + begin * s.pitch_y;
  tile::Packed in[P];
#pragma unroll
  for (int k = 0; k < P; ++k)
    in[k] = begin + k * positions_apart < s.positions ? tile::load_packed(x + k * positions_apart * s.pitch_x)
                                                      : tile::Packed{};
  Channel channels[V];
  parameters.gather(vector * V, s.aligned_parameters, channels);
#pragma unroll
  for (int k = 0; k < P; ++k) {
    tile::Floats<T> elements = tile::unpack_floats<T>(in[k]);
#pragma unroll
    for (int v = 0; v < V; ++v) elements[v] = channels[v](elements[v]);
    if (begin + k * positions_apart < s.positions)
      put(y + k * positions_apart * s.pitch_y, tile::pack_floats<T>(elements), s.backwards);
  }
}

}  // namespace ridge::batch_norm_detail
