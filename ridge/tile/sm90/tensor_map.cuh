// Tensor maps, made on the host. The driver's function is looked up through the runtime, so that nothing links to
// libcuda and a program starts where there is none.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/core/status.hpp>
#include <ridge/tile/sm90/image_map.hpp>
#include <ridge/tile/sm90/swizzle.hpp>

#include <string>

namespace ridge::tile::sm90 {

// A batch of matrices: `cols` contiguous elements, rows `pitch` elements apart.
struct MapShape {
  std::int64_t cols = 0, rows = 0, batch = 1;
  std::int64_t pitch = 0, batch_stride = 0;  // in elements; multiples of 16 bytes
};

// What the L2 cache fetches from memory on a miss: 256 bytes at a time, or the tile's lines alone. Tiles of 128-byte
// lines from rows of 256 bytes that are read once are 7 % faster as lines (H200).
enum class Fetch : std::uint8_t { wide, lines };

// A map's elements: bits of a type as they are, or float32 that a load rounds to the nearest TF32, ties to even; what
// rounds to 2^128 becomes infinite.
struct MapElement {
  DType dtype;
  bool tf32 = false;
  constexpr MapElement(DType type, bool to_tf32 = false) : dtype(type), tf32(to_tf32) {}  // implicit: bits as they are
};
// The element type for operands of tensor cores: they read the first 10 bits of a float32's fraction alone, and
// truncated operands would err 2.6 times as much as rounded ones.
constexpr MapElement operand_element(DType dtype) { return {dtype, dtype == DType::f32}; }

}  // namespace ridge::tile::sm90

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/tensor_map.hpp>
#else
#include <cuda.h>
#include <cuda_runtime.h>

namespace ridge::tile::sm90 {

using TensorMap = CUtensorMap;

inline CUtensorMapDataType map_type(MapElement element) {
  switch (element.dtype) {
    case DType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f32: return element.tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // one-byte types: bits are moved
  }
}

// The driver's function, or null.
template <class Function> static Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess)
    return nullptr;
  return reinterpret_cast<Function>(function);
}
inline Status map_status(const char* function, CUresult result) {
  if (result == CUDA_SUCCESS) return {};
  return Status::error(Code::device_error,
                       std::string(function) + ": error " + std::to_string(static_cast<int>(result)));
}
inline Status no_function(const char* name) {
  return Status::error(Code::device_error, std::string("the driver has no ") + name);
}

inline CUtensorMapSwizzle map_swizzle(int line) {
  if (!is_swizzled(line)) return CU_TENSOR_MAP_SWIZZLE_NONE;
  return line == line_bytes ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
}

// A map of tiles of box_rows (at most 256) rows of `line` bytes, swizzled if a line has 64 or 128. `outer`: the axes
// outside of the contiguous one of `cols` elements, rows first; a tile has one index of the others. Preconditions: data
// is aligned to 16 bytes; an element has at most 4 bytes, and a line at most 256 elements.
template <std::size_t N>
static Status make_tensor_map(TensorMap* map, const void* data, MapElement element, std::int64_t cols,
                              const MapAxis (&outer)[N], int box_rows, int line = line_bytes,
                              Fetch fetch = Fetch::wide) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  constexpr const char* name = "cuTensorMapEncodeTiled";
  static const Encode encode = driver_function<Encode>(name);
  if (!encode) return no_function(name);
  const auto bytes = static_cast<cuuint64_t>(size_of(element.dtype));
  const auto extent = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  cuuint64_t sizes[1 + N] = {extent(cols)}, strides[N];
  cuuint32_t box[1 + N] = {static_cast<cuuint32_t>(static_cast<unsigned>(line) / bytes),
                           static_cast<cuuint32_t>(box_rows)},
                     steps[1 + N] = {1};
  for (std::size_t i = 0; i < N; ++i) {
    sizes[1 + i] = extent(outer[i].size);
    // The stride of an axis with one element must still be a valid one.
    strides[i] = outer[i].size > 1 ? extent(outer[i].stride) * bytes : i > 0 ? strides[i - 1] : 16;
    if (i > 0) box[1 + i] = 1;
    steps[1 + i] = 1;
  }
  // Where rows do not start on such a piece, a line of the tile would fetch two of them to the L2 cache.
  constexpr cuuint64_t piece = 256;
  const CUtensorMapL2promotion promotion = fetch == Fetch::lines     ? CU_TENSOR_MAP_L2_PROMOTION_NONE
                                           : strides[0] % piece == 0 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                                                                     : CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  const CUresult result =
      encode(map, map_type(element), 1 + N, const_cast<void*>(data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(line), promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map_status(name, result);
}

// A map of columns of `pixels` (at most 256) pixels, `line` bytes of channels each, swizzled. Corners and steps are
// ordered as the sizes: w, h, and d of volumes. Preconditions: data is aligned to 16 bytes; the limits of ImageMap.
static inline Status make_image_map(TensorMap* map, const void* data, MapElement element, const ImageMap& image,
                                    int pixels, int line = line_bytes) {
  using Encode = decltype(&cuTensorMapEncodeIm2col);
  constexpr const char* name = "cuTensorMapEncodeIm2col";
  static const Encode encode = driver_function<Encode>(name);
  if (!encode) return no_function(name);
  const auto bytes = static_cast<cuuint64_t>(size_of(element.dtype));
  const auto extent = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const int axes = image.volume ? 5 : 4;
  const MapAxis* const outer[] = {&image.w, &image.h, image.volume ? &image.d : &image.n, &image.n};
  cuuint64_t sizes[5] = {extent(image.channels)}, strides[4];
  for (int i = 0; i < axes - 1; ++i) {  // as above
    sizes[1 + i] = extent(outer[i]->size);
    strides[i] = outer[i]->size > 1 ? extent(outer[i]->stride) * bytes : i > 0 ? strides[i - 1] : 16;
  }
  const int first[] = {image.first_w, image.first_h, image.first_d},
            beyond[] = {image.beyond_w, image.beyond_h, image.beyond_d};
  cuuint32_t steps[5] = {1, static_cast<cuuint32_t>(image.step_w), static_cast<cuuint32_t>(image.step_h), 1, 1};
  if (image.volume) steps[3] = static_cast<cuuint32_t>(image.step_d);
  return map_status(
      name, encode(map, map_type(element), static_cast<cuuint32_t>(axes), const_cast<void*>(data), sizes, strides,
                   first, beyond, static_cast<cuuint32_t>(static_cast<unsigned>(line) / bytes),
                   static_cast<cuuint32_t>(pixels), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(line),
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

}  // namespace ridge::tile::sm90
#endif

namespace ridge::tile::sm90 {

// The same for a batch of matrices.
static inline Status make_tensor_map(TensorMap* map, const void* data, MapElement element, const MapShape& shape,
                                     int box_rows, int line = line_bytes, Fetch fetch = Fetch::wide) {
  return make_tensor_map(map, data, element, shape.cols, {{shape.rows, shape.pitch}, {shape.batch, shape.batch_stride}},
                         box_rows, line, fetch);
}

}  // namespace ridge::tile::sm90
