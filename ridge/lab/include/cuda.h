// CUDA's driver API is not emulated; programs that include this for the runtime's names compile.
#pragma once
#include <cuda_runtime.h>
