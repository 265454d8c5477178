// Launches from kernels are not emulated; the runtime's names are here.
#pragma once
#include <cuda_runtime.h>
