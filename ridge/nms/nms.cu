// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/nms/choose.cuh>
#include <ridge/nms/launch.hpp>

namespace ridge::nms_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

struct Arguments {
  const NmsPlan& plan;
  Sorted sorted;
  unsigned char* mask;
  Kept kept;
  Stream stream;
  unsigned n() const { return static_cast<unsigned>(plan.problem.n); }
  simt::Config config(std::int64_t grid, int threads, std::int64_t smem = 0) const {
    return {.grid = dim3(static_cast<unsigned>(grid)),
            .block = dim3(static_cast<unsigned>(threads)),
            .smem = static_cast<std::size_t>(smem),
            .stream = stream.handle,
            .warp = plan.device.warp};
  }
};

template <class T> static Status launch_sort(const Arguments& args, const Input<T>& in, Key* keys) {
  const std::int64_t tiles = sort_tiles(in.n);
  if (tiles == 0) return {};
  RIDGE_TRY(simt::launch(args.config(tiles, sort_tile), nms_sort<T>, in, keys, args.sorted));
  if (tiles == 1) return {};
  return simt::launch(args.config(ceil_div(tiles * sort_tile, rank_threads), rank_threads), nms_rank<T>, in,
                      static_cast<const Key*>(keys), args.sorted);
}

template <int I, bool Classes> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  const NmsProblem& p = args.plan.problem;
  const Overlap overlap{p.iou, p.legacy ? 1.0f : 0.0f};
  if constexpr (c.method == Method::walk) {
    return simt::launch(args.config(1, c.threads), nms_walk<Policy<I>, Classes>, args.sorted, args.mask, args.n(),
                        overlap, args.kept);
  } else {
    Word* mask = reinterpret_cast<Word*>(args.mask);
    RIDGE_TRY(simt::launch(args.config(mask_grid(p.n), mask_threads), nms_mask<Classes>,
                           static_cast<const Box*>(args.sorted.boxes),
                           static_cast<const std::int64_t*>(args.sorted.classes), mask, args.n(), overlap));
    return simt::launch(args.config(1, c.threads, choose_smem_bytes(c, p.n)), nms_choose<Policy<I>>,
                        static_cast<const unsigned*>(args.sorted.order), static_cast<const Word*>(mask), args.n(),
                        args.kept);
  }
}

template <> Status launch<simt::Backend>(const NmsPlan& plan, const NmsTensors& t, Workspace workspace, Stream stream) {
  const NmsProblem& p = plan.problem;
  const WorkspaceLayout at = workspace_layout(variants[plan.variant].config, p);
  std::byte* base = static_cast<std::byte*>(workspace.data);
  const Sorted sorted{reinterpret_cast<unsigned*>(base + at.order), reinterpret_cast<Box*>(base + at.boxes),
                      p.classes ? reinterpret_cast<std::int64_t*>(base + at.classes) : nullptr};
  const Kept kept{static_cast<std::int64_t*>(t.indices.data), p.index_step, static_cast<std::int64_t*>(t.count.data)};
  const Arguments args{plan, sorted, reinterpret_cast<unsigned char*>(base + at.mask), kept, stream};
  RIDGE_TRY(Types::visit(p.dtype, Status{}, [&]<class T>() {
    const Input<T> in{.boxes = static_cast<const T*>(t.boxes.data),
                      .scores = static_cast<const T*>(t.scores.data),
                      .classes = t.classes ? t.classes->data : nullptr,
                      .wide_classes = p.classes == i64,
                      .box_pitch = p.box_pitch,
                      .box_step = p.box_step,
                      .score_step = p.score_step,
                      .class_step = p.class_step,
                      .n = args.n()};
    return launch_sort<T>(args, in, reinterpret_cast<Key*>(base + at.keys));
  }));
  return visit_row<variant_count>(
      plan.variant, [&]<int I>() { return p.classes ? launch_row<I, true>(args) : launch_row<I, false>(args); });
}

}  // namespace ridge::nms_detail
