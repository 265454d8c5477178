// wmma: every type, shape and layout against a product of small integers in double, which is exact in all of them.
#include <ridge/lab/wmma.hpp>
#include <ridge/simt/test/support.hpp>

#include <type_traits>
#include <vector>

namespace simt_test {
namespace {

using namespace nvcuda;

// What lies before, between and after a matrix's rows in memory; a multiple of 16 bytes for every type.
constexpr int gap = 16;

template <class T> using Stored = typename ridge::lab::Stored<T>::type;

struct Layouts {
  bool a_row, b_row, c_row;
};

template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB>
__global__ void multiply(const Stored<T>* a, const Stored<T>* b, const Sum* c, Sum* d, int lda, int ldb, int ldc,
                         wmma::layout_t layout_c) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc, fd;
  wmma::fill_fragment(fd, Sum(0));
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, layout_c);
  wmma::mma_sync(fd, fa, fb, fd);
  for (int i = 0; i < fd.num_elements; ++i) fd.x[i] = Sum(Sum(2) * fd.x[i] + fc.x[i]);  // element by element
  wmma::mma_sync(fd, fa, fb, fd);                                                       // 3 a b + c
  wmma::store_matrix_sync(d, fd, ldc, layout_c);
}

int small(int i, bool is_signed) { return i * 7 % 11 % 5 - (is_signed ? 2 : 0); }

// A matrix in memory, in either layout.
template <class T> struct Matrix {
  Matrix(int rows, int cols, bool row_major)
      : stride((row_major ? cols : rows) + gap), by_row(row_major), memory((row_major ? rows : cols) * stride) {}
  T& at(int row, int col) { return memory[static_cast<std::size_t>(by_row ? row * stride + col : col * stride + row)]; }
  T* data() { return memory.data(); }
  int stride;
  bool by_row;
  std::vector<T> memory;
};

template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB> void check_layout(bool row_c) {
  constexpr bool row_a = std::is_same_v<LayoutA, wmma::row_major>, row_b = std::is_same_v<LayoutB, wmma::row_major>;
  constexpr bool is_signed = !std::is_same_v<T, unsigned char>;
  Matrix<Stored<T>> a(M, K, row_a), b(K, N, row_b);
  Matrix<Sum> c(M, N, row_c), d(M, N, row_c);
  for (int m = 0; m < M; ++m)
    for (int k = 0; k < K; ++k)
      a.at(m, k) = static_cast<Stored<T>>(static_cast<float>(small(m * 5 + k * 3, is_signed)));
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n) b.at(k, n) = static_cast<Stored<T>>(static_cast<float>(small(k * 13 + n, is_signed)));
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) c.at(m, n) = static_cast<Sum>(static_cast<float>(m - 3 * n));
  ASSERT_RUNS(launch(one_block(32), multiply<M, N, K, T, Sum, LayoutA, LayoutB>, a.data(), b.data(), c.data(), d.data(),
                     a.stride, b.stride, c.stride, row_c ? wmma::mem_row_major : wmma::mem_col_major));
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      double sum = static_cast<double>(c.at(m, n));
      for (int k = 0; k < K; ++k) sum += 3 * static_cast<double>(a.at(m, k)) * static_cast<double>(b.at(k, n));
      ASSERT_EQ(static_cast<double>(d.at(m, n)), sum) << m << "," << n << " of " << M << "x" << N << "x" << K;
    }
  }
}

template <int M, int N, int K, class T, class Sum> void check_shape() {
  for (const bool row_c : {true, false}) {
    check_layout<M, N, K, T, Sum, wmma::row_major, wmma::row_major>(row_c);
    check_layout<M, N, K, T, Sum, wmma::row_major, wmma::col_major>(row_c);
    check_layout<M, N, K, T, Sum, wmma::col_major, wmma::row_major>(row_c);
    check_layout<M, N, K, T, Sum, wmma::col_major, wmma::col_major>(row_c);
  }
}
template <class T, class Sum> void check_shapes() {
  check_shape<16, 16, 16, T, Sum>();
  check_shape<32, 8, 16, T, Sum>();
  check_shape<8, 32, 16, T, Sum>();
}

TEST(LabWmma, HalvesToFloats) { check_shapes<__half, float>(); }
TEST(LabWmma, HalvesToHalves) { check_shapes<__half, __half>(); }
TEST(LabWmma, Bfloat16ToFloats) { check_shapes<__nv_bfloat16, float>(); }
TEST(LabWmma, SignedBytes) { check_shapes<signed char, int>(); }
TEST(LabWmma, UnsignedBytes) { check_shapes<unsigned char, int>(); }
TEST(LabWmma, Tf32) { check_shape<16, 16, 8, wmma::precision::tf32, float>(); }
TEST(LabWmma, Doubles) { check_shape<8, 8, 4, double, double>(); }

// ---- as many elements as on a device -------------------------------------------------------------------------------
template <class Use, int M, int N, int K, class T>
constexpr int elements =
    wmma::fragment<Use, M, N, K, T,
                   std::conditional_t<std::is_same_v<Use, wmma::accumulator>, void, wmma::row_major>>::num_elements;
static_assert(elements<wmma::matrix_a, 16, 16, 16, __half> == 16 && elements<wmma::matrix_b, 32, 8, 16, __half> == 16);
static_assert(elements<wmma::accumulator, 16, 16, 16, float> == 8 && elements<wmma::accumulator, 8, 32, 16, int> == 8);
static_assert(elements<wmma::matrix_a, 32, 8, 16, signed char> == 16);
static_assert(elements<wmma::matrix_b, 32, 8, 16, __nv_bfloat16> == 4);
static_assert(elements<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32> == 4);
static_assert(elements<wmma::matrix_a, 8, 8, 4, double> == 1 && elements<wmma::accumulator, 8, 8, 4, double> == 2);

// ---- rounding -------------------------------------------------------------------------------------------------------
template <class Sum> __global__ void one_product(__half x, __half y, Sum start, Sum* out, bool satf) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> c;
  wmma::fill_fragment(a, x);
  wmma::fill_fragment(b, y);
  wmma::fill_fragment(c, start);
  wmma::mma_sync(c, a, b, c, satf);
  if (threadIdx.x == 0) *out = c.x[0];
}
template <class Sum> float product(float x, float y, float start, bool satf = false) {
  Sum out{};
  EXPECT_TRUE(launch(one_block(32), one_product<Sum>, __half(x), __half(y), Sum(start), &out, satf).ok());
  return static_cast<float>(out);
}

TEST(LabWmma, RoundsASumOfHalvesOnce) {
  EXPECT_EQ(product<__half>(1, 0.25f, 2048), 2052.0f);  // in steps, each 0.25 would be lost
  EXPECT_EQ(product<float>(1.0009765625f, 1.0009765625f, 0), 16 * 1.0009765625f * 1.0009765625f);
}
TEST(LabWmma, Saturates) {
  EXPECT_TRUE(std::isinf(product<__half>(256, 256, 0)));
  EXPECT_EQ(product<__half>(256, 256, 0, true), 65504.0f);
  EXPECT_EQ(product<float>(INFINITY, -1, 0, true), -3.402823466e38f);
}

__global__ void bytes(int start, int* out, bool satf) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> c;
  wmma::fill_fragment(a, static_cast<signed char>(1));
  wmma::fill_fragment(b, static_cast<signed char>(1));
  wmma::fill_fragment(c, start);
  wmma::mma_sync(c, a, b, c, satf);
  if (threadIdx.x == 0) *out = c.x[0];
}
TEST(LabWmma, IntegersWrapOrSaturate) {
  int out = 0;
  ASSERT_RUNS(launch(one_block(32), bytes, 0x7ffffff8, &out, false));
  EXPECT_EQ(out, -0x7ffffff8);
  ASSERT_RUNS(launch(one_block(32), bytes, 0x7ffffff8, &out, true));
  EXPECT_EQ(out, 0x7fffffff);
}

TEST(LabWmma, RoundsToTf32) {
  EXPECT_EQ(wmma::__float_to_tf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(wmma::__float_to_tf32(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(wmma::__float_to_tf32(-3.0f), -3.0f);
  EXPECT_TRUE(std::isnan(wmma::__float_to_tf32(NAN)));
}

// ---- several warps, through shared memory ---------------------------------------------------------------------------
__global__ void through_shared(const __half* a, float* out) {
  __shared__ __align__(32) float sums[4][256];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  __half* tile = simt::dynamic_shared<__half>() + warp * 256;
  for (int i = lane; i < 256; i += 32) tile[i] = a[warp * 256 + i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int step = 0; step <= warp; ++step) {
    wmma::load_matrix_sync(fa, tile, 16);
    wmma::load_matrix_sync(fb, tile, 16);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(sums[warp], fc, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) out[warp * 256 + i] = sums[warp][i];
}

TEST(LabWmma, WarpsAreIndependent) {
  for (const char* seed : {"0", "5"}) {
    const Setting order("RIDGE_SEED", seed);
    std::vector<__half> a(4 * 256);
    std::vector<float> out(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = __half(static_cast<float>(small(static_cast<int>(i), true)));
    ASSERT_RUNS(
        launch({.grid = 1, .block = 128, .smem = 4 * 256 * sizeof(__half)}, through_shared, a.data(), out.data()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t warp = i / 256, m = i % 256 / 16, n = i % 16;
      double sum = 0;
      for (std::size_t k = 0; k < 16; ++k)
        sum += static_cast<double>(a[warp * 256 + m * 16 + k]) * static_cast<double>(a[warp * 256 + k * 16 + n]);
      ASSERT_EQ(out[i], static_cast<double>(warp + 1) * sum);
    }
  }
}

// ---- refusals -------------------------------------------------------------------------------------------------------
__global__ void load_from(const __half* p, int stride) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::load_matrix_sync(a, p, stride);
}
TEST(LabWmma, RefusesWhatADeviceCannotDo) {
  alignas(32) static __half memory[16 * 40];
  const auto says = [](const Config& config, const __half* p, int stride) {
    return text(launch(config, load_from, p, stride));
  };
  EXPECT_EQ(says(one_block(32), memory, 24), text({}));
  EXPECT_NE(says(one_block(32), memory + 1, 24).find("misaligned access"), std::string::npos);
  EXPECT_NE(says(one_block(32), memory, 20).find("a multiple of 16 bytes"), std::string::npos);
  EXPECT_NE(says(one_block(20), memory, 24).find("needs all 32 lanes"), std::string::npos);
}

}  // namespace
}  // namespace simt_test
