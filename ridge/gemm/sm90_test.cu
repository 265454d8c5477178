// Hopper's kernel on the CPU runtime, which emulates TMA, mbarrier and wgmma: rows of the table that need no clusters,
// against products in double.
#include <ridge/gemm/row_named.hpp>
#include <ridge/gemm/sm90_split.cuh>
#include <ridge/gemm/sm90_thread_tile.cuh>
#include <ridge/gemm/sm90_wgmma_launch.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ridge::gemm_kernels {
namespace {

// How D is stored.
enum class By : std::uint8_t { columns, epilogue, columns_anywhere };

struct Case {
  int m, n, k;
  std::vector<std::int32_t> offsets = {};  // of groups
  int batch = 1;
  By by = By::columns;
  Activation activation = Activation::none;
  bool bias = false, gate_bias = false, residual = false, residual_first = false, shared_gate = false;
  bool packed = false;  // rows of D and the residual follow one another, by whatever they have; stored by the epilogue
  float alpha = 1, scale = 1;
};

// 16-byte aligned rows, so that TMA takes them.
int pitch_of(int columns) { return (columns + 7) / 8 * 8; }

template <class T> struct Matrices {
  int batch, rows, columns, pitch;
  std::vector<T> data;
  Matrices(int b, int r, int c, float fill = 0, bool packed = false)
      : batch(b),
        rows(r),
        columns(c),
        pitch(packed ? c : pitch_of(c)),
        data(static_cast<std::size_t>(b * r * pitch), T(fill)) {}
  T& at(int b, int row, int column) { return data[static_cast<std::size_t>((b * rows + row) * pitch + column)]; }
  float get(int b, int row, int column) { return static_cast<float>(at(b, row, column)); }
  std::int64_t batch_stride() const { return batch > 1 ? std::int64_t{rows} * pitch : 0; }
  WgmmaOperand operand() const { return {data.data(), pitch, batch_stride()}; }
  gemm_kernels::Tensor tensor() { return {data.data(), dtype_of<T>, pitch % 4 == 0, pitch, 1, batch_stride()}; }
  // Whole numbers, whose products and sums are exact.
  Matrices& randomise(std::mt19937& bits) {
    for (T& x : data) x = T(static_cast<float>(static_cast<int>(bits() % 5) - 2));
    return *this;
  }
};

// Runs a row on few multiprocessors, so that a block has several tiles, and compares all of D. Out: its type.
template <class R, class T, Major MA, Major MB, class Out = T> void check_row(const Case& c) {
  constexpr Config config = R::config;
  constexpr float untouched = 77;
  std::mt19937 bits(1);
  const bool grouped = !c.offsets.empty();
  const int batch = grouped ? static_cast<int>(c.offsets.size()) - 1 : c.batch, matrices = grouped ? 1 : c.batch;
  const auto operand = [](Major major, int count, int outer, int k) {
    return major == Major::k ? Matrices<T>(count, outer, k) : Matrices<T>(count, k, outer);
  };
  Matrices<T> a = operand(MA, matrices, c.m, c.k), b = operand(MB, batch, c.n, c.k),
              gate = operand(MB, c.shared_gate ? 1 : batch, c.n, c.k);
  Matrices<T> bias(grouped ? batch : 1, 1, c.n), gate_bias(1, 1, c.n);
  Matrices<Out> residual(matrices, c.m, c.n, 0, c.packed), d(matrices, c.m, c.n, untouched, c.packed);
  for (auto* x : {&a, &b, &gate, &bias, &gate_bias}) x->randomise(bits);
  residual.randomise(bits);

  StandardEpilogue<float> epilogue{};
  epilogue.alpha = c.alpha, epilogue.scale = c.scale, epilogue.activation = c.activation;
  std::fill(std::begin(epilogue.factors), std::end(epilogue.factors), 1.0f);
  epilogue.d = d.tensor();
  if (c.bias) {
    epilogue.addends[epilogue.bias] = bias.tensor();
    epilogue.addends[epilogue.bias].row_stride = 0;
  }
  if (c.gate_bias) epilogue.gate_bias = gate_bias.tensor(), epilogue.gate_bias.row_stride = 0;
  if (c.residual) epilogue.addends[c.residual_first ? epilogue.c : epilogue.residual] = residual.tensor();
  const bool plain = c.alpha == 1 && c.scale == 1 && c.activation == Activation::none && !c.bias && !c.residual;
  const ColumnEpilogue by_columns{.alpha = c.alpha,
                                  .scale = c.scale,
                                  .activation = c.activation,
                                  .bias = epilogue.addends[epilogue.bias],
                                  .gate_bias = epilogue.gate_bias,
                                  .plain = plain,
                                  .addend = !c.residual        ? Addend::none
                                            : c.residual_first ? Addend::before_activation
                                                               : Addend::after_activation};
  const bool tma = c.by == By::columns, anywhere = c.by == By::columns_anywhere;
  constexpr Store store = std::is_same_v<Out, float> ? Store::tma_float : Store::tma;
  constexpr int multiprocessors = 3;
  std::vector<float> exchange;
  if (R::config.stream_k)
    exchange.resize(stream_k_bytes(R::config, multiprocessors, consumers(R::config)) / sizeof(float), untouched);
  const Status status = launch_wgmma<R, T, MA, MB>(
      {a.operand(), b.operand(), gate.operand(), c.offsets.data()},
      tma ? WgmmaOutput{store, d.operand(), c.residual ? residual.operand() : WgmmaOperand{}, exchange.data()}
          : WgmmaOutput{.d = anywhere ? d.operand() : WgmmaOperand{}, .exchange = exchange.data()},
      {c.m, c.n, c.k, batch}, by_columns, epilogue, multiprocessors);
  ASSERT_TRUE(status.ok()) << status.message();

  const auto element = [&](Matrices<T>& x, Major major, int of, int outer, int k) {
    return double{major == Major::k ? x.get(of, outer, k) : x.get(of, k, outer)};
  };
  for (int of = 0; of < matrices; ++of)
    for (int i = 0; i < c.m; ++i) {
      int group = of;
      if (grouped) {
        group = -1;
        for (int g = 0; g < batch; ++g)
          if (c.offsets[static_cast<std::size_t>(g)] <= i && i < c.offsets[static_cast<std::size_t>(g) + 1]) group = g;
      }
      for (int j = 0; j < d.pitch; ++j) {
        double want = untouched;
        if (group >= 0 && j < c.n) {
          const auto product = [&](Matrices<T>& by) {
            double sum = 0;
            for (int k = 0; k < c.k; ++k)
              sum += element(a, MA, of, i, k) * element(by, MB, by.batch > 1 ? group : 0, j, k);
            return c.alpha * sum;
          };
          const double addend = c.residual ? double{residual.get(of, i, j)} : 0;
          want = product(b) + (c.bias ? double{bias.get(grouped ? group : 0, 0, j)} : 0);
          if (c.residual_first) want += addend;
          if (c.activation == Activation::relu) want = std::max(want, 0.0);
          if (c.activation == Activation::silu) want /= 1 + std::exp(-want);
          if (config.gated) want *= product(gate) + (c.gate_bias ? double{gate_bias.get(0, 0, j)} : 0);
          want = c.scale * (want + (c.residual_first ? 0 : addend));
        }
        const double got = double{d.get(of, i, j)};
        if (c.activation == Activation::silu)  // computed and rounded for 16 bits
          ASSERT_NEAR(got, want, 2 * (std::is_same_v<T, half> ? 0x1p-11 : 0x1p-8) * std::fabs(want) + 0x1p-14)
              << of << " " << i << " " << j;
        else ASSERT_EQ(got, double{static_cast<float>(Out(static_cast<float>(want)))}) << of << " " << i << " " << j;
      }
    }
}

// The same for row I of the table.
template <int I, class T, Major MA, Major MB, class Out = T> void check(const Case& c) {
  check_row<Policy<I>, T, MA, MB, Out>(c);
}

constexpr Major k = Major::k, outer = Major::outer;

// ---- groups ---------------------------------------------------------------------------------------------------------

constexpr int grouped = row_named("grouped_wgmma");
// Empty groups, groups of one row, of one warpgroup's rows, of part of the 16 rows of a copy, of several tiles.
const std::vector<std::int32_t> uneven{0, 0, 1, 65, 193, 193, 209, 350, 480, 481};

TEST(GemmOnHopper, GroupsOfAnySize) {
  check<grouped, half, k, k>({.m = 481, .n = 264, .k = 72, .offsets = uneven});
  check<grouped, bfloat16, k, outer>({.m = 481, .n = 40, .k = 264, .offsets = uneven});
}
TEST(GemmOnHopper, RowsInNoGroupStayAsTheyAre) {
  const std::vector<std::int32_t> within{7, 140, 140, 290};
  check<grouped, half, k, outer>({.m = 300, .n = 72, .k = 64, .offsets = within});
  check<grouped, half, k, k>({.m = 300, .n = 72, .k = 64, .offsets = within, .by = By::epilogue});
}
// Columns that are not groups of 64: D is stored in copies of 32.
TEST(GemmOnHopper, OddNumbersOfParts) {
  check<row_named("cooperative_128x224"), half, k, k>({.m = 300, .n = 424, .k = 136, .bias = true});
  check<row_named("cooperative_128x224"), half, k, k>(
      {.m = 130, .n = 200, .k = 72, .activation = Activation::silu, .bias = true});
  check<row_named("cooperative_128x224"), bfloat16, k, k>(
      {.m = 260, .n = 456, .k = 200, .activation = Activation::relu, .bias = true, .residual = true});
  check<row_named("cooperative_128x224"), half, k, k>({.m = 130, .n = 232, .k = 64, .by = By::epilogue, .bias = true});
  check<row_named("cooperative_128x224"), bfloat16, k, k, float>({.m = 300, .n = 328, .k = 72, .bias = true});
  check<row_named("cooperative_128x160"), half, k, k>({.m = 300, .n = 424, .k = 136, .bias = true});
  check<row_named("cooperative_128x160"), bfloat16, k, k>(
      {.m = 260, .n = 328, .k = 200, .activation = Activation::relu, .bias = true, .residual = true});
  check<row_named("cooperative_128x160"), half, k, k>(
      {.m = 130, .n = 168, .k = 72, .activation = Activation::silu, .bias = true, .residual = true});
  check<row_named("cooperative_128x160"), bfloat16, k, k, float>({.m = 300, .n = 168, .k = 72, .bias = true});
}
// D of float32 with 16-bit operands: also by TMA, and by threads for groups' last rows.
TEST(GemmOnHopper, FloatsOfHalves) {
  constexpr int cooperative = row_named("cooperative_128x192");
  check<cooperative, half, k, k, float>({.m = 300, .n = 200, .k = 72});
  check<cooperative, bfloat16, k, outer, float>(
      {.m = 130, .n = 232, .k = 136, .batch = 2, .activation = Activation::relu, .bias = true, .alpha = 0.5f});
  check<cooperative, half, k, k, float>(
      {.m = 260, .n = 104, .k = 64, .activation = Activation::relu, .bias = true, .residual = true});
  check<grouped, half, k, k, float>({.m = 481, .n = 104, .k = 72, .offsets = uneven, .bias = true});
}

TEST(GemmOnHopper, GroupsHaveABiasEach) {
  check<grouped, bfloat16, k, k>({.m = 481, .n = 104, .k = 24, .offsets = uneven, .bias = true});
  check<grouped, half, k, k>(
      {.m = 481, .n = 264, .k = 24, .offsets = uneven, .activation = Activation::relu, .bias = true});
  check<grouped, half, k, k>(
      {.m = 481, .n = 36, .k = 24, .offsets = uneven, .by = By::epilogue, .bias = true, .residual = true, .scale = 2});
}
TEST(GemmOnHopper, MoreGroupsThanLanes) {
  std::vector<std::int32_t> offsets{3};
  for (int g = 0; g < 75; ++g) offsets.push_back(offsets.back() + (g % 3 == 1 ? 0 : g % 7));
  check<grouped, half, k, k>({.m = offsets.back() + 2, .n = 24, .k = 8, .offsets = offsets});
  check<grouped, half, k, k>({.m = 130, .n = 24, .k = 8, .offsets = std::vector<std::int32_t>(70, 130)});  // no rows
}
TEST(GemmOnHopper, OffsetsOutsideStayInside) {
  check<grouped, half, k, k>({.m = 30, .n = 24, .k = 64, .offsets = {-7, 12, 2000000000, 40}});
}

// ---- stream-K: two waves, one and a half, and less than one, of 3 multiprocessors ---------------------------------

constexpr int streams = row_named("stream_k"), gate_streams = row_named("gate_stream_k");

TEST(GemmOnHopper, StreamK) {
  check<streams, half, k, k>({.m = 200, .n = 200, .k = 760});
  check<streams, bfloat16, k, outer>({.m = 130, .n = 296, .k = 1000, .bias = true, .residual = true});
  check<streams, half, outer, outer>({.m = 72, .n = 264, .k = 776, .batch = 4});
  check<streams, half, outer, k>({.m = 130, .n = 200, .k = 776, .activation = Activation::silu, .residual = true});
}
TEST(GemmOnHopper, StreamKBesideOtherParts) {
  check<streams, half, k, k>({.m = 130, .n = 203, .k = 760, .by = By::epilogue, .bias = true});
  check<streams, bfloat16, k, k, float>({.m = 130, .n = 200, .k = 760, .residual = true, .residual_first = true});
  check<streams, half, k, k>(
      {.m = 130, .n = 203, .k = 760, .by = By::epilogue, .bias = true, .residual = true, .packed = true});
  check<gate_streams, bfloat16, k, k>({.m = 130, .n = 120, .k = 760, .activation = Activation::silu, .bias = true});
  check<gate_streams, half, k, outer>({.m = 200, .n = 136, .k = 1000, .residual = true});
}

// ---- rows of D that start anywhere ----------------------------------------------------------------------------------

TEST(GemmOnHopper, RowsThatStartAnywhere) {
  Case t{.m = 150, .n = 0, .k = 72, .by = By::columns_anywhere, .bias = true};
  t.packed = true;
  for (const int n : {1, 2, 31, 33, 67, 130, 203, 259}) {
    t.n = n;
    check<row_named("cooperative_128x128"), half, k, k>(t);
  }
  t.batch = 3, t.activation = Activation::relu, t.alpha = 2, t.scale = 0.5f;
  check<row_named("wgmma_64x96"), bfloat16, k, k>(t);
  check<row_named("cooperative_128x192"), half, k, k>(t);
  check<row_named("cooperative_128x160"), bfloat16, k, k>(t);
  t.bias = false, t.activation = Activation::none, t.alpha = t.scale = 1;
  check<row_named("persistent"), half, k, outer>(t);
}

// ---- a gate ---------------------------------------------------------------------------------------------------------

constexpr int gated = row_named("gate_wgmma");

TEST(GemmOnHopper, AGate) {
  check<gated, half, k, k>({.m = 130, .n = 136, .k = 40});
  check<row_named("gate_wgmma_64x64"), half, k, k>({.m = 130, .n = 200, .k = 72, .bias = true, .residual = true});
  check<row_named("gate_wgmma_128x96"), bfloat16, k, k>(
      {.m = 130, .n = 200, .k = 72, .activation = Activation::silu, .bias = true, .gate_bias = true});
  check<gated, half, k, outer>({.m = 30, .n = 72, .k = 40, .batch = 3, .shared_gate = true});
  check<gated, bfloat16, k, outer>({.m = 200, .n = 136, .k = 328, .activation = Activation::silu});
}
TEST(GemmOnHopper, AGateBesideOtherParts) {
  check<gated, half, k, outer>(
      {.m = 20, .n = 264, .k = 16, .activation = Activation::relu, .bias = true, .alpha = 2, .scale = 0.5f});
  check<gated, half, k, k>({.m = 200, .n = 264, .k = 24, .gate_bias = true, .residual = true, .alpha = 2});
  check<row_named("gate_wgmma_64x64"), half, k, k>({.m = 400, .n = 200, .k = 40, .bias = true, .gate_bias = true});
  check<gated, half, k, k>({.m = 130,
                            .n = 133,
                            .k = 16,
                            .by = By::epilogue,
                            .activation = Activation::silu,
                            .bias = true,
                            .gate_bias = true,
                            .residual = true});
}

// ---- neither --------------------------------------------------------------------------------------------------------

TEST(GemmOnHopper, OneOperand) {
  check<row_named("persistent"), half, k, k>({.m = 200, .n = 264, .k = 72, .bias = true});
  check<row_named("ping_pong_128x192"), half, outer, outer>({.m = 136, .n = 200, .k = 72, .batch = 2});
}

// An addend comes as a tile's first steps, or as its last ones: after an activation, with a gate, and in a block's only
// tile; where the stages hold all of it at once, and where they do not; in tiles beyond D's edges; in each schedule,
// with immediate and with deferred stores.
TEST(GemmOnHopper, AResidual) {
  for (const bool first : {false, true}) {
    const Activation relu = Activation::relu, silu = Activation::silu;
    check<row_named("persistent"), half, k, k>(
        {.m = 500, .n = 520, .k = 72, .activation = relu, .bias = true, .residual = true, .residual_first = first});
    check<row_named("persistent"), bfloat16, k, k>(
        {.m = 200, .n = 264, .k = 40, .activation = silu, .residual = true, .residual_first = first, .scale = 0.5f});
    check<row_named("ping_pong_128x192"), half, k, outer>(
        {.m = 136, .n = 600, .k = 300, .batch = 2, .residual = true, .residual_first = first});
    check<row_named("ping_pong_128x192"), bfloat16, k, k>(
        {.m = 300, .n = 400, .k = 64, .activation = silu, .bias = true, .residual = true, .residual_first = first});
    check<row_named("cooperative_128x192"), bfloat16, k, k>(
        {.m = 250, .n = 184, .k = 130, .bias = true, .residual = true, .residual_first = first});
    check<row_named("cooperative_128x192"), half, k, outer>(
        {.m = 500, .n = 392, .k = 70, .activation = relu, .residual = true, .residual_first = first});
    check<row_named("ping_pong_128x192"), half, k, k>(
        {.m = 120, .n = 200, .k = 300, .residual = true, .residual_first = first});
    check<row_named("wgmma_64x128"), half, outer, k>(
        {.m = 200, .n = 300 / 8 * 8, .k = 130, .activation = relu, .residual = true, .residual_first = first});
    check<gated, half, k, k>({.m = 130, .n = 264, .k = 40, .bias = true, .residual = true, .residual_first = first});
    check<grouped, half, k, k>(
        {.m = 481, .n = 264, .k = 72, .offsets = uneven, .residual = true, .residual_first = first});
  }
}

// `fp8` and `tf32x3` with 16-bit operands, which the CPU can multiply: sums leave the tensor cores after each step, and
// after every other one.
template <int I, int Steps> struct Promoting {
  static constexpr Config config = [] {
    Config c = variants[I].config;
    c.bk = 64, c.promote = Steps;
    return c;
  }();
};
TEST(GemmOnHopper, PartsOfSumsLeaveTheTensorCores) {
  for (const int steps : {1, 2, 3, 6})  // two parts alternate
    check_row<Promoting<row_named("fp8"), 1>, half, k, k>(
        {.m = 300, .n = 264, .k = 64 * steps - 40, .bias = true, .residual = steps > 2});
  check_row<Promoting<row_named("tf32x3"), 2>, half, k, k>(
      {.m = 140, .n = 200, .k = 328, .by = By::epilogue, .residual = true});
}

// ---- split-K tiles, by a block that has all of k --------------------------------------------------------------------

// Few multiprocessors, so that a block has several tiles. A skinny operand of Major::none is stored along its rows.
constexpr int few_sms = 1;
template <int I, class T, Major MA, Major MB, bool SwapAB>
void check_split(int m, int n, int of_k, bool by_epilogue, int batch = 1, int wide_rows = 0) {
  std::mt19937 bits(3);
  const auto operand = [&](Major major, int rows) {
    Matrices<T> x = major == Major::k ? Matrices<T>(batch, rows, of_k) : Matrices<T>(batch, of_k, rows);
    return x.randomise(bits);
  };
  constexpr bool has_gate = Policy<I>::config.gated;
  Matrices<T> a = operand(MA, m), b = operand(MB, n), gate = operand(MB, n), bias(1, 1, n), d(batch, m, n, 77);
  bias.randomise(bits);
  StandardEpilogue<float> epilogue{};
  epilogue.alpha = 2, epilogue.scale = 1;
  std::fill(std::begin(epilogue.factors), std::end(epilogue.factors), 1.0f);
  epilogue.addends[epilogue.bias] = bias.tensor();
  epilogue.addends[epilogue.bias].row_stride = 0;
  epilogue.d = d.tensor();
  constexpr Major wide = SwapAB ? MB : MA, skinny = SwapAB ? MA : MB;
  Matrices<T>& few = SwapAB ? a : b;
  const Status status = launch_split<Policy<I>, T, wide, skinny>(
      SwapAB ? b.operand() : a.operand(), few.operand(),
      PlainD{.d = by_epilogue ? WgmmaOperand{} : d.operand(), .vectors = n % 8 == 0}, {m, n, of_k, batch}, SwapAB, 1,
      wide_rows ? wide_rows : split_wide(Policy<I>::config), Copied::none, SplitHints{2, 1}, epilogue, few_sms, {},
      Operand<T>{few.data.data(), 1, few.pitch, few.batch_stride()}, gate.operand());
  ASSERT_TRUE(status.ok()) << status.message();
  const auto element = [](Matrices<T>& x, Major major, int of, int row, int along) {
    return double{major == Major::k ? x.get(of, row, along) : x.get(of, along, row)};
  };
  for (int of = 0; of < batch; ++of)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < d.pitch; ++j) {
        const auto product = [&](Matrices<T>& by) {
          double sum = 0;
          for (int along = 0; along < of_k; ++along)
            sum += element(a, MA, of, i, along) * element(by, MB, of, j, along);
          return sum;
        };
        double want = 77;
        if (j < n) {
          want = product(b);
          if (by_epilogue) want = 2 * want + double{bias.get(0, 0, j)};
          if (has_gate) want *= 2 * product(gate);
        }
        ASSERT_EQ(double{d.get(of, i, j)}, double{static_cast<float>(T(static_cast<float>(want)))})
            << of << " " << i << " " << j;
      }
}

TEST(GemmOnHopper, FewRowsAreTheNarrowOperand) {
  constexpr int narrow_16 = row_named("narrow_16"), narrow_64 = row_named("narrow_64");
  for (const bool by_epilogue : {false, true}) {
    check_split<narrow_16, half, k, k, true>(13, 136, 200, by_epilogue);
    check_split<narrow_16, bfloat16, k, outer, true>(16, 72, 64 * 10, by_epilogue, 2);
    check_split<narrow_64, half, outer, outer, true>(72, 67, 72, by_epilogue);
  }
}
TEST(GemmOnHopper, FewColumnsAreToo) {
  constexpr int narrow_16 = row_named("narrow_16"), split_64x128 = row_named("split_64x128");
  for (const bool by_epilogue : {false, true}) {
    check_split<narrow_16, half, k, k, false>(130, 13, 72, by_epilogue);
    check_split<narrow_16, half, outer, k, false>(136, 24, 200, by_epilogue);
    check_split<split_64x128, bfloat16, k, outer, false>(70, 136, 64 * 9 + 8, by_epilogue);
  }
}
TEST(GemmOnHopper, WhatTmaDoesNotBringIsGathered) {
  constexpr int narrow_16 = row_named("narrow_16");
  for (const bool by_epilogue : {false, true}) {
    check_split<narrow_16, half, k, Major::none, false>(130, 13, 64 * 12 + 8, by_epilogue);
    check_split<narrow_16, bfloat16, outer, Major::none, false>(72, 35, 40, by_epilogue, 2);
    check_split<narrow_16, half, Major::none, k, true>(16, 136, 64 * 10, by_epilogue, 2);
  }
}
TEST(GemmOnHopper, TilesOfFewerRowsAreEven) {
  constexpr int narrow_16 = row_named("narrow_16"), narrow_64 = row_named("narrow_64");
  for (const bool by_epilogue : {false, true}) {
    check_split<narrow_16, half, k, k, false>(130, 13, 72, by_epilogue, 1, 40);
    check_split<narrow_16, half, k, k, true>(13, 136, 200, by_epilogue, 2, 24);
    check_split<narrow_64, half, k, outer, true>(72, 133, 72, by_epilogue, 1, 52);
  }
}
// Whole tiles and such of fewer rows, several of them for a block, several along A, and a batch.
TEST(GemmOnHopper, FewRowsWithAGate) {
  constexpr int gate_16 = row_named("gate_narrow_16"), gate_64 = row_named("gate_narrow_64");
  check_split<gate_16, half, k, k, true>(13, 136, 200, true);
  check_split<gate_16, bfloat16, k, k, true>(35, 200, 64 * 6, true, 2);
  check_split<gate_16, half, k, k, true>(1, 131, 72, true, 1, 40);
  check_split<gate_64, half, k, k, true>(64, 130, 72, true);
  check_split<gate_64, bfloat16, k, k, true>(72, 133, 264, true, 1, 52);
}
TEST(GemmOnHopper, TwoWarpgroupsHaveHalfOfATileEach) {
  for (const bool by_epilogue : {false, true}) {
    check_split<row_named("split_128x128"), half, k, k, false>(200, 131, 136, by_epilogue);
    check_split<row_named("split_128x128"), half, k, k, true>(131, 200, 72, by_epilogue);
  }
}

// ---- float32 by threads ---------------------------------------------------------------------------------------------

// slice_k: of a slice of k, as the sums of slices are apart; 0: there is one.
template <int I, Major MD, bool SwapAB>
void check_tile(int m, int n, int of_k, int batch = 1, bool shared_b = false, int slice_k = 0) {
  std::mt19937 bits(2);
  const int each = slice_k ? slice_k : of_k, slices = (of_k + each - 1) / each;
  constexpr Major ma = SwapAB ? Major::outer : MD, mb = SwapAB ? MD : Major::outer;
  const auto operand = [&](Major major, int count, int rows) {
    Matrices<float> x = major == Major::k ? Matrices<float>(count, rows, of_k) : Matrices<float>(count, of_k, rows);
    return x.randomise(bits);
  };
  Matrices<float> a = operand(ma, batch, m), b = operand(mb, shared_b ? 1 : batch, n), d(batch * slices, m, n, 77);
  StandardEpilogue<float> epilogue{};
  epilogue.alpha = epilogue.scale = 1;
  epilogue.d = d.tensor();
  const Status status =
      launch_tma_tile<Policy<I>, MD, SwapAB>(SwapAB ? b.operand() : a.operand(), SwapAB ? a.operand() : b.operand(),
                                             {m, n, of_k, batch, slices, each}, epilogue);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto element = [](Matrices<float>& x, Major major, int of, int row, int along) {
    return double{major == Major::k ? x.get(of, row, along) : x.get(of, along, row)};
  };
  for (int part = 0; part < batch * slices; ++part) {
    const int of = part / slices, first = part % slices * each, end = std::min(first + each, of_k);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < d.pitch; ++j) {
        double want = j < n ? 0 : 77;
        for (int along = first; j < n && along < end; ++along)
          want += element(a, ma, of, i, along) * element(b, mb, shared_b ? 0 : of, j, along);
        ASSERT_EQ(double{d.get(part, i, j)}, want) << part << " " << i << " " << j;
      }
  }
}

TEST(GemmOnHopper, TilesOfFloatInEachLayout) {
  constexpr int row = row_named("tma_128x128");
  check_tile<row, k, false>(130, 137, 200);
  check_tile<row, outer, false>(257, 20, 161);
  check_tile<row, k, true>(20, 257, 129);
}
TEST(GemmOnHopper, TilesOfFloatOfABatchAndOfOneStep) {
  constexpr int row = row_named("tma_128x128");
  check_tile<row, k, false>(5, 9, 1, 3, true);
  check_tile<row, outer, false>(128, 128, 32, 2);
  check_tile<row, k, true>(1, 1, 33, 2);
  check_tile<row_named("tma_64x64"), k, false>(70, 65, 300);
}
TEST(GemmOnHopper, GroupsOfWarpsHaveStepsOfTheirOwn) {
  constexpr int row = row_named("tma_128x64");
  check_tile<row, k, false>(130, 70, 32 * 9 + 1);  // two passes over the stages, and one group one step more
  check_tile<row, outer, false>(40, 130, 32 * 16 + 7, 2);
  check_tile<row, k, true>(70, 140, 32 * 6);
  check_tile<row, k, false>(129, 65, 40);  // groups without a step
  check_tile<row_named("tma_64x64"), k, true>(65, 66, 32 * 9 + 4);
}
// 32 columns of floats are a line of the swizzle.
TEST(GemmOnHopper, FewFloatsAcrossATile) {
  constexpr int row = row_named("tma_128x32");
  check_tile<row, k, false>(130, 13, 32 * 9 + 1);
  check_tile<row, outer, false>(257, 40, 161, 2);
  check_tile<row, k, true>(34, 130, 32 * 8 + 4);
  check_tile<row, outer, true>(1, 257, 130, 2);
  constexpr int narrower = row_named("tma_128x16");
  check_tile<narrower, k, false>(130, 17, 32 * 13 + 1);
  check_tile<narrower, outer, false>(257, 3, 161, 2);
  check_tile<narrower, k, true>(18, 130, 32 * 8 + 4);
  check_tile<narrower, outer, true>(1, 257, 130, 2);
}
TEST(GemmOnHopper, TilesOfFloatInSlicesOfK) {
  check_tile<row_named("tma_128x32"), k, true>(20, 130, 32 * 7 + 5, 2, false, 32 * 2);
  check_tile<row_named("tma_64x64"), outer, false>(65, 70, 32 * 5, 1, false, 32 * 3);
  check_tile<row_named("tma_128x128"), k, false>(130, 20, 200, 2, true, 32 * 4);
}

}  // namespace
}  // namespace ridge::gemm_kernels
