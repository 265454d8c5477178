// What the sanitizers' reports say of a user's files, in a sentence each.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::lab {

struct Finding {
  std::string file;
  int line = 0;
  std::string sentence;
  bool operator==(const Finding&) const = default;
};

// Of the text of AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer. Frames outside of `files` are passed
// over. Each finding once.
std::vector<Finding> findings_of(std::string_view messages, const std::vector<std::filesystem::path>& files);

}  // namespace ridge::cli::lab
