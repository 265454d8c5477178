// Small files as a whole.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace ridge {

// All that is in it; nothing where it cannot be read, or is no file: a pipe or a device may never end.
std::optional<std::string> read_file(const std::filesystem::path&);

// Writes it under another name first, so that whoever reads it finds the old text or the new one.
// False where it cannot.
bool replace_file(const std::filesystem::path&, std::string_view text);

}  // namespace ridge
