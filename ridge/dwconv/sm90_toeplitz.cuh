// The convolution and k's gradient by wgmma: y^T [time, batch] = W k^T, W[t, u] = h(t - u), h(d) = w[L-1-d].
//
// W is the operand in registers. A lane's four registers of 16 x 16 elements are pairs h(d), h(d - 1) for d = e, e + 8,
// e - 8 and again e, where e depends on t - u alone: they are read from a list of pairs, one word per lag. The other
// operand is k, which a block keeps in shared memory with all of its steps: 32 rows of lo and 32 of hi. So one product
// of 64 columns is hi lo and hi hi, and one of 32 columns adds lo hi to the former.
#pragma once
#include <ridge/dwconv/launch.cuh>
#include <ridge/dwconv/sm90_lags.cuh>
#include <ridge/dwconv/sm90_lines.cuh>
#include <ridge/dwconv/sm90_toeplitz.hpp>
#include <ridge/tile/block_reduce.cuh>
#include <ridge/tile/sm90/mbarrier.cuh>

namespace ridge::dwconv_detail {

template <class Policy> struct WholeRows {
  static constexpr Config c = Policy::config;
  static constexpr int threads = c.threads, warpgroups = threads / tile::sm90::warpgroup_threads;
  using K = Lines<threads>;

  struct Shared {
    unsigned char* k;           // [chunks] of lines
    unsigned* pairs;            // [2][pair_count(chunks)], from lag first_pair on
    float* scales;              // [chunks][band_rows]: factors of a chunk's sums
    int* fallback;              // [2][band_rows], alternating by item: not in range, computed in float32
    float* filter;              // [chunks * chunk] by lag: that of the item that comes next
    tile::sm90::Barrier* done;  // [2], alternating by round: no warp needs the round's chunks any more
    int count;
    __device__ __forceinline__ explicit Shared(int chunks) {
      k = tile::sm90::swizzled_shared();
      pairs = reinterpret_cast<unsigned*>(k + chunks * lines_bytes);
      count = pair_count(chunks);
      scales = reinterpret_cast<float*>(pairs + 2 * count);
      fallback = reinterpret_cast<int*>(scales + chunks * band_rows);
      filter = reinterpret_cast<float*>(fallback + 2 * band_rows);
      done = reinterpret_cast<tile::sm90::Barrier*>(filter + chunks * chunk);
    }
  };

  static __device__ __forceinline__ void fetch_filter(const Shared& shared, const Sum<float>& s, std::int64_t channel,
                                                      int lags) {
    const float* at = &s.q.at(0, channel, s.shift);
    for (int d = static_cast<int>(threadIdx.x); d < lags; d += threads)
      tile::copy_async<4>(shared.filter + d, at - d * s.q.step);
    tile::commit_copies();
  }
  // The filter's scale. All threads get it, and then see the elements that the others fetched.
  static __device__ __forceinline__ Scale filter_scale(const Shared& shared, int lags) {
    Magnitudes m;
    for (int d = static_cast<int>(threadIdx.x); d < lags; d += threads) m.add(shared.filter[d]);
    struct Range {
      unsigned greatest, least;
    };
    const Range all = tile::block_reduce<32>(
        Range{m.greatest, m.least},
        [](Range a, Range b) {
          return Range{::max(a.greatest, b.greatest), ::min(a.least, b.least)};
        },
        threads);
    return scale_of<float>({all.greatest, all.least});
  }
  static __device__ __forceinline__ void put_pairs(const Shared& shared, int lags, float by) {
    const auto lag = [&](int d) { return d >= 0 && d < lags ? shared.filter[d] : 0.0f; };
    for (int i = static_cast<int>(threadIdx.x); i < shared.count; i += threads) {
      const int d = i + first_pair;
      const Split<float> at(lag(d), by), before(lag(d - 1), by);
#pragma unroll
      for (int p = 0; p < 2; ++p)
        shared.pairs[p * shared.count + i] = at.component[p].bits | static_cast<unsigned>(before.component[p].bits)
                                                                        << 16;
    }
  }
  // Splits a chunk into hi and lo: this thread fetched its vectors of it, and has waited for them.
  static __device__ __forceinline__ void split(const Shared& shared, int* fallback, int number, std::int64_t step) {
    typename K::Values x;
    K::read(x, shared.k, number, step);
    Magnitudes m;
    K::measure(m, x);
    const Scale scale = scale_of<float>(m.template across_each<K::row_lanes>());
    if (K::in_row() == 0) {
      shared.scales[number * band_rows + K::row()] = scale.inverse;
      if (!scale.in_range) fallback[K::row()] = 1;
    }
    K::put(shared.k, number, x, scale.by, scale.in_range);
  }

  // The sums of 64 outputs from t0 on, a multiple of 64, and 32 rows, in wgmma's layout.
  static __device__ __forceinline__ void sum(float (&sums)[16], const Shared& shared, int t0, int taps) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, q = lane % 4;
    const unsigned* lag = shared.pairs - first_pair + t0 + tile::sm90::warp_of_warpgroup() * 16 + g - 2 * q;
    const std::uint64_t k = tile::sm90::descriptor(tile::sm90::Axis::k, tile::sm90::shared_address(shared.k));
#pragma unroll
    for (float& x : sums) x = 0;
    constexpr int steps = chunk / 16 / 2;  // k steps of 16 in half a chunk
    using Fragments = unsigned[steps][2][4];
    const auto read = [&](Fragments& w, int number, int second_half) {
#pragma unroll
      for (int step = 0; step < steps; ++step)
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          const unsigned* at = lag + p * shared.count - number * chunk - (second_half * steps + step) * 16;
          w[step][p][0] = w[step][p][3] = at[0];
          w[step][p][1] = at[8];
          w[step][p][2] = at[-8];
        }
    };
    float products[32];  // 2^11 times hi lo and lo hi; then hi hi
    float(&low)[16] = reinterpret_cast<float(&)[16]>(products);
    const auto multiply = [&](const Fragments& w, int number, int second_half) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const unsigned in_line = (second_half * steps + step) * 16 * sizeof(half);
        const std::uint64_t at = tile::sm90::advanced(k, number * lines_bytes + in_line);
        tile::sm90::multiply_kept<half, tile::sm90::Axis::k, 64>(products, w[step][0], at, second_half + step > 0);
        tile::sm90::multiply_kept<half, tile::sm90::Axis::k, 32>(low, w[step][1], tile::sm90::advanced(at, hi_lines),
                                                                 true);
      }
      tile::sm90::commit_products();
    };
    // Reads half a chunk's fragments while the other half is multiplied.
    const int last = t0 / chunk;
    int number = ::max(t0 - taps + 1, 0) / chunk;
    Fragments first, second;
    read(first, number, 0);
    read(second, number, 1);
    for (; number <= last; ++number) {
      tile::sm90::fence_sums();
      multiply(first, number, 0);
      multiply(second, number, 1);
      tile::sm90::wait_products<1>();
      if (number < last) read(first, number + 1, 0);
      tile::sm90::wait_products<0>();
      if (number < last) read(second, number + 1, 1);
        // Tensor cores truncate their sums: sums leave them after every chunk, and are added up with rounding.
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const auto scale = simt::load<2>(static_cast<const float*>(shared.scales) + number * band_rows + 8 * n + 2 * q);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[4 * n + i] += (products[16 + 4 * n + i] + low[4 * n + i] * (1 / low_scale)) * scale[i % 2];
      }
    }
  }
};

// Persistent blocks go from item to item; an item is a channel and 32 rows of the batch. Its last outputs need all of
// its steps, earlier ones fewer: when no warp needs a chunk any more, the next item's chunk is fetched into its slot.
//                                                                          s: the convolution, or k's gradient
// Preconditions: cc 90; items is whole_items(); whole_smem_bytes(); p and q have elements; chunks of 64 steps cover p,
// whose size is y's. aligned: p's rows can be read in 16-byte vectors.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    dwconv_whole_rows(Sum<float> s, int chunks, unsigned items, bool aligned) {
  if constexpr (tile::sm90::available) {
    using R = WholeRows<Policy>;
    using K = typename R::K;
    const typename R::Shared shared(chunks);
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warpgroup = tile::sm90::warpgroup_index();
    const int size = static_cast<int>(s.p.size), taps = static_cast<int>(s.q.size);
    const int rounds = (chunks + R::warpgroups - 1) / R::warpgroups;
    const int lags = ::min(size, taps);
    const unsigned channels = static_cast<unsigned>(s.channels);
    const simt::tile<32> warp;
    if (thread < 2) tile::sm90::init(shared.done + thread, R::threads / 32);
    if (thread < band_rows) shared.fallback[thread] = 0;
    __syncthreads();

    const auto split = [&](int* fallback, int round) {
#pragma unroll 1
      for (int i = 0; i < R::warpgroups; ++i) {
        const int number = chunks - 1 - (round * R::warpgroups + i);
        if (number >= 0) R::split(shared, fallback, number, s.p.step);
      }
    };
    // Fetches an item's chunks of a round's tiles, which no later round needs.
    const auto fetch = [&](unsigned item, int round) {
      if (item < items) {
        const std::int64_t b = std::int64_t{item / channels} * band_rows + K::row();
        const bool there = b < s.batch;
        const float* row = &s.p.at(there ? b : 0, item % channels, 0);
#pragma unroll 1
        for (int i = 0; i < R::warpgroups; ++i) {
          const int number = chunks - 1 - (round * R::warpgroups + i);
          if (number >= 0) K::fetch(shared.k, number, row, s.p.step, there ? size : 0, aligned);
        }
      }
      tile::commit_copies();
    };
    R::fetch_filter(shared, s, blockIdx.x % channels, lags);
    for (int round = 0; round < rounds; ++round) fetch(blockIdx.x, round);

    unsigned global_round = 0, count = 0;  // rounds of this and all items before it; items
    for (unsigned item = blockIdx.x; item < items; item += gridDim.x, ++count) {
      const unsigned channel = item % channels;
      const std::int64_t b0 = std::int64_t{item / channels} * band_rows;
      int *fallback = shared.fallback + count % 2 * band_rows,
          *next_fallback = shared.fallback + (count + 1) % 2 * band_rows;
      tile::wait_copies<1>();  // all but the last round's
      const Scale filter = R::filter_scale(shared, lags);
      R::put_pairs(shared, lags, filter.by);
      for (int round = count == 0 ? 0 : ::max(rounds - 2, 0); round < rounds - 1; ++round) split(fallback, round);
      tile::wait_copies<0>();
      split(fallback, rounds - 1);
      if (thread < band_rows) next_fallback[thread] = 0;
      tile::sm90::fence_shared_for_copies();
      __syncthreads();
      const unsigned next = item + gridDim.x;
      if (next < items) R::fetch_filter(shared, s, next % channels, lags);

      // A mask of the rows that get no output here.
      const unsigned skipped =
          static_cast<unsigned>(warp.ballot(b0 + lane >= s.batch || fallback[lane] || !filter.in_range));
      for (int round = 0; round < rounds; ++round, ++global_round) {
        const int position = round % 2 ? R::warpgroups - 1 - warpgroup : warpgroup;  // balances tile lengths
        const int t0 = (chunks - 1 - (round * R::warpgroups + position)) * chunk;
        const bool sums_up = t0 >= 0 && filter.in_range;
        float sums[16];
        if (sums_up) R::sum(sums, shared, t0, taps);
        warp.sync();
        if (lane == 0) tile::sm90::arrive(shared.done + global_round % 2);
        if (sums_up) {
          const int o = t0 + tile::sm90::warp_of_warpgroup() * 16 + lane / 4, r0 = lane % 4 * 2;
          float* to = &s.y.at(b0 + r0, channel, o);
          const std::int64_t below = 8 * s.y.step;
          const auto store = [&](auto all) {
#pragma unroll
            for (int n = 0; n < 4; ++n)
#pragma unroll
              for (int e = 0; e < 2; ++e) {
                float* at = to + (8 * n + e) * s.y.batch;
                if (!decltype(all)::value && skipped >> r0 >> (8 * n + e) & 1) continue;
                if (decltype(all)::value || o < size) at[0] = s.eps + sums[4 * n + e] * filter.inverse;
                if (decltype(all)::value || o + 8 < size) at[below] = s.eps + sums[4 * n + 2 + e] * filter.inverse;
              }
          };
          if (skipped == 0 && t0 + chunk <= size) store(std::true_type{});
          else store(std::false_type{});
        }
        if (round > 0) {  // a round later, so that no warp waits for the slowest
          tile::sm90::wait(shared.done + (global_round - 1) % 2, (global_round - 1) / 2 % 2);
          fetch(next, round - 1);
        }
        if (round > 1) {
          tile::wait_copies<1>();
          if (next < items) split(next_fallback, round - 2);
          tile::sm90::fence_shared_for_copies();
        }
      }
      tile::sm90::wait(shared.done + (global_round - 1) % 2, (global_round - 1) / 2 % 2);
      fetch(next, rounds - 1);
      if (skipped == 0) continue;
      for (int r = 0; r < band_rows && b0 + r < s.batch; ++r) {
        if (!(skipped >> r & 1)) continue;
        for (std::int64_t o = thread; o < size; o += R::threads)
          s.y.at(b0 + r, channel, o) = s.eps + s.direct(b0 + r, channel, o);
      }
    }
  }
}

namespace whole {

template <int I, bool Summed> static Status launch(const Arguments& args, const Sum<float>& sum) {
  const DwconvProblem& p = args.plan.problem;
  if constexpr (Summed) {
    return has_whole_lags(p) ? launch_whole_lags(args, sum) : launch_lags_f32(args);
  } else {
    constexpr Config c = Policy<I>::config;
    const int chunks = static_cast<int>(whole_chunks(p));
    const std::int64_t items = whole_items(p.batch, p.channels);
    const simt::Config at{.grid = dim3(static_cast<unsigned>(whole_grid(c, p, args.plan.device.sms))),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(whole_smem_bytes(chunks)),
                          .stream = args.stream.handle};
    return simt::launch(at, dwconv_whole_rows<Policy<I>>, sum, chunks, static_cast<unsigned>(items),
                        is_vector_aligned(sum.p, p.alignment));
  }
}

}  // namespace whole
}  // namespace ridge::dwconv_detail
