// Rows of a matrix that pass through a block's shared memory, ahead of the threads that work on them. Each team of
// threads has a ring of slots (tile/row_ring.hpp); its first warp has the copy engine fill a slot again once the team
// is through with it. What is on its way does not depend on registers or on how many threads there are, and a team that
// waits for a reduction has its next rows coming.
//
// A row of several blocks (a cluster) lies in slices of whole units, each a row of its own: only the first has a head,
// only the last a tail. A reduction is then finished by a message from each block to each other one.
//
// A message is words of 8 bytes, each a value and its number, which the receiver looks for in its own shared memory.
// Barriers that other blocks arrive at would do too, but what is ordered by them waits for the sender's stores of the
// row before to reach the L2 cache: two microseconds for each reduction, measured.
#pragma once
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_ring.hpp>
#include <ridge/tile/row_units.cuh>
#include <ridge/tile/rows_ahead.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

#include <bit>

namespace ridge::tile::sm90 {

// A tensor's rows as the copy engine reads them: whole units, so also bytes beside a row, but none beside the tensor.
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

// The part of a row that this block has: elements [begin, end).
struct RowSlice {
  std::int64_t begin, end;
};
template <class T>
__device__ __forceinline__ RowSlice slice_of(const unsigned char* row, std::int64_t cols, const RowRing& ring,
                                             int rank) {
  if (ring.cluster == 1) return {0, cols};
  constexpr int V = unit_elements<T>;
  const std::int64_t to_boundary =
      static_cast<std::int64_t>((0 - reinterpret_cast<std::uintptr_t>(row)) % unit_bytes / sizeof(T));
  const std::int64_t head = to_boundary < cols ? to_boundary : cols, units = (cols - head) / V;
  const auto unit = [&](int r) {
    const std::int64_t u = std::int64_t{r} * ring.slice_units;
    return head + (u < units ? u : units) * V;
  };
  return {rank == 0 ? 0 : unit(rank), rank == ring.cluster - 1 ? cols : unit(rank + 1)};
}

// A row, or this block's slice of it, in a slot.
template <class T> struct RowInSlot {
  std::int64_t row;
  unsigned char* first;  // element of the first tensor
  int row_bytes;
  // The slice of tensor n, in shared memory; it lies on units as it does in memory.
  __device__ __forceinline__ T* of(int n) const { return reinterpret_cast<T*>(first + n * row_bytes); }
};

// The Threads of a team, several warps, share a row.
template <int Threads> class RingTeam {
 public:
  static constexpr int lanes = Threads, warps = Threads / RowRing::warp;
  static_assert(warps > 1 && Threads % RowRing::warp == 0);
  // All reductions of a team share one scratch, its own.
  template <class V> using Scratch = RingTeam&;

  // All threads of the block. Barriers are ready behind the next barrier of the block or cluster (start()).
  __device__ __forceinline__ RingTeam(const RowRing& sized, unsigned char* of_block)
      : ring(sized),
        shared(of_block),
        index(static_cast<int>(threadIdx.x) / Threads),
        thread(static_cast<int>(threadIdx.x) % Threads),
        rank(ring.cluster > 1 ? static_cast<int>(cluster_rank()) : 0) {
    const int cluster = static_cast<int>(blockIdx.x) / ring.cluster,
              clusters = static_cast<int>(gridDim.x) / ring.cluster;
    // Every phases-th row is this cluster's phase's; those are dealt out by slots to the teams of its clusters.
    phase = cluster % ring.phases;
    first_row = std::int64_t{cluster / ring.phases * ring.teams + index} * ring.phases + phase;
    slot_step = std::int64_t{clusters / ring.phases * ring.teams} * ring.phases;
    if (thread == 0) {
      for (int s = 0; s < ring.stages; ++s) init(full(s), 1);
      fence_init();
    }
    __syncwarp();  // bring_first() is the first warp's
    unsigned* inboxes = reinterpret_cast<unsigned*>(shared + ring.inbox_at());
    for (int i = static_cast<int>(threadIdx.x); i < ring.inbox_bytes() / word_bytes; i += static_cast<int>(blockDim.x))
      inboxes[i] = 0;  // no message's number
  }
  __device__ __forceinline__ void start() const {
    if (ring.cluster > 1) sync_cluster_and_stores();
    else __syncthreads();
  }
  // No block leaves while another one may still write to it.
  __device__ __forceinline__ void finish() const {
    if (ring.cluster > 1) sync_cluster();
  }

  __device__ __forceinline__ int lane() const { return thread; }

  __device__ __forceinline__ void sync() const { await_named<Threads>(index + 1); }

  // Has the first rows brought, before or after start(). Then for_each_row() may be called, with the same arguments.
  template <class T, int N>
  __device__ __forceinline__ void bring_first(const RingRows (&tensors)[N], std::int64_t rows, std::int64_t cols) {
    const unsigned char* like = tensors[0].row(phase);  // all of the team's rows lie alike
    slice = slice_of<T>(like, cols, ring, rank);
    const auto begin = reinterpret_cast<std::uintptr_t>(like + slice.begin * sizeof(T));
    const auto size = static_cast<unsigned>((slice.end - slice.begin) * sizeof(T));
    off = static_cast<unsigned>(begin % unit_bytes);
    bytes = size == 0 ? 0 : (off + size + unit_bytes - 1) / unit_bytes * unit_bytes;
    // By a lane for each slot, or one would wait for the other.
    if (thread < ring.stages) fill<T>(thread, first_row + thread * slot_step, tensors, rows);
  }
  // A row of the shape of all of them, in place of them: after bring_first(). Where they lie alike on lines of memory,
  // eight lanes' units are one: all begin so many lanes later,
  // and the last ones' units are the first's of the next one.
  template <class T> __device__ __forceinline__ RowUnits<T, lanes> units(const RingRows& tensor) const {
    constexpr int line_units = RowRing::line_bytes / unit_bytes;
    const T* row = reinterpret_cast<const T*>(tensor.row(phase)) + slice.begin;
    RowUnits<T, lanes> of_lane(row, slice.end - slice.begin, lane());
    if (ring.on_lines) {
      of_lane.lane -= static_cast<int>(reinterpret_cast<std::uintptr_t>(row + of_lane.head) / unit_bytes % line_units);
      if (of_lane.lane < 0) of_lane.lane += lanes;
    }
    return of_lane;
  }

  // Calls body(RowInSlot) for the team's rows, one after the other. It may not write to them.
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

  // The same in two parts: begin(RowInSlot) gives a State, and finish(RowInSlot, State) is called
  // after begin() of the next row, so that what begin() has sent is on its way meanwhile.
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

  // The same result in every lane of the row, in all its blocks.
  template <class V, class F> static __device__ __forceinline__ V reduce(V value, F f, RingTeam& team) {
    value = team.reduce_in_block(value, f);
    return team.ring.cluster > 1 ? team.exchange(value, f) : value;
  }
  // In those of this block.
  template <class V, class F> __device__ __forceinline__ V reduce_in_block(V value, F f) {
    static_assert(sizeof(V) <= RowRing::value_bytes);
    const simt::tile<RowRing::warp> warp;
    value = warp.reduce(value, f);
    unsigned char* scratch =
        shared + ring.scratch_at() + (index * RowRing::exchanges + turn()) * warps * RowRing::value_bytes;
    const auto partial = [&](int w) { return reinterpret_cast<V*>(scratch + w * RowRing::value_bytes); };
    if (warp.rank() == 0) *partial(thread / RowRing::warp) = value;
    ++reductions;
    sync();
    if constexpr ((warps & (warps - 1)) == 0) {
      return simt::tiles<warps>().reduce(*partial(warp.rank() % warps), f);
    } else {  // f(value, V{}) is the value
      constexpr int wide = std::bit_ceil(static_cast<unsigned>(warps));
      const int w = warp.rank() % wide;
      return simt::tiles<wide>().reduce(w < warps ? *partial(w) : V{}, f);
    }
  }
  // Sends what this block has to the others of the cluster, behind reduce_in_block(); and what they have sent, under
  // the number that post() gave: lane l of each warp gets that of block l % cluster. At most one row's is posted before
  // the one of the row before is collected.
  template <class V> __device__ __forceinline__ unsigned post(const V& value) {
    static_assert(sizeof(V) <= RowRing::value_bytes);
    const unsigned number = ++messages;
    if (thread < ring.cluster) {
      unsigned word[sizeof(V) / word_bytes];
      memcpy(word, &value, sizeof value);
#pragma unroll
      for (int w = 0; w < static_cast<int>(sizeof(V) / word_bytes); ++w)
        send(inbox(number) + rank * RowRing::message_bytes + w * 2 * word_bytes, static_cast<unsigned>(thread), word[w],
             number);
    }
    return number;
  }
  template <class V> __device__ __forceinline__ V collect(unsigned number) const {
    unsigned word[sizeof(V) / word_bytes];
    const unsigned char* from = inbox(number) + thread % RowRing::warp % ring.cluster * RowRing::message_bytes;
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
  RowSlice slice;  // of a row, that this block has

 private:
  // Has a slot filled with a row, if there is one: by one thread. Nobody reads the slot any more.
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
          expected += copy_partly<T>(to + n * ring.row_bytes, low_of<T>(tensors[n], row), tensors[n].begin,
                                     tensors[n].end, off, size, bytes, full(stage), false);
      arrive_expecting(full(stage), expected);  // also tells of the elements
#pragma unroll
      for (int n = 0; n < N; ++n)
        if (n < ring.tensors)
          copy_partly<T>(to + n * ring.row_bytes, low_of<T>(tensors[n], row), tensors[n].begin, tensors[n].end, off,
                         size, bytes, full(stage), true);
      return;
    }
    arrive_expecting(full(stage), ring.tensors * bytes);
#pragma unroll
    for (int n = 0; n < N; ++n)
      if (n < ring.tensors && bytes) copy_bulk(to + n * ring.row_bytes, low_of<T>(tensors[n], row), bytes, full(stage));
    if (row + slot_step < rows)
#pragma unroll
      for (int n = 0; n < N; ++n)
        if (n < ring.tensors) bring_next(low_of<T>(tensors[n], row), slot_step, tensors[n].pitch, bytes, N);
  }
  // The next row, whose slot is not free yet, to the L2 cache: less its last unit, which may not all be the tensor's. A
  // function, for that its registers are not the loop's.
  static __device__ __attribute__((noinline)) void bring_next(const unsigned char* low, std::int64_t slot_step,
                                                              std::int64_t pitch, unsigned bytes, unsigned tensors) {
    const unsigned most = RowRing::bytes_ahead / tensors / unit_bytes * unit_bytes;
    if (bytes > unit_bytes) bring(low + slot_step * pitch, ::min(most, bytes - unit_bytes));
  }
  // The unit that has a row's, or its slice's, first element.
  template <class T>
  __device__ __forceinline__ const unsigned char* low_of(const RingRows& tensor, std::int64_t row) const {
    return tensor.row(row) + slice.begin * static_cast<int>(sizeof(T)) - off;
  }
  // Of a row whose first or last unit is partly beside the tensor, elements there are read one by one, and whole units
  // copied; gives their bytes. First the elements, then the units. Rare, so it shall not take room in the loop; and it
  // is given values, since a team whose address is taken would lie in memory.
  template <class T>
  static __device__ __attribute__((noinline)) unsigned copy_partly(unsigned char* to, const unsigned char* low,
                                                                   const unsigned char* begin, const unsigned char* end,
                                                                   unsigned off, unsigned size, unsigned bytes,
                                                                   Barrier* full, bool units) {
    const unsigned first = low < begin ? unit_bytes : 0, last = low + bytes > end ? bytes - unit_bytes : bytes;
    const unsigned whole = last > first ? last - first : 0;
    if (!units) {
      // At most a unit's elements at either end: one thread reads them, and its team waits for it.
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
  // Two reductions' places take turns: who writes for the next but one has seen all of the next one's.
  __device__ __forceinline__ int turn() const { return static_cast<int>(reductions % RowRing::exchanges); }
  // Where this team gets messages of a number.
  __device__ __forceinline__ unsigned char* inbox(unsigned number) const {
    return shared + ring.inbox_at() +
           (index * RowRing::inboxes + static_cast<int>(number % RowRing::inboxes)) * ring.cluster *
               RowRing::message_bytes;
  }

  template <class V, class F> __device__ __forceinline__ V exchange(const V& value, F f) {
    const V of_lane = collect<V>(post(value));
    const simt::tile<RowRing::warp> warp;
    V sum = warp.shfl(of_lane, 0);
#pragma unroll 1
    for (int r = 1; r < ring.cluster; ++r) sum = f(sum, warp.shfl(of_lane, r));
    return sum;
  }

  int phase;
  std::int64_t first_row, slot_step;
  unsigned off = 0, bytes = 0;  // of a slice: its first element's place in its unit; its units
  unsigned reductions = 0, messages = 0;
};

}  // namespace ridge::tile::sm90
