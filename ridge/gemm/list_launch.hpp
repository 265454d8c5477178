// What list.cpp needs of the .cu files that launch lists.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/gemm/list.hpp>

namespace ridge::gemm_detail {

struct ListArguments {
  const GemmListPlan& plan;
  const GemmListItem* items;
  Stream stream;
};

// Precondition: the list has items.
template <class Backend> Status launch_list(const ListArguments&);

// On tensor cores. Defined in a build with CUDA.
Status launch_list_mma(const ListArguments&);

}  // namespace ridge::gemm_detail
