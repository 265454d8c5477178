// __nv_fp8_e4m3 and __nv_fp8_e5m2, and vectors of two and four of them.
#pragma once
#include <ridge/lab/float8.hpp>
