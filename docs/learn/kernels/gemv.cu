// Matrix-vector products of ridge/gemv by themselves: ridge lab docs/learn/kernels/gemv.cu --trace
#include <ridge/gemv/rows.cuh>

#include "row.hpp"

using namespace ridge::gemv_detail;

int main() {
  constexpr int m = 1024, k = 128;
  const Memory<float> a(m * k), x(k), y(m);
  const Product<float> product{a.data, x.data, m, k, k, 1, 1};
  const Epilogue<float> epilogue{.alpha = 1, .beta = 0, .activation = {}, .c = {}, .bias = {}, .y = {y.data}};
  // Shape<threads, lanes, bytes of an access, rows of a thread, accesses of each row in flight, blocks>
  gemv_naive<Shape<256, 32, 0, 1, 1, 4>><<<m / 256, 256>>>(product, epilogue);  // naive
  gemv_rows<Shape<256, 32, 0, 1, 1, 4>><<<m / 8, 256>>>(product, epilogue);     // warp_k32
  gemv_rows<Shape<256, 32, 16, 1, 1, 4>><<<m / 8, 256>>>(product, epilogue);    // warp_k128
  gemv_rows<Shape<256, 16, 16, 4, 2, 4>><<<m / 64, 256>>>(product, epilogue);   // lanes_16
  cudaDeviceSynchronize();
}
