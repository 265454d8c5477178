// Wide windows, in two kernels: the sums of every 256 elements; then windows from their two ends and the sums between.
#pragma once
#include <ridge/window_sum/pieces.cuh>

namespace ridge::window_sum_detail {

// sums[row, i] = sum of x[row, 256 i ... 256 i + 255].    x: [rows, n], elements contiguous; sums: [rows, spans]
// Precondition: gridDim.x covers rows * spans by threads / group each.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    window_spans(const T* x, Sum<T>* sums, PiecesShape s, std::int64_t rows, std::int64_t spans) {
  const simt::tile<group> lanes;
  const std::int64_t index = std::int64_t{blockIdx.x} * (Policy::config.threads / group) + lanes.index();
  const std::int64_t row = index / spans, span = index - row * spans;
  if (row >= rows) return;  // all lanes of the group
  Sum<T> values[piece];
  load_piece(x + row * s.pitch_x, span * span_elements + lanes.rank() * piece, s.n, s.aligned_x, values);
  Sum<T> sum = values[0];
#pragma unroll
  for (int i = 1; i < piece; ++i) sum += values[i];
#pragma unroll
  for (int distance = group / 2; distance > 0; distance /= 2) sum += lanes.shfl_xor(sum, distance);
  if (lanes.rank() == 0) sums[index] = sum;
}

// As window_pieces, for windows so wide that the pieces in which a tile's windows begin and those in which they end are
// disjoint. Every window of the tile contains the pieces between these two ranges: their sum is computed once, from
// `sums` and the elements at both ends that are not in whole spans.
//                                                       x, y: [rows, n], elements contiguous; sums: [rows, spans]
// Preconditions: gridDim.x == rows * tiles; 2 (reach / piece) >= threads; shared_words() of dynamic shared memory.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    window_wide(const T* x, T* y, const Sum<T>* sums, PiecesShape s, std::int64_t spans) {
  constexpr int K = Policy::config.threads;  // pieces of outputs, one per thread
  constexpr int groups = (K + 1 + group - 1) / group, warps = K / group;
  const int q = s.reach / piece, t = s.reach % piece;
  Sum<T>* suffixes = simt::dynamic_shared<Sum<T>>();  // [piece][K + 1]: of pieces 0 ... K, where windows begin
  Sum<T>* prefixes = suffixes + piece * (K + 1);      // [piece][K + 1]: of pieces 2q+1 ... 2q+1+K, where they end
  Sum<T>* left = prefixes + piece * (K + 1);          // [groups * group]: of pieces 0 ... K
  Sum<T>* right = left + groups * group;              // [groups * group]: of pieces 2q+1 ... 2q+1+K
  Sum<T>* group_suffixes = right + groups * group;    // [groups * group]: of the left ones
  Sum<T>* group_prefixes = group_suffixes + groups * group;  // [groups * group]: of the right ones
  Sum<T>* left_sums = group_prefixes + groups * group;       // [groups]
  Sum<T>* right_sums = left_sums + groups;                   // [groups]
  Sum<T>* middle = right_sums + groups;                      // [warps]
  const std::int64_t row = blockIdx.x / s.tiles, start = (blockIdx.x - row * s.tiles) * K * piece;
  x += row * s.pitch_x;
  sums += row * spans;
  const simt::tile<group> lanes;

  // ---- the two ranges, a piece of each per thread and iteration. Whole warps take part.
  for (int j = threadIdx.x; j < groups * group; j += K) {
    Sum<T> before[piece], after[piece];
    const std::int64_t at = start + std::int64_t{j - q - 1} * piece;
    load_piece(x, j <= K ? at : s.n, s.n, s.aligned_x, before);
    load_piece(x, j <= K ? at + std::int64_t{2 * q + 1} * piece : s.n, s.n, s.aligned_x, after);
#pragma unroll
    for (int i = 1; i < piece; ++i) {
      before[piece - 1 - i] += before[piece - i];
      after[i] += after[i - 1];
    }
    if (j <= K) {
#pragma unroll
      for (int i = 0; i < piece; ++i) {
        suffixes[i * (K + 1) + j] = before[i];
        prefixes[i * (K + 1) + j] = after[i];
      }
    }
    left[j] = before[0];
    right[j] = after[piece - 1];
    const GroupSums<Sum<T>> scan(lanes, after[piece - 1], before[0]);
    group_suffixes[j] = scan.suffix;
    group_prefixes[j] = scan.prefix;
    if (lanes.rank() == 0) left_sums[j / group] = scan.suffix;
    if (lanes.rank() == group - 1) right_sums[j / group] = scan.prefix;
  }

  // ---- the elements between them: those of pieces K + 1 ... 2q
  const std::int64_t from = max(start - std::int64_t{q - K} * piece, std::int64_t{0});
  const std::int64_t to = min(start + std::int64_t{q} * piece, s.n);
  const std::int64_t first = (from + span_elements - 1) / span_elements, last = to / span_elements;  // whole spans
  Sum<T> own = 0;
  for (std::int64_t i = first + threadIdx.x; i < last; i += K) own += sums[i];
  const bool has_spans = first <= last;
  const std::int64_t head_end = has_spans ? first * span_elements : to, tail = has_spans ? last * span_elements : to;
  for (std::int64_t i = from + threadIdx.x; i < head_end; i += K) own += Sum<T>(x[i]);
  for (std::int64_t i = tail + threadIdx.x; i < to; i += K) own += Sum<T>(x[i]);
#pragma unroll
  for (int distance = group / 2; distance > 0; distance /= 2) own += lanes.shfl_xor(own, distance);
  if (lanes.rank() == 0) middle[threadIdx.x / group] = own;
  __syncthreads();

  // ---- the pieces between: k + 2 ... K on the left, the middle, and the first k on the right
  const int k = threadIdx.x;
  const std::int64_t at = start + std::int64_t{k} * piece;
  if (at >= s.n) return;
  Sum<T> between = middle[0];
#pragma unroll
  for (int w = 1; w < warps; ++w) between += middle[w];
  if (k + 2 <= K) {
    between += group_suffixes[k + 2];
    for (int g = (k + 2) / group + 1; g < groups; ++g) between += left_sums[g];
  }
  if (k > 0) {
    for (int g = 0; g < (k - 1) / group; ++g) between += right_sums[g];
    between += group_prefixes[k - 1];
  }

  // ---- the window of each output
  const Sum<T> with_left = left[k + 1] + between, with_right = right[k];
  Sum<T> outputs[piece];
#pragma unroll
  for (int r = 0; r < piece; ++r) {
    const bool in_left = r < t, in_right = r + t >= piece;
    const Sum<T> suffix = in_left ? suffixes[(r - t + piece) * (K + 1) + k] : suffixes[(r - t) * (K + 1) + k + 1];
    const Sum<T> prefix = in_right ? prefixes[(r + t - piece) * (K + 1) + k + 1] : prefixes[(r + t) * (K + 1) + k];
    outputs[r] = (suffix + (in_left ? with_left : between)) + (in_right ? with_right + prefix : prefix);
  }
  store_piece(y + row * s.pitch_y, at, s.n, s.aligned_y, outputs);
}

}  // namespace ridge::window_sum_detail
