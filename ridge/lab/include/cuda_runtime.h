// CUDA's runtime API: the emulated one, which g++ has read before the program's first line.
#pragma once
#include <ridge/lab/cuda.hpp>
