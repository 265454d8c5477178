// nvcc's name for the bodies of the functions of cuda_fp16.h.
#pragma once
#include <ridge/lab/half.hpp>
