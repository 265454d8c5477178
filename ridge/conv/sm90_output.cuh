// How gemm's kernel stores the sums of pixels: as rows of a matrix, by TMA; by vectors, each at its own place; or
// element by element.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/gemm/sm90_wgmma_launch.cuh>

namespace ridge::conv_detail {

// A warp's 16 rows and N columns of a product in which each 16 bytes of a row have a place of their own in y, and in
// the residual, where TMA has no box for them. They pass through the warp's staging as elements of y, in buffers of 16
// lines like ColumnStore's: sums are stored there as wgmma has them, and neighbouring lanes then move a row's
// neighbouring vectors: whole lines, where these follow each other in y. The residual comes the same way, to where the
// results will be.
// Places: has `y` and `residual`, and the offsets of a row and of a vector's first column in either.
template <class T, int N, class Places> struct VectorRows {
  // As many columns as the staging holds, and as are whole rows of lanes, are stored together.
  static constexpr int columns = N % 128 == 0 ? 128 : 64;
  static constexpr int V = vector_bytes / static_cast<int>(sizeof(T)), parts = columns / gemm_kernels::part_columns;
  static constexpr int lanes = columns / V, at_a_time = 32 / lanes,
                       vectors = 16 / at_a_time;  // of a row; rows; of a lane
  static_assert(sizeof(T) == 2 && 32 % lanes == 0 && N % columns == 0);
  static_assert(16 * columns * static_cast<int>(sizeof(T)) <= gemm_kernels::wgmma_staging_bytes);

  const Places& places;
  unsigned char* staging;
  int row, col;    // the warp's first
  int rows, cols;  // of the product

  // The rows `blocks` blocks of 64 further down.
  __device__ __forceinline__ VectorRows below(int blocks) const {
    return {places, staging, row + blocks * 64, col, rows, cols};
  }
  // x += factor * the residual's elements of a part.
  __device__ __forceinline__ void add(int part, float factor, gemm_kernels::Sums& x) const {
    if (part % parts == 0) load_residual(part / parts * columns);
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const auto pair = simt::load<2>(staged(lane / 4 + 8 * i, part % parts * 4 + j) + lane % 4 * 2);
        x[4 * j + 2 * i] += factor * static_cast<float>(pair[0]);
        x[4 * j + 2 * i + 1] += factor * static_cast<float>(pair[1]);
      }
  }
  // Parts come in order; the last one's call of `columns` columns stores these.
  __device__ __forceinline__ void store(int part, const gemm_kernels::Sums& x) const {
    namespace sm90 = tile::sm90;
    if (part % parts == 0) __syncwarp();  // the vectors before these have been read
    const unsigned lane = threadIdx.x % 32;
    unsigned packed[gemm_kernels::part_sums / 2];
    gemm_kernels::ColumnStore<T, N>::pack(x, packed);
#pragma unroll
    for (int j = 0; j < 4; j += 2)
      sm90::store_matrices(sm90::shared_address(staged(lane % 16, part % parts * 4 + j + lane / 16)), packed[2 * j],
                           packed[2 * j + 1], packed[2 * j + 2], packed[2 * j + 3]);
    if ((part + 1) % parts != 0) return;
    __syncwarp();
    simt::vec<T, V> all[vectors];
#pragma unroll
    for (int i = 0; i < vectors; ++i) all[i] = simt::load<V>(static_cast<const T*>(own(i)));
    each_place(places.y, part / parts * columns, [&](int i, T* to) { simt::store_global(to, all[i]); });
  }

 private:
  __device__ __forceinline__ T* staged(unsigned line, unsigned piece) const {
    constexpr unsigned of_line = gemm_kernels::wgmma_line_bytes / vector_bytes;
    return reinterpret_cast<T*>(staging + piece / of_line * gemm_kernels::copy_bytes +
                                tile::sm90::swizzled(line, piece % of_line * vector_bytes));
  }
  // This lane's vector i in staging.
  __device__ __forceinline__ T* own(int i) const {
    const unsigned lane = threadIdx.x % 32;
    return staged(lane / lanes + static_cast<unsigned>(i) * at_a_time, lane % lanes);
  }
  // Calls f(i, place) for each vector of this lane, of the columns from `first_col` on, that is inside of the product.
  template <class Tensor, class F>
  __device__ __forceinline__ void each_place(const Tensor& of, int first_col, F f) const {
    const int lane = static_cast<int>(threadIdx.x % 32), at_col = col + first_col + lane % lanes * V;
    // Each lane finds one row's place, and hears of its other rows'.
    const std::int64_t of_row = places.row(of, static_cast<unsigned>(::min(row + lane % 16, rows - 1)));
    auto* const first = of.data + (at_col < cols ? places.column(of, static_cast<unsigned>(at_col)) : 0);
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const int line = lane / lanes + i * at_a_time;
      const std::int64_t offset = simt::tiles<32>().shfl(of_row, line);
      if (row + line < rows && at_col < cols) f(i, first + offset);
    }
  }
  __device__ __forceinline__ void load_residual(int first_col) const {
    simt::vec<T, V> all[vectors] = {};  // all on their way before the first one is needed
    each_place(places.residual, first_col, [&](int i, const T* from) { all[i] = simt::load<V>(from); });
    __syncwarp();  // the vectors before these have been read
#pragma unroll
    for (int i = 0; i < vectors; ++i) simt::store(own(i), all[i]);
    __syncwarp();
  }
};

// A tensor by vectors of channels, where windows or phases of a stride lie in it: elements from image to image, from
// pixel to pixel of a window's tap or of a phase (i, j), from tap to tap or from phase to phase (a, b).
template <class T> struct Windows {
  T* data = nullptr;
  std::int64_t n = 0, i = 0, j = 0, a = 0, b = 0;
};
template <class T> static Windows<T> windows_of(const ConvProblem& p, const Layout& t, T* data) {
  return {.data = data,
          .n = t.stride[0],
          .i = p.geometry.stride.h * t.stride[2],
          .j = p.geometry.stride.w * t.stride[3],
          .a = t.stride[2],
          .b = t.stride[3]};
}

// Whether all pixels of a tensor start on 16 bytes, and have their channels next to each other.
template <class T> static bool is_by_vectors(const Layout& t, const void* data) {
  const auto starts = [&](int axis) { return is_regular(t.shape[axis], t.stride[axis], dtype_of<T>); };
  return t.stride[1] == 1 && starts(0) && starts(2) && starts(3) &&
         reinterpret_cast<std::uintptr_t>(data) % vector_bytes == 0;
}

// The store and the epilogue that the kernel has itself. Store::epilogue: the launch's epilogue stores.
struct PixelOutput {
  gemm_kernels::WgmmaOutput store = {};
  gemm_kernels::ColumnEpilogue epilogue = {};
};

// The epilogue of y, or of dx, as gemm's kernel has it.
static inline gemm_kernels::ColumnEpilogue column_epilogue(const Arguments& args) {
  using gemm_kernels::Addend;
  const ConvProblem& p = args.plan.problem;
  gemm_kernels::ColumnEpilogue e{.activation = p.epilogue.activation};
  if (p.bias) e.bias = {const_cast<void*>(args.bias), p.dtype, false, 0, p.bias->stride[0], 0};
  e.plain = !p.bias && !p.residual && p.epilogue.activation == Activation::none;
  if (p.residual) e.addend = p.epilogue.residual_first ? Addend::before_activation : Addend::after_activation;
  return e;
}

// The output of all pixels to `data`, [pixels, filters] of layout `y`, where they are the rows of a matrix there, and
// in the residual too.                                                       c: of gemm's kernel
template <class T>
static PixelOutput pixel_output(const gemm_kernels::Config& c, const Arguments& args, void* data, const Layout& y) {
  namespace gemm = gemm_kernels;
  const ConvProblem& p = args.plan.problem;
  if (!is_matrix(p, y)) return {};
  if (p.residual && !(is_matrix(p, *p.residual) && gemm::takes_addend(c, int{sizeof(T)}))) return {};
  PixelOutput out;
  out.store = {gemm::has_tma_store<T> ? gemm::Store::tma : gemm::Store::tma_float, {data, pixel_pitch(y), 0}};
  out.epilogue = column_epilogue(args);
  if (p.residual) out.store.addend = {args.residual, pixel_pitch(*p.residual), 0};
  return out;
}

}  // namespace ridge::conv_detail
