// Copies of operands, on the CPU runtime.
#include <ridge/gemm/sm90_repack.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ridge::gemm_kernels {
namespace {

// ---- rows of bytes ------------------------------------------------------------------------------------------------

struct Rows {
  int rows, row_bytes, from_pitch, alignment_offset, batch = 1;
};

void check_rows(const Rows& r, int lanes_log2, unsigned blocks) {
  const int to_pitch = (r.row_bytes + 127) / 128 * 128;
  // Nothing outside the rows is readable: a stray read is an error in the sanitizer build.
  std::vector<unsigned char> storage(
      static_cast<std::size_t>(r.alignment_offset + (r.batch * r.rows - 1) * r.from_pitch + r.row_bytes));
  for (std::size_t i = 0; i < storage.size(); ++i) storage[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  std::vector<uint4> to(static_cast<std::size_t>(r.batch * r.rows * to_pitch) / 16);
  auto* bytes = reinterpret_cast<unsigned char*>(to.data());
  Jobs<RowCopy> jobs{};
  jobs.job[0] = {.from = storage.data() + r.alignment_offset,
                 .to = bytes,
                 .rows = r.rows,
                 .row_bytes = r.row_bytes,
                 .from_pitch = r.from_pitch,
                 .to_pitch = to_pitch,
                 .from_batch = std::int64_t{r.rows} * r.from_pitch,
                 .to_batch = std::int64_t{r.rows} * to_pitch,
                 .batch = static_cast<unsigned>(r.batch),
                 .lanes_log2 = lanes_log2};
  jobs.count = 1;
  const Status status = simt::launch(
      {.grid = dim3(blocks, static_cast<unsigned>(r.batch)), .block = dim3(copy_threads)}, copy_rows, jobs);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int row = 0; row < r.batch * r.rows; ++row)
    for (int i = 0; i < to_pitch && i < (r.row_bytes + 15) / 16 * 16; ++i)
      ASSERT_EQ(bytes[row * to_pitch + i],
                i < r.row_bytes ? storage[static_cast<std::size_t>(r.alignment_offset + row * r.from_pitch + i)] : 0)
          << "row " << row << " byte " << i << " of " << r.row_bytes << ", pitch " << r.from_pitch << ", phase "
          << r.alignment_offset;
}

TEST(CopyRows, AnyPhaseAnyPitchAnyLength) {
  for (int row_bytes : {1, 2, 15, 16, 17, 19, 20, 21, 35, 36, 64, 130})
    for (int gap : {0, 1, 2, 3, 6})
      for (int alignment_offset : {0, 1, 2, 3, 15})
        check_rows(
            {.rows = 3, .row_bytes = row_bytes, .from_pitch = row_bytes + gap, .alignment_offset = alignment_offset}, 2,
            1);
}

TEST(CopyRows, MoreVectorsThanLanesMoreRowsThanBlocksAndBatches) {
  check_rows({.rows = 5, .row_bytes = 1030, .from_pitch = 1030, .alignment_offset = 2}, 3, 2);
  check_rows({.rows = 40, .row_bytes = 26, .from_pitch = 26, .alignment_offset = 0}, 1, 1);
  check_rows({.rows = 300, .row_bytes = 10, .from_pitch = 10, .alignment_offset = 4}, 0, 1);
  check_rows({.rows = 3, .row_bytes = 70, .from_pitch = 70, .alignment_offset = 6, .batch = 3}, 8, 2);
}

// ---- transposed operands ------------------------------------------------------------------------------------------

template <class T, bool Parts> void check_transpose(int outer, int k, int outer_stride, int k_stride, int batch) {
  const std::int64_t line = transpose_k<T>, low = Parts ? (k + line - 1) / line * line : 0,
                     pitch = Parts ? 2 * low : (k + line - 1) / line * line;
  const std::int64_t from_batch = (outer - 1) * outer_stride + (k - 1) * k_stride + 1;
  std::vector<T> from(static_cast<std::size_t>(batch * from_batch));
  std::mt19937 random(static_cast<unsigned>(outer * 131 + k));
  for (T& x : from) {
    if constexpr (Parts) x = std::ldexp(static_cast<float>(random()) - 0x1p31f, static_cast<int>(random() % 60) - 60);
    else x = static_cast<T>(random());
  }
  std::vector<T> to(static_cast<std::size_t>(batch * outer * pitch), T(77));
  Jobs<TransposeJob<T>> jobs{};
  jobs.job[0] = {.from = from.data(),
                 .to = to.data(),
                 .outer = outer,
                 .k = k,
                 .outer_stride = outer_stride,
                 .k_stride = k_stride,
                 .from_batch = from_batch,
                 .pitch = pitch,
                 .to_batch = outer * pitch,
                 .low = low,
                 .batch = static_cast<unsigned>(batch),
                 .neighbours_k = k_stride == 1};
  jobs.count = 1;
  const auto tiles = (outer + transpose_outer - 1) / transpose_outer * ((k + line - 1) / line);
  const Status status = simt::launch(
      {.grid = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(batch)), .block = dim3(transpose_threads)},
      transpose_operand<T, Parts>, jobs);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < outer; ++i)
      for (std::int64_t j = 0; j < (Parts ? low : pitch); ++j) {
        const T want = j < k ? from[static_cast<std::size_t>(b * from_batch + i * outer_stride + j * k_stride)] : T{};
        const std::size_t at = static_cast<std::size_t>((b * outer + i) * pitch + j);
        if constexpr (Parts) {
          const double high = to[at], rest = to[at + static_cast<std::size_t>(low)];
          EXPECT_LE(std::fabs(high + rest - want), 0x1p-22 * std::fabs(want)) << i << ", " << j;
          EXPECT_LE(std::fabs(rest), 0x1p-11 * std::fabs(want));
          for (const float part : {to[at], to[at + static_cast<std::size_t>(low)]}) {
            int exponent;
            const double fraction = std::frexp(part, &exponent) * 0x1p11;
            EXPECT_EQ(fraction, std::floor(fraction)) << "11 bits";
          }
        } else {
          ASSERT_EQ(to[at], want) << "batch " << b << " outer " << i << " k " << j;
        }
      }
}

template <class T, bool Parts> void check_transposes() {
  for (const auto& [outer, k] : {std::pair{1, 1}, {63, 31}, {64, 32}, {65, 33}, {130, 129}, {5, 260}}) {
    check_transpose<T, Parts>(outer, k, 1, outer, 1);      // neighbours along outer
    check_transpose<T, Parts>(outer, k, 1, outer + 3, 2);  // padded, a batch
    check_transpose<T, Parts>(outer, k, k + 1, 1, 1);      // along k
    check_transpose<T, Parts>(outer, k, 2 * k + 1, 2, 1);  // along neither axis
  }
}

TEST(TransposeOperand, Bytes) { check_transposes<std::uint8_t, false>(); }
TEST(TransposeOperand, SixteenBits) { check_transposes<std::uint16_t, false>(); }
TEST(TransposeOperand, ThirtyTwoBits) { check_transposes<float, false>(); }
TEST(TransposeOperand, HighAndLowParts) { check_transposes<float, true>(); }

TEST(TransposeOperand, PartsOfWhatIsNotFinite) {
  const std::vector<float> from{INFINITY, -INFINITY, NAN, 3.4028235e38f, -3.4028235e38f, 0x1p-149f};
  std::vector<float> to(64);
  Jobs<TransposeJob<float>> jobs{};
  jobs.job[0] = {.from = from.data(),
                 .to = to.data(),
                 .outer = 1,
                 .k = 6,
                 .outer_stride = 6,
                 .k_stride = 1,
                 .pitch = 64,
                 .low = 32};
  ASSERT_TRUE(
      simt::launch({.grid = dim3(1), .block = dim3(transpose_threads)}, transpose_operand<float, true>, jobs).ok());
  EXPECT_EQ(to[0], INFINITY);
  EXPECT_EQ(to[1], -INFINITY);
  EXPECT_TRUE(std::isnan(to[2]));
  for (int i : {0, 1, 2}) EXPECT_EQ(to[static_cast<std::size_t>(32 + i)], 0);
  for (int i : {3, 4}) {
    EXPECT_TRUE(std::isfinite(to[static_cast<std::size_t>(i)]));
    EXPECT_NEAR(static_cast<double>(to[static_cast<std::size_t>(i)]) + to[static_cast<std::size_t>(32 + i)],
                from[static_cast<std::size_t>(i)], 0x1p-20 * 3.5e38);
  }
}

}  // namespace
}  // namespace ridge::gemm_kernels
