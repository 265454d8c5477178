// The textbook's numbers, from NVIDIA's "GPU Performance Background" and "Matrix Multiplication Background" and from
// the occupancy calculator.
#include <ridge/core/calibration.hpp>
#include <ridge/core/launch_limits.hpp>
#include <ridge/core/launch_recorder.hpp>
#include <ridge/core/nearest.hpp>
#include <ridge/roofline/block_size.hpp>
#include <ridge/roofline/predict.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

namespace ridge::roofline {
namespace {

DeviceInfo model(std::string_view name) {
  const auto found = device_model(name);
  EXPECT_TRUE(found.ok()) << name;
  return *found;
}

// ---- rates and balance ---------------------------------------------------------------------------------------------

TEST(Rates, A100FromMultiprocessorsAndClock) {
  // 512 and 1,024 fused multiply-adds per clock and multiprocessor
  EXPECT_NEAR(peak_tera(108, 1.41, 512), 156, 0.5);
  EXPECT_NEAR(peak_tera(108, 1.41, 1024), 312, 0.5);
  const DeviceInfo a100 = model("A100");
  EXPECT_NEAR(peak_tera(a100.sms, a100.clock_ghz, 512), a100.tf32_tflops, 0.5);
  EXPECT_NEAR(peak_tera(a100.sms, a100.clock_ghz, 1024), a100.fp16_tflops, 0.5);
}

TEST(Rates, OtherModelsFromMultiprocessorsAndClock) {
  const auto fp32 = [](const char* name, int fma) {
    const DeviceInfo d = model(name);
    EXPECT_NEAR(peak_tera(d.sms, d.clock_ghz, fma) / d.fp32_tflops, 1, 0.02) << name;
  };
  for (const char* name : {"V100", "T4", "A100", "MI250X", "C500"}) fp32(name, 64);
  for (const char* name :
       {"A10", "H100", "H200", "B200", "L4", "L40S", "RTX4090", "RTX5090", "MI300X", "RX7900XTX", "S4000", "BI-V150"})
    fp32(name, 128);
  const DeviceInfo v100 = model("v100");
  EXPECT_NEAR(peak_tera(v100.sms, v100.clock_ghz, 512), v100.fp16_tflops, 0.5);
  // Tensor cores with sums in float32: half the rate on GeForce.
  const auto fp16 = [](const char* name, int fma) {
    const DeviceInfo d = model(name);
    EXPECT_NEAR(peak_tera(d.sms, d.clock_ghz, fma) / d.fp16_tflops, 1, 0.02) << name;
  };
  for (const char* name : {"T4", "A10", "L4", "L40S"}) fp16(name, 512);
  for (const char* name : {"RTX4090", "RTX5090"}) fp16(name, 256);
  fp16("MI300X", 1024);
}

TEST(Balance, V100Is139AgainstMemoryAnd40AgainstL2) {
  EXPECT_NEAR(balance(model("V100"), Unit::fp16_tensor, Level::dram), 139, 0.5);
  EXPECT_NEAR(balance(model("V100"), Unit::fp16_tensor, Level::l2), 40, 0.5);
}

TEST(Balance, SharedMemoryIs128BytesAClock) {
  const DeviceInfo a100 = model("A100");
  EXPECT_NEAR(bandwidth_gbs(a100, Level::shared), 128 * 108 * 1.41, 1e-6);
  EXPECT_NEAR(balance(a100, Unit::fp16_tensor, Level::shared), 16, 0.1);
}

TEST(Models, AreComplete) {
  for (const DeviceInfo& d : device_models()) {
    EXPECT_FALSE(d.source.empty()) << d.name;
    EXPECT_GT(d.launch_us, 0) << d.name;
    EXPECT_GT(d.l2_bytes, 0) << d.name;
    EXPECT_GT(d.smem_optin, 0) << d.name;
    EXPECT_GE(d.smem_per_sm, d.smem_optin) << d.name;
    EXPECT_LT(d.memory_gbs, d.peak_gbs) << d.name;
    EXPECT_LT(d.read_gbs, d.peak_gbs) << d.name;
    EXPECT_GT(d.l2_gbs, d.peak_gbs) << d.name;
    EXPECT_GT(bandwidth_gbs(d, Level::shared), d.l2_gbs) << d.name;
    EXPECT_GE(d.smem_optin, d.smem_per_block) << d.name;
    EXPECT_EQ(d.threads_per_sm % d.warp, 0) << d.name;
    // Where a vendor gives no figure, the source says so.
    if (d.cc == 0 && !d.name.starts_with("MI300X")) {
      EXPECT_NE(d.source.find("estimated"), std::string::npos) << d.name;
    }
  }
}

// The occupancy table of the CUDA programming guide.
TEST(Models, HaveTheLimitsOfTheirComputeCapability) {
  struct Limits {
    int cc, threads, blocks, smem, smem_of_block;
  };
  constexpr int kb = 1024;
  for (const Limits& l : {Limits{70, 2048, 32, 96 * kb, 96 * kb},
                          {75, 1024, 16, 64 * kb, 64 * kb},
                          {80, 2048, 32, 164 * kb, 163 * kb},
                          {86, 1536, 16, 100 * kb, 99 * kb},
                          {89, 1536, 24, 100 * kb, 99 * kb},
                          {90, 2048, 32, 228 * kb, 227 * kb},
                          {100, 2048, 32, 228 * kb, 227 * kb},
                          {120, 1536, 24, 100 * kb, 99 * kb}}) {
    int models = 0;
    for (const DeviceInfo& d : device_models()) {
      if (d.cc != l.cc) continue;
      ++models;
      EXPECT_EQ(d.threads_per_sm, l.threads) << d.name;
      EXPECT_EQ(d.blocks_per_sm, l.blocks) << d.name;
      EXPECT_EQ(d.smem_per_sm, l.smem) << d.name;
      EXPECT_EQ(d.smem_optin, l.smem_of_block) << d.name;
      EXPECT_EQ(d.registers_per_sm, 65536) << d.name;
    }
    EXPECT_GT(models, 0) << l.cc;
  }
}

TEST(Models, AnUnknownNameGivesTheNearest) {
  for (const auto& [wrong, meant] : {std::pair{"h201", "H200"},
                                     {"RTX4080", "RTX4090"},
                                     {"mi300", "MI300X"},
                                     {"a10g", "A10"},
                                     {"L40", "L4"},
                                     {"RTX5080", "RTX5090"},
                                     {"MXC500", "C500"},
                                     {"MTT S4000", "S4000"},
                                     {"rx7900", "RX7900XTX"},
                                     {"biv150", "BI-V150"}}) {
    const auto found = device_model(wrong);
    ASSERT_FALSE(found.ok());
    EXPECT_NE(std::string(found.error().message()).find("nearest to " + std::string(meant)), std::string::npos)
        << found.error().message();
  }
  const std::string_view names[] = {"softmax", "sum", "mean"};
  EXPECT_EQ(nearest("sofmax", names).front(), "softmax");
  EXPECT_EQ(nearest("SUM", names, 2).front(), "sum");
  EXPECT_EQ(nearest("sum", names, 9).size(), 3u);
}

TEST(Models, CalibrationIsKeptAndApplied) {
  const auto folder = std::filesystem::temp_directory_path() / ("ridge-calibration-" + std::to_string(getpid()));
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const Calibration measured{.device = "NVIDIA H200",
                             .date = "2026-01-31",
                             .memory_gbs = 4211.5,
                             .read_gbs = 4450,
                             .shortest_kernel_us = 0.75};
  EXPECT_FALSE(Calibration::read("NVIDIA H200").has_value());
  const auto path = measured.write();
  ASSERT_TRUE(path.ok()) << path.error().message();
  EXPECT_EQ(*path, folder / "ridge" / "calibration-NVIDIA-H200.json");
  EXPECT_EQ(Calibration::read("NVIDIA H200"), measured);
  EXPECT_FALSE(Calibration::read("NVIDIA H100").has_value());
  DeviceInfo info = model("H200");
  measured.apply(info);
  EXPECT_EQ(info.memory_gbs, 4211.5);
  EXPECT_EQ(info.read_gbs, 4450);
  EXPECT_EQ(info.launch_us, model("H200").launch_us);      // kept, but not used
  EXPECT_EQ(info.fp32_tflops, model("H200").fp32_tflops);  // not measured
  EXPECT_EQ(info.measured, "memory_gbs, read_gbs (2026-01-31)");
  for (const char* broken :
       {"", "{", "{\"device\": \"NVIDIA H200\"}", "{\"device\": \"NVIDIA H200\", \"date\": \"d\", \"read_gbs\": -1}",
        // Written under a locale with a decimal comma; or beyond any hardware, where predictions would fail.
        "{\"device\": \"NVIDIA H200\", \"date\": \"d\", \"read_gbs\": 4450,5, \"fp32_tflops\": 0}",
        "{\"device\": \"NVIDIA H200\", \"date\": \"d\", \"read_gbs\": 5e-324}",
        "{\"device\": \"NVIDIA H200\", \"date\": \"d\", \"read_gbs\": 1e300}",
        "{\"device\": \"NVIDIA H200\", \"date\": \"d\", \"read_gbs\": nan}",
        "{\"device\": \"NVIDIA H200\", \"date\": \"\x1b[2J\", \"read_gbs\": 4450}"}) {
    std::ofstream(*path) << broken;
    EXPECT_FALSE(Calibration::read("NVIDIA H200").has_value()) << broken;
  }
  std::filesystem::remove_all(folder);
}

// ---- intensity and bound -------------------------------------------------------------------------------------------

// A fully connected layer in half precision: [batch, in] x [in, out].
Cost linear(double out, double in, double batch) {
  Cost c;
  c.bytes_read = 2 * (in * out + batch * in);
  c.bytes_written = 2 * batch * out;
  c.on(Unit::fp16_tensor) = 2 * in * out * batch;
  return c;
}

TEST(Intensity, LinearLayer) {
  EXPECT_NEAR(intensity(linear(4096, 1024, 512)), 315, 0.5);
  EXPECT_NEAR(intensity(linear(4096, 1024, 1)), 1, 0.01);
  const DeviceInfo v100 = model("V100");
  EXPECT_EQ(bound(linear(4096, 1024, 512), v100).name, "arithmetic");
  EXPECT_EQ(bound(linear(4096, 1024, 512), v100).unit, Unit::fp16_tensor);
  EXPECT_EQ(bound(linear(4096, 1024, 1), v100).name, "memory");
}

TEST(Intensity, PoolingAndReluInHalf) {
  constexpr double n = 1 << 24;  // outputs, and as many inputs
  Cost pooling;
  pooling.bytes_read = pooling.bytes_written = 2 * n;
  Cost relu = pooling;
  pooling.on(Unit::fp32) = 9 * n;  // a window of 3 x 3, each input read once
  relu.on(Unit::fp32) = n;
  EXPECT_DOUBLE_EQ(intensity(pooling), 2.25);
  EXPECT_DOUBLE_EQ(intensity(relu), 0.25);
  EXPECT_EQ(bound(pooling, model("V100")).name, "memory");
  EXPECT_EQ(bound(relu, model("V100")).name, "memory");
}

TEST(Bound, SmallWorkIsBoundByTheLaunch) {
  Cost c;
  c.bytes_read = 4096;
  const DeviceInfo h200 = model("H200");
  EXPECT_EQ(bound(c, h200).name, "latency");
  EXPECT_EQ(bound(c, h200).least_us, h200.launch_us);
}

// 8-bit floats on a device without fp8 tensor cores: its float16 ones take them upcast, so memory is not the bound.
TEST(Bound, AUnitThatIsLackingHasAStandIn) {
  Cost cost{.bytes_read = 3.4e7, .bytes_written = 6.7e7};
  cost.on(Unit::fp8_tensor) = 1.374e11;
  const DeviceInfo a100 = *device_model("A100"), h200 = *device_model("H200");
  ASSERT_EQ(rate(a100, Unit::fp8_tensor), 0);
  const Bound without = bound(cost, a100), with = bound(cost, h200);
  EXPECT_EQ(without.name, "arithmetic");
  EXPECT_EQ(without.unit, Unit::fp16_tensor);
  EXPECT_NEAR(without.least_us, 1.374e11 / a100.fp16_tflops * 1e-6, 1e-6);
  EXPECT_EQ(with.unit, Unit::fp8_tensor);
  EXPECT_NEAR(with.arithmetic_us, 1.374e11 / h200.fp8_tflops * 1e-6, 1e-6);
}

TEST(Bound, ReadingAloneIsFasterThanCopying) {
  const DeviceInfo h200 = model("H200");
  EXPECT_DOUBLE_EQ(memory_us(h200, 1e9, 1e9), 2e6 / h200.memory_gbs);
  EXPECT_DOUBLE_EQ(memory_us(h200, 2e9, 0), 2e6 / h200.read_gbs);
  EXPECT_DOUBLE_EQ(memory_us(h200, 2e9, 1e9), 2e6 / h200.memory_gbs + 1e6 / h200.read_gbs);
  const DeviceInfo v100 = model("V100");  // its rate of reading was not measured
  EXPECT_DOUBLE_EQ(memory_us(v100, 2e9, 0), 2e6 / v100.memory_gbs);
}

// ---- occupancy, waves, tiles ---------------------------------------------------------------------------------------

TEST(Occupancy, NamesWhatAllowsNoMore) {
  const DeviceInfo a100 = model("A100");
  const auto at = [&](Resources r) { return occupancy(a100, r); };
  EXPECT_EQ(at({.threads = 256}).blocks, 8);
  EXPECT_EQ(at({.threads = 256}).limiter, "threads");
  EXPECT_EQ(at({.threads = 32}).blocks, 32);
  EXPECT_EQ(at({.threads = 32}).limiter, "blocks");
  EXPECT_DOUBLE_EQ(at({.threads = 32}).share, 0.5);
  EXPECT_EQ(at({.threads = 256, .registers = 64}).blocks, 4);
  EXPECT_EQ(at({.threads = 256, .registers = 64}).limiter, "registers");
  EXPECT_EQ(at({.threads = 256, .registers = 65}).blocks, 3);  // 72: registers are allocated in eights
  EXPECT_EQ(at({.threads = 1024, .registers = 128}).blocks, 0);
  // 164 KB of shared memory, of which the system reserves 1 KB per block
  EXPECT_EQ(at({.threads = 128, .smem = 40 << 10}).blocks, 4);
  EXPECT_EQ(at({.threads = 128, .smem = 41 << 10}).blocks, 3);
  EXPECT_EQ(at({.threads = 128, .smem = 41 << 10}).limiter, "shared memory");
  EXPECT_EQ(at({.threads = 33}).blocks, 32);  // two whole warps each
  EXPECT_DOUBLE_EQ(at({.threads = 33}).share, 1);
}

TEST(Occupancy, OfOtherDevices) {
  EXPECT_EQ(occupancy(model("RTX4090"), {.threads = 1024}).blocks, 1);  // 1,536 threads
  EXPECT_EQ(occupancy(model("RTX4090"), {.threads = 32}).blocks, 24);
  EXPECT_EQ(occupancy(model("V100"), {.threads = 128, .smem = 32 << 10}).blocks, 3);  // the system takes nothing
  EXPECT_EQ(occupancy(model("MI250X"), {.threads = 256, .registers = 128}).blocks, 4);
}

TEST(BlockSize, IsTheNearestOfTheFullest) {
  const DeviceInfo a100 = model("A100");
  const auto best = [&](const DeviceInfo& d, Resources r) { return block_size_by_occupancy(d, r); };
  EXPECT_EQ(best(a100, {.threads = 256}).threads, 256);  // nothing is fuller: it stays
  EXPECT_EQ(best(a100, {.threads = 32}).threads, 64);    // 32 blocks at most, so a warp each is half
  EXPECT_DOUBLE_EQ(best(a100, {.threads = 32}).share, 1);
  EXPECT_EQ(best(a100, {.threads = 768}).threads, 512);               // four times 512 are 2,048, and twice 768 are not
  EXPECT_EQ(best(model("RTX4090"), {.threads = 1024}).threads, 768);  // of 1,536 threads
  // Registers for 51 warps: five blocks of nine, or 17 of three.
  EXPECT_EQ(best(a100, {.threads = 288, .registers = 40}).threads, 96);
  EXPECT_DOUBLE_EQ(best(a100, {.threads = 288, .registers = 40}).share, 51 / 64.0);
}

// Shared memory goes with the threads: a kernel whose tile takes what there is has one size like another.
TEST(BlockSize, TakesItsSharedMemoryAlong) {
  const DeviceInfo h200 = model("H200");
  const Resources whole{.threads = 256, .smem = h200.smem_optin};
  EXPECT_EQ(block_size_by_occupancy(h200, whole).threads, 256);
  // More than half of it: a second block fits where both are smaller.
  const Resources more_than_half{.threads = 256, .smem = 130 << 10};
  EXPECT_DOUBLE_EQ(occupancy(h200, more_than_half).share, 0.125);
  EXPECT_GT(block_size_by_occupancy(h200, more_than_half).share, 0.18);
}

TEST(Waves, TwelveBlocksOnEightMultiprocessors) {
  const Waves w = waves(12, 1, 8);
  EXPECT_EQ(w.count(), 2);
  EXPECT_EQ(w.full, 1);           // the first at 100 %
  EXPECT_DOUBLE_EQ(w.tail, 0.5);  // the second at 50 %
  EXPECT_DOUBLE_EQ(w.efficiency, 0.75);
}

TEST(Waves, Edges) {
  EXPECT_EQ(waves(16, 2, 8).count(), 1);
  EXPECT_DOUBLE_EQ(waves(16, 2, 8).tail, 1);
  EXPECT_DOUBLE_EQ(waves(16, 2, 8).efficiency, 1);
  EXPECT_EQ(waves(17, 2, 8).count(), 2);
  EXPECT_EQ(waves(1, 2, 8).count(), 1);
  EXPECT_DOUBLE_EQ(waves(1, 2, 8).efficiency, 1 / 16.0);
  EXPECT_EQ(waves(0, 2, 8).count(), 0);
  EXPECT_EQ(waves(5, 0, 8).count(), 0);
}

TEST(Tiles, Quantisation) {
  // 27,648 x 27,648 is a whole number of 256 x 128 tiles; one column more adds a column of tiles
  EXPECT_DOUBLE_EQ(tile_efficiency(27648, 256), 1);
  EXPECT_NEAR(tile_efficiency(257, 256), 257 / 512.0, 1e-12);
  EXPECT_DOUBLE_EQ(tile_efficiency(0, 256), 1);
}

TEST(Padding, MultiplesPerType) {
  // NVIDIA's table: 16 bytes before Ampere, 128 bytes from A100 on, in elements of int8, fp16, tf32, fp64
  for (const auto& [bytes, volta, ampere] : {std::tuple{1, 16, 128}, {2, 8, 64}, {4, 4, 32}, {8, 2, 16}}) {
    EXPECT_EQ(padding_multiple(model("V100"), bytes), volta);
    EXPECT_EQ(padding_multiple(model("A100"), bytes), ampere);
  }
}

TEST(Little, BytesInFlight) {
  DeviceInfo d;
  d.memory_gbs = 1000;
  d.memory_latency_us = 0.5;
  EXPECT_DOUBLE_EQ(bytes_to_saturate(d), 500e3);
}

// ---- the model -----------------------------------------------------------------------------------------------------

Kernel reading(double bytes, int threads, double bytes_per_thread) {
  Kernel k;
  k.block = {.threads = threads};
  k.trip_bytes = threads * bytes_per_thread;
  k.blocks = static_cast<std::int64_t>(bytes / k.trip_bytes);
  k.bytes_read = bytes;
  return k;
}

TEST(Predict, MemoryIsReachedWhereEnoughIsInFlight) {
  const DeviceInfo h200 = model("H200");
  const double roof = memory_us(h200, 1 << 30, 0);
  const Prediction wide = predict(reading(1 << 30, 256, 32), h200), narrow = predict(reading(1 << 30, 256, 2), h200);
  EXPECT_LT(wide.us, 1.1 * roof);
  EXPECT_GT(wide.us, roof);
  EXPECT_GT(wide.bytes_in_flight, bytes_to_saturate(h200) / h200.sms);
  EXPECT_LT(narrow.bytes_in_flight, bytes_to_saturate(h200) / h200.sms);
  EXPECT_GT(narrow.us, 3 * roof);
  EXPECT_GT(narrow.latency_us, narrow.memory_us);
}

TEST(Predict, TermsAddUp) {
  const DeviceInfo h200 = model("H200");
  Kernel k = reading(1 << 26, 128, 16);
  k.clocks = 1e7;
  k.serial_us = 3;
  k.launches = 2;
  const Prediction p = predict(k, h200);
  const double overlapped =
      std::cbrt(std::pow(p.memory_us, 3) + std::pow(p.latency_us, 3) + std::pow(p.arithmetic_us, 3));
  EXPECT_NEAR(p.us, 2 * h200.launch_us + overlapped + p.tail_us + 3, 1e-9);
  EXPECT_GE(p.us, std::max({p.memory_us, p.latency_us, p.arithmetic_us}));
}

TEST(Predict, OneMoreBlockThanMultiprocessorsTakesTwiceTheArithmetic) {
  const DeviceInfo h200 = model("H200");
  Kernel k;
  k.block = {.threads = 1024};
  k.blocks = h200.sms;
  k.clocks = 1e6 * h200.sms;
  const double whole = predict(k, h200).arithmetic_us;
  k.clocks *= (h200.sms + 1.0) / h200.sms;
  k.blocks += 1;
  EXPECT_NEAR(predict(k, h200).arithmetic_us, 2 * whole, 1e-9 * whole);
}

TEST(Predict, IsNeverBelowTheOperatorsArithmetic) {
  Kernel k = reading(1 << 20, 256, 16);
  k.cost.on(Unit::fp64) = 1e12;  // but the plan counted no clocks
  const DeviceInfo rtx = model("RTX4090");
  EXPECT_GT(predict(k, rtx).us, bound(k.cost, rtx).arithmetic_us);
}

TEST(Predict, NoBlocksCostTheirLaunchesAlone) {
  Kernel k;
  k.blocks = 0;
  k.launches = 1;
  EXPECT_DOUBLE_EQ(predict(k, model("H200")).us, model("H200").launch_us);
}

TEST(Account, ShowsWhatTheFiguresCameFrom) {
  Explanation e;
  const DeviceInfo h200 = model("H200");
  Cost c;
  c.bytes_read = c.bytes_written = 1 << 28;
  c.on(Unit::fp32) = 1 << 26;
  Kernel k = reading(1 << 28, 256, 4);
  k.bytes_written = k.bytes_read;
  k.block.registers = 128;
  k.cost = c;
  account(e, k, h200);
  EXPECT_EQ(e.device, "H200");
  EXPECT_EQ(e.bound, "memory");
  EXPECT_GT(e.predicted_us, e.least_us);
  const Analysis& a = e.analysis;
  EXPECT_EQ(a.unit, "fp32");
  EXPECT_DOUBLE_EQ(a.intensity, 0.125);
  ASSERT_EQ(a.levels.size(), 3u);
  EXPECT_GT(a.levels[0].balance, a.levels[1].balance);
  EXPECT_EQ(a.blocks_per_sm, 2);
  EXPECT_EQ(a.limiter, "registers");
  EXPECT_DOUBLE_EQ(a.occupancy, 0.25);
  double sum = 0;
  for (const auto& term : a.terms) sum += term.us;
  EXPECT_GE(sum, e.predicted_us);  // some of them overlap
  EXPECT_GE(a.advice.size(), 3u);  // memory, occupancy, bytes in flight
}

TEST(Account, OfAnotherModelTheTermsAreItsOwn) {
  Explanation e;
  Kernel k = reading(1 << 28, 256, 4);
  k.cost.bytes_read = 1 << 28;
  k.block.registers = 64;
  k.registers_source = "a guess";
  account(e, k, 90, {{"first", 30, "of two"}, {"second", 60, "the other"}}, model("H200"));
  EXPECT_EQ(e.predicted_us, 90);
  ASSERT_EQ(e.analysis.terms.size(), 2u);
  EXPECT_EQ(e.analysis.terms[1].name, "second");
  EXPECT_EQ(e.analysis.registers_source, "a guess");
  EXPECT_EQ(e.bound, "memory");
  EXPECT_EQ(e.analysis.blocks, k.blocks);
}

TEST(Account, TakesWhatTheBuiltKernelTakes) {
  Analysis a;
  account_resources(a, {.threads = 512, .registers = 64, .smem = 65536}, 4096, "the built kernel", model("H200"));
  EXPECT_EQ(a.blocks_per_sm, 2);
  EXPECT_EQ(a.limiter, "registers");
  EXPECT_EQ(a.registers_source, "the built kernel");
  EXPECT_NEAR(a.waves, 4096 / 264.0, 1e-9);
}

TEST(LaunchRecorder, IsTheThreadsAndNests) {
  EXPECT_EQ(LaunchRecorder::current(), nullptr);
  {
    LaunchRecorder outer;
    EXPECT_EQ(LaunchRecorder::current(), &outer);
    {
      LaunchRecorder inner;
      EXPECT_EQ(LaunchRecorder::current(), &inner);
    }
    EXPECT_EQ(LaunchRecorder::current(), &outer);
    std::thread([] { EXPECT_EQ(LaunchRecorder::current(), nullptr); }).join();
  }
  EXPECT_EQ(LaunchRecorder::current(), nullptr);
}

// Each call sets the largest size requested so far; a size that the driver refused is not kept.
TEST(LaunchLimits, AreOnlyRaised) {
  static const int kernel = 0, other = 0;
  static int told = 0;
  const auto allow = [](const void* of, std::size_t bytes, int device = 0) {
    return allow_shared_bytes(of, device, bytes, [](const void*, int to) { return told = to, to > 200'000 ? 1 : 0; });
  };
  const std::pair<std::size_t, int> asked[] = {{1000, 1000}, {50'000, 50'000}, {1000, 50'000}};
  for (const auto& [bytes, expected] : asked) {
    EXPECT_EQ(allow(&kernel, bytes), 0);
    EXPECT_EQ(told, expected);
  }
  EXPECT_EQ(allow(&kernel, 300'000), 1);
  EXPECT_EQ(allow(&kernel, 2000), 0);
  EXPECT_EQ(told, 50'000);
  EXPECT_EQ(allow(&other, 3000), 0);
  EXPECT_EQ(told, 3000);
  EXPECT_EQ(allow(&kernel, 4000, 1), 0);
  EXPECT_EQ(told, 4000);

  static std::atomic<int> lowered = 0, last = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t <= 8; ++t)
    threads.emplace_back([t] {
      for (std::size_t i = 0; i < 100; ++i)
        (void)allow_shared_bytes(&lowered, 0, 1 + i * t, [](const void*, int to) {
          if (last.exchange(to) > to) ++lowered;
          return 0;
        });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lowered, 0);
  EXPECT_EQ(last, 1 + 99 * 8);
}

}  // namespace
}  // namespace ridge::roofline
