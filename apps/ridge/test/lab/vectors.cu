// The samples' helpers, which a program includes without having them.
#include <helper_cuda.h>
#include "helper_math.h"

#include <algorithm>
#include <cmath>
using namespace std;

__global__ void move(float3* x, float3 by, float t) {
  const uint3 i = blockIdx * blockDim + threadIdx;
  x[i.x] = lerp(x[i.x], x[i.x] + by, t);
}

static bool near(float a, float b) { return fabs(a - b) < 1e-5f; }

int main(int argc, const char** argv) {
  findCudaDevice(argc, argv);
  float3* x;
  checkCudaErrors(cudaMallocManaged(&x, 64 * sizeof(float3)));
  for (int i = 0; i < 64; ++i) x[i] = make_float3(i);
  move<<<2, 32>>>(x, make_float3(make_float2(2, 4), 6), 0.5f);
  getLastCudaError("move");
  checkCudaErrors(cudaDeviceSynchronize());
  const float3 last = x[63];
  checkCudaErrors(cudaFree(x));

  const float3 a = make_float3(1, 0, 0), b = make_float3(0, 2, 0), c = cross(a, b);
  float4 d = make_float4(c, 1) * 2;
  d += make_float4(1.0f);
  d /= 2;
  const int4 e = max(make_int4(d), make_int4(1)) - 1;
  const bool right[] = {
      near(last.x, 64) && near(last.y, 65) && near(last.z, 66),
      near(c.z, 2) && near(dot(a, b), 0) && near(length(b), 2) && near(length(normalize(a + b)), 1),
      near(d.z, 2.5f) && near(d.w, 1.5f) && e.x == 0 && e.z == 1,
      near(clamp(make_float2(-1, 5), 0.0f, 1.0f).y, 1) && clamp(7, 1, 3) == 3 && near(lerp(1.0f, 3.0f, 0.5f), 2),
      near(reflect(make_float3(1, -1, 0), make_float3(0, 1, 0)).y, 1) && near(fracf(make_float2(1.25f)).x, 0.25f),
      near(smoothstep(0.0f, 1.0f, 0.5f), 0.5f) && near((1.0f / make_float2(4)).x, 0.25f) && (-make_int2(3)).y == -3,
      near(fmaxf(make_float2(1, 2), make_float2(2, 1)).x, 2) && abs(make_int3(-2)).z == 2};
  for (const bool one : right)
    if (!one) return 1 + int(&one - right);
  return 0;
}
