// Launches of the rows of Family::decode_one.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/sm90_decode_one.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::attention_detail {
namespace {

template <class T> struct DecodeOneRows : RowsOf<Family::decode_one, T> {
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const AttentionProblem& p = call.problem;
    const int splits = call.plan.splits, heads = static_cast<int>(pack_of(c, p)), blocks = (heads + c.bm - 1) / c.bm;
    // What the query does not attend to is outside of the maps.
    const KeyRange keys = keys_of_one(p);
    const std::int64_t count = keys.last - keys.first;
    DecodeOneMaps maps;
    const auto make_map = [&](tile::sm90::TensorMap* map, const TensorView& view, const AttentionOperand& at,
                              std::int64_t columns) {
      const T* const from = static_cast<const T*>(view.data) + keys.first * at.row;
      return tile::sm90::make_tensor_map(map, from, dtype_of<T>, columns,
                                         {{count, at.row}, {p.hkv, at.head}, {p.b, at.batch}}, c.bn,
                                         tile::sm90::line_bytes, tile::sm90::Fetch::lines);
    };
    RIDGE_TRY(make_map(&maps.k, call.tensors.k, *p.k, p.d));
    RIDGE_TRY(make_map(&maps.v, call.tensors.v, *p.v, p.dv));
    const Arguments<T> all = arguments_of<T>(call);
    const std::int64_t tiles = (count + c.bn - 1) / c.bn, all_blocks = p.b * p.hkv * blocks;
    DecodeOneArguments<T> args{.q = all.q,
                               .o = all.o,
                               .lse = all.lse,
                               .lengths = indices_of(call.tensors.lengths, p.lengths, count),
                               .keys = static_cast<int>(count),
                               .heads = heads,
                               .blocks = blocks,
                               .d = static_cast<int>(p.d),
                               .dv = static_cast<int>(p.dv),
                               .tiles = static_cast<int>((tiles + splits - 1) / splits),
                               .factor = all.scale * log2_e,
                               .parts = nullptr,
                               .arrivals = nullptr,
                               .run = 0,
                               .q_batch = all.at_q.batch,
                               .q_head = all.at_q.head,
                               .o_batch = all.at_o.batch,
                               .o_head = all.at_o.head,
                               .lse_batch = all.at_lse.batch,
                               .lse_head = all.at_lse.head};
    if (splits > 1) {  // the workspace is parts, on 16 bytes, and then words
      args.parts = static_cast<float*>(call.workspace.data);
      args.arrivals = reinterpret_cast<tile::Arrivals*>(
          args.parts + all_blocks * splits * decode_part_floats(c, decode_part_rows(c, heads)));
      args.run = tile::run_number();
    }
    simt::Config at = grid_of(c, call, p.hkv * blocks);
    at.smem = static_cast<std::size_t>(smem_bytes(c, c.d, c.dv));
    at.grid.z = static_cast<unsigned>(p.b);
    return tile::sm90::launch_clusters(at, 1, attention_decode_one<Row<I>, T>, args, maps);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
