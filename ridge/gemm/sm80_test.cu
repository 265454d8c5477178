// The mma.sync kernel on the CPU runtime, which emulates its instructions: rows of the table, in each layout that they
// take, against products in double.
#include <ridge/gemm/row_named.hpp>
#include <ridge/gemm/sm80_direct.cuh>
#include <ridge/gemm/sm80_mma.cuh>
#include <ridge/gemm/sm80_stream.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ridge::gemm_kernels {
namespace {

// Rows aligned to 16 bytes, or `past` elements beyond that.
template <class T> int pitch_of(int columns, int past) {
  constexpr int whole = 16 / static_cast<int>(sizeof(T));
  return (columns + whole - 1) / whole * whole + past;
}

// An operand [outer, k] contiguous along M; elements past its rows' ends must not be multiplied.
template <class T, Major M> struct Matrix {
  int outer, k, pitch;
  std::vector<T> data;
  Matrix(int o, int of_k, std::mt19937& bits, int past = 0)
      : outer(o),
        k(of_k),
        pitch(pitch_of<T>(M == Major::k ? k : outer, past)),
        data(std::size_t(M == Major::k ? o : k) * pitch, T(99)) {
    for (int i = 0; i < outer; ++i)
      for (int j = 0; j < k; ++j) at(i, j) = T(static_cast<float>(static_cast<int>(bits() % 9) - 4));
  }
  T& at(int o, int along) { return data[std::size_t(M == Major::k ? o * pitch + along : along * pitch + o)]; }
  Operand<T> operand() const { return {data.data(), M == Major::k ? pitch : 1, M == Major::k ? 1 : pitch, 0}; }
};

template <class Sum> struct Plain {
  Sum* d;
  int pitch;
  template <int V> __device__ void operator()(simt::vec<Sum, V> sums, At at) const {
    for (int v = 0; v < V; ++v)
      if (v < at.count) d[at.row * pitch + at.col + v] = sums[v];
  }
};

template <class Sum> struct TwiceAndGate {
  Sum* d;
  int pitch;
  template <int V> __device__ void operator()(simt::vec<Sum, V> sums, simt::vec<Sum, V> gates, At at) const {
    for (int v = 0; v < V; ++v)
      if (v < at.count) d[at.row * pitch + at.col + v] = 2 * sums[v] + gates[v];
  }
};

// Whole numbers, whose products and sums are exact. launch(a, b, shape, epilogue); past: see pitch_of.
template <class T, Major MA, Major MB, class Launch>
void check_by(int m, int n, int of_k, int past_a, int past_b, Launch&& launch) {
  using Sum = Accumulator<T>;
  std::mt19937 bits(1);
  Matrix<T, MA> a(m, of_k, bits, past_a);
  Matrix<T, MB> b(n, of_k, bits, past_b);
  constexpr Sum untouched = 7777;
  const int pitch = n + 3;
  std::vector<Sum> d(std::size_t(m) * pitch, untouched);
  const Status status = launch(a.operand(), b.operand(), Shape{m, n, of_k, 1}, Plain<Sum>{d.data(), pitch});
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < pitch; ++j) {
      double want = j < n ? 0 : double{untouched};
      for (int along = 0; j < n && along < of_k; ++along)
        want += static_cast<double>(static_cast<float>(a.at(i, along))) *
                static_cast<double>(static_cast<float>(b.at(j, along)));
      ASSERT_EQ(static_cast<double>(d[std::size_t(i) * pitch + j]), want) << i << " " << j;
    }
}
template <int I, class T, Major MA, Major MB> void check(int m, int n, int of_k, int past_a = 0, int past_b = 0) {
  check_by<T, MA, MB>(m, n, of_k, past_a, past_b,
                      [](const auto& a, const auto& b, const Shape& shape, const auto& epilogue) {
                        return launch_mma_sync<Policy<I>, T, MA, MB>(a, b, shape, epilogue);
                      });
}

constexpr Major k = Major::k, outer = Major::outer;

template <int I, class T> void check_layouts(int m, int n, int of_k, int past_a = 0, int past_b = 0) {
  check<I, T, k, outer>(m, n, of_k, past_a, past_b);
  check<I, T, k, k>(m, n, of_k, past_a, past_b);
  check<I, T, outer, outer>(m, n, of_k, past_a, past_b);
  check<I, T, outer, k>(m, n, of_k, past_a, past_b);
}

// The same with a gate.
template <int I, class T, Major MB> void check_gate(int m, int n, int of_k, int past_b) {
  using Sum = Accumulator<T>;
  std::mt19937 bits(2);
  Matrix<T, Major::k> a(m, of_k, bits);
  Matrix<T, MB> b(n, of_k, bits, past_b), gate(n, of_k, bits);
  std::vector<Sum> d(std::size_t(m) * n);
  const Status status = launch_mma_sync<Policy<I>, T, Major::k, MB>(a.operand(), {b.operand(), gate.operand()},
                                                                    {m, n, of_k, 1}, TwiceAndGate<Sum>{d.data(), n});
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double want = 0;
      for (int along = 0; along < of_k; ++along)
        want += static_cast<double>(static_cast<float>(a.at(i, along))) *
                (2 * static_cast<double>(static_cast<float>(b.at(j, along))) +
                 static_cast<double>(static_cast<float>(gate.at(j, along))));
      ASSERT_EQ(static_cast<double>(d[std::size_t(i) * n + j]), want) << i << " " << j;
    }
}

// Edges of tiles, one step and more steps than stages.
TEST(GemmByMma, SixteenBits) {
  check_layouts<row_named("mma"), half>(130, 137, 200);
  check_layouts<row_named("mma_64x64"), bfloat16>(65, 30, 24);
}
TEST(GemmByMma, SixteenBitsInRowsOfAnyAlignment) {
  for (const auto& [past_a, past_b] : {std::pair{0, 0}, {1, 0}, {3, 5}, {2, 4}}) {
    check_layouts<row_named("mma_unaligned"), half>(35, 137, 203, past_a, past_b);
    check_layouts<row_named("mma_unaligned_64x64"), bfloat16>(65, 30, 45, past_a, past_b);
    check_layouts<row_named("mma_unaligned_32x128"), bfloat16>(35, 137, 203, past_a, past_b);
    check_layouts<row_named("mma_unaligned_64x128"), half>(65, 30, 77, past_a, past_b);
    check_layouts<row_named("mma_unaligned_64x128"), half>(140, 300, 333, past_a, past_b);
  }
}
TEST(GemmByMma, FloatsAsTf32) {
  check_layouts<row_named("tf32_mma"), float>(130, 137, 101);
  check_layouts<row_named("tf32_mma_64x64"), float>(65, 30, 9);
  check_layouts<row_named("tf32_mma_32x128"), float>(35, 137, 101);
  check_layouts<row_named("tf32_mma_64x128"), float>(65, 30, 37);
}
// Either operand's rows aligned, or beginning on any float.
TEST(GemmByMma, FloatsInRowsOfAnyAlignment) {
  for (const auto& [past_a, past_b] : {std::pair{0, 0}, {0, 1}, {2, 0}, {3, 1}}) {
    check_layouts<row_named("tf32_mma_unaligned_64x128"), float>(65, 30, 37, past_a, past_b);
    check_layouts<row_named("tf32_mma_unaligned_64x128"), float>(140, 300, 203, past_a, past_b);
  }
}
TEST(GemmByMma, AGate) {
  check_gate<row_named("gate_mma"), half, k>(130, 72, 104, 0);
  check_gate<row_named("gate_tf32_mma"), float, k>(65, 137, 101, 0);
  check_gate<row_named("gate_tf32_mma"), float, outer>(30, 65, 37, 0);
  for (const int past : {0, 3}) {
    check_gate<row_named("gate_tf32_mma_unaligned"), float, k>(65, 137, 101, past);
    check_gate<row_named("gate_tf32_mma_unaligned"), float, outer>(30, 165, 137, past);
  }
}
TEST(GemmByMma, SignedBytesAlongK) {
  check<row_named("i8_mma"), std::int8_t, k, k>(130, 137, 450);
  check<row_named("i8_mma_64x64"), std::int8_t, k, k>(65, 30, 17);
}
// Steps of which the last is promoted alone, with the one before it, or not at all.
TEST(GemmByMma, EightBitFloatsAlongK) {
  for (const int of_k : {17, 64, 128, 190, 450}) {
    check<row_named("fp8_mma"), float8_e4m3, k, k>(130, 137, of_k);
    check<row_named("fp8_mma_64x64"), float8_e5m2, k, k>(65, 30, of_k);
  }
}

// Rows of several blocks and rounds, and one past them; columns of several parts, of less than one, and odd ones.
template <int I, class T> void check_stream(int m, int n, int of_k, int blocks) {
  check_by<T, k, k>(m, n, of_k, 0, 0, [&](const auto& a, const auto& b, const Shape& shape, const auto& epilogue) {
    return launch_mma_stream<Policy<I>, T>(a, b, shape, epilogue, blocks);
  });
}
TEST(GemmByMma, TallAndShortProducts) {
  check_stream<row_named("stream_32"), bfloat16>(300, 144, 24, 1);
  check_stream<row_named("stream_32"), half>(17, 24, 8, 2);
  check_stream<row_named("stream_64"), bfloat16>(129, 41, 64, 1);
  check_stream<row_named("stream_64"), half>(5, 240, 40, 3);
  check_stream<row_named("stream_128"), bfloat16>(513, 30, 96, 2);
  check_stream<row_named("stream_128"), half>(1, 1, 128, 1);
}

// One row and as many as there may be; k of no whole step, of one for some warps, and of several for all; rows that
// begin on any element.
template <int I, class T> void check_direct(int m, int n, int of_k, int past_a, int past_b) {
  SCOPED_TRACE(testing::Message() << m << " " << n << " " << of_k << " " << past_a << " " << past_b);
  check_by<T, k, k>(m, n, of_k, past_a, past_b,
                    [](const auto& a, const auto& b, const Shape& shape, const auto& epilogue) {
                      return launch_mma_direct<Policy<I>, T>(a, b, shape, epilogue, 80);
                    });
}
TEST(GemmByMma, FewRowsOfAnyAlignment) {
  for (int past = 0; past < 8; ++past) {
    check_direct<row_named("direct_8"), half>(1 + past, 20, 530 + past, past, 7 - past);
    check_direct<row_named("direct_8"), bfloat16>(8 - past, 33, 17 * past + 1, 8 - past, past);
  }
  check_direct<row_named("direct_8"), bfloat16>(1, 1, 2 * 8 * 64 + 130, 0, 0);
  check_direct<row_named("direct_8"), half>(8, 16, 8, 0, 1);
}
TEST(GemmByMma, FewRowsOfSeveralMatrices) {
  constexpr int m = 4, n = 24, of_k = 43, matrices = 3;
  std::mt19937 bits(3);
  Matrix<half, k> a(matrices * m, of_k, bits, 3), b(matrices * n, of_k, bits, 1);
  std::vector<float> d(std::size_t{matrices} * m * n, 7777);
  StandardEpilogue<float> e{};
  e.alpha = e.scale = 1;
  e.d = {d.data(), DType::f32, true, n, 1, m * n};
  Operand<half> of_a = a.operand(), of_b = b.operand();
  of_a.batch_stride = m * of_a.outer_stride, of_b.batch_stride = n * of_b.outer_stride;
  const Status status =
      launch_mma_direct<Policy<row_named("direct_8")>, half>(of_a, of_b, {m, n, of_k, matrices}, e, 80);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int batch = 0; batch < matrices; ++batch)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float want = 0;
        for (int along = 0; along < of_k; ++along)
          want += static_cast<float>(a.at(batch * m + i, along)) * static_cast<float>(b.at(batch * n + j, along));
        ASSERT_EQ(d[std::size_t(batch * m + i) * n + j], want) << batch << " " << i << " " << j;
      }
}

// The standard epilogue's own way there: all that it adds, in whole vectors.
TEST(GemmByMma, TallAndShortProductsWithAddends) {
  constexpr int m = 37, n = 40, of_k = 24;
  std::mt19937 bits(2);
  Matrix<half, k> a(m, of_k, bits), b(n, of_k, bits), c(m, n, bits), residual(m, n, bits), bias(1, n, bits);
  Matrix<half, k> d(m + 1, n, bits);
  const half untouched = d.at(m, 0);
  const auto tensor = [](Matrix<half, k>& of, std::int64_t row_stride) {
    return Tensor{of.data.data(), DType::f16, true, row_stride, 1, 0};
  };
  StandardEpilogue<float> e{};
  e.alpha = 0.5f, e.scale = 2, e.activation = Activation::relu;
  e.addends[e.c] = tensor(c, c.pitch), e.addends[e.bias] = tensor(bias, 0);
  e.addends[e.residual] = tensor(residual, residual.pitch);
  e.factors[e.c] = 3, e.factors[e.bias] = e.factors[e.residual] = 1;
  e.d = tensor(d, d.pitch);
  const Status status =
      launch_mma_stream<Policy<row_named("stream_32")>, half>(a.operand(), b.operand(), {m, n, of_k, 1}, e, 1);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto value = [](half x) { return static_cast<double>(static_cast<float>(x)); };
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int along = 0; along < of_k; ++along) sum += value(a.at(i, along)) * value(b.at(j, along));
      sum = 0.5 * sum + 3 * value(c.at(i, j)) + value(bias.at(0, j));
      ASSERT_EQ(value(d.at(i, j)), 2 * (std::max(sum, 0.0) + value(residual.at(i, j)))) << i << " " << j;
    }
  EXPECT_EQ(value(d.at(m, 0)), value(untouched));
}

// A float of 12 bits is rounded to the nearest of 11, half-way cases away from zero.
TEST(GemmByMma, FloatsAreRoundedAndNotCut) {
  for (const auto& [x, rounded] :
       {std::pair{2049.0f, 2050.0f}, {2049.5f, 2050.0f}, {-2049.0f, -2050.0f}, {2048.5f, 2048.0f}}) {
    std::vector<float> a(4, 0), b(4, 0), d(1, 7);
    a[0] = x, b[0] = 1;
    const Status status = launch_mma_sync<Policy<row_named("tf32_mma_64x64")>, float, k, k>(
        {a.data(), 4, 1, 0}, {b.data(), 4, 1, 0}, {1, 1, 4, 1}, Plain<float>{d.data(), 1});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(d[0], rounded);
  }
}

}  // namespace
}  // namespace ridge::gemm_kernels
