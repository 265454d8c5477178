// The runtime API from a program's side: what it does, and what it says of a program that breaks its rules.
#include <ridge/lab/pages.hpp>
#include <ridge/lab/runtime_api.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace ridge::lab {
namespace {

static float variable[16];  // as a __device__ variable

class RuntimeApi : public ::testing::Test {
 protected:
  // Each test begins without an error, and ends without an allocation of its own.
  void SetUp() override {
    cudaGetLastError();
    before_ = leaks().size();
  }
  void TearDown() override { EXPECT_EQ(leaks().size(), before_); }

  // That the call fails with this error, and says this on standard error.
  template <class Call> void expect_misuse(cudaError_t error, const std::string& part, Call call) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(call(), error);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(part), std::string::npos) << "said: " << said << "and not: " << part;
    EXPECT_NE(said.find("runtime_api_test.cpp"), std::string::npos) << said;
    EXPECT_EQ(cudaGetLastError(), error);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }

 private:
  std::size_t before_ = 0;
};

struct DeviceArray {
  explicit DeviceArray(std::size_t n) { EXPECT_EQ(cudaMalloc(&p, n * sizeof(float)), cudaSuccess); }
  ~DeviceArray() { EXPECT_EQ(cudaFree(p), cudaSuccess); }
  float* p = nullptr;
};

std::vector<float> counted(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

double predicted_us(auto call) {
  const double before = now_us();
  EXPECT_EQ(call(), cudaSuccess);
  return now_us() - before;
}

// ---- errors ------------------------------------------------------------------------------------------------------

TEST_F(RuntimeApi, NamesErrors) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

// ---- pointers to functions ---------------------------------------------------------------------------------------

TEST_F(RuntimeApi, FunctionsMayBeCalledByTheirPointers) {
  struct Owner {
    float* p;
    operator float*() const { return p; }
  };
  float *first = nullptr, *second = nullptr, *third = nullptr;
  for (float** p : {&first, &second, &third}) ASSERT_EQ(cudaMalloc(p, 4), cudaSuccess);
  { const std::unique_ptr<float, decltype(&cudaFree)> owner(first, &cudaFree); }
  { const std::shared_ptr<float> owner(second, cudaFree); }
  EXPECT_EQ(cudaFree(Owner{third}), cudaSuccess);
  expect_misuse(cudaErrorInvalidValue, "freed already", [&] { return [](void* p) { return cudaFree(p); }(third); });
  const std::function<cudaError_t(void*)> free = cudaFree;
  EXPECT_EQ(free(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(0), cudaSuccess);
  EXPECT_EQ(cudaFree(NULL), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(0), cudaSuccess);
  const std::function<cudaError_t()> wait = cudaDeviceSynchronize;
  EXPECT_EQ(wait(), cudaSuccess);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(std::invoke(cudaStreamCreate, &stream), cudaSuccess);
  { const std::unique_ptr<CUstream_st, decltype(&cudaStreamDestroy)> owner(stream, cudaStreamDestroy); }
  const int x = 3;
  int y = 0;
  EXPECT_EQ(std::invoke(cudaMemcpy, &y, &x, sizeof x, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(y, 3);
}

// ---- copies ------------------------------------------------------------------------------------------------------

TEST_F(RuntimeApi, CopiesInEachDirection) {
  const std::vector<float> x = counted(1000);
  std::vector<float> y(1000);
  const DeviceArray a(1000), b(1000);
  EXPECT_EQ(cudaMemcpy(a.p, x.data(), 4000, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(b.p, a.p, 4000, cudaMemcpyDeviceToDevice, cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(y.data(), b.p, 4000, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(x, y);
  EXPECT_EQ(cudaMemset(a.p, 0, 4000), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(y.data() + 500, a.p + 500, 2000, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(y[499], 500);
  EXPECT_EQ(y[500], 0);
  EXPECT_EQ(cudaMemcpy(y.data(), x.data(), 4000, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(x, y);
}

TEST_F(RuntimeApi, FindsTheWrongDirection) {
  std::vector<float> x(10);
  const DeviceArray a(10), b(10);
  expect_misuse(cudaErrorInvalidValue, "destination and source are the wrong way round for cudaMemcpyHostToDevice",
                [&] { return cudaMemcpy(x.data(), a.p, 40, cudaMemcpyHostToDevice); });
  expect_misuse(cudaErrorInvalidValue, "the source is 0 bytes into the 40 bytes that cudaMalloc gave at",
                [&] { return cudaMemcpy(b.p, a.p, 40, cudaMemcpyHostToDevice); });
  expect_misuse(cudaErrorInvalidValue, "the destination is memory of the host",
                [&] { return cudaMemcpy(x.data(), a.p, 40, cudaMemcpyDeviceToDevice); });
  expect_misuse(cudaErrorInvalidValue, "the destination is memory of the host",
                [&] { return cudaMemset(x.data(), 0, 40); });
  expect_misuse(cudaErrorInvalidMemcpyDirection, "the kind is 17",
                [&] { return cudaMemcpy(x.data(), a.p, 40, static_cast<cudaMemcpyKind>(17)); });
}

TEST_F(RuntimeApi, FindsCopiesBeyondTheEnd) {
  std::vector<float> x(1000);
  const DeviceArray a(100);
  expect_misuse(cudaErrorInvalidValue,
                "the copy of 404 bytes goes 4 beyond the end of the destination, which is 0 bytes into the 400 bytes",
                [&] { return cudaMemcpy(a.p, x.data(), 404, cudaMemcpyHostToDevice); });
  expect_misuse(cudaErrorInvalidValue, "goes 200 beyond the end of the source, which is 200 bytes into",
                [&] { return cudaMemcpy(x.data(), a.p + 50, 400, cudaMemcpyDeviceToHost); });
  expect_misuse(cudaErrorInvalidValue, "beyond the end", [&] { return cudaMemset(a.p, 0, 401); });
  expect_misuse(cudaErrorInvalidValue, "the destination is null",
                [&] { return cudaMemcpy(nullptr, x.data(), 4, cudaMemcpyHostToDevice); });
}

TEST_F(RuntimeApi, CopiesPitchedRows) {
  float* p = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&p, &pitch, 10 * sizeof(float), 6), cudaSuccess);
  EXPECT_EQ(pitch, 512u);
  const std::vector<float> x = counted(60);
  std::vector<float> y(60);
  EXPECT_EQ(cudaMemcpy2D(p, pitch, x.data(), 40, 40, 6, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemset2D(p, pitch, 0, 4, 6), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(y.data(), 40, p, pitch, 40, 6, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(y[50], 0);
  EXPECT_EQ(y[59], 60);
  expect_misuse(cudaErrorInvalidPitchValue, "rows of 40 bytes do not fit pitches of 512 and 36",
                [&] { return cudaMemcpy2D(p, pitch, x.data(), 36, 40, 6, cudaMemcpyHostToDevice); });
  expect_misuse(cudaErrorInvalidValue, "beyond the end",
                [&] { return cudaMemcpy2D(p, pitch, x.data(), 40, 40, 8, cudaMemcpyHostToDevice); });
  EXPECT_EQ(cudaFree(p), cudaSuccess);
}

TEST_F(RuntimeApi, CopiesVolumes) {
  cudaPitchedPtr p;
  ASSERT_EQ(cudaMalloc3D(&p, make_cudaExtent(20, 3, 2)), cudaSuccess);
  std::vector<float> x = counted(30), y(30);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(x.data(), 20, 5, 3);
  copy.dstPtr = p;
  copy.extent = make_cudaExtent(20, 3, 2);
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  std::swap(copy.srcPtr, copy.dstPtr);
  copy.dstPtr.ptr = y.data();
  copy.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  EXPECT_EQ(x, y);
  EXPECT_EQ(cudaFree(p.ptr), cudaSuccess);
}

TEST_F(RuntimeApi, CopiesSymbols) {
  const std::vector<float> x = counted(16);
  std::vector<float> y(4);
  EXPECT_EQ(cudaMemcpyToSymbol(variable, x.data(), sizeof variable), cudaSuccess);
  EXPECT_EQ(cudaMemcpyFromSymbol(y.data(), variable, 16, 32), cudaSuccess);
  EXPECT_EQ(y, (std::vector<float>{9, 10, 11, 12}));
  float* address = nullptr;
  EXPECT_EQ(cudaGetSymbolAddress((void**)&address, variable), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(address, x.data(), 4, cudaMemcpyHostToDevice), cudaSuccess);
  expect_misuse(cudaErrorInvalidValue, "64 bytes at offset 4 go beyond the variable's 64",
                [&] { return cudaMemcpyToSymbol(variable, x.data(), sizeof variable, 4); });
}

// ---- freeing -----------------------------------------------------------------------------------------------------

TEST_F(RuntimeApi, FindsWrongFrees) {
  float *p = nullptr, *host = nullptr, here = 0;
  ASSERT_EQ(cudaMalloc((void**)&p, 400), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&host, 400), cudaSuccess);
  expect_misuse(cudaErrorInvalidValue, "is 4 bytes into the 400 bytes that cudaMalloc gave at",
                [&] { return cudaFree(p + 1); });
  expect_misuse(cudaErrorInvalidValue, "no memory that CUDA gave", [&] { return cudaFree(&here); });
  expect_misuse(cudaErrorInvalidValue, "cudaFreeHost frees it", [&] { return cudaFree(host); });
  expect_misuse(cudaErrorInvalidValue, "cudaFree frees it", [&] { return cudaFreeHost(p); });
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  expect_misuse(cudaErrorInvalidValue, "is freed already", [&] { return cudaFree(p); });
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST_F(RuntimeApi, FindsCopiesOfFreedMemory) {
  if (!pages_close) GTEST_SKIP() << "the sanitizer reports it";
  float *p = nullptr, x = 0;
  ASSERT_EQ(cudaMalloc(&p, 400), cudaSuccess);
  ASSERT_EQ(cudaFree(p), cudaSuccess);
  expect_misuse(cudaErrorInvalidValue, "and cudaFree took back at runtime_api_test.cpp",
                [&] { return cudaMemcpy(&x, p, 4, cudaMemcpyDeviceToHost); });
}

TEST_F(RuntimeApi, CountsMemory) {
  const std::size_t before = memory_use().bytes;
  std::size_t free = 0, total = 0;
  {
    const DeviceArray a(1000);
    EXPECT_EQ(memory_use().bytes, before + 4000);
    EXPECT_GE(memory_use().peak, before + 4000);
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_EQ(total - free, before + 4000);
    EXPECT_EQ(leaks().back().bytes, 4000u);
    EXPECT_STREQ(leaks().back().call, "cudaMalloc");
  }
  EXPECT_EQ(memory_use().bytes, before);
  void* p = &free;
  EXPECT_EQ(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(p, &free);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&p, 0), cudaSuccess);
  EXPECT_EQ(p, nullptr);
}

TEST_F(RuntimeApi, ResetFreesDeviceMemory) {
  float* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 400), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  expect_misuse(cudaErrorInvalidValue, "cudaDeviceReset took back", [&] { return cudaFree(p); });
}

// ---- the host's code and device memory ---------------------------------------------------------------------------

using RuntimeApiDeathTest = RuntimeApi;

TEST_F(RuntimeApiDeathTest, HostCodeReadsDeviceMemory) {
  if (!pages_close) GTEST_SKIP() << "device memory is open with sanitizers";
  const DeviceArray a(1024);
  volatile float* p = a.p;
  EXPECT_EXIT(static_cast<void>(p[3]), testing::ExitedWithCode(1),
              "host code reads or writes device memory: address 0x[0-9a-f]+ is 12 bytes into the 4096 bytes that "
              "cudaMalloc gave at runtime_api_test.cpp:[0-9]+; copy it with cudaMemcpy");
  EXPECT_EXIT(p[1024] = 1, testing::ExitedWithCode(1), "is 0 bytes beyond the end of the 4096 bytes");
  const OpenDeviceMemory open;
  p[3] = 7;
  EXPECT_EQ(p[3], 7);
}

TEST_F(RuntimeApiDeathTest, HostCodeReadsFreedMemory) {
  if (!pages_close) GTEST_SKIP() << "device memory is open with sanitizers";
  float* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 400), cudaSuccess);
  ASSERT_EQ(cudaFree(p), cudaSuccess);
  volatile float* read = p;
  EXPECT_EXIT(static_cast<void>(read[0]), testing::ExitedWithCode(1), "and cudaFree took back at");
}

TEST_F(RuntimeApiDeathTest, OtherFaultsStayFaults) {
  if (!pages_close) GTEST_SKIP() << "the sanitizer reports it";
  const DeviceArray a(1);
  volatile int* wild = reinterpret_cast<int*>(8);
  EXPECT_EXIT(*wild = 1, testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(RuntimeApi, HostCodeTouchesManagedAndPinnedMemory) {
  float *managed = nullptr, *pinned = nullptr, *mapped = nullptr, own[4] = {};
  ASSERT_EQ(cudaMallocManaged(&managed, 400), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&pinned, 400, cudaHostAllocMapped), cudaSuccess);
  managed[99] = pinned[99] = 5;
  EXPECT_EQ(cudaMemcpy(managed, pinned, 400, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(managed[99], 5);
  EXPECT_EQ(cudaHostGetDevicePointer(&mapped, pinned, 0), cudaSuccess);
  EXPECT_EQ(mapped, pinned);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 400, 0), cudaSuccess);
  EXPECT_EQ(cudaMemAdvise(managed, 400, cudaMemAdviseSetReadMostly, 0), cudaSuccess);

  cudaPointerAttributes attributes;
  const auto type_of = [&](const void* p) {
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, p), cudaSuccess);
    return attributes.type;
  };
  const DeviceArray a(1);
  EXPECT_EQ(type_of(a.p), cudaMemoryTypeDevice);
  EXPECT_EQ(type_of(managed + 3), cudaMemoryTypeManaged);
  EXPECT_EQ(type_of(pinned), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(own), cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(type_of(own), cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostUnregister(own), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

// ---- time, streams, events ---------------------------------------------------------------------------------------

TEST_F(RuntimeApi, EventsMeasureThePredictedTime) {
  constexpr std::size_t bytes = 1 << 24;
  const std::vector<char> x(bytes);
  const DeviceArray a(bytes / 4), b(bytes / 4);
  cudaEvent_t begin, end;
  ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventRecord(begin), cudaSuccess);
  expect_misuse(cudaErrorInvalidResourceHandle, "the second event was never recorded",
                [&] { return cudaEventElapsedTime(&ms, begin, end); });
  EXPECT_EQ(cudaMemcpy(a.p, x.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end, cudaStreamLegacy), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, begin, end), cudaSuccess);
  EXPECT_NEAR(ms, 0.010 + bytes / 25e6, 1e-4);
  EXPECT_EQ(cudaEventDestroy(begin), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
  expect_misuse(cudaErrorInvalidResourceHandle, "destroyed already", [&] { return cudaEventDestroy(end); });

  const double on_device = device().launch_us + 2 * bytes / (device().memory_gbs * 1e3);
  EXPECT_NEAR(predicted_us([&] { return cudaMemcpy(b.p, a.p, bytes, cudaMemcpyDeviceToDevice); }), on_device, 1e-6);
  EXPECT_LT(predicted_us([&] { return cudaMemset(a.p, 0, bytes); }), on_device);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  EXPECT_NEAR(predicted_us([&] { return cudaMemcpy(pinned, a.p, bytes, cudaMemcpyDeviceToHost); }), 4 + bytes / 55e3,
              1e-6);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(RuntimeApi, Streams) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  int called = 0;
  EXPECT_EQ(cudaLaunchHostFunc(
                stream, [](void* n) { ++*static_cast<int*>(n); }, &called),
            cudaSuccess);
  EXPECT_EQ(cudaStreamAddCallback(
                stream, [](cudaStream_t, cudaError_t, void* n) { ++*static_cast<int*>(n); }, &called, 0),
            cudaSuccess);
  EXPECT_EQ(called, 2);
  float ms = 0;
  expect_misuse(cudaErrorInvalidResourceHandle, "cudaEventDisableTiming",
                [&] { return cudaEventElapsedTime(&ms, event, event); });
  expect_misuse(cudaErrorNotSupported, "CUDA graphs are not emulated",
                [&] { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal); });
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  expect_misuse(cudaErrorInvalidResourceHandle, "the stream was not created, or is destroyed already",
                [&] { return cudaMemcpyAsync(&ms, &ms, 4, cudaMemcpyHostToHost, stream); });
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

// ---- the device and kernels --------------------------------------------------------------------------------------

TEST_F(RuntimeApi, Properties) {
  const DeviceInfo& d = device();
  cudaDeviceProp p;
  ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
  EXPECT_EQ(p.multiProcessorCount, d.sms);
  EXPECT_EQ(p.totalGlobalMem, static_cast<std::size_t>(d.memory_bytes));
  EXPECT_EQ(p.warpSize, d.warp);
  EXPECT_EQ(p.major * 10 + p.minor, d.cc);
  EXPECT_NEAR(2.0 * p.memoryClockRate * (p.memoryBusWidth / 8) / 1e6, d.peak_gbs, 1);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(value, d.sms);
  EXPECT_EQ(cudaGetDeviceCount(&value), cudaSuccess);
  EXPECT_EQ(value, 1);
  expect_misuse(cudaErrorInvalidDevice, "there is one device, number 0, and not 3", [] { return cudaSetDevice(3); });
}

void kernel(float* x) { x[threadIdx.x] += 1; }

TEST_F(RuntimeApi, SharedMemoryOfAKernel) {
  const auto* address = reinterpret_cast<const void*>(kernel);
  EXPECT_EQ(allowed_shared_bytes(address), 49152u);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536), cudaSuccess);
  EXPECT_EQ(allowed_shared_bytes(address), 65536u);
  expect_misuse(cudaErrorInvalidValue, "bytes of shared memory; a block of",
                [] { return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20); });
}

TEST_F(RuntimeApi, Occupancy) {
  int blocks = 0, grid = 0, block = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, device().threads_per_sm / 256);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 2048, 0), cudaSuccess);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel), cudaSuccess);
  EXPECT_EQ(block, device().threads_per_sm % 1024 ? 768 : 1024);
  EXPECT_EQ(grid, device().threads_per_sm / block * device().sms);
}

TEST_F(RuntimeApi, LaunchesByFunction) {
  const DeviceArray a(64);
  float* p = a.p;
  void* arguments[] = {&p};
  std::vector<float> y(64);
  EXPECT_EQ(cudaMemset(p, 0, 256), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(kernel, dim3(1), dim3(64), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(y.data(), p, 256, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(y, std::vector<float>(64, 1.0f));
  expect_misuse(cudaErrorNotSupported, "give it the kernel itself",
                [&] { return cudaLaunchKernel((const void*)kernel, dim3(1), dim3(64), arguments, 0, nullptr); });
}

}  // namespace
}  // namespace ridge::lab
