// Overlap of boxes: for a pair, and as a bit for all pairs of sorted boxes.
#pragma once
#include <ridge/nms/sort.cuh>

namespace ridge::nms_detail {

using Word = unsigned long long;

// Whether the intersection of two boxes is more than `iou` of their union.
struct Overlap {
  float iou;
  float more;  // added to a side x2 - x1: 1 with legacy corners, else 0

  __device__ __forceinline__ float side(float low, float high) const { return high - low + more; }
  // Negative if a side is 0 or less, or NaN.
  __device__ __forceinline__ float area(const Box& a) const {
    const float w = side(a.x1, a.x2), h = side(a.y1, a.y2);
    return w > 0 && h > 0 ? w * h : -1.0f;
  }
  __device__ __forceinline__ bool operator()(const Box& a, float area_a, const Box& b, float area_b) const {
    const float w = side(fmaxf(a.x1, b.x1), fminf(a.x2, b.x2)), h = side(fmaxf(a.y1, b.y1), fminf(a.y2, b.y2));
    if (!(w > 0 && h > 0 && area_a >= 0 && area_b >= 0)) return false;
    const float both = w * h, all = area_a + area_b - both;
    if (!(all > 1e-30f && all < 1e30f)) return in_double(a, b);
    // Most intersecting pairs are far from `iou`: only the others need the quotient.
    if (both < iou * 0.999f * all) return false;
    return both / all > iou;
  }

 private:
  // For areas beyond float32. Preconditions: both boxes have areas, and they intersect.
  __device__ bool in_double(const Box& a, const Box& b) const {
    const auto area = [this](double x1, double y1, double x2, double y2) {
      return (x2 - x1 + more) * (y2 - y1 + more);
    };
    const double both = area(fmaxf(a.x1, b.x1), fmaxf(a.y1, b.y1), fminf(a.x2, b.x2), fminf(a.y2, b.y2));
    return both / (area(a.x1, a.y1, a.x2, a.y2) + area(b.x1, b.y1, b.x2, b.y2) - both) > iou;
  }
};

// Bit j of word w in row i: box i overlaps box 64 w + j. Row i's own word is w = i / 64; words are written from the one
// before it on. Its own word has only the bits of boxes before i, the others all bits.
//                                                      boxes: [n] sorted; classes: [n] or null; mask: [n][words]
// Precondition: gridDim.x is mask_grid(n).
template <bool Classes>
__global__ void __launch_bounds__(mask_threads)
    nms_mask(const Box* boxes, const std::int64_t* classes, Word* mask, unsigned n, Overlap overlap) {
  __shared__ Box column_boxes[word_bits];
  __shared__ float column_areas[word_bits];
  __shared__ std::int64_t column_classes[Classes ? word_bits : 1];
  const unsigned words = (n + word_bits - 1) / word_bits;
  const unsigned column = blockIdx.x % words, row = blockIdx.x / words * mask_threads + threadIdx.x;
  if (blockIdx.x / words * mask_tiles > column + 1) return;  // below the diagonal: the block has no word to write
  if (threadIdx.x < word_bits && column * word_bits + threadIdx.x < n) {
    const Box box = boxes[column * word_bits + threadIdx.x];
    column_boxes[threadIdx.x] = box;
    column_areas[threadIdx.x] = overlap.area(box);
    if constexpr (Classes) column_classes[threadIdx.x] = classes[column * word_bits + threadIdx.x];
  }
  __syncthreads();
  if (row >= n || row / word_bits > column + 1) return;
  const Box mine = boxes[row];
  const float area = overlap.area(mine);
  const std::int64_t of_class = Classes ? classes[row] : 0;
  const unsigned left = n - column * word_bits;
  const int end = row / word_bits == column ? static_cast<int>(row % word_bits)
                  : left < word_bits        ? static_cast<int>(left)
                                            : word_bits;
  Word word = 0;
  for (int j = 0; j < end; ++j) {
    if constexpr (Classes)
      if (column_classes[j] != of_class) continue;
    if (overlap(mine, area, column_boxes[j], column_areas[j])) word |= Word{1} << j;
  }
  mask[std::int64_t{row} * words + column] = word;
}

}  // namespace ridge::nms_detail
