// dx, dgamma and dbeta in one pass over x and dy: a block goes through rows, and its lanes keep the sums of their
// columns.
//
// x and dy of the next rows are on their way to shared memory meanwhile; each lane copies what it will read itself, so
// nobody waits for others' copies, or the copy engine brings whole rows (sm90_fused.cuh). Of a row two things are done,
// a turn apart: its sums are taken while the row before it is finished. So there is one barrier for each row.
//
// A warp's sums are of x less a base of its own, the mean of some of its elements: near the row's mean, so that little
// is lost where the mean's part is taken out of them again (statistics.cuh).
#pragma once
#include <ridge/norm/launch.cuh>
#include <ridge/norm/statistics.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/row_units.cuh>

#include <bit>

namespace ridge::norm_detail {

// What a lane sums up over rows: of dy n and of dy, for the columns of K units and of its head or tail element.
template <class T, int K> struct ColumnSums {
  static constexpr int V = tile::unit_elements<T>;
  float gamma[K][V] = {}, beta[K][V] = {}, edge_gamma = 0, edge_beta = 0;
};

// Sums over a part of a row, and what they are relative to. As words, in the order in which they are told to others.
struct alignas(8) RowSums {
  GradientSums<float> of;
  float base;

  // The same relative to another base; of how many elements they are.
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

// The sums of all lanes, one for each quarter of them: the lanes add up two of the four after one exchange,
// one after two.
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

// Of the sums that a lane has of one part each, parts 0 to Parts - 1 in lanes 0 to Parts - 1 and again behind those:
// all together, in every lane.
template <int Parts, class Lanes>
__device__ __forceinline__ RowSums together(const RowSums& part, float elements, const Lanes& lanes) {
  if constexpr (Parts == 1) return part;
  RowSums s = part.moved(lanes.shfl(part.base, 0), elements);
#pragma unroll
  for (int distance = Parts / 2; distance > 0; distance /= 2) s.of = PlusSums()(s.of, lanes.shfl_xor(s.of, distance));
  return s;
}

// dx of an element: g scale - mean_g scale - n mean_gn scale, where n is x normalised, and g = dy gamma.
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

// Who brings rows to shared memory: each lane what it will read itself. The copy engine: sm90_fused.cuh.
class LaneCopies {
 public:
  static constexpr bool by_lanes = true;  // a lane's part of a slot is free once it has read it, and not with a barrier
  struct Barriers {};
  __device__ __forceinline__ LaneCopies(Barriers&, int, int) {}
  // The units of x and of dy that are this lane's, into its places; from its first one on.
  template <int K, class Units, class T>
  __device__ __forceinline__ void bring(const Units& units, tile::Packed* slot, int row_units, const T* x,
                                        const T* dy) {
    constexpr int lanes = Units::lanes_of_row, V = tile::unit_elements<T>;
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) {
        tile::copy_async<vector_bytes>(slot + k * lanes, x + k * lanes * V);
        tile::copy_async<vector_bytes>(slot + row_units + k * lanes, dy + k * lanes * V);
      }
  }
  __device__ __forceinline__ void end_group() const { tile::commit_copies(); }
  // Waits for the row after the one that is worked on.
  __device__ __forceinline__ void await(Barriers&, int, int stages) const { wait_copies_but(stages - 2); }
  __device__ __forceinline__ void finish() const { tile::wait_for_copies(); }
};

// The part of a row that a block has: elements [begin, end).
struct ColumnSlice {
  std::int64_t begin, end;
};

// Who shares a row: one block. Of a cluster's blocks: sm90_fused.cuh.
struct OneBlock {
  template <class T> using Copies = LaneCopies;
  struct Inbox {};
  __device__ __forceinline__ OneBlock(const FusedRows&, Inbox&) {}
  __device__ __forceinline__ void start() const { __syncthreads(); }
  __device__ __forceinline__ void finish() const {}
  __device__ __forceinline__ std::int64_t index() const { return blockIdx.x; }
  __device__ __forceinline__ std::int64_t count() const { return gridDim.x; }
  template <class T> __device__ __forceinline__ ColumnSlice slice(const T*, std::int64_t cols) { return {0, cols}; }
  // Tells the others the sums of this block's slice; gives those of the whole row.
  __device__ __forceinline__ void send(const RowSums&) {}
  __device__ __forceinline__ RowSums receive(const RowSums& own) { return own; }
};

// Rows in the order of the places of a 16-byte unit where they start, those of one place (a phase) after the other; and
// of these the share of block, or cluster, `index` of `count`. A lane's columns stay the same within a phase. Where
// there is one phase, a share is every count-th row, so that blocks go through memory side by side.
// Precondition: a share has fewer than 2^31 rows.
class PhasedRows {
 public:
  __device__ __forceinline__ PhasedRows(std::int64_t rows, int every, std::int64_t index, std::int64_t count)
      : phases(every), longer(rows % every), of_phase(rows / every) {
    if (every == 1) {
      begin = index;
      end = index + (rows - index + count - 1) / count;
      first_phase = last_phase = 0;
      return;
    }
    begin = rows * index / count;
    end = rows * (index + 1) / count;
    first_phase = index > 0 ? phase_at(begin - 1) : 0;  // so that every sum of slices is written, if only by zeros
    last_phase = phase_at(end - 1);
  }
  int first_phase, last_phase;

  // The share's rows of a phase; FusedRows::apart lies between two of them.
  __device__ __forceinline__ int size(int phase) const {
    if (phases == 1) return static_cast<int>(end - begin);
    return static_cast<int>(::min(end, start(phase + 1)) - ::max(begin, start(phase)));
  }
  __device__ __forceinline__ std::int64_t first_row(int phase) const {
    if (phases == 1) return begin;
    return phase + (::max(begin, start(phase)) - start(phase)) * phases;
  }

 private:
  int phases;
  std::int64_t longer, of_phase;  // the first so many phases have a row more
  std::int64_t begin, end;
  __device__ __forceinline__ std::int64_t start(int phase) const {
    return phase * of_phase + ::min(std::int64_t{phase}, longer);
  }
  __device__ __forceinline__ int phase_at(std::int64_t place) const {
    const std::int64_t in_longer = longer * (of_phase + 1);
    return static_cast<int>(place < in_longer ? place / (of_phase + 1) : longer + (place - in_longer) / of_phase);
  }
};

// gamma of a slice of the row, whose `units` begin behind `head` elements, to shared memory as floats: ones where it is
// not given, zeros behind the units.      given: [head + units of elements] or null;
//                                         gamma: [words of a unit][row_units]
template <int Threads, class T>
__device__ __forceinline__ void put_gamma(const T* given, int head, int units, tile::Packed* gamma, int row_units) {
  constexpr int V = tile::unit_elements<T>;
  for (int u = static_cast<int>(threadIdx.x); u < row_units; u += Threads) {
    tile::Packed unit{};
    if (u < units) unit = given ? tile::load_packed_anywhere(given + head + u * V) : tile::packed_fill<T>(1.0f);
    const tile::Floats<T> floats = tile::unpack_floats<T>(unit);
#pragma unroll
    for (int w = 0; w < V / tile::unit_words; ++w)
      memcpy(gamma + w * row_units + u, &floats[w * tile::unit_words], sizeof(tile::Packed));
  }
}

// An element of a row that is in no whole unit, as it is in memory: nothing waits for it where it is loaded.
template <class T> struct EdgeElement { T x = T(0.0f), dy = T(0.0f); };

// slices[s][0][j] = sum of dy n over some of the rows, [s][1][j] of dy. Block (or cluster) b writes slice b + p for
// each phase p of its rows, and for the one before them where they begin with a phase: so every slice is written once.
//
// Policy::config: threads, the `rows` they have at a time, units of a lane.
// Preconditions: rows of all tensors are co-aligned and evenly spaced; gamma is contiguous; `shape` is
// fused::shape_of(config, problem, shared memory, grid), with stages; there are no more blocks, or clusters, than rows.
template <class Policy, int Warp, class T, class Blocks = OneBlock>
__global__ void __launch_bounds__(Policy::config.threads, 1)
    norm_fused_gradient(Backward<T> a, float* slices, FusedRows shape) {
  constexpr Config c = Policy::config;
  constexpr int K = c.in_registers, V = tile::unit_elements<T>;
  constexpr int threads = c.threads, rows = c.rows, lanes = threads / rows;
  constexpr int team = lanes < Warp ? lanes : Warp, teams = lanes / team;  // of a row: lanes that need no barrier
  using Packed = tile::Packed;
  using Floats = tile::Floats<T>;
  constexpr int parts = static_cast<int>(std::bit_ceil(static_cast<unsigned>(teams)));
  __shared__ RowSums partial[2][rows][parts];
  __shared__ float sizes[rows][parts], samples[rows][parts];  // elements that they are of, and that their base is of
  using Copies = typename Blocks::template Copies<T>;
  __shared__ typename Blocks::Inbox inbox;
  __shared__ typename Copies::Barriers barriers[rows];
  static_assert(sizeof partial + sizeof sizes + sizeof samples + sizeof inbox + sizeof barriers <=
                FusedRows::scratch_bytes);
  const int lane = static_cast<int>(threadIdx.x) % lanes, group = static_cast<int>(threadIdx.x) / lanes;
  const int stages = shape.stages, row_units = shape.row_vectors;
  const simt::tile<team> mates;
  const float per_column = 1.0f / static_cast<float>(a.cols);

  // [stages][rows][x, dy][row_units], gamma [gamma_words][row_units], as floats
  constexpr int gamma_words = V / tile::unit_words;
  Packed* shared = simt::dynamic_shared<Packed>();
  const auto slot_of = [&](int stage) { return shared + (stage * rows + group) * 2 * row_units + lane; };
  Packed* const gamma = shared + stages * rows * 2 * row_units;

  for (int i = static_cast<int>(threadIdx.x); i < rows * parts; i += threads) {  // also of those that there are not
    partial[0][i / parts][i % parts] = partial[1][i / parts][i % parts] = RowSums{};
    sizes[i / parts][i % parts] = 0;
  }
  Blocks blocks(shape, inbox);
  Copies copies(barriers[group], stages, lane);
  blocks.start();
  const PhasedRows share(a.rows, shape.phases, blocks.index(), blocks.count());
#pragma unroll 1
  for (int phase = share.first_phase; phase <= share.last_phase; ++phase) {
    const int count = share.size(phase);
    const std::int64_t first_row = share.first_row(phase);
    // No element is read through this row where there is none: it says where units lie.
    const ColumnSlice slice = blocks.slice(a.x.even_row(phase), a.cols);
    const tile::RowUnits<T, lanes> units(a.x.even_row(phase) + slice.begin, slice.end - slice.begin, lane);
    const int edge_at = units.edge_at;
    // Of row j of the share: where this block's slice begins, and this lane's units. Pointers that move along would
    // take registers that are not there; and what is spilled comes from the L2 cache, as shared memory leaves no other.
    const auto row_of = [&](const auto& tensor, int j) {
      return tensor.even_row(first_row + std::int64_t{j} * shape.apart) + slice.begin;
    };
    const auto units_of = [&](const auto& tensor, int j) { return row_of(tensor, j) + units.at(0); };

    // ---- load: the first rows, zeros where this lane has no unit, and gamma
    // Row j of the share into a slot.
    const auto bring = [&](int stage, int j) {
      if constexpr (Copies::by_lanes) {
        const T *x = units_of(a.x, j), *dy = units_of(a.dy, j);
        tile::make_opaque(x), tile::make_opaque(dy);  // computed once, and not for each unit again
        copies.template bring<K>(units, slot_of(stage), row_units, x, dy);
      } else if (lane == 0) {
        copies.bring(barriers[group].full[stage], slot_of(stage), row_units, units.units, row_of(a.x, j) + units.head,
                     row_of(a.dy, j) + units.head);
      }
    };
    for (int s = 0; s < stages; ++s) {
      Packed* slot = slot_of(s);
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (!units.has(k)) slot[k * lanes] = slot[row_units + k * lanes] = Packed{};
      if (const int j = group + s * rows; j < count) bring(s, j);
      copies.end_group();
    }
    const T* given = a.gamma.data ? a.gamma.data + slice.begin : nullptr;
    put_gamma<threads>(given, units.head, units.units, gamma, row_units);
    const float edge_gamma = edge_at >= 0 && given ? float(given[edge_at]) : 1.0f;
    const auto edge_of = [&](int j) {
      EdgeElement<T> e;
      if (edge_at >= 0 && j < count) e = {row_of(a.x, j)[edge_at], row_of(a.dy, j)[edge_at]};
      return e;
    };
    // Calls f(k, x, dy, gamma) for every unit that a lane can have, with zeros for those that this one has not: behind
    // a branch, no unit would be read while another is worked on.
    struct Units {
      Packed x, dy, gamma[gamma_words];
    };
    const auto for_units = [&](const Packed* slot, auto&& f) {
      const auto load = [&](int k) {
        Units u{slot[k * lanes], slot[row_units + k * lanes], {}};
#pragma unroll
        for (int w = 0; w < gamma_words; ++w) u.gamma[w] = gamma[w * row_units + lane + k * lanes];
        return u;
      };
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const Units now = load(k);
        Floats of_gamma;
        memcpy(&of_gamma, now.gamma, sizeof of_gamma);
        f(k, tile::unpack_floats<T>(now.x), tile::unpack_floats<T>(now.dy), of_gamma);
      }
    };

    // ---- compute: a row's sums, of each warp's part of it
    int elements = edge_at >= 0;
#pragma unroll
    for (int k = 0; k < K; ++k) elements += units.has(k) ? V : 0;
    elements = mates.reduce(elements, plus<int>);
    const bool of_edges = units.units <= lane - mates.rank();  // the warp has no units: few columns
    const int sampled = mates.reduce((of_edges ? edge_at >= 0 : units.has(0)) ? 1 : 0, plus<int>);
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
        else if (units.has(0)) sample = tile::unpack_floats<T>(*slot)[0];
        base = mates.reduce(sample, plus<float>) * samples[group][lane / team];
      }
      GradientSums<float> s{0, 0, 0, 0};
      for_units(slot, [&](int k, const Floats& x, const Floats& dy, const Floats& of_gamma) {
        const float less = units.has(k) ? base : 0.0f;
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
      const int turn = j / rows % 2;  // of two places for partial sums
      const int next_stage = stage + 1 == stages ? 0 : stage + 1, part = mates.rank() % parts;
      const EdgeElement<T> edge_after = edge_of(j + 2 * rows);
      if constexpr (!Copies::by_lanes)  // all of the block have read the row before
        if (const int ahead = j + (stages - 1) * rows; j > group && ahead < count)
          bring(stage == 0 ? stages - 1 : stage - 1, ahead);
      RowSums total = together<parts>(partial[turn][group][part], sizes[group][part], mates);
      if (j < count) blocks.send(total);
      if (j + rows < count) {
        copies.await(barriers[group], next_stage, stages);
        sum_up(next_stage, next_edge, partial[turn ^ 1][group][lane / team]);
      }

      // ---- finish
      if (j < count) {
        total = blocks.receive(total);
        ElementGradient gradient(total, per_column, a.eps, a.rms);
        if (!is_ordinary(multiply_add(total.of.squares, per_column, a.eps))) {
          const std::int64_t row = first_row + std::int64_t{j} * shape.apart;
          gradient = ElementGradient(
              wide_gradient_alone<team>(a.x.even_row(row), a.dy.even_row(row), a.gamma.data, a.cols, a.eps, a.rms));
        }
        Packed* slot = slot_of(stage);
        T* dx = units_of(a.dx, j);
        tile::make_opaque(dx);  // computed once, and not for each unit again
        const auto finish = [&](auto has_dsum, const T* dsum) {
          for_units(slot, [&](int k, const Floats& x, const Floats& dy, const Floats& of_gamma) {
            Floats unit;
#pragma unroll
            for (int v = 0; v < V; ++v) {
              const float n = gradient.normalised(x[v]);
              unit[v] = gradient(n, dy[v] * of_gamma[v]);
              sums.gamma[k][v] = fmaf(dy[v], n, sums.gamma[k][v]);
              sums.beta[k][v] += dy[v];
              // Or they are added behind all units, and every dy kept until then.
              tile::make_opaque(sums.gamma[k][v]), tile::make_opaque(sums.beta[k][v]);
            }
            if (!units.has(k)) return;
            if constexpr (decltype(has_dsum)::value) {
              const Floats added = tile::unpack_floats<T>(tile::load_packed(dsum + k * lanes * V));
#pragma unroll
              for (int v = 0; v < V; ++v) unit[v] += added[v];
            }
            tile::store_packed(dx + k * lanes * V, tile::pack_floats<T>(unit));
          });
        };
        if (a.dsum.data) finish(std::true_type(), units_of(a.dsum, j));
        else finish(std::false_type(), nullptr);
        if (edge_at >= 0) {
          const float n = gradient.normalised(float(edge.x)), dy = float(edge.dy);
          const float added = a.dsum.data ? float(row_of(a.dsum, j)[edge_at]) : 0.0f;
          row_of(a.dx, j)[edge_at] = T(gradient(n, dy * edge_gamma) + added);
          sums.edge_gamma = fmaf(dy, n, sums.edge_gamma);
          sums.edge_beta += dy;
        }
        if (const int ahead = j + stages * rows; Copies::by_lanes && ahead < count) bring(stage, ahead);
      }
      copies.end_group();
      edge = next_edge;
      next_edge = edge_after;
      stage = next_stage;
    }
    copies.finish();

    // ---- sums of the block's rows, one after the other: through shared memory, where rows ahead were, so that whole
    // lines of the slice are written. As `words` packed floats of each unit, [rows][gamma, beta][words][row_units];
    // then those of edges, [rows][gamma, beta][2 V].
    tile::let_next_begin();
    constexpr int words = V / tile::unit_words;
    const auto place = [&](int of_row, int which, int w) {
      return shared + ((of_row * 2 + which) * words + w) * row_units;
    };
    // Of 16 bits these take the room of two stages, and edges lie in gamma's.
    static_assert(rows * 4 <= lanes * K, "edges have room");
    float* const edges = reinterpret_cast<float*>(place(rows, 0, 0));
    __syncthreads();  // all have read the last rows
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (units.has(k)) {
#pragma unroll
        for (int w = 0; w < words; ++w) {
          memcpy(place(group, 0, w) + k * lanes + lane, &sums.gamma[k][w * tile::unit_words], sizeof(Packed));
          memcpy(place(group, 1, w) + k * lanes + lane, &sums.beta[k][w * tile::unit_words], sizeof(Packed));
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
      float* to = slices + ((blocks.index() + phase) * 2 + which) * a.cols + slice.begin;
      for (int i = static_cast<int>(threadIdx.x); i < units.units * V; i += threads) {
        const auto* unit = reinterpret_cast<const float*>(place(0, which, i % V / tile::unit_words) + i / V);
        to[units.head + i] = total(unit + i % tile::unit_words, 2 * words * row_units * tile::unit_words);
      }
      if (group == 0 && edge_at >= 0) to[edge_at] = total(edges + which * 2 * V + lane, 2 * 2 * V);
    }
    copies.finish();
    __syncthreads();  // the next phase's rows go to the same places
  }
  blocks.finish();
}

namespace fused {

// Of one block's rows; clusters': sm90_fused.cu.
template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  const NormPlan& plan = call.plan;
  const FusedRows shape = shape_of(Policy::config, plan.problem, plan.device.smem_optin, plan.grid);
  return simt::launch(launch_config(call, Warp), norm_fused_gradient<Policy, Warp, T>, backward_of<T>(call),
                      slices_of_sums<T>(call), shape);
}

}  // namespace fused
}  // namespace ridge::norm_detail
