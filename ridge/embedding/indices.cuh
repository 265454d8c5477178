// Row indices as kernels read them: nothing outside of the table is ever read.
#pragma once
#include <ridge/simt/simt.hpp>

#include <cstdint>

namespace ridge::embedding_detail {

struct Indices {
  const void* data = nullptr;
  bool wide = false;  // i64
  std::int64_t rows = 0;

  // Index of the row; -1 if the table has no such row.
  __device__ __forceinline__ std::int64_t operator()(std::int64_t at) const {
    const std::int64_t row =
        wide ? static_cast<const std::int64_t*>(data)[at] : static_cast<const std::int32_t*>(data)[at];
    return row >= 0 && row < rows ? row : -1;
  }
};

}  // namespace ridge::embedding_detail
