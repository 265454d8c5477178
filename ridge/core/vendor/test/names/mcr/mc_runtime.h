// The same in a unit with kernels.
#pragma once
#include <cuda_runtime.h>

#include <mcr/mc_runtime_api.h>
