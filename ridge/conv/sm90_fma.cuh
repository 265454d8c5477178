// Convolutions in float32 by multiply-adds. TMA brings the operands to shared memory, with the image loader of the
// tensor cores' rows (sm90_image.cuh): no consumer thread computes an address
// or checks whether a pixel exists.
#pragma once
#include <ridge/conv/slices.cuh>
#include <ridge/conv/sm90_copies.cuh>
#include <ridge/conv/sm90_fma.hpp>
#include <ridge/conv/sm90_image.cuh>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/pipeline.cuh>

namespace ridge::conv_detail {

// The tile of a table row, for the producer and the consumers. In shared memory a step is
//   pixels   [bm] lines of 32 channels
//   filters  [bn / 32] groups of lines, one for each of the 32 channels, of 32 filters
// and a warp has fma_pixel_lanes x fma_filter_lanes threads: a thread's pixels have a stride of 8, so that neighbouring
// lanes have neighbouring pixels, and its filters are two vectors of four, 16 apart.
template <class Policy> struct FmaTile {
  static constexpr Config config = Policy::config;
  static constexpr gemm_kernels::Config c = fma_tile(config);  // for the image loader
  static constexpr tile::sm90::Axis axis_b = tile::sm90::Axis::outer;
  static constexpr bool multicast = false;
  static constexpr int b_share = c.bn, bytes_a = c.bm * c.line, bytes_b = c.bn * c.line;
  static constexpr int own_pixels = config.rows, own_filters = fma_own_filters;
  static constexpr int groups_of_filters = c.bn / (fma_filter_lanes * own_filters);
  static constexpr int warps = fma_warps(config), threads = (warps + 1) * 32;  // consumers; and one producer warp
  static_assert(c.bm % (fma_pixel_lanes * own_pixels) == 0 && c.bn % (fma_filter_lanes * own_filters) == 0);
  static_assert(own_filters == 8, "two pieces of a line, whose places are exchanged by one bit of the line's number");
  static_assert(config.stages * (bytes_a + bytes_b + 2 * int{sizeof(tile::sm90::Barrier)}) == fma_smem_bytes(config));
  static_assert(threads == config.threads && c.line == tile::sm90::line_bytes && c.bk * int{sizeof(float)} == c.line);
};

struct FmaWork {
  int pixels, filters, steps;               // of the whole product; steps: of 32 channels of a tap
  int slice_steps;                          // of a slice; the last may have fewer
  unsigned slices;                          // split-K slices
  unsigned tiles, tiles_of_slice, columns;  // of all slices; of one; side by side, along filters
  int of_four;                              // channels of each four: 3 where a copy pads with a zero channel, else 4
};

// y = epilogue(conv(x, w))           x, w: by the loader's maps; y: by the strides of `output`
// With split-K the sums go to the slices of `output`.
// Block b has tiles b, b + gridDim.x and so on. One producer warp is up to Config::stages steps ahead.
// Preconditions: cc 90; maps made with boxes of FmaTile's; fma_smem_bytes() of dynamic shared memory.
template <class Policy, bool Volume>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_fma(const __grid_constant__ ImageLoaderIn<Volume> loader, const __grid_constant__ FmaWork work,
             const __grid_constant__ ImplicitOutput<float, false, Volume> output) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = FmaTile<Policy>;
    constexpr Config c = Policy::config;
    constexpr int P = K::own_pixels, F = K::own_filters;
    constexpr int vector = 4, vectors = K::c.bk / vector;  // channels of one access of 16 bytes; in a line

    unsigned char* shared = sm90::swizzled_shared();
    auto* barriers = reinterpret_cast<sm90::Barrier*>(shared + c.stages * (K::bytes_a + K::bytes_b));
    const sm90::Pipeline<c.stages> pipeline{barriers, barriers + c.stages};
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    if (threadIdx.x == 0) {
      pipeline.init(1, K::warps);
      sm90::fence_init();
    }
    __syncthreads();

    const auto tile_at = [&](unsigned tile) -> gemm_kernels::WgmmaTile {
      unsigned slice = 0;
      if (work.slices > 1) {
        slice = tile / work.tiles_of_slice;
        tile -= slice * work.tiles_of_slice;
      }
      const unsigned row = tile / work.columns;
      return {static_cast<int>(row) * K::c.bm, static_cast<int>(tile - row * work.columns) * K::c.bn,
              static_cast<int>(slice), work.pixels};
    };
    const auto steps_of = [&](int slice) { return ::min(work.slice_steps, work.steps - slice * work.slice_steps); };
    sm90::PipelineState<c.stages> at;

    // ---- load
    if (warp == K::warps) {
      if (lane != 0) return;
      loader.prefetch();
      for (unsigned tile = blockIdx.x; tile < work.tiles; tile += gridDim.x) {
        const gemm_kernels::WgmmaTile place = tile_at(tile);
        auto from = loader.at(place);
        const int steps = steps_of(place.batch);
        for (int step = 0; step < steps; ++step, at.next()) {
          unsigned char* stage = shared + at.stage * (K::bytes_a + K::bytes_b);
          pipeline.producer_acquire(at);
          loader.template load_next<K>(from, stage, stage + K::bytes_a, pipeline.full + at.stage, 0);
        }
      }
      return;
    }

    // Half a warp has 8 pixels and 2 filters: it reads at most 128 bytes of either.
    const int pixel_lane = lane / 2 % 8, filter_lane = lane / 16 * 2 + lane % 2;
    const int first_pixel = warp / K::groups_of_filters * (fma_pixel_lanes * P) + pixel_lane;
    const int filter_group = warp % K::groups_of_filters;
    const int first_filter = filter_group * (fma_filter_lanes * F) + filter_lane * vector;
    const auto filter_at = [](int f) {
      return f / vector * (fma_filter_lanes * vector) + f % vector;
    };  // from the first
    const int steps_of_tap = (loader.channels + K::c.bk - 1) / K::c.bk;
    const int last_vectors = (loader.channels - (steps_of_tap - 1) * K::c.bk + vector - 1) / vector;

    for (unsigned tile = blockIdx.x; tile < work.tiles; tile += gridDim.x) {
      // ---- compute
      float sums[F][P] = {};
      // The products of one step. Channels: channels used of each four; the others are zeros.
      const auto add_products = [&]<int Channels>(const unsigned char* pixels, const unsigned char* filters, int here) {
        // The swizzle XORs a 16-byte vector's index with its line's index modulo 8 (tile/sm90/swizzle.hpp). A lane's
        // pixels are lines of one index; its vectors of filter line k are where those of line k % 4 are,
        // exchanged where k % 8 > 3.
        const unsigned char* lines[vector];
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e < vector; ++e) lines[e] = filters + e * K::c.line + (filter_lane ^ e) * 16;
        const auto multiply = [&](int u, int odd) {  // vector u; odd: u % 2
          simt::vec<float, vector> x[P];
          RIDGE_UNROLL_ON_GPU
          for (int i = 0; i < P; ++i)
            x[i] = simt::load<vector>(
                reinterpret_cast<const float*>(pixels + i * fma_pixel_lanes * K::c.line + (u ^ pixel_lane) * 16));
          RIDGE_UNROLL_ON_GPU
          for (int e = 0; e < Channels; ++e) {
            simt::vec<float, vector> w[F / vector];
            RIDGE_UNROLL_ON_GPU
            for (int v = 0; v < F / vector; ++v)
              w[v] = simt::load<vector>(reinterpret_cast<const float*>(lines[e] + u * vector * K::c.line +
                                                                       (v ^ odd) * (fma_filter_lanes * 16)));
            RIDGE_UNROLL_ON_GPU
            for (int i = 0; i < P; ++i) RIDGE_UNROLL_ON_GPU
            for (int f = 0; f < F; ++f) sums[f][i] += x[i][e] * w[f / vector][f % vector];
          }
        };
        RIDGE_KEEP_LOOP
        for (int u = 0; u < here; u += 2) {
          multiply(u, 0);
          if (u + 1 == here) break;
          multiply(u + 1, 1);
        }
      };
      const auto place = tile_at(tile);
      const int steps = steps_of(place.batch);
      int left = steps_of_tap - place.batch * work.slice_steps % steps_of_tap;
      RIDGE_KEEP_LOOP
      for (int step = 0; step < steps; ++step, at.next()) {
        int here = vectors;
        if (--left == 0) left = steps_of_tap, here = last_vectors;
        const unsigned char* stage = shared + at.stage * (K::bytes_a + K::bytes_b);
        const unsigned char* pixels = stage + first_pixel * K::c.line;
        const unsigned char* filters = stage + K::bytes_a + filter_group * (K::c.bk * K::c.line);
        pipeline.consumer_wait(at);
        // The zero channel of a copy is left out; with fewer than three channels, zeros are multiplied.
        if (work.of_four == 3) add_products.template operator()<3>(pixels, filters, here);
        else add_products.template operator()<4>(pixels, filters, here);
        __syncwarp();
        if (lane == 0) pipeline.consumer_release(at.stage);
      }

      // ---- finish
      const Epilogue<float>& epilogue = output.epilogue;
      const bool relu = epilogue.activation == Activation::relu;
      const int pixel = place.row + first_pixel, filter = place.col + first_filter;
      if (output.slices) {
        RIDGE_UNROLL_ON_GPU
        for (int f = 0; f < F; ++f) {
          const int k = filter + filter_at(f);
          if (k >= work.filters) break;
          float* row = output.in_slice(place.batch, k, pixel);
          RIDGE_UNROLL_ON_GPU
          for (int i = 0; i < P; ++i)
            if (pixel + i * fma_pixel_lanes < work.pixels) row[i * fma_pixel_lanes] = sums[f][i];
        }
        continue;
      }
      const auto places_by = [&](const std::int64_t(&strides)[5], std::int64_t(&places)[P]) {
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < P; ++i) {
          int n, h, w, d;
          output.pixels.coordinates(static_cast<unsigned>(pixel + i * fma_pixel_lanes), n, h, w, d);
          places[i] = n * strides[0] + h * strides[2] + w * strides[3] + d * strides[4];
        }
      };
      std::int64_t to[P];
      places_by(output.y_strides, to);
      if (!epilogue.residual && (relu || epilogue.activation == Activation::none)) {
        RIDGE_UNROLL_ON_GPU
        for (int f = 0; f < F; ++f) {
          const int k = filter + filter_at(f);
          if (k >= work.filters) break;
          const float bias = epilogue.bias ? epilogue.bias[k * epilogue.bias_stride] : -0.0f;  // which changes no sum
          float* plane = output.y + k * output.y_strides[1];
          RIDGE_UNROLL_ON_GPU
          for (int i = 0; i < P; ++i) {
            const float sum = sums[f][i] + bias;
            if (pixel + i * fma_pixel_lanes < work.pixels) plane[to[i]] = relu ? tile::relu(sum) : sum;
          }
        }
        continue;
      }
      // Each iteration takes a filter and rotates the sums by one, so that the activation's code is there once.
      std::int64_t from[P] = {};
      if (epilogue.residual) places_by(epilogue.residual_strides, from);
      RIDGE_KEEP_LOOP
      for (int f = 0; f < F; ++f) {
        const int k = filter + filter_at(f);
        if (k >= work.filters) break;
        const float bias = epilogue.bias ? epilogue.bias[k * epilogue.bias_stride] : -0.0f;
        float x[(P + 3) / 4 * 4] = {}, added[P] = {};  // activations are computed by fours
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < P; ++i) {
          x[i] = sums[0][i] + bias;
          if (epilogue.residual && pixel + i * fma_pixel_lanes < work.pixels)
            added[i] = epilogue.residual[k * epilogue.residual_strides[1] + from[i]];
          if (epilogue.residual_first) x[i] += added[i];
        }
        tile::activate_many<float>(epilogue.activation, x);
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < P; ++i) {
          if (epilogue.residual && !epilogue.residual_first) x[i] += added[i];
          if (pixel + i * fma_pixel_lanes < work.pixels) output.y[k * output.y_strides[1] + to[i]] = x[i];
        }
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e + P < F * P; ++e) sums[e / P][e % P] = sums[e / P + 1][e % P];
      }
    }
  }
}

namespace fma {

// Policy: of a row of the table.
template <class Policy, bool Volume = false> [[nodiscard]] static Status launch(const Arguments& args) {
  using K = FmaTile<Policy>;
  constexpr Config c = Policy::config;
  const ConvProblem& p = args.plan.problem;
  const Gathering g = gathering(c, p);
  const void *x = args.x, *w = args.w;
  RIDGE_TRY(launch_copies<float>(args, g, x, w));
  ImageLoaderIn<Volume> loader;
  RIDGE_TRY(make_loader(loader, p, g, x, w, p.dtype, K::c.bm, K::c.bk, K::c.line));
  const AxisMaps maps = forward_maps(p);
  const auto output = output_of<float, false, Volume>(epilogue_of<float>(args), pixels_in<Volume>(maps, p.x, p.y),
                                                      maps.h, maps.w, static_cast<float*>(args.y), p.y, p.w.shape[0]);
  return launch_in_slices(args, false, output, [&](const auto& to, const gemm_kernels::Shape& shape) {
    const std::int64_t of_slice = tiles_of(c, p.w.shape[0], pixels_of(p));
    const FmaWork work{.pixels = whole(pixels_of(p)),
                       .filters = whole(p.w.shape[0]),
                       .steps = whole(shape.k),
                       .slice_steps = whole(shape.slice_k),
                       .slices = static_cast<unsigned>(shape.slices),
                       .tiles = static_cast<unsigned>(of_slice * shape.slices),
                       .tiles_of_slice = static_cast<unsigned>(of_slice),
                       .columns = static_cast<unsigned>(ceil_div(p.w.shape[0], c.tile_filters)),
                       .of_four = g.copies_image && g.image.channels == 4 ? whole(p.x.shape[1]) : 4};
    set_slices(loader, shape, c.step);
    const simt::Config at = launch_config(args, footprint_of(c, p, args.plan.device, g, shape));
    return tile::sm90::launch_clusters(at, 1, conv_fma<Policy, Volume>, loader, work, to);
  });
}

}  // namespace fma
}  // namespace ridge::conv_detail
