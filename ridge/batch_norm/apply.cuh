// y = (x - mean) * scale + beta, where scale = gamma / sqrt(var + eps).
#pragma once
#include <ridge/batch_norm/variants.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::batch_norm_detail {

// One of mean, var, gamma and beta: [c], of any of the types, any stride; null: not given.
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
};

struct Channel {
  float mean, scale, beta;
  // The difference first: x * scale + (beta - mean * scale) would lose it where the mean is far greater.
  __device__ __forceinline__ float operator()(float x) const { return fmaf(x - mean, scale, beta); }
};

struct Parameters {
  Parameter mean, var, gamma, beta;
  float eps;

  __device__ __forceinline__ Channel operator()(std::int64_t c) const {
    return {mean(c, 0), gamma(c, 1) * rsqrtf(var(c, 0) + eps), beta(c, 0)};
  }
  // N neighbouring channels, where all that are given are contiguous f32 on 16 bytes.
  template <int N> __device__ __forceinline__ void wide(std::int64_t c, Channel (&channels)[N]) const {
    const auto each = [&](const Parameter& parameter, float otherwise, auto&& take) {
      float values[N];
#pragma unroll
      for (int i = 0; i < N; i += 4) {
        simt::vec<float, 4> four{{otherwise, otherwise, otherwise, otherwise}};
        if (parameter.data) four = simt::load<4>(static_cast<const float*>(parameter.data) + c + i);
#pragma unroll
        for (int k = 0; k < 4; ++k) values[i + k] = four[k];
      }
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
// Precondition: gridDim.x * threads covers them. Threads follow one another along the innermost axis.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads)
    apply_element(const T* x, T* y, ElementShape s, Parameters parameters) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
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

struct PlanesShape {
  std::int64_t count;  // elements
  unsigned items;      // units, the last maybe not whole
  unsigned plane;      // elements of a plane, where units may lie in two of them; else units of a plane
  int channels;
  bool whole_planes;  // of whole units
  Divider by_plane, by_channels;
};

// The same, 16 bytes per thread.                        x, y: [n, c, plane], contiguous. y may be x.
// Preconditions: gridDim.x * threads covers items < 2^31 (and count < 2^31 unless whole_planes); x and y on 16 bytes;
// a plane has at least V elements.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads)
    apply_planes(const T* x, T* y, PlanesShape s, Parameters parameters) {
  constexpr int V = tile::unit_elements<T>;
  const unsigned item = blockIdx.x * Row::config.threads + threadIdx.x;
  if (item >= s.items) return;
  const std::int64_t first = std::int64_t{item} * V;
  const bool whole = first + V <= s.count;
  const tile::Packed packed = whole ? tile::load_packed(x + first) : tile::Packed{};

  unsigned place = s.whole_planes ? item : item * V;  // then: within the plane
  unsigned channel = s.by_plane.divide(place);
  s.by_channels.divide(channel);
  const Channel here = parameters(channel);
  // Elements of this unit that are this plane's; the others are the next one's.
  const int ours = s.whole_planes || place + V <= s.plane ? V : static_cast<int>(s.plane - place);
  Channel next = here;
  if (ours < V) next = parameters(static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0);

  if (whole) {
    tile::Unit<T> unit = tile::unpack<T>(packed);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const Channel& of = v < ours ? here : next;
      unit[v] = T(of(float(unit[v])));
    }
    simt::store_global(y + first, unit);
  } else {
    for (int v = 0; first + v < s.count; ++v) y[first + v] = T((v < ours ? here : next)(float(x[first + v])));
  }
}

struct ChannelsShape {
  std::int64_t positions, groups;  // groups of threads along positions
  std::int64_t pitch_x, pitch_y;
  unsigned items;
  Divider units;  // of 16 bytes in a position
  bool wide_parameters;
};

// The same, 16 bytes of channels per thread, in Config::positions of them: g, g + groups, g + 2 groups, ...
//                                                       x, y: [positions, c], channels contiguous. y may be x.
// Preconditions: gridDim.x * threads covers items < 2^31; channels_on_units() of both.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads)
    apply_channels(const T* x, T* y, ChannelsShape s, Parameters parameters) {
  constexpr int V = tile::unit_elements<T>, P = Row::config.positions;
  const unsigned item = blockIdx.x * Row::config.threads + threadIdx.x;
  if (item >= s.items) return;
  unsigned unit = item;
  const std::int64_t group = s.units.divide(unit);
  x += unit * V;
  y += unit * V;
  tile::Packed in[P];
#pragma unroll
  for (int k = 0; k < P; ++k) {
    const std::int64_t at = group + k * s.groups;
    in[k] = at < s.positions ? tile::load_packed(x + at * s.pitch_x) : tile::Packed{};
  }
  Channel channels[V];
  if (s.wide_parameters) {
    parameters.wide(unit * V, channels);
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v) channels[v] = parameters(unit * V + v);
  }
#pragma unroll
  for (int k = 0; k < P; ++k) {
    const std::int64_t at = group + k * s.groups;
    tile::Unit<T> out = tile::unpack<T>(in[k]);
#pragma unroll
    for (int v = 0; v < V; ++v) out[v] = T(channels[v](float(out[v])));
    if (at < s.positions) simt::store_global(y + at * s.pitch_y, out);
  }
}

}  // namespace ridge::batch_norm_detail
