// Stems on Hopper's tensor cores: filters of a few rows, whose windows have a few contiguous elements in each row (7
// rows of 7 pixels of 3 channels). Nothing is copied, and no window is loaded twice: a warpgroup has the receptive
// field of 4 x 16 outputs in shared memory, and each thread reads its elements of the windows from there straight into
// the registers that wgmma takes A from. A row of the image is a line of elements; a window's rows are segments of
// `step` of them, and the next output's window begins stride x channels elements further.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_stem.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/sm90_epilogue.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/mbarrier.cuh>

namespace ridge::conv_detail {

struct StemWork {
  unsigned patches;      // of stem_rows x stem_columns outputs
  Divider across, down;  // patches of an image
  int oh, filters;
  int row_elements;                // of a window: pixels x channels
  int stride_h, step;              // rows, and elements, from an output's window to the next output's
  int top, left;                   // rows and elements before the image where a load begins; left: whole 16 bytes
  int alignment_offset;            // elements loaded before the first window; its pairs begin at even elements
  std::int64_t filter_strides[2];  // from filter to filter, and from row to row; the rest is contiguous
};

// y = act(conv(x, w) + bias)        image: [n, h, w x channels]   w: [k, rows, row_elements]   d: [n x oh, ow, k]
// Block (b, f) has filters from f * tile_filters on; the warpgroups of all blocks along x share the patches, one after
// the other.
// Shared memory: filters in wgmma's layout, [lines of 64 along k][tile_filters]; each warp's staging of outputs; each
// warpgroup's parts of the image, Config::stages of them, [stem_image_rows()][stem_pitch]; the bias; barriers.
// Preconditions: cc 90; boxes of the maps are stem_image_rows() lines of stem_pitch elements, and stem_columns pixels
// of 64 filters; step is even; a window's row plus alignment_offset % 2 is at most Config::step; stem_smem_bytes().
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    conv_stem(const __grid_constant__ tile::sm90::TensorMap image, const __grid_constant__ tile::sm90::TensorMap map_d,
              const T* w, const __grid_constant__ StemWork work,
              const __grid_constant__ gemm_kernels::ColumnEpilogue by_columns) {
  namespace sm90 = tile::sm90;
  if constexpr (sm90::available) {
    constexpr Config c = Policy::config;
    constexpr int vectors = stem_vectors(c), of_row = vectors / c.size, products = stem_products(c);
    constexpr int groups = stem_warpgroups(c), N = c.tile_filters, pitch = stem_pitch / 2;  // of pairs
    static_assert(N == sm90::line_elements && stem_vector == 8, "half of a product's k");

    unsigned char* shared = sm90::swizzled_shared();
    const int group = sm90::warpgroup_index(), warp = sm90::warp_of_warpgroup();
    const int lane = static_cast<int>(threadIdx.x) % 32, first_filter = static_cast<int>(blockIdx.y) * N;
    unsigned char* staging = shared + stem_staging_at(c) + (group * 4 + warp) * gemm_kernels::wgmma_staging_bytes;
    unsigned char* images = shared + stem_images_at(c) + group * (c.stages * stem_image_bytes(c));
    float* bias = reinterpret_cast<float*>(shared + stem_bias_at(c));
    sm90::Barrier* full = reinterpret_cast<sm90::Barrier*>(shared + stem_barriers_at(c)) + group * c.stages;
    const bool leader = threadIdx.x % sm90::warpgroup_threads == 0;
    if (leader) {
      for (int s = 0; s < c.stages; ++s) sm90::init(full + s, 1);
      sm90::fence_init();
    }

    // ---- load
    struct Origin {
      int n, i, j;  // of a patch's first output
    };
    const auto origin_of = [&](unsigned patch) -> Origin {
      unsigned j = patch, i = work.across.divide(j);
      const unsigned n = work.down.divide(i);
      return {static_cast<int>(n), static_cast<int>(i) * stem_rows, static_cast<int>(j) * stem_columns};
    };
    const auto load = [&](unsigned patch, int stage) {  // by the leader thread
      const Origin at = origin_of(patch);
      sm90::arrive_and_expect_tx(full + stage, stem_image_rows(c) * stem_pitch * int{sizeof(T)});
      sm90::load(&image, images + stage * stem_image_bytes(c), full + stage, at.j * work.step - work.left,
                 at.i * work.stride_h - work.top, at.n);
    };
    const unsigned first = blockIdx.x * groups + group, patch_stride = gridDim.x * groups;
    if (leader) {
      sm90::prefetch(&image);
      sm90::prefetch(&map_d);
      for (unsigned s = 0; s < c.stages; ++s)
        if (first + s * patch_stride < work.patches) load(first + s * patch_stride, static_cast<int>(s));
    }
    // Filters, with zeros past each row's last element and for filters that do not exist.
    RIDGE_KEEP_LOOP
    for (int at = static_cast<int>(threadIdx.x); at < N * 2 * products; at += c.threads) {
      const int f = at / (2 * products), vector = at % (2 * products);
      const int row = vector / of_row, element = vector % of_row * stem_vector - work.alignment_offset % 2,
                k = first_filter + f;
      const T* from = w + k * work.filter_strides[0] + row * work.filter_strides[1] + element;
      simt::vec<T, stem_vector> values;
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < stem_vector; ++e)
        values[e] = k < work.filters && row < c.size &&
                            static_cast<unsigned>(element + e) < static_cast<unsigned>(work.row_elements)
                        ? from[e]
                        : T(0.0f);
      constexpr int in_line = sm90::line_bytes / 16;
      simt::store(reinterpret_cast<T*>(shared + vector / in_line * (N * sm90::line_bytes) +
                                       sm90::swizzled(f, vector % in_line * 16)),
                  values);
    }
    for (int f = static_cast<int>(threadIdx.x); f < N; f += c.threads) {
      const gemm_kernels::At at{0, 0, first_filter + f, 1};
      bias[f] =
          by_columns.bias.data && at.col < work.filters ? gemm_kernels::load_row<1, float>(by_columns.bias, at)[0] : 0;
    }
    sm90::fence_shared_for_copies();
    __syncthreads();

    // A thread has the windows of outputs lane / 4 and lane / 4 + 8 of its warp's row, and two of each 8 elements.
    const int pair = lane % 4,
              window = (warp * work.stride_h * stem_pitch + lane / 4 * work.step + work.alignment_offset) / 2 + pair;
    const int eight = 4 * work.step;  // pairs from the former output's window to the latter's
    // Elements before a row's first and past its last are not zeros and are masked: one before it if alignment_offset
    // is odd, and of the last 8 those past row_elements.
    const int last = work.row_elements + work.alignment_offset % 2 - (of_row - 1) * stem_vector - 2 * pair;
    const unsigned last_mask = last > 1 ? ~0u : last > 0 ? 0xffffu : 0u;
    const unsigned first_mask = work.alignment_offset % 2 != 0 && pair == 0 ? 0xffff0000u : ~0u;
    const std::uint64_t filters = sm90::descriptor(sm90::Axis::k, sm90::shared_address(shared));

    sm90::PipelineState<c.stages> ring;
    RIDGE_KEEP_LOOP
    for (unsigned patch = first; patch < work.patches; patch += patch_stride, ring.next()) {
      sm90::wait(full + ring.stage, ring.parity);
      const unsigned* from = reinterpret_cast<const unsigned*>(images + ring.stage * stem_image_bytes(c)) + window;
      unsigned a[products][4];
#pragma unroll
      for (int vector = 0; vector < 2 * products; ++vector) {
        unsigned values[2] = {0, 0};
        if (vector < vectors) {
          const unsigned* piece = from + vector / of_row * pitch + vector % of_row * (stem_vector / 2);
          unsigned there = vector % of_row == 0 ? first_mask : ~0u;
          if (vector % of_row == of_row - 1) there &= last_mask;
          values[0] = piece[0] & there;
          values[1] = piece[eight] & there;
        }
        a[vector / 2][vector % 2 * 2] = values[0];
        a[vector / 2][vector % 2 * 2 + 1] = values[1];
      }
      sm90::sync_warpgroup(1 + group);  // all have read
      if (leader && patch + c.stages * patch_stride < work.patches) load(patch + c.stages * patch_stride, ring.stage);

      // ---- compute
      float sums[1][N / 2];
      sm90::fence_sums();
#pragma unroll
      for (int step = 0; step < products; ++step) {
        constexpr int in_line = sm90::line_bytes / 32;
        const std::uint64_t b = sm90::advanced(filters, step / in_line * (N * sm90::line_bytes) + step % in_line * 32);
        sm90::multiply_kept<T, sm90::Axis::k, N>(sums[0], a[step], b, step > 0);
      }
      sm90::commit_products();
      sm90::wait_products<0>();

      // ---- finish: a warp has one row of outputs, which TMA cuts at the image's edge
      const Origin at = origin_of(patch);
      if (at.i + warp < work.oh)
        gemm_kernels::store_columns<T, N>(
            sums, by_columns, bias,
            gemm_kernels::ColumnStore<T, N>{staging, &map_d, at.j, first_filter, at.n * work.oh + at.i + warp});
    }
    if (lane == 0) sm90::wait_stores_read<0>();
  }
}

namespace stem {

// Policy: of a row of the table.
template <class Policy, class T> [[nodiscard]] static Status launch(const Arguments& args) {
  namespace sm90 = tile::sm90;
  constexpr Config c = Policy::config;
  const ConvProblem& p = args.plan.problem;
  const Layout &x = p.x, &y = p.y;
  const std::int64_t channels = x.shape[1], filters = y.shape[1];
  sm90::TensorMap image{}, d{};
  RIDGE_TRY(sm90::make_tensor_map(&image, args.x, p.dtype,
                                  {x.shape[3] * channels, x.shape[2], x.shape[0], x.stride[2], x.stride[0]},
                                  stem_image_rows(c), stem_pitch * int{sizeof(T)}));
  RIDGE_TRY(sm90::make_tensor_map(
      &d, args.y, p.dtype, {filters, y.shape[3], y.shape[0] * y.shape[2], y.stride[3], y.stride[2]}, stem_columns));
  const StemWork work{.patches = static_cast<unsigned>(stem_patches(p)),
                      .across = Divider(ceil_div(y.shape[3], stem_columns)),
                      .down = Divider(ceil_div(y.shape[2], stem_rows)),
                      .oh = whole(y.shape[2]),
                      .filters = whole(filters),
                      .row_elements = whole(p.w.shape[3] * channels),
                      .stride_h = whole(p.geometry.stride.h),
                      .step = whole(p.geometry.stride.w * channels),
                      .top = whole(p.geometry.pad.top),
                      .left = whole(p.geometry.pad.left * channels + stem_alignment_offset(p)),
                      .alignment_offset = whole(stem_alignment_offset(p)),
                      .filter_strides = {p.w.stride[0], p.w.stride[2]}};
  gemm_kernels::ColumnEpilogue by_columns{.activation = p.epilogue.activation};
  if (p.bias) by_columns.bias = {const_cast<void*>(args.bias), p.dtype, false, 0, p.bias->stride[0], 0};
  by_columns.plain = !p.bias && p.epilogue.activation == Activation::none;
  simt::Config at = launch_config(args);
  const unsigned columns = static_cast<unsigned>(stem_columns_of_blocks(c, p));
  at.grid = dim3(at.grid.x / columns, columns);
  return sm90::launch_clusters(at, 1, conv_stem<Policy, T>, image, d, static_cast<const T*>(args.w), work, by_columns);
}

}  // namespace stem
}  // namespace ridge::conv_detail
