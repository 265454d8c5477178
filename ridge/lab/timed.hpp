// The copy of a user's file that nvcc compiles with every launch of the host timed; on the user's own lines, as
// translate.hpp's is. launch_timer.hpp, which nvcc includes first, has what it calls.
//
//   kernel<<<grid, block>>>(x, n)   (begin_launch(site, configuration), kernel<<<the same>>>(x, n), end_launch())
//   cudaLaunchKernel(kernel, ...)   a call that does the same
//   cudaDeviceReset()               first what was timed is read
//   #include "common.cuh"           the copy of that file
//
// The launch stays one expression without a value, so that it may stand wherever it stood: after an if without braces,
// in a macro, behind return. Kernels' own launches stay as they are.
#pragma once
#include <ridge/lab/translate.hpp>

#include <string>
#include <string_view>

namespace ridge::lab {

// One file's text. A refusal names file and line.
Result<std::string> time_launches(std::string_view text, const std::string& file_name, FindInclude = {});

// Whether a text of time_launches() has launches from kernels, for which nvcc must be told -rdc=true.
bool has_launches_of_kernels(std::string_view timed);

}  // namespace ridge::lab
