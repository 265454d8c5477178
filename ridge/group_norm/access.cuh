// How a block's threads go through its part of a sample: the kernels' side of access.hpp.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/group_norm/access.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/block_reduce.cuh>
#include <ridge/tile/packed.cuh>

#include <type_traits>

namespace ridge::group_norm_detail {

struct Strides {
  std::int64_t n = 0, c = 0, h = 0, w = 0;
};

struct Shape {
  Strides x = {}, y = {}, dy = {};
  unsigned parts = 0;  // of a sample
  unsigned slices = 1, items = 0, slice_items = 0;
  unsigned lanes = 1;
  int lane_bits = 0;                                  // log2 of lanes
  int columns = 1, groups = 1, of_group = 1;          // groups of a part, channels of a group
  int in_shared = 0;                                  // resident
  bool whole_planes = false;                          // a vector of a span is of one channel
  bool channels_first = false;                        // elements: channels are the innermost axis of memory
  float count = 0;                                    // elements of a group
  Divider by_plane = {}, by_row = {}, by_group = {};  // pixels of a plane, of a row; channels of a group
};

// A thread's place: its block's part and slice, and in these its column and the items first, first + lanes, ... up to
// end. A thread beyond columns * lanes has no items.
template <Access A, class T> struct Part {
  static constexpr bool by_columns = A == Access::pixels || A == Access::mixed;
  static constexpr int V = A == Access::element ? 1 : tile::vector_elements<T>;  // elements of an item
  static constexpr int slots = A == Access::mixed ? V : 1;  // element v of an item is of slot v % slots
  using Item = std::conditional_t<A == Access::element, T, tile::Packed>;
  using Values = simt::vec<float, V>;

  const Shape& s;
  std::int64_t sample, group;  // group: the part's first one, counted over all samples
  std::int64_t channel0;       // the part's first channel
  unsigned slice, begin, end, first;
  int column = 0, lane;
  int slot_group = 0, slot_channel = 0;  // by_columns: of the thread's first channel: its group, and its place in that

  __device__ __forceinline__ Part(const Shape& shape, unsigned block) : s(shape) {
    const unsigned part = block / s.slices, of_sample = part / s.parts;
    slice = block - part * s.slices;
    sample = of_sample;
    group = std::int64_t{part} * s.groups;
    channel0 = std::int64_t{part - of_sample * s.parts} * s.groups * s.of_group;
    begin = slice * s.slice_items;
    end = min(begin + s.slice_items, s.items);
    lane = static_cast<int>(threadIdx.x);
    if constexpr (by_columns) {
      lane = static_cast<int>(threadIdx.x) / s.columns;
      column = static_cast<int>(threadIdx.x) - lane * s.columns;
      slot_group = column * V / s.of_group;
      slot_channel = column * V - slot_group * s.of_group;
    }
    first = has_items() ? begin + static_cast<unsigned>(lane) : end;
  }
  __device__ __forceinline__ bool has_items() const { return !by_columns || lane < static_cast<int>(s.lanes); }

  // Calls f(slot, group of the part, whether the slot's channel is the group's first).
  template <class F> __device__ __forceinline__ void for_slots(F&& f) const {
    int g = slot_group, c = slot_channel;
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      f(slot, g, c == 0);
      if (++c == s.of_group) c = 0, ++g;
    }
  }

  // ---- elements. `at`: a tensor's start moved by origin()

  __device__ __forceinline__ std::int64_t origin(const Strides& t) const {
    return sample * t.n + channel0 * t.c + (by_columns ? column * V : 0);
  }
  __device__ __forceinline__ std::int64_t offset(const Strides& t, unsigned item) const {
    if constexpr (A == Access::span) {
      return std::int64_t{item} * V;
    } else if constexpr (by_columns) {
      return std::int64_t{item} * t.w;
    } else {
      unsigned w = item, c;
      if (s.channels_first) {
        c = item;
        w = s.by_group.divide(c);
      } else {
        c = s.by_plane.divide(w);
      }
      const unsigned h = s.by_row.divide(w);
      return c * t.c + h * t.h + w * t.w;
    }
  }
  // The channel of element v of an item.
  __device__ __forceinline__ std::int64_t channel(unsigned item, int v) const {
    if constexpr (by_columns) return channel0 + column * V + v;
    else if constexpr (A == Access::span) return channel0 + s.by_plane(item * V + static_cast<unsigned>(v));
    else if (!s.channels_first) return channel0 + s.by_plane(item);
    unsigned c = item;
    s.by_group.divide(c);
    return channel0 + c;
  }
  // Whether all elements of an item are of one channel, by_columns aside.
  __device__ __forceinline__ bool one_channel() const { return V == 1 || s.whole_planes; }

  __device__ __forceinline__ Item load(const T* at, const Strides& t, unsigned item) const {
    if constexpr (A == Access::element) return at[offset(t, item)];
    else return tile::load_packed(at + offset(t, item));
  }
  // evict_first: the line is not read again.
  template <bool evict_first = false>
  __device__ __forceinline__ void store(T* at, const Strides& t, unsigned item, const Values& values) const {
    T* to = at + offset(t, item);
    if constexpr (A == Access::element) *to = T(values[0]);
    else if constexpr (evict_first) simt::store_streaming(to, tile::unpack<T>(tile::pack_floats<T>(values)));
    else tile::store_packed(to, tile::pack_floats<T>(values));
  }
  static __device__ __forceinline__ Values values(const Item& item) {
    if constexpr (A == Access::element) return {{float(item)}};
    else return tile::unpack_floats<T>(item);
  }
  // The first element of each slot's group. x: the tensor's start.
  __device__ __forceinline__ void first_of_groups(const T* x, float (&base)[slots]) const {
    const T* part = x + sample * s.x.n + channel0 * s.x.c;
    for_slots([&](int slot, int g, bool) { base[slot] = float(part[std::int64_t{g} * s.of_group * s.x.c]); });
  }
  // Elements of a group in this slice.
  __device__ __forceinline__ float slice_count() const {
    return float(std::int64_t{end - begin} * (by_columns ? s.of_group : V));
  }
};

__device__ __forceinline__ float plus(float a, float b) { return a + b; }

// Adds each slot's value over all threads and slots of its group, in a fixed order; all get the sum. By columns, `sums`
// is shared memory of floats_of_sums(): [slots][columns][lanes + 1] values, and the groups' sums.
// Precondition: all of the block's threads call.
template <int Warp, Access A, class T>
__device__ __forceinline__ void add_groups(const Part<A, T>& part, float (&value)[Part<A, T>::slots], float* sums) {
  using P = Part<A, T>;
  if constexpr (!P::by_columns) {
    value[0] = tile::any_block<Warp>().reduce(value[0], plus);
  } else {
    constexpr int W = P::slots;
    const Shape& s = part.s;
    const int lanes = static_cast<int>(s.lanes), pitch = lanes + 1;
    float* of_groups = sums + W * s.columns * pitch;
    if (part.has_items())
#pragma unroll
      for (int slot = 0; slot < W; ++slot) sums[(slot * s.columns + part.column) * pitch + part.lane] = value[slot];
    __syncthreads();
    const simt::tile<Warp> warp;
    const int cells = s.of_group * W / P::V, values = cells << s.lane_bits;  // a group's slots, and their lanes' values
    for (int g = warp.index(); g < s.groups; g += static_cast<int>(blockDim.x) / Warp) {
      float sum = 0;
#pragma unroll 4
      for (int i = warp.rank(); i < values; i += Warp) {
        const int cell = g * cells + (i >> s.lane_bits);
        sum += sums[(cell % W * s.columns + cell / W) * pitch + (i & (lanes - 1))];
      }
      sum = warp.reduce(sum, plus);
      if (warp.rank() == 0) of_groups[g] = sum;
    }
    __syncthreads();
    part.for_slots([&](int slot, int g, bool) { value[slot] = of_groups[g]; });
  }
}

// ---- host

static inline Strides strides_of(const Layout& t) { return {t.stride[0], t.stride[1], t.stride[2], t.stride[3]}; }

// Precondition: the problem is not empty.
[[maybe_unused]] static Shape shape_of(const Config& c, const GroupNormProblem& p, const Division& d) {
  const std::int64_t plane = spatial(p.x), of_group = channels_of_group(p);
  return {.x = strides_of(p.x),
          .y = strides_of(p.y),
          .dy = strides_of(p.dy),
          .parts = static_cast<unsigned>(p.options.groups / d.groups),
          .slices = static_cast<unsigned>(d.slices),
          .items = static_cast<unsigned>(d.part_items),
          .slice_items = static_cast<unsigned>(d.slice_items),
          .lanes = static_cast<unsigned>(d.lanes),
          .lane_bits = std::countr_zero(static_cast<unsigned>(d.lanes)),
          .columns = d.columns,
          .groups = d.groups,
          .of_group = static_cast<int>(of_group),
          .in_shared = static_cast<int>(d.in_shared),
          .whole_planes = plane % elements_of_item(c.access, p.dtype) == 0,
          .channels_first = p.x.stride[1] == 1 && of_group > 1,
          .count = static_cast<float>(elements_of_group(p)),
          .by_plane = Divider(plane),
          .by_row = Divider(p.x.shape[3]),
          .by_group = Divider(of_group)};
}

}  // namespace ridge::group_norm_detail
