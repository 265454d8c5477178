// Tensor cores by CUDA C++'s WMMA interface, from Ampere on: the step of the ladder before sm80_mma.hpp.
#pragma once
#include <ridge/gemm/sm80_mma.hpp>

namespace ridge::gemm_kernels {

// A warp has a tile of D of wm x wn.
constexpr int wmma_threads(const Config& c) { return mma_threads(c); }

// An instruction multiplies 16 x 16 by 16 x 16. Rows of tiles of 16-bit elements in shared memory are padded by 16
// bytes, so that consecutive ones begin in different banks.
inline constexpr int wmma_edge = 16;
constexpr int wmma_pitch(int elements) { return elements + 8; }
constexpr int wmma_smem_bytes(const Config& c) {
  const int operands = 2 * (c.bm * wmma_pitch(c.bk) + c.bk * wmma_pitch(c.bn));
  return std::max(operands, wmma_threads(c) / 32 * wmma_edge * wmma_edge * 4);
}

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail::wmma {

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = refuse_before_ampere(device); !why.empty()) return why;
  if (std::string why = refuse_launch(c, p, wmma_smem_bytes(c), device); !why.empty()) return why;
  if (std::string why = refuse_all_but_nn(row, p); !why.empty()) return why;
  return refuse_operands(c, p);
}

// Like a step of mma.sync, with every wait exposed.
inline Step step_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, double resident) {
  const double clocks = mma_sync::step_of(c, p, device, resident).clocks;
  return {clocks + (load_latency + 2 * barrier_clocks) / resident, "waits for every step's operands"};
}

inline TileBlock block_of(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  TileBlock block = mma_sync::block_of(c, p, device);
  block.smem = wmma_smem_bytes(c);
  block.step_of = step_of;
  block.memory_us = nullptr;
  return block;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr KernelFamily family = block_per_tile<fits, block_of, lesson>;

}  // namespace ridge::gemm_detail::wmma
