// OutputFile: a file that appears under its name only when it is complete. Until commit() the bytes go to a temporary
// file beside it, which is removed on failure. A pipe or a device gets the bytes directly.
#pragma once
#include <ridge/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ridge {

class OutputFile {
 public:
  // The file that a path leads to: equal for two paths to one file, however they are spelled.
  struct Place {
    std::uint64_t device = 0, number = 0;  // of the pipe or device; of the folder, where `name` is set
    std::string name;
    bool standard_output = false;  // standard output leads to the same file
    bool operator==(const Place&) const = default;
  };

  // Fails where the file cannot be written: no such folder, no permission, a folder of that name. Opens a pipe, which
  // waits for its reader.
  RIDGE_API static Result<OutputFile> create(const std::filesystem::path&);
  // Fails where create() would. It leaves no file behind, and opens no pipe: the reader would see the end of the pipe.
  RIDGE_API static Result<Place> check(const std::filesystem::path&);

  RIDGE_API OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  RIDGE_API ~OutputFile();

  RIDGE_API Status write(const void* bytes, std::size_t count);
  Status write(std::string_view text) { return write(text.data(), text.size()); }
  // Ends writing. A full disk is reported here and not by commit().
  RIDGE_API Status finish();
  RIDGE_API Status commit();

  // Removes the temporary files of this process, for a signal that ends it. Safe inside a signal handler.
  RIDGE_API static void remove_unfinished() noexcept;

 private:
  OutputFile() = default;
  static Result<OutputFile> find(const std::filesystem::path&);
  Status open_device();
  Status open_temporary();
  Status failed(int error) const;

  std::filesystem::path asked_;
  Place place_;
  unsigned mode_ = 0;       // of an existing file
  bool is_device_ = false;  // a device or a pipe: nothing to rename
  int folder_ = -1, descriptor_ = -1;
  std::string temporary_;  // the temporary file's name in the folder; empty: there is none
  int slot_ = -1;          // its slot, for remove_unfinished()
};

}  // namespace ridge
