// CUDA's <mma.h>: a warp multiplies matrices that its lanes hold in fragments.
//
// Which lane has which element is not documented; here it is as in mma.sync. A matrix consists of blocks of 8 rows by
// four pieces, a piece being 1, 2 or 4 neighbours in a row; lane l has piece l % 4 of row l / 4 of every block, so that
// neighbouring lanes read neighbouring words. For matrix_b rows and columns change places: pieces are along k.
#pragma once
#include <ridge/simt/simt.hpp>
// These need CUDA's names:
#include <ridge/lab/bfloat16.hpp>
#include <ridge/lab/half.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

}  // namespace nvcuda::wmma

namespace ridge::lab {

namespace wmma = nvcuda::wmma;

template <class T, class... Options> inline constexpr bool is_one_of = (std::is_same_v<T, Options> || ...);

// ---- which fragments there are -------------------------------------------------------------------------------------
template <class T> constexpr bool is_wmma_shape(int m, int n, int k) {
  if constexpr (std::is_same_v<T, wmma::precision::tf32>) return m == 16 && n == 16 && k == 8;
  else if constexpr (std::is_same_v<T, double>) return m == 8 && n == 8 && k == 4;
  else return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <class Use, class T> constexpr bool has_fragment(int m, int n, int k) {
  if constexpr (!std::is_same_v<Use, wmma::accumulator>)
    return is_one_of<T, __half, __nv_bfloat16, signed char, unsigned char, wmma::precision::tf32, double> &&
           is_wmma_shape<T>(m, n, k);
  else if constexpr (std::is_same_v<T, float>)
    return is_wmma_shape<__half>(m, n, k) || is_wmma_shape<wmma::precision::tf32>(m, n, k);
  else return is_one_of<T, __half, int, double> && is_wmma_shape<T>(m, n, k);
}

template <class T> struct Stored { using type = T; };
template <> struct Stored<wmma::precision::tf32> { using type = float; };

// ---- which lane has which element ----------------------------------------------------------------------------------
// Rows and columns as above: matrix_b is n by k.
template <class Use, int M, int N, int K, class T> struct FragmentMap {
  using Stored = typename lab::Stored<T>::type;
  static constexpr bool sums = std::is_same_v<Use, wmma::accumulator>;
  static constexpr int rows = std::is_same_v<Use, wmma::matrix_b> ? N : M, cols = sums ? N : K;
  static constexpr int piece = sums ? 2 : sizeof(Stored) == 1 ? 4 : sizeof(Stored) == 2 ? 2 : 1;
  static constexpr int different = rows * cols / 32;
  // A fragment of halves has 16 elements on a device, whatever its shape: some are held twice or four times.
  static constexpr int elements = !sums && std::is_same_v<T, __half> ? 16 : different;

  static_assert(rows % 8 == 0 && cols % (4 * piece) == 0);
  // The first element of piece p of a lane.
  static constexpr int row(int lane, int p) { return p % (rows / 8) * 8 + lane / 4; }
  static constexpr int col(int lane, int p) { return (p / (rows / 8) * 4 + lane % 4) * piece; }
  // The lane that has an element of a row, and where.
  static constexpr int lane(int row, int col) { return row % 8 * 4 + col / piece % 4; }
  static constexpr int index(int row, int col) {
    return (col / (4 * piece) * (rows / 8) + row / 8) * piece + col % piece;
  }
};

}  // namespace ridge::lab

namespace nvcuda::wmma {

template <class Use, int M, int N, int K, class T, class Layout = void> class fragment {
  static_assert(ridge::lab::has_fragment<Use, T>(M, N, K),
                "ridge lab: wmma has no fragment of this type and shape (4-bit and 1-bit ones are not supported)");
  static_assert(std::is_same_v<Use, accumulator> == std::is_void_v<Layout>,
                "matrix_a and matrix_b have a layout, an accumulator has none");

 public:
  using element_type = T;
  using storage_element_type = typename ridge::lab::Stored<T>::type;
  using Map = ridge::lab::FragmentMap<Use, M, N, K, T>;
  enum { num_elements = Map::elements, num_storage_elements = Map::elements };

  storage_element_type x[num_elements];
};

// Rounds to TF32, half-way away from zero.
inline float __float_to_tf32(float value) {
  constexpr unsigned infinity = 0x7f800000, cut = 13;
  unsigned bits = std::bit_cast<unsigned>(value);
  if ((bits & infinity) != infinity) bits = (bits + (1u << (cut - 1))) >> cut << cut;
  return std::bit_cast<float>(bits);
}

}  // namespace nvcuda::wmma

namespace ridge::lab {

using where = simt::detail::where;

inline int wmma_lane() { return simt::thread_rank() % 32; }

// The warp's lanes must all be there.
inline void meet_in_wmma(where at) {
  if (static_cast<unsigned>(simt::detail::ballot(~0u, true, at)) != ~0u)
    throw std::runtime_error("wmma: a matrix function needs all 32 lanes of the warp; some have returned");
}

// Calls move(x + i, p, n) for n neighbours in memory at a time.
template <class Map, class T, class P, class Move>
void each_piece(T* x, P* p, unsigned stride, bool rows_contiguous, where at, Move move) {
  constexpr std::size_t alignment = sizeof(T) == 1 ? 8 : 16;  // what is tightly packed is allowed
  if (reinterpret_cast<std::uintptr_t>(p) % alignment != 0) simt::detail::misaligned(p, alignment, at);
  if (stride * sizeof(T) % alignment != 0)
    throw std::runtime_error("wmma: the stride of a matrix must be a multiple of 16 bytes (8 for bytes)");
  const int lane = wmma_lane();
  for (int i = 0; i < Map::elements; i += Map::piece) {
    const auto row = static_cast<std::size_t>(Map::row(lane, i % Map::different / Map::piece));
    const auto col = static_cast<std::size_t>(Map::col(lane, i % Map::different / Map::piece));
    if (rows_contiguous) {
      move.template operator()<Map::piece>(x + i, p + row * stride + col);
    } else {
      for (std::size_t k = 0; k < Map::piece; ++k) move.template operator()<1>(x + i + k, p + (col + k) * stride + row);
    }
  }
}

template <class Fragment, class T>
void load_fragment(Fragment& f, const T* p, unsigned stride, bool rows_contiguous, where at) {
  meet_in_wmma(at);
  each_piece<typename Fragment::Map>(f.x, p, stride, rows_contiguous, at, []<int N>(T* x, const T* from) {
    std::memcpy(x, __builtin_assume_aligned(from, N * sizeof(T)), N * sizeof(T));
  });
}

}  // namespace ridge::lab

namespace nvcuda::wmma {

template <class Use, int M, int N, int K, class T, class Layout>
void fill_fragment(fragment<Use, M, N, K, T, Layout>& f,
                   const std::type_identity_t<typename ridge::lab::Stored<T>::type>& value) {
  for (auto& x : f.x) x = value;
}

// ---- memory --------------------------------------------------------------------------------------------------------
template <class Use, int M, int N, int K, class T, class Layout>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const typename ridge::lab::Stored<T>::type* p,
                      unsigned stride, ridge::lab::where at = ridge::lab::where::current()) {
  static_assert(!std::is_same_v<Use, accumulator>, "an accumulator is loaded with a layout");
  constexpr bool row = std::is_same_v<Layout, row_major>, transposed = std::is_same_v<Use, matrix_b>;
  ridge::lab::load_fragment(f, p, stride, row != transposed, at);
}
template <int M, int N, int K, class T>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* p, unsigned stride, layout_t layout,
                      ridge::lab::where at = ridge::lab::where::current()) {
  ridge::lab::load_fragment(f, p, stride, layout == mem_row_major, at);
}
template <int M, int N, int K, class T>
void store_matrix_sync(T* p, const fragment<accumulator, M, N, K, T>& f, unsigned stride, layout_t layout,
                       ridge::lab::where at = ridge::lab::where::current()) {
  ridge::lab::meet_in_wmma(at);
  ridge::lab::each_piece<typename fragment<accumulator, M, N, K, T>::Map>(
      f.x, p, stride, layout == mem_row_major, at,
      []<int C>(const T* x, T* to) { std::memcpy(__builtin_assume_aligned(to, C * sizeof(T)), x, C * sizeof(T)); });
}

}  // namespace nvcuda::wmma

namespace ridge::lab {

// ---- products ------------------------------------------------------------------------------------------------------
// Hidden from ThreadSanitizer and the trace: on a device these exchanges are not accesses of memory.

// Where the lanes of each warp of this OS thread's block have their fragments.
struct ShownFragments {
  const void* a[32];
  const void* b[32];
};
inline ShownFragments& shown_fragments() {
  static thread_local ShownFragments all[32];
  return all[simt::thread_rank() / 32];
}

// The type in which a device multiplies exactly, and adds.
template <class T>
using Product = std::conditional_t<std::is_same_v<T, double>, double, std::conditional_t<sizeof(T) == 1, int, float>>;

// tf32: the tensor cores do not look at the lower bits.
template <class T> Product<T> operand(const T& x) { return static_cast<Product<T>>(x); }
inline float tf32_operand(float x) { return std::bit_cast<float>(std::bit_cast<unsigned>(x) & ~0x1fffu); }

// Row `row` of the matrix that the warp's lanes hold.
template <class Fragment, class To, std::size_t K>
__attribute__((no_sanitize("thread"), no_sanitize_coverage)) void gather_row(To (&to)[K],
                                                                             const void* const (&lanes)[32], int row) {
  using Map = typename Fragment::Map;
  for (int k = 0; k < Map::cols; ++k) {
    const auto& x = static_cast<const Fragment*>(lanes[Map::lane(row, k)])->x[Map::index(row, k)];
    if constexpr (std::is_same_v<typename Fragment::element_type, wmma::precision::tf32>) to[k] = tf32_operand(x);
    else to[k] = operand(x);
  }
}

// sum += a b, wrapping for integers, or saturating.
template <class To, class T, std::size_t K, class From>
__attribute__((no_sanitize("thread"), no_sanitize_coverage)) To dot(const T (&a)[K], const T (&b)[K], const From& start,
                                                                    bool saturate) {
  if constexpr (std::is_same_v<To, int>) {
    long long sum = start;
    for (std::size_t k = 0; k < K; ++k) sum += a[k] * b[k];
    constexpr long long least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    return static_cast<int>(saturate ? std::clamp(sum, least, most) : sum);
  } else if constexpr (std::is_same_v<To, double>) {
    double sum = start;
    for (std::size_t k = 0; k < K; ++k) sum = std::fma(a[k], b[k], sum);
    return sum;
  } else {
    float sum = static_cast<float>(start);
    for (std::size_t k = 0; k < K; ++k) sum += a[k] * b[k];
    if (saturate) {  // to finite values
      const float most = std::is_same_v<To, float> ? std::numeric_limits<float>::max() : 65504.0f;
      sum = std::isnan(sum) ? 0.0f : std::clamp(sum, -most, most);
    }
    return To(sum);
  }
}

}  // namespace ridge::lab

namespace nvcuda::wmma {

// d = a b + c; products are exact, and a sum of halves is rounded once.
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class D, class C>
__attribute__((no_sanitize("thread"), no_sanitize_coverage)) void mma_sync(
    fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
    const fragment<matrix_b, M, N, K, T, LayoutB>& b, const fragment<accumulator, M, N, K, C>& c, bool satf = false,
    ridge::lab::where at = ridge::lab::where::current()) {
  using A = fragment<matrix_a, M, N, K, T, LayoutA>;
  using B = fragment<matrix_b, M, N, K, T, LayoutB>;
  using Map = typename fragment<accumulator, M, N, K, D>::Map;
  using Storage = typename A::storage_element_type;
  using Product = ridge::lab::Product<Storage>;
  static_assert(std::is_same_v<D, float> || std::is_same_v<D, C> || std::is_same_v<D, __half>);

  // A lane has pairs of neighbouring sums: whole rows of a, and columns of b.
  constexpr int blocks_down = M / 8, blocks_right = N / 8;
  Product rows[blocks_down][K], cols[blocks_right * 2][K];
  const int lane = ridge::lab::wmma_lane();
  auto& shown = ridge::lab::shown_fragments();
  shown.a[lane] = &a;
  shown.b[lane] = &b;
  ridge::lab::meet_in_wmma(at);
  for (int i = 0; i < blocks_down; ++i) ridge::lab::gather_row<A>(rows[i], shown.a, Map::row(lane, i));
  for (int i = 0; i < blocks_right * 2; ++i)
    ridge::lab::gather_row<B>(cols[i], shown.b, Map::col(lane, i / 2 * blocks_down) + i % 2);
  ridge::simt::detail::sync_warp(~0u, at);  // only now may a lane change its fragments

  for (int i = 0; i < Map::elements; ++i) {
    const int block = i / 2;
    d.x[i] = ridge::lab::dot<D>(rows[block % blocks_down], cols[block / blocks_down * 2 + i % 2], c.x[i], satf);
  }
}

}  // namespace nvcuda::wmma
