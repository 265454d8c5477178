// w's gradient by wgmma: dh(d) is the sum over rows and t of dy[t] k[t - d], the sums along the diagonals of dy^T k.
//
// A block keeps all steps of a channel's dy and k in shared memory, 32 rows of the batch at a time. Products of a chunk
// of dy and a chunk of k at a distance of j chunks have the same diagonals wherever they are in time, so a warpgroup
// accumulates all of them in the tensor cores: 64 x 64 sums for each j; the product's k is the batch.
// Then it adds up their diagonals.
#pragma once
#include <ridge/dwconv/launch.cuh>
#include <ridge/dwconv/sm90_lags.hpp>
#include <ridge/dwconv/sm90_lines.cuh>
#include <ridge/tile/sm90/mbarrier.cuh>

namespace ridge::dwconv_detail {

struct WholeLags {
  static constexpr int threads = whole_lags_threads, summing = whole_lags_summing;
  using K = Lines<threads>;
  // A warp's 16 x 64 sums, as bands of 8 x 8: blocks on the same diagonal are added up.
  static constexpr int bands = chunk / 8 + 1;

  struct Shared {
    unsigned char *dy, *k;      // [chunks] of lines
    float* staged;              // [summing * 4 warps][bands][8][8]
    float* above;               // [chunks * 64] by lag: sums from tiles in which the lag is at or below the diagonal
    float* below;               // sums from tiles in which it is above the diagonal
    unsigned* range;            // [2][band_rows]: the greatest magnitudes of dy's and of k's rows
    int* fallback;              // [band_rows]: computed in float32
    tile::sm90::Barrier* done;  // [2], alternating by round: no warp needs the round's chunks any more
    __device__ __forceinline__ explicit Shared(int chunks) {
      dy = tile::sm90::swizzled_shared();
      k = dy + chunks * lines_bytes;
      staged = reinterpret_cast<float*>(k + chunks * lines_bytes);
      above = staged + staged_words;
      below = above + chunks * chunk;
      range = reinterpret_cast<unsigned*>(below + chunks * chunk);
      fallback = reinterpret_cast<int*>(range + 2 * band_rows);
      done = reinterpret_cast<tile::sm90::Barrier*>(fallback + band_rows);
    }
  };

  // Splits the fetched rows of a signal into hi and lo, all with one scale, and returns its inverse. A row that is not
  // in range is stored as zeros, and marked.
  static __device__ __forceinline__ float split(unsigned char* lines, unsigned* range, int* fallback, std::int64_t step,
                                                int chunks) {
    typename K::Values x;
    Magnitudes mine;
#pragma unroll 4
    for (int i = 0; i < chunks; ++i) {
      K::read(x, lines, i, step);
      K::measure(mine, x);
    }
    mine = mine.template across_each<K::row_lanes>();
    if (K::in_row() == 0) range[K::row()] = mine.greatest;
    __syncthreads();
    Magnitudes all;  // of rows that a scale could bring into range
    for (int r = 0; r < band_rows; ++r) {
      const Magnitudes m{range[r], ~0u};
      if (m.finite() && m.exponent() <= most_exponent) all.greatest = ::max(all.greatest, m.greatest);
    }
    const bool serves = mine.greatest <= all.greatest && in_range(mine, all.exponent());
    if (K::in_row() == 0 && !serves) fallback[K::row()] = 1;
    const int exponent = ::min(::max(all.exponent(), least_exponent), most_exponent);
    const float by = power_of_two(top_exponent - exponent);
#pragma unroll 4
    for (int i = 0; i < chunks; ++i) {
      K::read(x, lines, i, step);
      K::put(lines, i, x, by, serves);
    }
    return power_of_two(exponent - top_exponent);
  }

  // The sums of all products of a chunk of dy and the chunk of k `distance` chunks before it.
  static __device__ __forceinline__ void sum(float (&sums)[64], const Shared& shared, int distance, int chunks) {
    using tile::sm90::Axis;
    float(&low)[32] = reinterpret_cast<float(&)[32]>(sums);  // 2^11 times hi lo and lo hi; then hi hi
    const std::uint64_t dy = tile::sm90::descriptor(Axis::outer, tile::sm90::shared_address(shared.dy), band_rows);
    const std::uint64_t k = tile::sm90::descriptor(Axis::outer, tile::sm90::shared_address(shared.k), band_rows);
    tile::sm90::fence_sums();
    for (int number = distance; number < chunks; ++number)
#pragma unroll
      for (int rows = 0; rows < band_rows; rows += 16) {
        const unsigned in = rows * tile::sm90::line_bytes;
        const std::uint64_t a = tile::sm90::advanced(dy, number * lines_bytes + in);
        const std::uint64_t b = tile::sm90::advanced(k, (number - distance) * lines_bytes + in);
        const std::uint64_t a_hi = tile::sm90::advanced(a, hi_lines), b_hi = tile::sm90::advanced(b, hi_lines);
        tile::sm90::multiply<half, Axis::outer, Axis::outer, 128>(sums, a_hi, b, number > distance || rows > 0);
        tile::sm90::multiply<half, Axis::outer, Axis::outer, 64>(low, a, b_hi, true);
      }
    tile::sm90::commit_products();
    tile::sm90::wait_products<0>();
  }

  // Index in a band's 8 x 8. Lanes of neighbouring diagonals read four bands, whose rows are in different banks.
  static __device__ __forceinline__ int staged_at(int band, int row, int column) {
    return band * 64 + (row ^ band % 4) * 8 + column;
  }

  // Adds the sums' diagonals to their lags. All threads of a warpgroup call it, with the warpgroup's own `staged`.
  static __device__ __forceinline__ void add_diagonals(const Shared& shared, const float (&sums)[64], float* staged,
                                                       float inverse, int distance, int barrier) {
    const int thread = static_cast<int>(threadIdx.x) % tile::sm90::warpgroup_threads, lane = thread % 32;
    float* mine = staged + thread / 32 * bands * 64;
#pragma unroll
    for (int m = 0; m < bands; ++m) {  // blocks of 8 x 8 whose rows and columns differ by 8 (m - 7)
      simt::vec<float, 2> two{0, 0};
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int n = h - (m - (bands - 2));
        if (n < 0 || n >= chunk / 8) continue;
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int i = 4 * n + 2 * h + e;
          two[e] += sums[32 + i] + sums[i] * (1 / low_scale);
        }
      }
      simt::store(mine + staged_at(m, lane / 4, lane % 4 * 2), two);
    }
    tile::sm90::sync_warpgroup(barrier);
    const int d = thread - (chunk - 1);  // from row to column
    if (d < chunk) {
      float sum = 0;
#pragma unroll
      for (int warp = 0; warp < 4; ++warp) {
        const int m = ((d - 16 * warp) >> 3) + bands - 2, off = (d - 16 * warp) & 7;  // the first band is 56 above
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int of = i >= off ? m : m + 1;
          if (of >= 0 && of < bands) sum += staged[warp * bands * 64 + staged_at(of, i, (i - off) & 7)];
        }
      }
      const int lag = distance * chunk + d;
      if (d >= 0) shared.above[lag] += sum * inverse;
      else if (lag >= 0) shared.below[lag] += sum * inverse;
    }
    tile::sm90::sync_warpgroup(barrier);
  }
};

// Persistent blocks go from channel to channel, and in each from 32 rows of the batch to the next. Lags of j chunks
// need dy from chunk j on and as many of k's first chunks: when no warp needs a chunk, that of the next rows is fetched
// into its slot.                                                                          s: w's gradient
// Preconditions: cc 90; whole_lags_smem_bytes(); p has elements; chunks of 64 steps cover it, most_whole_chunks at
// most; lags have terms. dy_aligned, k_aligned: rows can be read in 16-byte vectors.
template <class T>
__global__ void __launch_bounds__(whole_lags_threads, 1)
    dwconv_whole_lags(Sum<T> s, int chunks, int lags, bool dy_aligned, bool k_aligned) {
  if constexpr (tile::sm90::available) {
    using R = WholeLags;
    const R::Shared shared(chunks);
    const int thread = static_cast<int>(threadIdx.x), warpgroup = tile::sm90::warpgroup_index();
    const unsigned groups = static_cast<unsigned>((s.batch + band_rows - 1) / band_rows);
    const int rounds = (chunks + R::summing - 1) / R::summing;
    const auto channel_of = [&](unsigned item) { return blockIdx.x + std::int64_t{item / groups} * gridDim.x; };

    // Fetches the item's chunks, of dy or of k, into slots that are no longer needed after a round.
    const auto fetch = [&](unsigned item, int round, bool of_dy) {
      const std::int64_t channel = channel_of(item), b = std::int64_t{item % groups} * band_rows + R::K::row();
      const bool any = channel < s.channels, there = any && b < s.batch;
      const Signal<const float>& of = of_dy ? s.p : s.q;
      const float* row = &of.at(there ? b : 0, any ? channel : 0, 0);
      for (int i = round * R::summing; i < ::min((round + 1) * R::summing, chunks) && any; ++i)
        R::K::fetch(of_dy ? shared.dy : shared.k, of_dy ? i : chunks - 1 - i, row, of.step,
                    there ? static_cast<int>(of.size) : 0, of_dy ? dy_aligned : k_aligned);
      tile::commit_copies();
    };
    if (thread < 2) tile::sm90::init(shared.done + thread, R::summing * 4);
    __syncthreads();
    for (int round = 0; round < rounds; ++round) fetch(0, round, true);
    for (int round = 0; round < rounds; ++round) fetch(0, round, false);
    const simt::tile<32> warp;
    bool first = true;
    unsigned global_round = 0;  // counts rounds over all items

    for (unsigned item = 0; channel_of(item) < s.channels; ++item) {
      const std::int64_t channel = channel_of(item), b0 = std::int64_t{item % groups} * band_rows;
      if (item % groups == 0)
        for (int d = thread; d < chunks * chunk; d += R::threads) shared.above[d] = shared.below[d] = 0;
      if (thread < band_rows) shared.fallback[thread] = 0;
      __syncthreads();
      if (first) {  // dy came before all of k
        if (rounds == 4) tile::wait_copies<4>();
        else tile::wait_copies<0>();
      } else {  // all but the last round's k
        tile::wait_copies<1>();
      }
      const float dy_inverse = R::split(shared.dy, shared.range, shared.fallback, s.p.step, chunks);
      tile::wait_copies<0>();
      const float k_inverse = R::split(shared.k, shared.range + band_rows, shared.fallback, s.q.step, chunks);
      first = false;
      tile::sm90::fence_shared_for_copies();
      __syncthreads();
      // Tiles of lags: those up to the last lag, and one more for the lags above its diagonal.
      const int tiles = ::min((lags - 1) / chunk + 2, chunks);
      for (int round = 0; round < rounds; ++round, ++global_round) {
        const int distance = round * R::summing + warpgroup;
        float sums[64];
        const bool multiplies = warpgroup < R::summing && distance < tiles;
        if (multiplies) R::sum(sums, shared, distance, chunks);
        warp.sync();
        if (warpgroup < R::summing && warp.rank() == 0) tile::sm90::arrive(shared.done + global_round % 2);
        if (round > 0) {  // a round later, so that no warp waits for the slowest
          tile::sm90::wait(shared.done + (global_round - 1) % 2, (global_round - 1) / 2 % 2);
          fetch(item + 1, round - 1, true);
          fetch(item + 1, round - 1, false);
        }
        if (multiplies)
          R::add_diagonals(shared, sums, shared.staged + warpgroup * 4 * R::bands * 64, dy_inverse * k_inverse,
                           distance, 1 + warpgroup);
      }
      tile::sm90::wait(shared.done + (global_round - 1) % 2, (global_round - 1) / 2 % 2);
      fetch(item + 1, rounds - 1, true);
      fetch(item + 1, rounds - 1, false);
      __syncthreads();
      const unsigned fallback = static_cast<unsigned>(warp.ballot(shared.fallback[warp.rank()] != 0));
      for (int r = 0; r < band_rows && fallback >> r; ++r) {
        if (!(fallback >> r & 1)) continue;
        const float *dy = &s.p.at(b0 + r, channel, 0), *k = &s.q.at(b0 + r, channel, 0);
        for (std::int64_t d = thread; d < lags; d += R::threads) {
          float sum = 0;
          for (std::int64_t x = d; x < s.p.size; ++x) sum += dy[x * s.p.step] * k[(x - d) * s.q.step];
          shared.above[d] += sum;
        }
      }
      __syncthreads();
      if ((item + 1) % groups == 0)
        for (int d = thread; d < static_cast<int>(s.y.size); d += R::threads)
          s.y.at(0, channel, d) = d < lags ? shared.above[d] + shared.below[d] : 0.0f;
    }
  }
}

template <class T> static Status launch_whole_lags(const Arguments& args, const Sum<T>& sum) {
  const DwconvProblem& p = args.plan.problem;
  const int chunks = static_cast<int>(whole_chunks(p));
  const simt::Config at{.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(p.channels, args.plan.device.sms))),
                        .block = dim3(whole_lags_threads),
                        .smem = static_cast<std::size_t>(whole_lags_smem_bytes(chunks)),
                        .stream = args.stream.handle};
  return simt::launch(at, dwconv_whole_lags<T>, sum, chunks, static_cast<int>(lags(p)),
                      is_vector_aligned(sum.p, p.alignment), is_vector_aligned(sum.q, p.alignment));
}

}  // namespace ridge::dwconv_detail
