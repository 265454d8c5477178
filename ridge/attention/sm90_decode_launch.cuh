// Launches of the rows of Family::decode.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm90_decode.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::attention_detail {
namespace {

template <class T> struct DecodeRows : RowsOf<Family::decode, T> {
  template <int I> static Status launch(const Call& call) {
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
    const simt::Config at = grid_of(c, call, call.plan.blocks);
    RIDGE_TRY(has_lengths(p) ? tile::sm90::launch_clusters(at, 1, attention_decode<Row<I>, T, true>, maps, args)
                             : tile::sm90::launch_clusters(at, 1, attention_decode<Row<I>, T, false>, maps, args));
    if (args.splits == 1) return {};
    return tile::launch_overlapping({.grid = dim3(static_cast<unsigned>(p.b * p.hq * p.sq)),
                                     .block = dim3(decode_merge_warps * 32),
                                     .smem = 0,
                                     .stream = call.stream.handle},
                                    attention_decode_merge<T, c.dv>, merge_of(args));
  }
};

}  // namespace
}  // namespace ridge::attention_detail
