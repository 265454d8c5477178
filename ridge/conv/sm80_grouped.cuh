// Few channels by mma.sync (sm80_grouped.hpp).
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm80_grouped.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::conv_detail {

// Tiles of pixels, and the inputs around them (GroupedTiles).
struct TileShape {
  int n, h, w, oh, ow, top, left;
  int stride_h, stride_w, dilation_h, dilation_w;
  int columns_log2, in_rows, in_columns;
  unsigned count;
  Divider of_in_row;     // inputs of a tile's row
  Divider of_period;     // rows of y from image to image
  Divider of_in_period;  // and of x, with those of zeros
  Divider of_row;        // tiles side by side

  // Where a pixel's inputs of the first tap are, of a tile's.
  __device__ __forceinline__ int input_of(int pixel) const {
    const int i = pixel >> columns_log2, j = pixel & ((1 << columns_log2) - 1);
    return i * stride_h * in_columns + j * stride_w;
  }
};

// One of them. Rows of y are counted over all images and the rows of zeros between them.
struct TilePlace {
  unsigned first_i;
  int first_j;
  struct Output {
    unsigned n;
    int i, j;
    bool exists;
  };

  __device__ __forceinline__ TilePlace(const TileShape& t, unsigned tile) {
    const unsigned row = t.of_row.divide(tile);
    constexpr int pixels_log2 = 7;
    static_assert(BundleShape::tile_pixels == 1 << pixels_log2);
    first_i = row << (pixels_log2 - t.columns_log2);
    first_j = static_cast<int>(tile) << t.columns_log2;
  }
  __device__ __forceinline__ Output output(const TileShape& t, int pixel) const {
    unsigned i = first_i + static_cast<unsigned>(pixel >> t.columns_log2);
    const unsigned n = t.of_period.divide(i);
    const int j = first_j + (pixel & ((1 << t.columns_log2) - 1));
    return {n, static_cast<int>(i), j, static_cast<int>(n) < t.n && static_cast<int>(i) < t.oh && j < t.ow};
  }
};

// The channels of a block: in each bundle `width`, of which `count` exist, or fewer in the last one.
struct BundleChannels {
  int bundles, width, count;
  int first, next;  // of the first bundle; from bundle to bundle
  int all;          // channels of the tensor
  int pixel_bytes;  // in shared memory
};

// Copies a tile's inputs: [in_rows][in_columns][bundles][width], with zeros outside of images and channels.
template <class T>
__device__ __forceinline__ void stage_inputs(unsigned char* to, const T* x, const std::int64_t (&strides)[4],
                                             const TileShape& t, const TilePlace& place, const BundleChannels& of,
                                             int threads) {
  constexpr int piece = 8;
  const int pieces = of.bundles * of.width / piece, count = t.in_rows * t.in_columns * pieces;
  const unsigned first_row = place.first_i * static_cast<unsigned>(t.stride_h);
  const int first_column = place.first_j * t.stride_w - t.left;
  RIDGE_KEEP_LOOP
  for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) {
    const int pixel = i / pieces, line = i % pieces * piece, bundle = line / of.width, k = line % of.width;
    unsigned column = static_cast<unsigned>(pixel);
    unsigned h = t.of_in_row.divide(column) + first_row;  // after `top` rows of zeros
    const unsigned n = t.of_in_period.divide(h);
    const int row = static_cast<int>(h) - t.top, w = first_column + static_cast<int>(column);
    const int channel = of.first + bundle * of.next + k;
    const bool there = static_cast<int>(n) < t.n && static_cast<unsigned>(row) < static_cast<unsigned>(t.h) &&
                       static_cast<unsigned>(w) < static_cast<unsigned>(t.w) && k < of.count && channel < of.all;
    const T* from = x + (there ? n * strides[0] + row * strides[2] + w * strides[3] + channel : 0);
    tile::copy_async<16>(to + pixel * of.pixel_bytes + line * int{sizeof(T)}, from, there ? 16 : 0);
  }
}

struct GroupedMmaShape {
  TileShape tiles;
  int group;                      // channels of one
  int width;                      // of a bundle's channels in shared memory
  int bundle, bundle_filters;     // channels and filters of a bundle
  int channels, filters;          // of all groups
  int next_channel, next_filter;  // from bundle to bundle: of one group, all have the same channels
  int rows, columns;              // of filters
  bool residual_vectors;          // four neighbouring channels of it are a vector
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
};

// Constants of one row.
template <class Policy> struct GroupedMma {
  static constexpr Config c = Policy::config;
  static constexpr BundleShape b = bundle_shape(c);
  static constexpr int N = b.warp_filters() / 16, M = b.warp_pixels() / 16;  // of a warp, by 16
  static constexpr int parts = b.filters / b.warp_filters();
  static constexpr int outputs = 2 * M * N;  // of a thread: a pixel's four neighbouring channels
  static_assert(c.threads == 32 * b.warps && b.filters % 16 == 0 && b.warps % b.warps_across() == 0);
  // Of a bundle's channels in shared memory; known to the compiler, but for one group.
  __device__ __forceinline__ static int width(const GroupedMmaShape& p) { return b.one_group ? p.width : b.width; }
  __device__ __forceinline__ static int pixel_bytes(const GroupedMmaShape& p) {
    constexpr BundleShape shape = bundle_shape(c);
    return shape.pixel_bytes(width(p));
  }
  __device__ __forceinline__ static int filter_bytes(const GroupedMmaShape& p) {
    return BundleShape::filter_bytes(width(p));
  }
  __device__ __forceinline__ static int tap_bytes(const GroupedMmaShape& p) {
    constexpr int rows = bundle_shape(c).rows();
    return rows * filter_bytes(p);
  }
};

// Row of the filter f, of 16, in shared memory. A lane has sums of two columns of each of mma's eight: in this order,
// its sums of both eights are four neighbouring filters.
RIDGE_HD constexpr int filter_row(int f) { return f / 2 % 2 * 8 + f / 4 * 2 + f % 2; }

// Copies a block's filters by pieces of Bytes: [tap][rows()][width], with zeros where a filter and a channel are of
// different groups, or of none.
template <class Policy, int Bytes, class T>
__device__ __forceinline__ void stage_bundle_filters(unsigned char* to, const T* w, const GroupedMmaShape& p,
                                                     int first_bundle) {
  using K = GroupedMma<Policy>;
  constexpr BundleShape b = K::b;
  constexpr int piece = Bytes / int{sizeof(T)};
  const int pieces = K::width(p) / piece, of_tap = b.rows() * pieces, taps = p.rows * p.columns;
  RIDGE_KEEP_LOOP
  for (int i = static_cast<int>(threadIdx.x); i < of_tap; i += K::c.threads) {
    const int line = i / pieces, k = i % pieces * piece, n = line % b.filters, bundle = line / b.filters;
    const int filter = (first_bundle + bundle) * p.next_filter + n;
    const bool there =
        n < p.bundle_filters && k < p.bundle && filter < p.filters && (b.one_group || n / p.group == k / p.group);
    const T* from = w + (there ? filter * p.f[0] + k % p.group : 0);  // its taps
    unsigned char* at =
        to + (bundle * b.filters + n / 16 * 16 + filter_row(n % 16)) * K::filter_bytes(p) + k * int{sizeof(T)};
    RIDGE_KEEP_LOOP
    for (int tap = 0, column = 0; tap < taps; ++tap, at += K::tap_bytes(p)) {
      tile::copy_async<Bytes>(at, from + column * p.f[3], there ? Bytes : 0);
      if (++column == p.columns) column = 0, from += p.f[2];
    }
  }
}

// y = epilogue(conv(x, w))                              x: [n, h, w, c]  y: [n, oh, ow, k]
//
// Block (b, v) has the bundles from v * bundles() on, whose filters stay in shared memory, and of the tiles b,
// b + gridDim.x ... A warp has warp_pixels() pixels and warp_filters() filters of one bundle; for each tap it reads
// fragments of the pixels' inputs from the tile, a tap's distance further, and of the filters.
// A zero between groups times an infinity or a NaN is a NaN: sums that are, of groups that share a bundle, are computed
// again by definition.
// Preconditions: fits(); gridDim.y is bundle_columns(); the dynamic shared memory is bundle_smem_bytes().
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_grouped_mma(const T* x, const T* w, T* y, const __grid_constant__ GroupedMmaShape p, Epilogue<T> epilogue) {
  if constexpr (tile::sm80::available) {
    using K = GroupedMma<Policy>;
    namespace sm80 = tile::sm80;
    constexpr BundleShape b = K::b;
    unsigned char* const filters = simt::dynamic_shared<unsigned char>();
    unsigned char* const inputs = filters + p.rows * p.columns * K::tap_bytes(p);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int across = static_cast<int>(warp) % b.warps_across(), bundle = across / K::parts, part = across % K::parts;
    const int first_pixel = static_cast<int>(warp) / b.warps_across() * b.warp_pixels();
    const int first_bundle = static_cast<int>(blockIdx.y) * b.bundles();
    const int width = K::width(p), pixel_bytes = K::pixel_bytes(p), filter_bytes = K::filter_bytes(p);
    const TileShape& t = p.tiles;

    // ---- where this lane reads fragments: pixels' inputs of the first tap, and filters
    const sm80::At at = sm80::matrix_row_at(sm80::Axis::k, lane);
    unsigned from_inputs[K::M];
    const auto input_of = [&](int pixel) { return t.input_of(pixel) * pixel_bytes + bundle * width * int{sizeof(T)}; };
#pragma unroll
    for (int m = 0; m < K::M; ++m)
      from_inputs[m] = sm80::shared_address(inputs) +
                       static_cast<unsigned>(input_of(first_pixel + m * 16 + static_cast<int>(at.outer))) +
                       at.k * unsigned{sizeof(T)};
    const unsigned from_filters =
        sm80::shared_address(filters) +
        static_cast<unsigned>((bundle * b.filters + part * b.warp_filters() + static_cast<int>(at.outer)) *
                              filter_bytes) +
        at.k * unsigned{sizeof(T)};
    const unsigned tap_down = static_cast<unsigned>(t.dilation_h * t.in_columns * pixel_bytes),
                   tap_across = static_cast<unsigned>(t.dilation_w * pixel_bytes);

    // ---- filters, which the first tile's inputs follow
    if (b.one_group || p.group >= 8) stage_bundle_filters<Policy, 16>(filters, w, p, first_bundle);
    else if (p.group == 4) stage_bundle_filters<Policy, 8>(filters, w, p, first_bundle);
    else stage_bundle_filters<Policy, 4>(filters, w, p, first_bundle);

    const bool relu = epilogue.activation == Activation::relu;
    const bool cheap = !epilogue.residual && (relu || epilogue.activation == Activation::none);
    // The lane's four channels of each 16 filters: within the bundle, and of all.
    const int first_k = part * b.warp_filters() + static_cast<int>(lane % 4) * 4;
    const int first_channel = (first_bundle + bundle) * p.next_filter + first_k;
    const auto exists = [&](int u) {
      return first_k + u * 16 < p.bundle_filters && first_channel + u * 16 < p.filters;
    };
    float bias[K::N][4];
#pragma unroll
    for (int u = 0; u < K::N; ++u)
#pragma unroll
      for (int v = 0; v < 4; ++v)  // -0 changes no sum
        bias[u][v] = epilogue.bias && exists(u)
                         ? float(epilogue.bias[(first_channel + u * 16 + v) * epilogue.bias_stride])
                         : -0.0f;

    RIDGE_KEEP_LOOP
    for (unsigned tile = blockIdx.x; tile < t.count; tile += gridDim.x) {
      const TilePlace place(t, tile);
      stage_inputs(
          inputs, x, p.x, t, place,
          {b.bundles(), width, p.bundle, first_bundle * p.next_channel, p.next_channel, p.channels, pixel_bytes},
          K::c.threads);
      tile::wait_for_copies();
      __syncthreads();

      // ---- compute
      float sums[K::M][K::N][2][4] = {};
      unsigned filters_at = from_filters;
      RIDGE_KEEP_LOOP
      for (int a = 0; a < p.rows; ++a) {
        unsigned offset = static_cast<unsigned>(a) * tap_down;
        RIDGE_KEEP_LOOP
        for (int tap = 0; tap < p.columns;
             ++tap, offset += tap_across, filters_at += static_cast<unsigned>(K::tap_bytes(p))) {
          // Of groups the number is known, and the loop is not there.
          for (int k = 0; k < width / 16; ++k) {
            unsigned filter[K::N][4];
#pragma unroll
            for (int u = 0; u < K::N; ++u)
              sm80::load_matrices<false>(filter[u], filters_at + static_cast<unsigned>(u * 16 * filter_bytes + k * 32));
#pragma unroll
            for (int m = 0; m < K::M; ++m) {
              unsigned pixels[4];
              sm80::load_matrices<false>(pixels, from_inputs[m] + offset + static_cast<unsigned>(k * 32));
#pragma unroll
              for (int u = 0; u < K::N; ++u) {
                sm80::multiply<T>(sums[m][u][0], pixels, filter[u], 0);
                sm80::multiply<T>(sums[m][u][1], pixels, filter[u], 1);
              }
            }
          }
        }
      }

      // ---- store: output e of this lane is four channels of a pixel
      float out[K::outputs][4];
      bool has_nan = false;
#pragma unroll
      for (int e = 0; e < K::outputs; ++e)
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          out[e][v] = sums[e / (2 * K::N)][e / 2 % K::N][v / 2][e % 2 * 2 + v % 2];
          has_nan |= out[e][v] != out[e][v];
        }
      has_nan = has_nan && !b.one_group && p.group < 16;
      const auto pixel_of = [&](int e) {
        return first_pixel + e / (2 * K::N) * 16 + static_cast<int>(lane / 4) + e % 2 * 8;
      };
      // Calls f(n, i, j) for the place of output e, if it is in an image.
      const auto at_place = [&](int e, auto&& f) {
        const TilePlace::Output to = place.output(t, pixel_of(e));
        if (to.exists && exists(e / 2 % K::N)) f(to.n, to.i, to.j);
      };
      const auto store = [&](int e, unsigned n, int i, int j, const float(&results)[4]) {
        const unsigned words[2] = {tile::pack_pair<T>(results[0], results[1]),
                                   tile::pack_pair<T>(results[2], results[3])};
        simt::vec<T, 4> four;
        memcpy(&four, words, sizeof four);
        simt::store_global(y + n * p.y[0] + i * p.y[2] + j * p.y[3] + first_channel + e / 2 % K::N * 16, four);
      };
      if (cheap && !has_nan) {
#pragma unroll
        for (int e = 0; e < K::outputs; ++e)
          at_place(e, [&](unsigned n, int i, int j) {
            float results[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) {
              const float sum = out[e][v] + bias[e / 2 % K::N][v];
              results[v] = relu ? tile::relu(sum) : sum;
            }
            store(e, n, i, j, results);
          });
      } else {
        // Each iteration rotates the outputs by one and uses the first, so that the activations' code is there once.
        RIDGE_KEEP_LOOP
        for (int e = 0; e < K::outputs; ++e) {
          at_place(e, [&](unsigned n, int i, int j) {
            const int u = e / 2 % K::N;
            float results[4], addends[4] = {};
            // By definition: channels of its own group alone.
            RIDGE_KEEP_LOOP
            for (int v = 0; v < 4; ++v) {
              float sum = out[0][0];
              if (has_nan && sum != sum) {
                const int f = first_k + u * 16 + v, first = f / p.group * p.group;
                const unsigned char* filter =
                    filters + (bundle * b.filters + f / 16 * 16 + filter_row(f % 16)) * filter_bytes;
                const unsigned char* input = inputs + input_of(pixel_of(e));
                sum = 0;
                for (int a = 0; a < p.rows; ++a)
                  for (int tap = 0; tap < p.columns; ++tap, filter += K::tap_bytes(p))
                    for (int k = first; k < first + p.group; ++k)
                      sum += float(reinterpret_cast<const T*>(input + a * tap_down + tap * tap_across)[k]) *
                             float(reinterpret_cast<const T*>(filter)[k]);
              }
              out[0][0] = out[0][1], out[0][1] = out[0][2], out[0][2] = out[0][3], out[0][3] = sum;
            }
#pragma unroll
            for (int v = 0; v < 4; ++v)
              results[v] =
                  out[0][v] +
                  (epilogue.bias ? float(epilogue.bias[(first_channel + u * 16 + v) * epilogue.bias_stride]) : -0.0f);
            if (epilogue.residual) {
              const std::int64_t* by = epilogue.residual_strides;
              const T* from = epilogue.residual + n * by[0] + (first_channel + u * 16) * by[1] + i * by[2] + j * by[3];
              if (p.residual_vectors) {
                tile::to_floats<T, 4>(simt::load<4>(from), addends);
              } else {
#pragma unroll
                for (int v = 0; v < 4; ++v) addends[v] = float(from[v * by[1]]);
              }
            }
            const auto add = [&] {
#pragma unroll
              for (int v = 0; v < 4; ++v) results[v] += addends[v];
            };
            if (epilogue.residual && epilogue.residual_first) add();
            tile::activate_many<T>(epilogue.activation, results);
            if (epilogue.residual && !epilogue.residual_first) add();
            store(e, n, i, j, results);
          });
#pragma unroll
          for (int o = 0; o + 1 < K::outputs; ++o)
#pragma unroll
            for (int v = 0; v < 4; ++v) out[o][v] = out[o + 1][v];
        }
      }
      __syncthreads();  // all have read the inputs
    }
  }
}

// ---- launch

namespace grouped_mma {

static inline TileShape tile_shape(const ConvProblem& p, const GroupedTiles& t) {
  const ConvGeometry& g = p.geometry;
  int log2 = 0;
  while (1 << log2 < t.columns) ++log2;
  return {.n = whole(p.x.shape[0]),
          .h = whole(p.x.shape[2]),
          .w = whole(p.x.shape[3]),
          .oh = whole(p.y.shape[2]),
          .ow = whole(p.y.shape[3]),
          .top = whole(g.pad.top),
          .left = whole(g.pad.left),
          .stride_h = whole(g.stride.h),
          .stride_w = whole(g.stride.w),
          .dilation_h = whole(g.dilation.h),
          .dilation_w = whole(g.dilation.w),
          .columns_log2 = log2,
          .in_rows = whole(t.in_rows),
          .in_columns = whole(t.in_columns),
          .count = static_cast<unsigned>(t.count()),
          .of_in_row = Divider(t.in_columns),
          .of_period = Divider(t.period),
          .of_in_period = Divider(t.period * g.stride.h),
          .of_row = Divider(t.across)};
}

// of_block: filters of a block, of one group.
static inline GroupedMmaShape shape_of(const ConvProblem& p, const GroupedTiles& t, int of_block) {
  const auto four_channels = [](const Layout& l) {
    return l.stride[1] == 1 && l.stride[0] % 4 == 0 && l.stride[2] % 4 == 0 && l.stride[3] % 4 == 0;
  };
  const bool one_group = p.geometry.groups == 1;
  const std::int64_t bundle = bundle_channels(p);
  GroupedMmaShape s{.tiles = tile_shape(p, t),
                    .group = whole(channels_of_group(p)),
                    .width = bundle_width(p),
                    .bundle = whole(bundle),
                    .bundle_filters = one_group ? of_block : whole(bundle),
                    .channels = whole(p.x.shape[1]),
                    .filters = whole(p.y.shape[1]),
                    .next_channel = one_group ? 0 : whole(bundle),
                    .next_filter = one_group ? of_block : whole(bundle),
                    .rows = whole(p.w.shape[2]),
                    .columns = whole(p.w.shape[3]),
                    .residual_vectors = p.residual && four_channels(*p.residual)};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  return s;
}

template <class Policy, class T> [[nodiscard]] static Status launch(const Arguments& args, const simt::Config& row) {
  const ConvProblem& p = args.plan.problem;
  simt::Config at = row;
  const unsigned columns = static_cast<unsigned>(bundle_columns(Policy::config, p));
  at.grid = dim3(at.grid.x / columns, columns);
  return simt::launch(at, conv_grouped_mma<Policy, T>, static_cast<const T*>(args.x), static_cast<const T*>(args.w),
                      static_cast<T*>(args.y), shape_of(p, best_grouped_tiles(p), Policy::config.tile_filters),
                      epilogue_of<T>(args));
}

}  // namespace grouped_mma
}  // namespace ridge::conv_detail
