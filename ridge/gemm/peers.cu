// cuBLAS, by the choice of its own heuristics. The library is looked for when a benchmark asks for peers, by its file
// names, so that no program of Ridge is linked to it; only its header is needed here, and where there is none, there is
// no peer.
#if __has_include(<cublas_v2.h>)
#include <ridge/bench/bench.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/gemm/request.hpp>

#include <cublas_v2.h>
#include <dlfcn.h>

#include <memory>

namespace ridge::gemm_detail {
namespace {

using Work = std::function<Status(Stream)>;

// The functions used, under the names that cublas_v2.h gives them in the library.
struct Cublas {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  // The header overloads its name, and a cast picks the plain one.
  using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                  const void*, cudaDataType, int, long long, const void*, cudaDataType, int, long long,
                                  const void*, void*, cudaDataType, int, long long, int, cublasComputeType_t,
                                  cublasGemmAlgo_t);
  Gemm gemm = nullptr;

  cublasHandle_t handle = nullptr;  // one for the process, as its users have
  Buffer workspace;                 // what cuBLAS recommends for Hopper

  static const Cublas& instance() {
    static const Cublas loaded = load();
    return loaded;
  }

 private:
  static Cublas load() {
    Cublas c;
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return c;
    c.create = reinterpret_cast<decltype(c.create)>(dlsym(library, "cublasCreate_v2"));
    c.set_stream = reinterpret_cast<decltype(c.set_stream)>(dlsym(library, "cublasSetStream_v2"));
    c.set_workspace = reinterpret_cast<decltype(c.set_workspace)>(dlsym(library, "cublasSetWorkspace_v2"));
    c.gemm = reinterpret_cast<Gemm>(dlsym(library, "cublasGemmStridedBatchedEx"));
    if (!c.create || !c.set_stream || !c.set_workspace || !c.gemm) return c;
    auto workspace = Buffer::allocate({DeviceKind::cuda, 0}, std::size_t{32} << 20);
    if (!workspace) return c;
    c.workspace = std::move(*workspace);
    if (c.create(&c.handle) != CUBLAS_STATUS_SUCCESS) c.handle = nullptr;
    return c;
  }
};

cudaDataType type_of(DType dtype) {
  switch (dtype) {
    case f64: return CUDA_R_64F;
    case f16: return CUDA_R_16F;
    case bf16: return CUDA_R_16BF;
    case i8: return CUDA_R_8I;
    case i32: return CUDA_R_32I;
    default: return CUDA_R_32F;
  }
}

Status not_measured(const char* why) { return Status::error(Code::unsupported, std::string("cuBLAS: ") + why); }

Result<Work> make(const check::Case& c, Views in, Views out) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const Request r = *request;
  const Cublas& cublas = Cublas::instance();
  if (!cublas.handle) return not_measured("the library is not here");
  if (in.size() != 2 || r.scalars.activation != Activation::none || r.scalars.scale != 1)
    return not_measured("an epilogue");
  if (c.dtype == f8e4m3 || c.dtype == f8e5m2 || r.scalars.math == GemmMath::tf32x3) return not_measured("this type");

  // Row-major D is column-major D^T = op(B)^T op(A)^T, and what is stored reads the same either way.
  const int m = static_cast<int>(c.dim("m")), n = static_cast<int>(c.dim("n")), k = static_cast<int>(c.dim("k")),
            batch = static_cast<int>(c.dim("batch"));
  const cublasOperation_t op_a = r.transposed_a() ? CUBLAS_OP_T : CUBLAS_OP_N,
                          op_b = r.transposed_b() ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int pitch_a = r.transposed_a() ? m : k, pitch_b = r.transposed_b() ? k : n;
  const cublasComputeType_t compute = c.dtype == f64                     ? CUBLAS_COMPUTE_64F
                                      : c.dtype == i8                    ? CUBLAS_COMPUTE_32I
                                      : r.scalars.math == GemmMath::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                         : CUBLAS_COMPUTE_32F;
  const auto run = [=, &cublas, a = in[0].data, b = in[1].data, d = out[0].data, dtype = c.dtype,
                    out_type = out[0].dtype](Stream stream) -> Status {
    const double alpha_f64 = r.scalars.alpha, beta_f64 = 0;
    const float alpha_f32 = static_cast<float>(alpha_f64), beta_f32 = 0;
    const int alpha_i32 = static_cast<int>(alpha_f64), beta_i32 = 0;
    const void* alpha = dtype == f64  ? static_cast<const void*>(&alpha_f64)
                        : dtype == i8 ? static_cast<const void*>(&alpha_i32)
                                      : &alpha_f32;
    const void* beta = dtype == f64  ? static_cast<const void*>(&beta_f64)
                       : dtype == i8 ? static_cast<const void*>(&beta_i32)
                                     : &beta_f32;
    cublasStatus_t status = cublas.set_stream(cublas.handle, static_cast<cudaStream_t>(stream.handle));
    if (status == CUBLAS_STATUS_SUCCESS)  // a new stream forgets the workspace
      status = cublas.set_workspace(cublas.handle, cublas.workspace.data(), cublas.workspace.bytes());
    if (status == CUBLAS_STATUS_SUCCESS)
      status =
          cublas.gemm(cublas.handle, op_b, op_a, n, m, k, alpha, b, type_of(dtype), pitch_b,
                      static_cast<long long>(k) * n, a, type_of(dtype), pitch_a, static_cast<long long>(m) * k, beta, d,
                      type_of(out_type), n, static_cast<long long>(m) * n, batch, compute, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? Status{} : not_measured("it refused the problem");
  };
  // Once outside any graph: the first call of a kind loads its kernel.
  if (Status first = run({}); !first.ok()) return first;
  if (Status first = synchronize(out[0].device); !first.ok()) return first;
  return Work(run);
}

const bench::RegisterPeer registered({.op = "gemm", .name = "cuBLAS", .make = make});

}  // namespace
}  // namespace ridge::gemm_detail
#endif
