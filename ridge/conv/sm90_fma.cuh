// Convolutions in float32 by multiply-adds, whose operands TMA brings to shared memory: the loader is that of the
// tensor cores' rows (sm90_image.cuh), and no multiplying thread works out an address
// or looks whether a pixel is there.
#pragma once
#include <ridge/conv/slices.cuh>
#include <ridge/conv/sm90_copies.cuh>
#include <ridge/conv/sm90_fma.hpp>
#include <ridge/conv/sm90_image.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::conv_detail {

// A row's tile, as the loader and the threads have it. In shared memory a step is
//   pixels   [bm] lines of 32 channels
//   filters  [bn / 32] groups of lines, one for each of the 32 channels, of 32 filters
// and a warp has fma_pixel_lanes x fma_filter_lanes threads: a thread's pixels are 8 apart, so that neighbouring lanes
// have neighbours, and its filters are two fours that are 16 apart.
template <class Row> struct FmaTile {
  static constexpr Config config = Row::config;
  static constexpr gemm_kernels::Config c = fma_tile(config);  // what the loader asks for
  static constexpr tile::sm90::Axis axis_b = tile::sm90::Axis::outer;
  static constexpr bool multicast = false;
  static constexpr int b_share = c.bn, bytes_a = c.bm * c.line, bytes_b = c.bn * c.line;
  static constexpr int own_pixels = config.rows, own_filters = fma_own_filters;
  static constexpr int groups_of_filters = c.bn / (fma_filter_lanes * own_filters);
  static constexpr int warps = fma_warps(config), threads = (warps + 1) * 32;  // one more loads
  static_assert(c.bm % (fma_pixel_lanes * own_pixels) == 0 && c.bn % (fma_filter_lanes * own_filters) == 0);
  static_assert(own_filters == 8, "two pieces of a line, whose places are exchanged by one bit of the line's number");
  static_assert(threads == config.threads && c.line == tile::sm90::line_bytes && c.bk * int{sizeof(float)} == c.line);
};

struct FmaWork {
  int pixels, filters, steps;               // of the whole product; steps: of 32 channels of a tap
  int slice_steps;                          // of a slice but the last
  unsigned slices;                          // of the steps
  unsigned tiles, tiles_of_slice, columns;  // of all slices; of one; side by side, along filters
  int of_four;                              // channels: 3 where each fourth is zeros in a copy, else 4
};

// y = epilogue(conv(x, w))           x, w: as the loader has them; y: by the strides of `output`
// With slices y is theirs, of `output`.
// Block b has tiles b, b + gridDim.x and so on. One warp loads, ahead by up to Config::stages steps.
// Preconditions: cc 90; maps made with boxes of FmaTile's; fma_smem_bytes() of dynamic shared memory.
template <class Row>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm)
    conv_fma(const __grid_constant__ ImageLoader loader, const __grid_constant__ FmaWork work,
             const __grid_constant__ ImplicitOutput<float, false> output) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    using K = FmaTile<Row>;
    constexpr Config c = Row::config;
    constexpr int P = K::own_pixels, F = K::own_filters;
    constexpr int unit = 4, units = K::c.bk / unit;  // channels of one access of 16 bytes; in a line

    unsigned char* shared = sm90::swizzled_shared();
    auto* full = reinterpret_cast<sm90::Barrier*>(shared + c.stages * (K::bytes_a + K::bytes_b));
    auto* empty = full + c.stages;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    if (threadIdx.x == 0) {
      for (int s = 0; s < c.stages; ++s) {
        sm90::init(full + s, 1);
        sm90::init(empty + s, K::warps);
      }
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
    sm90::RingPlace<c.stages> at;

    // ---- load
    if (warp == K::warps) {
      if (lane != 0) return;
      loader.prefetch();
      for (unsigned tile = blockIdx.x; tile < work.tiles; tile += gridDim.x) {
        const gemm_kernels::WgmmaTile place = tile_at(tile);
        typename ImageLoader::Place from = loader.at(place);
        const int steps = steps_of(place.batch);
        for (int step = 0; step < steps; ++step, at.next()) {
          unsigned char* stage = shared + at.stage * (K::bytes_a + K::bytes_b);
          sm90::wait(empty + at.stage, at.parity ^ 1);
          loader.template load_next<K>(from, stage, stage + K::bytes_a, full + at.stage, 0);
        }
      }
      return;
    }

    // Half a warp has 8 pixels and 2 filters: what it reads of either is 128 bytes or less.
    const int pixel_lane = lane / 2 % 8, filter_lane = lane / 16 * 2 + lane % 2;
    const int first_pixel = warp / K::groups_of_filters * (fma_pixel_lanes * P) + pixel_lane;
    const int filter_group = warp % K::groups_of_filters;
    const int first_filter = filter_group * (fma_filter_lanes * F) + filter_lane * unit;
    const auto filter_at = [](int f) { return f / unit * (fma_filter_lanes * unit) + f % unit; };  // from the first
    const int steps_of_tap = (loader.channels + K::c.bk - 1) / K::c.bk;
    const int last_units = (loader.channels - (steps_of_tap - 1) * K::c.bk + unit - 1) / unit;

    for (unsigned tile = blockIdx.x; tile < work.tiles; tile += gridDim.x) {
      // ---- compute
      float sums[F][P] = {};
      // Of one step; Channels: of each four, the others are zeros.
      const auto add_products = [&]<int Channels>(const unsigned char* pixels, const unsigned char* filters, int here) {
        // Pieces of 16 bytes change places by their line's number, modulo 8 (tile/sm90/swizzle.hpp). A lane's pixels
        // are lines of one number; its pieces of filters' line k are at the places of line k % 4,
        // exchanged where k % 8 > 3.
        const unsigned char* lines[unit];
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e < unit; ++e) lines[e] = filters + e * K::c.line + (filter_lane ^ e) * 16;
        const auto multiply = [&](int u, int odd) {  // unit u, whose number is odd
          simt::vec<float, unit> x[P];
          RIDGE_UNROLL_ON_GPU
          for (int i = 0; i < P; ++i)
            x[i] = simt::load<unit>(
                reinterpret_cast<const float*>(pixels + i * fma_pixel_lanes * K::c.line + (u ^ pixel_lane) * 16));
          RIDGE_UNROLL_ON_GPU
          for (int e = 0; e < Channels; ++e) {
            simt::vec<float, unit> w[F / unit];
            RIDGE_UNROLL_ON_GPU
            for (int v = 0; v < F / unit; ++v)
              w[v] = simt::load<unit>(reinterpret_cast<const float*>(lines[e] + u * unit * K::c.line +
                                                                     (v ^ odd) * (fma_filter_lanes * 16)));
            RIDGE_UNROLL_ON_GPU
            for (int i = 0; i < P; ++i) RIDGE_UNROLL_ON_GPU
            for (int f = 0; f < F; ++f) sums[f][i] += x[i][e] * w[f / unit][f % unit];
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
        int here = units;
        if (--left == 0) left = steps_of_tap, here = last_units;
        const unsigned char* stage = shared + at.stage * (K::bytes_a + K::bytes_b);
        const unsigned char* pixels = stage + first_pixel * K::c.line;
        const unsigned char* filters = stage + K::bytes_a + filter_group * (K::c.bk * K::c.line);
        sm90::wait(full + at.stage, at.parity);
        // A channel that is zeros in a copy is left out; of fewer than three, zeros are multiplied.
        if (work.of_four == 3) add_products.template operator()<3>(pixels, filters, here);
        else add_products.template operator()<4>(pixels, filters, here);
        __syncwarp();
        if (lane == 0) sm90::arrive(empty + at.stage);
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
      if (!epilogue.residual && (relu || epilogue.activation == Activation::none)) {
        std::int64_t to[P];
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < P; ++i) {
          int n, h, w;
          output.pixels.split(static_cast<unsigned>(pixel + i * fma_pixel_lanes), n, h, w);
          to[i] = n * output.y_strides[0] + h * output.y_strides[2] + w * output.y_strides[3];
        }
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
      // Elements take turns at place 0, so that the epilogue's code is there once.
      RIDGE_KEEP_LOOP
      for (int turn = 0; turn < F * P; ++turn) {
        const int k = filter + filter_at(turn / P), m = pixel + turn % P * fma_pixel_lanes;
        if (k < work.filters && m < work.pixels) output(simt::vec<float, 1>{sums[0][0]}, gemm_kernels::At{0, k, m, 1});
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e + 1 < F * P; ++e) sums[e / P][e % P] = sums[(e + 1) / P][(e + 1) % P];
      }
    }
  }
}

namespace fma {

// Row: a config of the table's.
template <class Row> [[nodiscard]] static Status launch(const Arguments& args) {
  using K = FmaTile<Row>;
  constexpr Config c = Row::config;
  const ConvProblem& p = args.plan.problem;
  const Gathering g = gathering(c, p);
  const void *x = args.x, *w = args.w;
  RIDGE_TRY(launch_copies<float>(args, g, x, w));
  ImageLoader loader;
  RIDGE_TRY(make_loader(loader, p, g, x, w, p.dtype, K::c.bm, K::c.bk, K::c.line));
  const AxisMap h = axis_h(p).forward(), v = axis_w(p).forward();
  const auto output = output_of<float, false>(epilogue_of<float>(args), pixels_of(h, v, p.x, p.y), h, v,
                                              static_cast<float*>(args.y), p.y, p.w.shape[0]);
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
    return tile::sm90::launch_clusters(at, 1, conv_fma<Row>, loader, work, to);
  });
}

}  // namespace fma
}  // namespace ridge::conv_detail
