// Which compiler a kernel's launch comes from. Every operator's .cu file is compiled once for the CPU runtime and,
// where there is nvcc, once for CUDA; both define launch<Backend>() for their own tag.
#pragma once

namespace ridge::simt {

struct Cpu {};
struct Cuda {};
struct Hip {};

}  // namespace ridge::simt
