// Launches the small kernels, by number.
#include "small.hpp"

#include "kernels.cuh"

namespace ridge::trace_validation {

using simt::launch;

struct Row {
  const char* name;
  Status (*launch)(const Tensors&);
};

template <int Stride> static Status strided(const Tensors& t) {
  return launch({.grid = dim3(4), .block = dim3(256)}, copy_strided, t.a, t.b, Stride);
}
template <int Offset> static Status misaligned(const Tensors& t) {
  return launch({.grid = dim3(4), .block = dim3(256)}, copy_vec<1, float>, t.a + Offset, t.b);
}
template <int N, class T = float> static Status vectors(const Tensors& t) {
  return launch({.grid = dim3(4), .block = dim3(256)}, copy_vec<N, T>, reinterpret_cast<const T*>(t.a),
                reinterpret_cast<T*>(t.b));
}
template <int Lanes> static Status together(const Tensors& t) {
  return launch({.grid = dim3(4), .block = dim3(256)}, read_together, t.a, t.b, Lanes);
}
template <int Stride> static Status atomics(const Tensors& t) {
  return launch({.grid = dim3(2), .block = dim3(128)}, add_apart, t.b, Stride);
}
template <int Stride> static Status banks(const Tensors& t) {
  return launch({.grid = dim3(1), .block = dim3(32)}, read_banks, t.b, Stride);
}
template <int N, int Together, int Stride> static Status shared_reads(const Tensors& t) {
  return launch({.grid = dim3(1), .block = dim3(32), .smem = 32 * Stride * N * sizeof(float)}, read_vectors<N>, t.b,
                Together, Stride);
}
template <int N, int Stride> static Status shared_writes(const Tensors& t) {
  return launch({.grid = dim3(1), .block = dim3(32), .smem = 32 * Stride * N * sizeof(float)}, write_vectors<N>, t.b,
                Stride);
}
template <int Counters> static Status shared_atomics(const Tensors& t) {
  return launch({.grid = dim3(1), .block = dim3(32)}, count_shared, reinterpret_cast<int*>(t.b), Counters);
}
template <int BM, int BN, int BK, int RM, int RN> static Status product(const Tensors& t) {
  constexpr int n = 128;
  return launch(
      {.grid = dim3(n / BN, n / BM), .block = dim3(BM / RM * BN / RN), .smem = (BM + BN) * BK * sizeof(float)},
      sgemm_registers<BM, BN, BK, RM, RN>, t.a, t.b, t.c, n);
}

static const Row rows[] = {
    {"copy, stride 1", strided<1>},
    {"copy, stride 2", strided<2>},
    {"copy, stride 8", strided<8>},
    {"copy, stride 33", strided<33>},
    {"copy, 4 bytes off", misaligned<1>},
    {"copy, 16 bytes off", misaligned<4>},
    {"copy of 2-byte elements", vectors<1, half>},
    {"copy, 4 bytes", vectors<1>},
    {"copy, 8 bytes", vectors<2>},
    {"copy, 16 bytes", vectors<4>},
    {"16 bytes for 2 lanes", together<2>},
    {"16 bytes for 8 lanes", together<8>},
    {"16 bytes for 32 lanes", together<32>},
    {"copy of odd elements",
     [](const Tensors& t) { return launch({.grid = dim3(4), .block = dim3(256)}, copy_odd, t.a, t.b, 8192); }},
    {"inner loops of 0 to 3",
     [](const Tensors& t) { return launch({.grid = dim3(4), .block = dim3(256)}, ragged, t.a, t.b, 4); }},
    {"atomics on one word", atomics<0>},
    {"atomics on neighbours", atomics<1>},
    {"atomics, stride 8", atomics<8>},
    {"banks, stride 1", banks<1>},
    {"banks, stride 2", banks<2>},
    {"banks, stride 3", banks<3>},
    {"banks, stride 4", banks<4>},
    {"banks, stride 32", banks<32>},
    {"banks, stride 33", banks<33>},
    {"shared 8 bytes", shared_reads<2, 1, 1>},
    {"shared 8 bytes for 2 lanes", shared_reads<2, 2, 1>},
    {"shared 8 bytes for 4 lanes", shared_reads<2, 4, 1>},
    {"shared 8 bytes, stride 2", shared_reads<2, 1, 2>},
    {"shared 16 bytes", shared_reads<4, 1, 1>},
    {"shared 16 bytes for 2 lanes", shared_reads<4, 2, 1>},
    {"shared 16 bytes for 8 lanes", shared_reads<4, 8, 1>},
    {"shared 16 bytes for 32 lanes", shared_reads<4, 32, 1>},
    {"shared 16 bytes, stride 2", shared_reads<4, 1, 2>},
    {"shared stores of 8 bytes", shared_writes<2, 1>},
    {"shared stores of 16 bytes", shared_writes<4, 1>},
    {"shared stores of 16 bytes, stride 2", shared_writes<4, 2>},
    {"shared atomics on one word", shared_atomics<1>},
    {"shared atomics on 8 words", shared_atomics<8>},
    {"shared atomics on 32 words", shared_atomics<32>},
    {"transpose, naive",
     [](const Tensors& t) {
       return launch({.grid = dim3(8, 8), .block = dim3(32, 8)}, transpose_naive, t.a, t.b, 256);
     }},
    {"transpose, tile",
     [](const Tensors& t) {
       return launch({.grid = dim3(8, 8), .block = dim3(32, 8)}, transpose_tile<0>, t.a, t.b, 256);
     }},
    {"transpose, padded tile",
     [](const Tensors& t) {
       return launch({.grid = dim3(8, 8), .block = dim3(32, 8)}, transpose_tile<1>, t.a, t.b, 256);
     }},
    {"transpose, 16 bytes",
     [](const Tensors& t) {
       return launch({.grid = dim3(8, 8), .block = dim3(8, 32)}, transpose_vec4, t.a, t.b, 256);
     }},
    {"sgemm, 16x16 tile",
     [](const Tensors& t) {
       return launch({.grid = dim3(8, 8), .block = dim3(16, 16)}, sgemm_tile<16>, t.a, t.b, t.c, 128);
     }},
    {"sgemm, 32x32 tile",
     [](const Tensors& t) {
       return launch({.grid = dim3(4, 4), .block = dim3(32, 32)}, sgemm_tile<32>, t.a, t.b, t.c, 128);
     }},
    {"sgemm, 4x4 per thread", product<64, 64, 16, 4, 4>},
    {"sgemm, 8x8 per thread", product<128, 128, 8, 8, 8>},
    {"block sum",
     [](const Tensors& t) { return launch({.grid = dim3(16), .block = dim3(256)}, block_sum<256>, t.a, t.b); }},
};

int small_count() { return static_cast<int>(std::size(rows)); }
const char* small_name(int number) { return rows[number].name; }
Status launch_small(int number, const Tensors& tensors) { return rows[number].launch(tensors); }

}  // namespace ridge::trace_validation
