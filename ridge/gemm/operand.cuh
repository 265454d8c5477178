// OperandTile: loads one operand's block tile from global to shared memory, with all threads of a block.
//
// In shared memory a tile is [BK / pack][pitch] of staged elements, element (k, outer) at k / pack * pitch + outer, so
// that a thread reads neighbours along `outer` by 16-byte accesses in every layout of the operand. Elements outside the
// matrix become zero.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/opaque.cuh>

namespace ridge::gemm_kernels {

// Transposes four words of four bytes: byte j of result i is byte i of word j.
__device__ __forceinline__ void transpose_bytes(const int (&from)[4], int (&to)[4]) {
  const unsigned low01 = __byte_perm(from[0], from[1], 0x5140), low23 = __byte_perm(from[2], from[3], 0x5140);
  const unsigned high01 = __byte_perm(from[0], from[1], 0x7362), high23 = __byte_perm(from[2], from[3], 0x7362);
  to[0] = static_cast<int>(__byte_perm(low01, low23, 0x5410));
  to[1] = static_cast<int>(__byte_perm(low01, low23, 0x7632));
  to[2] = static_cast<int>(__byte_perm(high01, high23, 0x5410));
  to[3] = static_cast<int>(__byte_perm(high01, high23, 0x7632));
}

// A thread's share of a tile is `vectors` vectors of wk x wo elements; a pointer walks over them by the same steps from
// the first tile to the last.
//
//   Outer, BK, Pitch   the tile: Outer x BK elements, rows of Pitch staged elements in shared memory
//   M                  Major::none: single elements at any strides; k or outer: elements are contiguous there
//   Vectors            16-byte accesses. Precondition: every row of the operand is 16-byte aligned
//   Async              by asynchronous copies (start_copies), or through registers (fetch, put)
template <class T, Major M, int Outer, int BK, int Pitch, int Threads, bool Vectors, bool Async> class OperandTile {
 public:
  using S = Staged<T>;

  // from_outer: the tile's first. outer_size, k_size: of the matrix.
  __device__ __forceinline__ OperandTile(const Operand<T>& from, std::int64_t batch, std::int64_t from_outer,
                                         std::int64_t outer_size, int k_size) {
    const int k = first_k(), outer = first_outer();
    k_left_ = k_size;
    outer_left_ = static_cast<int>(::min(outer_size - from_outer, std::int64_t{Outer}));
    from_ = reinterpret_cast<const char*>(from.data + batch * from.batch_stride +
                                          (from_outer + outer) * from.outer_stride + k * from.k_stride);
    to_ = k / packed * Pitch + outer;
    k_stride_ = from.k_stride * bytes;
    outer_step_ = step_outer * from.outer_stride * bytes;
    k_step_ = ::min(step_k, BK) * k_stride_ - (vectors_outer - 1) * outer_step_;
  }

  // ---- through registers: fetch() the next BK, put() what was fetched ----------------------------------------------

  __device__ __forceinline__ void fetch() {
    for_vectors([&](int i, int j) {
      RIDGE_UNROLL_ON_GPU
      for (int p = 0; p < parts; ++p) {  // one part for each of the packed k, in vectors along outer
        const int k_count = step_k > BK && first_k() >= BK ? 0 : k_left_ - first_k() - i * step_k - p;
        const int outer_count = outer_left_ - first_outer() - j * step_outer;
        const int count = M == Major::k ? (outer_count > 0 ? k_count : 0) : (k_count > 0 ? outer_count : 0);
        fetched_[i * vectors_outer + j][p] = read(reinterpret_cast<const T*>(from_ + p * k_stride_), count);
      }
    });
  }

  __device__ __forceinline__ void put(S* tile) const {
    if (step_k > BK && first_k() >= BK) return;
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < vectors; ++u) {
      S* to = tile + vector_at(u / vectors_outer, u % vectors_outer);
      if constexpr (packed == 4) {
        int words[words_each];
        if constexpr (M == Major::outer && width == 4) {
          int rows[4];
          memcpy(rows, fetched_[u], sizeof rows);
          transpose_bytes(rows, words);
        } else {  // 16 bytes along k, or four parts of one byte
          memcpy(words, fetched_[u], sizeof words);
        }
        RIDGE_UNROLL_ON_GPU
        for (int w = 0; w < words_each; ++w) to[M == Major::k ? w * Pitch : w] = words[w];
      } else if constexpr (M == Major::k || width < fragment_of<T>) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < width; ++v) to[M == Major::k ? v * Pitch : v] = static_cast<S>(fetched_[u][0][v]);
      } else {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < width; v += fragment_of<T>) {
          simt::vec<S, fragment_of<T>> staged;
          RIDGE_UNROLL_ON_GPU
          for (int j = 0; j < fragment_of<T>; ++j) staged[j] = static_cast<S>(fetched_[u][0][v + j]);
          simt::store(to + v, staged);
        }
      }
    }
  }

  // ---- by asynchronous copies --------------------------------------------------------------------------------------

  // Starts the copies of the next BK. They copy elements unchanged, so T is the staged type; k-major operands are
  // transposed on the way, element by element.
  __device__ __forceinline__ void start_copies(S* tile) {
    static_assert(std::is_same_v<T, S> && M != Major::none, "asynchronous copies do not convert");
    if (step_k > BK && first_k() >= BK) return;
    if (outer_left_ == Outer && k_left_ >= BK) {  // nearly always, and in half as many instructions
      for_vectors([&](int i, int j) { tile::copy_async<width * bytes>(tile + vector_at(i, j), from_); });
    } else {
      for_vectors([&](int i, int j) {
        const int outer_count = outer_left_ - first_outer() - j * step_outer;
        const int count = k_left_ - first_k() > i * step_k ? ::max(0, ::min(outer_count, width)) : 0;
        tile::copy_async<width * bytes>(tile + vector_at(i, j), from_, count * bytes);
      });
    }
  }

 private:
  static constexpr int packed = staged_pack<T>, bytes = static_cast<int>(sizeof(T));
  // Elements per access. Asynchronous copies transpose k-major operands, so they copy single elements.
  static constexpr int width = M == Major::none || !Vectors || (Async && M == Major::k) ? 1
                               : packed == 4 && M == Major::outer                       ? 4
                                                                                        : access_bytes / bytes;
  // A vector: one access along k, or one access along outer for each of the packed k.
  static constexpr int wk = M == Major::k ? width : packed, wo = M == Major::k ? 1 : width;
  static constexpr int parts = M == Major::k ? 1 : packed, words_each = wk * wo / packed;
  static_assert(wk % packed == 0, "a vector is whole staged elements");

  // Neighbouring lanes along k for a k-major operand: a 32-byte sector of single elements, or two accesses where that
  // puts a warp's stores into different banks; for the banks see `padding` in thread_tile.hpp.
  static constexpr int pair = M != Major::k                                        ? 1
                              : width == 1                                         ? std::min(BK, 32 / bytes)
                              : words_each * Pitch * int(sizeof(S)) / 4 % 32 == 16 ? std::min(BK / width, 2)
                                                                                   : 1;
  static constexpr int lanes_outer = std::min(Outer / wo, Threads / pair), lanes_k = Threads / lanes_outer;
  static constexpr int step_outer = lanes_outer * wo, step_k = lanes_k * wk;  // from one vector of a thread to the next
  static constexpr int vectors_outer = Outer / step_outer, vectors_k = step_k > BK ? 1 : BK / step_k;
  static constexpr int vectors = vectors_outer * vectors_k;
  static_assert(Threads % (pair * lanes_outer) == 0 && Outer % step_outer == 0 && (step_k > BK || BK % step_k == 0),
                "the block's threads divide the tile evenly");

  // The thread's first vector.
  __device__ __forceinline__ static int first_k() {
    const int rank = simt::thread_rank();
    return (rank % pair + rank / (pair * lanes_outer) * pair) * wk;
  }
  __device__ __forceinline__ static int first_outer() { return simt::thread_rank() / pair % lanes_outer * wo; }

  // Position of vector (i, j) in a tile.
  __device__ __forceinline__ int vector_at(int i, int j) const {
    return to_ + i * (step_k / packed * Pitch) + j * step_outer;
  }
  // Calls f(i, j) with from_ at vector j along outer and i along k, and advances from_ to the next tile.
  template <class F> __device__ __forceinline__ void for_vectors(F f) {
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < vectors_k; ++i) {
      RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < vectors_outer; ++j) {
        f(i, j);
        from_ += j + 1 < vectors_outer ? outer_step_ : k_step_;
        tile::make_opaque(from_);
      }
    }
    k_left_ -= BK;
  }

  // Reads the first `count` elements, at most width; the rest are zero. A count of 0 reads nothing.
  __device__ __forceinline__ static simt::vec<T, width> read(const T* from, int count) {
    if (width > 1 && count >= width) return simt::load<width>(from);
    simt::vec<T, width> value;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < width; ++v) value[v] = v < count ? from[v] : T{};
    return value;
  }

  const char* from_;                             // this thread's next vector
  std::int64_t k_stride_, outer_step_, k_step_;  // in bytes
  int k_left_, outer_left_;                      // left in the matrix from this tile on; outer_left_ at most Outer
  int to_;                                       // position of the thread's first vector in a tile
  simt::vec<T, width> fetched_[Async ? 1 : vectors][parts];
};

}  // namespace ridge::gemm_kernels
