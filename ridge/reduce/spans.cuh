// Short rows without gaps between them: a block loads its rows to shared memory as one span, in 16-byte accesses
// whatever the rows' alignment; then one or several threads work on a row.
#pragma once
#include <ridge/reduce/finish.cuh>
#include <ridge/tile/row_span.cuh>

#include <bit>

namespace ridge::reduce_detail {

// A thread's words of W elements of a row in shared memory: `lanes` neighbouring threads share the row, and go around
// it from a word such that all lanes of a warp are in different banks.
struct SpanThread {
  int log2_lanes, lanes, rank, start;

  template <class T, int W> static __device__ __forceinline__ SpanThread of(int log2_lanes, int cols) {
    constexpr unsigned wave = sizeof(T) == 8 ? 16 : 32;  // lanes whose accesses are one wavefront
    constexpr unsigned bank = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    const auto t = static_cast<unsigned>(threadIdx.x), c = static_cast<unsigned>(cols);
    const unsigned stride = c % bank == 0 ? c / bank : 1, common = ::min(stride & (0u - stride), wave);
    const int lanes = 1 << log2_lanes;
    return {log2_lanes, lanes, static_cast<int>(t) & (lanes - 1),
            static_cast<int>(((t % wave >> log2_lanes) * common / wave << log2_lanes) * (bank / W))};
  }
};

// The words of W elements that a row in shared memory is in; the first and the last one may also have elements of other
// rows. Positions count from the first word's start.
template <class T, int W> struct SpanWords {
  using Elements = simt::vec<T, W>;
  // Elements of 1 and 2 bytes stay packed in a register until they are used: nvcc unpacks vectors of them at once.
  using Word = std::conditional_t<W == 1, T, std::uint32_t>;
  static_assert(sizeof(Word) == sizeof(Elements));
  const T* words;
  int before, cols, size;  // elements of the first word that are not the row's; elements of the row; of all words

  // Row `row` of those that start at room + lead; room is aligned to words.
  __device__ __forceinline__ SpanWords(const T* room, int lead, int row, int row_cols) : cols(row_cols) {
    // The product of the factors' low bits, as clang 15 fails to multiply single bits on AMD.
    before = (lead + (row & (W - 1)) * (cols & (W - 1))) & (W - 1);
    words = room + (lead + row * cols - before);
    size = (before + cols + W - 1) & ~(W - 1);
  }
  __device__ __forceinline__ Word load(int at) const {
    if constexpr (RIDGE_SIMT_ON_CUDA) return *reinterpret_cast<const Word*>(words + at);
    else return to_word(simt::load<W>(words + at));
  }
  static __device__ __forceinline__ Word to_word(const Elements& elements) {
    Word word;
    memcpy(&word, &elements, sizeof word);
    return word;
  }
  static __device__ __forceinline__ Elements elements(Word word) {
    Elements all;
    memcpy(&all, &word, sizeof all);
    return all;
  }
  // Whether the element at a position is the row's.
  __device__ __forceinline__ bool has(int at) const {
    return static_cast<unsigned>(at - before) < static_cast<unsigned>(cols);
  }
  // Calls f(word, position) for a thread's words; in the first and the last, `none` replaces elements of other rows.
  template <class F> __device__ __forceinline__ void for_words(const SpanThread& own, T none, F&& f) const {
    const auto edge = [&](int at) {
      Elements own_ones = elements(load(at));
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < W; ++v)
        if (!has(at + v)) own_ones[v] = none;
      f(to_word(own_ones), at);
    };
    constexpr int inner = W > 1 ? W : 0;  // start of the words that have only elements of this row
    if constexpr (W > 1) {
      if (own.rank == 0) edge(0);
      if (own.rank == own.lanes - 1 && size > W) edge(size - W);
    }
    const int all = size - 2 * inner, start = ::min(own.start * W, ::max(all, 0));
    const int iterations = (all / W - own.rank + own.lanes - 1) >> own.log2_lanes;
    auto on = static_cast<unsigned>(start + own.rank * W);
#pragma unroll 4
    for (int i = 0; i < iterations; ++i) {
      const unsigned around = on - static_cast<unsigned>(all);  // beyond any row where it did not wrap
      const int at = inner + static_cast<int>(::min(on, around));
      f(load(at), at);
      on += static_cast<unsigned>(own.lanes * W);
    }
  }
};

// Reduces by f over the lanes of a row; all lanes of the warp call, and all get the result.
template <class P, class F> __device__ __forceinline__ P over_lanes(P value, int lanes, F f) {
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value = f(value, simt::tiles<32>().shfl_xor(value, distance));
  return value;
}

// Whether x is the extreme of its row, which nothing beats.
template <class R, class T> __device__ __forceinline__ bool is_extreme(T x, T extreme) {
  if constexpr (tile::has_pairs<T>) return !R::Order::beats(float(extreme), float(x));  // fewer instructions
  else return !R::Order::beats(extreme, x);
}

// R over a row in shared memory.
template <class R, int W>
__device__ __forceinline__ typename R::Output of_row(const SpanWords<typename R::Element, W>& row,
                                                     const SpanThread& own, const Finish& finish) {
  using T = typename R::Element;
  using Words = SpanWords<T, W>;
  using Word = typename Words::Word;
  if constexpr (R::locates) {  // the extreme, then the first word that has it, then the first element
    using Value = typename R::Value;
    typename Value::template Running<W> running;
    row.for_words(own, R::neutral(), [&](Word word, int) { running.add(Words::elements(word)); });
    const T extreme = over_lanes(running.result(), own.lanes, Combine<Value>());
    [[maybe_unused]] std::uint32_t four = 0;
    if constexpr (sizeof(T) == 1) four = 0x01010101u * static_cast<std::uint8_t>(extreme);
    int found = row.size;
    row.for_words(own, R::neutral(), [&](Word word, int at) {
      bool any = false;
      if constexpr (sizeof(Word) == 4 * sizeof(T)) {  // whether one byte of the difference is zero
        const std::uint32_t difference = word ^ four;
        any = ((difference - 0x01010101u) & ~difference & 0x80808080u) != 0;
      } else {
        const auto elements = Words::elements(word);
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < W; ++v) any = any || is_extreme<R>(elements[v], extreme);
      }
      if (any) found = ::min(found, at);
    });
    found = over_lanes(found, own.lanes, [](int a, int b) { return ::min(a, b); });
    if constexpr (W == 1) return found;
    const auto elements = Words::elements(row.load(found));
    int index = row.size;
    RIDGE_UNROLL_ON_GPU
    for (int v = W - 1; v >= 0; --v)
      if (is_extreme<R>(elements[v], extreme) && row.has(found + v)) index = found + v - row.before;
    return index;
  } else {
    typename R::template Running<W> running;
    row.for_words(own, R::neutral(), [&](Word word, int) { running.add(Words::elements(word)); });
    return R::output(over_lanes(running.result(), own.lanes, Combine<R>()), row.cols, finish);
  }
}

// y[r] = R over row r of a span in shared memory, by words of W elements.
template <int W, class S, class R>
__device__ __forceinline__ void of_rows(const typename R::Element* room, int lead, int rows, int cols, int log2_lanes,
                                        typename R::Output* y, std::int64_t step, const Finish& finish) {
  using T = typename R::Element;
  const auto own = SpanThread::of<T, W>(log2_lanes, cols);
  const int mine = log2_lanes == 0 ? tile::SpanRow<T>(cols).first() : static_cast<int>(threadIdx.x) >> log2_lanes;
  for (int r = mine; r - mine < rows; r += S::threads >> log2_lanes) {
    const int row = ::min(r, rows - 1);  // beyond the last row: that row again, as lanes must converge
    const auto result = of_row<R>(SpanWords<T, W>(room, lead, row, cols), own, finish);
    if (r < rows && own.rank == 0) y[r * step] = result;
  }
}

// y[r] = R over row r                                           x: [rows, cols], without gaps   y: [rows]
// Preconditions: rows are one axis; 0 < cols; rows_of_block is a multiple of the rows that the threads have at a time,
// and, if each thread has one, of tile::span_pair; gridDim.x * rows_of_block covers rows; tile::span_room() of dynamic
// shared memory.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_spans(Input<typename R::Element> in, typename R::Output* y, int rows_of_block, int log2_lanes,
                 Finish finish) {
  using T = typename R::Element;
  const int cols = static_cast<int>(in.cols);
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block;
  const int here = static_cast<int>(::min(in.rows - first, std::int64_t{rows_of_block}));
  T* room = simt::dynamic_shared<T>();
  const tile::RowSpan<T> span(in.x + first * cols, here * cols);
  y += first * in.axes.y[0];
  constexpr int W = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  if (cols * static_cast<int>(sizeof(T)) > span_short_bytes) {
    span.template load_async<S::threads>(in.x + first * cols, room);
    tile::wait_for_copies();
    __syncthreads();
    of_rows<W, S, R>(room, span.lead, here, cols, log2_lanes, y, in.axes.y[0], finish);
  } else {  // few words, most of which have elements of other rows too: element by element is faster
    span.template load<S::threads>(in.x + first * cols, room);
    __syncthreads();
    of_rows<1, S, R>(room, span.lead, here, cols, log2_lanes, y, in.axes.y[0], finish);
  }
}

namespace spans {

template <class P, class R> static Status launch(const Call<R>& call) {
  const Tiling t = tiling_of(call);
  return simt::launch(launch_config(call), reduce_spans<ShapeOf<P>, R>, call.in, call.y, static_cast<int>(t.block_rows),
                      std::countr_zero(static_cast<unsigned>(t.row_threads)), call.finish);
}

}  // namespace spans
}  // namespace ridge::reduce_detail
