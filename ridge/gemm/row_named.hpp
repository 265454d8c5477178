// Rows of the table by name, as policy types for kernels: for tests.
#pragma once
#include <ridge/gemm/variants.hpp>

#include <string_view>

namespace ridge::gemm_kernels {

using gemm_detail::variant_count;
using gemm_detail::variants;

constexpr int row_named(std::string_view name) {
  for (int i = 0; i < variant_count; ++i)
    if (variants[i].name == name) return i;
  return -1;
}
template <int I> struct Policy {
  static_assert(I >= 0, "there is such a row");
  static constexpr Config config = variants[I].config;
};

}  // namespace ridge::gemm_kernels
