// Launches the row of Family::decode that a plan chose.
#pragma once
#include <ridge/attention/launch_arguments.cuh>
#include <ridge/attention/sm90_decode.cuh>
#include <ridge/tile/sm90/launch.cuh>

#include <utility>

namespace ridge::attention_detail {
namespace {

template <int I, class T> Status launch_decode_row(const Call& call) {
  constexpr Config c = variants[I].config;
  const AttentionProblem& p = call.problem;
  const Arguments<T> args = arguments_of<T>(call);
  DecodeMaps maps;
  maps.box = static_cast<int>(p.block_table ? std::min<std::int64_t>(c.bn, p.page) : c.bn);
  // Sequences that follow each other are one batch, and pages are one each.
  const std::int64_t rows = p.block_table ? p.page : p.cu_k ? p.total_k : p.sk;
  const std::int64_t batch = p.block_table ? p.pages : p.cu_k ? 1 : p.b;
  const auto make_map = [&](tile::sm90::TensorMap* map, const TensorView& view, const AttentionOperand& at,
                            std::int64_t columns) {
    return tile::sm90::make_tensor_map(map, view.data, dtype_of<T>, columns,
                                       {{rows, at.row}, {p.hkv, at.head}, {batch, at.batch}}, maps.box,
                                       tile::sm90::line_bytes, tile::sm90::Fetch::lines);
  };
  RIDGE_TRY(make_map(&maps.k, call.tensors.k, *p.k, p.d));
  RIDGE_TRY(make_map(&maps.v, call.tensors.v, *p.v, p.dv));
  const simt::Config grid = grid_of(c, call, simt::native_warp);
  RIDGE_TRY(has_lengths(p) ? tile::sm90::launch_clusters(grid, 1, attention_decode<Row<I>, T, true>, maps, args)
                           : tile::sm90::launch_clusters(grid, 1, attention_decode<Row<I>, T, false>, maps, args));
  if (args.splits == 1) return {};
  return tile::sm90::launch_overlapping({.grid = dim3(static_cast<unsigned>(p.b * p.hq * p.sq)),
                                         .block = dim3(decode_merge_warps * 32),
                                         .smem = 0,
                                         .stream = call.stream.handle},
                                        attention_decode_merge<T, c.dv>, merge_of(args));
}

template <class T, int I> constexpr auto decode_launcher() -> Status (*)(const Call&) {
  if constexpr (variants[I].config.family == Family::decode) return launch_decode_row<I, T>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <class T, int... I> Status launch_decode_table(const Call& call, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call&) = {decode_launcher<T, I>()...};
  return launchers[call.plan.variant](call);
}

}  // namespace
}  // namespace ridge::attention_detail
