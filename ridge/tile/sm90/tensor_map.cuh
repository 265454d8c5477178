// Tensor maps, made on the host. The driver's function is looked up through the runtime, so that nothing is linked to
// libcuda and a program loads where there is none.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/status.hpp>
#include <ridge/tile/sm90/swizzle.hpp>

#include <cuda.h>
#include <cuda_runtime.h>

#include <string>

namespace ridge::tile::sm90 {

// A batch of matrices: `cols` neighbours, rows `pitch` elements apart.
struct MapShape {
  std::int64_t cols = 0, rows = 0, batch = 1;
  std::int64_t pitch = 0, batch_stride = 0;  // in elements; multiples of 16 bytes
};

inline CUtensorMapDataType map_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // types of a byte, whose bits are moved
  }
}

// Tiles of box_rows (at most 256) rows of 128 bytes, swizzled. Preconditions: data is on 16 bytes; elements of at most 4.
static inline Status make_tensor_map(CUtensorMap* map, const void* data, DType dtype, const MapShape& shape,
                                     int box_rows) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found) !=
            cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
      function = nullptr;
    return reinterpret_cast<Encode>(function);
  }();
  if (!encode) return Status::error(Code::device_error, "the driver has no cuTensorMapEncodeTiled");
  const auto bytes = static_cast<cuuint64_t>(size_of(dtype));
  const auto extent = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const cuuint64_t sizes[] = {extent(shape.cols), extent(shape.rows), extent(shape.batch)};
  // The stride of an axis with one element must still be a valid one.
  const cuuint64_t pitch = shape.rows > 1 ? extent(shape.pitch) * bytes : 16;
  const cuuint64_t strides[] = {pitch, shape.batch > 1 ? extent(shape.batch_stride) * bytes : pitch};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(line_bytes / bytes), static_cast<cuuint32_t>(box_rows), 1},
                   steps[] = {1, 1, 1};
  const CUresult result = encode(map, map_type(dtype), 3, const_cast<void*>(data), sizes, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return {};
  return Status::error(Code::device_error, "cuTensorMapEncodeTiled: error " + std::to_string(static_cast<int>(result)));
}

}  // namespace ridge::tile::sm90
