// Hopper's forward pass on the CPU runtime, which emulates TMA, mbarrier and wgmma, against a product in double.
#include <ridge/attention/sm90_wgmma.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace ridge::attention_kernels {
namespace {

enum class Causal { no, upper_left, lower_right };

struct Case {
  const char* about = "";
  int heads = 2, group = 1, sq, sk, d, dv;
  Causal causal = Causal::no;
  int left = -1;  // of the window; -1: none
  float softcap = 0;
  bool special_values = false;
  std::vector<std::pair<int, int>> sequences =
      {};                                // queries and keys of each packed sequence; none: one sequence of sq and sk
  std::optional<DType> mask = {};        // boolean, f32, or else the tensors' type
  int mask_pitch = 0, mask_queries = 0;  // row pitch; 1: all queries share one row
  float far = 0;                         // value that the mask adds, or part of it, to products that are 0
};

constexpr int all_keys = (1 << 30) - 1;

// Whether query i of sq may attend to key j of sk.
bool attends(const Case& c, int sq, int sk, int i, int j) {
  const int at = i + (c.causal == Causal::lower_right ? sk - sq : 0);
  return (c.causal == Causal::no || j <= at) && (c.left < 0 || j >= at - c.left);
}

// Rows of whole 16-byte vectors, as TMA requires.
int pitch_of(int columns) { return (columns + 7) / 8 * 8; }

template <class T> struct Tensor {
  int heads, rows, columns, pitch;
  std::vector<T> data;
  Tensor(int h, int r, int c, float fill)
      : heads(h), rows(r), columns(c), pitch(pitch_of(c)), data(static_cast<std::size_t>(h * r * pitch), T(fill)) {}
  T& at(int head, int row, int column) { return data[static_cast<std::size_t>((head * rows + row) * pitch + column)]; }
  Strides strides() const { return {heads * rows * std::int64_t{pitch}, rows * std::int64_t{pitch}, pitch, 1}; }
  void randomise(std::mt19937& bits) {
    std::normal_distribution<float> normal;
    for (T& x : data) x = T(normal(bits));
  }
  tile::sm90::TensorMap map(int box) {
    tile::sm90::TensorMap m;
    EXPECT_TRUE(tile::sm90::make_tensor_map(&m, data.data(), dtype_of<T>, columns,
                                            {{rows, pitch}, {heads, std::int64_t{rows} * pitch}, {1, 0}}, box)
                    .ok());
    return m;
  }
};

// Rows of the table, except for the tile sizes.
template <int BM, int BN, int D, int DV, int Stages = 2> struct Tiles {
  static constexpr Config config = {.algorithm = Algorithm::wgmma,
                                    .bm = BM,
                                    .bn = BN,
                                    .d = D,
                                    .dv = DV,
                                    .threads = (BM / 64 + 1) * 128,
                                    .stages = Stages};
};
template <Schedule S> struct Step {
  static constexpr Config config = {.algorithm = Algorithm::wgmma,
                                    .bm = 128,
                                    .bn = 128,
                                    .d = 128,
                                    .dv = 128,
                                    .threads = S == Schedule::alone ? 256 : 384,
                                    .schedule = S};
};

// A mask tensor [heads, queries, keys] that hides some keys, and its additive values.
template <class T> struct Mask {
  DType dtype;
  int pitch, queries;
  std::vector<float> values;
  std::vector<unsigned char> bits;
  std::vector<T> narrow;
  Mask(const Case& c, std::mt19937& random)
      : dtype(c.mask.value_or(DType::f32)),
        pitch(c.mask_pitch ? c.mask_pitch : c.sk),
        queries(c.mask_queries ? c.mask_queries : c.sq) {
    const bool boolean = dtype == DType::boolean;
    for (int n = c.mask ? c.heads * queries * pitch : 0; n > 0; --n) {
      float x = random() % 4 == 0 ? minus_infinity : boolean ? 0 : static_cast<float>(random() % 9) * 0.25f - 1;
      if (c.far != 0 && x != minus_infinity) x = n / pitch % 2 ? c.far : c.far * (n % 3 + 1) / 4;
      values.push_back(dtype == DType::f32 ? x : static_cast<float>(T(x)));
      bits.push_back(x == 0 ? 7 : 0);
      narrow.push_back(T(x));
    }
  }
  const void* data() const {
    if (values.empty()) return nullptr;
    return dtype == DType::boolean ? static_cast<const void*>(bits.data())
           : dtype == DType::f32   ? static_cast<const void*>(values.data())
                                   : narrow.data();
  }
  Strides strides() const { return {0, std::int64_t{queries} * pitch, queries == 1 ? 0 : pitch, 1}; }
  tile::sm90::TensorMap map(const Case& c) const {
    tile::sm90::TensorMap m;
    EXPECT_TRUE(tile::sm90::make_tensor_map(&m, data(), dtype, c.sk,
                                            {{queries, pitch}, {c.heads, std::int64_t{queries} * pitch}, {1, 0}}, 64)
                    .ok());
    return m;
  }
  float at(int head, int query, int key) const {
    if (values.empty()) return 0;
    return values[static_cast<std::size_t>((head * queries + query % queries) * pitch + key)];
  }
};

template <class Policy, class T, bool Varlen = false, MaskLoad By = MaskLoad::none> void check(const Case& c) {
  SCOPED_TRACE(c.about);
  constexpr Config config = Policy::config;
  constexpr float untouched = 7;
  std::mt19937 bits(1);
  const int kv_heads = c.heads / c.group;
  constexpr bool uneven = Varlen;
  const auto sequences = uneven ? c.sequences : std::vector{std::pair(c.sq, c.sk)};
  std::vector<int> from_q{0}, from_k{0};
  for (const auto& [queries, keys] : sequences) {
    from_q.push_back(from_q.back() + queries);
    from_k.push_back(from_k.back() + keys);
  }
  const int rows = from_q.back(), keys_of_all = from_k.back();
  Tensor<T> q(c.heads, rows, c.d, 0), k(kv_heads, keys_of_all, c.d, 0), v(kv_heads, keys_of_all, c.dv, 0),
      o(c.heads, rows, c.dv, untouched);
  for (Tensor<T>* t : {&q, &k, &v}) t->randomise(bits);
  if (c.far != 0) std::ranges::fill(q.data, T(0.0f));
  if (c.special_values)
    for (std::size_t b = 0; b < sequences.size(); ++b)
      for (int h = 0; h < kv_heads; ++h) {
        const int first = from_k[b], keys = sequences[b].second;
        if (keys < 3) continue;
        v.at(h, first + keys - 1, 1) = T(NAN);
        v.at(h, first + keys / 2, 3) = T(INFINITY);
        k.at(h, first + keys - 2, 2) = T(NAN);
      }
  std::vector<float> lse(static_cast<std::size_t>(c.heads * rows), untouched);

  Arguments<T> a{};
  a.q = q.data.data(), a.k = k.data.data(), a.v = v.data.data(), a.o = o.data.data(), a.lse = lse.data();
  a.at_q = q.strides(), a.at_k = k.strides(), a.at_v = v.strides(), a.at_o = o.strides();
  a.at_lse = {std::int64_t{c.heads} * rows, rows, 1, 1};
  if constexpr (uneven) {
    a.sequences.from_q = {from_q.data(), 0, 1, rows, false};
    a.sequences.from_k = {from_k.data(), 0, 1, keys_of_all, false};
    a.sequences.lower_right = c.causal == Causal::lower_right;
    a.at_q.batch = a.at_k.batch = a.at_v.batch = a.at_o.batch = a.at_lse.batch = 0;
  }
  a.batch = static_cast<int>(sequences.size()), a.heads = c.heads, a.group = c.group, a.sq = c.sq, a.sk = c.sk,
  a.d = c.d, a.dv = c.dv;
  a.shift = c.causal == Causal::lower_right ? c.sk - c.sq : 0;
  a.left = c.left < 0 ? all_keys : c.left;
  a.right = c.causal == Causal::no ? all_keys : 0;
  a.scale = 1 / std::sqrt(static_cast<float>(c.d)), a.softcap = c.softcap;
  a.vectors = true, a.pack = 1, a.splits = 1;
  const Mask<T> mask(c, bits);
  a.mask = mask.data(), a.mask_dtype = mask.dtype, a.at_mask = mask.strides();
  const WgmmaMaps maps{q.map(64), k.map(config.bn), v.map(config.bn), o.map(64)};
  const int tiles = (c.sq + config.bm - 1) / config.bm;
  // Fewer blocks than tiles.
  const auto scheduler =
      WgmmaTileScheduler::of(static_cast<unsigned>(tiles), static_cast<unsigned>(c.heads * a.batch),
                             static_cast<unsigned>(c.heads), static_cast<unsigned>(c.group), c.causal != Causal::no, 2);
  const bool alone = config.schedule == Schedule::alone;
  const simt::Config at{
      .grid = dim3(alone ? static_cast<unsigned>(tiles * c.heads * a.batch) : scheduler.blocks),
      .block = dim3(config.threads),
      .smem = static_cast<std::size_t>(wgmma_bytes(config)) + (By == MaskLoad::tma ? wgmma_mask_room(config) : 0),
      .warp = 32};
  Status status;
  if constexpr (config.schedule == Schedule::alone)
    status = simt::launch(at, attention_wgmma_alone<Policy, T>, maps, a);
  else if constexpr (By == MaskLoad::tma)
    status = simt::launch(at, attention_wgmma<Policy, T, uneven, By>, maps, a, scheduler,
                          WgmmaMaskMap{mask.map(c), 0, 1, mask.dtype == DType::f32});
  else status = simt::launch(at, attention_wgmma<Policy, T, uneven, By>, maps, a, scheduler, NoWgmmaMask{});
  ASSERT_TRUE(status.ok()) << status.message();

  // P and O are rounded to T; the error of a weighted mean of numbers around 1 stays below that of one of them.
  const double tolerance = 4 * (std::is_same_v<T, half> ? 0x1p-11 : 0x1p-8);
  for (std::size_t b = 0; b < sequences.size(); ++b)
    for (int h = 0; h < c.heads; ++h)
      for (int i = 0; i < sequences[b].first; ++i) {
        const auto [sq, sk] = sequences[b];
        const int query = from_q[b] + i, first = from_k[b];
        std::vector<double> score(static_cast<std::size_t>(sk));
        double top = -INFINITY, sum = 0;
        for (int j = 0; j < sk; ++j) {
          double& s = score[static_cast<std::size_t>(j)];
          for (int e = 0; e < c.d; ++e)
            s += double{float(q.at(h, query, e))} * double{float(k.at(h / c.group, first + j, e))};
          s *= double{a.scale};
          if (c.softcap != 0) s = c.softcap * std::tanh(s / c.softcap);
          const double more = double{mask.at(h, i, j)};
          s = !attends(c, sq, sk, i, j) || more == -INFINITY ? -INFINITY : s + more;
          top = std::fmax(top, s);  // NaN reaches the weights
        }
        std::vector<double> want(static_cast<std::size_t>(c.dv));
        for (int j = 0; j < sk; ++j) {
          if (!attends(c, sq, sk, i, j) || mask.at(h, i, j) == minus_infinity) continue;
          const double weight = std::exp(score[static_cast<std::size_t>(j)] - top);
          sum += weight;
          for (int e = 0; e < c.dv; ++e)
            want[static_cast<std::size_t>(e)] += weight * double{float(v.at(h / c.group, first + j, e))};
        }
        const bool none = top == -INFINITY;
        const double log_sum = none ? top : top + std::log(sum);
        const float got_log_sum = lse[static_cast<std::size_t>(h * rows + query)];
        if (std::isfinite(log_sum)) ASSERT_NEAR(got_log_sum, log_sum, 1e-4 * (1 + std::abs(log_sum))) << h << " " << i;
        else ASSERT_EQ(std::isnan(log_sum), std::isnan(got_log_sum)) << h << " " << i;
        for (int e = 0; e < c.dv; ++e) {
          const double expected = none ? 0 : want[static_cast<std::size_t>(e)] / sum;
          const double got = double{float(o.at(h, query, e))};
          if (std::isfinite(expected))
            ASSERT_NEAR(got, expected, tolerance * (1 + std::abs(expected))) << i << " " << e;
          else if (std::isnan(expected)) ASSERT_TRUE(std::isnan(got)) << i << " " << e;
          else ASSERT_EQ(got, expected) << i << " " << e;
        }
        for (int e = c.dv; e < o.pitch; ++e) ASSERT_EQ(float(o.at(h, query, e)), untouched);
      }
}

using Wide = Tiles<128, 128, 128, 128>;

TEST(AttentionOnHopper, OneTile) {
  check<Wide, half>({.about = "one tile", .sq = 128, .sk = 128, .d = 128, .dv = 128});
}
TEST(AttentionOnHopper, WholeTilesAndSharedHeads) {
  check<Wide, half>({.group = 2, .sq = 130, .sk = 384, .d = 128, .dv = 128});
}
TEST(AttentionOnHopper, ManyHeadsThatShareKeys) {
  check<Wide, bfloat16>({.heads = 6, .group = 3, .sq = 260, .sk = 130, .d = 64, .dv = 64});
  check<Wide, bfloat16>(
      {.heads = 6, .group = 2, .sq = 260, .sk = 140, .d = 64, .dv = 64, .causal = Causal::upper_left});
}
TEST(AttentionOnHopper, CausalKeepsNaNWhereItIs) {
  check<Wide, half>({.sq = 256, .sk = 256, .d = 128, .dv = 128, .causal = Causal::upper_left, .special_values = true});
}
TEST(AttentionOnHopper, LowerRightNarrowerHeads) {
  check<Wide, bfloat16>(
      {.sq = 200, .sk = 333, .d = 120, .dv = 104, .causal = Causal::lower_right, .special_values = true});
}
TEST(AttentionOnHopper, MoreQueriesThanKeys) {
  check<Wide, half>({.heads = 1, .sq = 200, .sk = 130, .d = 128, .dv = 128, .causal = Causal::lower_right});
}
TEST(AttentionOnHopper, WindowAndSoftcap) {
  check<Wide, half, false, MaskLoad::threads>({.heads = 1,
                                               .sq = 140,
                                               .sk = 500,
                                               .d = 128,
                                               .dv = 128,
                                               .causal = Causal::lower_right,
                                               .left = 100,
                                               .softcap = 5,
                                               .special_values = true});
  check<Wide, half, true>({.about = "sequences",
                           .sq = 140,
                           .sk = 300,
                           .d = 128,
                           .dv = 128,
                           .softcap = 5,
                           .special_values = true,
                           .sequences = {{140, 300}, {3, 70}}});
}
TEST(AttentionOnHopper, OneConsumerWithSmallTiles) {
  using Small = Tiles<64, 64, 64, 64>;
  for (const Causal causal : {Causal::no, Causal::upper_left, Causal::lower_right})
    check<Small, half>({.about = "many tiles",
                        .heads = 4,
                        .group = 2,
                        .sq = 200,
                        .sk = 197,
                        .d = 64,
                        .dv = 64,
                        .causal = causal,
                        .special_values = true});
  check<Small, bfloat16, false, MaskLoad::tma>(
      {.about = "a mask", .sq = 70, .sk = 200, .d = 64, .dv = 64, .special_values = true, .mask = DType::bf16});
  check<Small, bfloat16, true>(
      {.about = "sequences", .sq = 130, .sk = 150, .d = 40, .dv = 56, .sequences = {{130, 150}, {5, 100}, {64, 1}}});
}
TEST(AttentionOnHopper, ThreeConsumers) {
  using Narrow = Tiles<192, 128, 64, 64>;
  check<Narrow, half>({.about = "causal",
                       .sq = 200,
                       .sk = 500,
                       .d = 64,
                       .dv = 64,
                       .causal = Causal::upper_left,
                       .special_values = true});
  check<Narrow, bfloat16>({.about = "many tiles", .heads = 1, .sq = 193, .sk = 700, .d = 40, .dv = 64});
}
TEST(AttentionOnHopper, FourConsumersSomeOfWhichHaveNothing) {
  using Four = Tiles<256, 64, 64, 64, 4>;
  for (const int queries : {1, 64, 65, 192, 257, 600})
    check<Four, bfloat16>({.about = "few queries", .sq = queries, .sk = 300, .d = 64, .dv = 64});
  for (const Causal causal : {Causal::upper_left, Causal::lower_right})
    check<Four, half>(
        {.about = "causal", .sq = 600, .sk = 500, .d = 64, .dv = 64, .causal = causal, .special_values = true});
  check<Four, half>({.about = "window",
                     .sq = 700,
                     .sk = 300,
                     .d = 64,
                     .dv = 64,
                     .causal = Causal::upper_left,
                     .left = 70,
                     .special_values = true});
}
TEST(AttentionOnHopper, ManyTilesOfQueries) {
  for (const Causal causal : {Causal::no, Causal::upper_left, Causal::lower_right})
    check<Wide, bfloat16>({.about = "two pairs and one",
                           .heads = 3,
                           .sq = 600,
                           .sk = 300,
                           .d = 128,
                           .dv = 120,
                           .causal = causal,
                           .special_values = true});
}
TEST(AttentionOnHopper, WideHeads) {
  check<Tiles<128, 64, 256, 256>, half>({.about = "256",
                                         .heads = 1,
                                         .sq = 129,
                                         .sk = 150,
                                         .d = 256,
                                         .dv = 256,
                                         .causal = Causal::upper_left,
                                         .special_values = true});
  check<Tiles<128, 64, 256, 256>, bfloat16>(
      {.about = "256 of several tiles", .sq = 300, .sk = 130, .d = 200, .dv = 216});
  check<Tiles<128, 128, 192, 128>, half>(
      {.about = "192 and 128", .heads = 1, .sq = 70, .sk = 260, .d = 192, .dv = 128});
}
// Products of the last panel read only the existing columns.
TEST(AttentionOnHopper, HeadsOfPartOfAPanel) {
  using Tile = Tiles<128, 128, 96, 96>;
  check<Tile, half>({.about = "all of it", .sq = 130, .sk = 260, .d = 96, .dv = 96, .special_values = true});
  check<Tile, bfloat16>({.about = "72", .sq = 200, .sk = 130, .d = 72, .dv = 72, .causal = Causal::lower_right});
  check<Tile, half, true>(
      {.about = "sequences", .sq = 130, .sk = 150, .d = 80, .dv = 88, .sequences = {{130, 150}, {5, 100}, {64, 1}}});
}
TEST(AttentionOnHopper, SequencesOfUnevenLengths) {
  const std::vector<std::pair<int, int>> sequences{{130, 260}, {0, 20}, {17, 0}, {1, 129}, {64, 127}, {200, 65}};
  for (const Causal causal : {Causal::no, Causal::upper_left, Causal::lower_right})
    check<Wide, half, true>({.about = "behind each other",
                             .group = 2,
                             .sq = 200,
                             .sk = 260,
                             .d = 120,
                             .dv = 104,
                             .causal = causal,
                             .special_values = true,
                             .sequences = sequences});
  check<Tiles<192, 128, 64, 64>, bfloat16, true>(
      {.about = "three consumers", .sq = 200, .sk = 260, .d = 64, .dv = 64, .sequences = sequences});
}
TEST(AttentionOnHopper, MaskTensors) {
  using Narrow = Tiles<192, 128, 64, 64>;
  for (const DType dtype : {DType::boolean, DType::f32, DType::f16})
    for (const int pitch : {300, 301})
      check<Narrow, half, false, MaskLoad::threads>({.about = "of all kinds",
                                                     .sq = 200,
                                                     .sk = 300,
                                                     .d = 64,
                                                     .dv = 64,
                                                     .special_values = true,
                                                     .mask = dtype,
                                                     .mask_pitch = pitch});
  // A window's tiles of keys begin at an odd key.
  for (const DType dtype : {DType::boolean, DType::f32, DType::f16})
    check<Narrow, half, false, MaskLoad::threads>(
        {.about = "behind a window", .sq = 400, .sk = 400, .d = 64, .dv = 64, .left = 5, .mask = dtype});
  check<Wide, bfloat16, false, MaskLoad::threads>({.about = "one row, causal too",
                                                   .heads = 4,
                                                   .group = 2,
                                                   .sq = 140,
                                                   .sk = 131,
                                                   .d = 128,
                                                   .dv = 120,
                                                   .causal = Causal::lower_right,
                                                   .softcap = 5,
                                                   .special_values = true,
                                                   .mask = DType::f32,
                                                   .mask_queries = 1});
}
TEST(AttentionOnHopper, MasksThatAreBrought) {
  using Pair = Tiles<128, 128, 64, 64>;
  check<Pair, half, false, MaskLoad::tma>({.about = "odd lengths",
                                           .heads = 3,
                                           .sq = 300,
                                           .sk = 301,
                                           .d = 64,
                                           .dv = 56,
                                           .special_values = true,
                                           .mask = DType::f16,
                                           .mask_pitch = 304});
  check<Pair, bfloat16, false, MaskLoad::tma>(
      {.about = "few", .heads = 1, .sq = 3, .sk = 5, .d = 64, .dv = 64, .mask = DType::bf16, .mask_pitch = 8});
  check<Wide, bfloat16, false, MaskLoad::tma>({.about = "softcap, behind a window that begins at odd keys",
                                               .heads = 4,
                                               .group = 2,
                                               .sq = 260,
                                               .sk = 500,
                                               .d = 128,
                                               .dv = 120,
                                               .causal = Causal::lower_right,
                                               .left = 133,
                                               .softcap = 5,
                                               .special_values = true,
                                               .mask = DType::bf16,
                                               .mask_pitch = 512});
}
// Of float32, where two of its tiles fit.
TEST(AttentionOnHopper, FloatMasksThatAreBrought) {
  using Pair = Tiles<128, 128, 64, 64>;
  static_assert(loads_float_masks(Pair::config) && !loads_float_masks(Wide::config));
  for (const float softcap : {0.0f, 5.0f})
    check<Pair, half, false, MaskLoad::tma>({.about = "odd lengths",
                                             .heads = 3,
                                             .sq = 300,
                                             .sk = 301,
                                             .d = 64,
                                             .dv = 56,
                                             .softcap = softcap,
                                             .special_values = true,
                                             .mask = DType::f32,
                                             .mask_pitch = 304});
  check<Pair, bfloat16, false, MaskLoad::tma>(
      {.about = "few", .heads = 1, .sq = 3, .sk = 5, .d = 64, .dv = 64, .mask = DType::f32, .mask_pitch = 8});
  for (const float far : {-1e9f, 3.3e38f})
    check<Pair, bfloat16, false, MaskLoad::tma>(
        {.about = "far", .sq = 70, .sk = 304, .d = 64, .dv = 64, .mask = DType::f32, .mask_pitch = 304, .far = far});
}
// Scores equal the mask exactly: none of its values is too large for P.
TEST(AttentionOnHopper, MasksFarFromZero) {
  for (const float far : {-1e4f, -1e9f, 4.5e9f, -3.3e38f, 3.3e38f})
    for (const DType mask : {DType::f32, DType::bf16})
      check<Wide, bfloat16, false, MaskLoad::threads>(
          {.about = "far", .heads = 1, .sq = 70, .sk = 300, .d = 64, .dv = 64, .mask = mask, .far = far});
  check<Wide, half, false, MaskLoad::threads>(
      {.about = "f16", .sq = 70, .sk = 300, .d = 64, .dv = 64, .mask = DType::f16, .far = -65504});
  check<Wide, half, false, MaskLoad::threads>(
      {.about = "f32 beside f16", .sq = 70, .sk = 300, .d = 64, .dv = 64, .mask = DType::f32, .far = -4e8f});
  check<Wide, bfloat16, false, MaskLoad::tma>({.about = "brought",
                                               .sq = 70,
                                               .sk = 304,
                                               .d = 64,
                                               .dv = 64,
                                               .mask = DType::bf16,
                                               .mask_pitch = 304,
                                               .far = -3.3e38f});
}
TEST(AttentionOnHopper, NoKeys) { check<Wide, half>({.sq = 10, .sk = 0, .d = 128, .dv = 128}); }

// How often each tile of each head is taken, and the load of the fullest block, in tiles of keys with a causal mask.
__global__ void count_places(const __grid_constant__ WgmmaTileScheduler scheduler, int heads, int tiles, int* times,
                             int* fullest) {
  int taken = 0;
  scheduler.for_each([&](const BlockCoord& at) {
    ++times[(at.batch * heads + at.head) * tiles + at.tile];
    taken += at.tile + 1;
  });
  atomicMax(fullest, taken);
}
TEST(AttentionOnHopper, EachTileIsTakenOnce) {
  for (const int tiles : {1, 2, 3, 5, 8, 13})
    for (const int heads : {1, 2, 6, 24})
      for (const int group : {1, 2, 6})
        for (const bool rises : {false, true})
          for (const int most : {1, 2, 7, 132}) {
            if (heads % group != 0) continue;
            constexpr int batch = 3;
            SCOPED_TRACE(std::to_string(tiles) + " tiles of " + std::to_string(heads) + " heads, groups of " +
                         std::to_string(group) + ", " + std::to_string(most) + " blocks");
            const auto count = [](int n) { return static_cast<unsigned>(n); };
            const auto scheduler = WgmmaTileScheduler::of(count(tiles), count(batch * heads), count(heads),
                                                          count(group), rises, count(most));
            std::vector<int> times(static_cast<std::size_t>(batch * heads * tiles));
            int fullest = 0;
            const simt::Config at{.grid = dim3(scheduler.blocks), .block = dim3(1), .warp = 32};
            ASSERT_TRUE(simt::launch(at, count_places, scheduler, heads, tiles, times.data(), &fullest).ok());
            for (const int n : times) EXPECT_EQ(n, 1);
            if (scheduler.longest_first) {
              const int pairs = batch * heads * ((tiles + 1) / 2);
              EXPECT_LT(fullest, (pairs + most - 1) / most * (tiles + 1));
            }
          }
  EXPECT_TRUE(WgmmaTileScheduler::of(13, 24, 12, 1, true, 132).longest_first);    // 18 tiles of keys, not two pairs' 28
  EXPECT_FALSE(WgmmaTileScheduler::of(13, 384, 12, 1, true, 132).longest_first);  // with many, pairs are balanced
}

// The ladder's steps, in order.
template <class Policy> void check_step() {
  check<Policy, bfloat16>({.about = "few", .heads = 1, .sq = 3, .sk = 17, .d = 128, .dv = 128});
  check<Policy, bfloat16>({.about = "no keys", .sq = 10, .sk = 0, .d = 128, .dv = 128});
  for (const Causal causal : {Causal::no, Causal::upper_left, Causal::lower_right})
    check<Policy, bfloat16>({.about = "many tiles",
                             .heads = 4,
                             .group = 2,
                             .sq = 300,
                             .sk = 500,
                             .d = 120,
                             .dv = 104,
                             .causal = causal,
                             .special_values = true});
  check<Policy, bfloat16>({.about = "window",
                           .heads = 1,
                           .sq = 260,
                           .sk = 200,
                           .d = 64,
                           .dv = 128,
                           .causal = Causal::lower_right,
                           .left = 100});
}
TEST(AttentionOnHopper, WarpgroupsWithoutRoles) { check_step<Step<Schedule::alone>>(); }
TEST(AttentionOnHopper, ConsumersPingPong) { check_step<Step<Schedule::ping_pong>>(); }

}  // namespace
}  // namespace ridge::attention_kernels
