// dx, dgamma and dbeta in one pass over x and dy: a persistent block goes through rows, and its lanes keep the sums of
// their columns.
//
// x and dy of the next rows are loaded to shared memory meanwhile: each lane copies what it will read itself, so that
// no lane waits for others' copies, or the copy engine loads whole rows (sm90_fused.cuh). An iteration takes the sums
// of one row and finishes the row before it, so there is one barrier for each row.
//
// A warp's sums are of x less a base of its own, the mean of some of its elements. This is near the row's mean, so that
// little is lost when the mean's part is taken out of the sums again (statistics.cuh).
#pragma once
#include <ridge/norm/launch.cuh>
#include <ridge/norm/statistics.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/row_vectors.cuh>

#include <bit>

namespace ridge::norm_detail {

// A lane's sums over rows, of dy n and of dy, for the columns of K vectors and of its head or tail element.
template <class T, int K> struct ColumnSums {
  static constexpr int V = tile::vector_elements<T>;
  float gamma[K][V] = {}, beta[K][V] = {}, edge_gamma = 0, edge_beta = 0;
};

// Sums over a part of a row, and their base. The members are in the order in which blocks exchange them, as words.
struct alignas(8) RowSums {
  GradientSums<float> of;
  float base;

  // The same sums relative to another base. elements: how many they are of.
  __device__ __forceinline__ RowSums moved(float to, float elements) const {
    const float apart = base - to, all = elements * apart;
    return {{of.first + all, fmaf(apart, fmaf(2.0f, of.first, all), of.squares), of.g, fmaf(apart, of.g, of.gd)}, to};
  }
};
struct PlusSums {
  __device__ __forceinline__ GradientSums<float> operator()(const GradientSums<float>& a,
                                                            const GradientSums<float>& b) const {
    return {a.first + b.first, a.squares + b.squares, a.g + b.g, a.gd + b.gd};
  }
};

// Sums over all lanes, one of the four for each quarter of the lanes: a lane goes on with two of the four sums after
// the first exchange, and with one after the second.
template <int Size>
__device__ __forceinline__ float sum_of_quarter(const GradientSums<float>& s, const simt::tile<Size>& lanes) {
  const bool upper = (lanes.rank() & Size / 2) != 0, odd = (lanes.rank() & Size / 4) != 0;
  const float first = (upper ? s.g : s.first) + lanes.shfl_xor(upper ? s.first : s.g, Size / 2);
  const float second = (upper ? s.gd : s.squares) + lanes.shfl_xor(upper ? s.squares : s.gd, Size / 2);
  float sum = (odd ? second : first) + lanes.shfl_xor(odd ? first : second, Size / 4);
#pragma unroll
  for (int distance = Size / 8; distance > 0; distance /= 2) sum += lanes.shfl_xor(sum, distance);
  return sum;
}

// The sums of all parts merged, in every lane. Lane l has those of part l % Parts.
template <int Parts, class Lanes>
__device__ __forceinline__ RowSums together(const RowSums& part, float elements, const Lanes& lanes) {
  if constexpr (Parts == 1) return part;
  RowSums s = part.moved(lanes.shfl(part.base, 0), elements);
#pragma unroll
  for (int distance = Parts / 2; distance > 0; distance /= 2) s.of = PlusSums()(s.of, lanes.shfl_xor(s.of, distance));
  return s;
}

// dx of an element: g scale - mean_g scale - n mean_gn scale, where n is x normalised and g = dy gamma.
struct ElementGradient {
  Statistics<float> normalised;
  float of_n, constant;
  ElementGradient() = default;
  __device__ __forceinline__ ElementGradient(const RowSums& s, float per_column, float eps, bool rms)
      : normalised(statistics_of(s.base, rms ? 0.0f : s.of.first * per_column, s.of.squares * per_column, eps)) {
    const float scale = normalised.scale, gn = fmaf(s.of.gd, scale, s.of.g * normalised.offset);
    of_n = -gn * per_column * scale;
    constant = rms ? 0.0f : -s.of.g * per_column * scale;
  }
  __device__ __forceinline__ explicit ElementGradient(const RowGradient<float>& r)
      : normalised(r.normalised), of_n(-r.mean_gn * normalised.scale), constant(-r.mean_g * normalised.scale) {}
  __device__ __forceinline__ float operator()(float n, float g) const {
    return fmaf(g, normalised.scale, fmaf(n, of_n, constant));
  }
};

// Waits for all but the latest `pending` groups of this thread's copies.
__device__ __forceinline__ void wait_copies_but(int pending) {
  static_assert(FusedRows::most_stages == 4);
  if (pending == 0) tile::wait_copies<0>();
  else if (pending == 1) tile::wait_copies<1>();
  else tile::wait_copies<2>();
}

// Loads rows to shared memory: each lane copies what it will read itself. By the copy engine: sm90_fused.cuh.
class LaneCopies {
 public:
  static constexpr bool by_lanes = true;  // a lane's part of a slot is free once it has read it, without a barrier
  struct Barriers {};
  __device__ __forceinline__ LaneCopies(Barriers&, int, int) {}
  // Copies this lane's vectors of x and dy into its places of the slot. x, dy: at its first vector.
  template <int K, class Vectors, class T>
  __device__ __forceinline__ void load(const Vectors& vectors, tile::Packed* slot, int row_vectors, const T* x,
                                       const T* dy) {
    constexpr int lanes = Vectors::lanes_of_row, V = tile::vector_elements<T>;
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (vectors.has(k)) {
        tile::copy_async<vector_bytes>(slot + k * lanes, x + k * lanes * V);
        tile::copy_async<vector_bytes>(slot + row_vectors + k * lanes, dy + k * lanes * V);
      }
  }
  __device__ __forceinline__ void end_group() const { tile::commit_copies(); }
  // Waits for the row after the one that is being worked on.
  __device__ __forceinline__ void await(Barriers&, int, int stages) const { wait_copies_but(stages - 2); }
  __device__ __forceinline__ void finish() const { tile::wait_for_copies(); }
};

// A block's part of a row: elements [begin, end).
struct ColumnSlice {
  std::int64_t begin, end;
};

// A row of one block. A row of a cluster's blocks: sm90_fused.cuh.
struct OneBlock {
  static constexpr bool available = true;
  template <class T> using Copies = LaneCopies;
  struct ExchangeBuffer {};
  __device__ __forceinline__ OneBlock(const FusedRows&, ExchangeBuffer&) {}
  __device__ __forceinline__ void start() const { __syncthreads(); }
  __device__ __forceinline__ void finish() const {}
  __device__ __forceinline__ std::int64_t index() const { return blockIdx.x; }
  __device__ __forceinline__ std::int64_t count() const { return gridDim.x; }
  template <class T> __device__ __forceinline__ ColumnSlice slice(const T*, std::int64_t cols) { return {0, cols}; }
  // Sends the sums of this block's slice to the others; returns those of the whole row.
  __device__ __forceinline__ void send(const RowSums&) {}
  __device__ __forceinline__ RowSums receive(const RowSums& own) { return own; }
};

// Rows ordered by alignment offset, the distance of their start from a 16-byte boundary: row r has offset number
// r % every. Block, or cluster, `index` of `count` has a contiguous share of that order; a lane's columns stay the same
// as long as the offset does. If there is one offset, a share is every count-th row, so that blocks go through memory
// side by side. Precondition: a share has fewer than 2^31 rows.
class RowShare {
 public:
  __device__ __forceinline__ RowShare(std::int64_t rows, int every, std::int64_t index, std::int64_t count)
      : offsets(every), longer(rows % every), per_offset(rows / every) {
    if (every == 1) {
      begin = index;
      end = index + (rows - index + count - 1) / count;
      first_offset = last_offset = 0;
      return;
    }
    begin = rows * index / count;
    end = rows * (index + 1) / count;
    first_offset = index > 0 ? offset_at(begin - 1) : 0;  // so that every slice of sums is written, if only with zeros
    last_offset = offset_at(end - 1);
  }
  int first_offset, last_offset;

  // How many of the share's rows have an offset; they are FusedRows::apart rows apart.
  __device__ __forceinline__ int size(int offset) const {
    if (offsets == 1) return static_cast<int>(end - begin);
    return static_cast<int>(::min(end, start(offset + 1)) - ::max(begin, start(offset)));
  }
  __device__ __forceinline__ std::int64_t first_row(int offset) const {
    if (offsets == 1) return begin;
    return offset + (::max(begin, start(offset)) - start(offset)) * offsets;
  }

 private:
  int offsets;
  std::int64_t longer, per_offset;  // rows of an offset; the first `longer` offsets have one more
  std::int64_t begin, end;
  __device__ __forceinline__ std::int64_t start(int offset) const {
    return offset * per_offset + ::min(std::int64_t{offset}, longer);
  }
  __device__ __forceinline__ int offset_at(std::int64_t place) const {
    const std::int64_t in_longer = longer * (per_offset + 1);
    return static_cast<int>(place < in_longer ? place / (per_offset + 1) : longer + (place - in_longer) / per_offset);
  }
};

// Puts gamma of a slice of the row, whose `vectors` begin after `head` elements, into shared memory as floats: ones
// if it is not given, zeros after them.   given: [head + vectors of elements] or null;
//                                         gamma: [words of a vector][row_vectors]
template <int Threads, class T>
__device__ __forceinline__ void put_gamma(const T* given, int head, int vectors, tile::Packed* gamma, int row_vectors) {
  constexpr int V = tile::vector_elements<T>;
  for (int u = static_cast<int>(threadIdx.x); u < row_vectors; u += Threads) {
    tile::Packed vector{};
    if (u < vectors) vector = given ? tile::load_packed_anywhere(given + head + u * V) : tile::packed_fill<T>(1.0f);
    const tile::Floats<T> floats = tile::unpack_floats<T>(vector);
#pragma unroll
    for (int w = 0; w < V / tile::vector_words; ++w)
      memcpy(gamma + w * row_vectors + u, &floats[w * tile::vector_words], sizeof(tile::Packed));
  }
}

// An element of a row that is in no whole vector, unconverted: so nothing waits for its load until it is used.
template <class T> struct EdgeElement { T x = T(0.0f), dy = T(0.0f); };

// dx, and the sums over rows, of dy n and of dy. Block (or cluster) b puts those of its rows to slice b + o for each
// alignment offset o of these, and for the offset before if its share begins with the first row of an offset: so every
// slice is written once.
//
// Policy::config: threads, the `rows` they have at a time, vectors of a lane.
// Preconditions: rows of all tensors are co-aligned and evenly spaced; gamma is contiguous; `shape` is
// fused::shape_of(config, problem, shared memory, grid), with stages; there are no more blocks, or clusters, than rows.
template <class Policy, int Warp, class T, class Blocks = OneBlock>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    norm_fused_gradient(Backward<T> a, SumsOutput<T> output, FusedRows shape) {
  if constexpr (!Blocks::available) return;  // code for another architecture, which nothing launches
  constexpr Config c = Policy::config;
  constexpr int K = c.in_registers, V = tile::vector_elements<T>;
  constexpr int threads = c.threads, rows = c.rows, lanes = threads / rows;
  constexpr int team = lanes < Warp ? lanes : Warp, teams = lanes / team;  // of a row; a team's lanes need no barrier
  using Packed = tile::Packed;
  using Floats = tile::Floats<T>;
  constexpr int parts = static_cast<int>(std::bit_ceil(static_cast<unsigned>(teams)));
  __shared__ RowSums partial[2][rows][parts];
  __shared__ float sizes[rows][parts], samples[rows][parts];  // a part's elements; 1 over those that its base is of
  using Copies = typename Blocks::template Copies<T>;
  __shared__ typename Blocks::ExchangeBuffer exchange_buffer;
  __shared__ typename Copies::Barriers barriers[rows];
  static_assert(sizeof partial + sizeof sizes + sizeof samples + sizeof exchange_buffer + sizeof barriers <=
                FusedRows::scratch_bytes);
  const int lane = static_cast<int>(threadIdx.x) % lanes, group = static_cast<int>(threadIdx.x) / lanes;
  const int stages = shape.stages, row_vectors = shape.row_vectors;
  const simt::tile<team> mates;
  const float per_column = 1.0f / static_cast<float>(a.cols);

  // [stages][rows][x, dy][row_vectors], gamma [gamma_words][row_vectors], as floats
  constexpr int gamma_words = V / tile::vector_words;
  Packed* shared = simt::dynamic_shared<Packed>();
  const auto slot_of = [&](int stage) { return shared + (stage * rows + group) * 2 * row_vectors + lane; };
  Packed* const gamma = shared + stages * rows * 2 * row_vectors;

  for (int i = static_cast<int>(threadIdx.x); i < rows * parts; i += threads) {  // also parts beyond the teams
    partial[0][i / parts][i % parts] = partial[1][i / parts][i % parts] = RowSums{};
    sizes[i / parts][i % parts] = 0;
  }
  Blocks blocks(shape, exchange_buffer);
  Copies copies(barriers[group], stages, lane);
  blocks.start();
  const RowShare share(a.rows, shape.alignment_offsets, blocks.index(), blocks.count());
#pragma unroll 1
  for (int offset = share.first_offset; offset <= share.last_offset; ++offset) {
    const int count = share.size(offset);
    const std::int64_t first_row = share.first_row(offset);
    // The first row of this offset gives the layout of vectors; it may not exist, so no element is read through it.
    const ColumnSlice slice = blocks.slice(a.x.strided_row(offset), a.cols);
    const tile::RowVectors<T, lanes> vectors(a.x.strided_row(offset) + slice.begin, slice.end - slice.begin, lane);
    const int edge_at = vectors.edge_at;
    // Start of this block's slice, and of this lane's vectors, in row j of the share. Pointers that advance would take
    // registers that are not there, and spills would come from the L2 cache, as shared memory takes all of the L1.
    const auto row_of = [&](const auto& tensor, int j) {
      return tensor.strided_row(first_row + std::int64_t{j} * shape.apart) + slice.begin;
    };
    const auto vectors_of = [&](const auto& tensor, int j) { return row_of(tensor, j) + vectors.at(0); };

    // ---- load: the first rows, zeros where this lane has no vector, and gamma
    // Loads row j of the share into a slot.
    const auto load_row = [&](int stage, int j) {
      if constexpr (Copies::by_lanes) {
        const T *x = vectors_of(a.x, j), *dy = vectors_of(a.dy, j);
        tile::make_opaque(x), tile::make_opaque(dy);  // computed once, not for each vector
        copies.template load<K>(vectors, slot_of(stage), row_vectors, x, dy);
      } else if (lane == 0) {
        copies.load(barriers[group].full[stage], slot_of(stage), row_vectors, vectors.count,
                    row_of(a.x, j) + vectors.head, row_of(a.dy, j) + vectors.head);
      }
    };
    for (int s = 0; s < stages; ++s) {
      Packed* slot = slot_of(s);
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (!vectors.has(k)) slot[k * lanes] = slot[row_vectors + k * lanes] = Packed{};
      if (const int j = group + s * rows; j < count) load_row(s, j);
      copies.end_group();
    }
    const T* given = a.gamma.data ? a.gamma.data + slice.begin : nullptr;
    put_gamma<threads>(given, vectors.head, vectors.count, gamma, row_vectors);
    const float edge_gamma = edge_at >= 0 && given ? float(given[edge_at]) : 1.0f;
    const auto edge_of = [&](int j) {
      EdgeElement<T> e;
      if (edge_at >= 0 && j < count) e = {row_of(a.x, j)[edge_at], row_of(a.dy, j)[edge_at]};
      return e;
    };
    // Calls f(k, x, dy, gamma) for every vector that a lane can have, with zeros for those that this lane does not
    // have: with a branch around them, no vector would be read while another is worked on.
    struct Inputs {
      Packed x, dy, gamma[gamma_words];
    };
    const auto for_vectors = [&](const Packed* slot, auto&& f) {
      const auto load = [&](int k) {
        Inputs u{slot[k * lanes], slot[row_vectors + k * lanes], {}};
#pragma unroll
        for (int w = 0; w < gamma_words; ++w) u.gamma[w] = gamma[w * row_vectors + lane + k * lanes];
        return u;
      };
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const Inputs now = load(k);
        Floats of_gamma;
        memcpy(&of_gamma, now.gamma, sizeof of_gamma);
        f(k, tile::unpack_floats<T>(now.x), tile::unpack_floats<T>(now.dy), of_gamma);
      }
    };

    // ---- compute: a row's sums, over each warp's part of it
    int elements = edge_at >= 0;
#pragma unroll
    for (int k = 0; k < K; ++k) elements += vectors.has(k) ? V : 0;
    elements = mates.reduce(elements, plus<int>);
    const bool of_edges = vectors.count <= lane - mates.rank();  // the warp has no vectors: few columns
    const int sampled = mates.reduce((of_edges ? edge_at >= 0 : vectors.has(0)) ? 1 : 0, plus<int>);
    if (mates.rank() == 0) {
      sizes[group][lane / team] = static_cast<float>(elements);
      samples[group][lane / team] = 1.0f / static_cast<float>(sampled > 0 ? sampled : 1);
    }
    const auto sum_up = [&](int stage, const EdgeElement<T>& edge, RowSums& to) {
      const Packed* slot = slot_of(stage);
      float base = 0;
      if (!a.rms) {
        float sample = 0;
        if (of_edges) sample = float(edge.x);
        else if (vectors.has(0)) sample = tile::unpack_floats<T>(*slot)[0];
        base = mates.reduce(sample, plus<float>) * samples[group][lane / team];
      }
      GradientSums<float> s{0, 0, 0, 0};
      for_vectors(slot, [&](int k, const Floats& x, const Floats& dy, const Floats& of_gamma) {
        const float less = vectors.has(k) ? base : 0.0f;
#pragma unroll
        for (int v = 0; v < V; ++v) s.add(x[v] - less, dy[v] * of_gamma[v]);
      });
      if (edge_at >= 0) s.add(float(edge.x) - base, float(edge.dy) * edge_gamma);
      const float sum = sum_of_quarter<team>(s, mates);
      if (mates.rank() % (team / 4) == 0) (&to.of.first)[mates.rank() / (team / 4)] = sum;
      if (mates.rank() == 0) to.base = base;
    };

    ColumnSums<T, K> sums;
    EdgeElement<T> edge = edge_of(group), next_edge = edge_of(group + rows);
    __syncthreads();  // gamma is there
    if (group < count) {
      copies.await(barriers[group], 0, stages);
      sum_up(0, edge, partial[0][group][lane / team]);
    }

    int stage = 0;
#pragma unroll 1
    for (int j = group; j - group < count; j += rows) {
      __syncthreads();
      const int buffer = j / rows % 2;  // of partial
      const int next_stage = stage + 1 == stages ? 0 : stage + 1, part = mates.rank() % parts;
      const EdgeElement<T> edge_after = edge_of(j + 2 * rows);
      if constexpr (!Copies::by_lanes)  // all threads of the block have read the row before
        if (const int ahead = j + (stages - 1) * rows; j > group && ahead < count)
          load_row(stage == 0 ? stages - 1 : stage - 1, ahead);
      RowSums total = together<parts>(partial[buffer][group][part], sizes[group][part], mates);
      if (j < count) blocks.send(total);
      if (j + rows < count) {
        copies.await(barriers[group], next_stage, stages);
        sum_up(next_stage, next_edge, partial[buffer ^ 1][group][lane / team]);
      }

      // ---- finish
      if (j < count) {
        total = blocks.receive(total);
        ElementGradient gradient(total, per_column, a.eps, a.rms);
        if (!is_ordinary(multiply_add(total.of.squares, per_column, a.eps))) {
          const std::int64_t row = first_row + std::int64_t{j} * shape.apart;
          gradient = ElementGradient(wide_gradient_alone<team>(a.x.strided_row(row), a.dy.strided_row(row),
                                                               a.gamma.data, a.cols, a.eps, a.rms));
        }
        Packed* slot = slot_of(stage);
        T* dx = vectors_of(a.dx, j);
        tile::make_opaque(dx);  // computed once, not for each vector
        const auto finish = [&](auto has_dsum, const T* dsum) {
          for_vectors(slot, [&](int k, const Floats& x, const Floats& dy, const Floats& of_gamma) {
            Floats vector;
#pragma unroll
            for (int v = 0; v < V; ++v) {
              const float n = gradient.normalised(x[v]);
              vector[v] = gradient(n, dy[v] * of_gamma[v]);
              sums.gamma[k][v] = fmaf(dy[v], n, sums.gamma[k][v]);
              sums.beta[k][v] += dy[v];
              // Opaque, or nvcc adds them after all vectors, and keeps every dy until then.
              tile::make_opaque(sums.gamma[k][v]), tile::make_opaque(sums.beta[k][v]);
            }
            if (!vectors.has(k)) return;
            if constexpr (decltype(has_dsum)::value) {
              const Floats added = tile::unpack_floats<T>(tile::load_packed(dsum + k * lanes * V));
#pragma unroll
              for (int v = 0; v < V; ++v) vector[v] += added[v];
            }
            tile::store_packed(dx + k * lanes * V, tile::pack_floats<T>(vector));
          });
        };
        if (a.dsum.data) finish(std::true_type(), vectors_of(a.dsum, j));
        else finish(std::false_type(), nullptr);
        if (edge_at >= 0) {
          const float n = gradient.normalised(float(edge.x)), dy = float(edge.dy);
          const float added = a.dsum.data ? float(row_of(a.dsum, j)[edge_at]) : 0.0f;
          row_of(a.dx, j)[edge_at] = T(gradient(n, dy * edge_gamma) + added);
          sums.edge_gamma = fmaf(dy, n, sums.edge_gamma);
          sums.edge_beta += dy;
        }
        if (const int ahead = j + stages * rows; Copies::by_lanes && ahead < count) load_row(stage, ahead);
      }
      copies.end_group();
      edge = next_edge;
      next_edge = edge_after;
      stage = next_stage;
    }
    copies.finish();

    // ---- sum the block's rows, in order: through shared memory, in place of the slots, so that whole lines of the
    // slice are written. `words` packed floats of each vector, [rows][gamma, beta][words][row_vectors]; then those of
    // edges, [rows][gamma, beta][2 V].
    tile::launch_dependents();
    constexpr int words = V / tile::vector_words;
    const auto place = [&](int of_row, int which, int w) {
      return shared + ((of_row * 2 + which) * words + w) * row_vectors;
    };
    // For 16-bit types, these take the room of two stages, and edges that of gamma.
    static_assert(rows * 4 <= lanes * K, "edges have room");
    float* const edges = reinterpret_cast<float*>(place(rows, 0, 0));
    __syncthreads();  // all have read the last rows
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (vectors.has(k)) {
#pragma unroll
        for (int w = 0; w < words; ++w) {
          memcpy(place(group, 0, w) + k * lanes + lane, &sums.gamma[k][w * tile::vector_words], sizeof(Packed));
          memcpy(place(group, 1, w) + k * lanes + lane, &sums.beta[k][w * tile::vector_words], sizeof(Packed));
        }
      }
    if (edge_at >= 0) {
      edges[(group * 2 + 0) * 2 * V + lane] = sums.edge_gamma;
      edges[(group * 2 + 1) * 2 * V + lane] = sums.edge_beta;
    }
    __syncthreads();
    const auto total = [&](const float* of_first, int apart) {
      float sum = *of_first;
#pragma unroll
      for (int r = 1; r < rows; ++r) sum += of_first[r * apart];
      return sum;
    };
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      const auto put = [&](int column, float sum) {
        output.put(blocks.index() + offset, which, slice.begin + column, a.cols, sum);
      };
      for (int i = static_cast<int>(threadIdx.x); i < vectors.count * V; i += threads) {
        const auto* vector = reinterpret_cast<const float*>(place(0, which, i % V / tile::vector_words) + i / V);
        put(vectors.head + i, total(vector + i % tile::vector_words, 2 * words * row_vectors * tile::vector_words));
      }
      if (group == 0 && edge_at >= 0) put(edge_at, total(edges + which * 2 * V + lane, 2 * 2 * V));
    }
    copies.finish();
    __syncthreads();  // the next offset's rows use the same slots
  }
  blocks.finish();
}

namespace fused {

// Launches rows of one block; rows of clusters: sm90_fused.cu.
template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  const NormPlan& plan = call.plan;
  const FusedRows shape = shape_of(Policy::config, plan.problem, plan.device.smem_optin, plan.grid);
  return simt::launch(launch_config(call, Warp), norm_fused_gradient<Policy, Warp, T>, backward_of<T>(call),
                      sums_output<T>(call), shape);
}

}  // namespace fused
}  // namespace ridge::norm_detail
