// What the kernels of a gradient's sums share: those of dz and of dz (x - mean), over all axes but the channel; and how
// dz follows from dy.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/families.hpp>
#include <ridge/batch_norm/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/activation_slope.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_reduce.cuh>

#include <algorithm>

namespace ridge::batch_norm_detail {

struct Sums {     // no initialisers: there are some in shared memory
  float dz, dzx;  // of dz, of dz (x - mean)

  __device__ __forceinline__ void take(float gradient, float distance) {
    dz += gradient;
    dzx = fmaf(gradient, distance, dzx);
  }
};
static_assert(sizeof(Sums) == sums_bytes);
__device__ __forceinline__ Sums operator+(const Sums& a, const Sums& b) { return {a.dz + b.dz, a.dzx + b.dzx}; }

// What dx's kernel needs of a channel of batch statistics: dx = scale (dz - shift - (x - mean) slope). Made once by the
// sums' kernels: divisions and roots for every few elements took that kernel longer than its memory.
struct alignas(folded_bytes) Folded {
  float scale, mean, shift, slope;
};
static_assert(sizeof(Folded) == folded_bytes);

// Turns dy of N elements into dz, by what the activation was given. M: the channels of the elements, N or one.
template <Dz How, int N, int M>
__device__ __forceinline__ void to_dz(Activation activation, const Channel (&channels)[M], const float (&x)[N],
                                      const float (&residual)[N], float (&dy)[N]) {
  if constexpr (How == Dz::is_dy) return;
  float z[N];
#pragma unroll
  for (int i = 0; i < N; ++i) z[i] = channels[i % M](x[i]) + residual[i];
  tile::times_slope(How == Dz::by_relu ? Activation::relu : activation, z, dy);
}

// What a lane of the sums loads of a tensor at a time: 16 bytes, or an element.
template <bool Vectorized, class T> struct SumsAccess {
  static constexpr int V = Vectorized ? tile::vector_elements<T> : 1;
  using Loaded = std::conditional_t<Vectorized, tile::Packed, T>;
  using Values = simt::vec<float, V>;

  static __device__ __forceinline__ Loaded load(const T* from) {
    if constexpr (Vectorized) return tile::load_packed(from);
    else return *from;
  }
  static __device__ __forceinline__ void store(T* to, const Values& values) {
    if constexpr (Vectorized) tile::store_packed(to, tile::pack_floats<T>(values));
    else *to = T(values[0]);
  }
  static __device__ __forceinline__ Values values(const Loaded& loaded) {
    if constexpr (Vectorized) return tile::unpack_floats<T>(loaded);
    else return {{float(loaded)}};
  }
};

// The tensors of the sums' kernels, each of which is x's shape.
template <class T> struct SumsTensors {
  const T *x, *dy;
  const T* residual;  // null: none
  T* dz;              // null: not asked for

  // By offsets in elements.
  __device__ __forceinline__ void advance(std::int64_t of_x, std::int64_t of_dy, std::int64_t of_residual,
                                          std::int64_t of_dz) {
    x += of_x;
    dy += of_dy;
    if (residual) residual += of_residual;
    if (dz) dz += of_dz;
  }
};

// What becomes of a channel's sums: the second kernel reads what they are folded into, and they are dgamma and dbeta
// where these are asked for.
struct SumsOutputs {
  Folded* folded;         // [c]
  Sums* partial;          // [c, slices]
  float *dgamma, *dbeta;  // null: not asked for
  std::int64_t stride_dgamma, stride_dbeta;
  Parameters parameters;
  float count;  // elements of a channel

  // any: whether there are elements; statistics of none are NaN.
  __device__ __forceinline__ void write(std::int64_t channel, const Sums& sums, bool any = true) const {
    const float inverse = rsqrtf(parameters.var(channel, 0) + parameters.eps);
    folded[channel] = {parameters.gamma(channel, 1) * inverse, parameters.mean(channel, 0), sums.dz / count,
                       sums.dzx / count * inverse * inverse};
    if (dgamma) dgamma[channel * stride_dgamma] = any ? sums.dzx * inverse : 0.0f;
    if (dbeta) dbeta[channel * stride_dbeta] = sums.dz;
  }
  // The sums of one of a channel's slices.
  __device__ __forceinline__ void put(std::int64_t channel, unsigned slice, unsigned slices, const Sums& sums) const {
    if (slices == 1) write(channel, sums);
    else partial[channel * slices + slice] = sums;
  }
};

struct SumsShape {
  std::int64_t channels, n, h, w;
  std::int64_t x[4] = {}, dy[4] = {}, residual[4] = {}, dz[4] = {};  // strides of n, c, h, w
  unsigned items = 0, slices = 0;
  int columns = 1;
  Divider by_slices = {}, by_plane = {},
          by_row = {};      // by_plane: items of a plane; by_row: of a row, if rows are not merged
  Divider by_columns = {};  // images
  Activation activation = Activation::none;
  bool aligned_parameters = false;
};

inline constexpr int sums_finish_threads = 128;

// Adds a channel's slices, a block per channel.         partial: [c, slices]
// Precondition: gridDim.x == c.
template <int Warp>
__global__ void __launch_bounds__(sums_finish_threads) sums_finish(SumsOutputs out, std::int64_t slices) {
  __shared__ tile::RowScratch<Sums, sums_finish_threads, Warp> scratch;
  tile::launch_dependents();
  tile::grid_dependency_wait();
  const Sums* partial = out.partial + blockIdx.x * slices;
  Sums sums{};
  for (std::int64_t i = threadIdx.x; i < slices; i += sums_finish_threads) sums = sums + partial[i];
  sums = tile::row_reduce<sums_finish_threads, Warp>(
      sums, [](Sums a, Sums b) { return a + b; }, scratch);
  if (threadIdx.x == 0) out.write(blockIdx.x, sums, slices > 0);
}

// ---- launch

template <class T> struct SumsCall {
  const BatchNormPlan& plan;
  StatsGrid grid;
  SumsTensors<T> tensors;
  SumsOutputs outputs;
  Stream stream;
};

template <class T> static simt::Config launch_config(const SumsCall<T>& call, int warp) {
  const BatchNormPlan& plan = call.plan;
  const StatsVariant& row = sums_variants[plan.stats_variant];
  return launch_config(sums_family_of(row).footprint(row, plan.problem, plan.device), call.stream, warp);
}

// in_item: elements of a plane in an item. Precondition: channels have items.
template <class T> static SumsShape shape_of(const SumsCall<T>& call, std::int64_t in_item = 1) {
  const BatchNormProblem& p = call.plan.problem;
  SumsShape s{.channels = p.x.shape[1],
              .n = p.x.shape[0],
              .h = p.x.shape[2],
              .w = p.x.shape[3],
              .items = static_cast<unsigned>(call.grid.items),
              .slices = static_cast<unsigned>(call.grid.slices),
              .columns = call.grid.columns,
              .by_slices = Divider(call.grid.slices),
              .by_plane = Divider(spatial(p.x) / in_item),
              .by_row = Divider(p.x.shape[3]),
              .activation = p.options.activation,
              .aligned_parameters = p.aligned_parameters};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.dy.stride.begin(), 4, s.dy);
  if (p.residual) std::copy_n(p.of_residual.stride.begin(), 4, s.residual);
  if (p.dresidual) std::copy_n(p.of_dresidual.stride.begin(), 4, s.dz);
  return s;
}

// f<How>() of a way to make dz.
template <class F> static Status visit_dz(Dz how, F&& f) {
  switch (how) {
    case Dz::is_dy: return f.template operator()<Dz::is_dy>();
    case Dz::by_relu: return f.template operator()<Dz::by_relu>();
    default: return f.template operator()<Dz::by_any>();
  }
}

// Launches a family's kernel: kernel_of<How>(), which the problem's dz asks for.
template <class T, class F>
static Status launch_sums_kernel(const SumsCall<T>& call, int warp, const SumsShape& s, F&& kernel_of) {
  return visit_dz(dz_of(call.plan.problem), [&]<Dz How>() {
    return simt::launch(launch_config(call, warp), kernel_of.template operator()<How>(), call.tensors, call.outputs, s);
  });
}

// The last step for channels of several slices, or of none: without elements their sums are 0.
template <int Warp, class T> static Status launch_finish(const SumsCall<T>& call) {
  const simt::Config at{.grid = dim3(static_cast<unsigned>(call.plan.problem.x.shape[1])),
                        .block = dim3(sums_finish_threads),
                        .stream = call.stream.handle,
                        .warp = Warp};
  return launch_after(call.grid.slices > 0, call.plan, at, sums_finish<Warp>, call.outputs, call.grid.slices);
}

}  // namespace ridge::batch_norm_detail
