// Hopper's rings and gradients on the CPU runtime, which has no clusters, against sums in double.
#include <ridge/norm/sm90_fused.cuh>
#include <ridge/norm/sm90_ring.cuh>
#include <ridge/norm/sm90_specialized.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace ridge::norm_detail {
namespace {

// As in the table, except for their sizes.
template <int Threads, int Team> struct RingPolicy {
  static constexpr Config config = {.algorithm = Algorithm::ring, .threads = Threads, .in_registers = 9, .team = Team};
};

struct Case {
  const char* about;
  std::int64_t rows, cols;
  Norm norm = Norm::layer;
  bool gamma = true, beta = true, in_place = false;
  float first = 0;  // added to each row's first element
  float mean = 0;
};

const Case cases[] = {
    {"one element", 3, 1},
    {"less than a vector", 5, 3},
    {"whole vectors, and fewer than lanes", 9, 32},
    {"all lanes", 7, 256},
    {"rows start at all alignment offsets", 37, 249},
    {"more rows than places in the ring", 40, 128},
    // Copies load whole vectors of 16 bytes: if two rows shared one, a copy would load what another team is writing,
    // and not use it.
    {"in place, rows of whole vectors", 11, 200, Norm::layer, true, true, true},
    {"no gamma", 5, 131, Norm::layer, false},
    {"an infinite element leaves zeros", 5, 131, Norm::rms, true, false, false, std::numeric_limits<float>::infinity()},
    {"no beta", 5, 131, Norm::layer, true, false},
    {"rms", 9, 203, Norm::rms},
    {"a first element far from the others", 9, 203, Norm::layer, true, true, false, 1e4f},
    {"a mean far from zero", 6, 250, Norm::layer, true, true, false, 0, 1e4f},
};

// limit: bytes of shared memory; on_lines: by as many blocks as there are offsets from a 128-byte line of rows' starts.
template <class Policy, class T, bool Added> void check(const Case& c, int limit = 48 << 10, bool on_lines = false) {
  SCOPED_TRACE(c.about);
  std::mt19937 bits(1);
  std::normal_distribution<float> normal;
  const auto tensor = [&](std::int64_t n, float mean) {
    std::vector<T> data(static_cast<std::size_t>(n));
    for (T& e : data) e = T(normal(bits) + mean);
    return data;
  };
  const std::int64_t n = c.rows * c.cols;
  std::vector<T> x = tensor(n, c.mean), residual = tensor(n, 0), gamma = tensor(c.cols, 1), beta = tensor(c.cols, 0);
  for (std::int64_t r = 0; r < c.rows; ++r) x[r * c.cols] = T(float(x[r * c.cols]) + c.first);
  std::vector<T> y(n, T(7.0f)), sum(n, T(7.0f)), want = x;
  if (Added)
    for (std::int64_t i = 0; i < n; ++i) want[i] = T(float(x[i]) + float(residual[i]));

  NormProblem p{.norm = c.norm, .rows = c.rows, .cols = c.cols, .dtype = dtype_of<T>, .added = Added};
  Rows layout = Rows::contiguous(c.rows, c.cols);
  layout.alignment_offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(x.data()) % vector_bytes);
  p.row_layouts = {layout, layout, layout, layout};
  const auto rows_of = [&](auto* data) {
    return RowTensor<std::remove_pointer_t<decltype(data)>>{data, RowOffsets::of(layout.outer)};
  };
  Forward<T> a{.x = rows_of(static_cast<const T*>(x.data())),
               .residual = {},
               .y = rows_of(c.in_place ? x.data() : y.data()),
               .sum = {},
               .gamma = {c.gamma ? gamma.data() : nullptr},
               .beta = {c.beta ? beta.data() : nullptr},
               .rows = c.rows,
               .cols = c.cols,
               .eps = 1e-5f,
               .rms = c.norm == Norm::rms};
  if (Added) {
    a.residual = rows_of(static_cast<const T*>(residual.data()));
    a.sum = rows_of(sum.data());
  }
  p.gamma = c.gamma;
  p.beta = c.beta;
  tile::RowRing ring = ring::ring_of(Policy::config, p, limit);
  ASSERT_GT(ring.stages, 0);
  ASSERT_LE(ring.slice_vectors, ring::capacity(Policy::config));
  std::int64_t blocks = 2 * ring.offsets;
  if (on_lines) {
    const std::int64_t pitch = c.rows > 1 ? c.cols * static_cast<std::int64_t>(sizeof(T)) : 0;
    blocks = 128 / std::gcd<std::int64_t>(128, pitch);
    ring = ring.of_clusters(blocks, pitch);
    ASSERT_TRUE(ring.on_lines);
  }
  const simt::Config at{.grid = dim3(static_cast<unsigned>(blocks)),
                        .block = dim3(Policy::config.threads),
                        .smem = static_cast<std::size_t>(ring.smem_bytes())};
  const auto ring_rows = [&](const std::vector<T>& t) {
    return tile::sm90::ring_rows(t.data(), c.cols, c.rows, c.cols);
  };
  Status status;
  if constexpr (Added) {
    status = simt::launch(at, norm_ring<Policy, T, true>, a, ring, RingInputs<2>{{ring_rows(x), ring_rows(residual)}});
  } else {
    status = simt::launch(at, norm_ring<Policy, T, false>, a, ring, RingInputs<1>{{ring_rows(x)}});
  }
  ASSERT_TRUE(status.ok()) << status.message();

  const std::vector<T>& got = c.in_place ? x : y;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const T* row = want.data() + r * c.cols;
    double mean = 0, squares = 0;
    for (std::int64_t i = 0; i < c.cols && c.norm == Norm::layer; ++i) mean += float(row[i]);
    mean /= static_cast<double>(c.cols);
    for (std::int64_t i = 0; i < c.cols; ++i) squares += std::pow(float(row[i]) - mean, 2);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(c.cols) + 1e-5f);
    for (std::int64_t i = 0; i < c.cols; ++i) {
      const double g = c.gamma ? float(gamma[i]) : 1, b = c.beta ? float(beta[i]) : 0;
      const double normalised = (float(row[i]) - mean) * scale, e = normalised * g + b;
      // The error of sums of up to 256 terms in float32, each rounded, and of the result's rounding to its type.
      const double u = 0x1p-24, error = 64 * u * std::fabs(g) * (std::fabs(normalised) + 1) + 4 * u * std::fabs(b);
      const double rounding = std::is_same_v<T, float> ? u : 0x1p-8;
      if (std::isnan(e)) {
        ASSERT_TRUE(std::isnan(float(got[r * c.cols + i]))) << "row " << r << " " << i;
        continue;
      }
      ASSERT_NEAR(float(got[r * c.cols + i]), e, error + rounding * (std::fabs(e) + error)) << "row " << r << " " << i;
      if (Added) {
        ASSERT_EQ(float(sum[r * c.cols + i]), float(row[i])) << "row " << r << " " << i;
      }
    }
  }
}

TEST(NormRing, Rows) {
  for (const Case& c : cases) {
    check<RingPolicy<128, 64>, float, false>(c);
    check<RingPolicy<128, 64>, bfloat16, false>(c);
    check<RingPolicy<96, 96>, bfloat16, false>(c);  // the number of warps is no power of two
    check<RingPolicy<128, 64>, bfloat16, false>(c, 48 << 10, true);
    check<RingPolicy<96, 96>, float, false>(c, 48 << 10, true);
  }
}
TEST(NormRing, ARingOfThreeRows) {
  for (const Case& c : cases) check<RingPolicy<64, 64>, float, false>(c, 6 << 10);
}
TEST(NormRing, RowsOfASum) {
  for (const Case& c : cases) {
    check<RingPolicy<128, 64>, float, true>(c);
    check<RingPolicy<128, 64>, bfloat16, true>(c);
  }
}

// ---- gradients: rows loaded by the copy engine give the same results as rows that lanes copy themselves

struct EngineCopies : OneBlock {
  using OneBlock::OneBlock;
  template <class T> using Copies = BulkCopies;
};
template <int Rows> struct FusedPolicy {
  static constexpr Config config = {.algorithm = Algorithm::fused, .threads = 128, .rows = Rows, .in_registers = 2};
};

// Contiguous rows of normal numbers, and a launch of a gradient kernel over them.
template <class T> struct GradientCase {
  NormProblem problem;
  std::vector<T> x, dy, gamma;  // [rows, cols], [rows, cols], [cols]

  GradientCase(std::int64_t rows, std::int64_t cols, Norm norm, unsigned seed)
      : problem{.norm = norm,
                .backward = true,
                .rows = rows,
                .cols = cols,
                .dtype = dtype_of<T>,
                .dgamma = true,
                .dbeta = true},
        x(static_cast<std::size_t>(rows * cols)),
        dy(x.size()),
        gamma(static_cast<std::size_t>(cols)) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    for (auto* tensor : {&x, &dy, &gamma})
      for (T& e : *tensor) e = T(normal(bits));
    const Rows layout = Rows::contiguous(rows, cols);
    problem.row_layouts = {layout, layout, layout, layout};
  }
  template <class Kernel, class Shape>
  void run(Kernel kernel, int blocks, int threads, const Shape& shape, const T* with_gamma, std::vector<T>& dx,
           std::vector<float>& slices) const {
    const simt::Config at{.grid = dim3(blocks), .block = dim3(threads), .smem = static_cast<std::size_t>(shape.smem)};
    const RowOffsets evenly = RowOffsets::of((*problem.row_layouts)[0].outer);
    const Backward<T> a{.dy = {dy.data(), evenly},
                        .x = {x.data(), evenly},
                        .dsum = {},
                        .dx = {dx.data(), evenly},
                        .gamma = {with_gamma},
                        .rows = problem.rows,
                        .cols = problem.cols,
                        .eps = 1e-5f,
                        .rms = problem.norm == Norm::rms,
                        .statistics = nullptr};
    const Status status = simt::launch(at, kernel, a, slices.data(), shape);
    ASSERT_TRUE(status.ok()) << status.message();
  }
};

template <class Policy, class T> void check_engine_copies(std::int64_t rows, std::int64_t cols) {
  SCOPED_TRACE(cols);
  GradientCase<T> given(rows, cols, Norm::layer, 2);
  constexpr int blocks = 2;
  const FusedRows shape = fused::shape_of(Policy::config, given.problem, 64 << 10, blocks);
  ASSERT_GT(shape.stages, 0);
  const auto run = [&](auto kernel, std::vector<T>& dx, std::vector<float>& slices) {
    given.run(kernel, blocks, Policy::config.threads, shape, given.gamma.data(), dx, slices);
  };
  const auto sums = static_cast<std::size_t>((blocks + shape.alignment_offsets - 1) * 2 * cols);
  std::vector<T> dx(given.x.size(), T(7.0f)), want_dx(given.x.size(), T(5.0f));
  std::vector<float> slices(sums, 7.0f), want_slices(sums, 5.0f);
  run(norm_fused_gradient<Policy, 32, T, EngineCopies>, dx, slices);
  run(norm_fused_gradient<Policy, 32, T>, want_dx, want_slices);
  for (std::size_t i = 0; i < dx.size(); ++i) ASSERT_EQ(float(dx[i]), float(want_dx[i])) << i;
  for (std::size_t i = 0; i < sums; ++i) ASSERT_EQ(slices[i], want_slices[i]) << i;
}

TEST(NormFused, RowsThatTheCopyEngineBrings) {
  for (const std::int64_t cols : {8, 256, 249, 203}) {
    check_engine_copies<FusedPolicy<1>, float>(37, cols);
    check_engine_copies<FusedPolicy<2>, float>(37, cols);
    check_engine_copies<FusedPolicy<2>, bfloat16>(40, cols);
  }
}

// ---- gradients by specialized warps, against those of warps that all do the same, whose sums have another order

template <int K> struct SpecializedPolicy {
  static constexpr Config config = {
      .algorithm = Algorithm::specialized, .threads = 64, .in_registers = K, .summing = 64};
};

template <int K> void check_specialized(std::int64_t rows, std::int64_t cols, bool has_gamma, bool rms) {
  SCOPED_TRACE(cols);
  using T = bfloat16;
  using Policy = SpecializedPolicy<K>;
  GradientCase<T> given(rows, cols, rms ? Norm::rms : Norm::layer, 3);
  const NormProblem& p = given.problem;
  constexpr int blocks = 2;
  const auto run = [&](auto kernel, int threads, const auto& shape, std::vector<T>& dx, std::vector<float>& slices) {
    ASSERT_GT(shape.stages, 0);
    given.run(kernel, blocks, threads, shape, has_gamma ? given.gamma.data() : nullptr, dx, slices);
  };
  using One = FusedPolicy<1>;
  constexpr int limit = 64 << 10;
  const FusedRows of_one = fused::shape_of(One::config, p, limit, blocks);
  const auto sums =
      static_cast<std::size_t>((blocks + std::min<std::int64_t>(of_one.alignment_offsets, rows) - 1) * 2 * cols);
  std::vector<T> dx(given.x.size(), T(7.0f)), want_dx(given.x.size(), T(5.0f));
  std::vector<float> slices(sums, 7.0f), want_slices(sums, 5.0f);
  run(norm_specialized_gradient<Policy, T>, specialized::threads_of(Policy::config),
      specialized::shape_of(Policy::config, p, limit, blocks), dx, slices);
  run(norm_fused_gradient<One, 32, T>, 128, of_one, want_dx, want_slices);
  // A result halfway between two bfloat16 may round to either.
  for (std::size_t i = 0; i < dx.size(); ++i)
    ASSERT_NEAR(float(dx[i]), float(want_dx[i]), 0x1p-7 * std::fabs(float(want_dx[i])) + 1e-4) << i;
  for (std::size_t i = 0; i < sums; ++i) ASSERT_NEAR(slices[i], want_slices[i], 1e-4) << i;
}

TEST(NormFused, SpecializedWarps) {
  for (const std::int64_t cols : {520, 1024, 1001, 777}) {
    check_specialized<4>(37, cols, true, false);
    check_specialized<2>(3, cols, true, true);
    check_specialized<2>(40, cols, false, false);
  }
}

}  // namespace
}  // namespace ridge::norm_detail
