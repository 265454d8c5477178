// Lists of products of 16-bit types on tensor cores, with rows of any alignment.
#include <ridge/gemm/list.cuh>
#include <ridge/gemm/sm80_mma.cuh>

namespace ridge::gemm_detail {
namespace {

using namespace gemm_kernels;

struct ListPolicy {
  static constexpr Config config{.family = Family::mma_sync, .bk = 32, .loads = Loads::elements, .stages = 2};
};

// Like gemm_list. Further preconditions: cc 80 or later; A is contiguous along k, and B along MB.
template <class T, Major MB>
__global__ void __launch_bounds__(mma_threads(ListPolicy::config), ListPolicy::config.blocks_per_sm)
    gemm_list_mma(ListWork<float> work) {
  if constexpr (tile::sm80::available)
    for_tiles_of_list<ListPolicy, T>(
        work, [](const ListOperands<T>& o, TileAt place, const Shape& shape, const auto& epilogue) {
          compute_mma_tile<ListPolicy, T, Major::k, MB>(o.a, o.b, 0, place, shape, epilogue);
        });
}

template <class T> Status launch(const ListArguments& args) {
  constexpr Config c = ListPolicy::config;
  const simt::Config at = list_grid(c, mma_threads(c), mma_smem_bytes(c, dtype_of<T>), args);
  const auto work = list_work<float>(args);
  if (work.transposed_b) return simt::launch(at, gemm_list_mma<T, Major::k>, work);
  return simt::launch(at, gemm_list_mma<T, Major::outer>, work);
}

}  // namespace

Status launch_list_mma(const ListArguments& args) {
  return args.plan.problem.dtype == DType::f16 ? launch<half>(args) : launch<bfloat16>(args);
}

}  // namespace ridge::gemm_detail
