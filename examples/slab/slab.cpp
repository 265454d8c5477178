// A chain of operators (the feed-forward halves of eight decoder layers, for 16 tokens), whose kernels take a few
// microseconds each, so that what is around them shows:
//
//   1. Memory. Each tensor and workspace by cudaMalloc and cudaFree, which wait for the device; or by
//      cudaMallocAsync and cudaFreeAsync, in the stream's order; or all of them as parts of one slab, whose sizes the
//      plans know beforehand, by one call before the chain and one behind it.
//   2. Priority. Blocks of a stream of high priority begin before those that wait in other streams, so that the chain
//      takes less time while a large product runs beside it.
//
// Each time is the median of 20 runs by the host's clock, from the first call until the chain is done; every result is
// compared bit for bit.
#include <ridge/core/device.hpp>

#include <cstdio>

#if RIDGE_HAS_CUDA
#include <ridge/core/stream.hpp>
#include <ridge/gemm/gemm.hpp>
#include <ridge/norm/norm.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ridge;

constexpr std::int64_t tokens = 16, width = 2048, inner = 5632;
constexpr int layers = 8, runs = 20;
const Device gpu{DeviceKind::cuda, 0};

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
template <class T> T checked(Result<T> result) {
  throw_if(result.error());
  return std::move(*result);
}
TensorView bf16_view(void* data, std::int64_t rows, std::int64_t cols) {
  return view(static_cast<bfloat16*>(data), {rows, cols}, gpu);
}
constexpr std::size_t bytes_of(std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(rows * cols) * sizeof(bfloat16);
}

// One layer: x + (silu(n W1) * (n W2)) W3, n = rms_norm(x).
struct Layer {
  Buffer gamma = ones(1, width), w1 = ones(width, inner), w2 = ones(width, inner), w3 = ones(inner, width);

  static Buffer ones(std::int64_t rows, std::int64_t cols) {  // bf16 of 0x3c3c each: 0.0115
    Buffer buffer = checked(Buffer::allocate(gpu, bytes_of(rows, cols)));
    throw_if(fill_bytes(buffer.data(), gpu, 0x3c, bytes_of(rows, cols)));
    return buffer;
  }
  NormTensors norm(void* x, void* n) const {
    NormTensors t{.x = bf16_view(x, tokens, width), .y = bf16_view(n, tokens, width)};
    t.gamma = view(static_cast<bfloat16*>(gamma.data()), {width}, gpu);
    return t;
  }
  GemmTensors gated(void* n, void* g) const {
    return {.a = bf16_view(n, tokens, width),
            .b = bf16_view(w1.data(), width, inner),
            .d = bf16_view(g, tokens, inner),
            .gate = bf16_view(w2.data(), width, inner)};
  }
  GemmTensors out(void* g, void* x, void* y) const {
    return {.a = bf16_view(g, tokens, inner),
            .b = bf16_view(w3.data(), inner, width),
            .d = bf16_view(y, tokens, width),
            .residual = bf16_view(x, tokens, width)};
  }
};

// Where a chain's memory comes from. The functions are called in the chain's order.
struct Memory {
  std::function<void*(std::size_t)> allocate;
  std::function<void(void*)> free;
};

class Chain {
 public:
  Chain() : layers_(layers), x_(Layer::ones(tokens, width)), result_(Layer::ones(tokens, width)) {
    const DeviceInfo device = checked(ridge::device(0));
    // For tensors on 16 bytes, as every part of a slab is.
    norm_ = checked(
        plan_norm({.norm = Norm::rms, .rows = tokens, .cols = width, .dtype = DType::bf16, .beta = false}, device));
    gated_ = checked(plan_gemm({.m = tokens,
                                .n = inner,
                                .k = width,
                                .dtype = DType::bf16,
                                .scalars = {.activation = Activation::silu},
                                .gate = true},
                               device));
    out_ = checked(plan_gemm({.m = tokens, .n = width, .k = inner, .dtype = DType::bf16, .residual = true}, device));
  }

  // Calls f(bytes) for each allocation of run(), in its order.
  template <class F> void for_each_size(F&& f) const {
    for (int i = 0; i < layers; ++i)
      for (const std::size_t bytes : {bytes_of(tokens, width), norm_.workspace_bytes(), bytes_of(tokens, inner),
                                      gated_.workspace_bytes(), bytes_of(tokens, width), out_.workspace_bytes()})
        f(bytes);
  }

  void run(const Memory& memory, Stream stream) const {
    void* x = x_.data();
    for (int i = 0; i < layers; ++i) {
      const Layer& layer = layers_[static_cast<std::size_t>(i)];
      void* n = memory.allocate(bytes_of(tokens, width));
      with_workspace(memory, norm_.workspace_bytes(),
                     [&](Workspace w) { return norm_.run(layer.norm(x, n), w, stream); });
      void* g = memory.allocate(bytes_of(tokens, inner));
      with_workspace(memory, gated_.workspace_bytes(),
                     [&](Workspace w) { return gated_.run(layer.gated(n, g), w, stream); });
      void* y = memory.allocate(bytes_of(tokens, width));
      with_workspace(memory, out_.workspace_bytes(),
                     [&](Workspace w) { return out_.run(layer.out(g, x, y), w, stream); });
      memory.free(n);
      memory.free(g);
      if (i > 0) memory.free(x);
      x = y;
    }
    check(cudaMemcpyAsync(result_.data(), x, bytes_of(tokens, width), cudaMemcpyDeviceToDevice,
                          static_cast<cudaStream_t>(stream.handle)));
    memory.free(x);
  }

  std::vector<std::uint16_t> result() const {
    std::vector<std::uint16_t> y(static_cast<std::size_t>(tokens * width));
    throw_if(copy_bytes(y.data(), {}, result_.data(), gpu, bytes_of(tokens, width)));
    return y;
  }

 private:
  template <class F> static void with_workspace(const Memory& memory, std::size_t bytes, F&& run) {
    void* data = memory.allocate(bytes);
    throw_if(run(Workspace{data, bytes}));
    memory.free(data);
  }

  std::vector<Layer> layers_;
  Buffer x_, result_;
  NormPlan norm_;
  GemmPlan gated_, out_;
};

// All of a chain's allocations as parts of one.
class Slab {
 public:
  explicit Slab(const Chain& chain) {
    chain.for_each_size([&](std::size_t bytes) { bytes_ += (bytes + 255) / 256 * 256; });
  }
  std::size_t bytes() const { return bytes_; }
  void begin(cudaStream_t stream) { check(cudaMallocAsync(&data_, bytes_, stream)), used_ = 0; }
  void end(cudaStream_t stream) { check(cudaFreeAsync(data_, stream)); }
  void* take(std::size_t bytes) {
    void* const part = static_cast<char*>(data_) + used_;
    used_ += (bytes + 255) / 256 * 256;
    return part;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0, used_ = 0;
};

double median_us(cudaStream_t stream, const std::function<void()>& queue_other, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < runs + 2; ++i) {  // the first ones load kernels and fill the pool
    check(cudaDeviceSynchronize());
    queue_other();
    const auto start = std::chrono::steady_clock::now();
    run();
    check(cudaStreamSynchronize(stream));
    if (i >= 2)
      times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + runs / 2);
  return times[runs / 2];
}

void report(const char* what, double us, const Chain& chain, std::vector<std::uint16_t>& first) {
  const std::vector<std::uint16_t> y = chain.result();
  if (first.empty()) first = y;
  std::printf("  %-60s %9.1f us  %s\n", what, us, y == first ? "the same bits" : "DIFFERENT");
  if (y != first) throw std::runtime_error("a result differs");
}

void run() {
  const Chain chain;
  Slab slab(chain);
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t plain, first, other;
  check(cudaStreamCreateWithPriority(&plain, cudaStreamNonBlocking, least));
  check(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, greatest));
  check(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, least));
  // The pool keeps what was freed, instead of giving it back whenever the device is idle.
  cudaMemPool_t pool;
  std::uint64_t everything = ~0ull;
  check(cudaDeviceGetDefaultMemPool(&pool, 0));
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything));

  const Memory blocking{[](std::size_t bytes) {
                          void* data;
                          check(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)));
                          return data;
                        },
                        [](void* data) { check(cudaFree(data)); }};
  const auto in_order = [](cudaStream_t stream) {
    return Memory{[=](std::size_t bytes) {
                    void* data;
                    check(cudaMallocAsync(&data, std::max<std::size_t>(bytes, 1), stream));
                    return data;
                  },
                  [=](void* data) { check(cudaFreeAsync(data, stream)); }};
  };
  const Memory parts{[&](std::size_t bytes) { return slab.take(bytes); }, [](void*) {}};
  const auto in_slab = [&](cudaStream_t stream) {
    slab.begin(stream);
    chain.run(parts, {stream});
    slab.end(stream);
  };
  const auto nothing = [] {};
  std::vector<std::uint16_t> bits;

  std::printf("Memory for a chain of %d operators (a slab of %.1f MB):\n", 3 * layers,
              static_cast<double>(slab.bytes()) * 1e-6);
  report("cudaMalloc and cudaFree", median_us(plain, nothing, [&] { chain.run(blocking, {plain}); }), chain, bits);
  report("cudaMallocAsync and cudaFreeAsync", median_us(plain, nothing, [&] { chain.run(in_order(plain), {plain}); }),
         chain, bits);
  report("one slab", median_us(plain, nothing, [&] { in_slab(plain); }), chain, bits);

  const std::int64_t side = 8192;
  const Buffer a = Layer::ones(side, side), b = Layer::ones(side, side), d = Layer::ones(side, side);
  const auto product = [&] {  // some milliseconds
    for (int i = 0; i < 3; ++i)
      gemm(bf16_view(a.data(), side, side), bf16_view(b.data(), side, side), bf16_view(d.data(), side, side), {other});
  };
  std::puts("In a slab, while another stream computes a product of 8192 x 8192 x 8192 three times:");
  report("streams of one priority", median_us(plain, product, [&] { in_slab(plain); }), chain, bits);
  report("the chain's stream of high priority", median_us(first, product, [&] { in_slab(first); }), chain, bits);
  check(cudaDeviceSynchronize());
  for (cudaStream_t stream : {plain, first, other}) check(cudaStreamDestroy(stream));
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
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slab: %s\n", error.what());
    return 1;
  }
#endif
  return 0;
}
