// The variants at memory speed: x in pieces of 8 elements, one per thread.
#pragma once
#include <ridge/tile/packed.cuh>
#include <ridge/window_sum/textbook.cuh>

namespace ridge::window_sum_detail {

struct PiecesShape {
  std::int64_t n, tiles, pitch_x, pitch_y;
  int reach;
  bool aligned_x, aligned_y;  // rows start on 16 bytes
};

// Loads the piece that starts at element `at` of a row, with zeros outside of the row.
template <class T>
__device__ __forceinline__ void load_piece(const T* row, std::int64_t at, std::int64_t n, bool aligned,
                                           Sum<T> (&values)[piece]) {
  constexpr int V = tile::vector_elements<T>;
  if (aligned && at >= 0 && at + piece <= n) {
    tile::Packed vectors[piece / V];
#pragma unroll
    for (int u = 0; u < piece / V; ++u) vectors[u] = tile::load_packed(row + at + u * V);
#pragma unroll
    for (int u = 0; u < piece / V; ++u) {
      const tile::Vector<T> vector = tile::unpack<T>(vectors[u]);
#pragma unroll
      for (int v = 0; v < V; ++v) values[u * V + v] = Sum<T>(vector[v]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < piece; ++i) values[i] = at + i >= 0 && at + i < n ? Sum<T>(row[at + i]) : Sum<T>(0);
  }
}

template <class T>
__device__ __forceinline__ void store_piece(T* row, std::int64_t at, std::int64_t n, bool aligned,
                                            const Sum<T> (&values)[piece]) {
  constexpr int V = tile::vector_elements<T>;
  if (aligned && at + piece <= n) {
#pragma unroll
    for (int u = 0; u < piece / V; ++u) {
      tile::Vector<T> vector;
#pragma unroll
      for (int v = 0; v < V; ++v) vector[v] = T(values[u * V + v]);
      simt::store_global(row + at + u * V, vector);
    }
  } else {
#pragma unroll
    for (int i = 0; i < piece; ++i)
      if (at + i < n) row[at + i] = T(values[i]);
  }
}

// Inclusive prefix and suffix sums over a group's lanes, of two separate values.
template <class X> struct GroupSums {
  X prefix, suffix;
  __device__ __forceinline__ GroupSums(const simt::tile<group>& lanes, X for_prefix, X for_suffix)
      : prefix(for_prefix), suffix(for_suffix) {
#pragma unroll
    for (int distance = 1; distance < group; distance *= 2) {
      const X below = lanes.shfl_up(prefix, distance), above = lanes.shfl_down(suffix, distance);
      if (lanes.rank() >= distance) prefix += below;
      if (lanes.rank() + distance < group) suffix += above;
    }
  }
};

// Windows that reach at most into the neighbouring pieces.   x, y: [rows, n], elements contiguous
// Preconditions: gridDim.x == rows * tiles; reach < piece.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) window_neighbours(const T* x, T* y, PiecesShape s) {
  const std::int64_t row = blockIdx.x / s.tiles;
  const std::int64_t at = ((blockIdx.x - row * s.tiles) * Policy::config.threads + threadIdx.x) * piece;
  if (at >= s.n) return;
  x += row * s.pitch_x;
  Sum<T> before[piece], own[piece], after[piece];
  load_piece(x, at - piece, s.n, s.aligned_x, before);
  load_piece(x, at, s.n, s.aligned_x, own);
  load_piece(x, at + piece, s.n, s.aligned_x, after);
  Sum<T> sums[piece];
#pragma unroll
  for (int i = 0; i < piece; ++i) sums[i] = own[i];
#pragma unroll
  for (int d = 1; d < piece; ++d)
    if (d <= s.reach) {  // uniform over threads
#pragma unroll
      for (int i = 0; i < piece; ++i)
        sums[i] += (i >= d ? own[i - d] : before[i - d + piece]) + (i + d < piece ? own[i + d] : after[i + d - piece]);
    }
  store_piece(y + row * s.pitch_y, at, s.n, s.aligned_y, sums);
}

// Windows of any width. With reach = q pieces and t elements, the window of element r of piece k is
//   the suffix of piece k-q, from r-t (for r < t: of piece k-q-1, and the whole piece k-q)
//   pieces k-q+1 ... k+q-1
//   the prefix of piece k+q, to r+t   (for r+t >= 8: the whole piece, and the prefix of piece k+q+1)
// Each thread computes the suffix and prefix sums of its pieces. Up to `group` pieces between are added one by one;
// more are again a suffix of a group, whole groups and a prefix of a group, whose sums a warp computes.
//                                                       x, y: [rows, n], elements contiguous
// Preconditions: gridDim.x == rows * tiles; reach >= piece; shared_words() of dynamic shared memory.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) window_pieces(const T* x, T* y, PiecesShape s) {
  constexpr int K = Policy::config.threads;  // pieces of outputs, one per thread
  const int q = s.reach / piece, t = s.reach % piece, pieces = K + 2 * q + 2, groups = (pieces + group - 1) / group;
  Sum<T>* suffixes = simt::dynamic_shared<Sum<T>>();  // [piece][K + 1]: of pieces 0 ... K
  Sum<T>* prefixes = suffixes + piece * (K + 1);      // [piece][K + 1]: of pieces 2q+1 ... 2q+1+K
  Sum<T>* whole = prefixes + piece * (K + 1);         // [groups * group]
  Sum<T>* group_suffixes = whole + groups * group;    // [groups * group]
  Sum<T>* group_prefixes = group_suffixes + groups * group;
  Sum<T>* group_sums = group_prefixes + groups * group;  // [groups]
  const std::int64_t row = blockIdx.x / s.tiles, start = (blockIdx.x - row * s.tiles) * K * piece;
  x += row * s.pitch_x;
  const bool by_groups = 2 * q - 1 > group;  // uniform over threads
  const simt::tile<group> lanes;

  // ---- pieces 0 ... of the tile: piece 0 is q + 1 pieces before the first output. Whole warps take part.
  for (int j = threadIdx.x; j < groups * group; j += K) {
    Sum<T> values[piece], from_end[piece];
    load_piece(x, j < pieces ? start + std::int64_t{j - q - 1} * piece : s.n, s.n, s.aligned_x, values);
    from_end[piece - 1] = values[piece - 1];
#pragma unroll
    for (int i = piece - 2; i >= 0; --i) from_end[i] = values[i] + from_end[i + 1];
    if (j <= K) {
#pragma unroll
      for (int i = 0; i < piece; ++i) suffixes[i * (K + 1) + j] = from_end[i];
    }
    if (const int right = j - 2 * q - 1; right >= 0 && right <= K) {
#pragma unroll
      for (int i = 0; i < piece; ++i) {
        if (i > 0) values[i] += values[i - 1];
        prefixes[i * (K + 1) + right] = values[i];
      }
    }
    const Sum<T> sum = from_end[0];
    whole[j] = sum;
    if (by_groups) {
      const GroupSums<Sum<T>> scan(lanes, sum, sum);
      group_suffixes[j] = scan.suffix;
      group_prefixes[j] = scan.prefix;
      if (lanes.rank() == 0) group_sums[j / group] = scan.suffix;
    }
  }
  __syncthreads();

  // ---- the pieces between: k + 2 ... k + 2q of the tile
  const int k = threadIdx.x;
  const std::int64_t at = start + std::int64_t{k} * piece;
  if (at >= s.n) return;
  Sum<T> between = 0;
  if (by_groups) {
    const int first = k + 2, last = k + 2 * q;  // in different groups: there are more than `group`
    between = group_suffixes[first];
    for (int g = first / group + 1; g < last / group; ++g) between += group_sums[g];
    between += group_prefixes[last];
  } else {
    for (int j = k + 2; j <= k + 2 * q; ++j) between += whole[j];
  }

  // ---- the window of each output
  const Sum<T> with_left = whole[k + 1] + between, with_right = whole[k + 2 * q + 1];
  Sum<T> sums[piece];
#pragma unroll
  for (int r = 0; r < piece; ++r) {
    const bool left = r < t, right = r + t >= piece;
    const Sum<T> suffix = left ? suffixes[(r - t + piece) * (K + 1) + k] : suffixes[(r - t) * (K + 1) + k + 1];
    const Sum<T> prefix = right ? prefixes[(r + t - piece) * (K + 1) + k + 1] : prefixes[(r + t) * (K + 1) + k];
    sums[r] = (suffix + (left ? with_left : between)) + (right ? with_right + prefix : prefix);
  }
  store_piece(y + row * s.pitch_y, at, s.n, s.aligned_y, sums);
}

}  // namespace ridge::window_sum_detail
