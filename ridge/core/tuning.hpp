// Tuning: which variant was the fastest of a problem on a device,
// as `ridge bench --all-variants --tune FILE` measured it.
//
// A plan takes it as an argument, so that it stays a pure function. Plans by name and the one-line functions read the
// file that RIDGE_TUNE_CACHE names, once per process; nothing but the command above writes it.
#pragma once
#include <ridge/core/status.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace ridge {

class Tuning {
 public:
  // All of a file, or a sentence: that it cannot be read, is another program's, or where it is corrupt. A text file:
  //   ridge tuning 1
  //   DEVICE <tab> OPERATOR <tab> PROBLEM <tab> VARIANT <tab> MICROSECONDS          and so on, a line each
  RIDGE_API static Result<Tuning> read(const std::filesystem::path&);
  // The file that RIDGE_TUNE_CACHE names; null where it names none.
  RIDGE_API static Result<const Tuning*> from_environment();

  RIDGE_API Status write(const std::filesystem::path&) const;  // under its name only when it is whole

  struct Entry {
    std::string variant;
    double us = 0;
    bool operator==(const Entry&) const = default;
  };
  // Null: it was not measured. `problem` is the text that the operator's Explanation has.
  RIDGE_API const Entry* find(std::string_view device, std::string_view op, std::string_view problem) const;
  RIDGE_API void set(std::string_view device, std::string_view op, std::string_view problem, Entry);
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;  // by the first three fields, as they stand in the file
};

// A static of this type says that the plans of an operator look into a Tuning.
struct RIDGE_API RegisterTuned {
  explicit RegisterTuned(std::string_view op);
};
RIDGE_API bool is_tuned(std::string_view op);

}  // namespace ridge
