// The host's part of CUDA's runtime API.
#pragma once
#include <cuda_runtime.h>
