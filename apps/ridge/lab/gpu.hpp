// The NVIDIA GPU of this machine, and the compiler for it: asked of the driver itself, since a Ridge that was built
// without CUDA times programs all the same.
#pragma once
#include <ridge/core/status.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ridge::cli::lab {

struct Gpu {
  std::string name;  // "NVIDIA H200"
  int cc = 0;        // 90 for 9.0
  int sms = 0;
};
Result<Gpu> find_gpu();  // the one that programs get without asking: the driver's first

// The name of the device model that this GPU is; none where there is no model, or only that of another size (a PCIe
// card, a laptop's, a part of a GPU).
std::optional<std::string> model_of(const Gpu&);

Result<std::filesystem::path> find_nvcc();  // $NVCC, or as PATH, CUDA_HOME, CUDA_PATH or the usual folder have it

}  // namespace ridge::cli::lab
