// A problem's inputs as kernel arguments.
#pragma once
#include <ridge/reduce/offsets.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::reduce_detail {

// A problem's inputs. x, z: [rows, cols], rows along axes [0, outer), cols along the others
template <class T> struct Input {
  const T *x, *z;
  std::int64_t rows, cols;
  ReduceAxes axes;
};

// The position in an access of V elements at which a row starts.
template <int V, class T> __device__ __forceinline__ int misalignment(const T* row) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / sizeof(T) % V);
}

}  // namespace ridge::reduce_detail
