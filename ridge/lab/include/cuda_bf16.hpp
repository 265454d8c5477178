// nvcc's name for the bodies of the functions of cuda_bf16.h.
#pragma once
#include <ridge/lab/bfloat16.hpp>
#include <ridge/lab/half.hpp>
