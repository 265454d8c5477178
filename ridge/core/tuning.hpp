// Tuning: the fastest variant for a problem on a device, as this version of the library measured it when a plan first
// ran (tuning/tuned_plan.hpp), or by `ridge bench --all-variants --tune FILE`.
//
// Typed plans (plan_gemm) take it as an argument, so that they stay pure functions.
#pragma once
#include <ridge/core/status.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ridge {

enum class TuneMode : std::uint8_t { off, read, measure };

// Parses "0", "1" or "read"; nothing for any other text.
RIDGE_API std::optional<TuneMode> tune_mode_of(std::string_view);

// Sets the mode for the process from now on, whatever the environment says.
RIDGE_API void set_tuning(TuneMode);
// The current mode: as set, else as the environment says; an error where RIDGE_TUNE has another value.
RIDGE_API Result<TuneMode> tuning_mode();
// The file of measured choices.
RIDGE_API std::filesystem::path tuning_path();

class Tuning {
 public:
  // Reads a file, or fails with a sentence: it cannot be read, is another program's, or is corrupt at a line. Its text:
  //   ridge tuning 2
  //   VERSION <tab> DEVICE <tab> OPERATOR <tab> PROBLEM <tab> VARIANT <tab> MICROSECONDS      one line per entry
  RIDGE_API static Result<Tuning> read(const std::filesystem::path&);
  // The same from a file's text; an error names the file.
  RIDGE_API static Result<Tuning> parse(std::string_view text, const std::filesystem::path&);
  RIDGE_API std::string text() const;
  // The entries of the file at tuning_path(). Without a file: none, or an error if RIDGE_TUNE_CACHE names the file and
  // the mode is `read`.
  RIDGE_API static Result<Tuning> kept(TuneMode);
  // The same, read once per process by the environment at that time; null where tuning was off.
  RIDGE_API static Result<const Tuning*> from_environment();

  RIDGE_API Status write(const std::filesystem::path&) const;  // the file appears only when it is complete
  // Adds these entries to the file's current ones, and makes its folder where there is none. Other calls wait
  // meanwhile, in this process and in others.
  RIDGE_API Status add_to(const std::filesystem::path&) const;

  struct Entry {
    std::string variant;
    double us = 0;
    bool operator==(const Entry&) const = default;
  };
  // Null: this version has not measured the problem. `problem` is the text in the operator's Explanation.
  RIDGE_API const Entry* find(std::string_view device, std::string_view op, std::string_view problem) const;
  RIDGE_API void set(std::string_view device, std::string_view op, std::string_view problem, Entry);
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;  // keyed by the first four fields, as in the file
};

}  // namespace ridge
