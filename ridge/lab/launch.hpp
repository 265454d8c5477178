// What the translator writes for a launch and for dynamic shared memory (translate.hpp); for inline PTX: ptx.hpp.
#pragma once
#include <ridge/lab/ptx.hpp>
#include <ridge/lab/runtime_api.hpp>
#include <ridge/lab/session.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

// A kernel's name that a macro has pasted together.
#define RIDGE_LAB_LITERAL(...) #__VA_ARGS__

namespace ridge::lab {

// A literal 0 among the arguments: an integer, or a null pointer where the kernel takes no integer.
struct Zero {
  constexpr operator int() const { return 0; }
  template <class T> constexpr operator T*() const { return nullptr; }
};
template <class T> constexpr bool is_zero = std::is_same_v<std::remove_cvref_t<T>, Zero>;
template <class T> using IntegerOr = std::conditional_t<is_zero<T>, int, T>;

// The type of the n-th parameter, which an argument in braces has.
template <std::size_t N, class Function> struct ParameterOf;
template <std::size_t N, class... P> struct ParameterOf<N, void(P...)> : std::tuple_element<N, std::tuple<P...>> {};
template <std::size_t N, class Kernel>
using Parameter =
    std::remove_cvref_t<typename ParameterOf<N, std::remove_pointer_t<std::remove_cvref_t<Kernel>>>::type>;

// The function that a kernel's name or a pointer is. The arguments are none: of a name that is a template's the
// translator asks only where this can be answered, which a call without arguments could not be.
template <class R, class... P> const void* address_of(R (*kernel)(P...)) {
  return reinterpret_cast<const void*>(kernel);
}

// kernel<<<grid, block, shared, stream>>>(arguments): Launch(site, grid, block, shared, stream).of(address).run(kernel,
// arguments...). The arguments are evaluated once, and copied, as CUDA does. `kernel` is a function that calls the
// user's: by name, so that overloads, templates and conversions are the language's own.
class Launch {
 public:
  Launch(const LaunchSite& site, dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = {})
      : site_(site), config_{.grid = grid, .block = block, .smem = shared, .stream = stream} {}

  template <class Address> Launch& of(Address address) {
    if constexpr (std::is_invocable_v<Address&>) kernel_ = address();
    return *this;
  }

  template <class Kernel, class... Arguments> void run(Kernel kernel, Arguments&&... arguments) const {
    if constexpr ((is_zero<Arguments> || ...) &&
                  std::is_invocable_v<const Kernel&, const std::decay_t<IntegerOr<Arguments>>&...>)
      run_with(kernel, IntegerOr<Arguments&&>(arguments)...);
    else run_with(kernel, std::forward<Arguments>(arguments)...);
  }

 private:
  template <class Kernel, class... Arguments> void run_with(Kernel kernel, Arguments&&... arguments) const {
    if (!in_kernel()) check_pointers(arguments...);
    if constexpr (std::is_invocable_v<const Kernel&, const std::decay_t<Arguments>&...>) {
      auto job = [kernel, ... given = std::decay_t<Arguments>(arguments)] { kernel(given...); };
      start(std::move(job), given(body_of(job), arguments...));
    } else {  // a parameter is a reference: to managed memory, in a program that is right
      auto job = [kernel, &arguments...] { kernel(arguments...); };
      start(std::move(job), given(body_of(job), arguments...));
    }
  }

  // Of a kernel's own launches no arguments: it would be the kernel that looks at them, and is traced.
  template <class... Arguments> Given given(const void* of_job, const Arguments&... arguments) const {
    if (in_kernel()) return {.kernel = kernel_, .body = of_job, .arguments = {}, .types = {}};
    return given_by(kernel_, of_job, arguments...);
  }

  // Pointers to the host's memory are another machine's to a device.
  template <class... Arguments> void check_pointers(const Arguments&... arguments) const {
    int number = 0;
    const auto check = [&](const auto& argument) {
      using Pointer = std::decay_t<decltype(argument)>;
      ++number;
      if constexpr (std::is_pointer_v<Pointer> && !std::is_function_v<std::remove_pointer_t<Pointer>>)
        check_pointer(site_, number, const_cast<const void*>(static_cast<const volatile void*>(argument)));
    };
    (check(arguments), ...);
  }

  template <class Job> static const void* body_of(const Job&) { return reinterpret_cast<const void*>(&body<Job>); }
  template <class Job> static void body(void* job) { (*static_cast<Job*>(job))(); }

  template <class Job> void start(Job job, Given given) const {
    if (in_kernel())  // dynamic parallelism: the arguments outlive the thread that launches
      return launch_later(
          [launch = *this, kept = std::move(job), given = std::move(given)] { launch.start(kept, given); });
    launch(site_, config_, {.body = &body<Job>, .arguments = &job, .bytes = sizeof job, .kernel = body_of(job)},
           std::move(given));
  }

  LaunchSite site_;
  simt::Config config_;
  const void* kernel_ = nullptr;
};

// __shared__ T name; where T may have constructors, which shared memory never calls.
template <class T> union Shared {
  unsigned char nothing;
  T value;
  constexpr Shared() : nothing(0) {}
};

// extern __shared__ T name[]; outside of functions.
template <class T> struct DynamicShared {
  T* get() const { return static_cast<T*>(const_cast<void*>(simt::detail::dynamic_shared_memory())); }
  operator T*() const { return get(); }
  T* operator&() const { return get(); }
};

}  // namespace ridge::lab
