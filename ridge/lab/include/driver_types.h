// The types of CUDA's runtime API.
#pragma once
#include <cuda_runtime.h>
