// dx of softmax and log_softmax, from y and dy: y (dy - sum dy y), and dy - exp(y) sum dy.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/softmax/variants.hpp>
#include <ridge/tile/online_softmax.cuh>
#include <ridge/tile/row_lanes.cuh>
#include <ridge/tile/row_units.cuh>

#include <type_traits>

namespace ridge::softmax_detail {

template <class X> struct Gradient {
  bool log;
  __device__ __forceinline__ X term(X y, X dy) const { return log ? dy : dy * y; }  // of the row's sum
  __device__ __forceinline__ X dx(X y, X dy, X sum) const {
    return log ? dy - tile::exponential(y) * sum : y * (dy - sum);
  }
};

template <class P> struct GradientRows {
  P* data;
  RowOffsets rows;
  std::int64_t step;
};

// The row is read twice, by one thread or a block.              y, dy, dx: [rows, cols], any strides
// Precondition: gridDim.x * Team::rows covers rows. dx may be y or dy: a thread reads what it writes itself.
template <class Team, class T>
__global__ void __launch_bounds__(Team::threads)
    softmax_gradient_streaming(GradientRows<const T> y, GradientRows<const T> dy, GradientRows<T> dx, std::int64_t rows,
                               std::int64_t cols, bool log) {
  using X = std::conditional_t<std::is_same_v<T, double>, double, float>;
  __shared__ typename Team::template Scratch<X> scratch;
  const std::int64_t row = Team::row();
  if (row >= rows) return;
  const T *y_row = y.data + y.rows(row), *dy_row = dy.data + dy.rows(row);
  T* dx_row = dx.data + dx.rows(row);
  const Gradient<X> gradient{log};
  X sum = 0;
#pragma unroll 4
  for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes)
    sum += gradient.term(X(y_row[i * y.step]), X(dy_row[i * dy.step]));
  sum = Team::reduce(
      sum, [](X a, X b) { return a + b; }, scratch);
  for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes)
    dx_row[i * dx.step] = T(gradient.dx(X(y_row[i * y.step]), X(dy_row[i * dy.step]), sum));
}

// Both rows are read once and kept on chip.                     y, dy, dx: [rows, cols], pitches between rows
// Preconditions: rows lie alike on 16-byte units, and cols / V units fit in gradient_capacity(Config); the grid covers
// rows; gradient_smem_bytes(Config). dx may be y or dy.
template <class Row, class Team, class T>
__global__ void __launch_bounds__(Team::threads, Row::config.blocks_per_sm)
    softmax_gradient_resident(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t cols,
                              std::int64_t pitch_y, std::int64_t pitch_dy, std::int64_t pitch_dx, bool log) {
  constexpr int K = gradient_registers(Row::config), S = gradient_shared(Row::config);
  __shared__ typename Team::template Scratch<float> scratch;
  const std::int64_t row = Team::row();
  if (row >= rows) return;
  y += row * pitch_y;
  dy += row * pitch_dy;
  dx += row * pitch_dx;
  const tile::RowUnits<T, Team::lanes> units(y, cols, Team::lane());
  tile::ResidentRows<tile::RowUnits<T, Team::lanes>, 2, K, S> kept{
      units, simt::dynamic_shared<tile::Packed>() + threadIdx.x, Team::threads, {}};
  enum { of_y, of_dy };
  const auto load = [&](const T* from, int k) {
    return units.has(k) ? tile::load_packed(from + units.at(k)) : tile::Packed{};
  };
  kept.fill([&](int k, tile::Packed* unit) {
    unit[of_y] = load(y, k);
    unit[of_dy] = load(dy, k);
  });
  kept.end_pass();
  const int edge_at = units.edge_at;
  const float edge_y = edge_at >= 0 ? float(y[edge_at]) : 0.0f, edge_dy = edge_at >= 0 ? float(dy[edge_at]) : 0.0f;

  const Gradient<float> gradient{log};
  float sum = gradient.term(edge_y, edge_dy);  // what the row does not have is 0
  kept.for_each([&](const tile::Packed* unit, int) {
    const tile::Floats<T> a = tile::unpack_floats<T>(unit[of_y]), b = tile::unpack_floats<T>(unit[of_dy]);
#pragma unroll
    for (int v = 0; v < tile::unit_elements<T>; ++v) sum += gradient.term(a[v], b[v]);
  });
  sum = Team::reduce(
      sum, [](float a, float b) { return a + b; }, scratch);
  kept.end_pass();
  kept.for_each([&](const tile::Packed* unit, int k) {
    if (!units.has(k)) return;
    tile::Floats<T> a = tile::unpack_floats<T>(unit[of_y]);
    const tile::Floats<T> b = tile::unpack_floats<T>(unit[of_dy]);
#pragma unroll
    for (int v = 0; v < tile::unit_elements<T>; ++v) a[v] = gradient.dx(a[v], b[v], sum);
    tile::store_packed(dx + units.at(k), tile::pack_floats<T>(a));
  });
  if (edge_at >= 0) dx[edge_at] = T(gradient.dx(edge_y, edge_dy, sum));
}

}  // namespace ridge::softmax_detail
