// OutputFile: a file that appears under its name only when it is whole. Until commit() the bytes go to a temporary
// file beside it, which is removed when something fails.
#pragma once
#include <ridge/core/status.hpp>

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace ridge::cli {

class OutputFile {
 public:
  // Fails where the file could not be written in the end: no such folder, no permission, a folder of that name.
  static Result<OutputFile> create(const std::filesystem::path&);

  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(const void* bytes, std::size_t count);
  Status write(std::string_view text) { return write(text.data(), text.size()); }
  Status commit();

 private:
  OutputFile() = default;
  Status failed(int error) const;

  std::filesystem::path asked_, target_, temporary_;  // temporary_ is empty for a device such as /dev/null
  int descriptor_ = -1;
};

}  // namespace ridge::cli
