// cub::DeviceHistogram::HistogramEven, with 32-bit counts.
#include <ridge/bench/bench.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/histogram/cases.hpp>

#include <cuda_runtime_api.h>
#include <cub/device/device_histogram.cuh>

#include <memory>

namespace ridge::histogram_detail {

using Work = std::function<Status(Stream)>;

template <class Sample, class Level> static Result<Work> prepare(const TensorView& x, const CaseBins& b) {
  const Sample* samples = static_cast<const Sample*>(x.data);
  const int n = static_cast<int>(x.count()), levels = static_cast<int>(b.bins) + 1;
  const Level lo = static_cast<Level>(b.lo), hi = static_cast<Level>(b.hi);
  std::size_t bytes = 0;
  if (cub::DeviceHistogram::HistogramEven(nullptr, bytes, samples, static_cast<int*>(nullptr), levels, lo, hi, n) !=
      cudaSuccess)
    return Status::error(Code::device_error, "CUB: it refused the histogram");
  auto scratch = Buffer::allocate(x.device, bytes);
  if (!scratch) return scratch.error();
  auto counts = Buffer::allocate(x.device, static_cast<std::size_t>(b.bins) * sizeof(int));
  if (!counts) return counts.error();
  struct Owned {
    Buffer scratch, counts;
  };
  auto owned = std::make_shared<Owned>(Owned{std::move(*scratch), std::move(*counts)});
  return Work([=](Stream stream) {
    std::size_t size = bytes;
    const cudaError_t error = cub::DeviceHistogram::HistogramEven(owned->scratch.data(), size, samples,
                                                                  static_cast<int*>(owned->counts.data()), levels, lo,
                                                                  hi, n, static_cast<cudaStream_t>(stream.handle));
    return error == cudaSuccess ? Status{} : Status::error(Code::device_error, cudaGetErrorString(error));
  });
}

static Result<Work> make(const check::Case& c, Views in, Views) {
  const TensorView& x = in[0];
  const CaseBins b = bins_of(c);
  if (!x.layout.is_contiguous() || x.count() > 0x7fffffff || b.bins > 0x7ffffffe)
    return Status::error(Code::unsupported, "CUB: it does not take such a histogram");
  switch (x.dtype) {
    case DType::u8: return prepare<unsigned char, int>(x, b);
    case DType::i32: return prepare<int, int>(x, b);
    case DType::f32: return prepare<float, float>(x, b);
    default: return Status::error(Code::unsupported, "CUB: it is not measured for this type");
  }
}

static const bench::RegisterPeer registered({.op = "histogram", .name = "cub", .make = make});

}  // namespace ridge::histogram_detail
