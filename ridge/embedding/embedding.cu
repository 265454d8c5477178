// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/embedding/gather.cuh>
#include <ridge/embedding/launch.hpp>

namespace ridge::embedding_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

template <int I, class T>
static Status launch_row(const EmbeddingPlan& plan, const T* table, const Indices& indices, T* y, Stream stream) {
  constexpr Config c = variants[I].config;
  const EmbeddingProblem& p = plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(plan.grid)),
                        .block = dim3(c.threads),
                        .stream = stream.handle,
                        .warp = plan.device.warp};
  if constexpr (c.method == Method::element) {
    const ElementShape s{.n = p.n,
                         .cols = p.cols,
                         .table_pitch = p.table_pitch,
                         .table_step = p.table_step,
                         .y_step = p.y_step,
                         .y_rows = RowOffsets::of(p.y_rows),
                         .indices = RowOffsets::of(p.indices),
                         .scale = p.scale};
    return simt::launch(at, embedding_element<Policy<I>, T>, table, indices, y, s);
  } else {
    const VectorsShape s{.items = static_cast<unsigned>(items_of(c, p)),
                         .vectors = Divider(p.cols / vector_elements(p.dtype)),
                         .table_pitch = p.table_pitch,
                         .y_pitch = p.y_rows.rank == 1 ? p.y_rows.stride[0] : 0,
                         .index_step = p.indices.rank == 1 ? p.indices.stride[0] : 0,
                         .scale = p.scale};
    return simt::launch(at, embedding_vectors<Policy<I>, T>, table, indices, y, s);
  }
}

template <>
Status launch<simt::Backend>(const EmbeddingPlan& plan, const void* table, const void* indices, void* y,
                             Stream stream) {
  const Indices rows{indices, plan.problem.index == DType::i64, plan.problem.rows};
  return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return visit_row<variant_count>(plan.variant, [&]<int I>() {
      return launch_row<I, T>(plan, static_cast<const T*>(table), rows, static_cast<T*>(y), stream);
    });
  });
}

}  // namespace ridge::embedding_detail
