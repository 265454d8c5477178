// The rows at memory's speed: x in pieces of 8 elements, one to a thread.
#pragma once
#include <ridge/tile/packed.cuh>
#include <ridge/window_sum/textbook.cuh>

namespace ridge::window_sum_detail {

struct PiecesShape {
  std::int64_t n, tiles, pitch_x, pitch_y;
  int reach;
  bool wide_x, wide_y;  // rows start on 16 bytes
};

// The piece that starts at element `at` of a row, zeros outside of it.
template <class T>
__device__ __forceinline__ void load_piece(const T* row, std::int64_t at, std::int64_t n, bool wide,
                                           Sum<T> (&values)[piece]) {
  constexpr int V = tile::unit_elements<T>;
  if (wide && at >= 0 && at + piece <= n) {
    tile::Packed units[piece / V];
#pragma unroll
    for (int u = 0; u < piece / V; ++u) units[u] = tile::load_packed(row + at + u * V);
#pragma unroll
    for (int u = 0; u < piece / V; ++u) {
      const tile::Unit<T> unit = tile::unpack<T>(units[u]);
#pragma unroll
      for (int v = 0; v < V; ++v) values[u * V + v] = Sum<T>(unit[v]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < piece; ++i) values[i] = at + i >= 0 && at + i < n ? Sum<T>(row[at + i]) : Sum<T>(0);
  }
}

template <class T>
__device__ __forceinline__ void store_piece(T* row, std::int64_t at, std::int64_t n, bool wide,
                                            const Sum<T> (&values)[piece]) {
  constexpr int V = tile::unit_elements<T>;
  if (wide && at + piece <= n) {
#pragma unroll
    for (int u = 0; u < piece / V; ++u) {
      tile::Unit<T> unit;
#pragma unroll
      for (int v = 0; v < V; ++v) unit[v] = T(values[u * V + v]);
      simt::store_global(row + at + u * V, unit);
    }
  } else {
#pragma unroll
    for (int i = 0; i < piece; ++i)
      if (at + i < n) row[at + i] = T(values[i]);
  }
}

// Of a group's lanes: each gets the sum from the group's first lane to its own, and from its own to the last.
template <class X> struct GroupSums {
  X from_start, to_end;
  __device__ __forceinline__ GroupSums(const simt::tile<group>& lanes, X of_first, X of_last)
      : from_start(of_first), to_end(of_last) {
#pragma unroll
    for (int distance = 1; distance < group; distance *= 2) {
      const X below = lanes.shfl_up(from_start, distance), above = lanes.shfl_down(to_end, distance);
      if (lanes.rank() >= distance) from_start += below;
      if (lanes.rank() + distance < group) to_end += above;
    }
  }
};

// Windows that reach no further than the neighbouring pieces. x, y: [rows, n], elements contiguous
// Preconditions: gridDim.x == rows * tiles; reach < piece.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) window_neighbours(const T* x, T* y, PiecesShape s) {
  const std::int64_t row = blockIdx.x / s.tiles;
  const std::int64_t at = ((blockIdx.x - row * s.tiles) * Row::config.threads + threadIdx.x) * piece;
  if (at >= s.n) return;
  x += row * s.pitch_x;
  Sum<T> before[piece], own[piece], after[piece];
  load_piece(x, at - piece, s.n, s.wide_x, before);
  load_piece(x, at, s.n, s.wide_x, own);
  load_piece(x, at + piece, s.n, s.wide_x, after);
  Sum<T> sums[piece];
#pragma unroll
  for (int i = 0; i < piece; ++i) sums[i] = own[i];
#pragma unroll
  for (int d = 1; d < piece; ++d)
    if (d <= s.reach) {  // alike in all threads
#pragma unroll
      for (int i = 0; i < piece; ++i)
        sums[i] += (i >= d ? own[i - d] : before[i - d + piece]) + (i + d < piece ? own[i + d] : after[i + d - piece]);
    }
  store_piece(y + row * s.pitch_y, at, s.n, s.wide_y, sums);
}

// Windows of any width. With reach = q pieces and t elements, the window of element r of piece k is
//   the end of piece k-q, from r-t     (for r < t: of piece k-q-1, and the whole of piece k-q)
//   pieces k-q+1 ... k+q-1
//   the beginning of piece k+q, to r+t (for r+t >= 8: the whole of it, and the beginning of piece k+q+1)
// Sums of ends and beginnings are each thread's own to make. The pieces between are added one by one up to `group` of
// them; more are again the end of a group, whole groups and the beginning of one, whose sums a warp makes.
//                                                       x, y: [rows, n], elements contiguous
// Preconditions: gridDim.x == rows * tiles; reach >= piece; shared_words() of dynamic shared memory.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) window_pieces(const T* x, T* y, PiecesShape s) {
  constexpr int K = Row::config.threads;  // pieces of outputs, one to a thread
  const int q = s.reach / piece, t = s.reach % piece, pieces = K + 2 * q + 2, groups = (pieces + group - 1) / group;
  Sum<T>* ends = simt::dynamic_shared<Sum<T>>();  // [piece][K + 1]: of pieces 0 ... K
  Sum<T>* beginnings = ends + piece * (K + 1);    // [piece][K + 1]: of pieces 2q+1 ... 2q+1+K
  Sum<T>* whole = beginnings + piece * (K + 1);   // [groups * group]
  Sum<T>* to_group_end = whole + groups * group;  // [groups * group]
  Sum<T>* from_group_start = to_group_end + groups * group;
  Sum<T>* group_sums = from_group_start + groups * group;  // [groups]
  const std::int64_t row = blockIdx.x / s.tiles, start = (blockIdx.x - row * s.tiles) * K * piece;
  x += row * s.pitch_x;
  const bool by_groups = 2 * q - 1 > group;  // alike in all threads
  const simt::tile<group> lanes;

  // ---- pieces 0 ... of the tile: piece 0 is q + 1 pieces before the first output. Whole warps go along.
  for (int j = threadIdx.x; j < groups * group; j += K) {
    Sum<T> values[piece], from_end[piece];
    load_piece(x, j < pieces ? start + std::int64_t{j - q - 1} * piece : s.n, s.n, s.wide_x, values);
    from_end[piece - 1] = values[piece - 1];
#pragma unroll
    for (int i = piece - 2; i >= 0; --i) from_end[i] = values[i] + from_end[i + 1];
    if (j <= K) {
#pragma unroll
      for (int i = 0; i < piece; ++i) ends[i * (K + 1) + j] = from_end[i];
    }
    if (const int right = j - 2 * q - 1; right >= 0 && right <= K) {
#pragma unroll
      for (int i = 0; i < piece; ++i) {
        if (i > 0) values[i] += values[i - 1];
        beginnings[i * (K + 1) + right] = values[i];
      }
    }
    const Sum<T> sum = from_end[0];
    whole[j] = sum;
    if (by_groups) {
      const GroupSums<Sum<T>> scan(lanes, sum, sum);
      to_group_end[j] = scan.to_end;
      from_group_start[j] = scan.from_start;
      if (lanes.rank() == 0) group_sums[j / group] = scan.to_end;
    }
  }
  __syncthreads();

  // ---- the pieces between: k + 2 ... k + 2q in the tile's count
  const int k = threadIdx.x;
  const std::int64_t at = start + std::int64_t{k} * piece;
  if (at >= s.n) return;
  Sum<T> between = 0;
  if (by_groups) {
    const int first = k + 2, last = k + 2 * q;  // never in one group: there are more than `group`
    between = to_group_end[first];
    for (int g = first / group + 1; g < last / group; ++g) between += group_sums[g];
    between += from_group_start[last];
  } else {
    for (int j = k + 2; j <= k + 2 * q; ++j) between += whole[j];
  }

  // ---- the window of each output
  const Sum<T> with_left = whole[k + 1] + between, with_right = whole[k + 2 * q + 1];
  Sum<T> sums[piece];
#pragma unroll
  for (int r = 0; r < piece; ++r) {
    const bool left = r < t, right = r + t >= piece;
    const Sum<T> end = left ? ends[(r - t + piece) * (K + 1) + k] : ends[(r - t) * (K + 1) + k + 1];
    const Sum<T> beginning = right ? beginnings[(r + t - piece) * (K + 1) + k + 1] : beginnings[(r + t) * (K + 1) + k];
    sums[r] = (end + (left ? with_left : between)) + (right ? with_right + beginning : beginning);
  }
  store_piece(y + row * s.pitch_y, at, s.n, s.wide_y, sums);
}

}  // namespace ridge::window_sum_detail
