// The kernels of ridge/attention for float32 by themselves: ridge lab docs/learn/kernels/attention.cu --trace
#include <ridge/attention/naive.cuh>
#include <ridge/attention/register_tile.cuh>
#include <ridge/attention/tiled.cuh>

#include "row.hpp"

using namespace ridge::attention_kernels;
using ridge::attention_detail::variants;

int main() {
  constexpr int s = 128, d = 64;  // one head: queries and keys, columns
  const Memory<float> q(s * d), k(s * d), v(s * d), o(s * d);
  Arguments<float> a{};
  a.q = q.data, a.k = k.data, a.v = v.data, a.o = o.data;
  a.at_q = a.at_k = a.at_v = a.at_o = {.batch = s * d, .head = s * d, .row = d, .element = 1};
  a.batch = a.heads = a.group = a.pack = a.splits = 1;
  a.sq = a.sk = s, a.d = a.dv = d;
  a.left = a.right = s;
  a.scale = 0.125f;
  a.vectors = true;
  attention_naive<Row<variants, "naive">, float, 32><<<s, config_of(variants, "naive").threads>>>(a);
  attention_tiled<Row<variants, "tiled">, float, 32><<<s / 16, 256, 16 * (2 * (d + 1) + d) * sizeof(float)>>>(a);
  cudaFuncSetAttribute(attention_register_tile<Row<variants, "register_rows_64">>,
                       cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024);
  attention_register_tile<Row<variants, "register_rows_64">><<<s / 64, 128, 96 * 1024>>>(a);
  cudaFuncSetAttribute(attention_register_tile<Row<variants, "register_64">>,
                       cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024);
  attention_register_tile<Row<variants, "register_64">><<<s / 64, 128, 96 * 1024>>>(a);
  cudaDeviceSynchronize();
}
