// Instantiates the table of norm_variants.hpp and launches the row that a plan chose. Functions are static: this file
// is compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/embedding/norm.cuh>
#include <ridge/embedding/norm_launch.hpp>

#include <algorithm>
#include <limits>

namespace ridge::embedding_norm_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

// eps in float32. A nonzero eps stays nonzero: a row of zeros has no other divisor.
static float narrowed_eps(double eps) {
  using Limits = std::numeric_limits<float>;
  return eps > 0 ? static_cast<float>(std::clamp<double>(eps, Limits::min(), Limits::max())) : 0.0f;
}

template <class T> static Operands<T> operands_of(const EmbeddingNormProblem& p, const EmbeddingNormTensors& t) {
  return {.table = static_cast<const T*>(t.table.data),
          .indices = {t.indices.data, p.index == DType::i64, p.rows},
          .gamma = p.gamma ? static_cast<const T*>(t.gamma->data) : nullptr,
          .beta = p.beta ? static_cast<const T*>(t.beta->data) : nullptr,
          .x = static_cast<T*>(t.x.data),
          .y = static_cast<T*>(t.y.data),
          .n = p.n,
          .cols = p.cols,
          .scale = p.options.scale,
          .eps = narrowed_eps(p.options.eps),
          .rms = p.options.mode == Norm::rms};
}

template <int I, class T, int Warp>
static Status launch_row(const EmbeddingNormPlan& plan, const Operands<T>& operands, Stream stream) {
  constexpr Config c = variants[I].config;
  using Team = tile::BlockRows<c.threads, c.rows, Warp>;
  const EmbeddingNormProblem& p = plan.problem;
  const simt::Config at{
      .grid = dim3(static_cast<unsigned>(plan.grid)), .block = dim3(c.threads), .stream = stream.handle, .warp = Warp};
  if constexpr (c.method == Method::streaming) {
    const Strides s{.table_pitch = p.table_pitch,
                    .table_step = p.table_step,
                    .gamma_step = p.gamma_step,
                    .beta_step = p.beta_step,
                    .x_step = p.x_step,
                    .y_step = p.y_step,
                    .x_rows = RowOffsets::of(p.x_rows),
                    .y_rows = RowOffsets::of(p.y_rows),
                    .indices = RowOffsets::of(p.indices)};
    return simt::launch(at, embedding_norm_streaming<Team, T>, operands, s);
  } else {
    const auto pitch = [](const Layout& rows) { return rows.rank == 1 ? rows.stride[0] : 0; };
    const Pitches s{.table_pitch = p.table_pitch,
                    .index_step = pitch(p.indices),
                    .x_pitch = pitch(p.x_rows),
                    .y_pitch = pitch(p.y_rows)};
    return simt::launch(at, embedding_norm_resident<Policy<I>, Team, T>, operands, s);
  }
}

template <> Status launch<simt::Backend>(const EmbeddingNormPlan& plan, const EmbeddingNormTensors& t, Stream stream) {
  return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return simt::with_warp(plan.device.warp, [&](auto warp) {
      const Operands<T> operands = operands_of<T>(plan.problem, t);
      return visit_row<variant_count>(
          plan.variant, [&]<int I>() { return launch_row<I, T, decltype(warp)::value>(plan, operands, stream); });
    });
  });
}

}  // namespace ridge::embedding_norm_detail
