// Tensor maps, made on the host. The driver's function is looked up through the runtime, so that nothing is linked to
// libcuda and a program loads where there is none.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/status.hpp>
#include <ridge/tile/sm90/swizzle.hpp>

#include <string>

namespace ridge::tile::sm90 {

// A batch of matrices: `cols` neighbours, rows `pitch` elements apart.
struct MapShape {
  std::int64_t cols = 0, rows = 0, batch = 1;
  std::int64_t pitch = 0, batch_stride = 0;  // in elements; multiples of 16 bytes
};

// An axis besides that of neighbours.
struct MapAxis {
  std::int64_t size = 1, stride = 0;  // stride: in elements, a multiple of 16 bytes
};

}  // namespace ridge::tile::sm90

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/tensor_map.hpp>
#else
#include <cuda.h>
#include <cuda_runtime.h>

namespace ridge::tile::sm90 {

using TensorMap = CUtensorMap;

inline CUtensorMapDataType map_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // types of a byte, whose bits are moved
  }
}

// Tiles of box_rows (at most 256) rows of 128 bytes, swizzled. `outer` are the axes behind that of `cols` neighbours, rows
// first; a tile has one place of the others. Preconditions: data is on 16 bytes; elements of at most 4.
template <std::size_t N>
static Status make_tensor_map(TensorMap* map, const void* data, DType dtype, std::int64_t cols,
                              const MapAxis (&outer)[N], int box_rows) {
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
  cuuint64_t sizes[1 + N] = {extent(cols)}, strides[N];
  cuuint32_t box[1 + N] = {static_cast<cuuint32_t>(line_bytes / bytes), static_cast<cuuint32_t>(box_rows)},
                     steps[1 + N] = {1};
  for (std::size_t i = 0; i < N; ++i) {
    sizes[1 + i] = extent(outer[i].size);
    // The stride of an axis with one element must still be a valid one.
    strides[i] = outer[i].size > 1 ? extent(outer[i].stride) * bytes : i > 0 ? strides[i - 1] : 16;
    if (i > 0) box[1 + i] = 1;
    steps[1 + i] = 1;
  }
  const CUresult result = encode(map, map_type(dtype), 1 + N, const_cast<void*>(data), sizes, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return {};
  return Status::error(Code::device_error, "cuTensorMapEncodeTiled: error " + std::to_string(static_cast<int>(result)));
}

}  // namespace ridge::tile::sm90
#endif

namespace ridge::tile::sm90 {

// The same of a batch of matrices.
static inline Status make_tensor_map(TensorMap* map, const void* data, DType dtype, const MapShape& shape,
                                     int box_rows) {
  return make_tensor_map(map, data, dtype, shape.cols, {{shape.rows, shape.pitch}, {shape.batch, shape.batch_stride}},
                         box_rows);
}

}  // namespace ridge::tile::sm90
