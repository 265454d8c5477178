// CUB as a peer: sum, max and argmax over everything (min and argmin are their mirrors), dot by a transforming
// iterator, and sums of rows as segments. bf16 is summed in float, as Ridge does.
#include <ridge/bench/bench.hpp>
#include <ridge/core/memory.hpp>

#include <cuda_bf16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <functional>
#include <memory>
#include <string>

namespace ridge::reduce_detail {
namespace {

using Run = std::function<Status(Stream)>;
using Call = std::function<cudaError_t(void* scratch, std::size_t& bytes, cudaStream_t)>;

Status check(cudaError_t error) {
  return error == cudaSuccess ? Status{}
                              : Status::error(Code::device_error, std::string("CUB: ") + cudaGetErrorString(error));
}

// CUB is asked for its scratch size first, and writes one or two results; the returned function keeps both buffers.
Result<Run> prepare(Device device, std::int64_t results, std::function<Call(void* values, void* indices)> bind) {
  auto buffer = Buffer::allocate(device, static_cast<std::size_t>(results) * 16);
  if (!buffer) return buffer.error();
  auto output = std::make_shared<Buffer>(std::move(*buffer));
  Call call = bind(output->data(), static_cast<char*>(output->data()) + results * 8);
  std::size_t bytes = 0;
  RIDGE_TRY(check(call(nullptr, bytes, nullptr)));
  auto scratch = Buffer::allocate(device, bytes);
  if (!scratch) return scratch.error();
  auto kept = std::make_shared<Buffer>(std::move(*scratch));
  return Run([call, kept, output](Stream stream) {
    std::size_t size = kept->bytes();
    return check(call(kept->data(), size, static_cast<cudaStream_t>(stream.handle)));
  });
}

template <class T> struct Product {
  const T *x, *z;
  __device__ float operator()(std::int64_t i) const { return static_cast<float>(x[i]) * static_cast<float>(z[i]); }
};

struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

struct RowStart {
  std::int64_t cols;
  __host__ __device__ std::int64_t operator()(std::int64_t row) const { return row * cols; }
};

template <class T> Result<Run> peer(const check::Case& c, Views in) {
  const T* x = static_cast<const T*>(in[0].data);
  const std::int64_t n = in[0].count();
  const Device device = in[0].device;
  if (c.options.has("axis")) {
    const std::int64_t rows = c.dim("rows"), cols = c.dim("cols");
    if (c.op != "sum") return Status::error(Code::unsupported, "CUB: only sums of rows are measured");
    return prepare(device, rows, [=](void* values, void*) -> Call {
      const auto starts =
          thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), RowStart{cols});
      return [=](void* t, std::size_t& b, cudaStream_t s) {
        return cub::DeviceSegmentedReduce::Reduce(t, b, x, static_cast<float*>(values), rows, starts, starts + 1, Add{},
                                                  0.0f, s);
      };
    });
  }
  return prepare(device, 1, [=, op = c.op](void* values, void* indices) -> Call {
    T* y = static_cast<T*>(values);
    float* sum = static_cast<float*>(values);
    std::int64_t* at = static_cast<std::int64_t*>(indices);
    if (op == "sum")
      return [=](void* t, std::size_t& b, cudaStream_t s) {
        return cub::DeviceReduce::Reduce(t, b, x, sum, n, Add{}, 0.0f, s);
      };
    if (op == "max")
      return [=](void* t, std::size_t& b, cudaStream_t s) { return cub::DeviceReduce::Max(t, b, x, y, n, s); };
    if (op == "argmax")
      return [=](void* t, std::size_t& b, cudaStream_t s) { return cub::DeviceReduce::ArgMax(t, b, x, y, at, n, s); };
    const auto products = thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}),
                                                          Product<T>{x, static_cast<const T*>(in[in.size() - 1].data)});
    return [=](void* t, std::size_t& b, cudaStream_t s) {
      return cub::DeviceReduce::Reduce(t, b, products, sum, n, Add{}, 0.0f, s);
    };
  });
}

Result<Run> make(const check::Case& c, Views in, Views) {
  if (c.dtype == f32) return peer<float>(c, in);
  if (c.dtype == bf16) return peer<__nv_bfloat16>(c, in);
  return Status::error(Code::unsupported, "CUB: only f32 and bf16 are measured");
}

const bench::RegisterPeer registered[] = {
    bench::RegisterPeer({"sum", "CUB", make}),
    bench::RegisterPeer({"max", "CUB", make}),
    bench::RegisterPeer({"argmax", "CUB", make}),
    bench::RegisterPeer({"dot", "CUB", make}),
};

}  // namespace
}  // namespace ridge::reduce_detail
