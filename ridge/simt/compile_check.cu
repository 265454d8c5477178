// Compiled by every compiler and never run: each name of the vocabulary, used the way kernels use it.
#include <ridge/simt/dot4.hpp>
#include <ridge/simt/simt.hpp>

namespace {

using namespace ridge;
using simt::tile;

struct Pair {
  float value;
  int index;
};
struct Odd {
  char bytes[7];
};

template <class T, int Warp>
__global__ void __launch_bounds__(256) collectives(const T* __restrict__ in, T* __restrict__ out, int n) {
  __shared__ float partial[256 / Warp];
  tile<Warp> warp;
  tile<8> octet;
  const int i = static_cast<int>(blockIdx.x * blockDim.x) + simt::thread_rank();

  float sum = i < n ? float(in[i]) : 0.0f;
  sum = warp.reduce(sum, [](float a, float b) { return a + b; });
  Pair best = warp.reduce(Pair{sum, i}, [](Pair a, Pair b) { return a.value < b.value ? b : a; });
  const Odd odd = octet.shfl(Odd{}, 3);
  const char small = warp.shfl_xor(static_cast<char>(i), 1);
  const T same = warp.shfl_up(warp.shfl_down(T(sum), 1), 1);
  const double wide = octet.shfl(double(sum), 0);

  if (warp.rank() == 0) partial[warp.index()] = sum;
  warp.sync();
  __syncthreads();
  const int votes = __syncthreads_count(i & 1) + __syncthreads_and(i) + __syncthreads_or(i);
  if (warp.any(i > 3) && !octet.all(i > 4) && warp.ballot(i & 1) & octet.mask())
    out[i] = T(partial[0] + best.value + float(wide) + float(odd.bytes[0] + small + votes) + float(same));
}

template <class T, int N> __global__ void movement(const T* in, T* out) {
  T* s = simt::dynamic_shared<T>();
  auto x = simt::load<N>(in);
  x[0] = simt::load_streaming<N>(in + N)[0];
  simt::store(s + simt::thread_rank() * N, x);
  __syncthreads();
  simt::store(out, simt::load<N>(static_cast<const T*>(s)));
  simt::store_streaming(out + N, x);
}

__global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  atomicAdd(i, 1), atomicAdd(u, 1u), atomicAdd(l, 1ull), atomicAdd(f, 1.0f), atomicAdd(d, 1.0);
  atomicExch(i, 1), atomicExch(u, 1u), atomicExch(l, 1ull), atomicExch(f, 1.0f);
  atomicCAS(i, 0, 1), atomicCAS(u, 0u, 1u), atomicCAS(l, 0ull, 1ull);
  atomicMin(i, 1), atomicMin(u, 1u), atomicMin(l, 1ull);
  atomicMax(i, 1), atomicMax(u, 1u), atomicMax(l, 1ull);
  atomicAnd(i, 1), atomicOr(u, 1u), atomicXor(l, 1ull);
#if !RIDGE_VENDOR_IS_HIP  // hipcc 5.2 lacks the block-scoped forms
  atomicAdd_block(f, 1.0f), atomicMax_block(i, 3), atomicCAS_block(u, 0u, 1u);
#endif
  __threadfence();
  __threadfence_block();
  __threadfence_system();
}

__constant__ float table[4] = {1, 2, 3, 4};

__global__ void arithmetic(float* f, int* i, const float* in) {
  const float x = __ldg(in) + table[threadIdx.x & 3];
  f[0] = rsqrtf(x) + __expf(x) + __logf(x) + __fdividef(x, 3.0f) + __frcp_rn(x) + fmaf(x, x, x) + tanhf(x) + erff(x);
  f[1] = fmaxf(x, fminf(x, 1.0f)) + fabsf(x) + min(x, 2.0f) + max(x, 1.0f) + __int_as_float(i[0]) + exp2f(x);
  i[0] = __popc(i[0]) + __ffs(i[1]) + __clz(i[2]) + int(__brev(i[3])) + __float_as_int(x) + max(i[0], 3) +
         simt::dot4(i[0], i[1], 2);
  i[1] = isnan(x) + isinf(x) + __popcll(7ull) + __float2int_rn(x) + __clzll(3ll);
  const float4 quad = make_float4(x, x, x, x);
  const uint2 pair = make_uint2(1, 2);
  f[2] = quad.w + float(pair.y) + float(half(x)) + float(bfloat16(x));
#if RIDGE_SIMT_ON_CUDA || RIDGE_SIMT_ON_CPU
  f[3] = __ldcs(in);
  __stcs(f + 4, x);
  __nanosleep(20);
#endif
}

}  // namespace

// The launches instantiate the templates above.
ridge::Status compile_check(const void* stream) {
  const simt::Config config{.grid = dim3(2), .block = dim3(64), .smem = 4096, .stream = const_cast<void*>(stream)};
  float* f = nullptr;
  const ridge::Status first = simt::with_warp(config.warp, [&](auto width) {
    constexpr int warp = decltype(width)::value;
    RIDGE_TRY(simt::launch(config, collectives<float, warp>, f, f, 0));
    RIDGE_TRY(simt::launch(config, collectives<half, warp>, nullptr, nullptr, 0));
    return simt::launch(config, collectives<bfloat16, warp>, nullptr, nullptr, 0);
  });
  RIDGE_TRY(first);
  RIDGE_TRY(simt::launch(config, movement<float, 4>, f, f));
  RIDGE_TRY(simt::launch(config, movement<half, 8>, nullptr, nullptr));
  RIDGE_TRY(simt::launch(config, movement<bfloat16, 2>, nullptr, nullptr));
  RIDGE_TRY(simt::launch(config, movement<double, 4>, nullptr, nullptr));
  RIDGE_TRY(simt::launch(config, movement<signed char, 16>, nullptr, nullptr));
  RIDGE_TRY(simt::launch(config, atomics, nullptr, nullptr, nullptr, f, nullptr));
  return simt::launch(config, arithmetic, f, nullptr, f);
}
