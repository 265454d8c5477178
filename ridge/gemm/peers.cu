// cuBLAS, by its own heuristics; and the fastest of the algorithms that cublasLt's heuristics propose, with its own
// fused epilogues. The libraries are loaded by file name when a benchmark asks for peers, so that no program of Ridge
// is linked to them; only their headers are needed here, and without headers there is no peer.
#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>)
#include <ridge/bench/bench.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/gemm/request.hpp>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <memory>

namespace ridge::gemm_detail {
namespace {

using Work = std::function<Status(Stream)>;

// The functions used, by the names that cublas_v2.h gives them in the library.
struct Cublas {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  // The header overloads its name; a cast picks the plain one.
  using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                  const void*, cudaDataType, int, long long, const void*, cudaDataType, int, long long,
                                  const void*, void*, cudaDataType, int, long long, int, cublasComputeType_t,
                                  cublasGemmAlgo_t);
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
    case f8e4m3: return CUDA_R_8F_E4M3;
    case f8e5m2: return CUDA_R_8F_E5M2;
    case i32: return CUDA_R_32I;
    default: return CUDA_R_32F;
  }
}

Status not_measured(const char* why) { return Status::error(Code::unsupported, std::string("cuBLAS: ") + why); }

// The libraries take contiguous rows with any pitch.
bool has_rows(const TensorView& v) { return v.stride(-1) == 1 || v.size(-1) <= 1; }

Result<Work> make(const check::Case& c, Views in, Views out) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const Request r = *request;
  const Cublas& cublas = Cublas::instance();
  if (!cublas.handle) return not_measured("the library was not found");
  if (in.size() != 2 || r.scalars.activation != Activation::none || r.scalars.scale != 1)
    return not_measured("it has no such epilogue");
  if (c.dtype == f8e4m3 || c.dtype == f8e5m2) return not_measured("it does not take this type");
  if (!has_rows(in[0]) || !has_rows(in[1]) || !has_rows(out[0])) return not_measured("it does not take such strides");

  // Row-major D is column-major D^T = op(B)^T op(A)^T, and what is stored reads the same either way.
  const int m = static_cast<int>(c.dim("m")), n = static_cast<int>(c.dim("n")), k = static_cast<int>(c.dim("k")),
            batch = static_cast<int>(c.dim("batch"));
  const cublasOperation_t op_a = r.transposed_a() ? CUBLAS_OP_T : CUBLAS_OP_N,
                          op_b = r.transposed_b() ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto pitch = [](const TensorView& v) { return static_cast<int>(v.stride(-2)); };
  const auto apart = [](const TensorView& v) {
    return static_cast<long long>(v.rank() == 3 ? v.stride(0) : v.size(-2) * v.stride(-2));
  };
  const int pitch_a = pitch(in[0]), pitch_b = pitch(in[1]), pitch_d = pitch(out[0]);
  const long long apart_a = apart(in[0]), apart_b = apart(in[1]), apart_d = apart(out[0]);
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
    if (status == CUBLAS_STATUS_SUCCESS)  // a new stream resets the workspace
      status = cublas.set_workspace(cublas.handle, cublas.workspace.data(), cublas.workspace.bytes());
    if (status == CUBLAS_STATUS_SUCCESS)
      status = cublas.gemm(cublas.handle, op_b, op_a, n, m, k, alpha, b, type_of(dtype), pitch_b, apart_b, a,
                           type_of(dtype), pitch_a, apart_a, beta, d, type_of(out_type), pitch_d, apart_d, batch,
                           compute, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? Status{} : not_measured("it refused the problem");
  };
  // Once outside any graph: the first call of a kind loads its kernel.
  if (Status first = run({}); !first.ok()) return first;
  if (Status first = synchronize(out[0].device); !first.ok()) return first;
  return Work(run);
}

const bench::RegisterPeer registered({.op = "gemm", .name = "cuBLAS", .make = make, .takes_strides = true});

// ---- cublasLt -----------------------------------------------------------------------------------------------------

struct Lt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) make_desc = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) make_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) make_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) prefer = nullptr;
  cublasLtHandle_t handle = nullptr;
  Buffer workspace;

  static const Lt& instance() {
    static const Lt loaded = load();
    return loaded;
  }

 private:
  static Lt load() {
    Lt lt;
    void* library = nullptr;
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"})
      if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return lt;
    bool all = true;
    const auto find = [&]<class F>(F& function, const char* name) {
      function = reinterpret_cast<F>(dlsym(library, name));
      all = all && function;
    };
    find(lt.create, "cublasLtCreate");
    find(lt.matmul, "cublasLtMatmul");
    find(lt.heuristic, "cublasLtMatmulAlgoGetHeuristic");
    find(lt.make_desc, "cublasLtMatmulDescCreate");
    find(lt.set, "cublasLtMatmulDescSetAttribute");
    find(lt.make_layout, "cublasLtMatrixLayoutCreate");
    find(lt.make_preference, "cublasLtMatmulPreferenceCreate");
    find(lt.prefer, "cublasLtMatmulPreferenceSetAttribute");
    auto workspace = Buffer::allocate({DeviceKind::cuda, 0}, std::size_t{64} << 20);
    if (!all || !workspace) return lt;
    lt.workspace = std::move(*workspace);
    if (lt.create(&lt.handle) != CUBLAS_STATUS_SUCCESS) lt.handle = nullptr;
    return lt;
  }
};

Result<Work> make_lt(const check::Case& c, Views in, Views out) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const Request r = *request;
  const bool tf32 = c.dtype == f32 && r.scalars.math == GemmMath::tf32;
  if (c.dtype == f64 || (c.dtype == f32 && !tf32))
    return not_measured("cublasLt is measured for the types of tensor cores only");
  const Lt& lt = Lt::instance();
  if (!lt.handle) return not_measured("cublasLt was not found");
  const Activation activation = r.scalars.activation;
  const bool bias = r.bias == GemmBias::along_n;
  if (c.dim("batch") != 1 || r.scalars.scale != 1 || r.has_c() || r.residual || r.gate || r.bias == GemmBias::along_m ||
      (activation != Activation::none && activation != Activation::relu && activation != Activation::gelu))
    return not_measured("cublasLt has no such epilogue");  // its gelu is the tanh form
  if (!has_rows(in[0]) || !has_rows(in[1]) || !has_rows(out[0])) return not_measured("it does not take such strides");
  if (bias && alignment_of(in[2].data) < 16)
    return not_measured("cublasLt is measured only if the bias is aligned to 16 bytes");
  const auto m = static_cast<std::uint64_t>(c.dim("m")), n = static_cast<std::uint64_t>(c.dim("n")),
             k = static_cast<std::uint64_t>(c.dim("k"));
  const auto pitch = [](const TensorView& v) { return v.stride(-2); };
  const auto alignment = [](const TensorView& v) { return static_cast<std::uint32_t>(alignment_of(v.data, 256)); };
  const std::uint32_t alignment_a = alignment(in[0]), alignment_b = alignment(in[1]), alignment_d = alignment(out[0]);
  const cublasOperation_t op_a = r.transposed_a() ? CUBLAS_OP_T : CUBLAS_OP_N,
                          op_b = r.transposed_b() ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasLtEpilogue_t epilogue =
      activation == Activation::relu   ? bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU
      : activation == Activation::gelu ? bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU
      : bias                           ? CUBLASLT_EPILOGUE_BIAS
                                       : CUBLASLT_EPILOGUE_DEFAULT;
  // Row-major D is column-major D^T = op(B)^T op(A)^T. Objects created here live as long as the process.
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t layout_b = nullptr, layout_a = nullptr, layout_d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  const void* bias_data = bias ? in[2].data : nullptr;
  const std::size_t workspace_bytes = lt.workspace.bytes();
  std::array<cublasLtMatmulHeuristicResult_t, 8> found{};
  int count = 0;
  const bool integers = c.dtype == i8;
  const std::int8_t fast = r.scalars.math == GemmMath::fast;
  const cublasStatus_t steps[] = {
      lt.make_desc(&desc,
                   integers ? CUBLAS_COMPUTE_32I
                   : tf32   ? CUBLAS_COMPUTE_32F_FAST_TF32
                            : CUBLAS_COMPUTE_32F,
                   integers ? CUDA_R_32I : CUDA_R_32F),
      lt.set(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
      lt.set(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof op_b),
      lt.set(desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_a, sizeof op_a),
      lt.set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue),
      bias ? lt.set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_data, sizeof bias_data) : CUBLAS_STATUS_SUCCESS,
      lt.make_layout(&layout_b, type_of(c.dtype), r.transposed_b() ? k : n, r.transposed_b() ? n : k, pitch(in[1])),
      lt.make_layout(&layout_a, type_of(c.dtype), r.transposed_a() ? m : k, r.transposed_a() ? k : m, pitch(in[0])),
      lt.make_layout(&layout_d, type_of(out[0].dtype), n, m, pitch(out[0])), lt.make_preference(&preference),
      lt.prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes),
      // For the transposed product, whose A is B.
      lt.prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment_b, sizeof alignment_b),
      lt.prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &alignment_a, sizeof alignment_a),
      lt.prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignment_d, sizeof alignment_d),
      lt.prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &alignment_d, sizeof alignment_d),
      lt.heuristic(lt.handle, desc, layout_b, layout_a, layout_d, layout_d, preference, static_cast<int>(found.size()),
                   found.data(), &count)};
  for (const cublasStatus_t status : steps)
    if (status != CUBLAS_STATUS_SUCCESS) return not_measured("cublasLt refused the problem");
  const auto run_by = [=, &lt, a = in[0].data, b = in[1].data, d = out[0].data,
                       alpha = static_cast<float>(r.scalars.alpha)](const cublasLtMatmulAlgo_t& algorithm,
                                                                    Stream stream) {
    const float beta = 0;  // of either type, all bits are 0
    const int whole_alpha = static_cast<int>(alpha);
    return lt.matmul(lt.handle, desc, integers ? static_cast<const void*>(&whole_alpha) : &alpha, b, layout_b, a,
                     layout_a, &beta, d, layout_d, d, layout_d, &algorithm, lt.workspace.data(), workspace_bytes,
                     static_cast<cudaStream_t>(stream.handle));
  };
  // The fastest of them by the least of five runs.
  cudaEvent_t start = nullptr, stop = nullptr;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  int best = -1;
  float least = 0;
  for (int i = 0; i < count; ++i)
    for (int run = 0; run < 6; ++run) {
      cudaEventRecord(start);
      if (run_by(found[static_cast<std::size_t>(i)].algo, {}) != CUBLAS_STATUS_SUCCESS) break;
      cudaEventRecord(stop);
      float ms = 0;
      if (cudaEventSynchronize(stop) != cudaSuccess || cudaEventElapsedTime(&ms, start, stop) != cudaSuccess) break;
      if (run > 0 && (best < 0 || ms < least)) best = i, least = ms;  // the first run loads the kernel
    }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  if (best < 0) return not_measured("cublasLt has no algorithm for it");
  return Work([run_by, algorithm = found[static_cast<std::size_t>(best)].algo](Stream stream) -> Status {
    return run_by(algorithm, stream) == CUBLAS_STATUS_SUCCESS ? Status{} : not_measured("cublasLt failed");
  });
}

const bench::RegisterPeer registered_lt(
    {.op = "gemm", .name = "cublasLt best", .make = make_lt, .takes_strides = true});

}  // namespace
}  // namespace ridge::gemm_detail
#endif
