// launch and dynamic_shared for g++.
#pragma once
#include <ridge/simt/cpu/runtime.hpp>
#include <ridge/simt/launch.hpp>

#include <utility>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

template <class T> T* dynamic_shared() { return static_cast<T*>(detail::dynamic_shared_memory()); }

// Runs the whole grid and returns. A kernel's fault is returned as Code::kernel_fault, in a sentence that names block,
// thread and source line; no exception and no abort leaves this function.
template <class... P, class... A>
[[nodiscard]] Status launch(const Config& config, void (*kernel)(P...), A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "launch: as many arguments as the kernel has parameters");
  auto job = [kernel, ... given = static_cast<P>(std::forward<A>(arguments))] { kernel(given...); };
  return detail::run(config, {.body = [](void* p) { (*static_cast<decltype(job)*>(p))(); },
                              .arguments = &job,
                              .bytes = sizeof job,
                              .kernel = reinterpret_cast<const void*>(kernel)});
}

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
