#include <ridge/check/gtest_cases.hpp>
#include <ridge/embedding/embedding.hpp>
#include <ridge/embedding/variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using embedding_detail::variants;

const check::TestCasesOf cases{"embedding"};

std::string chosen(const EmbeddingProblem& p) {
  auto plan = plan_embedding(p, *device_model("H200"));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(EmbeddingPlan, RowsOnSixteenBytesGoByVectors) {
  EXPECT_TRUE(chosen(EmbeddingProblem::contiguous(bf16, 50257, 768, 65536)).starts_with("units"));
  EXPECT_EQ(chosen(EmbeddingProblem::contiguous(bf16, 50257, 770, 65536)), "naive");
  EmbeddingProblem p = EmbeddingProblem::contiguous(f32, 100, 64, 10);
  p.alignment = 4;
  EXPECT_EQ(chosen(p), "naive");
}

// A plan from sizes is that of contiguous tensors, also of one index and one row.
TEST(EmbeddingPlan, OfSizesIsOfContiguousTensors) {
  std::vector<float> table(64), y(64);
  std::vector<std::int32_t> indices(4);
  for (const std::int64_t rows : {1, 2, 8})
    for (const std::int64_t n : {1, 2, 4})
      EXPECT_EQ(
          EmbeddingProblem::contiguous(f32, rows, 8, n),
          *EmbeddingProblem::of(view(table.data(), {rows, 8}), view(indices.data(), {n}), view(y.data(), {n, 8}), 1))
          << rows << " rows, " << n;
}

TEST(EmbeddingPlan, ARefusalSaysWhy) {
  std::vector<float> table(12), y(8);
  std::vector<std::int32_t> indices(2);
  const auto refusal = [&](const TensorView& t, const TensorView& i, const TensorView& out) {
    return std::string(EmbeddingProblem::of(t, i, out).error().message());
  };
  const TensorView t = view(table.data(), {3, 4}), i = view(indices.data(), {2});
  EXPECT_EQ(refusal(t, i, view(y.data(), {2, 3})),
            "embedding: y.shape is 2x3; it must be that of indices, 2, followed by 4");
  EXPECT_EQ(refusal(t, view(y.data(), {2}), view(y.data(), {2, 4})),
            "embedding: indices.dtype is f32; it must be i32 or i64");
  EXPECT_EQ(refusal(t, i, view(table.data() + 4, {2, 4})),
            "embedding: y is overlapping table; it must be apart from it");
}

// A plan with NaN would equal no problem of a run, not even itself.
TEST(EmbeddingPlan, AScaleIsFinite) {
  EmbeddingProblem p = EmbeddingProblem::contiguous(f32, 100, 64, 10);
  for (const float scale : {NAN, INFINITY, -INFINITY}) {
    p.scale = scale;
    EXPECT_NE(chosen(p).find("it must be finite"), std::string::npos) << chosen(p);
  }
}

TEST(Embedding, OneLineAndAScalarIndex) {
  std::vector<float> table{1, 2, 3, 4, 5, 6}, y(2);
  const std::int64_t index = 2;
  embedding(view(table.data(), {3, 2}), view(&index, {}), view(y.data(), {2}), 10);
  EXPECT_EQ(y, (std::vector<float>{50, 60}));
}

TEST(Embedding, IndicesThatDoNotMerge) {  // [2, 3] of six, seen as its transpose
  std::vector<float> table{0, 10, 20, 30, 40, 50}, y(6);
  std::vector<std::int32_t> indices{0, 1, 2, 3, 4, 5};
  embedding(view(table.data(), {6, 1}), transposed(view(indices.data(), {2, 3})), view(y.data(), {3, 2, 1}));
  EXPECT_EQ(y, (std::vector<float>{0, 30, 10, 40, 20, 50}));
}

}  // namespace
}  // namespace ridge
