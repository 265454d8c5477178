// Instantiates the table of cache_variants.hpp and launches the row that a plan chose. Functions are static: this file
// is compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/rope/cache.cuh>
#include <ridge/rope/cache_launch.hpp>
#include <ridge/rope/launch.hpp>

#include <bit>

namespace ridge::rope_detail {

template <int I> struct CachePolicy { static constexpr Config config = cache_variants[I].config; };

static CacheRows rows_of(const RopeCacheProblem& p, const RopeCacheTensors& t) {
  if (!p.paged) return {.rows = p.k_cache.shape[2]};
  const TensorView& table = *t.block_table;
  return {.table = table.data,
          .wide_table = table.dtype == DType::i64,
          .page_bits = std::countr_zero(static_cast<std::uint64_t>(p.k_cache.shape[2])),
          .columns = table.size(1),
          .pages = p.k_cache.shape[0],
          .stride_b = table.stride(0),
          .stride_column = table.stride(1)};
}

// y: [b, s, heads, columns], or a cache [b or pages, heads, rows, columns].
template <class T>
static Heads<T> heads_of(const TensorView& from, const Layout& x, const TensorView& to, const Layout& y, bool cache) {
  return {.x = static_cast<const T*>(from.data),
          .y = static_cast<T*>(to.data),
          .heads = x.shape[2],
          .from = {x.stride[0], x.stride[1], x.stride[2], x.stride[3]},
          .to = {y.stride[0], y.stride[cache ? 2 : 1], y.stride[cache ? 1 : 2], y.stride[3]}};
}

template <int I, class T>
static Status launch_row(const RopeCachePlan& plan, const RopeCacheTensors& t, Stream stream) {
  constexpr Config c = cache_variants[I].config;
  const RopeCacheProblem& p = plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(plan.grid)),
                        .block = dim3(c.threads),
                        .stream = stream.handle,
                        .warp = plan.device.warp};
  const RopeProblem rotation = rotation_of(p);
  const TokenPieces token = token_pieces(c, p);
  const CacheRows rows = rows_of(p, t);
  const Angles angles = angles_of(p.options, rotary_dim(rotation), {t.positions, t.cos, t.sin});
  const bool halves = p.options.style == RopeStyle::neox;
  const Heads<T> q = heads_of<T>(t.q, p.q, t.q_out, p.q_out, false),
                 k = heads_of<T>(t.k, p.k, t.k_cache, p.k_cache, true),
                 v = heads_of<T>(t.v, p.v, t.v_cache, p.v_cache, true);
  if constexpr (c.method == Method::pairs) {
    const CachePairs<T> s{.of = {q, k, v},
                          .tokens = tokens_of(p),
                          .sequence = p.q.shape[1],
                          .token_pieces = token.all(),
                          .rotated_heads = token.rotated_heads(),
                          .pairs = rotary_dim(rotation) / 2,
                          .head_pieces = token.head,
                          .columns = token.value,
                          .halves = halves};
    return tile::launch_dependent(plan.device.cc, at, rope_cache_pairs<CachePolicy<I>, T>, s, rows, angles);
  } else {
    // Heads without elements have no pieces: do not divide by 0.
    const auto divider = [](std::int64_t n) { return Divider(n > 0 ? n : 1); };
    const CacheVectors<T> s{.of = {q, k, v},
                            .items = static_cast<unsigned>(cache_items_of(c, p)),
                            .rotated_heads = static_cast<unsigned>(token.rotated_heads()),
                            .q_groups = static_cast<int>(token.q_groups),
                            .rotated = static_cast<int>(rotated_pieces(c, rotation)),
                            .pairs = static_cast<int>(rotary_dim(rotation) / 2),
                            .token_pieces = divider(token.all()),
                            .head_pieces = divider(token.head),
                            .value_pieces = divider(token.value),
                            .sequence = divider(p.q.shape[1])};
    constexpr auto of_halves = rope_cache_vectors<CachePolicy<I>, T, true>,
                   of_pairs = rope_cache_vectors<CachePolicy<I>, T, false>;
    return tile::launch_dependent(plan.device.cc, at, halves ? of_halves : of_pairs, s, rows, angles);
  }
}

template <> Status launch_cache<simt::Backend>(const RopeCachePlan& plan, const RopeCacheTensors& t, Stream stream) {
  return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return visit_row<cache_variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(plan, t, stream); });
  });
}

}  // namespace ridge::rope_detail
