// Pairs rotated by angles: a thread per pair, and a vector of 16 or 8 bytes per thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/rope/variants.hpp>
#include <ridge/rope/vectors.cuh>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::rope_detail {

struct PairsShape {
  std::int64_t heads, tokens, sequence;  // tokens: b * s
  std::int64_t pairs, pieces;            // pieces: pairs and copied elements of a head
  std::int64_t x[4] = {}, y[4] = {};
  bool halves;
};

// y = x rotated, a pair or a copied element per thread. x, y: [b, s, h, d], any strides. y may be x.
// Precondition: gridDim.x * threads covers tokens * heads * pieces.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) rope_pairs(const T* x, T* y, PairsShape p, Angles angles) {
  tile::launch_dependents();
  const std::uint64_t item = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  const std::uint64_t head_of_all = quotient(item, p.pieces);
  const std::int64_t piece = static_cast<std::int64_t>(item - head_of_all * p.pieces);
  const std::int64_t token = static_cast<std::int64_t>(quotient(head_of_all, p.heads));
  const std::int64_t head = static_cast<std::int64_t>(head_of_all) - token * p.heads;
  if (token >= p.tokens) return;
  const std::int64_t b = static_cast<std::int64_t>(quotient(token, p.sequence)), s = token - b * p.sequence;
  x += b * p.x[0] + s * p.x[1] + head * p.x[2];
  y += b * p.y[0] + s * p.y[1] + head * p.y[2];
  tile::grid_dependency_wait();
  if (piece >= p.pairs) {
    const std::int64_t at = p.pairs + piece;  // after 2 * pairs rotated elements
    y[at * p.y[3]] = x[at * p.x[3]];
    return;
  }
  const std::int64_t first = p.halves ? piece : 2 * piece, second = p.halves ? piece + p.pairs : 2 * piece + 1;
  float u = float(x[first * p.x[3]]), v = float(x[second * p.x[3]]);
  rotate(angles(angles.position(b, s), static_cast<int>(piece)), u, v);
  y[first * p.y[3]] = T(u);
  y[second * p.y[3]] = T(v);
}

struct VectorsShape {
  unsigned items;
  Divider pieces, head_groups, sequence;
  int heads, rotated, pairs;  // rotated: rotated pieces of a head
  std::int64_t x[3] = {}, y[3] = {};
};

// The same; a thread takes Config::vector_bytes (Halves: of each half) of Config::heads heads.
//                                                       x, y: [b, s, h, d], d contiguous. y may be x.
// Preconditions: gridDim.x * threads covers items < 2^31; heads start on vectors; the rotated elements (Halves: half of
// them) and the copied ones are whole vectors.
template <class Policy, class T, bool Halves>
__global__ void __launch_bounds__(Policy::config.threads)
    rope_vectors(const T* x, T* y, VectorsShape p, Angles angles) {
  tile::launch_dependents();
  using Vector = VectorOfHeads<Policy, T, Halves>;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned piece = item;
  unsigned group = p.pieces.divide(piece);
  unsigned s = p.head_groups.divide(group);
  const unsigned b = p.sequence.divide(s);
  const bool rotates = static_cast<int>(piece) < p.rotated;
  const int first_head = static_cast<int>(group) * Vector::H, heads = p.heads - first_head;
  // Elements of a head: rotated ones, then copied ones.
  const int at =
      rotates ? static_cast<int>(piece) * Vector::V : 2 * p.pairs + (static_cast<int>(piece) - p.rotated) * Vector::V;
  x += b * p.x[0] + s * p.x[1] + first_head * p.x[2] + at;
  y += b * p.y[0] + s * p.y[1] + first_head * p.y[2] + at;

  tile::grid_dependency_wait();
  Vector vector;
  vector.load(x, p.x[2], heads, p.pairs, rotates);
  if (rotates) vector.store_rotated(y, p.y[2], heads, p.pairs, angles, angles.position(b, s), static_cast<int>(piece));
  else vector.store(y, p.y[2], heads);
}

}  // namespace ridge::rope_detail
