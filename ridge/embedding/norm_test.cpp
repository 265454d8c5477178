#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/embedding/embedding.hpp>
#include <ridge/embedding/norm.hpp>
#include <ridge/embedding/norm_variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ridge {
namespace {

using embedding_norm_detail::variants;

const check::TestCasesOf cases{"embedding_norm"};

std::string chosen(const EmbeddingNormProblem& p) {
  auto plan = plan_embedding_norm(p, *device_model("H200"));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
EmbeddingNormProblem problem(DType dtype, std::int64_t cols, std::int64_t n) {
  return EmbeddingNormProblem::contiguous(dtype, 128256, cols, n);
}

TEST(EmbeddingNormPlan, KeepsTheRowInTheRegistersOfAsManyLanesAsItNeeds) {
  EXPECT_EQ(chosen(problem(bf16, 256, 65536)), "warp_32");
  EXPECT_EQ(chosen(problem(bf16, 768, 65536)), "warp_128");
  EXPECT_EQ(chosen(problem(bf16, 4096, 8192)), "block_512");
  EXPECT_EQ(chosen(problem(f32, 4096, 8192)), "block_1k");
  EXPECT_EQ(chosen(problem(f32, 16384, 8192)), "block_4k");
  EXPECT_EQ(chosen(problem(bf16, 4096, 1)), "block_2k");  // with few rows, each lane has little work
}

TEST(EmbeddingNormPlan, OtherRowsAreReadAgain) {
  const auto streams = [](const EmbeddingNormProblem& p) {
    const std::string name = chosen(p);
    return name == "naive" || name == "strided";
  };
  EXPECT_TRUE(streams(problem(bf16, 770, 65536)));
  EXPECT_TRUE(streams(problem(bf16, 32776, 100)));
  EmbeddingNormProblem p = problem(f32, 64, 10);
  p.alignment = 4;
  EXPECT_TRUE(streams(p));
}

TEST(EmbeddingNormPlan, ARowThatDoesNotFitSaysWhy) {
  const auto refusal = [](const EmbeddingNormProblem& p, const char* row = "block_512") {
    const auto plan = plan_embedding_norm(p, *device_model("H200"), {.variant = row});
    return plan ? std::string() : std::string(plan.error().message());
  };
  const auto expect = [&](const EmbeddingNormProblem& p, const std::string& why) {
    EXPECT_NE(refusal(p).find(why), std::string::npos) << refusal(p);
  };
  const EmbeddingNormProblem fine = problem(bf16, 64, 10);
  EXPECT_EQ(refusal(fine), "");
  EmbeddingNormProblem p = fine;
  p.x_step = 2;
  p.x_rows.stride[0] = 128;
  expect(p, "a row's elements are not contiguous");
  p = fine;
  p.gamma_step = -1;
  expect(p, "gamma or beta is not contiguous");
  p = fine;
  p.x_rows = p.y_rows = p.indices = Layout::contiguous({2, 5});
  for (Layout* rows : {&p.x_rows, &p.y_rows}) rows->stride[0] = 320, rows->stride[1] = 64;
  expect(p, "rows of x, y or indices are not evenly spaced");
  expect(problem(bf16, 68, 10), "cols not a multiple of 8");
  p = fine;
  p.table_pitch = 66;
  expect(p, "rows do not start on 16 bytes");
  p = fine;
  p.y_rows.stride[0] = 66;
  expect(p, "rows do not start on 16 bytes");
  p = fine;
  p.alignment = 8;
  expect(p, "table, gamma, beta, x or y does not start on 16 bytes");
  expect(problem(bf16, 4104, 10), "a row has 513 vectors of 16 bytes, and 512 are kept");
  EXPECT_NE(refusal(fine, "nothing").find("one of naive warp_32"), std::string::npos);
  for (const char* row : {"naive", "strided"}) EXPECT_EQ(refusal(p, row), "");
}

TEST(EmbeddingNormPlan, ARequestOfWrongNumbersIsRefused) {
  const auto refusal = [](const EmbeddingNormOptions& options, DType dtype = f32) {
    const auto p = EmbeddingNormProblem::contiguous(dtype, 5, 8, 3, options);
    return std::string(plan_embedding_norm(p, cpu()).error().message());
  };
  EXPECT_EQ(refusal({.eps = -1}), "embedding_norm: eps is -1; it must be finite and not negative");
  EXPECT_NE(refusal({.eps = HUGE_VAL}).find("eps"), std::string::npos);
  EXPECT_EQ(refusal({.scale = HUGE_VALF}), "embedding_norm: scale is inf; it must be finite");
  EXPECT_EQ(refusal({}, f64), "embedding_norm: table.dtype is f64; it must be one of f32 f16 bf16");
  EmbeddingNormProblem p = problem(f32, 8, 3);
  p.y_step = 0;
  EXPECT_EQ(plan_embedding_norm(p, cpu()).error().message(),
            "embedding_norm: y.strides is 0 in an axis of 8; it must be such that no two elements share memory");
}

// A plan from sizes is that of contiguous tensors, also of one index and one row.
TEST(EmbeddingNormPlan, OfSizesIsOfContiguousTensors) {
  alignas(16) float table[64], gamma[8], x[64], y[64];
  std::int32_t indices[4];
  for (const std::int64_t rows : {1, 2, 8})
    for (const std::int64_t n : {1, 2, 4}) {
      const EmbeddingNormTensors t{.table = view(table, {rows, 8}),
                                   .indices = view(indices, {n}),
                                   .gamma = view(gamma, {8}),
                                   .x = view(x, {n, 8}),
                                   .y = view(y, {n, 8})};
      EXPECT_EQ(EmbeddingNormProblem::contiguous(f32, rows, 8, n), *EmbeddingNormProblem::of(t)) << rows << " " << n;
    }
}

TEST(EmbeddingNormPlan, ARefusalOfTensorsSaysWhy) {
  std::vector<float> table(12), x(8), y(8), vector(4);
  std::vector<std::int32_t> indices(2);
  const EmbeddingNormTensors fine{.table = view(table.data(), {3, 4}),
                                  .indices = view(indices.data(), {2}),
                                  .gamma = view(vector.data(), {4}),
                                  .x = view(x.data(), {2, 4}),
                                  .y = view(y.data(), {2, 4})};
  const auto refusal = [&](auto change) {
    EmbeddingNormTensors t = fine;
    change(t);
    return std::string(EmbeddingNormProblem::of(t).error().message());
  };
  using Tensors = EmbeddingNormTensors;
  EXPECT_TRUE(EmbeddingNormProblem::of(fine).ok());
  EXPECT_EQ(refusal([&](Tensors& t) { t.table = view(table.data(), {12}); }),
            "embedding_norm: table.shape is 12; it must be of 2 axes");
  EXPECT_EQ(refusal([&](Tensors& t) { t.indices = view(y.data(), {2}); }),
            "embedding_norm: indices.dtype is f32; it must be i32 or i64");
  EXPECT_EQ(refusal([&](Tensors& t) {
              t.x = view(x.data(), {2, 3});
            }),
            "embedding_norm: x.shape is 2x3; it must be 2x4");
  EXPECT_EQ(refusal([&](Tensors& t) { t.gamma = view(vector.data(), {3}); }),
            "embedding_norm: gamma.shape is 3; it must be 4");
  EXPECT_EQ(refusal([&](Tensors& t) { t.beta = view(indices.data(), {4}); }),
            "embedding_norm: beta.dtype is i32; it must be that of table, f32");
  EXPECT_EQ(refusal([&](Tensors& t) {
              t.x = view(table.data() + 4, {2, 4});
            }),
            "embedding_norm: x is overlapping table; it must be apart from it");
  EXPECT_EQ(refusal([&](Tensors& t) { t.y = t.x; }), "embedding_norm: y is overlapping x; it must be apart from it");
}

TEST(EmbeddingNormPlan, RunsOnWhatWasPlanned) {
  alignas(16) float table[16] = {}, x[8], y[8];
  const std::int32_t indices[1] = {1};
  EmbeddingNormTensors t{
      .table = view(table, {2, 8}), .indices = view(indices, {1}), .x = view(x, {1, 8}), .y = view(y, {1, 8})};
  const auto plan = plan_embedding_norm(*EmbeddingNormProblem::of(t), cpu());
  EXPECT_TRUE(plan->run(t).ok());
  t.gamma = view(table, {8});
  EXPECT_EQ(plan->run(t).argument(), "the request");
}

TEST(EmbeddingNorm, OneLineAndAScalarIndex) {
  const float table[] = {9, 9, 3, 4}, gamma[] = {1, 2}, beta[] = {0, 1};
  const std::int64_t index = 1;
  float x[2], y[2];
  const EmbeddingNormTensors t{.table = view(table, {2, 2}),
                               .indices = view(&index, {}),
                               .gamma = view(gamma, {2}),
                               .beta = view(beta, {2}),
                               .x = view(x, {2}),
                               .y = view(y, {2})};
  embedding_norm(t, {.eps = 0, .scale = 10});
  EXPECT_EQ(x[0], 30);
  EXPECT_EQ(x[1], 40);
  EXPECT_NEAR(y[0], 3 / std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(y[1], 2 * 4 / std::sqrt(12.5) + 1, 1e-6);
  embedding_norm(t, {.mode = Norm::layer, .eps = 0});
  EXPECT_EQ(x[1], 4);
  EXPECT_NEAR(y[0], -1, 1e-6);
  EXPECT_NEAR(y[1], 3, 1e-6);
}

TEST(EmbeddingNorm, IndicesThatDoNotMerge) {  // [2, 3] of six, seen as its transpose
  const float table[] = {0, 10, 20, 30, 40, 50};
  const std::int32_t indices[] = {0, 1, 2, 3, 4, 5};
  std::vector<float> x(6), y(6);
  embedding_norm({.table = view(table, {6, 1}),
                  .indices = transposed(view(indices, {2, 3})),
                  .x = view(x.data(), {3, 2, 1}),
                  .y = view(y.data(), {3, 2, 1})},
                 {.eps = 0});
  EXPECT_EQ(x, (std::vector<float>{0, 30, 10, 40, 20, 50}));
  EXPECT_TRUE(std::isnan(y[0]));
  for (std::size_t i = 1; i < 6; ++i) EXPECT_NEAR(y[i], 1, 1e-6) << i;
}

// Device memory, filled with these values; values() copies them back.
class OnDevice {
 public:
  template <class T> OnDevice(const DeviceInfo& on, const std::vector<T>& values) : device_(on.id) {
    auto buffer = Buffer::allocate(on.id, values.size() * sizeof(T));
    throw_if(buffer.error());
    buffer_ = std::move(*buffer);
    throw_if(copy_bytes(buffer_.data(), on.id, values.data(), {}, values.size() * sizeof(T)));
  }
  template <class T> TensorView of(std::initializer_list<std::int64_t> shape) const {
    return view(static_cast<T*>(buffer_.data()), shape, device_);
  }
  template <class T> std::vector<T> values(std::size_t count) const {
    std::vector<T> values(count);
    throw_if(copy_bytes(values.data(), {}, buffer_.data(), device_, count * sizeof(T)));
    return values;
  }

 private:
  Device device_;
  Buffer buffer_;
};

template <class T> std::vector<T> normal(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> of;
  std::vector<T> values(count);
  for (T& value : values) value = T(of(random));
  return values;
}

template <class T> bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Rows with gaps of whole vectors, and every second index: every variant gives the same bits as without gaps, and again
// in a second run.
void expect_rows_apart(const DeviceInfo& on, Norm mode) {
  constexpr std::int64_t rows = 7, cols = 264, n = 5, table_pitch = 272, x_pitch = 280, y_pitch = 264;
  const auto dense = normal<bfloat16>(rows * cols, 1);
  std::vector<bfloat16> apart(rows * table_pitch, bfloat16(100.0f));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) apart[row * table_pitch + col] = dense[row * cols + col];
  const std::vector<std::int64_t> taken{3, -1, 6, 7, 0}, every_second{3, 9, -1, 9, 6, 9, 7, 9, 0, 9};
  const OnDevice table(on, dense), table_apart(on, apart), indices(on, taken), second(on, every_second),
      gamma(on, normal<bfloat16>(cols, 2)), beta(on, normal<bfloat16>(cols, 3));
  const std::vector<bfloat16> nothing(n * x_pitch, bfloat16(-7.0f));
  const EmbeddingNormOptions options{.mode = mode, .scale = 3};
  int ran = 0;
  for (const auto& row : variants) {
    const OnDevice x(on, nothing), y(on, nothing), x_apart(on, nothing), y_apart(on, nothing), x_again(on, nothing),
        y_again(on, nothing);
    const auto run = [&](EmbeddingNormTensors t) {
      t.gamma = gamma.of<bfloat16>({cols});
      t.beta = beta.of<bfloat16>({cols});
      const auto plan =
          plan_embedding_norm(*EmbeddingNormProblem::of(t, options), on, {.variant = std::string(row.name)});
      if (!plan) return false;
      const Status status = plan->run(t);
      EXPECT_TRUE(status.ok()) << status.message();
      return status.ok();
    };
    EmbeddingNormTensors t{.table = table.of<bfloat16>({rows, cols}),
                           .indices = indices.of<std::int64_t>({n}),
                           .x = x.of<bfloat16>({n, cols}),
                           .y = y.of<bfloat16>({n, cols})};
    if (!run(t)) continue;
    t.x = x_again.of<bfloat16>({n, cols});
    t.y = y_again.of<bfloat16>({n, cols});
    ASSERT_TRUE(run(t)) << row.name;
    t.table = table_apart.of<bfloat16>({rows, cols});
    t.table.layout.stride[0] = table_pitch;
    t.indices = second.of<std::int64_t>({n});
    t.indices.layout.stride[0] = 2;
    t.x = x_apart.of<bfloat16>({n, cols});
    t.x.layout.stride[0] = x_pitch;
    t.y = y_apart.of<bfloat16>({n, cols});
    t.y.layout.stride[0] = y_pitch;
    ASSERT_TRUE(run(t)) << row.name;
    ++ran;
    const auto want_x = x.values<bfloat16>(n * cols), want_y = y.values<bfloat16>(n * cols);
    EXPECT_TRUE(same_bytes(x_again.values<bfloat16>(n * cols), want_x)) << row.name;
    EXPECT_TRUE(same_bytes(y_again.values<bfloat16>(n * cols), want_y)) << row.name;
    EXPECT_TRUE(same_bytes(y_apart.values<bfloat16>(n * cols), want_y)) << row.name;
    const auto got_x = x_apart.values<bfloat16>(n * x_pitch);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t col = 0; col < x_pitch; ++col) {
        const float want = col < cols ? float(want_x[i * cols + col]) : -7.0f;
        ASSERT_EQ(float(got_x[i * x_pitch + col]), want) << row.name << " " << i << " " << col;
      }
  }
  EXPECT_GT(ran, 4);
}
TEST(EmbeddingNorm, RowsMayLieApart) {
  for (const Norm mode : {Norm::rms, Norm::layer}) expect_rows_apart(cpu(), mode);
}
TEST(EmbeddingNorm, cudaRowsMayLieApart) {
  auto gpu = device(0);
  if (!gpu) GTEST_SKIP() << "no GPU on this machine";
  for (const Norm mode : {Norm::rms, Norm::layer}) expect_rows_apart(*gpu, mode);
}

// For every variant, x equals embedding's bit for bit, and y equals rms_norm or layer_norm of x, except that each has
// its own roundings. A sum of 520 elements is off by at most 250 roundings, the root of a variance by half as many, and
// a mean by as many of its own distances; then both round to the type.
template <class T> void expect_embedding_then_norm(const DeviceInfo& on, Norm mode, std::int64_t cols, float scale) {
  constexpr std::int64_t rows = 30, n = 40;
  const std::size_t count = static_cast<std::size_t>(n * cols);
  std::vector<std::int32_t> chosen_rows(n);
  for (std::int32_t i = 0; i < n; ++i) chosen_rows[i] = i * 7 % 32 - 1;  // some outside of the table
  const OnDevice table(on, normal<T>(static_cast<std::size_t>(rows * cols), 4)), indices(on, chosen_rows),
      gamma(on, normal<T>(static_cast<std::size_t>(cols), 5)), beta(on, normal<T>(static_cast<std::size_t>(cols), 6)),
      x(on, std::vector<T>(count)), y(on, std::vector<T>(count)), rows_alone(on, std::vector<T>(count)),
      norms_alone(on, std::vector<T>(count));
  const EmbeddingNormTensors t{.table = table.of<T>({rows, cols}),
                               .indices = indices.of<std::int32_t>({n}),
                               .gamma = gamma.of<T>({cols}),
                               .beta = beta.of<T>({cols}),
                               .x = x.of<T>({n, cols}),
                               .y = y.of<T>({n, cols})};
  embedding(t.table, t.indices, rows_alone.of<T>({n, cols}), scale);
  const auto want_x = rows_alone.values<T>(count);

  const auto norm = find_op(mode == Norm::rms ? "rms_norm" : "layer_norm");
  if (norm) {
    const std::vector<TensorView> in{rows_alone.of<T>({n, cols}), *t.gamma, *t.beta}, out{norms_alone.of<T>({n, cols})};
    auto plan = plan_op(**norm, in, out, {{"eps", "1e-5"}}, on);
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    auto room = Buffer::allocate(on.id, (*plan)->workspace_bytes());
    ASSERT_TRUE(room.ok());
    ASSERT_TRUE((*plan)->run(in, out, room->workspace(), {}).ok());
  }
  const auto want_y = norms_alone.values<T>(count);
  const auto of_vectors = gamma.values<T>(static_cast<std::size_t>(cols));

  const double u = std::ldexp(1.0, -24);
  const double of_type = std::is_same_v<T, float> ? u : std::ldexp(1.0, std::is_same_v<T, half> ? -11 : -8);
  int ran = 0;
  for (const auto& row : variants) {
    const EmbeddingNormOptions options{.mode = mode, .scale = scale};
    const auto plan =
        plan_embedding_norm(*EmbeddingNormProblem::of(t, options), on, {.variant = std::string(row.name)});
    if (!plan) continue;
    ASSERT_TRUE(plan->run(t).ok()) << row.name;
    ++ran;
    EXPECT_TRUE(same_bytes(x.values<T>(count), want_x)) << row.name;
    if (!norm) continue;
    const auto got = y.values<T>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double want = static_cast<float>(want_y[i]);
      const double g = std::fabs(static_cast<float>(of_vectors[i % static_cast<std::size_t>(cols)]));
      const double roundings = 2 * 128 * u * (std::fabs(want) + 8 * g + 8);  // normalised x and beta are below 8
      ASSERT_NEAR(static_cast<float>(got[i]), want, roundings + 2.1 * of_type * std::fabs(want))
          << row.name << " " << i << " of " << cols << " columns";
    }
  }
  EXPECT_GT(ran, 1);
}
void expect_embedding_then_norm(const DeviceInfo& on) {
  for (const Norm mode : {Norm::rms, Norm::layer})
    for (const std::int64_t cols : {520, 35})
      for (const float scale : {1.0f, 1.7f, -3.0f}) {
        expect_embedding_then_norm<float>(on, mode, cols, scale);
        expect_embedding_then_norm<half>(on, mode, cols, scale);
        expect_embedding_then_norm<bfloat16>(on, mode, cols, scale);
      }
}
TEST(EmbeddingNorm, IsEmbeddingAndThenANorm) { expect_embedding_then_norm(cpu()); }
TEST(EmbeddingNorm, cudaIsEmbeddingAndThenANorm) {
  auto gpu = device(0);
  if (!gpu) GTEST_SKIP() << "no GPU on this machine";
  expect_embedding_then_norm(*gpu);
}

// Rows in mode layer, by every variant: numbers whose squares overflow while those of their distances do not; a first
// element far from the others; 1e4 + i * 1e-3.
TEST(EmbeddingNorm, MeansFarFromZero) {
  constexpr std::int64_t rows = 3, cols = 64;
  std::vector<float> table(rows * cols), x(table.size()), y(table.size());
  for (std::int64_t i = 0; i < cols; ++i) {
    table[i] = i % 2 ? 1.01e19f : 0.99e19f;
    table[cols + i] = i == 0 ? 1e4f : static_cast<float>(i % 5);
    table[2 * cols + i] = 1e4f + static_cast<float>(i) * 1e-3f;
  }
  const std::vector<std::int32_t> indices{0, 1, 2};
  const EmbeddingNormTensors t{.table = view(table.data(), {rows, cols}),
                               .indices = view(indices.data(), {rows}),
                               .x = view(x.data(), {rows, cols}),
                               .y = view(y.data(), {rows, cols})};
  int ran = 0;
  for (const auto& row : variants) {
    const auto p = EmbeddingNormProblem::of(t, {.mode = Norm::layer});
    const auto plan = plan_embedding_norm(*p, cpu(), {.variant = std::string(row.name)});
    if (!plan) continue;
    ASSERT_TRUE(plan->run(t).ok()) << row.name;
    ++ran;
    for (std::int64_t r = 0; r < rows; ++r) {
      double mean = 0, squares = 0;
      for (std::int64_t i = 0; i < cols; ++i) mean += table[r * cols + i] / static_cast<double>(cols);
      for (std::int64_t i = 0; i < cols; ++i) squares += std::pow(table[r * cols + i] - mean, 2);
      const double scale = 1 / std::sqrt(squares / cols + 1e-5);
      for (std::int64_t i = 0; i < cols; ++i)
        ASSERT_NEAR(y[r * cols + i], (table[r * cols + i] - mean) * scale, 2e-5) << row.name << " " << r << " " << i;
    }
  }
  EXPECT_GT(ran, 4);
}

// Rows are independent: NaN stays in its row, and an index outside of the table gives zeros.
TEST(EmbeddingNorm, ARowWithNanIsAlone) {
  constexpr std::int64_t cols = 8;
  alignas(16) float table[3 * cols], x[4 * cols], y[4 * cols];
  for (std::int64_t i = 0; i < 3 * cols; ++i) table[i] = static_cast<float>(i % 5) - 2;
  table[cols + 3] = std::numeric_limits<float>::quiet_NaN();
  const std::int32_t indices[] = {0, 1, 3, 2};
  for (const auto& row : variants)
    for (const Norm mode : {Norm::rms, Norm::layer}) {
      const EmbeddingNormTensors t{.table = view(table, {3, cols}),
                                   .indices = view(indices, {4}),
                                   .x = view(x, {4, cols}),
                                   .y = view(y, {4, cols})};
      const auto plan =
          plan_embedding_norm(*EmbeddingNormProblem::of(t, {.mode = mode}), cpu(), {.variant = std::string(row.name)});
      ASSERT_TRUE(plan.ok()) << plan.error().message();
      ASSERT_TRUE(plan->run(t).ok()) << row.name;
      for (std::int64_t i = 0; i < cols; ++i) {
        EXPECT_TRUE(std::isfinite(y[i]) && std::isfinite(y[3 * cols + i])) << row.name;
        EXPECT_TRUE(std::isnan(y[cols + i])) << row.name;
        EXPECT_TRUE(x[2 * cols + i] == 0 && y[2 * cols + i] == 0) << row.name;
      }
    }
}

// By name: sentences on options, and omitted vectors.
TEST(EmbeddingNorm, ByName) {
  const OpInfo& op = **find_op("embedding_norm");
  alignas(16) float table[] = {1, 1, 2, 2}, beta[] = {5, 6}, x[2], y[2];
  const std::int32_t index[] = {1};
  const std::vector<TensorView> in{view(table, {2, 2}), view(index, {1}), view(beta, {2})},
      out{view(x, {1, 2}), view(y, {1, 2})};
  EXPECT_EQ(plan_op(op, in, out, {{"mode", "batch"}}, cpu()).error().message(),
            "embedding_norm: mode is 'batch'; it must be rms or layer");
  const auto plan = plan_op(op, in, out, {{"mode", "layer"}, {"inputs", "table,indices,beta"}}, cpu());
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  ASSERT_TRUE((*plan)->run(in, out, {}, {}).ok());
  EXPECT_TRUE(x[0] == 2 && x[1] == 2 && y[0] == 5 && y[1] == 6);  // a constant row gives beta
}

}  // namespace
}  // namespace ridge
