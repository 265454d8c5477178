// Contiguous nchw as 16-byte vectors, for the kernels that write y or dx.
#pragma once
#include <ridge/batch_norm/apply_planes.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::batch_norm_detail {

struct PlanesShape {
  std::int64_t count;  // elements
  unsigned items;      // vectors; the last may not be whole
  unsigned plane;      // vectors of a plane if whole_planes, else its elements
  int channels;
  bool whole_planes;  // planes are whole vectors
  bool backwards;
  Divider by_plane, by_channels;
  Activation activation;
};

// The V elements from `first` on of an array of `count`, as floats; behind its end 0. packed: all of them, where all
// exist.
template <class T>
__device__ __forceinline__ tile::Floats<T> elements_of(const T* from, std::int64_t first, std::int64_t count,
                                                       const tile::Packed& packed) {
  constexpr int V = tile::vector_elements<T>;
  tile::Floats<T> elements = tile::unpack_floats<T>(packed);
  if (first + V > count)
#pragma unroll
    for (int v = 0; v < V; ++v) elements[v] = first + v < count ? float(from[first + v]) : 0;
  return elements;
}

[[maybe_unused]] static PlanesShape planes_shape(const BatchNormProblem& p, bool backwards) {
  const bool whole = apply::planes::whole_planes(p);
  const std::int64_t plane = spatial(p.x) / (whole ? vector_elements(p.dtype) : 1);
  return {.count = p.x.count(),
          .items = static_cast<unsigned>(apply::planes::vectors_of(p)),
          .plane = static_cast<unsigned>(plane),
          .channels = static_cast<int>(p.x.shape[1]),
          .whole_planes = whole,
          .backwards = backwards,
          .by_plane = Divider(plane),
          .by_channels = Divider(p.x.shape[1]),
          .activation = p.options.activation};
}

}  // namespace ridge::batch_norm_detail
