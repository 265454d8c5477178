// cuda::aligned_size_t: a number of bytes that also says how the addresses of a copy are aligned.
#pragma once
#include <cstddef>

namespace cuda {

template <::std::size_t Alignment> struct aligned_size_t {
  static constexpr ::std::size_t align = Alignment;
  ::std::size_t value;
  constexpr explicit aligned_size_t(::std::size_t bytes) : value(bytes) {}
  constexpr operator ::std::size_t() const { return value; }
};

}  // namespace cuda

namespace ridge::lab {

template <class Size> inline constexpr std::size_t alignment_of = 1;
template <std::size_t Alignment> inline constexpr std::size_t alignment_of<cuda::aligned_size_t<Alignment>> = Alignment;

}  // namespace ridge::lab
