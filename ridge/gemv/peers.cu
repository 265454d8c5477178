// cuBLAS as a peer: gemm of one column, by its own heuristics, in all types; and gemv, which it has for f32 and f64.
// The library is loaded by file name when a benchmark asks for peers, so that no program of Ridge is linked to it; only
// its headers are needed here, and without headers there is no peer.
#if __has_include(<cublas_v2.h>)
#include <ridge/bench/bench.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/gemv/request.hpp>

#include <cublas_v2.h>
#include <dlfcn.h>

#include <functional>

namespace ridge::gemv_detail {
namespace {

using Work = std::function<Status(Stream)>;

// The functions used, by the names that cublas_v2.h gives them in the library.
struct Cublas {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSgemv_v2) sgemv = nullptr;
  decltype(&cublasDgemv_v2) dgemv = nullptr;
  // The header overloads its name; a cast picks the plain one.
  using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                  const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                  cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
  Gemm gemm = nullptr;

  cublasHandle_t handle = nullptr;  // one per process, as its users have
  Buffer workspace;                 // the size that cuBLAS recommends for Hopper

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
    bool all = true;
    const auto find = [&]<class F>(F& function, const char* name) {
      function = reinterpret_cast<F>(dlsym(library, name));
      all = all && function;
    };
    find(c.create, "cublasCreate_v2");
    find(c.set_stream, "cublasSetStream_v2");
    find(c.set_workspace, "cublasSetWorkspace_v2");
    find(c.sgemv, "cublasSgemv_v2");
    find(c.dgemv, "cublasDgemv_v2");
    find(c.gemm, "cublasGemmEx");
    auto workspace = Buffer::allocate({DeviceKind::cuda, 0}, std::size_t{32} << 20);
    if (!all || !workspace) return c;
    c.workspace = std::move(*workspace);
    if (c.create(&c.handle) != CUBLAS_STATUS_SUCCESS) c.handle = nullptr;
    return c;
  }
};

Status not_measured(const char* why) { return Status::error(Code::unsupported, std::string("cuBLAS: ") + why); }

// A row-major matrix is a column-major one transposed: a stored [rows, cols] is cols x rows, with a leading dimension
// of cols.
struct Stored {
  int rows, cols;
  cublasOperation_t op;
};
Result<Stored> stored(const check::Case& c, Views in) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  if (in.size() != 2 || request->scalars.activation != Activation::none || request->scalars.alpha != 1)
    return not_measured("it has no such epilogue");
  return Stored{static_cast<int>(in[0].size(0)), static_cast<int>(in[0].size(1)),
                request->transposed ? CUBLAS_OP_N : CUBLAS_OP_T};
}

// Runs once outside any graph: the first call of a kind loads its kernel.
Result<Work> checked(Device device, std::function<cublasStatus_t()> call) {
  const Cublas& cublas = Cublas::instance();
  const Work run = [&cublas, call](Stream stream) -> Status {
    cublasStatus_t status = cublas.set_stream(cublas.handle, static_cast<cudaStream_t>(stream.handle));
    if (status == CUBLAS_STATUS_SUCCESS)  // a new stream resets the workspace
      status = cublas.set_workspace(cublas.handle, cublas.workspace.data(), cublas.workspace.bytes());
    if (status == CUBLAS_STATUS_SUCCESS) status = call();
    return status == CUBLAS_STATUS_SUCCESS ? Status{} : not_measured("it refused the problem");
  };
  if (Status first = run({}); !first.ok()) return first;
  if (Status first = synchronize(device); !first.ok()) return first;
  return run;
}

Result<Work> make_gemv(const check::Case& c, Views in, Views out) {
  auto layout = stored(c, in);
  if (!layout) return layout.error();
  const Cublas& cublas = Cublas::instance();
  if (!cublas.handle) return not_measured("the library was not found");
  if (c.dtype != f32 && c.dtype != f64) return not_measured("its gemv is for f32 and f64 only");
  return checked(out[0].device,
                 [&cublas, s = *layout, dtype = c.dtype, a = in[0].data, x = in[1].data, y = out[0].data] {
                   const double one = 1, zero = 0;
                   const float one_f = 1, zero_f = 0;
                   if (dtype == f64)
                     return cublas.dgemv(cublas.handle, s.op, s.cols, s.rows, &one, static_cast<const double*>(a),
                                         s.cols, static_cast<const double*>(x), 1, &zero, static_cast<double*>(y), 1);
                   return cublas.sgemv(cublas.handle, s.op, s.cols, s.rows, &one_f, static_cast<const float*>(a),
                                       s.cols, static_cast<const float*>(x), 1, &zero_f, static_cast<float*>(y), 1);
                 });
}

Result<Work> make_gemm(const check::Case& c, Views in, Views out) {
  auto layout = stored(c, in);
  if (!layout) return layout.error();
  const Cublas& cublas = Cublas::instance();
  if (!cublas.handle) return not_measured("the library was not found");
  const cudaDataType type = c.dtype == f64    ? CUDA_R_64F
                            : c.dtype == f16  ? CUDA_R_16F
                            : c.dtype == bf16 ? CUDA_R_16BF
                                              : CUDA_R_32F;
  const int m = static_cast<int>(c.dim("m")), k = static_cast<int>(c.dim("k"));
  return checked(
      out[0].device, [=, &cublas, s = *layout, dtype = c.dtype, a = in[0].data, x = in[1].data, y = out[0].data] {
        const double one = 1, zero = 0;
        const float one_f = 1, zero_f = 0;
        const bool wide = dtype == f64;
        return cublas.gemm(cublas.handle, s.op, CUBLAS_OP_N, m, 1, k, wide ? static_cast<const void*>(&one) : &one_f, a,
                           type, s.cols, x, type, k, wide ? static_cast<const void*>(&zero) : &zero_f, y, type, m,
                           wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
      });
}

const bench::RegisterPeer registered[] = {
    bench::RegisterPeer({.op = "gemv", .name = "cuBLAS", .make = make_gemm}),
    bench::RegisterPeer({.op = "gemv", .name = "cuBLAS gemv", .make = make_gemv}),
};

}  // namespace
}  // namespace ridge::gemv_detail
#endif
