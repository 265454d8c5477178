// A real operator through ridge.h, on the CPU and on a GPU: the tensors' device decides where it runs.
#include <ridge.h>
#include <ridge/core/device.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/stream.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int rows = 5, cols = 1000, pitch = 1004;

// x with `rows` rows `pitch` elements apart and y without gaps, both in one buffer on `device`.
class Softmax {
 public:
  Softmax(ridge::Device device, DLDeviceType type) : device_(device), host_(rows * (pitch + cols), -1.f) {
    for (int i = 0; i < rows * pitch; ++i) host_[i] = static_cast<float>(i % 37) * 0.25f;
    auto buffer = ridge::Buffer::allocate(device, bytes());
    EXPECT_TRUE(buffer.ok()) << buffer.error().message();
    buffer_ = std::move(*buffer);
    EXPECT_TRUE(ridge::copy_bytes(buffer_.data(), device, host_.data(), {}, bytes()).ok());
    x = {buffer_.data(), {type, device.index}, 2, {kDLFloat, 32, 1}, shape_, strides_, 0};
    y = {buffer_.data(), {type, device.index}, 2, {kDLFloat, 32, 1}, shape_, nullptr, rows * pitch * sizeof(float)};
  }

  ridge_status create(ridge_plan** plan, const char* device = nullptr) const {
    const DLTensor *in = &x, *out = &y;
    return ridge_plan_create("softmax", &in, 1, &out, 1, nullptr, 0, device, plan);
  }
  ridge_status run(const ridge_plan* plan) const {
    const DLTensor *in = &x, *out = &y;
    return ridge_plan_run(plan, &in, &out, nullptr, 0, nullptr);
  }

  // The number of elements of y that differ from softmax(x) by more than 1e-5 of their value; x starts at its
  // byte_offset.
  int wrong() {
    EXPECT_TRUE(ridge::synchronize(device_).ok());
    EXPECT_TRUE(ridge::copy_bytes(host_.data(), {}, buffer_.data(), device_, bytes()).ok());
    const float* first = host_.data() + x.byte_offset / sizeof(float);
    int count = 0;
    for (int row = 0; row < rows; ++row) {
      double sum = 0;
      for (int col = 0; col < cols; ++col) sum += std::exp(static_cast<double>(first[row * pitch + col]));
      for (int col = 0; col < cols; ++col) {
        const double expected = std::exp(static_cast<double>(first[row * pitch + col])) / sum;
        count += !(std::abs(host_[rows * pitch + row * cols + col] - expected) <= 1e-5 * expected);
      }
    }
    return count;
  }

  DLTensor x{}, y{};

 private:
  std::size_t bytes() const { return host_.size() * sizeof(float); }
  ridge::Device device_;
  std::int64_t shape_[2] = {rows, cols}, strides_[2] = {pitch, 1};
  std::vector<float> host_;
  ridge::Buffer buffer_;
};

void run_on(ridge::Device device, DLDeviceType type) {
  if (!ridge::find_op("softmax")) GTEST_SKIP() << "softmax is not built in";
  Softmax softmax(device, type);
  EXPECT_EQ(softmax.wrong(), rows * cols) << "before it ran";
  ridge_plan* plan = nullptr;
  ASSERT_EQ(softmax.create(&plan), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(softmax.run(plan), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(softmax.wrong(), 0);

  // An address with less alignment than planned for is refused, and needs a plan of its own.
  softmax.x.byte_offset = sizeof(float);
  EXPECT_EQ(softmax.run(plan), RIDGE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ridge_last_error()).find("alignment; it must be as planned"), std::string::npos)
      << ridge_last_error();
  ridge_plan_destroy(plan);
  ASSERT_EQ(softmax.create(&plan), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(softmax.run(plan), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(softmax.wrong(), 0);
  ridge_plan_destroy(plan);
}

TEST(CapiSoftmax, RunsOnTheCpu) { run_on({ridge::DeviceKind::cpu, 0}, kDLCPU); }

class CapiOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (ridge_device_count() > 0) return;
    std::puts("skipped: no GPU on this machine");
    GTEST_SKIP();
  }
};
TEST_F(CapiOnGpu, RunsWhereTheTensorsAre) { run_on({ridge::DeviceKind::cuda, 0}, kDLCUDA); }
TEST_F(CapiOnGpu, RunsManagedMemory) { run_on({ridge::DeviceKind::cuda, 0}, kDLCUDAManaged); }
TEST_F(CapiOnGpu, PlansForItByName) {
  Softmax softmax({ridge::DeviceKind::cuda, 0}, kDLCUDA);
  ridge_plan* plan = nullptr;
  ASSERT_EQ(softmax.create(&plan, "cuda"), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(softmax.run(plan), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(softmax.wrong(), 0);
  ridge_plan_destroy(plan);
}

}  // namespace
