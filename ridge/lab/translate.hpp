// Turns CUDA C++ into C++ for g++: what no compiler but nvcc reads is written differently, on the same line, so that
// messages and traces quote the user's own lines. Everything else stays as it is.
//
//   kernel<<<grid, block>>>(x, n)           a call of ridge::lab::Launch (launch.hpp)
//   extern __shared__ float s[];            a pointer to the block's dynamic shared memory
//   asm volatile("mov.u32 ..." : ...)       a call of the interpreter of PTX (ptx.hpp)
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

// Translates a file and the files that it includes in quotes, as far as they are found beside the including file or in
// `folders`, into a folder that exists.
Result<Translated> translate_files(const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders,
                                   const std::filesystem::path& to);

}  // namespace ridge::lab
