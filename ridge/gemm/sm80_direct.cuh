// Products of few rows with weights whose rows start on any element, on tensor cores. Each weight is read once and used
// by few products, so that nothing but the time of memory matters: lanes load weights into the registers that
// instructions read, with no shared memory, no barrier and no other warp to wait for. The warps of a block take turns
// along k, and their sums meet at its end.
//
// An instruction (mma.sync) gives a lane two registers of a row of either operand, 16 bytes apart along k. Sums over k
// may be taken in any order, as long as it is the same for both operands: so 16 neighbouring bytes of a row are a
// lane's registers for two instructions.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/grid.cuh>
#include <ridge/gemm/sm80_direct.hpp>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/sm80/mma.cuh>

#include <cstring>

namespace ridge::gemm_kernels {

// Sixteen bytes along k of a row of either operand, as the words that instructions take.
struct DirectWords {
  unsigned word[4];
};

// A lane's part of a row, of 16-bit elements from any address on.                             row: [k]
template <class T> class DirectRow {
 public:
  static constexpr int width = 8;          // elements of a vector
  static constexpr int reach = 2 * width;  // elements that must exist for load(at), which reads whole aligned vectors
  static_assert(sizeof(T) == 2);

  // first: this lane's first element along k
  __device__ __forceinline__ DirectRow(const T* row, int first) : from_(row + first) {}

  // Eight neighbours: the aligned vectors that hold them, shifted.
  __device__ __forceinline__ DirectWords load(int at) const {
    const T* const from = from_ + at;
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
    const unsigned* const piece = reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(from) - past);
    const auto low = simt::load<4>(piece), high = past > 0 ? simt::load<4>(piece + 4) : low;
    unsigned both[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) both[i] = low[i], both[4 + i] = high[i];
#pragma unroll
    for (int i = 0; i < 6; ++i) both[i] = past & 8 ? both[i + 2] : both[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) both[i] = past & 4 ? both[i + 1] : both[i];
    DirectWords w;
#pragma unroll
    for (int i = 0; i < 4; ++i) w.word[i] = __byte_perm(both[i], both[i + 1], past & 2 ? 0x5432 : 0x3210);
    return w;
  }
  // The same where only `existing` elements do, which may be none or less: zeros for the others.
  __device__ __forceinline__ DirectWords load(int at, int existing) const {
    if (existing >= reach) return load(at);
    simt::vec<T, width> vector;
#pragma unroll
    for (int v = 0; v < width; ++v) vector[v] = v < existing ? from_[at + v] : T{};
    DirectWords w;
    memcpy(&w, &vector, sizeof w);
    return w;
  }

 private:
  const T* from_;
};

// epilogue(A B)                                      a: [m, k], along k  b: [n, k], along k
// Preconditions: cc 80 or later; m is at most bm; k and a step beyond it in 31 bits. A block has direct_columns columns
// of D; gridDim.z: any number.
template <class Policy, class T, class Epilogue>
__global__ void __launch_bounds__(direct_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_mma_direct(Operand<T> a, Operand<T> b, Shape shape, Epilogue epilogue) {
  if constexpr (tile::sm80::available) {
    constexpr Config c = Policy::config;
    using Row = DirectRow<T>;
    constexpr int across = direct_row_lanes * Row::width;  // elements of a row that lanes load at a time
    constexpr int parts = c.bk / across, step = c.bk * c.k_groups;
    static_assert(c.bk % across == 0 && c.bm == 8);
    float* const all_sums = simt::dynamic_shared<float>();  // [k_groups][32 lanes][4]
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int row_of_lane = lane / direct_row_lanes, first = lane % direct_row_lanes * Row::width;
    const int m = static_cast<int>(shape.m), k = static_cast<int>(shape.k);
    const std::int64_t column = std::int64_t{blockIdx.x} * direct_columns;
    tile::grid_dependency_wait();

#pragma unroll 1
    for (std::int64_t batch = blockIdx.z; batch < shape.batch; batch += gridDim.z) {
      const auto row_of_b = [&](int half) {  // past B's last row that
        const std::int64_t row = ::min(column + row_of_lane + half * 8, shape.n - 1);
        return Row(b.data + batch * b.batch_stride + row * b.outer_stride, first);
      };
      const auto row_of_a = [&] {
        const std::int64_t row = ::min(row_of_lane, m - 1);
        return Row(a.data + batch * a.batch_stride + row * a.outer_stride, first);
      };
      float sums[4] = {};

      // ---- load and multiply: `together` parts from `at` on. existing: elements along k from the lane's first on
      const auto add = [&](auto together, int at, auto... existing) {
        constexpr int loaded = decltype(together)::value;
        DirectWords w[loaded][2], x[loaded];
#pragma unroll
        for (int p = 0; p < loaded; ++p) {
#pragma unroll
          for (int half = 0; half < 2; ++half) w[p][half] = row_of_b(half).load(at + p * across, existing...);
          x[p] = row_of_a().load(at + p * across, existing...);
        }
#pragma unroll
        for (int p = 0; p < loaded; ++p)
#pragma unroll
          for (int s = 0; s < 4; s += 2) {
            const unsigned of_b[4] = {w[p][0].word[s], w[p][1].word[s], w[p][0].word[s + 1], w[p][1].word[s + 1]};
            const unsigned of_a[4] = {x[p].word[s], 0, x[p].word[s + 1], 0};
            tile::sm80::multiply<T>(sums, of_b, of_a, 0);
          }
      };
      int at = warp * c.bk;
#pragma unroll 1
      for (; at + c.bk + Row::reach - Row::width <= k; at += step) add(std::integral_constant<int, parts>(), at);
#pragma unroll 1
      for (; at < k; at += step)
#pragma unroll 1
        for (int part = at; part < ::min(at + c.bk, k); part += across)
          add(std::integral_constant<int, 1>(), part, k - part - first);
      tile::launch_dependents();

      // ---- finish: all warps' sums of an element of D, in the order of warps
      __syncthreads();  // the last matrix's sums are read
      simt::store(all_sums + (warp * 32 + lane) * 4, simt::vec<float, 4>{sums[0], sums[1], sums[2], sums[3]});
      __syncthreads();
      constexpr int neighbours = 2, row_vectors = direct_columns / neighbours;  // in D, of a thread
#pragma unroll 1
      for (int n = static_cast<int>(threadIdx.x); n < row_vectors * m; n += direct_threads(c)) {
        const int row = n / row_vectors, col = n % row_vectors * neighbours;
        const std::int64_t left = shape.n - column - col;
        if (left <= 0) continue;
        simt::vec<float, neighbours> total;
#pragma unroll
        for (int v = 0; v < neighbours; ++v) {
          // Row and column change places: an instruction has B's rows as its own (sum_at in fragment.hpp).
          const int of_lane = (col + v) % 8 * 4 + row / 2, of_sum = (col + v) / 8 * 2 + row % 2;
          const float* from = all_sums + of_lane * 4 + of_sum;
          float sum = 0;
#pragma unroll
          for (int g = 0; g < c.k_groups; ++g) sum += from[g * 32 * 4];
          total[v] = sum;
        }
        epilogue(total, At{batch, row, column + col, static_cast<int>(::min(left, std::int64_t{neighbours}))});
      }
    }
  }
}

// Launches the kernel. Policy: a type with `static constexpr Config config`, a user's own or from the table in
// variants.hpp. cc: the device's compute capability.
template <class Policy, class T, class Epilogue>
[[nodiscard]] static Status launch_mma_direct(const Operand<T>& a, const Operand<T>& b, const Shape& shape,
                                              const Epilogue& epilogue, int cc, Stream stream = {}) {
  constexpr Config c = Policy::config;
  const std::int64_t tiles = (shape.n + direct_columns - 1) / direct_columns;
  return tile::launch_dependent(cc, grid_of(tiles, direct_threads(c), direct_smem_bytes(c), c, shape, stream, 32),
                                gemm_mma_direct<Policy, T, Epilogue>, a, b, shape, epilogue);
}

}  // namespace ridge::gemm_kernels
