// The parts of tile/, on the CPU runtime.
#include <ridge/tile/activation.cuh>
#include <ridge/tile/block_reduce.cuh>
#include <ridge/tile/columns.cuh>
#include <ridge/tile/extreme.cuh>
#include <ridge/tile/pipeline.cuh>
#include <ridge/tile/quick_activation.cuh>
#include <ridge/tile/row_ring.hpp>
#include <ridge/tile/row_vectors.cuh>
#include <ridge/tile/sm80/fragment.hpp>
#include <ridge/tile/sm90/swizzle.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

namespace ridge::tile {
namespace {

struct Triple {  // 24 bytes, not a power of two
  double sum;
  int least, greatest, count;
};
struct Merge {
  __device__ Triple operator()(Triple a, Triple b) const {
    return {a.sum + b.sum, b.least < a.least ? b.least : a.least, b.greatest > a.greatest ? b.greatest : a.greatest,
            a.count + b.count};
  }
};
struct Odd {  // 3 bytes
  unsigned char low, high, ones;
};
struct Xor {
  __device__ Odd operator()(Odd a, Odd b) const {
    return {static_cast<unsigned char>(a.low ^ b.low), static_cast<unsigned char>(a.high ^ b.high),
            static_cast<unsigned char>(a.ones ^ b.ones)};
  }
};

// Twice in a row with the same scratch, and by every thread: out[t] is what thread t saw.
template <int Warp> __global__ void reduce_twice(Triple* first, Triple* second, Odd* third) {
  const int t = simt::thread_rank(), threads = static_cast<int>(blockDim.x);
  first[t] = block_reduce<Warp>(Triple{1.0 * t, t, t, 1}, Merge(), threads);
  second[t] = block_reduce<Warp>(Triple{0.5, -t, 2 * t, 3}, Merge(), threads);
  third[t] =
      block_reduce<Warp>(Odd{static_cast<unsigned char>(t), static_cast<unsigned char>(t >> 8), 1}, Xor(), threads);
}

TEST(BlockReduce, AnySizeAnyTypeAndEveryThreadKnows) {
  for (int warp : {32, 64})
    for (int threads : {1, 2, 31, 32, 33, 63, 64, 65, 96, 100, 127, 128, 250, 256, 1000, 1024}) {
      std::vector<Triple> first(threads), second(threads);
      std::vector<Odd> third(threads);
      const simt::Config at{.grid = dim3(1), .block = dim3(static_cast<unsigned>(threads)), .warp = warp};
      const Status status = simt::with_warp(warp, [&](auto width) {
        return simt::launch(at, reduce_twice<decltype(width)::value>, first.data(), second.data(), third.data());
      });
      ASSERT_TRUE(status.ok()) << status.message();
      unsigned char low = 0, high = 0;
      for (int t = 0; t < threads; ++t)
        low ^= static_cast<unsigned char>(t), high ^= static_cast<unsigned char>(t >> 8);
      for (int t = 0; t < threads; ++t) {
        EXPECT_EQ(first[t].sum, threads * (threads - 1) / 2) << threads << " threads, warp " << warp;
        EXPECT_EQ(first[t].least, 0);
        EXPECT_EQ(first[t].greatest, threads - 1);
        EXPECT_EQ(first[t].count, threads);
        EXPECT_EQ(second[t].sum, 0.5 * threads);
        EXPECT_EQ(second[t].least, 1 - threads);
        EXPECT_EQ(second[t].greatest, 2 * threads - 2);
        EXPECT_EQ(second[t].count, 3 * threads);
        EXPECT_EQ(third[t].low, low);
        EXPECT_EQ(third[t].high, high);
        EXPECT_EQ(third[t].ones, threads % 2);
      }
    }
}

struct Plus {
  __device__ int operator()(int a, int b) const { return a + b; }
};

// Twice in a row with the same scratch. out: [2, groups, lanes, V], what level 0 has
template <int V> __global__ void merge_twice(ColumnBlock k, int* out) {
  const ColumnThread at(k);
  for (int turn = 0; turn < 2; ++turn) {
    simt::vec<int, V> mine;
    for (int v = 0; v < V; ++v) mine[v] = (turn + 1) * ((at.group * k.lanes + at.lane) * V + v + 1000 * at.level);
    merge_levels(mine, at, k, Plus());
    if (at.level > 0) continue;
    for (int v = 0; v < V; ++v) out[((turn * k.groups + at.group) * k.lanes + at.lane) * V + v] = mine[v];
  }
}

template <int V> void merges(const ColumnBlock& k) {
  const int threads = k.groups * k.depth * k.lanes, results = k.groups * k.lanes * V;
  std::vector<int> out(static_cast<std::size_t>(2 * results), -1);
  const Status status = simt::launch(
      {.grid = dim3(1), .block = dim3(static_cast<unsigned>(threads)), .smem = column_scratch<int, V>(threads)},
      merge_twice<V>, k, out.data());
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < results; ++i) {
    const int all = k.depth * i + 1000 * k.depth * (k.depth - 1) / 2;
    EXPECT_EQ(out[static_cast<std::size_t>(i)], all) << k.lanes << " lanes, " << k.depth << " deep";
    EXPECT_EQ(out[static_cast<std::size_t>(results + i)], 2 * all) << k.lanes << " lanes, " << k.depth << " deep";
  }
}

TEST(Columns, LevelsMergeInEveryShapeOfBlock) {
  for (std::int64_t beside : {1, 2, 3, 17, 1000})
    for (std::int64_t turns : {0, 1, 2, 5, 1000}) {
      const ColumnBlock k = column_block(128, 32, beside, turns);
      ASSERT_EQ(k.lanes * k.depth * k.groups, 128);
      merges<1>(k);
      merges<4>(k);
    }
}

TEST(Extreme, NanIsAboveAllAndZerosAreEqual) {
  using Max = Extreme<true>;
  using Min = Extreme<false>;
  EXPECT_EQ(Max::pick(2.0f, 3.0f), 3);
  EXPECT_EQ(Min::pick(2.0f, 3.0f), 2);
  EXPECT_TRUE(std::isnan(Max::pick(1.0f, NAN)) && std::isnan(Max::pick(NAN, 1.0f)) &&
              std::isnan(Min::pick(1.0, double(NAN))));
  EXPECT_FALSE(Max::beats(NAN, NAN));
  EXPECT_FALSE(Max::beats(0.0f, -0.0f) || Max::beats(-0.0f, 0.0f));
  EXPECT_EQ(Max::pick(std::int8_t{-128}, std::int8_t{5}), 5);
  EXPECT_EQ(Max::neutral<std::int64_t>(), std::numeric_limits<std::int64_t>::lowest());
  EXPECT_EQ(Min::neutral<std::uint8_t>(), 255);
  EXPECT_EQ(static_cast<float>(Max::neutral<half>()), -INFINITY);
}

template <class T> void check_packed() {
  const float values[] = {0.0f, -0.0f, 1.5f, -1.5f, INFINITY, -INFINITY, 1e-6f, 60000.0f, NAN};
  for (float a : values)
    for (float b : values) {
      const T pair[2] = {T(a), T(b)}, swapped[2] = {T(b), T(a)};
      std::uint32_t x, y;
      std::memcpy(&x, pair, 4);
      std::memcpy(&y, swapped, 4);
      for (bool greatest : {true, false}) {
        const std::uint32_t r = greatest ? Extreme<true>::packed_pick<T>(x, y) : Extreme<false>::packed_pick<T>(x, y);
        T got[2];
        std::memcpy(got, &r, 4);
        const float fa = static_cast<float>(pair[0]), fb = static_cast<float>(pair[1]);
        for (T g : got) {
          if (std::isnan(fa) || std::isnan(fb)) EXPECT_TRUE(std::isnan(static_cast<float>(g)));
          else EXPECT_EQ(static_cast<float>(g), greatest ? std::fmax(fa, fb) : std::fmin(fa, fb));
        }
      }
    }
}
TEST(Extreme, PairsOf16BitFloats) {
  check_packed<half>();
  check_packed<bfloat16>();
}

__global__ void copy_some(const float* from, float* to, int valid) {
  __shared__ __align__(16) float tile[4];
  for (float& x : tile) x = -1;
  copy_async<16>(tile, valid ? from : nullptr, valid * 4);
  commit_copies();
  wait_copies<0>();
  for (int i = 0; i < 4; ++i) to[i] = tile[i];
}
TEST(AsyncCopy, WhatIsNotValidBecomesZero) {
  alignas(16) const float from[4] = {1, 2, 3, 4};
  for (int valid = 0; valid <= 4; ++valid) {
    float to[4];
    const Status status = simt::launch({.grid = dim3(1), .block = dim3(1)}, copy_some, from, to, valid);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(to[i], i < valid ? from[i] : 0) << valid;
  }
}

// out[t] = the sum over steps of (step + 1) x[step][t'], t' being another thread's element: it must have arrived.
enum class Kind { single, doubled, multistage };
template <Kind K, int Stages> __global__ void pipelined(const float* x, float* out, int steps) {
  constexpr int threads = 64;
  __shared__ __align__(16) float tiles[Stages][threads];
  const int t = simt::thread_rank();
  const float* from = x + t;
  float fetched = 0, sum = 0;
  int step = 0;
  const auto fetch = [&] {
    fetched = *from;
    from += threads;
  };
  const auto put = [&](int stage) { tiles[stage][t] = fetched; };
  const auto start = [&](int stage) {
    copy_async<4>(&tiles[stage][t], from);
    from += threads;
  };
  const auto compute = [&](int stage) { sum += static_cast<float>(++step) * tiles[stage][(t + 37) % threads]; };
  if constexpr (K == Kind::single) run_single_stage(steps, fetch, put, compute);
  else if constexpr (K == Kind::doubled) run_double_buffered(steps, fetch, put, compute);
  else run_multistage<Stages>(steps, start, compute);
  out[t] = sum;
}
template <Kind K, int Stages> void check_pipeline() {
  for (int steps : {0, 1, 2, 3, 4, 5, 11}) {
    std::vector<float> x(steps * 64), out(64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 23);
    const Status status =
        simt::launch({.grid = dim3(1), .block = dim3(64)}, pipelined<K, Stages>, x.data(), out.data(), steps);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int t = 0; t < 64; ++t) {
      float sum = 0;
      for (int s = 0; s < steps; ++s) sum += static_cast<float>(s + 1) * x[s * 64 + (t + 37) % 64];
      EXPECT_EQ(out[t], sum) << steps << " steps, thread " << t;
    }
  }
}
TEST(Pipeline, EveryStepOnceAndInOrder) {
  check_pipeline<Kind::single, 1>();
  check_pipeline<Kind::doubled, 2>();
  check_pipeline<Kind::multistage, 2>();
  check_pipeline<Kind::multistage, 3>();
  check_pipeline<Kind::multistage, 4>();
}

TEST(Activation, ByNameIsTheFunction) {
  for (double x : {-100.0, -5.0, -0.3, 0.0, 0.7, 4.0, 100.0}) {
    const double cdf = 0.5 * std::erfc(-x / std::sqrt(2.0)), logistic_x = 1 / (1 + std::exp(-x));
    const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    EXPECT_EQ(activate<double>(Activation::none, x), x);
    EXPECT_EQ(activate<double>(Activation::relu, x), x > 0 ? x : 0);
    EXPECT_NEAR(activate<double>(Activation::gelu, x), x * cdf, 1e-13);
    EXPECT_NEAR(activate<double>(Activation::gelu_tanh, x), x / 2 * (1 + std::tanh(inner)), 1e-13);
    EXPECT_NEAR(activate<double>(Activation::silu, x), x * logistic_x, 1e-13);
    EXPECT_NEAR(activate<double>(Activation::sigmoid, x), logistic_x, 1e-15);
  }
  for (int a = 0; a < activation_count; ++a)
    EXPECT_TRUE(std::isnan(activate<float>(static_cast<Activation>(a), NAN))) << name(static_cast<Activation>(a));
  EXPECT_EQ(activate<float>(Activation::silu, -INFINITY), 0);
  EXPECT_EQ(activate<float>(Activation::gelu, -INFINITY), 0);
  EXPECT_EQ(parse_activation("gelu_tanh"), Activation::gelu_tanh);
  EXPECT_FALSE(parse_activation("tanh").has_value());
}

// ---- sm90: what of it is arithmetic -------------------------------------------------------------------------------

TEST(Swizzle, EveryByteOnceAndPiecesOfAColumnInAllBanks) {
  std::set<unsigned> seen;
  for (unsigned line = 0; line < 16; ++line)
    for (unsigned byte = 0; byte < sm90::line_bytes; ++byte) seen.insert(sm90::swizzled(line, byte));
  EXPECT_EQ(seen.size(), 16u * sm90::line_bytes);
  EXPECT_EQ(*seen.rbegin(), 16u * sm90::line_bytes - 1);
  std::set<unsigned> banks;  // of the same 16 bytes of 8 lines: what stmatrix writes at once
  for (unsigned line = 0; line < 8; ++line) banks.insert(sm90::swizzled(line, 48) % sm90::line_bytes);
  EXPECT_EQ(banks.size(), 8u);
}

TEST(Swizzle, DescriptorsSayWhatTheManualAsksFor) {
  const std::uint64_t k = sm90::descriptor(sm90::Axis::k, 0x12400),
                      outer = sm90::descriptor(sm90::Axis::outer, 0x12400);
  for (const std::uint64_t d : {k, outer}) {
    EXPECT_EQ(d & 0x3fff, 0x1240u);           // address / 16
    EXPECT_EQ(d >> 32 & 0x3fff, 1024u / 16);  // between atoms
    EXPECT_EQ(d >> 62, 1u);                   // 128-byte swizzle
  }
  EXPECT_EQ(outer >> 16 & 0x3fff, 64u * 128 / 16);  // between groups of 64
}

TEST(Swizzle, StepsOfKStayInALineOrGoDownLines) {
  EXPECT_EQ(sm90::k_offset(sm90::Axis::k, 16), 32u);
  EXPECT_EQ(sm90::k_offset(sm90::Axis::outer, 16), 2048u);
  EXPECT_EQ(sm90::outer_offset(64), 8192u);
}

// ---- sm80: the same -----------------------------------------------------------------------------------------------

using sm80::Axis;
using sm80::Reads;

// Which rows of a tile there are for an operand of `outer` x `bk` elements, and where its elements lie.
struct Lying {
  Reads reads;
  Axis axis;
  unsigned outer, bk;
  unsigned size() const { return reads == Reads::singles ? 8 : 2; }
  unsigned row_bytes() const { return (axis == Axis::k ? bk : outer) * size(); }
  unsigned at(unsigned o, unsigned k) const {
    return axis == Axis::k ? sm80::swizzled(reads, row_bytes(), o, k * size())
                           : sm80::swizzled(reads, row_bytes(), k, o * size());
  }
};
std::vector<Lying> tiles_of_mma() {
  std::vector<Lying> tiles;
  for (Axis axis : {Axis::k, Axis::outer})
    for (unsigned outer : {64u, 128u, 256u}) {
      tiles.push_back({Reads::singles, axis, outer, 16});
      tiles.push_back({Reads::matrices, axis, outer, 32});
      tiles.push_back({Reads::matrices, axis, outer, 64});
    }
  return tiles;
}

TEST(Fragment, EveryElementOfATileHasAPlaceOfItsOwn) {
  for (const Lying& tile : tiles_of_mma()) {
    std::set<unsigned> seen;
    for (unsigned o = 0; o < tile.outer; ++o)
      for (unsigned k = 0; k < tile.bk; ++k) seen.insert(tile.at(o, k));
    EXPECT_EQ(seen.size(), tile.outer * tile.bk);
    EXPECT_EQ(*seen.rbegin(), (tile.outer * tile.bk - 1) * tile.size());
  }
}

// The address at which a lane reads register i of doubles, or gives its row to ldmatrix, as kernels compute it: from
// the one of the warp's first fragment.
unsigned address_of(const Lying& tile, unsigned warp_outer, unsigned lane, unsigned i, unsigned outer, unsigned k) {
  const bool doubles = tile.reads == Reads::singles;
  const auto first = doubles ? sm80::single_at(lane, 0) : sm80::matrix_row_at(tile.axis, lane);
  const auto further = doubles ? sm80::single_at(0, i) : sm80::At{0, 0};
  const auto step = sm80::step(tile.axis, tile.row_bytes(), tile.size(), outer + further.outer, k + further.k);
  return (tile.at(warp_outer + first.outer, first.k) ^ step.flip) + step.add;
}

// (where a warp's tile begins, how much further a fragment of it does), of tiles of 32 and of 64 along outer.
std::vector<std::pair<unsigned, unsigned>> fragments_of_warps(unsigned outer) {
  std::vector<std::pair<unsigned, unsigned>> all;
  for (unsigned extent : {32u, 64u})
    for (unsigned o = 0; o < outer; o += 16) all.push_back({o / extent * extent, o % extent});
  return all;
}

TEST(Fragment, LanesReadWhatMmaAsksForWithoutConflicts) {
  for (const Lying& tile : tiles_of_mma())
    for (const auto& [warp_outer, outer] : fragments_of_warps(tile.outer))
      for (unsigned k = 0; k < tile.bk; k += tile.reads == Reads::singles ? 4 : 16) {
        if (tile.reads == Reads::singles) {
          for (unsigned i = 0; i < 2; ++i)
            for (unsigned half = 0; half < 2; ++half) {  // of a warp
              std::set<unsigned> banks;
              for (unsigned lane = half * 16; lane < half * 16 + 16; ++lane) {
                const unsigned at = address_of(tile, warp_outer, lane, i, outer, k);
                EXPECT_EQ(at, tile.at(warp_outer + outer + lane / 4 + 8 * i, k + lane % 4));
                banks.insert(at % 128 / 8);
              }
              EXPECT_EQ(banks.size(), 16u);
            }
        } else {
          for (unsigned i = 0; i < 4; ++i) {
            std::set<unsigned> banks;
            for (unsigned row = 0; row < 8; ++row) {  // lane 8 i + row says where row `row` of matrix i begins
              const unsigned at = address_of(tile, warp_outer, i * 8 + row, 0, outer, k);
              banks.insert(at % 128 / 16);
              // Lane 4 row + q then has elements 2 q and 2 q + 1 of it; transposed, lane 4 g + q has element g of rows
              // 2 q and 2 q + 1. Either way lane 4 g + q is to have outer g + 8 (i % 2), k 8 (i / 2) + 2 q.
              for (unsigned e = 0; e < 8; ++e) {
                const unsigned g = tile.axis == Axis::k ? row : e, k_of = tile.axis == Axis::k ? e : row;
                EXPECT_EQ(at + 2 * e, tile.at(warp_outer + outer + g + i % 2 * 8, k + k_of + i / 2 * 8));
              }
            }
            EXPECT_EQ(banks.size(), 8u);
          }
        }
      }
}

TEST(Fragment, ADeeperOneOfDoublesIsTwo) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_EQ(sm80::single_at(lane, i + 2).outer, sm80::single_at(lane, i).outer);
      EXPECT_EQ(sm80::single_at(lane, i + 2).k, sm80::single_at(lane, i).k + 4);
    }
}

TEST(Fragment, EverySumOnce) {
  std::set<std::pair<unsigned, unsigned>> seen;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) seen.insert({sm80::sum_at(lane, i).row, sm80::sum_at(lane, i).col});
  EXPECT_EQ(seen.size(), 128u);
  EXPECT_EQ(*seen.rbegin(), std::pair(15u, 7u));
}

TEST(Activation, QuickErfcIsAsGoodAsFloat) {
  for (float x = -9; x < 9; x += 0.0117f) {
    const double want = std::erfc(static_cast<double>(x)), got = quick_erfc(x);
    // 1.2e-7 of the form, and the exponential's argument rounded in float32.
    EXPECT_NEAR(got, want, want * (6e-7 + x * x * 1.2e-7) + 1e-44) << x;
  }
  EXPECT_EQ(quick_erfc(HUGE_VALF), 0.0f);
  EXPECT_EQ(quick_erfc(-HUGE_VALF), 2.0f);
  EXPECT_TRUE(std::isnan(quick_erfc(NAN)));
}

// Against double, at every number of T and between them: 2^-16 in f16; in bf16 by what the header says.
template <class T> void check_quick_gelu() {
  constexpr bool f16 = std::is_same_v<T, half>;
  const auto check = [](float x) {
    const double a = std::fabs(static_cast<double>(x)), phi = 0.5 * std::erfc(-x / std::sqrt(2.0)), want = x * phi;
    const float got = quick_gelu<T>(x);
    const double share = f16 ? 0x1p-16 : a < 3 ? 0x1p-14 : a < 6 ? 0x1.3p-13 : 0x1.5p-12;
    if (a < (f16 ? 5.9 : 9.5)) {
      EXPECT_NEAR(got, want, share * a * std::min(phi, 1 - phi) + 0x1p-23 * std::fabs(want)) << x;
    } else if (x < 0) {
      EXPECT_LE(got, 0) << x;
      EXPECT_GE(got, f16 ? -0x1p-25f : -3e-20f) << x;  // f16: stored as 0
    } else {
      EXPECT_EQ(got, x);
    }
  };
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float x = static_cast<float>(std::bit_cast<T>(static_cast<std::uint16_t>(bits)));
    if (std::isfinite(x)) check(x);
  }
  for (float x = -20; x < 20; x += 0.00117f) check(x);
  EXPECT_EQ(quick_gelu<T>(HUGE_VALF), HUGE_VALF);
  EXPECT_EQ(quick_gelu<T>(-HUGE_VALF), 0.0f);
  EXPECT_TRUE(std::isnan(quick_gelu<T>(NAN)));
}
TEST(Activation, QuickGeluIsGoodFor16Bits) {
  check_quick_gelu<half>();
  check_quick_gelu<bfloat16>();
}
TEST(Activation, QuickGeluTanhIsGoodFor16Bits) {
  const auto check = [](float x) {
    const double a = x, twice_u = 2 * std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a),
                 want = a / (1 + std::exp(-twice_u));
    // Of the result, and of the exponent, which is rounded four times.
    const double share = 0x1p-21 + std::fabs(twice_u) * 0x1p-22;
    EXPECT_NEAR(quick_gelu_tanh(x), want, share * std::fabs(want) + 1e-36) << x;
  };
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float x = static_cast<float>(std::bit_cast<bfloat16>(static_cast<std::uint16_t>(bits)));
    if (std::isfinite(x)) check(x);
  }
  for (float x = -20; x < 20; x += 0.00117f) check(x);
  EXPECT_EQ(quick_gelu_tanh(HUGE_VALF), HUGE_VALF);
  EXPECT_EQ(quick_gelu_tanh(-HUGE_VALF), 0.0f);
  EXPECT_TRUE(std::isnan(quick_gelu_tanh(NAN)));
}

TEST(Activation, QuickLogisticAndSiluAreGoodFor16Bits) {
  const auto check = [](float x) {
    const double a = x, want = 1 / (1 + std::exp(-a));
    const double share = 0x1p-21 + std::fabs(a) * 0x1p-23;  // of the result, and of the exponent, which is rounded
    EXPECT_NEAR(quick_logistic(x), want, share * want + 1e-37) << x;
    EXPECT_NEAR(quick_silu(x), a * want, share * std::fabs(a * want) + 1e-35) << x;
  };
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float x = static_cast<float>(std::bit_cast<bfloat16>(static_cast<std::uint16_t>(bits)));
    if (std::isfinite(x)) check(x);
  }
  for (float x = -20; x < 20; x += 0.00117f) check(x);
  EXPECT_EQ(quick_logistic(HUGE_VALF), 1.0f);
  EXPECT_EQ(quick_logistic(-HUGE_VALF), 0.0f);
  EXPECT_EQ(quick_silu(HUGE_VALF), HUGE_VALF);
  EXPECT_EQ(quick_silu(-HUGE_VALF), 0.0f);
  EXPECT_TRUE(std::isnan(quick_logistic(NAN)) && std::isnan(quick_silu(NAN)));
}

// What load_packed_anywhere does on a GPU, where it reads two aligned vectors.
TEST(RowVectors, TheBytesOfTwoVectorsFromAnyOneOn) {
  unsigned char bytes[2 * vector_bytes];
  for (int i = 0; i < 2 * vector_bytes; ++i) bytes[i] = static_cast<unsigned char>(37 * i + 11);
  Packed low, high;
  memcpy(&low, bytes, sizeof low);
  memcpy(&high, bytes + vector_bytes, sizeof high);
  for (int shift = 0; shift < vector_bytes; ++shift) {
    const Packed got = shifted(low, high, shift);
    EXPECT_EQ(memcmp(&got, bytes + shift, sizeof got), 0) << shift;
  }
}

TEST(RowVectors, EveryElementHasOneLane) {
  alignas(128) float row[400];
  // Vectors: too few for 300 elements with what may lie before them on their first line.
  constexpr int most = 76, line = LineVectors<float, 32>::line_vectors;
  for (int i = 0; i < 2 * 32; ++i) {
    const bool on_lines = i % 2;
    const int start = i / 2;
    for (const std::int64_t cols : {0, 1, 2, 3, 4, 5, 7, 8, 127, 128, 129, 300}) {
      std::vector<int> seen(static_cast<std::size_t>(cols));
      const auto count = [&](const auto& vectors, int lane) {
        if (vectors.edge_at >= 0) ++seen[vectors.edge_at];
        for (int k = 0; vectors.used(k); ++k)
          for (int v = 0; v < 4 && vectors.has(k); ++v) {
            EXPECT_EQ((start + vectors.at(k)) % 4, 0);
            if (on_lines && vectors.count + line <= most) {
              EXPECT_EQ((start + vectors.at(k)) / 4 % line, lane % line);
            }
            ++seen[vectors.at(k) + v];
          }
      };
      for (int lane = 0; lane < 32; ++lane)
        if (on_lines) count(vectors_of<true, 32>(row + start, cols, lane, most), lane);
        else count(vectors_of<false, 32>(row + start, cols, lane, most), lane);
      EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(cols), 1)) << start << " " << cols;
    }
  }
}

constexpr int hopper_smem = 232448;

TEST(RowRing, EveryPartHasItsBytesAndTheyFit) {
  for (const int cols : {1, 7, 128, 1000, 4096, 50257, 131072})
    for (const int element : {2, 4})
      for (const bool aligned : {true, false})
        for (const int team : {64, 128, 512})
          for (const int cluster : {1, 4}) {
            const RowRing r = row_ring(512, team, cluster, {cols, element, aligned, 2, 1}, hopper_smem);
            if (r.stages == 0) continue;
            EXPECT_LE(r.smem_bytes(), hopper_smem);
            EXPECT_GE(r.stages, 2);
            const std::int64_t slice = std::int64_t{r.slice_vectors} * vector_bytes;
            EXPECT_GE(slice * cluster, std::int64_t{cols} * element - vector_bytes);
            // the slice, and a part of a vector at either end of a row that starts anywhere
            EXPECT_GE(r.row_bytes, slice + (aligned ? 0 : 2 * vector_bytes));
            EXPECT_GE(std::int64_t{r.row_bytes} * cluster, std::int64_t{cols} * element);
            for (const int at : {r.row_bytes, r.scratch_at(), r.exchange_at(), r.barriers_at()})
              EXPECT_EQ(at % vector_bytes, 0);
          }
}

TEST(RowRing, StagesAreThoseThereIsRoomFor) {
  const auto stages = [](int cols, int least) {
    return row_ring(512, 512, 1, {.cols = cols, .aligned = true, .least_stages = least}, hopper_smem).stages;
  };
  EXPECT_EQ(stages(128, 2), RowRing::most_stages);
  EXPECT_EQ(stages(20000, 2), 2);
  EXPECT_EQ(stages(40000, 2), 0);
  EXPECT_EQ(stages(40000, 1), 1);
}

TEST(RowRing, LinesAreThoseOfAClusterWhereItsRowsStartAlike) {
  const std::int64_t pitch = 50257 * 2;  // 8 places of a vector, 64 of a line
  const RowRing r =
      row_ring(384, 384, 2, {.cols = 50257, .element_bytes = 2, .offsets = 8, .least_stages = 3}, hopper_smem);
  for (const int clusters : {8, 56, 66}) {
    EXPECT_FALSE(r.of_clusters(clusters, pitch).on_lines);
    EXPECT_EQ(r.of_clusters(clusters, pitch).offsets, 8);
  }
  EXPECT_TRUE(r.of_clusters(64, pitch).on_lines);
  EXPECT_EQ(r.of_clusters(64, pitch).offsets, 64);
  EXPECT_FALSE(r.of_clusters(64, 0).on_lines);  // of one row, the plan counts one place
}

}  // namespace
}  // namespace ridge::tile
