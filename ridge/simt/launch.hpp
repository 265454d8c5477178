// Config, launch(config, kernel, args...), dynamic_shared<T>() and with_warp(width, f).
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/simt/backend.hpp>
#if RIDGE_SIMT_ON_CPU
#include <ridge/simt/cpu/names.hpp>
#endif

#include <utility>

namespace ridge::simt {

// "warp width 16; this backend has 32 and 64". Out of line, because every kernel's launch uses it.
RIDGE_API Status refuse_warp(int width, const char* widths);

inline namespace RIDGE_SIMT_SPACE {

struct Config {
  dim3 grid;
  dim3 block;
  std::size_t smem = 0;    // bytes of dynamic shared memory
  void* stream = nullptr;  // cudaStream_t or hipStream_t; the CPU runs at once
  int warp = native_warp;  // 32 or 64 on the CPU; on a device its own width
};

namespace detail {
inline bool empty(const Config& c) { return c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0; }
}  // namespace detail

// Calls f(std::integral_constant<int, Width>) for a warp width that this backend instantiates, and returns f's Status.
// It is the only place that turns the width from a value into a template argument.
template <class F> [[nodiscard]] Status with_warp(int warp, F&& f) {
  if (warp == native_warp) return std::forward<F>(f)(std::integral_constant<int, native_warp>{});
#if RIDGE_SIMT_ON_CPU
  if (warp == 64) return std::forward<F>(f)(std::integral_constant<int, 64>{});
  return refuse_warp(warp, "32 and 64");
#else
  return refuse_warp(warp, native_warp == 32 ? "32" : "64");
#endif
}

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt

// launch and dynamic_shared
#if RIDGE_SIMT_ON_CPU
#include <ridge/simt/cpu/launch.hpp>
#else
#include <ridge/simt/gpu/launch.hpp>
#endif
