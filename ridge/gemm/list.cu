// Lists of products by multiply-adds: any type, layout and alignment.
#include <ridge/gemm/list.cuh>

namespace ridge::gemm_detail {
namespace {

using namespace gemm_kernels;

struct ListPolicy {
  static constexpr Config config{.loads = Loads::strided};
};

template <class T, class X> Status launch(const ListArguments& args) {
  constexpr Config c = ListPolicy::config;
  return simt::launch(list_grid(c, thread_tile_threads(c), thread_tile_smem_bytes(c, dtype_of<T>), args),
                      gemm_list<ListPolicy, T, X>, list_work<X>(args));
}

}  // namespace

template <> Status launch_list<simt::Backend>(const ListArguments& args) {
  switch (args.plan.problem.dtype) {
    case DType::f64: return launch<double, double>(args);
    case DType::f16: return launch<half, float>(args);
    case DType::bf16: return launch<bfloat16, float>(args);
    default: return launch<float, float>(args);
  }
}

}  // namespace ridge::gemm_detail
