// Tensors of more than 2^31 elements, on a GPU with 40 GB. All elements but a few have one value, so that the result
// for the last elements is known and only parts of it are copied back. The type is bfloat16 (two bytes) or a single
// byte. On the CPU the same tests run on tensors of some thousand elements, which checks the expected values too.
#include <ridge/check/each_device.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/op.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>

namespace ridge {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t least_memory = 40'000'000'000;
constexpr int byte_of_3 = 0x40;  // 0x4040 is 3 in bfloat16; its two bytes are equal, so that a byte fill works
constexpr double bf16_eps = 1.0 / 256;

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
// Precondition: bfloat16 represents the number exactly.
std::uint16_t to_bf16(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }

// A tensor in memory of its own, filled with one byte value.
class Tensor {
 public:
  Tensor(Device device, DType dtype, Shape shape, int byte) : device_(device), shape_(std::move(shape)) {
    const auto count = std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies());
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
    auto buffer = Buffer::allocate(device, bytes);
    if (!buffer || !fill_bytes(buffer->data(), device, byte, bytes).ok()) return;
    buffer_ = std::move(*buffer);
    view = {buffer_.data(), dtype, Layout::contiguous(shape_), device};
  }
  bool there() const { return view.data != nullptr; }
  std::int64_t count() const { return view.count(); }

  template <class T> void put(std::int64_t at, T value) {
    EXPECT_TRUE(copy_bytes(static_cast<T*>(view.data) + at, device_, &value, {}, sizeof value).ok());
  }
  template <class T> T get(std::int64_t at) const {
    T value{};
    EXPECT_TRUE(copy_bytes(&value, {}, static_cast<const T*>(view.data) + at, device_, sizeof value).ok());
    return value;
  }
  float bf16_at(std::int64_t at) const { return from_bf16(get<std::uint16_t>(at)); }

  TensorView view;

 private:
  Device device_;
  Shape shape_;
  Buffer buffer_;
};

// Runs an operator by name on allocated tensors; false where this build has no such operator.
bool run(const char* name, std::vector<const Tensor*> in, const Tensor& out, const Options& options,
         const DeviceInfo& device) {
  auto op = find_op(name);
  if (!op) return false;
  std::vector<TensorView> inputs;
  for (const Tensor* tensor : in) inputs.push_back(tensor->view);
  auto plan = plan_op(**op, inputs, std::span(&out.view, 1), options, device);
  EXPECT_TRUE(plan.ok()) << plan.error().message();
  if (!plan) return false;
  auto scratch = Buffer::allocate(device.id, (*plan)->workspace_bytes());
  EXPECT_TRUE(scratch.ok()) << scratch.error().message();
  if (!scratch) return false;
  const Status status = (*plan)->run(inputs, std::span(&out.view, 1), scratch->workspace(), {});
  EXPECT_TRUE(status.ok()) << status.message();
  return status.ok();
}

// The device of a test and the sizes of its tensors: rows x cols is more than 2^31 elements on a GPU.
class Offsets : public check::EachDevice {
 protected:
  void SetUp() override {
    EachDevice::SetUp();
    if (IsSkipped()) return;
    if (on_gpu() && device.memory_bytes < least_memory) {
      std::puts("skipped: no GPU with 40 GB of memory");
      GTEST_SKIP() << "too little memory";
    }
    if (on_gpu()) {
      rows = 32769, cols = 65544;
      images = 33, side = 1024;
    }
    ASSERT_TRUE(!on_gpu() || rows * cols > std::int64_t{1} << 31);
    ASSERT_TRUE(!on_gpu() || images * 64 * side * side > std::int64_t{1} << 31);
  }
  Tensor tensor(Shape shape, int byte = 0, DType dtype = bf16) const {
    return Tensor(device.id, dtype, std::move(shape), byte);
  }
  void expect_near(double got, double want) const { EXPECT_NEAR(got, want, 2 * bf16_eps * std::fabs(want) + 1e-6); }

  std::int64_t rows = 9, cols = 264, images = 3, side = 8;
};

// Skips the test with a sentence where too little memory is left.
#define NEED(...)                                                  \
  for (const Tensor* needed : {__VA_ARGS__})                       \
    if (!needed->there()) {                                        \
      std::puts("skipped: the device has too little memory left"); \
      GTEST_SKIP() << "too little memory";                         \
    }

TEST_P(Offsets, Transpose) {
  Tensor x = tensor({rows, cols}, 7, u8), y = tensor({cols, rows}, 0, u8);
  NEED(&x, &y);
  x.put<std::uint8_t>(x.count() - 1, 200);
  x.put<std::uint8_t>((rows - 1) * cols, 100);  // the first element of x's last row is the last of y's first row
  if (!run("transpose", {&x}, y, {}, device)) return;
  EXPECT_EQ(y.get<std::uint8_t>(y.count() - 1), 200);
  EXPECT_EQ(y.get<std::uint8_t>(rows - 1), 100);
  EXPECT_EQ(y.get<std::uint8_t>(y.count() - 2), 7);
  EXPECT_EQ(y.get<std::uint8_t>(0), 7);
}

TEST_P(Offsets, Softmax) {
  Tensor x = tensor({rows, cols}), y = tensor({rows, cols}, 0xff);
  NEED(&x, &y);
  x.put(x.count() - 1, to_bf16(40));
  if (!run("softmax", {&x}, y, {}, device)) return;
  expect_near(y.bf16_at(y.count() - 1), 1);
  expect_near(y.bf16_at(y.count() - 2), 0);
  expect_near(y.bf16_at((rows - 1) * cols - 1), 1.0 / static_cast<double>(cols));
  expect_near(y.bf16_at(0), 1.0 / static_cast<double>(cols));
}

TEST_P(Offsets, Norms) {
  Tensor x = tensor({rows, cols}), y = tensor({rows, cols}, 0xff), gamma = tensor({cols}, byte_of_3);
  NEED(&x, &y, &gamma);
  x.put(x.count() - 1, to_bf16(16));
  if (!run("rms_norm", {&x, &gamma}, y, {{"eps", "1e-5"}}, device)) return;
  const double n = static_cast<double>(cols), mean = 16 / n;
  expect_near(y.bf16_at(y.count() - 1), 3 * 16 / std::sqrt(256 / n + 1e-5));
  EXPECT_EQ(y.bf16_at(y.count() - 2), 0);
  if (!run("layer_norm", {&x, &gamma}, y, {{"eps", "1e-5"}, {"inputs", "x,gamma"}}, device)) return;
  const double deviation = std::sqrt(256 / n - mean * mean + 1e-5);
  expect_near(y.bf16_at(y.count() - 1), 3 * (16 - mean) / deviation);
  expect_near(y.bf16_at(y.count() - 2), 3 * -mean / deviation);
  EXPECT_EQ(y.bf16_at((rows - 1) * cols - 1), 0);
}

TEST_P(Offsets, WindowSum) {
  Tensor x = tensor({rows, cols}), y = tensor({rows, cols}, 0xff);
  NEED(&x, &y);
  x.put(x.count() - 2, to_bf16(5));
  x.put(std::int64_t{0}, to_bf16(7));
  if (!run("window_sum", {&x}, y, {{"w", "3"}}, device)) return;
  for (std::int64_t back = 1; back <= 3; ++back) EXPECT_EQ(y.bf16_at(y.count() - back), 5) << back;
  EXPECT_EQ(y.bf16_at(y.count() - 4), 0);
  EXPECT_EQ(y.bf16_at(1), 7);
}

TEST_P(Offsets, Embedding) {
  Tensor table = tensor({rows, cols}), indices = tensor({3}, 0, i64), y = tensor({3, cols}, 0xff);
  NEED(&table, &indices, &y);
  indices.put(std::int64_t{1}, rows - 1);
  table.put(table.count() - 1, to_bf16(5));
  table.put((rows - 1) * cols, to_bf16(7));
  if (!run("embedding", {&table, &indices}, y, {}, device)) return;
  EXPECT_EQ(y.bf16_at(2 * cols - 1), 5);
  EXPECT_EQ(y.bf16_at(cols), 7);
  EXPECT_EQ(y.bf16_at(cols - 1), 0);
  EXPECT_EQ(y.bf16_at(3 * cols - 1), 0);
}

TEST_P(Offsets, Gemv) {
  Tensor a = tensor({rows, cols}), x = tensor({cols}, byte_of_3), y = tensor({rows}, 0xff);
  NEED(&a, &x, &y);
  a.put(a.count() - 1, to_bf16(2));
  if (!run("gemv", {&a, &x}, y, {}, device)) return;
  EXPECT_EQ(y.bf16_at(rows - 1), 6);
  EXPECT_EQ(y.bf16_at(rows - 2), 0);
  EXPECT_EQ(y.bf16_at(0), 0);
  Tensor z = tensor({rows}, byte_of_3), t = tensor({cols}, 0xff);  // layout t: a is stored as [k, m]
  NEED(&z, &t);
  if (!run("gemv", {&a, &z}, t, {{"layout", "t"}}, device)) return;
  EXPECT_EQ(t.bf16_at(cols - 1), 6);
  EXPECT_EQ(t.bf16_at(cols - 2), 0);
}

TEST_P(Offsets, Gemm) {
  constexpr std::int64_t n = 24;
  Tensor a = tensor({rows, cols}), b = tensor({cols, n}, byte_of_3), d = tensor({rows, n}, 0xff);
  NEED(&a, &b, &d);
  a.put(a.count() - 1, to_bf16(2));
  if (!run("gemm", {&a, &b}, d, {}, device)) return;
  for (std::int64_t back = 1; back <= n; ++back) EXPECT_EQ(d.bf16_at(d.count() - back), 6) << back;
  EXPECT_EQ(d.bf16_at(d.count() - n - 1), 0);
}

// A result of more than 2^31 elements from two small operands.
TEST_P(Offsets, GemmOfAWideResult) {
  Tensor a = tensor({rows, 8}, byte_of_3), b = tensor({8, cols}), d = tensor({rows, cols}, 0xff);
  NEED(&a, &b, &d);
  b.put(b.count() - 1, to_bf16(2));
  if (!run("gemm", {&a, &b}, d, {}, device)) return;
  EXPECT_EQ(d.bf16_at(d.count() - 1), 6);
  EXPECT_EQ(d.bf16_at(d.count() - 2), 0);
  EXPECT_EQ(d.bf16_at(cols - 1), 6);
}

TEST_P(Offsets, Pool) {
  Tensor x = tensor({images, 64, side, side}), y = tensor({images, 64, side / 2, side / 2}, 0xff);
  NEED(&x, &y);
  x.put(x.count() - 1, to_bf16(8));
  const Options halves{{"r", "2"}, {"stride", "2"}};
  if (!run("max_pool2d", {&x}, y, halves, device)) return;
  EXPECT_EQ(y.bf16_at(y.count() - 1), 8);
  EXPECT_EQ(y.bf16_at(y.count() - 2), 0);
  if (!run("avg_pool2d", {&x}, y, halves, device)) return;
  EXPECT_EQ(y.bf16_at(y.count() - 1), 2);
  EXPECT_EQ(y.bf16_at(y.count() - 2), 0);
}

TEST_P(Offsets, Upsample) {
  Tensor x = tensor({images, 64, side / 2, side / 2}), y = tensor({images, 64, side, side}, 0xff);
  NEED(&x, &y);
  x.put(x.count() - 1, to_bf16(8));
  for (const char* mode : {"nearest", "bilinear"}) {
    if (!run("upsample", {&x}, y, {{"scale", "2"}, {"mode", mode}}, device)) return;
    EXPECT_EQ(y.bf16_at(y.count() - 1), 8) << mode;
    EXPECT_EQ(y.bf16_at(y.count() - side * side - 1), 0) << mode;
  }
  const std::string sides = std::to_string(side / 2);  // the gradient of all zeros but one
  ASSERT_TRUE(fill_bytes(y.view.data, device.id, 0, static_cast<std::size_t>(y.count()) * 2).ok());
  y.put(y.count() - 1, to_bf16(8));
  if (!run("upsample", {&y}, x, {{"backward", "1"}, {"h", sides}, {"w", sides}}, device)) return;
  EXPECT_EQ(x.bf16_at(x.count() - 1), 8);
  EXPECT_EQ(x.bf16_at(x.count() - 2), 0);
}

TEST_P(Offsets, Convolution) {
  Tensor x = tensor({images, 64, side, side}), w = tensor({8, 64, 1, 1}, byte_of_3),
         y = tensor({images, 8, side, side}, 0xff);
  NEED(&x, &w, &y);
  x.put(x.count() - 1, to_bf16(2));
  if (!run("conv2d", {&x, &w}, y, {}, device)) return;
  for (std::int64_t k = 0; k < 8; ++k) {
    EXPECT_EQ(y.bf16_at(y.count() - 1 - k * side * side), 6) << k;
    EXPECT_EQ(y.bf16_at(y.count() - 2 - k * side * side), 0) << k;
  }
}

TEST_P(Offsets, LongConvolution) {
  const std::int64_t batch = 64, channels = rows / 32 + 1, steps = images * side;
  Tensor k = tensor({batch, channels, steps}), w = tensor({channels, 4}, byte_of_3),
         y = tensor({batch, channels, steps}, 0xff);
  NEED(&k, &w, &y);
  k.put(k.count() - 2, to_bf16(2));
  if (!run("dwconv", {&k, &w}, y, {}, device)) return;
  EXPECT_EQ(y.bf16_at(y.count() - 1), 6);
  EXPECT_EQ(y.bf16_at(y.count() - 2), 6);
  EXPECT_EQ(y.bf16_at(y.count() - 3), 0);
}

INSTANTIATE_TEST_SUITE_P(cpu, Offsets, testing::Values(DeviceKind::cpu));
INSTANTIATE_TEST_SUITE_P(cuda, Offsets, testing::Values(DeviceKind::cuda));

}  // namespace
}  // namespace ridge
