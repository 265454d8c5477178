// nvcc's name for the bodies of the functions of cuda_fp8.h.
#pragma once
#include <ridge/lab/float8.hpp>
