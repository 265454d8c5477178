// OutputFile: a file that appears under its name only when it is whole. Until commit() the bytes go to a temporary
// file beside it, which is removed when something fails. A pipe or a device takes the bytes as they come.
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
  // Where a path leads: equal for two paths to the same file, however they are spelled.
  struct Place {
    std::uint64_t device = 0, number = 0;  // of a pipe or device; of the folder where there is a name
    std::string name;
    bool standard_output = false;  // what a program prints ends there too
    bool operator==(const Place&) const = default;
  };

  // Fails where the file could not be written in the end: no such folder, no permission, a folder of that name. A pipe
  // is opened here, which waits for its reader.
  RIDGE_API static Result<OutputFile> create(const std::filesystem::path&);
  // Fails where create() would. It leaves nothing behind, and opens no pipe: the reader would find its end.
  RIDGE_API static Result<Place> check(const std::filesystem::path&);

  RIDGE_API OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  RIDGE_API ~OutputFile();

  RIDGE_API Status write(const void* bytes, std::size_t count);
  Status write(std::string_view text) { return write(text.data(), text.size()); }
  // Nothing more will be written. What commit() may still fail at is then no want of space.
  RIDGE_API Status finish();
  RIDGE_API Status commit();

  // Removes the temporary files of this process: for a signal that ends it. Safe inside a handler.
  RIDGE_API static void remove_unfinished() noexcept;

 private:
  OutputFile() = default;
  static Result<OutputFile> find(const std::filesystem::path&);
  Status open_device();
  Status open_temporary();
  Status failed(int error) const;

  std::filesystem::path asked_;
  Place place_;
  unsigned mode_ = 0;       // of a file that is there already
  bool is_device_ = false;  // or a pipe: nothing to rename
  int folder_ = -1, descriptor_ = -1;
  std::string temporary_;  // its name in the folder; empty: there is none
  int slot_ = -1;          // where remove_unfinished() finds it
};

}  // namespace ridge
