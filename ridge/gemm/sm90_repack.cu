// Launches the operand copies that a plan asks for.
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/repack.hpp>
#include <ridge/gemm/sm90_repack.cuh>

#include <bit>

namespace ridge::gemm_detail {
namespace {

using namespace gemm_kernels;

struct Source {
  const void* data;
  const GemmOperand& layout;
  std::int64_t outer, k, outer_stride, k_stride;
  Major major;
  const Repacked& to;
  unsigned batch;
};

bool keeps_rows(const Source& s, std::int64_t low) { return low == 0 && s.major == s.to.major; }

RowCopy row_copy(const Source& s, unsigned char* workspace, std::int64_t size) {
  const bool along_k = s.major == Major::k;
  RowCopy copy{.from = static_cast<const unsigned char*>(s.data),
               .to = workspace + s.to.offset,
               .rows = along_k ? s.outer : s.k,
               .row_bytes = (along_k ? s.k : s.outer) * size,
               .from_pitch = (along_k ? s.outer_stride : s.k_stride) * size,
               .to_pitch = s.to.pitch * size,
               .from_batch = s.layout.batch_stride * size,
               .to_batch = s.to.batch_stride * size,
               .batch = s.batch};
  const auto vectors = static_cast<std::uint64_t>((copy.row_bytes + vector_bytes - 1) / vector_bytes);
  while (copy.lanes_log2 < std::countr_zero(static_cast<unsigned>(copy_threads)) &&
         (std::uint64_t{1} << copy.lanes_log2) < vectors)
    ++copy.lanes_log2;
  return copy;
}

template <class T> TransposeJob<T> transpose_of(const Source& s, unsigned char* workspace, std::int64_t low) {
  const bool along_k = s.to.major == Major::k;  // else the axes swap names
  return {.from = static_cast<const T*>(s.data),
          .to = reinterpret_cast<T*>(workspace + s.to.offset),
          .outer = along_k ? s.outer : s.k,
          .k = along_k ? s.k : s.outer,
          .outer_stride = along_k ? s.outer_stride : s.k_stride,
          .k_stride = along_k ? s.k_stride : s.outer_stride,
          .from_batch = s.layout.batch_stride,
          .pitch = s.to.pitch,
          .to_batch = s.to.batch_stride,
          .low = low,
          .batch = s.batch,
          .neighbours_k = s.major == s.to.major};
}

// Blocks of a job in x.
std::int64_t blocks_of(const RowCopy& copy) {
  const std::int64_t rows_at_a_time = copy_threads >> copy.lanes_log2, most = 1 << 20;
  return std::min((copy.rows + rows_at_a_time - 1) / rows_at_a_time, most);
}
template <class T> std::int64_t blocks_of(const TransposeJob<T>& job) {
  return (job.outer + transpose_outer - 1) / transpose_outer * ((job.k + transpose_k<T> - 1) / transpose_k<T>);
}

template <class Job> Status launch_jobs(const Jobs<Job>& jobs, void (*kernel)(Jobs<Job>), int threads, Stream stream) {
  std::int64_t blocks = 0;
  unsigned batch = 0;
  for (unsigned i = 0; i < jobs.count; ++i) {
    blocks = std::max(blocks, blocks_of(jobs.job[i]));
    batch = std::max(batch, jobs.job[i].batch);
  }
  return simt::launch({.grid = dim3(static_cast<unsigned>(blocks), batch, jobs.count),  // 0 blocks: no launch
                       .block = dim3(static_cast<unsigned>(threads)),
                       .stream = stream.handle},
                      kernel, jobs);
}

}  // namespace

Status launch_repack(const Arguments& args, const Repack& repack) {
  const GemmProblem& p = args.problem;
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  const auto batch_of = [&](const GemmOperand& o) { return o.batch_stride ? static_cast<unsigned>(p.batch) : 1u; };
  const GemmOperand& gate = p.gate_layout ? *p.gate_layout : *p.b;  // a placeholder where there is no gate
  const Source sources[] = {
      {args.tensors.a.data, *p.a, p.m, p.k, p.a->row_stride, p.a->col_stride, major_of_a(p), repack.a, batch_of(*p.a)},
      {args.tensors.b.data, *p.b, p.n, p.k, p.b->col_stride, p.b->row_stride, major_of_b(p), repack.b, batch_of(*p.b)},
      {p.gate_layout ? args.tensors.gate->data : nullptr, gate, p.n, p.k, gate.col_stride, gate.row_stride,
       p.gate_layout ? major_of_gate(p) : Major::none, repack.gate, batch_of(gate)}};
  auto* workspace = static_cast<unsigned char*>(args.workspace.data);
  Jobs<RowCopy> copies{};
  for (const Source& s : sources)
    if (s.to.needed && keeps_rows(s, repack.low)) copies.job[copies.count++] = row_copy(s, workspace, size);
  RIDGE_TRY(launch_jobs(copies, copy_rows, copy_threads, args.stream));
  const auto transpose_all = [&]<class T, bool Parts>() {
    Jobs<TransposeJob<T>> transposes{};
    for (const Source& s : sources)
      if (s.to.needed && !keeps_rows(s, repack.low))
        transposes.job[transposes.count++] = transpose_of<T>(s, workspace, repack.low);
    return launch_jobs(transposes, transpose_operand<T, Parts>, transpose_threads, args.stream);
  };
  if (repack.low) return transpose_all.template operator()<float, true>();
  switch (size) {
    case 1: return transpose_all.template operator()<std::uint8_t, false>();
    case 2: return transpose_all.template operator()<std::uint16_t, false>();
    default: return transpose_all.template operator()<float, false>();
  }
}

}  // namespace ridge::gemm_detail
