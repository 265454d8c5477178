#include <ridge/check/gtest_cases.hpp>
#include <ridge/transpose/families.hpp>
#include <ridge/transpose/oracle.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace ridge {
namespace {

using namespace transpose_detail;

const check::TestCasesOf cases{"transpose", "permute"};

TransposeProblem permuted_problem(int element_bytes, std::vector<std::int64_t> shape, std::vector<int> axes) {
  return TransposeProblem::permute(element_bytes, shape, axes).value();
}

std::string chosen(const TransposeProblem& p, const char* device = "H200") {
  auto plan = plan_transpose(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

// ---- the normal form -------------------------------------------------------------------------------------------

TEST(TransposeForm, AMatrix) {
  const Form f = form_of(TransposeProblem::matrix(4, 40, 24, 3));
  EXPECT_EQ(f.kind, Kind::matrices);
  EXPECT_EQ(f.unit, 4);
  EXPECT_EQ(f.rows, 40);
  EXPECT_EQ(f.cols, 24);
  EXPECT_EQ(f.pitch_x, 24);
  EXPECT_EQ(f.pitch_y, 40);
  EXPECT_EQ(f.outer.rank, 1);
  EXPECT_EQ(f.outer.x[0], 40 * 24);
}

TEST(TransposeForm, AxesThatStayTogetherMerge) {
  const Form f = form_of(permuted_problem(2, {6, 7, 8}, {2, 0, 1}));
  EXPECT_EQ(f.kind, Kind::matrices);
  EXPECT_EQ(f.rows, 42);
  EXPECT_EQ(f.cols, 8);
  EXPECT_EQ(f.outer.rank, 0);
}

TEST(TransposeForm, NothingMovesIsACopy) {
  for (const auto& p : {permuted_problem(4, {6, 7}, {0, 1}), permuted_problem(4, {6, 1, 7}, {1, 0, 2}),
                        TransposeProblem::matrix(4, 1, 42), TransposeProblem::matrix(4, 42, 1)}) {
    const Form f = form_of(p);
    EXPECT_EQ(f.kind, Kind::copy);
    EXPECT_EQ(f.cols * f.unit, 42 * 4);
    EXPECT_EQ(f.unit, 8);  // 168 bytes are no multiple of 16
  }
}

TEST(TransposeForm, AnInnerAxisThatStaysIsARunOfTheWidestUnits) {
  const Form f = form_of(permuted_problem(2, {8, 4096, 32, 128}, {0, 2, 1, 3}));
  EXPECT_EQ(f.kind, Kind::runs);
  EXPECT_EQ(f.unit, 16);
  EXPECT_EQ(f.cols, 16);  // 256 bytes
  EXPECT_EQ(f.outer.rank, 3);
}

TEST(TransposeForm, APairThatStaysIsOneUnit) {
  const Form f = form_of(permuted_problem(8, {9, 40, 2}, {1, 0, 2}));  // two doubles: a complex number
  EXPECT_EQ(f.kind, Kind::matrices);
  EXPECT_EQ(f.unit, 16);
  EXPECT_EQ(f.rows, 9);
  EXPECT_EQ(f.cols, 40);
}

TEST(TransposeForm, ElementsOffTheirOwnSizeMoveByTheirParts) {
  TransposeProblem p = TransposeProblem::matrix(4, 6, 7);
  p.offset_x = 2;
  const Form f = form_of(p);
  EXPECT_EQ(f.kind, Kind::runs);
  EXPECT_EQ(f.unit, 2);
  EXPECT_EQ(f.cols, 2);
  EXPECT_EQ(f.count(), 6 * 7 * 2);
}

// ---- the plan --------------------------------------------------------------------------------------------------

TEST(TransposePlan, TheTileFitsTheMatrixAndItsAlignment) {
  EXPECT_EQ(chosen(TransposeProblem::matrix(4, 16384, 16384)).substr(0, 4), "tile");
  EXPECT_EQ(chosen(TransposeProblem::matrix(1, 8192, 8208)).substr(0, 4), "tile");
  EXPECT_EQ(chosen(TransposeProblem::matrix(2, 1000, 100003)).substr(0, 7), "shifted");
  EXPECT_EQ(chosen(TransposeProblem::matrix(1, 8191, 8191)).substr(0, 7), "shifted");
  EXPECT_EQ(chosen(TransposeProblem::matrix(4, 1048561, 4)), "thin");
  EXPECT_EQ(chosen(TransposeProblem::matrix(4, 1048561, 5)).substr(0, 9), "narrow_in");
  EXPECT_EQ(chosen(TransposeProblem::matrix(4, 4, 1048561)).substr(0, 10), "narrow_out");
  EXPECT_EQ(chosen(TransposeProblem::matrix(16, 4096, 4096)).substr(0, 4), "tile");
  EXPECT_EQ(chosen(TransposeProblem::matrix(1, 8192, 8200)), "tile_8");
  EXPECT_EQ(chosen(TransposeProblem::matrix(1, 8200, 8192)).substr(0, 7), "shifted");
  EXPECT_EQ(chosen(permuted_problem(2, {8, 4096, 32, 128}, {0, 2, 1, 3})), "runs");
  EXPECT_EQ(chosen(permuted_problem(2, {8, 4096}, {0, 1})), "copy");
}

TEST(TransposePlan, ManySmallMatricesAreSpans) {
  for (int bytes : {1, 2, 4, 8, 16})
    for (std::int64_t rows : {3, 8, 17, 33})
      for (std::int64_t cols : {5, 8, 16}) {
        const std::string name = chosen(TransposeProblem::matrix(bytes, rows, cols, 100000));
        EXPECT_TRUE(name.starts_with("span")) << bytes << " bytes, " << rows << "x" << cols << ": " << name;
      }
  EXPECT_EQ(chosen(permuted_problem(2, {64, 1000, 16, 8}, {0, 1, 3, 2})).substr(0, 4), "span");
  TransposeProblem apart = TransposeProblem::matrix(4, 8, 8, 1000);
  apart.x.stride[0] = 80;
  EXPECT_FALSE(plan_transpose(apart, *device_model("H200"), {.variant = "span"}).ok());
}

// The plan swizzles matrices with powers of two as sizes, and chunks keep distinct positions. counts.txt holds how few
// wavefronts the gathers then take.
TEST(TransposePlan, ASpansChunksAreSpread) {
  for (int bytes : {1, 2, 4, 8})
    for (const auto& [rows, cols] : {std::pair{8, 8}, {16, 16}, {32, 4}}) {
      const Form f =
          plan_transpose(TransposeProblem::matrix(bytes, rows, cols, 1000), *device_model("H200"), {.variant = "span"})
              ->form;
      EXPECT_NE(f.swizzle_shift, Form{}.swizzle_shift) << bytes << " bytes, " << rows << "x" << cols;
      const int per = per_chunk(bytes);
      std::vector<bool> taken(1024);
      for (int unit = 0; unit < 1024; ++unit) {
        const int place = span_swizzle(unit, per, f.swizzle_shift);
        EXPECT_FALSE(taken.at(static_cast<std::size_t>(place)));
        taken[static_cast<std::size_t>(place)] = true;
        EXPECT_EQ(place % per, unit % per);
      }
    }
}

TEST(TransposePlan, AStepOfTheTextbookIsNeverChosenForALargeMatrix) {
  for (int bytes : {1, 2, 4, 8, 16})
    for (std::int64_t cols : {8192, 8191, 8200, 1000}) {
      const std::string name = chosen(TransposeProblem::matrix(bytes, 4096, cols));
      for (const char* step : {"naive", "shared", "padded", "swizzled", "ilp", "strided"})
        EXPECT_NE(name, step) << bytes << " bytes, cols " << cols;
    }
}

TEST(TransposePlan, EveryRowTakesSomeProblem) {
  std::vector<TransposeProblem> problems;
  for (int bytes : {1, 2, 4, 8, 16}) {
    problems.push_back(TransposeProblem::matrix(bytes, 512, 512));
    problems.push_back(TransposeProblem::matrix(bytes, 1000, 3));
    problems.push_back(TransposeProblem::matrix(bytes, 3, 1000));
    problems.push_back(permuted_problem(bytes, {4, 5, 6}, {1, 0, 2}));
    problems.push_back(permuted_problem(bytes, {16}, {0}));
  }
  for (const Variant& row : variants) {
    int takers = 0;
    for (const auto& p : problems)
      takers += plan_transpose(p, *device_model("H200"), {.variant = std::string(row.name)}).ok();
    EXPECT_GT(takers, 0) << row.name;
  }
}

TEST(TransposePlan, TheLastRowTakesEverything) {
  TransposeProblem p = TransposeProblem::matrix(4, 6, 7);
  p.x.stride = {84, 14, 2};
  p.offset_y = 1;
  for (const auto& q : {p, TransposeProblem::matrix(2, 0, 7), TransposeProblem::matrix(8, 300, 200),
                        permuted_problem(1, {2, 3, 2, 3, 2, 3, 2, 3}, {7, 6, 5, 4, 3, 2, 1, 0})})
    EXPECT_TRUE(plan_transpose(q, *device_model("V100"), {.variant = "strided"}).ok());
}

TEST(TransposePlan, ARefusalSaysWhy) {
  const DeviceInfo h200 = *device_model("H200");
  const auto sentence = [&](const TransposeProblem& p, std::string variant) {
    return std::string(plan_transpose(p, h200, {.variant = std::move(variant)}).error().message());
  };
  EXPECT_EQ(
      sentence(TransposeProblem::matrix(4, 64, 63), "tile_256"),
      "transpose: variant is tile_256; it must be another one here: rows of x or of y are not whole 16-byte units");
  EXPECT_EQ(sentence(TransposeProblem::matrix(1, 64, 64), "tile_256"),
            "transpose: variant is tile_256; it must be another one here: its tile of elements of 1 byte has 65536 "
            "bytes, too few or too many");
  EXPECT_EQ(sentence(TransposeProblem::matrix(1, 64, 60), "tile_8"),
            "transpose: variant is tile_8; it must be another one here: rows of x are not whole 8-byte units, or those "
            "of y 16-byte units");
  EXPECT_EQ(
      sentence(TransposeProblem::matrix(16, 64, 60), "tile_8"),
      "transpose: variant is tile_8; it must be another one here: elements of 16 bytes are more than an access of "
      "8 bytes");
  EXPECT_EQ(sentence(TransposeProblem::matrix(4, 64, 63), "copy"),
            "transpose: variant is copy; it must be another one here: the innermost axis does not stay in its place");
  EXPECT_EQ(sentence(TransposeProblem::matrix(4, 640, 200), "narrow_in"),
            "transpose: variant is narrow_in; it must be another one here: more than 128 columns");
  EXPECT_EQ(sentence(TransposeProblem::matrix(3, 64, 63), ""),
            "transpose: element size is 3 bytes; it must be 1, 2, 4, 8 or 16 bytes");
  TransposeProblem p = TransposeProblem::matrix(4, 6, 7);
  p.y.stride[2] = 0;
  EXPECT_EQ(sentence(p, ""),
            "transpose: y.strides is 0 in an axis of 6; it must be such that no two elements share memory");
  EXPECT_EQ(TransposeProblem::permute(4, std::vector<std::int64_t>{2, 3}, std::vector{0, 0}).error().message(),
            "permute: axes is 0,0; it must be each of the 2 axes of x once");
}

TEST(TransposePlan, HugeMatricesAreRightOrRefusedBeforeLaunch) {
  const DeviceInfo h200 = *device_model("H200");
  const std::int64_t side = std::int64_t{1} << 22;  // 2^44 elements
  EXPECT_TRUE(plan_transpose(TransposeProblem::matrix(1, side, side / 4), h200, {.variant = "tile_wide"}).ok());
  auto plan = plan_transpose(TransposeProblem::matrix(1, side, side), h200, {.variant = "naive"});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message(),
            "transpose: variant is naive; it must be another one here: more than 2^31 - 1 blocks");
}

TEST(TransposePlan, ExplainsItself) {
  auto plan = plan_transpose(TransposeProblem::matrix(4, 16384, 8200), *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  const Explanation e = plan->explain();
  EXPECT_EQ(e.problem, "elements of 4 bytes, 1x16384x8200 to 1x8200x16384, 1 matrix of 16384x8200 units of 4 bytes");
  EXPECT_EQ(e.bound, "memory");
  EXPECT_EQ(e.cost.bytes(), 8.0 * 16384 * 8200);
  EXPECT_EQ(e.candidates.size(), std::size(variants));
}

// ---- running ---------------------------------------------------------------------------------------------------

// Random bytes through every variant that takes them, compared bit for bit: elements of 16 bytes too, NaNs of any
// payload, tensors on any address that elements may have.
TEST(Transpose, EveryVariantMovesEveryBit) {
  std::mt19937 random(7);
  const auto up_to = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  std::vector<int> ran(std::size(variants));
  for (int round = 0; round < 60; ++round) {
    const int bytes = 1 << round % 5;
    const bool whole = up_to(3) == 0;  // rows and columns of whole chunks
    const std::int64_t thin = 2 + up_to(30), step = whole ? 16 / bytes : 1;
    std::int64_t rows = (1 + up_to(200 / static_cast<int>(step))) * step,
                 cols = (1 + up_to(170 / static_cast<int>(step))) * step;
    if (round % 4 == 2) rows = 500 + up_to(500), cols = thin;
    if (round % 4 == 3) cols = 500 + up_to(500), rows = thin;
    if (round % 6 == 5) rows = 1;  // nothing moves
    std::int64_t batch = 1 + up_to(3);
    if (round % 7 == 6) rows = 1 + up_to(19), cols = 1 + up_to(19), batch = 20 + up_to(20);  // many small ones
    const std::int64_t count = batch * rows * cols;
    const std::int64_t shift_x = whole ? 0 : up_to(16 / bytes), shift_y = whole ? 0 : up_to(16 / bytes);
    constexpr std::size_t fence = 64;
    struct alignas(16) Block {
      std::byte at[16];
    };
    const auto blocks = static_cast<std::size_t>(count * bytes) / 16 + 2 * fence;
    std::vector<Block> x_blocks(blocks), y_blocks(blocks), want_blocks(blocks, Block{});
    std::byte* x = x_blocks[fence].at + shift_x * bytes;
    const std::ptrdiff_t y_at = static_cast<std::ptrdiff_t>(fence * 16) + shift_y * bytes;
    for (std::int64_t i = 0; i < count * bytes; ++i) x[i] = static_cast<std::byte>(random());
    const auto bytes_of = [](std::vector<Block>& b) { return b.front().at; };
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
          std::memcpy(bytes_of(want_blocks) + y_at + ((b * cols + c) * rows + r) * bytes,
                      x + ((b * rows + r) * cols + c) * bytes, static_cast<std::size_t>(bytes));
    TransposeProblem p = TransposeProblem::matrix(bytes, rows, cols, batch);
    p.offset_x = static_cast<int>(shift_x * bytes);
    p.offset_y = static_cast<int>(shift_y * bytes);
    for (int v = 0; v < variant_count; ++v) {
      auto plan = plan_transpose(p, cpu(), {.variant = std::string(variants[v].name)});
      if (!plan) continue;
      std::fill(y_blocks.begin(), y_blocks.end(), Block{});
      const Status status = plan->run(static_cast<const void*>(x), static_cast<void*>(bytes_of(y_blocks) + y_at));
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(std::memcmp(y_blocks.data(), want_blocks.data(), blocks * 16), 0)
          << variants[v].name << ", " << bytes << " bytes, " << batch << "x" << rows << "x" << cols << ", offsets "
          << p.offset_x << " " << p.offset_y;
      ++ran[v];
    }
  }
  for (int v = 0; v < variant_count; ++v) EXPECT_GT(ran[v], 0) << variants[v].name;
}

TEST(Transpose, OneLine) {
  std::vector<float> x(6 * 7), y(6 * 7);
  std::iota(x.begin(), x.end(), 0.0f);
  transpose(view(x.data(), {6, 7}), view(y.data(), {7, 6}));
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 7; ++c) EXPECT_EQ(y[c * 6 + r], x[r * 7 + c]);
  permute(view(x.data(), {2, 3, 7}), {2, 0, 1}, view(y.data(), {7, 2, 3}));
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 7; ++c) EXPECT_EQ(y[c * 6 + r], x[r * 7 + c]);
}

TEST(Transpose, ABroadcastInputIsReadOnce) {
  std::vector<float> x{1, 2, 3}, y(12, 0.0f);
  TensorView rows = view(x.data(), {4, 3});
  rows.layout.stride = {0, 1};  // four times the same row
  transpose(rows, view(y.data(), {3, 4}));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(y[i], static_cast<float>(i / 4 + 1));
  auto plan = plan_transpose(*TransposeProblem::transpose(rows, view(y.data(), {3, 4})), cpu());
  EXPECT_EQ(plan->explain().cost.bytes_read, 12);
}

TEST(Transpose, APlanRunsWhereItsVariantFits) {
  std::vector<float> x(64 * 64 + 8), y(64 * 64 + 8);
  const auto at = [](std::vector<float>& v, int offset) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(v.data()) % 16 / 4;
    return view(v.data() + (past ? 4 - past : 0) + offset, {64, 64});
  };
  for (const char* variant : {"tile_128", "shifted_128"}) {
    auto plan = plan_transpose(*TransposeProblem::transpose(at(x, 0), at(y, 0)), cpu(), {.variant = variant});
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(plan->run(at(x, 0), at(y, 0)).ok());
    x[64] = 5;
    const Status shifted = plan->run(at(x, 1), at(y, 3));
    EXPECT_EQ(shifted.ok(), std::string(variant) == "shifted_128") << shifted.message();
    if (shifted.ok()) {
      EXPECT_EQ(static_cast<float*>(at(y, 3).data)[1], static_cast<float*>(at(x, 1).data)[64]);
    }
  }
}

TEST(Transpose, OverlapIsRefused) {
  std::vector<float> x(100);
  try {
    transpose(view(x.data(), {10, 10}), view(x.data(), {10, 10}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "transpose: y is overlapping x; it must be apart from it");
  }
}

TEST(Transpose, AnotherTensorThanPlannedIsRefused) {
  std::vector<float> x(100), y(100);
  auto plan = plan_transpose(*TransposeProblem::transpose(view(x.data(), {10, 10}), view(y.data(), {10, 10})), cpu());
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->run(view(x.data(), {5, 20}), view(y.data(), {20, 5})).ok());
}

}  // namespace
}  // namespace ridge
