// The branches of ridge/checklist by themselves: ridge lab docs/learn/kernels/checklist.cu --trace
#include <ridge/checklist/lessons.cuh>

#include "row.hpp"

using namespace ridge::checklist_detail;

int main() {
  constexpr int n = 8192;
  const Memory<int> x(n), y(n);
  checklist_branch<Row<branch_variants, "uniform">><<<n / 256, 256>>>(x.data, y.data, n);
  checklist_branch<Row<branch_variants, "divergent">><<<n / 256, 256>>>(x.data, y.data, n);
  checklist_branch<Row<branch_variants, "branch_free">><<<n / 256, 256>>>(x.data, y.data, n);
  cudaDeviceSynchronize();
}
