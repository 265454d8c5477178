// Tags of the compilers that a kernel's launch comes from. Every operator's .cu file is compiled once for the CPU
// runtime and, where there is a GPU's compiler, once for that GPU; each compilation defines launch<Backend>() for its
// own tag.
#pragma once

namespace ridge::simt {

struct Cpu {};
struct Cuda {};
struct Hip {};
struct Musa {};
struct Maca {};
struct Iluvatar {};

}  // namespace ridge::simt
