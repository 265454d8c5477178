// The part of CUDA's runtime API that takes kernels: attributes, occupancy, and launches by function. Kernels are
// functions of the program, so these are templates over functions that take their addresses.
#pragma once
#include <ridge/lab/memory.hpp>
#include <ridge/lab/runtime_types.hpp>
#include <ridge/lab/session.hpp>

#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace ridge::lab {

// Bytes of dynamic shared memory that launches of this kernel may ask for: 48 KB on all devices, unless the program
// allowed it more with cudaFuncSetAttribute.
std::size_t allowed_shared_bytes(const void* kernel);
std::size_t most_allowed_shared_bytes();  // of all kernels

cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute, int value, Place);
cudaError_t kernel_attributes(cudaFuncAttributes*, const void* kernel);
cudaError_t resident_blocks(int* blocks, int threads, std::size_t shared, Place);
cudaError_t refuse_launch(const char* call, const char* reason, Place);
// How a kernel is launched of which only the address is given; null: of one that nobody has entered.
using LaunchOfPointer = void (*)(const void* kernel, void** arguments, const simt::Config&, Place);
void enter_kernel(const void* kernel, LaunchOfPointer);
LaunchOfPointer find_kernel(const void* kernel);
// The error that a launch just made, or the sticky one; `before` is peek_error() from before the launch.
cudaError_t error_of_launch(int before);

}  // namespace ridge::lab
#pragma GCC visibility pop

// ---- attributes --------------------------------------------------------------------------------------------------
template <class K>
cudaError_t cudaFuncSetAttribute(K* kernel, cudaFuncAttribute attribute, int value,
                                 ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::set_kernel_attribute((const void*)kernel, attribute, value, at);
}
template <class K> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, K* kernel) {
  return ridge::lab::kernel_attributes(attributes, (const void*)kernel);
}
template <class K> cudaError_t cudaFuncSetCacheConfig(K*, cudaFuncCache) { return cudaSuccess; }
template <class K> cudaError_t cudaFuncSetSharedMemConfig(K*, cudaSharedMemConfig) { return cudaSuccess; }

// ---- occupancy ---------------------------------------------------------------------------------------------------
template <class K>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, K, int threads, std::size_t shared,
                                                          ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::resident_blocks(blocks, threads, shared, at);
}
template <class K>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, K, int threads, std::size_t shared, unsigned /*flags*/,
    ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::resident_blocks(blocks, threads, shared, at);
}

// The largest block among those with which a multiprocessor holds the most threads. shared_of(threads): a block's bytes
// of dynamic shared memory.
template <class K, class F>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, K, F shared_of, int limit = 0,
                                                           ridge::lab::Place at = ridge::lab::Place::current()) {
  int most = -1;
  for (int threads = limit > 0 && limit < 1024 ? limit : 1024; threads > 0;
       threads -= threads % 32 ? threads % 32 : 32) {
    int blocks = 0;
    const cudaError_t error =
        ridge::lab::resident_blocks(&blocks, threads, static_cast<std::size_t>(shared_of(threads)), at);
    if (error != cudaSuccess) return error;
    if (blocks * threads <= most) continue;
    most = blocks * threads;
    *block = threads;
    *grid = blocks * ridge::lab::device().sms;
  }
  return cudaSuccess;
}
template <class K>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, K kernel, std::size_t shared = 0, int limit = 0,
                                               ridge::lab::Place at = ridge::lab::Place::current()) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid, block, kernel, [shared](int) { return shared; }, limit, at);
}

// ---- launches by function ----------------------------------------------------------------------------------------
// The kernel's type says what the arguments are. Of a pointer to void it is known if the kernel's name was cast to it,
// since the translator makes that tell it (known).
namespace ridge::lab {
template <class... P, std::size_t... I>
void launch_with(void (*kernel)(P...), void** arguments, std::index_sequence<I...>, const simt::Config& config,
                 Place at) {
  // Copies, which are the kernel's parameters: the program's own are the host's memory.
  auto job = [kernel, ... given = *static_cast<const std::remove_cvref_t<P>*>(arguments[I])] { kernel(given...); };
  launch({"cudaLaunchKernel", at.file_name(), static_cast<int>(at.line())}, config,
         {.body = [](void* p) { (*static_cast<decltype(job)*>(p))(); },
          .arguments = &job,
          .bytes = sizeof job,
          .kernel = reinterpret_cast<const void*>(kernel)},
         given_by(reinterpret_cast<const void*>(kernel), nullptr,
                  *static_cast<const std::remove_cvref_t<P>*>(arguments[I])...));
}

template <class... P> auto known(void (*kernel)(P...)) {
  using Kernel = void (*)(P...);
  enter_kernel(reinterpret_cast<const void*>(kernel),
               [](const void* pointer, void** arguments, const simt::Config& config, Place at) {
                 launch_with(reinterpret_cast<Kernel>(const_cast<void*>(pointer)), arguments,
                             std::index_sequence_for<P...>{}, config, at);
               });
  return kernel;
}
}  // namespace ridge::lab

template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                             cudaStream_t stream = nullptr, ridge::lab::Place at = ridge::lab::Place::current()) {
  const int before = ridge::lab::peek_error();
  ridge::lab::launch_with(kernel, arguments, std::index_sequence_for<P...>{},
                          {.grid = grid, .block = block, .smem = shared, .stream = stream}, at);
  return ridge::lab::error_of_launch(before);
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                                    cudaStream_t stream = nullptr,
                                    ridge::lab::Place at = ridge::lab::Place::current()) {
  const int before = ridge::lab::peek_error();
  const ridge::lab::LaunchOfPointer launch = ridge::lab::find_kernel(kernel);
  if (!launch)
    return ridge::lab::refuse_launch("cudaLaunchKernel",
                                     "which kernel's this pointer is was not to be seen: give it the kernel itself, or "
                                     "cast the kernel's name to a pointer in the file that defines it",
                                     at);
  launch(kernel, arguments, {.grid = grid, .block = block, .smem = shared, .stream = stream}, at);
  return ridge::lab::error_of_launch(before);
}
template <class K>
cudaError_t cudaLaunchCooperativeKernel(K, dim3, dim3, void**, std::size_t = 0, cudaStream_t = nullptr,
                                        ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::refuse_launch("cudaLaunchCooperativeKernel",
                                   "grids whose blocks wait for each other are not emulated", at);
}
