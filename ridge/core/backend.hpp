// Tags of the compilers that a kernel's launch comes from. Every operator's .cu file is compiled once for the CPU
// runtime and, where there is nvcc, once for CUDA; each compilation defines launch<Backend>() for its own tag.
#pragma once

namespace ridge::simt {

struct Cpu {};
struct Cuda {};
struct Hip {};

}  // namespace ridge::simt
