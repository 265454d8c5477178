// The same in a unit with kernels.
#pragma once
#include <cuda_runtime.h>

#include <musa_runtime_api.h>
