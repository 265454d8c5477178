// For tests that run on the CPU and on a GPU: INSTANTIATE_TEST_SUITE_P(cpu, Suite, testing::Values(DeviceKind::cpu)),
// and the same for cuda, which is skipped where there is no GPU.
#pragma once
#include <ridge/core/device.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace ridge::check {

class EachDevice : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    const auto found = GetParam() == DeviceKind::cuda ? ridge::device(0) : Result<DeviceInfo>(cpu());
    if (!found) {
      std::puts("skipped: no GPU on this machine");  // CTest looks for this text
      GTEST_SKIP() << "no GPU";
    }
    device = *found;
  }
  bool on_gpu() const { return GetParam() == DeviceKind::cuda; }

  DeviceInfo device;
};

}  // namespace ridge::check
