// Gathers rows of a table by index: element by element, and by 16 bytes.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/core/rows.hpp>
#include <ridge/embedding/indices.cuh>
#include <ridge/embedding/variants.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::embedding_detail {

struct ElementShape {
  std::int64_t n, cols, table_pitch, table_step, y_step;
  RowOffsets y_rows, indices;
  float scale;
};

// y[i, c] = scale * table[indices[i], c]                table: [rows, cols]  indices: [n]  y: [n, cols], any strides
// Precondition: gridDim.x * threads covers n * cols.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    embedding_element(const T* table, Indices indices, T* y, ElementShape s) {
  const std::uint64_t item = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(quotient(item, s.cols));
  const std::int64_t col = static_cast<std::int64_t>(item) - i * s.cols;
  if (i >= s.n) return;
  const std::int64_t row = indices(s.indices(i));
  T value = row < 0 ? T(0.0f) : table[row * s.table_pitch + col * s.table_step];
  if (s.scale != 1) value = T(float(value) * s.scale);
  y[s.y_rows(i) + col * s.y_step] = value;
}

struct VectorsShape {
  unsigned items;
  Divider vectors;  // by the vectors of a row
  std::int64_t table_pitch, y_pitch, index_step;
  float scale;
};

// The same, by vectors.                                 rows of table and y contiguous, on 16 bytes, of whole vectors
// Preconditions: gridDim.x * threads * Config::vectors covers items < 2^31.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    embedding_vectors(const T* table, Indices indices, T* y, VectorsShape s) {
  constexpr int V = tile::vector_elements<T>, U = Policy::config.vectors, threads = Policy::config.threads;
  const unsigned first = blockIdx.x * (threads * U) + threadIdx.x;
  unsigned vector[U], i[U];
  std::int64_t row[U];
#pragma unroll
  for (int k = 0; k < U; ++k) {
    vector[k] = first + k * threads;
    const bool exists = vector[k] < s.items;
    i[k] = exists ? s.vectors.divide(vector[k]) : 0;
    row[k] = exists ? indices(i[k] * s.index_step) : -1;
  }
  tile::Packed packed[U];
#pragma unroll
  for (int k = 0; k < U; ++k)
    packed[k] = row[k] >= 0 ? tile::load_packed(table + row[k] * s.table_pitch + vector[k] * V) : tile::Packed{};
#pragma unroll
  for (int k = 0; k < U; ++k) {
    if (s.scale != 1) {
      tile::Vector<T> values = tile::unpack<T>(packed[k]);
#pragma unroll
      for (int v = 0; v < V; ++v) values[v] = T(float(values[v]) * s.scale);
      packed[k] = tile::pack<T>(values);
    }
    if (first + k * threads < s.items) tile::store_packed<T>(y + i[k] * s.y_pitch + vector[k] * V, packed[k]);
  }
}

}  // namespace ridge::embedding_detail
