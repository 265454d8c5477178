// Reading and writing small files as a whole.
#pragma once
#include <ridge/core/api.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace ridge {

// The file's contents; nothing where it cannot be read or is not a regular file: a pipe or a device may never end.
RIDGE_API std::optional<std::string> read_file(const std::filesystem::path&);

// Writes the file under another name first, so that a reader finds either the old text or the new one. Returns false on
// failure.
RIDGE_API bool replace_file(const std::filesystem::path&, std::string_view text);

}  // namespace ridge
