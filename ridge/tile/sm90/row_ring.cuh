// A pipeline of rows through a block's shared memory. Each team of threads has a ring of slots (tile/row_ring.hpp); its
// first warp has the copy engine fill a slot again once the team has released it. So the bytes in flight do not depend
// on registers or on the number of threads, and the next rows arrive while a team waits for a reduction.
//
// A row that a cluster shares is cut into slices of whole vectors, one to a block: only the first has a head, only the
// last a tail. A reduction then ends with an exchange between all blocks, through distributed shared memory.
//
// Blocks exchange words of 8 bytes, each a value and its number, which the receiver polls in its own shared memory.
// Barriers that other blocks arrive at would do too, but they wait for the sender's stores of the row before to reach
// the L2 cache: two microseconds for each reduction, measured.
#pragma once
#include <ridge/tile/l2_prefetch.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_ring.hpp>
#include <ridge/tile/row_vectors.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

#include <bit>

namespace ridge::tile::sm90 {

// A tensor's rows as the copy engine reads them: whole vectors, so also bytes next to a row, but none outside of the
// tensor.
struct RingRows {
  const unsigned char* first = nullptr;                  // of row 0
  std::int64_t pitch = 0;                                // bytes
  const unsigned char *begin = nullptr, *end = nullptr;  // of all rows
  __device__ __forceinline__ const unsigned char* row(std::int64_t r) const { return first + r * pitch; }
};
template <class T> RingRows ring_rows(const T* first, std::int64_t pitch, std::int64_t rows, std::int64_t cols) {
  const auto* at = reinterpret_cast<const unsigned char*>(first);
  const std::int64_t size = sizeof(T), last = (rows - 1) * pitch * size;
  return {at, pitch * size, at + (last < 0 ? last : 0), at + (last < 0 ? 0 : last) + cols * size};
}

// This block's part of a row: elements [begin, end).
struct RowSlice {
  std::int64_t begin, end;
};
template <class T>
__device__ __forceinline__ RowSlice slice_of(const unsigned char* row, std::int64_t cols, const RowRing& ring,
                                             int rank) {
  if (ring.cluster == 1) return {0, cols};
  constexpr int V = vector_elements<T>;
  const std::int64_t to_boundary =
      static_cast<std::int64_t>((0 - reinterpret_cast<std::uintptr_t>(row)) % vector_bytes / sizeof(T));
  const std::int64_t head = to_boundary < cols ? to_boundary : cols, vectors = (cols - head) / V;
  const auto vector = [&](int r) {
    const std::int64_t u = std::int64_t{r} * ring.slice_vectors;
    return head + (u < vectors ? u : vectors) * V;
  };
  return {rank == 0 ? 0 : vector(rank), rank == ring.cluster - 1 ? cols : vector(rank + 1)};
}

// A row, or this block's slice of it, in a slot.
template <class T> struct RowInSlot {
  std::int64_t row;
  unsigned char* first;  // element of the first tensor
  int row_bytes;
  // The slice of tensor n, in shared memory; co-aligned with the slice in global memory.
  __device__ __forceinline__ T* of(int n) const { return reinterpret_cast<T*>(first + n * row_bytes); }
};

// A team of Threads, several warps, which share a row.
template <int Threads> class RingTeam {
 public:
  static constexpr int lanes = Threads, warps = Threads / RowRing::warp;
  static_assert(warps > 1 && Threads % RowRing::warp == 0);
  // All reductions of a team share one scratch, its own.
  template <class V> using Scratch = RingTeam&;

  // All threads of the block call. The barriers are ready after start().
  __device__ __forceinline__ RingTeam(const RowRing& sized, unsigned char* of_block)
      : ring(sized),
        shared(of_block),
        index(static_cast<int>(threadIdx.x) / Threads),
        thread(static_cast<int>(threadIdx.x) % Threads),
        rank(ring.cluster > 1 ? static_cast<int>(cluster_rank()) : 0) {
    const int cluster = static_cast<int>(blockIdx.x) / ring.cluster,
              clusters = static_cast<int>(gridDim.x) / ring.cluster;
    // The clusters of an alignment offset have every offsets-th row; their teams take these in turn.
    offset = cluster % ring.offsets;
    first_row = std::int64_t{cluster / ring.offsets * ring.teams + index} * ring.offsets + offset;
    slot_step = std::int64_t{clusters / ring.offsets * ring.teams} * ring.offsets;
    if (thread == 0) {
      for (int s = 0; s < ring.stages; ++s) init(full(s), 1);
      fence_init();
    }
    __syncwarp();  // the first warp calls load_first()
    unsigned* exchange_buffers = reinterpret_cast<unsigned*>(shared + ring.exchange_at());
    for (int i = static_cast<int>(threadIdx.x); i < ring.exchange_bytes() / word_bytes;
         i += static_cast<int>(blockDim.x))
      exchange_buffers[i] = 0;  // no exchange's number
  }
  __device__ __forceinline__ void start() const {
    if (ring.cluster > 1) cluster_sync();
    else __syncthreads();
  }
  // No block ends while another one may still write to it.
  __device__ __forceinline__ void finish() const {
    if (ring.cluster > 1) cluster_sync_relaxed();
  }

  __device__ __forceinline__ int lane() const { return thread; }

  __device__ __forceinline__ void sync() const { named_barrier_sync<Threads>(index + 1); }

  // Starts to load the first rows, before or after start(). Then for_each_row() may be called, with the same arguments.
  template <class T, int N>
  __device__ __forceinline__ void load_first(const RingRows (&tensors)[N], std::int64_t rows, std::int64_t cols) {
    const unsigned char* like = tensors[0].row(offset);  // all of the team's rows are co-aligned
    slice = slice_of<T>(like, cols, ring, rank);
    const auto begin = reinterpret_cast<std::uintptr_t>(like + slice.begin * sizeof(T));
    const auto size = static_cast<unsigned>((slice.end - slice.begin) * sizeof(T));
    off = static_cast<unsigned>(begin % vector_bytes);
    bytes = size == 0 ? 0 : (off + size + vector_bytes - 1) / vector_bytes * vector_bytes;
    // A lane for each slot: in one lane, each slot would wait for the one before.
    if (thread < ring.stages) fill<T>(thread, first_row + thread * slot_step, tensors, rows);
  }
  // The vectors of a row, the same for all of the team's rows; after load_first(). Where the rows are co-aligned on
  // 128-byte lines, the lanes are shifted so that eight of them access one line.
  template <class T> __device__ __forceinline__ RowVectors<T, lanes> vectors(const RingRows& tensor) const {
    constexpr int line_vectors = RowRing::line_bytes / vector_bytes;
    const T* row = reinterpret_cast<const T*>(tensor.row(offset)) + slice.begin;
    RowVectors<T, lanes> of_lane(row, slice.end - slice.begin, lane());
    if (ring.on_lines) {
      of_lane.lane -=
          static_cast<int>(reinterpret_cast<std::uintptr_t>(row + of_lane.head) / vector_bytes % line_vectors);
      if (of_lane.lane < 0) of_lane.lane += lanes;
    }
    return of_lane;
  }

  // Calls body(RowInSlot) for the team's rows, one after the other. The body may not write to the slot.
  template <class T, int N, class Body>
  __device__ __forceinline__ void for_each_row(const RingRows (&tensors)[N], std::int64_t rows, Body&& body) {
    const int slot_bytes = ring.slot();
    unsigned char* const slots = shared + index * ring.stages * slot_bytes + off;
    const std::int64_t ahead = ring.stages * slot_step;
    int stage = 0;
    unsigned parity = 0;
    for (std::int64_t row = first_row; row < rows; row += slot_step) {
      wait(full(stage), parity);
      body(RowInSlot<T>{row, slots + stage * slot_bytes, ring.row_bytes});
      sync();
      if (thread == 0) fill<T>(stage, row + ahead, tensors, rows);
      if (++stage == ring.stages) stage = 0, parity ^= 1;
    }
  }

  // The same in two parts: begin(RowInSlot) returns a State, and finish(RowInSlot, State) is called after begin() of
  // the next row, so that what begin() has sent is in flight meanwhile.
  template <class T, class State, int N, class Begin, class Finish>
  __device__ __forceinline__ void for_each_row_later(const RingRows (&tensors)[N], std::int64_t rows, Begin&& begin,
                                                     Finish&& finish) {
    const int slot_bytes = ring.slot();
    unsigned char* const slots = shared + index * ring.stages * slot_bytes + off;
    const std::int64_t ahead = ring.stages * slot_step;
    State of_before{};
    int stage = 0, stage_before = 0;
    unsigned parity = 0;
    const auto in_slot = [&](int at, std::int64_t row) {
      return RowInSlot<T>{row, slots + at * slot_bytes, ring.row_bytes};
    };
    std::int64_t row = first_row;
    for (; row < rows; row += slot_step) {
      wait(full(stage), parity);
      const State state = begin(in_slot(stage, row));
      if (row > first_row) {
        const std::int64_t before = row - slot_step;
        finish(in_slot(stage_before, before), of_before);
        sync();
        if (thread == 0) fill<T>(stage_before, before + ahead, tensors, rows);
      }
      of_before = state;
      stage_before = stage;
      if (++stage == ring.stages) stage = 0, parity ^= 1;
    }
    if (row > first_row) finish(in_slot(stage_before, row - slot_step), of_before);
  }

  // Reduces over the row, in all its blocks; every lane gets the result.
  template <class V, class F> static __device__ __forceinline__ V reduce(V value, F f, RingTeam& team) {
    value = team.reduce_in_block(value, f);
    return team.ring.cluster > 1 ? team.exchange(value, f) : value;
  }
  // Reduces over this block's part of the row.
  template <class V, class F> __device__ __forceinline__ V reduce_in_block(V value, F f) {
    static_assert(sizeof(V) <= RowRing::value_bytes);
    const simt::tile<RowRing::warp> warp;
    value = warp.reduce(value, f);
    unsigned char* scratch =
        shared + ring.scratch_at() + (index * RowRing::exchanges + scratch_index()) * warps * RowRing::value_bytes;
    const auto partial = [&](int w) { return reinterpret_cast<V*>(scratch + w * RowRing::value_bytes); };
    if (warp.rank() == 0) *partial(thread / RowRing::warp) = value;
    ++reductions;
    sync();
    if constexpr ((warps & (warps - 1)) == 0) {
      return simt::tiles<warps>().reduce(*partial(warp.rank() % warps), f);
    } else {  // V{} is neutral
      constexpr int wide = std::bit_ceil(static_cast<unsigned>(warps));
      const int w = warp.rank() % wide;
      return simt::tiles<wide>().reduce(w < warps ? *partial(w) : V{}, f);
    }
  }
  // post() sends this block's value to the cluster's blocks, after reduce_in_block(), and returns the exchange's
  // number; collect() receives the values of that number: lane l of each warp gets that of block l % cluster. At most
  // one row's value is posted before that of the row before is collected.
  template <class V> __device__ __forceinline__ unsigned post(const V& value) {
    static_assert(sizeof(V) <= RowRing::value_bytes);
    const unsigned number = ++exchanges_;
    if (thread < ring.cluster) {
      unsigned word[sizeof(V) / word_bytes];
      memcpy(word, &value, sizeof value);
#pragma unroll
      for (int w = 0; w < static_cast<int>(sizeof(V) / word_bytes); ++w)
        send(exchange_buffer(number) + rank * RowRing::exchange_slot_bytes + w * 2 * word_bytes,
             static_cast<unsigned>(thread), word[w], number);
    }
    return number;
  }
  template <class V> __device__ __forceinline__ V collect(unsigned number) const {
    unsigned word[sizeof(V) / word_bytes];
    const unsigned char* from =
        exchange_buffer(number) + thread % RowRing::warp % ring.cluster * RowRing::exchange_slot_bytes;
#pragma unroll
    for (int w = 0; w < static_cast<int>(sizeof(V) / word_bytes); ++w)
      word[w] = receive(from + w * 2 * word_bytes, number);
    V v;
    memcpy(&v, word, sizeof v);
    return v;
  }

  RowRing ring;
  unsigned char* shared;
  int index, thread, rank;
  RowSlice slice;  // this block's part of a row

 private:
  // Starts to load a row, if there is one, to a slot that no thread reads any more. One thread calls.
  template <class T, int N>
  __device__ __forceinline__ void fill(int stage, std::int64_t row, const RingRows (&tensors)[N],
                                       std::int64_t rows) const {
    if (row >= rows) return;
    unsigned char* to = shared + (index * ring.stages + stage) * ring.slot();
    bool inside = true;  // of the tensors
#pragma unroll
    for (int n = 0; n < N; ++n)
      if (n < ring.tensors)
        inside = inside && low_of<T>(tensors[n], row) >= tensors[n].begin &&
                 low_of<T>(tensors[n], row) + bytes <= tensors[n].end;
    if (!inside) {
      const auto size = static_cast<unsigned>((slice.end - slice.begin) * sizeof(T));
      unsigned expected = 0;
#pragma unroll
      for (int n = 0; n < N; ++n)
        if (n < ring.tensors)
          expected += copy_partial_row<T>(to + n * ring.row_bytes, low_of<T>(tensors[n], row), tensors[n].begin,
                                          tensors[n].end, off, size, bytes, full(stage), false);
      arrive_and_expect_tx(full(stage), expected);  // orders the elements' stores too
#pragma unroll
      for (int n = 0; n < N; ++n)
        if (n < ring.tensors)
          copy_partial_row<T>(to + n * ring.row_bytes, low_of<T>(tensors[n], row), tensors[n].begin, tensors[n].end,
                              off, size, bytes, full(stage), true);
      return;
    }
    arrive_and_expect_tx(full(stage), ring.tensors * bytes);
#pragma unroll
    for (int n = 0; n < N; ++n)
      if (n < ring.tensors && bytes) copy_bulk(to + n * ring.row_bytes, low_of<T>(tensors[n], row), bytes, full(stage));
    if (row + slot_step < rows)
#pragma unroll
      for (int n = 0; n < N; ++n)
        if (n < ring.tensors) prefetch_next(low_of<T>(tensors[n], row), slot_step, tensors[n].pitch, bytes, N);
  }
  // Prefetches the next row, whose slot is not free yet, to the L2 cache, without its last vector, which may not all be
  // the tensor's. A function, so that its registers are not the loop's.
  static __device__ __attribute__((noinline)) void prefetch_next(const unsigned char* low, std::int64_t slot_step,
                                                                 std::int64_t pitch, unsigned bytes, unsigned tensors) {
    const unsigned most = RowRing::prefetch_bytes / tensors / vector_bytes * vector_bytes;
    if (bytes > vector_bytes) prefetch_l2(low + slot_step * pitch, ::min(most, bytes - vector_bytes));
  }
  // The address of the vector with the first element of a row, or of its slice.
  template <class T>
  __device__ __forceinline__ const unsigned char* low_of(const RingRows& tensor, std::int64_t row) const {
    return tensor.row(row) + slice.begin * static_cast<int>(sizeof(T)) - off;
  }
  // Loads a row whose first or last vector is partly outside of the tensor: elements of such a vector one by one
  // (vectors false), then whole vectors by a copy (vectors true). Returns the copy's bytes. Rare, so it is no part of
  // the loop's code; its arguments are values, since a team whose address is taken would be in memory.
  template <class T>
  static __device__ __attribute__((noinline)) unsigned copy_partial_row(unsigned char* to, const unsigned char* low,
                                                                        const unsigned char* begin,
                                                                        const unsigned char* end, unsigned off,
                                                                        unsigned size, unsigned bytes, Barrier* full,
                                                                        bool vectors) {
    const unsigned first = low < begin ? vector_bytes : 0, last = low + bytes > end ? bytes - vector_bytes : bytes;
    const unsigned whole = last > first ? last - first : 0;
    if (!vectors) {
      // At most a vector's elements at either end: one thread reads them, while its team waits.
      const auto read = [&](unsigned at, unsigned before) {
        for (; at < before; at += sizeof(T)) *reinterpret_cast<T*>(to + at) = *reinterpret_cast<const T*>(low + at);
      };
      read(off, ::min(first, off + size));
      read(::max(last, ::max(first, off)), off + size);
    } else if (whole > 0) {
      copy_bulk(to + first, low + first, whole, full);
    }
    return whole;
  }

  __device__ __forceinline__ Barrier* full(int stage) const {
    return reinterpret_cast<Barrier*>(shared + ring.barriers_at()) + index * ring.stages + stage;
  }
  // Consecutive reductions alternate between two scratches: a thread that writes for the next but one has seen all of
  // the next one's values.
  __device__ __forceinline__ int scratch_index() const { return static_cast<int>(reductions % RowRing::exchanges); }
  // Where this team receives the values of an exchange.
  __device__ __forceinline__ unsigned char* exchange_buffer(unsigned number) const {
    return shared + ring.exchange_at() +
           (index * RowRing::exchange_buffers + static_cast<int>(number % RowRing::exchange_buffers)) * ring.cluster *
               RowRing::exchange_slot_bytes;
  }

  template <class V, class F> __device__ __forceinline__ V exchange(const V& value, F f) {
    const V of_lane = collect<V>(post(value));
    const simt::tile<RowRing::warp> warp;
    V sum = warp.shfl(of_lane, 0);
#pragma unroll 1
    for (int r = 1; r < ring.cluster; ++r) sum = f(sum, warp.shfl(of_lane, r));
    return sum;
  }

  int offset;
  std::int64_t first_row, slot_step;
  unsigned off = 0, bytes = 0;  // of a slice: its alignment offset; the bytes of its vectors
  unsigned reductions = 0, exchanges_ = 0;
};

}  // namespace ridge::tile::sm90
