// Hopper: dx, dgamma and dbeta of rows of 16-bit elements in one pass, by specialized warps. A producer warp has rows
// brought; of the consumers some take the sums of a row, others finish the rows before it and keep the sums of their
// columns, and one adds up what the blocks of a row have found. So no warp that works on elements waits for reductions
// and messages, of which each has its own.
//
// The copy engine brings rows to slots in shared memory. Each slot has barriers for what becomes of its row: it is
// there (`full`), its sums are told to the cluster's blocks (`told`), what dx is made of is known (`known`), and all
// have read it (`free`). Messages are words with their number, as those of tile/sm90/row_ring.cuh.
#pragma once
#include <ridge/norm/fused.cuh>
#include <ridge/tile/rows_ahead.cuh>
#include <ridge/tile/sm90/bulk_copy.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

namespace ridge::norm_detail {

// slices: as those of norm_fused_gradient().
//
// Policy::config: threads that finish rows, with so many units of a row in each, and threads that sum rows up; two
// warps more.
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
    constexpr int warp = 32, K = c.in_registers, V = tile::unit_elements<T>, threads = specialized::threads_of(c);
    constexpr int finishers = c.threads / warp, summers = c.summing / warp;
    constexpr int adds_up = finishers + summers;  // the warp behind those; the last one brings rows
    constexpr int words = V / tile::unit_words;   // packed floats of a unit
    constexpr int told_words = SpecializedRows::message_bytes / 2 / tile::word_bytes;  // of RowSums
    static_assert(sizeof(T) == 2 && (summers & (summers - 1)) == 0);
    struct Message {
      alignas(8) unsigned word[told_words][2];  // a word, and its number
    };
    static_assert(sizeof(Message) == SpecializedRows::message_bytes);
    struct SlotState {
      sm90::Barrier full, told, known, free;
      alignas(vector_bytes) ElementGradient gradient;
    };
    __shared__ SlotState slots[SpecializedRows::most_stages];
    __shared__ RowSums partial[2][summers];
    __shared__ float sizes[summers];  // elements of each warp's part of the sums
    static_assert(sizeof slots + sizeof partial + sizeof sizes <= SpecializedRows::scratch_bytes);

    const int stages = shape.stages, row_units = shape.row_vectors, cluster = shape.cluster;
    const int index_of_warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / warp, 0);
    const int lane = static_cast<int>(threadIdx.x) % warp;
    const simt::tile<warp> mates;
    const float per_column = 1.0f / static_cast<float>(a.cols);

    // [stages][x, dy][row_units], gamma [words][row_units] as floats, messages [2 stages][cluster]: a block sends those
    // of a row when it has finished the one `stages` rows before, for which all others had sent theirs
    Packed* const shared = simt::dynamic_shared<Packed>();
    Packed* const gamma = shared + stages * 2 * row_units;
    Message* const inbox = reinterpret_cast<Message*>(gamma + words * row_units);
    for (int i = static_cast<int>(threadIdx.x);
         i < 2 * stages * cluster * SpecializedRows::message_bytes / tile::word_bytes; i += threads)
      reinterpret_cast<unsigned*>(inbox)[i] = 0;  // no message's number
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) {
        sm90::init(&slots[s].full, 1);
        sm90::init(&slots[s].told, 1);
        sm90::init(&slots[s].known, 1);
        sm90::init(&slots[s].free, finishers);
      }
      sm90::fence_init();
    }
    if (cluster > 1) sm90::sync_cluster_and_stores();
    else __syncthreads();

    const int rank = static_cast<int>(sm90::cluster_rank());
    const int index = static_cast<int>(blockIdx.x) / cluster, all = static_cast<int>(gridDim.x) / cluster;
    const PhasedRows share(a.rows, shape.phases, index, all);
    // Of the rows so far, of all phases: the next one's slot, the parity of its barriers, and its message.
    int stage = 0, at_inbox = 0;
    unsigned parity = 0, number = 0;
    const auto next = [&] {
      if (++stage == stages) stage = 0, parity ^= 1;
      if (++at_inbox == 2 * stages) at_inbox = 0;
    };
#pragma unroll 1
    for (int phase = share.first_phase; phase <= share.last_phase; ++phase) {
      const int count = share.size(phase);
      const std::int64_t first_row = share.first_row(phase);
      // No element is read through this row where there is none: it says where units lie.
      const T* like = a.x.even_row(phase);
      const tile::RowUnits<T, warp> whole(like, a.cols, warp);
      // A block's slice: whole units, the first with the row's head and the last with its tail.
      const auto begin_of = [&](int r) {
        const int u = r * shape.slice_vectors;
        return r == 0         ? 0
               : r == cluster ? static_cast<int>(a.cols)
                              : whole.head + (u < whole.units ? u : whole.units) * V;
      };
      const int begin = begin_of(rank), end = begin_of(rank + 1);
      // The elements before and after the units are the last summing warp's, and those of the one that adds up.
      const bool of_edges = index_of_warp == adds_up - 1 || index_of_warp == adds_up;
      const tile::RowUnits<T, warp> part(like + begin, end - begin, of_edges ? lane : warp);
      const int units = part.units, edge_at = part.edge_at, groups = (units + warp - 1) / warp;
      const auto row_of = [&](const auto& tensor, int j) {
        return tensor.even_row(first_row + std::int64_t{j} * shape.apart) + begin;
      };

      // ---- zeros behind the row's units, gamma
      for (int u = units + static_cast<int>(threadIdx.x); u < row_units; u += threads)
        for (int s = 0; s < 2 * stages; ++s) shared[s * row_units + u] = Packed{};
      const T* given = a.gamma.data ? a.gamma.data + begin : nullptr;
      put_gamma<threads>(given, part.head, units, gamma, row_units);
      const float edge_gamma = edge_at >= 0 && given ? float(given[edge_at]) : 1.0f;
      const auto edge_of = [&](int j) {
        EdgeElement<T> e;
        if (edge_at >= 0 && j < count) e = {row_of(a.x, j)[edge_at], row_of(a.dy, j)[edge_at]};
        return e;
      };
      sm90::fence_shared_for_copies();
      __syncthreads();

      const auto unit_at = [&](const Packed* slot, int u, Floats& x, Floats& dy, Floats& of_gamma) {
        const Packed packed_x = slot[u], packed_dy = slot[row_units + u];
        Packed g[words];
#pragma unroll
        for (int w = 0; w < words; ++w) g[w] = gamma[w * row_units + u];
        x = tile::unpack_floats<T>(packed_x), dy = tile::unpack_floats<T>(packed_dy);
        memcpy(&of_gamma, g, sizeof of_gamma);
      };
      if (index_of_warp < finishers) {
        // ---- finish rows: dx, and the sums of this lane's columns
        const int of_each = groups / finishers, longer = groups % finishers;
        const int rounds = of_each + (index_of_warp < longer);
        const int first_unit = (index_of_warp * of_each + (index_of_warp < longer ? index_of_warp : longer)) * warp;
        auto end_unit = static_cast<unsigned>(first_unit + rounds * warp < units ? first_unit + rounds * warp : units);
        auto my_unit = static_cast<unsigned>(first_unit + lane), of_units = static_cast<unsigned>(begin + part.head);
        // Or what they are made of would be kept too.
        tile::make_opaque(end_unit), tile::make_opaque(my_unit), tile::make_opaque(of_units);
        const int limit = static_cast<int>(end_unit), of_lane = static_cast<int>(my_unit);
        const auto has = [&](int k) { return of_lane + k * warp < limit; };
        ColumnSums<T, K> sums;
        T* dx = a.dx.even_row(first_row) + (of_units + my_unit * V);
        const std::int64_t to_next_row = a.dx.even_row(shape.apart) - a.dx.data;
#pragma unroll 1
        for (int j = 0; j < count; ++j, dx += to_next_row) {
          const Packed* slot = shared + stage * 2 * row_units;
          tile::make_opaque(dx);  // one address, and not each unit's
          sm90::wait(&slots[stage].full, parity);
          sm90::wait(&slots[stage].known, parity);
          const ElementGradient gradient = slots[stage].gradient;
          const auto finish = [&](int k) {
            Floats x, dy, of_gamma, unit;
            unit_at(slot, of_lane + k * warp, x, dy, of_gamma);
#pragma unroll
            for (int v = 0; v < V; ++v) {
              const float n = gradient.normalised(x[v]);
              unit[v] = gradient(n, dy[v] * of_gamma[v]);
              sums.gamma[k][v] = fmaf(dy[v], n, sums.gamma[k][v]);
              sums.beta[k][v] += dy[v];
              // Or they are added behind all units, and every dy kept until then.
              tile::make_opaque(sums.gamma[k][v]), tile::make_opaque(sums.beta[k][v]);
            }
            Packed packed = tile::pack_floats<T>(unit);
            tile::make_opaque(packed);  // or all of it would go behind the branch around its store
            if (has(k)) tile::store_packed(dx + k * warp * V, packed);
          };
          // What this lane has not, it reads all the same, within the slot: its sums are not written.
#pragma unroll
          for (int k = 0; k < K - 1; ++k) finish(k);
          if (rounds == K) finish(K - 1);
          __syncwarp();
          if (lane == 0) sm90::arrive(&slots[stage].free);
          next();
        }
        // Through shared memory, where rows ahead were, so that whole lines of the slice are written.
        tile::let_next_begin();
        sm90::await_named<c.threads>(2);  // all have read the last rows
        const auto place = [&](int which, int w) { return shared + (which * words + w) * row_units; };
#pragma unroll
        for (int k = 0; k < K; ++k)
          if (has(k)) {
#pragma unroll
            for (int w = 0; w < words; ++w) {
              memcpy(place(0, w) + of_lane + k * warp, &sums.gamma[k][w * tile::unit_words], sizeof(Packed));
              memcpy(place(1, w) + of_lane + k * warp, &sums.beta[k][w * tile::unit_words], sizeof(Packed));
            }
          }
        sm90::await_named<c.threads>(2);
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          float* to = slices + ((std::int64_t{index} + phase) * 2 + which) * a.cols + of_units;
          for (int i = static_cast<int>(threadIdx.x); i < units * V; i += c.threads) {
            const auto* unit = reinterpret_cast<const float*>(place(which, i % V / tile::unit_words) + i / V);
            to[i] = unit[i % tile::unit_words];
          }
        }
      } else if (index_of_warp < adds_up) {
        // ---- sums of rows, in turn added up and told by one of these warps
        const int member = index_of_warp - finishers;
        if (lane == 0) {
          int elements = 0;
          for (int g = member; g < groups; g += summers)
            elements += (units - g * warp < warp ? units - g * warp : warp) * V;
          if (of_edges) elements += end - begin - units * V;
          sizes[member] = static_cast<float>(elements);
        }
        EdgeElement<T> edge = edge_of(0);
#pragma unroll 1
        for (int j = 0; j < count; ++j) {
          const EdgeElement<T> next_edge = edge_of(j + 1);
          const Packed* slot = shared + stage * 2 * row_units;
          sm90::wait(&slots[stage].full, parity);
          float base = 0;
          if (!a.rms)
            base = mates.reduce(tile::unpack_floats<T>(slot[member * warp + lane])[0], plus<float>) * (1.0f / warp);
          GradientSums<float> s{0, 0, 0, 0};
          const auto add = [&](int g) {
            const int u = g * warp + lane;
            Floats x, dy, of_gamma;
            unit_at(slot, u, x, dy, of_gamma);
            const float less = u < units ? base : 0.0f;
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
          sm90::await_named<c.summing>(1);
          ++number;
          if (member == j % summers) {
            const RowSums total = together<summers>(partial[j % 2][lane % summers], sizes[lane % summers], mates);
            if (lane < cluster) {
              unsigned word[told_words];
              memcpy(word, &total, sizeof word);
              Message& to = inbox[at_inbox * cluster + rank];
#pragma unroll
              for (int w = 0; w < told_words; ++w) sm90::send(to.word[w], static_cast<unsigned>(lane), word[w], number);
            }
            __syncwarp();
            if (lane == 0) sm90::arrive(&slots[stage].told);
          }
          next();
        }
      } else if (index_of_warp == adds_up) {
        // ---- what all blocks have told of a row, and its elements before and after units
        const int sender = lane % SpecializedRows::most_cluster, from = sender < cluster ? sender : 0;
        const float of_sender = sender < cluster ? static_cast<float>(begin_of(sender + 1) - begin_of(sender)) : 0.0f;
        float sum_gamma = 0, sum_beta = 0;
        EdgeElement<T> edge = edge_of(0);
#pragma unroll 1
        for (int j = 0; j < count; ++j) {
          const EdgeElement<T> next_edge = edge_of(j + 1);
          sm90::wait(&slots[stage].told, parity);
          ++number;
          const Message& message = inbox[at_inbox * cluster + from];
          unsigned word[told_words];
#pragma unroll
          for (int w = 0; w < told_words; ++w) word[w] = sm90::receive(message.word[w], number);
          RowSums of_lane{};
          memcpy(&of_lane, word, sizeof word);
          if (sender >= cluster) of_lane.of = {0, 0, 0, 0};
          const RowSums total = together<SpecializedRows::most_cluster>(of_lane, of_sender, mates);
          ElementGradient gradient(total, per_column, a.eps, a.rms);
          if (!is_ordinary(multiply_add(total.of.squares, per_column, a.eps))) {
            const std::int64_t row = first_row + std::int64_t{j} * shape.apart;
            gradient = ElementGradient(
                wide_gradient_alone<warp>(a.x.even_row(row), a.dy.even_row(row), a.gamma.data, a.cols, a.eps, a.rms));
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
          float* to = slices + (std::int64_t{index} + phase) * 2 * a.cols + begin + edge_at;
          to[0] = sum_gamma, to[a.cols] = sum_beta;
        }
      } else {
        // ---- rows are brought, as soon as their slots are free
        const auto bytes = static_cast<unsigned>(units * tile::unit_bytes);
#pragma unroll 1
        for (int j = 0; j < count; ++j) {
          if (j >= stages) sm90::wait(&slots[stage].free, parity ^ 1);
          if (sm90::is_elected()) {
            sm90::arrive_expecting(&slots[stage].full, 2 * bytes);
            Packed* to = shared + stage * 2 * row_units;
            sm90::copy_bulk(to, row_of(a.x, j) + part.head, bytes, &slots[stage].full);
            sm90::copy_bulk(to + row_units, row_of(a.dy, j) + part.head, bytes, &slots[stage].full);
            if (j + SpecializedRows::prefetch_distance < count && bytes > 0) {
              tile::bring(row_of(a.x, j + SpecializedRows::prefetch_distance) + part.head, bytes);
              tile::bring(row_of(a.dy, j + SpecializedRows::prefetch_distance) + part.head, bytes);
            }
          }
          next();
        }
      }
      __syncthreads();  // the next phase's rows go to the same places
    }
    if (cluster > 1) sm90::sync_cluster();
  }
}

}  // namespace ridge::norm_detail
