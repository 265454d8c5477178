// Launches the row of the table that a plan chose, for tensors of type T. Everything here is internal to its
// translation unit: g++ and nvcc compile the same text, and the linker must not merge the two.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/gemv/columns.cuh>
#include <ridge/gemv/launch.hpp>

namespace ridge::gemv_detail {
namespace {

template <class T> struct Call {
  const GemvPlan& plan;
  Extent extent;
  Product<T> product;
  Epilogue<T> epilogue;
  Sum<T>* partials;
  Stream stream;

  const Config& row() const { return variants[plan.variant].config; }
  std::int64_t slice_elements() const { return gemv_detail::slice_elements(row(), extent, plan.slices, sizeof(T)); }
  simt::Config config(Grid grid, int threads, std::size_t smem = 0) const {
    return {.grid = dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y)),
            .block = dim3(static_cast<unsigned>(threads)),
            .smem = smem,
            .stream = stream.handle,
            .warp = plan.device.warp};
  }
  simt::Config config(std::size_t smem = 0) const {
    return config(grid_of(row(), extent, plan.slices, sizeof(T)), row().threads, smem);
  }
};

template <class T> Status launch_finish(const Call<T>& call) {
  if (call.plan.slices == 1) return {};
  const tile::ColumnBlock k = finish_columns(call.extent.m, call.plan.slices);
  const Grid grid{std::min(ceil_div(call.extent.m, std::int64_t{k.lanes} * k.groups), max_grid)};
  const simt::Config at = call.config(grid, finish_threads, tile::column_scratch<Sum<T>, 1>(finish_threads));
  const auto finish = gemv_finish<finish_threads, finish_vectors, T>;
  return tile::launch_dependent(call.plan.device.cc, at, finish, call.partials, call.extent.m, call.plan.slices, k,
                                call.epilogue);
}

template <int I, class T> Status launch_row(const Call<T>& call) {
  constexpr Config c = variants[I].config;
  // Parameters that a kind of kernel does not use are fixed, so that rows share instances.
  constexpr bool by_rows = c.kernel == Kernel::rows;
  using S = Shape<c.threads, by_rows ? c.lanes : 0, c.access_bytes, by_rows ? c.rows : 1, c.vectors, c.blocks_per_sm>;
  if constexpr (c.kernel == Kernel::naive) {
    return simt::launch(call.config(), gemv_naive<S, T>, call.product, call.epilogue);
  } else if constexpr (by_rows) {
    return simt::launch(call.config(), gemv_rows<S, T>, call.product, call.epilogue);
  } else if constexpr (c.kernel == Kernel::block) {
    const Status first = simt::with_warp(call.plan.device.warp, [&](auto width) {
      return simt::launch(call.config(), gemv_block<S, T, decltype(width)::value>, call.product, call.partials,
                          call.slice_elements(), call.plan.slices, call.epilogue);
    });
    RIDGE_TRY(first);
    return launch_finish(call);
  } else {
    constexpr int v = S::template elements<T>;
    RIDGE_TRY(simt::launch(call.config(tile::column_scratch<Sum<T>, v>(c.threads)), gemv_columns<S, T>, call.product,
                           call.partials, columns_of(c, call.extent, sizeof(T)), call.slice_elements(),
                           call.plan.slices, call.epilogue));
    return launch_finish(call);
  }
}

template <class T> Status launch_table(const Arguments& args) {
  static_assert(sizeof(Sum<T>) == partial_bytes(dtype_of<T>));
  const GemvProblem& p = args.plan.problem;
  const GemvTensors& t = args.tensors;
  const auto addend = [](const std::optional<GemvProblem::Vector>& layout, const std::optional<TensorView>& v) {
    return layout ? Vector<const T>{static_cast<const T*>(v->data), layout->stride} : Vector<const T>{};
  };
  const bool any = products(p) > 0;
  const Call<T> call{args.plan,
                     extent_of(p),
                     {static_cast<const T*>(t.a.data), static_cast<const T*>(t.x.data), p.m, products(p), p.row_stride,
                      p.k_stride, p.x.stride},
                     {static_cast<Sum<T>>(any ? p.scalars.alpha : 0),
                      static_cast<Sum<T>>(p.scalars.beta),
                      p.scalars.activation,
                      addend(p.c, t.c),
                      addend(p.bias, t.bias),
                      {static_cast<T*>(t.y.data), p.y.stride}},
                     static_cast<Sum<T>*>(args.workspace),
                     args.stream};
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
    if constexpr (instantiated(variants[I].config, dtype_of<T>)) return launch_row<I, T>(call);
    else return Status::error(Code::unsupported, "gemv: this variant is not compiled for the type");
  });
}

}  // namespace
}  // namespace ridge::gemv_detail
