// Contiguous nchw as 16-byte vectors, for the kernels that write y or dx.
#pragma once
#include <ridge/batch_norm/apply_planes.hpp>
#include <ridge/core/divider.hpp>

namespace ridge::batch_norm_detail {

struct PlanesShape {
  std::int64_t count;  // elements
  unsigned items;      // vectors; the last may not be whole
  unsigned plane;      // vectors of a plane if whole_planes, else its elements
  int channels;
  bool whole_planes;  // planes are whole vectors
  bool backwards;
  Divider by_plane, by_channels;
};

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
          .by_channels = Divider(p.x.shape[1])};
}

}  // namespace ridge::batch_norm_detail
