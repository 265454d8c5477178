// The launch of Hopper's kernel (sm90_wgmma.cuh): tensor maps, the grid, and which way D is stored.
#pragma once
#include <ridge/gemm/sm90_wgmma.cuh>

namespace ridge::gemm_kernels {

// An operand or D as a launch takes it.
struct WgmmaOperand {
  const void* data = nullptr;
  std::int64_t pitch = 0, batch_stride = 0;  // pitch: between neighbours in the axis that is not contiguous
};

// Makes the map of an operand [outer, k] of T.
template <class T>
[[nodiscard]] static Status make_operand_map(tile::sm90::TensorMap* map, const WgmmaOperand& o, std::int64_t outer,
                                             std::int64_t k, std::int64_t batch, Major major, int box,
                                             tile::sm90::Fetch fetch = tile::sm90::Fetch::wide) {
  const std::int64_t cols = major == Major::k ? k : outer, rows = major == Major::k ? outer : k;
  return tile::sm90::make_tensor_map(map, o.data, tile::sm90::operand_element(dtype_of<T>),
                                     {cols, rows, o.batch_stride ? batch : 1, o.pitch, o.batch_stride}, box,
                                     tile::sm90::line_bytes, fetch);
}

// Where D goes, and what ColumnEpilogue adds to it, if anything: of the type in which D is stored.
struct WgmmaOutput {
  Store store = Store::epilogue;
  WgmmaOperand d = {}, addend = {};  // d is null where the launch's epilogue stores, and not AnywhereStore
  void* exchange = nullptr;          // for Config::stream_k: stream_k_bytes(), aligned to 16
};

// Whether an epilogue's launches are all Store::epilogue: it says so, and no kernel is compiled for another way.
template <class Epilogue> inline constexpr bool stores_alone = requires { requires Epilogue::stores_alone; };

// The memory of a launch's exchange, with the number of a new run.
inline StreamKExchange exchange_of(const Config& c, void* memory, std::int64_t tiles, std::int64_t steps, int sms) {
  auto* const bytes = static_cast<unsigned char*>(memory);
  return {reinterpret_cast<float*>(bytes),
          reinterpret_cast<tile::Arrivals*>(bytes + stream_k_sums_bytes(c, stream_k_blocks(tiles, steps, sms))),
          tile::run_number()};
}

// Launches the kernel. sms: multiprocessors. steps: of bk. offsets: for Config::grouped, where shape.batch is the
// number of groups.
// Precondition: takes_addend(), if something is added.
template <class Policy, class T, Major MA, Major MB, class Epilogue, class Loader>
[[nodiscard]] static Status launch_wgmma(const Loader& loader, const WgmmaOutput& out, const Shape& shape, int steps,
                                         const ColumnEpilogue& by_columns, const Epilogue& epilogue, int sms,
                                         Stream stream, const std::int32_t* offsets = nullptr) {
  namespace sm90 = tile::sm90;
  using K = WgmmaKernel<Policy, T, MA, MB>;
  constexpr Config c = Policy::config;
  const auto make_map = [&](sm90::TensorMap* map, const WgmmaOperand& o, DType dtype, int rows, int line) {
    const std::int64_t batch = c.grouped || o.batch_stride == 0 ? 1 : shape.batch;
    return sm90::make_tensor_map(map, o.data, dtype, {shape.n, shape.m, batch, o.pitch, o.batch_stride}, rows, line);
  };
  sm90::TensorMap map_d{}, map_addend{};
  if (out.store == Store::tma) RIDGE_TRY(make_map(&map_d, out.d, dtype_of<typename K::Out>, 16, K::Store::line));
  if (out.store == Store::tma_float) RIDGE_TRY(make_map(&map_d, out.d, f32, 16, wgmma_line_bytes));
  ColumnEpilogue then = by_columns;  // applied to the sums
  const bool adds = out.store != Store::epilogue && by_columns.addend != Addend::none;
  const DType stored = out.store == Store::tma_float ? f32 : dtype_of<typename K::Out>;
  if (adds) RIDGE_TRY(make_map(&map_addend, out.addend, stored, addend_rows, wgmma_line_bytes));
  const Raster tiles = wgmma_raster(c, shape.m, shape.n);
  const std::int64_t clusters = c.grouped ? tiles_of(c, shape) : tiles.tiles() * shape.batch;
  // Without an activation the order of additions does not matter.
  const bool begins = adds && K::begins_sums && out.store == Store::tma && by_columns.alpha == 1 &&
                      addend_comes_first(c, clusters, sms) &&
                      (by_columns.addend == Addend::before_activation || by_columns.activation == Activation::none);
  if (begins) {
    then.addend = Addend::none;
    then.plain = by_columns.scale == 1 && by_columns.activation == Activation::none && !by_columns.bias.data;
  }
  const WgmmaWork work{.m = static_cast<int>(shape.m),
                       .n = static_cast<int>(shape.n),
                       .steps = steps,
                       .rows = static_cast<unsigned>(tiles.rows),
                       .cols = static_cast<unsigned>(tiles.cols),
                       .batch = static_cast<unsigned>(shape.batch),
                       .addend_steps = adds ? addend_steps(c, static_cast<int>(size_of(stored))) : 0,
                       .batch_of_addend = out.addend.batch_stride ? 1 : 0,
                       .sums_begin = begins,
                       .addend_factor = by_columns.addend == Addend::before_activation ? by_columns.factor : 1,
                       .d = const_cast<void*>(out.d.data),
                       .pitch = out.d.pitch,
                       .batch_stride = out.d.batch_stride,
                       .groups = {offsets, shape.batch, shape.m},
                       .exchange = c.stream_k ? exchange_of(c, out.exchange, clusters, steps, sms) : StreamKExchange{}};
  const std::int64_t at_a_time = wgmma_at_a_time(c, sms);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(wgmma_clusters(c, clusters, steps, sms) * c.cluster)),
                        .block = dim3(static_cast<unsigned>(wgmma_threads(c))),
                        .smem = static_cast<std::size_t>(wgmma_smem_bytes(c)),
                        .stream = stream.handle};
  // Blocks with one tile have no next tile to overlap a store with.
  const bool is_more_than_one = clusters > at_a_time;
  const auto launch = [&]<Store By>() {
    constexpr auto kernel = gemm_wgmma<Policy, T, MA, MB, Epilogue, Loader, By>;
    if (starts_early(c, steps))
      return sm90::launch_dependent_clusters(at, c.cluster, kernel, loader, map_d, map_addend, work, then, epilogue);
    return sm90::launch_clusters(at, c.cluster, kernel, loader, map_d, map_addend, work, then, epilogue);
  };
  if constexpr (!stores_alone<Epilogue> && has_tma_store<T>)
    if (out.store == Store::tma) {
      if constexpr (K::defers)
        if (is_cheap(then) && is_more_than_one) return launch.template operator()<Store::tma_deferred>();
      if constexpr (has_cheap_store(c))
        if (is_cheap(then) && then.addend == Addend::none) return launch.template operator()<Store::tma_cheap>();
      return launch.template operator()<Store::tma>();
    }
  if constexpr (!stores_alone<Epilogue> && has_float_store<Policy, T>)
    if (out.store == Store::tma_float) return launch.template operator()<Store::tma_float>();
  if constexpr (!stores_alone<Epilogue> && has_direct_store<T>)
    if (out.store == Store::direct) return launch.template operator()<Store::direct>();
  if constexpr (!is_by_columns_alone(c)) return launch.template operator()<Store::epilogue>();
  else return Status::error(Code::unsupported, "gemm: tiles whose sums take all registers are stored by TMA only");
}

struct WgmmaOperands {
  WgmmaOperand a, b;
  WgmmaOperand gate = {};                 // for Config::gated
  const std::int32_t* offsets = nullptr;  // for Config::grouped
  std::int64_t low = 0;                   // position along k of the low parts of math=3xtf32, a multiple of bk; else 0
};

// The same for matrices.
template <class Policy, class T, Major MA, Major MB, class Epilogue>
[[nodiscard]] static Status launch_wgmma(const WgmmaOperands& of, const WgmmaOutput& out, const Shape& shape,
                                         const ColumnEpilogue& by_columns, const Epilogue& epilogue, int sms,
                                         Stream stream = {}) {
  using K = WgmmaKernel<Policy, T, MA, MB>;
  static_assert(K::c.line == wgmma_line_bytes, "as make_operand_map() makes them");
  const std::int64_t low = of.low, stored_k = low ? 2 * low : shape.k;
  const int steps = static_cast<int>((shape.k + K::c.bk - 1) / K::c.bk);
  MatrixLoader<K::c.gated> loader{.a = {},
                                  .b = {},
                                  .term_steps = steps,
                                  .low = static_cast<int>(low),
                                  .batch_of_a = of.a.batch_stride ? 1 : 0,
                                  .batch_of_b = of.b.batch_stride ? 1 : 0,
                                  .gate = {}};
  RIDGE_TRY(make_operand_map<T>(&loader.a, of.a, shape.m, stored_k, shape.batch, MA, K::box_a));
  RIDGE_TRY(make_operand_map<T>(&loader.b, of.b, shape.n, stored_k, shape.batch, MB, K::box_b));
  if constexpr (K::c.gated) {
    loader.gate.batch = of.gate.batch_stride ? 1 : 0;
    RIDGE_TRY(make_operand_map<T>(&loader.gate.map, of.gate, shape.n, stored_k, shape.batch, MB, K::box_b));
  }
  return launch_wgmma<Policy, T, MA, MB>(loader, out, shape, low ? 3 * steps : steps, by_columns, epilogue, sms, stream,
                                         of.offsets);
}

}  // namespace ridge::gemm_kernels
