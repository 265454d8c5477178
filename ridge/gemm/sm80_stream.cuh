// Tall products of few columns and short k on tensor cores: each block keeps all of B in shared memory, and each warp
// takes 16 rows of A at a time from memory to registers, multiplies, and stores its rows of D. After B is loaded no
// warp waits for another one: while one waits for memory, others multiply.
//
// An instruction (mma.sync) gives a lane two neighbours along k, and two eight elements further; and of D, two
// neighbours in a row. Sums over k may be taken in any order, and columns computed in any place, so elements are dealt
// to lanes in vectors: a lane loads eight neighbours of A's row, reads as many of B's columns, and stores eight
// neighbours of D's row, 16 bytes each.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/sm80_stream.hpp>
#include <ridge/tile/sm80/mma.cuh>

#include <cstring>

namespace ridge::gemm_kernels {

// A vector of eight 16-bit elements as the words that instructions take.
struct StreamWords {
  unsigned word[4];
  template <class T> static __device__ __forceinline__ StreamWords of(const simt::vec<T, 8>& vector) {
    StreamWords w;
    memcpy(&w, &vector, sizeof w);
    return w;
  }
};

// Copies B to shared memory as [columns][pitch], with zeros past its last column and along k.      b: [n, k], along k
template <class Policy, class T>
__device__ __forceinline__ void load_stream_b(T* tile, const Operand<T>& b, int n, int k) {
  constexpr int width = 8, of_column = Policy::config.bk / width, pitch = stream_pitch(Policy::config);
  const int columns = (n + stream_columns - 1) / stream_columns * stream_columns;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < columns * of_column; i += stream_threads) {
    const int column = i / of_column, at = i % of_column * width;
    simt::vec<T, width> vector{};
    if (column < n && at < k) vector = simt::load<width>(b.data + column * b.outer_stride + at);
    simt::store(tile + column * pitch + at, vector);
  }
}

// How a lane finishes its vectors of a tile's rows, `row` and row + 8: by any epilogue.
template <class Epilogue, class T> class StreamFinish {
 public:
  __device__ __forceinline__ StreamFinish(const Epilogue& e, const Shape& s, std::int64_t of_row, int)
      : epilogue_(e), shape_(s), row_(of_row) {}
  __device__ __forceinline__ void load(int) const {}
  // column: of the vectors' first elements
  __device__ __forceinline__ void store(simt::vec<float, 8> (&d)[2], int column) const {
    finish_vectors(epilogue_, d, Vectors{0, row_, column, 8, 0, shape_.m, shape_.n});
  }

 private:
  const Epilogue& epilogue_;
  const Shape& shape_;
  std::int64_t row_;
};

// The same by the standard epilogue, in as few instructions as its parts are: there are as many vectors to finish as
// instructions that multiply. Bias and residual are loaded before these.
// Precondition: D and all addends are of type T, in rows of whole vectors of 16 bytes; the bias is along n.
template <class T> class StreamFinish<StandardEpilogue<float>, T> {
  using Epilogue = StandardEpilogue<float>;
  using Vector = simt::vec<T, 8>;

 public:
  // column: of the lane's vector in the first part of columns
  __device__ __forceinline__ StreamFinish(const Epilogue& e, const Shape& shape, std::int64_t row, int column)
      : e_(e),
        row_(row),
        rows_(static_cast<int>(::min(shape.m - row, std::int64_t{16}))),
        column_(column),
        n_(static_cast<int>(shape.n)) {}
  __device__ __forceinline__ void load(int first) {
    const int column = first + column_;
    const Tensor &bias = e_.addends[e_.bias], &residual = e_.addends[e_.residual];
    of_bias_ = bias.data && column < n_ ? simt::load<8>(static_cast<const T*>(bias.data) + column) : Vector{};
#pragma unroll
    for (int half = 0; half < 2; ++half)
      of_residual_[half] = residual.data && exists(half, column) ? simt::load<8>(at(residual, half, column)) : Vector{};
  }
  __device__ __forceinline__ void store(simt::vec<float, 8> (&d)[2], int column) {
    const Tensor& c = e_.addends[e_.c];
    RIDGE_KEEP_LOOP
    for (int half = 0; half < 2; ++half) {  // rows take turns in place 0, so that the code exists once
      if (exists(half, column)) {
        float x[8];
#pragma unroll
        for (int v = 0; v < 8; ++v) x[v] = fmaf(e_.alpha, d[0][v], static_cast<float>(of_bias_[v]));
        if (c.data) {
          const Vector of_c = simt::load<8>(at(c, half, column));
#pragma unroll
          for (int v = 0; v < 8; ++v) x[v] = fmaf(e_.factors[e_.c], static_cast<float>(of_c[v]), x[v]);
        }
        if (e_.activation != Activation::none) tile::activate_many<T>(e_.activation, x);
        Vector stored;
#pragma unroll
        for (int v = 0; v < 8; ++v) stored[v] = T(e_.scale * (x[v] + static_cast<float>(of_residual_[0][v])));
        simt::store(at(e_.d, half, column), stored);
      }
      d[0] = d[1];
      of_residual_[0] = of_residual_[1];
    }
  }

 private:
  __device__ __forceinline__ bool exists(int half, int column) const { return half * 8 < rows_ && column < n_; }
  __device__ __forceinline__ T* at(const Tensor& t, int half, int column) const {
    return static_cast<T*>(t.data) + (row_ + half * 8) * t.row_stride + column;
  }

  const Epilogue& e_;
  std::int64_t row_;
  int rows_, column_, n_;  // rows_: of D from row_ on, as far as it matters
  Vector of_bias_, of_residual_[2];
};

// epilogue(A B)                                      a: [m, k], along k  b: [n, k], along k
// Preconditions: cc 80 or later; k is whole vectors, at most bk; stream_smem_bytes(n) of dynamic shared memory; every
// row of a and b starts on 16 bytes; for the standard epilogue those of StreamFinish. Any grid.
template <class Policy, class T, class Epilogue>
__global__ void __launch_bounds__(stream_threads, Policy::config.blocks_per_sm)
    gemm_mma_stream(Operand<T> a, Operand<T> b, Shape shape, Epilogue epilogue) {
  if constexpr (tile::sm80::available) {
    constexpr Config c = Policy::config;
    constexpr int width = 8, parts = c.bk / stream_k, pitch = stream_pitch(c), groups = stream_columns / 8;
    static_assert(sizeof(T) == 2 && c.bk % stream_k == 0);
    T* tile_b = simt::dynamic_shared<T>();  // [columns][pitch]
    const int n = static_cast<int>(shape.n), k = static_cast<int>(shape.k);
    load_stream_b<Policy>(tile_b, b, n, k);
    __syncthreads();

    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int row_of_lane = lane / 4, vector_of_lane = lane % 4;  // as an instruction has them
    // Lanes 4 i to 4 i + 3 read the i-th column of each group: of all groups, columns 2 i and 2 i + 1 are D's vector i.
    const T* from_b = tile_b + (row_of_lane / 2 * width + row_of_lane % 2) * pitch + vector_of_lane * width;
    const std::int64_t tiles = (shape.m + stream_rows - 1) / stream_rows;

#pragma unroll 1
    for (std::int64_t tile = std::int64_t{blockIdx.x} * stream_warps + warp; tile < tiles;
         tile += std::int64_t{gridDim.x} * stream_warps) {
      // ---- load: rows `row` and row + 8; zeros past A's last row and along k
      const std::int64_t row = tile * stream_rows + row_of_lane;
      StreamWords x[parts][2];
#pragma unroll
      for (int p = 0; p < parts; ++p)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const std::int64_t r = row + half * 8;
          const int at = p * stream_k + vector_of_lane * width;
          simt::vec<T, width> vector{};
          if (r < shape.m && at < k) vector = simt::load<width>(a.data + r * a.outer_stride + at);
          x[p][half] = StreamWords::of(vector);
        }

      StreamFinish<Epilogue, T> finish(epilogue, shape, row, vector_of_lane * width);
#pragma unroll 1
      for (int column = 0; column < n; column += stream_columns) {
        finish.load(column);

        // ---- multiply: columns [column, column + stream_columns)
        float sums[groups][4] = {};
#pragma unroll
        for (int p = 0; p < parts; ++p)
#pragma unroll
          for (int j = 0; j < groups; ++j) {
            const StreamWords y = StreamWords::of(simt::load<width>(from_b + (column + 2 * j) * pitch + p * stream_k));
#pragma unroll
            for (int s = 0; s < 2; ++s) {
              const unsigned of_a[4] = {x[p][0].word[2 * s], x[p][1].word[2 * s], x[p][0].word[2 * s + 1],
                                        x[p][1].word[2 * s + 1]};
              const unsigned of_b[4] = {y.word[2 * s], 0, y.word[2 * s + 1], 0};
              tile::sm80::multiply<T>(sums[j], of_a, of_b, 0);
            }
          }

        // ---- finish: a lane has eight neighbours in each of two rows
        simt::vec<float, width> d[2];
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int j = 0; j < groups; ++j) {
            d[half][2 * j] = sums[j][2 * half];
            d[half][2 * j + 1] = sums[j][2 * half + 1];
          }
        finish.store(d, column + vector_of_lane * width);
      }
    }
  }
}

// Launches the kernel. Policy: a type with `static constexpr Config config`, a user's own or from the table in
// variants.hpp. blocks: any number.
template <class Policy, class T, class Epilogue>
[[nodiscard]] static Status launch_mma_stream(const Operand<T>& a, const Operand<T>& b, const Shape& shape,
                                              const Epilogue& epilogue, std::int64_t blocks, Stream stream = {}) {
  const simt::Config at{.grid = dim3(static_cast<unsigned>(blocks)),
                        .block = dim3(stream_threads),
                        .smem = static_cast<std::size_t>(stream_smem_bytes(Policy::config, shape.n)),
                        .stream = stream.handle,
                        .warp = 32};
  return simt::launch(at, gemm_mma_stream<Policy, T, Epilogue>, a, b, shape, epilogue);
}

}  // namespace ridge::gemm_kernels
