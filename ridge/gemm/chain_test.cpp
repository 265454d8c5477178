// Products that each read the previous one's result and overwrite its operand: on Hopper a kernel begins before the
// previous one has ended.
#include <ridge/check/each_device.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/gemm/gemm.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace ridge {
namespace {

class GemmChains : public check::EachDevice {};

// x: [m, n], of whole numbers; each product permutes its columns, so that bits are compared.
void run_chain(Device device, std::int64_t m, std::int64_t n, GemmLayout layout, int products) {
  std::mt19937 bits(7);
  std::vector<std::int64_t> from(static_cast<std::size_t>(n));
  std::iota(from.begin(), from.end(), 0);
  std::shuffle(from.begin(), from.end(), bits);
  const bool along_m = layout == GemmLayout::tn || layout == GemmLayout::tt;
  const auto place = [&](std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(along_m ? j * m + i : i * n + j);
  };
  std::vector<bfloat16> x(static_cast<std::size_t>(m * n)), b(static_cast<std::size_t>(n * n), bfloat16(0.0f));
  for (bfloat16& v : x) v = bfloat16(static_cast<float>(static_cast<int>(bits() % 201) - 100));
  for (std::int64_t j = 0; j < n; ++j)
    b[static_cast<std::size_t>(from[static_cast<std::size_t>(j)] * n + j)] = bfloat16(1.0f);
  const std::size_t bytes = x.size() * sizeof(bfloat16);
  Buffer first = std::move(*Buffer::allocate(device, bytes)), second = std::move(*Buffer::allocate(device, bytes)),
         matrix = std::move(*Buffer::allocate(device, b.size() * sizeof(bfloat16)));
  ASSERT_TRUE(copy_bytes(first.data(), device, x.data(), cpu().id, bytes).ok());
  ASSERT_TRUE(copy_bytes(matrix.data(), device, b.data(), cpu().id, b.size() * sizeof(bfloat16)).ok());
  const auto view_of = [&](Buffer& of, std::int64_t rows, std::int64_t cols) {
    TensorView v = view(static_cast<bfloat16*>(of.data()), {rows, cols});
    v.device = device;
    return v;
  };
  const auto matrix_x = [&](Buffer& of) { return along_m ? transposed(view_of(of, n, m)) : view_of(of, m, n); };
  for (int i = 0; i < products; ++i)
    gemm(matrix_x(i % 2 ? second : first), view_of(matrix, n, n), matrix_x(i % 2 ? first : second));
  std::vector<bfloat16> got(x.size());
  ASSERT_TRUE(copy_bytes(got.data(), cpu().id, (products % 2 ? second : first).data(), device, bytes).ok());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    std::int64_t source = j;
    for (int i = 0; i < products; ++i) source = from[static_cast<std::size_t>(source)];
    for (std::int64_t i = 0; i < m; ++i)
      wrong += static_cast<float>(got[place(i, j)]) != static_cast<float>(x[place(i, source)]);
  }
  EXPECT_EQ(wrong, 0) << m << "x" << n << " " << name(layout);
}

TEST_P(GemmChains, EachReadsWhatTheOneBeforeWrote) {
  for (GemmLayout layout : {GemmLayout::nn, GemmLayout::tn}) {
    run_chain(device.id, 13, 72, layout, 3);
    if (!on_gpu()) continue;
    // Few rows, operands that TMA cannot read, matrices that are copied first, few tiles, and many.
    for (const auto& [m, n] :
         {std::pair{16, 2048}, {13, 1024}, {13, 509}, {64, 1024}, {160, 1024}, {600, 640}, {1500, 1111}, {3000, 2048}})
      run_chain(device.id, m, n, layout, 30);
  }
}

INSTANTIATE_TEST_SUITE_P(cpu, GemmChains, testing::Values(DeviceKind::cpu));
INSTANTIATE_TEST_SUITE_P(cuda, GemmChains, testing::Values(DeviceKind::cuda));

}  // namespace
}  // namespace ridge
