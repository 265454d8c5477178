// Hopper: dx, dgamma and dbeta of rows of 16-bit elements in one pass, by specialized warps. A producer warp loads
// rows. Of the consumer warps, some take the sums of a row, others finish the rows before it and keep the sums of their
// columns, and one combines the sums of a row's blocks. So no warp that works on elements waits for a reduction or for
// another block: each of these has warps of its own.
//
// The copy engine loads rows to slots in shared memory. Each slot has a barrier for each state of its row: it is loaded
// (`full`), its sums are sent to the cluster's blocks (`sent`), dx's coefficients are known (`known`), and all have
// read it (`empty`). Blocks exchange words with their number, as tile/sm90/row_ring.cuh does.
#pragma once
#include <ridge/norm/fused.cuh>
#include <ridge/tile/l2_prefetch.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

namespace ridge::norm_detail {

// slices: as in norm_fused_gradient().
//
// Policy::config: `threads` that finish rows, with `in_registers` vectors of a row each, and `summing` threads that sum
// rows; two more warps combine and load.
// Preconditions: those of norm_fused_gradient(), with specialized::shape_of(config, problem, shared memory, grid) as
// the shape; no dsum.
template <class Policy, class T>
__global__ void __launch_bounds__(specialized::threads_of(Policy::config), 1)
    norm_specialized_gradient(Backward<T> a, float* slices, const __grid_constant__ SpecializedRows shape) {
  if constexpr (tile::sm90::available) {
    namespace sm90 = tile::sm90;
    using tile::Packed;
    using Floats = tile::Floats<T>;
    constexpr Config c = Policy::config;
    constexpr int warp = 32, K = c.in_registers, V = tile::vector_elements<T>, threads = specialized::threads_of(c);
    constexpr int finishers = c.threads / warp, summers = c.summing / warp;
    constexpr int combiner = finishers + summers;  // the warp after those; the last one loads rows
    constexpr int words = V / tile::vector_words;  // packed floats of a vector
    constexpr int exchange_words = SpecializedRows::exchange_slot_bytes / 2 / tile::word_bytes;  // of RowSums
    static_assert(sizeof(T) == 2 && (summers & (summers - 1)) == 0);
    struct ExchangeSlot {
      alignas(8) unsigned word[exchange_words][2];  // a word, and its number
    };
    static_assert(sizeof(ExchangeSlot) == SpecializedRows::exchange_slot_bytes);
    struct SlotState {
      sm90::Barrier full, sent, known, empty;
      alignas(vector_bytes) ElementGradient gradient;
    };
    __shared__ SlotState slots[SpecializedRows::most_stages];
    __shared__ RowSums partial[2][summers];
    __shared__ float sizes[summers];  // elements of each warp's part of the sums
    static_assert(sizeof slots + sizeof partial + sizeof sizes <= SpecializedRows::scratch_bytes);

    const int stages = shape.stages, row_vectors = shape.row_vectors, cluster = shape.cluster;
    const int index_of_warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / warp, 0);
    const int lane = static_cast<int>(threadIdx.x) % warp;
    const simt::tile<warp> mates;
    const float per_column = 1.0f / static_cast<float>(a.cols);

    // [stages][x, dy][row_vectors], gamma [words][row_vectors] as floats, exchange slots [2 stages][cluster]: a block
    // sends a row's sums after it has finished the row `stages` before, for which all others had sent theirs
    Packed* const shared = simt::dynamic_shared<Packed>();
    Packed* const gamma = shared + stages * 2 * row_vectors;
    ExchangeSlot* const exchange_buffer = reinterpret_cast<ExchangeSlot*>(gamma + words * row_vectors);
    for (int i = static_cast<int>(threadIdx.x);
         i < 2 * stages * cluster * SpecializedRows::exchange_slot_bytes / tile::word_bytes; i += threads)
      reinterpret_cast<unsigned*>(exchange_buffer)[i] = 0;  // no exchange's number
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) {
        sm90::init(&slots[s].full, 1);
        sm90::init(&slots[s].sent, 1);
        sm90::init(&slots[s].known, 1);
        sm90::init(&slots[s].empty, finishers);
      }
      sm90::fence_init();
    }
    if (cluster > 1) sm90::cluster_sync();
    else __syncthreads();

    const int rank = static_cast<int>(sm90::cluster_rank());
    const int index = static_cast<int>(blockIdx.x) / cluster, all = static_cast<int>(gridDim.x) / cluster;
    const RowShare share(a.rows, shape.alignment_offsets, index, all);
    // State of the pipeline, over all alignment offsets: the next row's slot, its barriers' parity, its exchange slots.
    int stage = 0, at_exchange = 0;
    unsigned parity = 0, number = 0;
    const auto next = [&] {
      if (++stage == stages) stage = 0, parity ^= 1;
      if (++at_exchange == 2 * stages) at_exchange = 0;
    };
#pragma unroll 1
    for (int offset = share.first_offset; offset <= share.last_offset; ++offset) {
      const int count = share.size(offset);
      const std::int64_t first_row = share.first_row(offset);
      // The first row of this offset gives the layout of vectors; it may not exist, so no element is read through it.
      const T* representative = a.x.strided_row(offset);
      const tile::RowVectors<T, warp> whole(representative, a.cols, warp);
      // A block's slice: whole vectors, the first with the row's head and the last with its tail.
      const auto begin_of = [&](int r) {
        const int u = r * shape.slice_vectors;
        return r == 0         ? 0
               : r == cluster ? static_cast<int>(a.cols)
                              : whole.head + (u < whole.count ? u : whole.count) * V;
      };
      const int begin = begin_of(rank), end = begin_of(rank + 1);
      // The last summing warp and the combining warp have the elements before and after the vectors.
      const bool of_edges = index_of_warp == combiner - 1 || index_of_warp == combiner;
      const tile::RowVectors<T, warp> part(representative + begin, end - begin, of_edges ? lane : warp);
      const int vectors = part.count, edge_at = part.edge_at, groups = (vectors + warp - 1) / warp;
      const auto row_of = [&](const auto& tensor, int j) {
        return tensor.strided_row(first_row + std::int64_t{j} * shape.apart) + begin;
      };

      // ---- zeros after the row's vectors, gamma
      for (int u = vectors + static_cast<int>(threadIdx.x); u < row_vectors; u += threads)
        for (int s = 0; s < 2 * stages; ++s) shared[s * row_vectors + u] = Packed{};
      const T* given = a.gamma.data ? a.gamma.data + begin : nullptr;
      put_gamma<threads>(given, part.head, vectors, gamma, row_vectors);
      const float edge_gamma = edge_at >= 0 && given ? float(given[edge_at]) : 1.0f;
      const auto edge_of = [&](int j) {
        EdgeElement<T> e;
        if (edge_at >= 0 && j < count) e = {row_of(a.x, j)[edge_at], row_of(a.dy, j)[edge_at]};
        return e;
      };
      sm90::fence_shared_for_copies();
      __syncthreads();

      const auto vector_at = [&](const Packed* slot, int u, Floats& x, Floats& dy, Floats& of_gamma) {
        const Packed packed_x = slot[u], packed_dy = slot[row_vectors + u];
        Packed g[words];
#pragma unroll
        for (int w = 0; w < words; ++w) g[w] = gamma[w * row_vectors + u];
        x = tile::unpack_floats<T>(packed_x), dy = tile::unpack_floats<T>(packed_dy);
        memcpy(&of_gamma, g, sizeof of_gamma);
      };
      if (index_of_warp < finishers) {
        // ---- finish rows: dx, and the sums of this lane's columns
        const int of_each = groups / finishers, longer = groups % finishers;
        const int rounds = of_each + (index_of_warp < longer);
        const int first_vector = (index_of_warp * of_each + (index_of_warp < longer ? index_of_warp : longer)) * warp;
        auto end_vector =
            static_cast<unsigned>(first_vector + rounds * warp < vectors ? first_vector + rounds * warp : vectors);
        auto my_vector = static_cast<unsigned>(first_vector + lane),
             of_vectors = static_cast<unsigned>(begin + part.head);
        // Opaque, or their operands would be kept too.
        tile::make_opaque(end_vector), tile::make_opaque(my_vector), tile::make_opaque(of_vectors);
        const int limit = static_cast<int>(end_vector), of_lane = static_cast<int>(my_vector);
        const auto has = [&](int k) { return of_lane + k * warp < limit; };
        ColumnSums<T, K> sums;
        T* dx = a.dx.strided_row(first_row) + (of_vectors + my_vector * V);
        const std::int64_t to_next_row = a.dx.strided_row(shape.apart) - a.dx.data;
#pragma unroll 1
        for (int j = 0; j < count; ++j, dx += to_next_row) {
          const Packed* slot = shared + stage * 2 * row_vectors;
          tile::make_opaque(dx);  // one address, not one for each vector
          sm90::wait(&slots[stage].full, parity);
          sm90::wait(&slots[stage].known, parity);
          const ElementGradient gradient = slots[stage].gradient;
          const auto finish = [&](int k) {
            Floats x, dy, of_gamma, vector;
            vector_at(slot, of_lane + k * warp, x, dy, of_gamma);
#pragma unroll
            for (int v = 0; v < V; ++v) {
              const float n = gradient.normalised(x[v]);
              vector[v] = gradient(n, dy[v] * of_gamma[v]);
              sums.gamma[k][v] = fmaf(dy[v], n, sums.gamma[k][v]);
              sums.beta[k][v] += dy[v];
              // Opaque, or nvcc adds them after all vectors, and keeps every dy until then.
              tile::make_opaque(sums.gamma[k][v]), tile::make_opaque(sums.beta[k][v]);
            }
            Packed packed = tile::pack_floats<T>(vector);
            tile::make_opaque(packed);  // or all of it would move into the branch around its store
            if (has(k)) tile::store_packed(dx + k * warp * V, packed);
          };
          // A lane also reads vectors that it does not have, within the slot: their sums are not written.
#pragma unroll
          for (int k = 0; k < K - 1; ++k) finish(k);
          if (rounds == K) finish(K - 1);
          __syncwarp();
          if (lane == 0) sm90::arrive(&slots[stage].empty);
          next();
        }
        // Through shared memory, in place of the slots, so that whole lines of the slice are written.
        tile::launch_dependents();
        sm90::named_barrier_sync<c.threads>(2);  // all have read the last rows
        const auto place = [&](int which, int w) { return shared + (which * words + w) * row_vectors; };
#pragma unroll
        for (int k = 0; k < K; ++k)
          if (has(k)) {
#pragma unroll
            for (int w = 0; w < words; ++w) {
              memcpy(place(0, w) + of_lane + k * warp, &sums.gamma[k][w * tile::vector_words], sizeof(Packed));
              memcpy(place(1, w) + of_lane + k * warp, &sums.beta[k][w * tile::vector_words], sizeof(Packed));
            }
          }
        sm90::named_barrier_sync<c.threads>(2);
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          float* to = slices + ((std::int64_t{index} + offset) * 2 + which) * a.cols + of_vectors;
          for (int i = static_cast<int>(threadIdx.x); i < vectors * V; i += c.threads) {
            const auto* vector = reinterpret_cast<const float*>(place(which, i % V / tile::vector_words) + i / V);
            to[i] = vector[i % tile::vector_words];
          }
        }
      } else if (index_of_warp < combiner) {
        // ---- take the sums of rows; the warps alternate in adding them up and sending them
        const int member = index_of_warp - finishers;
        if (lane == 0) {
          int elements = 0;
          for (int g = member; g < groups; g += summers)
            elements += (vectors - g * warp < warp ? vectors - g * warp : warp) * V;
          if (of_edges) elements += end - begin - vectors * V;
          sizes[member] = static_cast<float>(elements);
        }
        EdgeElement<T> edge = edge_of(0);
#pragma unroll 1
        for (int j = 0; j < count; ++j) {
          const EdgeElement<T> next_edge = edge_of(j + 1);
          const Packed* slot = shared + stage * 2 * row_vectors;
          sm90::wait(&slots[stage].full, parity);
          float base = 0;
          if (!a.rms)
            base = mates.reduce(tile::unpack_floats<T>(slot[member * warp + lane])[0], plus<float>) * (1.0f / warp);
          GradientSums<float> s{0, 0, 0, 0};
          const auto add = [&](int g) {
            const int u = g * warp + lane;
            Floats x, dy, of_gamma;
            vector_at(slot, u, x, dy, of_gamma);
            const float less = u < vectors ? base : 0.0f;
#pragma unroll
            for (int v = 0; v < V; ++v) s.add(x[v] - less, dy[v] * of_gamma[v]);
          };
          constexpr int at_once = 3;
          int g = member;
#pragma unroll 1
          for (; g + (at_once - 1) * summers < groups; g += at_once * summers) {
#pragma unroll
            for (int i = 0; i < at_once; ++i) add(g + i * summers);
          }
#pragma unroll 1
          for (; g < groups; g += summers) add(g);
          if (edge_at >= 0) s.add(float(edge.x) - base, float(edge.dy) * edge_gamma);
          edge = next_edge;
          RowSums& mine = partial[j % 2][member];
          const float sum = sum_of_quarter<warp>(s, mates);
          if (lane % (warp / 4) == 0) (&mine.of.first)[lane / (warp / 4)] = sum;
          if (lane == 0) mine.base = base;
          sm90::named_barrier_sync<c.summing>(1);
          ++number;
          if (member == j % summers) {
            const RowSums total = together<summers>(partial[j % 2][lane % summers], sizes[lane % summers], mates);
            if (lane < cluster) {
              unsigned word[exchange_words];
              memcpy(word, &total, sizeof word);
              ExchangeSlot& to = exchange_buffer[at_exchange * cluster + rank];
#pragma unroll
              for (int w = 0; w < exchange_words; ++w)
                sm90::send(to.word[w], static_cast<unsigned>(lane), word[w], number);
            }
            __syncwarp();
            if (lane == 0) sm90::arrive(&slots[stage].sent);
          }
          next();
        }
      } else if (index_of_warp == combiner) {
        // ---- combine what all blocks have sent of a row; its elements before and after the vectors
        const int sender = lane % SpecializedRows::most_cluster, from = sender < cluster ? sender : 0;
        const float of_sender = sender < cluster ? static_cast<float>(begin_of(sender + 1) - begin_of(sender)) : 0.0f;
        float sum_gamma = 0, sum_beta = 0;
        EdgeElement<T> edge = edge_of(0);
#pragma unroll 1
        for (int j = 0; j < count; ++j) {
          const EdgeElement<T> next_edge = edge_of(j + 1);
          sm90::wait(&slots[stage].sent, parity);
          ++number;
          const ExchangeSlot& slot = exchange_buffer[at_exchange * cluster + from];
          unsigned word[exchange_words];
#pragma unroll
          for (int w = 0; w < exchange_words; ++w) word[w] = sm90::receive(slot.word[w], number);
          RowSums of_lane{};
          memcpy(&of_lane, word, sizeof word);
          if (sender >= cluster) of_lane.of = {0, 0, 0, 0};
          const RowSums total = together<SpecializedRows::most_cluster>(of_lane, of_sender, mates);
          ElementGradient gradient(total, per_column, a.eps, a.rms);
          if (!is_ordinary(multiply_add(total.of.squares, per_column, a.eps))) {
            const std::int64_t row = first_row + std::int64_t{j} * shape.apart;
            gradient = ElementGradient(wide_gradient_alone<warp>(a.x.strided_row(row), a.dy.strided_row(row),
                                                                 a.gamma.data, a.cols, a.eps, a.rms));
          }
          if (lane == 0) slots[stage].gradient = gradient;
          __syncwarp();
          if (lane == 0) sm90::arrive(&slots[stage].known);
          if (edge_at >= 0) {
            const float n = gradient.normalised(float(edge.x)), dy = float(edge.dy);
            row_of(a.dx, j)[edge_at] = T(gradient(n, dy * edge_gamma));
            sum_gamma = fmaf(dy, n, sum_gamma);
            sum_beta += dy;
          }
          edge = next_edge;
          next();
        }
        if (edge_at >= 0) {
          float* to = slices + (std::int64_t{index} + offset) * 2 * a.cols + begin + edge_at;
          to[0] = sum_gamma, to[a.cols] = sum_beta;
        }
      } else {
        // ---- the producer: loads rows as soon as their slots are empty
        const auto bytes = static_cast<unsigned>(vectors * vector_bytes);
#pragma unroll 1
        for (int j = 0; j < count; ++j) {
          if (j >= stages) sm90::wait(&slots[stage].empty, parity ^ 1);
          if (sm90::is_elected()) {
            sm90::arrive_and_expect_tx(&slots[stage].full, 2 * bytes);
            Packed* to = shared + stage * 2 * row_vectors;
            sm90::copy_bulk(to, row_of(a.x, j) + part.head, bytes, &slots[stage].full);
            sm90::copy_bulk(to + row_vectors, row_of(a.dy, j) + part.head, bytes, &slots[stage].full);
            if (j + SpecializedRows::prefetch_distance < count && bytes > 0) {
              tile::prefetch_l2(row_of(a.x, j + SpecializedRows::prefetch_distance) + part.head, bytes);
              tile::prefetch_l2(row_of(a.dy, j + SpecializedRows::prefetch_distance) + part.head, bytes);
            }
          }
          next();
        }
      }
      __syncthreads();  // the next offset's rows use the same slots
    }
    if (cluster > 1) sm90::cluster_sync_relaxed();
  }
}

}  // namespace ridge::norm_detail
