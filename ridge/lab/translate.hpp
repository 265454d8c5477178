// Turns CUDA C++ into C++ for g++: what no compiler but nvcc reads is written differently, on the same line, so that
// messages and traces quote the user's own lines. Everything else stays as it is.
//
//   kernel<<<grid, block>>>(x, n)           a call of ridge::lab::Launch (launch.hpp)
//   (const void*)kernel                     the same, and the runtime is told which kernel it is (runtime_kernels.hpp)
//   extern __shared__ float s[];            a pointer to the block's dynamic shared memory
//   __shared__ float s[n];                  the same, and an assertion that a block has room for it
//   asm volatile("mov.u32 ..." : ...)       a call of the interpreter of PTX (ptx.hpp)
//   #pragma unroll 4                        g++'s own, where it traces (unroll_text.hpp)
//   #include "common.cuh"                   the translated copy of that file
#pragma once
#include <ridge/core/status.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::lab {

// The path to include instead of a name, where there is one.
using FindInclude = std::function<std::optional<std::string>(std::string_view)>;

// One file's text. A refusal names file and line.
Result<std::string> translate(std::string_view text, const std::string& file_name, FindInclude = {});

struct Translated {
  struct File {
    std::filesystem::path source, copy;
  };
  std::vector<File> files;  // the user's first, then those that it includes
};

// How a file's text is written: translate(), or time_launches() of timed.hpp.
using Translation = Result<std::string>(std::string_view text, const std::string& file_name, FindInclude);

// Translates a file and the files that it includes in quotes, as far as they are found beside the including file or in
// `folders`, into a folder that exists.
Result<Translated> translate_files(const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders,
                                   const std::filesystem::path& to, Translation& = translate);

}  // namespace ridge::lab
