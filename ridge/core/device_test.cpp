// What a GPU gets that is not in the list of models, or newer than the code.
#include <ridge/core/device_query.hpp>

#include <gtest/gtest.h>

namespace ridge {
namespace {

std::string name_of_model(std::string_view name, int sms = 0) {
  const DeviceInfo* model = model_of_name(name, sms);
  return model ? model->name : "none";
}

TEST(DeviceModels, AreFoundByWholeWords) {
  EXPECT_EQ(name_of_model("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(name_of_model("NVIDIA A10"), "A10");
  EXPECT_EQ(name_of_model("NVIDIA A10G"), "none");
  EXPECT_EQ(name_of_model("NVIDIA L4"), "L4");
  EXPECT_EQ(name_of_model("NVIDIA L40S"), "L40S");
  EXPECT_EQ(name_of_model("NVIDIA L40"), "none");
  EXPECT_EQ(name_of_model("Tesla T4"), "T4");
  EXPECT_EQ(name_of_model("NVIDIA GeForce RTX 4090"), "RTX4090");
  EXPECT_EQ(name_of_model("NVIDIA GeForce RTX 4090 Laptop GPU", 76), "none");
  EXPECT_EQ(name_of_model("NVIDIA H100 80GB HBM3", 132), "H100");
  EXPECT_EQ(name_of_model("NVIDIA H100 PCIe", 114), "none");
}

TEST(DeviceModels, AnotherGpuHasTheRatesOfTheNearest) {
  const auto rated = [](std::string name, int cc, int sms, double clock_ghz, double peak_gbs) {
    DeviceInfo gpu;
    gpu.name = std::move(name), gpu.cc = cc, gpu.sms = sms, gpu.clock_ghz = clock_ghz, gpu.peak_gbs = peak_gbs;
    fill_rates(gpu);
    return gpu;
  };
  const DeviceInfo a40 = rated("NVIDIA A40", 86, 84, 1.74, 696);
  EXPECT_NEAR(a40.fp32_tflops, 37.4, 0.2);
  EXPECT_NEAR(a40.fp16_tflops, 149.7, 0.5);
  EXPECT_EQ(a40.fp8_tflops, 0);
  EXPECT_NEAR(a40.memory_gbs, 626, 1);
  EXPECT_NE(a40.source.find("A10"), std::string::npos);

  const DeviceInfo h200 = rated("NVIDIA H200", 90, 132, 1.5, 1);
  const DeviceInfo model = *device_model("H200");
  EXPECT_EQ(h200.fp16_tflops, model.fp16_tflops);
  EXPECT_EQ(h200.read_gbs, model.read_gbs);
  EXPECT_EQ(h200.clock_ghz, model.clock_ghz);

  // Newer than all models; and older.
  const DeviceInfo next = rated("NVIDIA Next", 130, 170, 2.407, 2000);
  EXPECT_NEAR(next.fp16_tflops, device_model("RTX5090")->fp16_tflops, 1e-9);
  EXPECT_EQ(nearest_model(61, 20), nullptr);
}

TEST(CodeOfTheLibrary, LimitsWhatPlansMayCountOn) {
  constexpr std::string_view all = "75-real,80-real,86-real,89-real,90a-real,100,120-real";
  for (const int cc : {75, 80, 86, 89, 90, 100, 120}) EXPECT_EQ(*capability_of_code(cc, all), cc);
  EXPECT_EQ(*capability_of_code(87, all), 86);
  EXPECT_EQ(*capability_of_code(103, all), 100);
  EXPECT_EQ(*capability_of_code(121, all), 120);
  for (const int cc : {110, 130}) EXPECT_EQ(*capability_of_code(cc, all), 100);  // from PTX
  EXPECT_FALSE(capability_of_code(70, all).ok());
  EXPECT_EQ(*capability_of_code(89, "80-real,90a-real"), 80);
  EXPECT_FALSE(capability_of_code(75, "80-real,90a-real").ok());
  EXPECT_EQ(*capability_of_code(90, "80-real,90a-real"), 90);
  EXPECT_EQ(*capability_of_code(90, "90"), 89);          // without the instructions of 90a
  EXPECT_EQ(*capability_of_code(90, "75-virtual"), 75);  // an old architecture's PTX has no later kernels in it
  EXPECT_FALSE(capability_of_code(100, "90a").ok());
  EXPECT_EQ(*capability_of_code(103, "100f-real"), 100);
  EXPECT_FALSE(capability_of_code(120, "100f").ok());
  EXPECT_EQ(*capability_of_code(86, "native"), 86);
  const auto none = capability_of_code(70, "75,80-real");
  EXPECT_EQ(none.error().message(),
            "the GPU has compute capability 7.0, and this Ridge was built for 75,80-real (CMAKE_CUDA_ARCHITECTURES)");
}

}  // namespace
}  // namespace ridge
