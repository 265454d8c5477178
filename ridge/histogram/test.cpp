#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/histogram/bins.cuh>
#include <ridge/histogram/histogram.hpp>
#include <ridge/histogram/oracle.hpp>
#include <ridge/histogram/variants.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace ridge {
namespace {

using namespace histogram_detail;

const check::TestCasesOf cases{"histogram"};

// ---- the bin of a sample ------------------------------------------------------------------------------------------

struct EvenBins {
  std::int64_t count;
  double lo, hi;
};
const EvenBins even_bins[] = {{1, 0, 1},
                              {256, 0, 256},
                              {10, 0, 1},
                              {10, 0.1, 0.7},
                              {49, -1, 1},
                              {98, 0, 2},
                              {256, 0, 1},
                              {1000, -3, 3},
                              {65536, 0, 1},
                              {65536, -4, 4},
                              {65536, 0, 1.0 / 3},
                              {300000, 0.1, 1e3},
                              {64, 1000, 1001},
                              {3, 1e-6, 1e6},
                              {7, -10, 90},
                              {100, -0.5, 99.5},
                              {1000, 3, 10},
                              {255, -128, 127},
                              {4096, 16777217, 16777218},
                              {64, -3.4e38, 3.4e38},
                              {64, 1e-44, 1e-43},
                              {16, 1e39, 1e40},
                              {16, -1e300, 1e300},
                              {333, -1e12, 1e12},
                              {17, INT_MIN, INT_MAX},
                              {65536, -0x1p63, 0x1p63},
                              {1 << 20, 0, 0x1p40}};

template <class T> int bin_of(const Bins<Value<T>>& bins, T x) {
  int bin[1];
  bins.find(simt::vec<T, 1>{x}, -1, bin);
  return bin[0];
}

// Checks x, and its neighbours in its type.
template <class T> void expect_right_around(const Bins<Value<T>>& bins, const std::vector<double>& edges, double edge) {
  using Limits = std::numeric_limits<Value<T>>;
  Value<T> x;
  if constexpr (std::is_integral_v<T>) {
    constexpr double inside = 1 - 0x1p-50;  // a few numbers from the ends, even where doubles are 1,024 apart
    if (edge < static_cast<double>(Limits::lowest()) * inside + 4 ||
        edge > static_cast<double>(Limits::max()) * inside - 4)
      return;
    x = static_cast<T>(std::floor(edge)) - 2;
  } else {
    if (std::fabs(edge) > static_cast<double>(Limits::max())) return;
    x = std::nextafter(std::nextafter(static_cast<T>(edge), -Limits::infinity()), -Limits::infinity());
  }
  for (int step = 0; step < 5; ++step) {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    ASSERT_EQ(bin_of<T>(bins, x), oracle_bin(edges, static_cast<Wide>(x)))
        << bins.count << " bins over " << edges.front() << "," << edges.back() << ", x = " << +x << ", margin "
        << bins.margin;
    if constexpr (std::is_integral_v<T>) ++x;
    else x = std::nextafter(x, Limits::infinity());
  }
}

template <class T> void expect_right() {
  for (const EvenBins& even : even_bins) {
    const auto bins = Bins<Value<T>>::of(even.count, even.lo, even.hi);
    const auto edges = oracle_edges(even.count, even.lo, even.hi);
    const std::size_t stride = edges.size() > 100000 ? 7 : 1;
    for (std::size_t k = 0; k < edges.size(); k += stride) {
      expect_right_around<T>(bins, edges, edges[k]);
      if (testing::Test::HasFatalFailure()) return;
    }
    expect_right_around<T>(bins, edges, edges.back());
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> place(-0.01, 1.01);
    for (int i = 0; i < 20000; ++i)
      expect_right_around<T>(bins, edges, std::clamp(even.lo + place(random) * (even.hi - even.lo), -1e305, 1e305));
  }
}

TEST(HistogramBins, EveryEdgeAndItsNeighboursInFloat32) { expect_right<float>(); }
TEST(HistogramBins, EveryEdgeAndItsNeighboursInFloat64) { expect_right<double>(); }
TEST(HistogramBins, EveryEdgeAndItsNeighboursInInt32) { expect_right<std::int32_t>(); }
TEST(HistogramBins, EveryEdgeAndItsNeighboursInInt64) { expect_right<std::int64_t>(); }

template <class T> void expect_every_value() {
  for (const EvenBins& even : even_bins) {
    const auto bins = Bins<float>::of(even.count, even.lo, even.hi);
    const auto edges = oracle_edges(even.count, even.lo, even.hi);
    for (unsigned bits = 0; bits < 65536; ++bits) {
      T x;
      x.bits = static_cast<std::uint16_t>(bits);
      ASSERT_EQ(bin_of<T>(bins, x), oracle_bin(edges, static_cast<double>(static_cast<float>(x))))
          << even.count << " bins, bits " << bits;
    }
  }
}
TEST(HistogramBins, EveryFloat16) { expect_every_value<half>(); }
TEST(HistogramBins, EveryBfloat16) { expect_every_value<bfloat16>(); }

TEST(HistogramBins, SpecialValuesAreNotCounted) {
  const auto bins = Bins<float>::of(64, -FLT_MAX, FLT_MAX);
  EXPECT_EQ(bin_of<float>(bins, NAN), -1);
  EXPECT_EQ(bin_of<float>(bins, INFINITY), -1);
  EXPECT_EQ(bin_of<float>(bins, -INFINITY), -1);
  EXPECT_EQ(bin_of<float>(bins, FLT_MAX), 63);
  EXPECT_EQ(bin_of<float>(bins, -FLT_MAX), 0);
}

TEST(HistogramBins, TheEndsOfInt64) {
  const auto edges = oracle_edges(1000, -0x1p63, 0x1p63);
  const auto bins = Bins<std::int64_t>::of(1000, -0x1p63, 0x1p63);
  for (std::int64_t x : {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX, std::int64_t{0}, std::int64_t{-1}})
    EXPECT_EQ(bin_of<std::int64_t>(bins, x), oracle_bin(edges, x)) << x;
  // 2^53 + 1 is no double: compared exactly, it is below an edge at 2^53 + 2.
  const auto fine = Bins<std::int64_t>::of(2, 0x1p53 - 0x1p10, 0x1p53 + 0x1p10 + 4);
  const auto fine_edges = oracle_edges(2, 0x1p53 - 0x1p10, 0x1p53 + 0x1p10 + 4);
  ASSERT_EQ(fine_edges[1], 0x1p53 + 2);
  EXPECT_EQ(bin_of<std::int64_t>(fine, (std::int64_t{1} << 53) + 1), 0);
  EXPECT_EQ(bin_of<std::int64_t>(fine, (std::int64_t{1} << 53) + 2), 1);
}

TEST(HistogramBins, WholeNumberEdgesNeedNoSecondLook) {
  EXPECT_GT(Bins<std::int32_t>::of(256, 0, 256).margin, 0.49f);
  EXPECT_EQ(Bins<float>::of(256, 0, 256).margin, 0.5f);  // exact: even a sample on an edge is certain
  EXPECT_EQ(Bins<float>::of(65536, 0, 1).margin, 0.5f);
  EXPECT_LT(Bins<float>::of(10, 0, 1).margin, 0.5f);
  EXPECT_EQ(Bins<float>::of(1 << 28, 0, 1.1).margin, -1.0f);
}

// ---- the plan ----------------------------------------------------------------------------------------------------

const Config& config(const HistogramProblem& p, const char* device = "H200") {
  return variants[plan_histogram(p, *device_model(device))->variant].config;
}
constexpr HistogramRange unit{0, 1};

TEST(HistogramPlan, ChoosesTheTableThatFits) {
  EXPECT_EQ(config(HistogramProblem::flat(f32, 1 << 28, 256, unit)).copies, 32);
  EXPECT_EQ(config(HistogramProblem::flat(f32, 1 << 28, 65536, unit)).counter_bits, 16);
  EXPECT_EQ(config(HistogramProblem::flat(f32, 1 << 28, 1 << 20, unit)).table, Table::none);
  EXPECT_NE(config(HistogramProblem::flat(u8, 1 << 28)).table, Table::none);
  EXPECT_NE(config(HistogramProblem::flat(u8, 1 << 28, 100000)).table, Table::none)
      << "bytes have 256 counters, however many bins";
}

TEST(HistogramPlan, EveryModelHasAVariantForEveryProblem) {
  for (const DeviceInfo& device : device_models())
    for (DType type : {u8, i8, i32, i64, f16, bf16, f32, f64})
      for (std::int64_t bins : {1, 256, 5000, 65536, 1 << 24}) {
        auto p = HistogramProblem::flat(type, 1 << 20, bins, HistogramRange{0, 128});
        EXPECT_TRUE(plan_histogram(p, device).ok()) << device.name << " " << name(type) << " " << bins;
        p.x.stride[0] = -3;
        EXPECT_TRUE(plan_histogram(p, device).ok()) << device.name << " " << name(type) << " " << bins << " strided";
      }
}

TEST(HistogramPlan, SharedMemoryOfTheChosenRowIsThere) {
  for (const DeviceInfo& device : device_models())
    for (std::int64_t bins : {1, 256, 1815, 1816, 7000, 65536, 120000}) {
      const auto p = HistogramProblem::flat(f32, 1 << 24, bins, unit);
      const auto plan = plan_histogram(p, device);
      ASSERT_TRUE(plan.ok());
      EXPECT_LE(smem_bytes(variants[plan->variant].config, rows(bins, 4)), device.smem_optin);
    }
}

TEST(HistogramPlan, NoBlockCountsMoreThanItsCountersHold) {
  for (DType type : {u8, f32})
    for (int variant = 0; variant < variant_count; ++variant) {
      const Config& c = variants[variant].config;
      if (c.table == Table::none) continue;
      const std::int64_t n = (std::int64_t{1} << 40) + 12345;
      const auto plan = plan_histogram(HistogramProblem::flat(type, n, 256, HistogramRange{0, 256}),
                                       *device_model("H200"), {.variant = std::string(variants[variant].name)});
      if (!plan) continue;
      const std::int64_t access = access_elements(c, static_cast<int>(size_of(type))),
                         rounds = n / access / (plan->grid * c.threads) + 1;
      EXPECT_LE(rounds * c.threads * access + 2 * access, max_block_samples) << variants[variant].name;
    }
}

TEST(HistogramPlan, ARefusalSaysWhy) {
  const DeviceInfo h200 = *device_model("H200");
  const auto message = [&](const HistogramProblem& p, PlanOptions options = {}) {
    return std::string(plan_histogram(p, h200, options).error().message());
  };
  EXPECT_EQ(message(HistogramProblem::flat(f32, 10)),
            "histogram: range is not given; it must be given, as lo,hi: f32 has no default");
  EXPECT_EQ(message(HistogramProblem::flat(f32, 10, 256, HistogramRange{1, 1})),
            "histogram: range is 1,1; it must be lo,hi with lo less than hi, and a finite difference");
  EXPECT_EQ(message(HistogramProblem::flat(f64, 10, 256, HistogramRange{-1e308, 1e308})),
            "histogram: range is -1e+308,1e+308; it must be lo,hi with lo less than hi, and a finite difference");
  EXPECT_EQ(message(HistogramProblem::flat(f64, 10, 256, HistogramRange{0x1p50, 0x1p50 + 64})),
            "histogram: bins is 256; it must be at most 7 over 1125899906842624,1125899906842688: float64 cannot tell "
            "the edges of narrower bins apart");
  EXPECT_EQ(message(HistogramProblem::flat(f8e4m3, 10, 256, unit)),
            "histogram: x.dtype is f8e4m3; it must be one of u8 i8 i32 i64 f16 bf16 f32 f64");
  auto p = HistogramProblem::flat(u8, std::int64_t{1} << 31);
  p.counts_dtype = i32;
  EXPECT_EQ(message(p), "histogram: counts.dtype is i32; it must be i64: 2147483648 samples could overflow it");
  EXPECT_EQ(message(HistogramProblem::flat(u8, 10), {.variant = "packed_1024x3"}),
            "histogram: variant is packed_1024x3; it must be another one here: samples are bytes, whose 256 counters "
            "need no packing");
  EXPECT_EQ(message(HistogramProblem::flat(f32, 10, 100000, unit), {.variant = "vec4"}),
            "histogram: variant is vec4; it must be another one here: 100001 counters need 400004 bytes of shared "
            "memory, and a block has at most 232448");
}

TEST(HistogramPlan, ExplainsItself) {
  const auto plan = plan_histogram(HistogramProblem::flat(u8, 1 << 28), *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  const Explanation e = plan->explain();
  EXPECT_EQ(e.problem, "u8 268435456, 256 bins over 0,256");
  EXPECT_EQ(e.bound, "memory");
  EXPECT_EQ(e.cost.bytes_read, 1 << 28);
  EXPECT_EQ(e.candidates.size(), std::size(variants));
}

// ---- running -----------------------------------------------------------------------------------------------------

TEST(Histogram, OneLineOnTheCpu) {
  const std::vector<std::uint8_t> x{0, 1, 1, 255, 255, 255};
  std::vector<std::int64_t> counts(256, -1);
  histogram(view(x.data(), {6}), view(counts.data(), {256}));
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[1], 2);
  EXPECT_EQ(counts[255], 3);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 6);
}

TEST(Histogram, NothingToCountGivesZeros) {
  std::vector<std::int64_t> counts(10, -1);
  float none;
  histogram(view(&none, {0}), view(counts.data(), {10}), unit);
  EXPECT_EQ(counts, std::vector<std::int64_t>(10, 0));
}

TEST(Histogram, CountsMayBeStrided) {
  const std::vector<float> x{0.1f, 0.2f, 0.9f};
  for (std::int64_t stride : {3, -3}) {
    std::vector<std::int32_t> counts(12, -1);
    TensorView out = view(counts.data() + (stride < 0 ? 9 : 0), {4});
    out.layout.stride[0] = stride;
    histogram(view(x.data(), {3}), out, unit);
    const std::vector<std::int32_t> forward{2, -1, -1, 0, -1, -1, 0, -1, -1, 1, -1, -1},
        backward{1, -1, -1, 0, -1, -1, 0, -1, -1, 2, -1, -1};
    EXPECT_EQ(counts, stride > 0 ? forward : backward);
  }
}

TEST(Histogram, ABroadcastViewIsCountedAsOftenAsItSays) {
  const std::uint8_t byte = 42;
  TensorView x = view(&byte, {300000});
  x.layout.stride[0] = 0;
  std::vector<std::int64_t> counts(256);
  histogram(x, view(counts.data(), {256}));
  EXPECT_EQ(counts[42], 300000);
}

TEST(Histogram, FullRangeInt64) {
  std::vector<std::int64_t> x{INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  std::vector<std::int64_t> counts(2);
  histogram(view(x.data(), {7}), view(counts.data(), {2}), HistogramRange{-0x1p63, 0x1p63});
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 4}));
}

// More samples of one bin in one block than a packed 16-bit counter holds, even all at once.
TEST(Histogram, PackedCountersGiveWhatTheyCannotHold) {
  const std::int64_t n = 150'000;
  for (int spread : {1, 2, 3}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % static_cast<std::size_t>(spread));
    for (const Variant& row : variants) {
      if (row.config.table != Table::shared || row.config.counter_bits != 16) continue;
      auto plan = plan_histogram(HistogramProblem::flat(f32, n, 1000, HistogramRange{0, 1000}), cpu(),
                                 {.variant = std::string(row.name)});
      ASSERT_TRUE(plan.ok());
      plan->grid = 1;
      std::vector<std::int64_t> counts(1000);
      ASSERT_TRUE(plan->run(view(x.data(), {n}), view(counts.data(), {1000})).ok());
      for (int k = 0; k < spread; ++k) EXPECT_EQ(counts[k], n / spread) << row.name;
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), n);
    }
  }
}

TEST(Histogram, OverlapAndMisalignmentAreRefused) {
  alignas(8) std::byte memory[64] = {};
  const auto message = [](const TensorView& x, const TensorView& counts) {
    return std::string(HistogramProblem::of(x, counts, unit).error().message());
  };
  auto* words = reinterpret_cast<float*>(memory);
  auto* counts = reinterpret_cast<std::int64_t*>(memory);
  EXPECT_EQ(message(view(words, {8}), view(counts + 2, {4})),
            "histogram: counts is overlapping x; it must be apart from it");
  TensorView odd = view(words, {2});
  odd.data = memory + 2;
  EXPECT_EQ(message(odd, view(counts + 2, {4})),
            "histogram: x.data is misaligned; it must be aligned to its elements' size");
}

TEST(Histogram, OptionsByName) {
  const OpInfo& op = **find_op("histogram");
  float data[4] = {};
  const TensorView x = view(data, {4});
  const auto infer = [&](Options options) { return infer_op(op, std::span(&x, 1), options); };
  EXPECT_EQ((*infer({{"bins", "10"}, {"range", "0,1"}}))[0].shape, std::vector<std::int64_t>{10});
  EXPECT_EQ((*infer({{"out", "i32"}}))[0].dtype, i32);
  EXPECT_EQ(infer({{"bins", "0"}}).error().message(), "histogram: bins is 0; it must be from 1 to 1073741824");
  EXPECT_EQ(infer({{"out", "f32"}}).error().message(), "histogram: out is 'f32'; it must be i64 or i32");
  std::int64_t counts[256];
  const TensorView y = view(counts, {256});
  for (const char* range : {"0", "0,", "a,b", "0,1,2", "", "nan,nan", "nan,1", "0,inf", "0,1e400"})
    EXPECT_EQ(plan_op(op, std::span(&x, 1), std::span(&y, 1), {{"range", range}}, cpu()).error().message(),
              "histogram: range is '" + std::string(range) + "'; it must be two finite numbers, lo,hi");
}

}  // namespace
}  // namespace ridge
