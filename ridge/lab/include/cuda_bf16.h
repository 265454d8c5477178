// __nv_bfloat16 and __nv_bfloat162. As nvcc's, it brings the types of cuda_fp16.h.
#pragma once
#include <ridge/lab/bfloat16.hpp>
#include <ridge/lab/half.hpp>
