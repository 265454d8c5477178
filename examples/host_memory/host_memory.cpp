// Two ways for a GPU to work on the host's data, shown with one of Ridge's operators (relu):
//
//   1. Managed memory: one pointer for both sides. Pages move when they are touched, one fault after the other; when
//      they are prefetched, they move like a copy.
//   2. Pinned memory and streams: each piece of the data is copied in, processed and copied out on one of several
//      streams, so that the copies of some pieces overlap with each other and with the work on others.
//
// Each time is one run, measured by the host's clock until the work is done; every result is checked.
#include <ridge/core/device.hpp>

#include <cstdio>

#if RIDGE_HAS_CUDA
#include <ridge/core/stream.hpp>
#include <ridge/elementwise/elementwise.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

namespace {

constexpr std::int64_t n = 1 << 26;  // 256 MB of f32
constexpr std::size_t bytes = n * sizeof(float);
constexpr int device = 0;
const ridge::Device gpu{ridge::DeviceKind::cuda, device};

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

struct Freed {  // memory of any kind, with the function that frees it
  float* data = nullptr;
  cudaError_t (*free)(void*);
  Freed(cudaError_t (*release)(void*)) : free(release) {}
  Freed(const Freed&) = delete;
  ~Freed() { (void)free(data); }
};

void fill(float* x) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 7 - 3);
}
bool right(const float* y) {
  for (std::int64_t i = 0; i < n; ++i)
    if (y[i] != static_cast<float>(i % 7 < 3 ? 0 : i % 7 - 3)) return false;
  return true;
}

double ms(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  check(cudaDeviceSynchronize());
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void report(const char* what, double time, bool good) {
  std::printf("  %-52s %8.2f ms  %6.1f GB/s  %s\n", what, time, 2.0 * bytes / time * 1e-6, good ? "right" : "WRONG");
  if (!good) throw std::runtime_error("a result is wrong");
}

void prefetch(const void* data, int to) {  // to a GPU by its number, or to the host if negative
  cudaMemLocation place{};
  place.type = to < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = to < 0 ? 0 : to;
#if CUDART_VERSION >= 13000
  check(cudaMemPrefetchAsync(data, bytes, place, 0, nullptr));
#else
  check(cudaMemPrefetchAsync_v2(data, bytes, place, 0, nullptr));
#endif
}

void managed() {
  std::puts("Managed memory, relu of 2^26 f32, the result read by the host:");
  int concurrent = 0;
  check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
  if (!concurrent) {
    std::puts("  left out: this system moves managed memory whole, before each kernel");
    return;
  }
  for (const bool ahead : {false, true}) {
    Freed x(cudaFree), y(cudaFree);
    check(cudaMallocManaged(reinterpret_cast<void**>(&x.data), bytes));
    check(cudaMallocManaged(reinterpret_cast<void**>(&y.data), bytes));
    fill(x.data);  // now the pages are on the host
    const double time = ms([&] {
      if (ahead) {
        prefetch(x.data, device);
        prefetch(y.data, device);
      }
      ridge::relu(ridge::view(x.data, {n}, gpu), ridge::view(y.data, {n}, gpu));
      if (ahead) prefetch(y.data, -1);
    });
    report(ahead ? "prefetched to the GPU and back" : "pages move as the kernel touches them", time, right(y.data));
  }
}

void pinned() {
  std::puts("Copies in, relu, copies out:");
  Freed x(cudaFreeHost), y(cudaFreeHost), on_gpu(cudaFree);
  check(cudaMallocHost(reinterpret_cast<void**>(&x.data), bytes));
  check(cudaMallocHost(reinterpret_cast<void**>(&y.data), bytes));
  check(cudaMalloc(reinterpret_cast<void**>(&on_gpu.data), bytes));
  fill(x.data);

  constexpr int most_streams = 4, pieces = 16;
  constexpr std::int64_t piece = n / pieces;
  cudaStream_t streams[most_streams];
  for (cudaStream_t& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const int used : {1, 2, most_streams}) {
    const double time = ms([&] {
      for (int p = 0; p < pieces; ++p) {
        cudaStream_t stream = streams[p % used];
        float* part = on_gpu.data + p * piece;
        check(cudaMemcpyAsync(part, x.data + p * piece, piece * sizeof(float), cudaMemcpyHostToDevice, stream));
        const ridge::TensorView view = ridge::view(part, {piece}, gpu);
        ridge::relu(view, view, {stream});  // in place
        check(cudaMemcpyAsync(y.data + p * piece, part, piece * sizeof(float), cudaMemcpyDeviceToHost, stream));
      }
    });
    const std::string what = "pinned, 16 pieces on " + std::to_string(used) + (used == 1 ? " stream" : " streams");
    report(what.c_str(), time, right(y.data));
  }
  for (cudaStream_t stream : streams) check(cudaStreamDestroy(stream));
}

}  // namespace
#endif

int main() {
  auto info = ridge::device(0);
  if (!info) {
    std::printf("skipped: no GPU, which this example needs: %s\n", std::string(info.error().message()).c_str());
    return 0;
  }
#if RIDGE_HAS_CUDA
  try {
    std::printf("On %s\n", info->name.c_str());
    managed();
    pinned();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "host_memory: %s\n", error.what());
    return 1;
  }
#endif
  return 0;
}
