#include "gpu.hpp"

#include <ridge/core/device_query.hpp>

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

namespace ridge::cli::lab {
namespace {

namespace fs = std::filesystem;

// CUDA's numbers of what the driver is asked for.
constexpr int multiprocessor_count = 16, cc_major = 75, cc_minor = 76;

// The driver's library. It stays loaded: it takes no unloading.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}

  // 0, or the driver's error; -1 where it has no such function, or there is no driver.
  template <class... Arguments> int call(const char* function, Arguments... arguments) const {
    void* const found = library_ ? dlsym(library_, function) : nullptr;
    return found ? reinterpret_cast<int (*)(Arguments...)>(found)(arguments...) : -1;
  }

 private:
  void* library_;
};

Status no_gpu(const std::string& why) {
  return Status::error(Code::no_device,
                       fmt::format("lab: --time needs an NVIDIA GPU, and {}; without --time none is needed", why));
}

// Folders that may hold nvcc, in the order in which they are looked at.
std::vector<fs::path> compiler_folders() {
  std::vector<fs::path> folders;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    folders.emplace_back(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(folders.back().native().size() + 1, rest.size()));
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home && *home) folders.push_back(fs::path(home) / "bin");
  folders.emplace_back("/usr/local/cuda/bin");
  return folders;
}

}  // namespace

Result<Gpu> find_gpu() {
  const Driver driver;
  const int begun = driver.call("cuInit", 0U);
  int count = 0, device = 0;
  if (begun == -1) return no_gpu("this machine has no NVIDIA driver (libcuda.so.1)");
  if (begun != 0 || driver.call("cuDeviceGetCount", &count) != 0 || count == 0)
    return no_gpu("the driver of this machine has none");
  char name[256] = {};
  Gpu gpu;
  int major = 0, minor = 0;
  if (driver.call("cuDeviceGet", &device, 0) != 0 || driver.call("cuDeviceGetName", &name[0], 255, device) != 0 ||
      driver.call("cuDeviceGetAttribute", &gpu.sms, multiprocessor_count, device) != 0 ||
      driver.call("cuDeviceGetAttribute", &major, cc_major, device) != 0 ||
      driver.call("cuDeviceGetAttribute", &minor, cc_minor, device) != 0)
    return no_gpu("the driver of this machine does not say which it has");
  gpu.name = name;
  gpu.cc = 10 * major + minor;
  return gpu;
}

std::optional<std::string> model_of(const Gpu& gpu) {
  const DeviceInfo* const model = ridge::model_of_name(gpu.name, gpu.sms);
  return model ? std::optional(model->name) : std::nullopt;
}

Result<fs::path> find_nvcc() {
  if (const char* chosen = std::getenv("NVCC"); chosen && *chosen) return fs::path(chosen);
  for (const fs::path& folder : compiler_folders()) {
    std::error_code error;
    const fs::path nvcc = folder / "nvcc";
    if (fs::is_regular_file(nvcc, error) && access(nvcc.c_str(), X_OK) == 0) return nvcc;
  }
  return Status::error(Code::unsupported,
                       "lab: --time compiles by nvcc, which is neither on the PATH nor in CUDA_HOME; NVCC may name it");
}

}  // namespace ridge::cli::lab
