// gpu_runtime.cpp through a vendor's vocabulary, on a runtime of the host's memory (host/).
#include <ridge/core/gpu.hpp>
#include <ridge/core/vendor/vendor.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ridge {
namespace {

class GpuRuntime : public testing::Test {
 protected:
  void SetUp() override {
    host_runtime = {};
    host_runtime.attributes = {{cudaDevAttrWarpSize, vendor::warp},
                               {cudaDevAttrMultiProcessorCount, 104},
                               {cudaDevAttrMaxThreadsPerMultiProcessor, 1536},
                               {cudaDevAttrMaxSharedMemoryPerBlock, 65536},
                               {cudaDevAttrMemoryPoolsSupported, 1}};
  }
  void TearDown() override { EXPECT_EQ(host_runtime.last, cudaSuccess) << "an error was left for a later call"; }

  HostStream one_, other_;
  const Stream one{&one_}, other{&other_};
};

TEST_F(GpuRuntime, DescribesTheDevice) {
  const auto info = gpu::query(0);
  ASSERT_TRUE(info.ok()) << info.error().message();
  EXPECT_EQ(info->name, "some GPU");
  EXPECT_EQ(info->sms, 104);
  EXPECT_EQ(info->warp, vendor::warp);
  EXPECT_EQ(info->threads_per_sm, 1536);
  EXPECT_EQ(info->smem_per_block, 65536);
  EXPECT_EQ(info->smem_optin, 65536) << "where the driver tells no more";
  EXPECT_EQ(info->smem_reserved, 0);
  EXPECT_EQ(info->cc, vendor::has_compute_capability ? 80 : 0) << "instructions are chosen by it";
}

TEST_F(GpuRuntime, TakesRatesFromTheModelOfThatName) {
  host_runtime.name = "AMD Instinct MI250X";
  host_runtime.attributes[cudaDevAttrMultiProcessorCount] = 110;
  const auto info = gpu::query(0);
  ASSERT_TRUE(info.ok()) << info.error().message();
  EXPECT_EQ(info->peak_gbs, device_model("MI250X")->peak_gbs);
  EXPECT_EQ(info->sms, 110);
}

TEST_F(GpuRuntime, RefusesWhatItCannotRun) {
  host_runtime.attributes[cudaDevAttrWarpSize] = 96 - vendor::warp;
  const auto other_warp = gpu::query(0);
  EXPECT_EQ(other_warp.error().code(), Code::no_device);
  EXPECT_NE(std::string(other_warp.error().message()).find("has warps of"), std::string::npos);
  EXPECT_EQ(gpu::query(1).error().code(), Code::no_device);
  host_runtime.devices = 0;
  EXPECT_EQ(std::string(gpu::query(0).error().message()),
            "a GPU was asked for, and this machine has none (no device found); use device cpu");
  EXPECT_EQ(gpu::count(), 0);
}

TEST_F(GpuRuntime, CopiesAndFills) {
  const auto data = gpu::allocate(0, 100);
  ASSERT_TRUE(data.ok());
  std::vector<unsigned char> back(100);
  EXPECT_TRUE(gpu::fill(0, *data, 7, 100, one).ok());
  EXPECT_TRUE(gpu::copy(back.data(), *data, 100).ok());
  EXPECT_EQ(back, std::vector<unsigned char>(100, 7));
  EXPECT_TRUE(gpu::synchronize(0, one).ok());
  gpu::release(0, *data);
  EXPECT_TRUE(host_runtime.held.empty());
}

TEST_F(GpuRuntime, SaysThatMemoryIsFull) {
  host_runtime.of_malloc = host_runtime.of_async = cudaErrorMemoryAllocation;
  EXPECT_EQ(gpu::allocate(0, 1).error().code(), Code::out_of_memory);
  EXPECT_EQ(gpu::allocate_on(0, 1, one).error().code(), Code::out_of_memory);
}

TEST_F(GpuRuntime, AllocatesInTheOrderOfAStream) {
  const auto data = gpu::allocate_on(0, 1000, one);
  ASSERT_TRUE(data.ok());
  gpu::release_on(0, *data, one);
  EXPECT_TRUE(host_runtime.held.empty()) << "the driver keeps its pool, and Ridge none";
}

// The last test, for a device that was once without a pool stays so.
TEST_F(GpuRuntime, zKeepsAPoolWhereTheDriverHasNone) {
  host_runtime.of_async = cudaErrorNotSupported;
  testing::internal::CaptureStderr();
  const auto first = gpu::allocate_on(0, 5000, one);
  ASSERT_TRUE(first.ok()) << first.error().message();
  const auto second = gpu::allocate_on(0, 5000, one);
  ASSERT_TRUE(second.ok());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("ridge: "), 0u);
  EXPECT_EQ(said.find("ridge: ", 1), std::string::npos) << "once";
  EXPECT_NE(*first, *second);
  EXPECT_EQ(host_runtime.mallocs, 2);

  gpu::release_on(0, *first, one);
  EXPECT_EQ(*gpu::allocate_on(0, 8000, other), *first) << "a block of that size is free";
  EXPECT_EQ(host_runtime.mallocs, 2);
  EXPECT_EQ(host_runtime.waits, 1) << "for the stream that used it last";

  one_.is_capturing = true;
  const auto captured = gpu::allocate_on(0, 5000, one);
  EXPECT_EQ(captured.error().code(), Code::device_error);
  EXPECT_NE(std::string(captured.error().message()).find("a workspace of the caller's"), std::string::npos);
  one_.is_capturing = false;

  // Free blocks go back before memory counts as full.
  gpu::release_on(0, *first, other);
  gpu::release_on(0, *second, one);
  host_runtime.of_malloc = cudaErrorMemoryAllocation;
  EXPECT_EQ(gpu::allocate_on(0, 1 << 20, one).error().code(), Code::out_of_memory);
  EXPECT_TRUE(host_runtime.held.empty());
}

}  // namespace
}  // namespace ridge
