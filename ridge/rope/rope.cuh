// Pairs turned by angles: a thread per pair, and a unit of 16 or 8 bytes per thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/rope/units.cuh>
#include <ridge/rope/variants.hpp>

namespace ridge::rope_detail {

struct PairsShape {
  std::int64_t heads, tokens, sequence;  // tokens: b s
  std::int64_t pairs, pieces;            // pieces: pairs and copied elements of a head
  std::int64_t x[4] = {}, y[4] = {};
  bool halves;
};

// y = x turned, a pair or a copied element per thread.  x, y: [b, s, h, d], any strides. y may be x.
// Precondition: gridDim.x * threads covers tokens * heads * pieces.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) rope_pairs(const T* x, T* y, PairsShape p, Angles angles) {
  const std::uint64_t item = std::uint64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
  const std::uint64_t head_of_all = quotient(item, p.pieces);
  const std::int64_t piece = static_cast<std::int64_t>(item - head_of_all * p.pieces);
  const std::int64_t token = static_cast<std::int64_t>(quotient(head_of_all, p.heads));
  const std::int64_t head = static_cast<std::int64_t>(head_of_all) - token * p.heads;
  if (token >= p.tokens) return;
  const std::int64_t b = static_cast<std::int64_t>(quotient(token, p.sequence)), s = token - b * p.sequence;
  x += b * p.x[0] + s * p.x[1] + head * p.x[2];
  y += b * p.y[0] + s * p.y[1] + head * p.y[2];
  if (piece >= p.pairs) {
    const std::int64_t at = p.pairs + piece;  // 2 pairs turned elements, and those before this one
    y[at * p.y[3]] = x[at * p.x[3]];
    return;
  }
  const std::int64_t first = p.halves ? piece : 2 * piece, second = p.halves ? piece + p.pairs : 2 * piece + 1;
  float u = float(x[first * p.x[3]]), v = float(x[second * p.x[3]]);
  turn(angles(angles.position(b, s), static_cast<int>(piece)), u, v);
  y[first * p.y[3]] = T(u);
  y[second * p.y[3]] = T(v);
}

struct UnitsShape {
  unsigned items;
  Divider pieces, head_groups, sequence;
  int heads, turned, pairs;  // turned: pieces of a head that are
  std::int64_t x[3] = {}, y[3] = {};
};

// The same, Config::unit_bytes (Halves: of each half) of Config::heads heads per thread.
//                                                       x, y: [b, s, h, d], d contiguous. y may be x.
// Preconditions: gridDim.x * threads covers items < 2^31; heads start on units; what is turned (Halves: a half of it)
// and what is copied are whole units.
template <class Row, class T, bool Halves>
__global__ void __launch_bounds__(Row::config.threads) rope_units(const T* x, T* y, UnitsShape p, Angles angles) {
  using Unit = UnitOfHeads<Row, T, Halves>;
  const unsigned item = blockIdx.x * Row::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned piece = item;
  unsigned group = p.pieces.divide(piece);
  unsigned s = p.head_groups.divide(group);
  const unsigned b = p.sequence.divide(s);
  const bool turns = static_cast<int>(piece) < p.turned;
  const int first_head = static_cast<int>(group) * Unit::H, heads = p.heads - first_head;
  // Elements of a head: those turned, then those copied.
  const int at =
      turns ? static_cast<int>(piece) * Unit::V : 2 * p.pairs + (static_cast<int>(piece) - p.turned) * Unit::V;
  x += b * p.x[0] + s * p.x[1] + first_head * p.x[2] + at;
  y += b * p.y[0] + s * p.y[1] + first_head * p.y[2] + at;

  Unit unit;
  unit.load(x, p.x[2], heads, p.pairs, turns);
  if (turns) unit.store_turned(y, p.y[2], heads, p.pairs, angles, angles.position(b, s), static_cast<int>(piece));
  else unit.store(y, p.y[2], heads);
}

}  // namespace ridge::rope_detail
