// The kernels of sums.hpp: sums over the pieces of planes, and the last one, which adds up rows of sums.
#pragma once
#include <ridge/group_norm/launch.cuh>

namespace ridge::group_norm_detail {

// dgamma or dbeta: [c], of f32, f16 or bf16, any stride; null: not wanted.
struct ChannelResult {
  void* data = nullptr;
  std::int64_t stride = 1;
  DType dtype = DType::f32;

  __device__ __forceinline__ void put(std::int64_t c, float value) const {
    if (!data) return;
    if (dtype == DType::f16) static_cast<half*>(data)[c * stride] = half(value);
    else if (dtype == DType::bf16) static_cast<bfloat16*>(data)[c * stride] = bfloat16(value);
    else static_cast<float*>(data)[c * stride] = value;
  }
};

struct PlanesShape {
  Strides x = {}, dy = {};
  std::int64_t planes = 0, channels = 0;            // of all samples; of one
  int of_group = 1;                                 // channels of a group
  unsigned slices = 1;                              // of a group: partials
  unsigned pieces = 1, items = 0, piece_items = 0;  // of a plane: vectors, or pixels
  Divider by_row = {};
};

// sums[row][0][c] = sum of dz n over a piece of a plane, [1][c] = that of dz; row: sample * pieces + piece.
//                                                       x, dy: [n, c, h, w]      partials: [groups of all, slices]
// A warp has a piece of a plane. Preconditions: gridDim.x * warps covers planes * pieces; planes have fewer than 2^31
// pixels; Vectorized: planes are contiguous and whole, aligned 16-byte vectors.
template <bool Vectorized, class T, int Warp>
__global__ void __launch_bounds__(planes_threads) group_norm_planes(const T* x, const T* dy, const Partial* partials,
                                                                    float* sums, PlanesShape s, Parameters parameters) {
  constexpr int V = Vectorized ? tile::vector_elements<T> : 1, U = planes_loads;
  using Item = std::conditional_t<Vectorized, tile::Packed, T>;
  tile::launch_dependents();
  tile::grid_dependency_wait();
  const simt::tile<Warp> warp;
  const std::int64_t number = std::int64_t{blockIdx.x} * (planes_threads / Warp) + warp.index();
  const std::int64_t plane = number / s.pieces, sample = plane / s.channels, channel = plane - sample * s.channels;
  if (plane >= s.planes) return;  // the whole warp
  const unsigned piece = static_cast<unsigned>(number - plane * s.pieces);
  const unsigned begin = piece * s.piece_items, end = min(begin + s.piece_items, s.items);
  x += sample * s.x.n + channel * s.x.c;
  dy += sample * s.dy.n + channel * s.dy.c;
  const Statistics of[1] = {
      warp.shfl(merged_statistics<Warp>(partials + plane / s.of_group * s.slices, s.slices, parameters.eps), 0)};
  const float gamma[1] = {parameters.gamma(channel, 1)}, beta[1] = {parameters.beta(channel, 0)};

  const auto load = [&](const T* from, const Strides& t, unsigned item) -> Item {
    if constexpr (Vectorized) {
      return tile::load_packed(from + std::int64_t{item} * V);
    } else {
      const unsigned h = s.by_row.divide(item);
      return from[h * t.h + item * t.w];
    }
  };
  const auto floats = [](const Item& item) -> simt::vec<float, V> {
    if constexpr (Vectorized) return tile::unpack_floats<T>(item);
    else return {{float(item)}};
  };
  float sum_n = 0, sum = 0;
  for (unsigned first = begin + static_cast<unsigned>(warp.rank()); first < end; first += U * Warp) {
    Item of_x[U] = {}, of_dy[U] = {};
#pragma unroll
    for (int u = 0; u < U; ++u)
      if (first + u * Warp < end) {
        of_x[u] = load(x, s.x, first + u * Warp);
        of_dy[u] = load(dy, s.dy, first + u * Warp);
      }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (first + u * Warp >= end) break;
      simt::vec<float, V> n = floats(of_x[u]), dz = floats(of_dy[u]);
      normalise_and_unwind(of, gamma, beta, parameters.activation, n.v, dz.v);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        sum_n = fmaf(dz[v], n[v], sum_n);
        sum += dz[v];
      }
    }
  }
  sum_n = warp.reduce(sum_n, plus);
  sum = warp.reduce(sum, plus);
  if (warp.rank() != 0) return;
  sums += (sample * s.pieces + piece) * 2 * s.channels + channel;
  sums[0] = sum_n;
  sums[s.channels] = sum;
}

// dgamma[c] = sum over r of sums[r][0][c], dbeta[c] = sum of sums[r][1][c].          sums: [rows, 2, c]
// A block has finish_wide of the 2 c columns. It may start before the sums are written.
// Precondition: gridDim.x * finish_wide covers the columns.
template <int Warp>
__global__ void __launch_bounds__(finish_threads)
    group_norm_finish(const float* sums, std::int64_t rows, std::int64_t channels, ChannelResult dgamma,
                      ChannelResult dbeta) {
  constexpr int wide = finish_wide, high = finish_threads / wide;
  __shared__ float partial[high][wide];
  const int lane = static_cast<int>(threadIdx.x) % wide, line = static_cast<int>(threadIdx.x) / wide;
  const std::int64_t column = std::int64_t{blockIdx.x} * wide + lane;
  float sum = 0;
  tile::grid_dependency_wait();
  if (column < 2 * channels) {
#pragma unroll 8
    for (std::int64_t row = line; row < rows; row += high) sum += sums[row * 2 * channels + column];
  }
  partial[line][lane] = sum;
  __syncthreads();
  if (line > 0 || column >= 2 * channels) return;
  for (int i = 1; i < high; ++i) sum += partial[i][lane];
  if (column < channels) dgamma.put(column, sum);
  else dbeta.put(column - channels, sum);
}

// ---- launch

// slices: of a group, whose statistics are in the workspace. Precondition: the problem is not empty.
template <bool Vectorized, int Warp, class T>
static Status launch_planes(const Call<T>& call, const SumsPlan& sums, std::int64_t slices) {
  const GroupNormProblem& p = call.plan.problem;
  const std::int64_t items = spatial(p.x) / (Vectorized ? vector_elements(p.dtype) : 1);
  const PlanesShape s{.x = strides_of(p.x),
                      .dy = strides_of(p.dy),
                      .planes = planes_of(p),
                      .channels = channels(p),
                      .of_group = static_cast<int>(channels_of_group(p)),
                      .slices = static_cast<unsigned>(slices),
                      .pieces = static_cast<unsigned>(sums.pieces),
                      .items = static_cast<unsigned>(items),
                      .piece_items = static_cast<unsigned>(ceil_div(items, sums.pieces)),
                      .by_row = Divider(p.x.shape[3])};
  const simt::Config at = call.config(planes_blocks(p, sums.pieces, Warp), planes_threads, 0, Warp);
  return tile::launch_dependent(call.plan.device.cc, at, group_norm_planes<Vectorized, T, Warp>, call.x, call.dy,
                                static_cast<const Partial*>(call.partials()), call.sums(sums), s, call.parameters);
}

[[maybe_unused]] static ChannelResult result_of(const TensorView* view) {
  return view ? ChannelResult{view->data, view->stride(0), view->dtype} : ChannelResult{};
}

// dgamma and dbeta from the rows of sums; 0 where there are none. Precondition: there are channels.
template <int Warp, class T> static Status launch_finish(const Call<T>& call, const SumsPlan& sums) {
  const GroupNormProblem& p = call.plan.problem;
  const simt::Config at = call.config(finish_blocks(p), finish_threads, 0, Warp);
  return tile::launch_dependent(call.plan.device.cc, at, group_norm_finish<Warp>,
                                static_cast<const float*>(call.sums(sums)), sums.rows, channels(p),
                                result_of(call.operands.dgamma), result_of(call.operands.dbeta));
}

}  // namespace ridge::group_norm_detail
