// Tuning: which variant was the fastest of a problem on a device, as this version of the library measured it: when a
// plan first ran (tuning/tuned_plan.hpp), or by `ridge bench --all-variants --tune FILE`.
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

// "0", "1" or "read"; nothing: it is none of them.
RIDGE_API std::optional<TuneMode> tune_mode_of(std::string_view);

// For the process, from now on, whatever the environment says.
RIDGE_API void set_tuning(TuneMode);
// What holds now: as set, else as the environment says; or a sentence: RIDGE_TUNE is something else.
RIDGE_API Result<TuneMode> tuning_mode();
// Where choices are kept.
RIDGE_API std::filesystem::path tuning_path();

class Tuning {
 public:
  // All of a file, or a sentence: that it cannot be read, is another program's, or where it is corrupt. A text file:
  //   ridge tuning 2
  //   VERSION <tab> DEVICE <tab> OPERATOR <tab> PROBLEM <tab> VARIANT <tab> MICROSECONDS      and so on, a line each
  RIDGE_API static Result<Tuning> read(const std::filesystem::path&);
  // Of a file's text; the sentence names the file.
  RIDGE_API static Result<Tuning> parse(std::string_view text, const std::filesystem::path&);
  RIDGE_API std::string text() const;
  // What the file at tuning_path() has. Where there is none nothing, or, if RIDGE_TUNE_CACHE names it and it is to be
  // read alone, a sentence.
  RIDGE_API static Result<Tuning> kept(TuneMode);
  // The same, read once per process, as the environment said then; null where tuning was off.
  RIDGE_API static Result<const Tuning*> from_environment();

  RIDGE_API Status write(const std::filesystem::path&) const;  // under its name only when it is whole
  // Adds these entries to what the file has by now, and makes its folder where there is none. Others who do the same
  // wait meanwhile, in this process and in others.
  RIDGE_API Status add_to(const std::filesystem::path&) const;

  struct Entry {
    std::string variant;
    double us = 0;
    bool operator==(const Entry&) const = default;
  };
  // Null: this version has not measured it. `problem` is the text that the operator's Explanation has.
  RIDGE_API const Entry* find(std::string_view device, std::string_view op, std::string_view problem) const;
  RIDGE_API void set(std::string_view device, std::string_view op, std::string_view problem, Entry);
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;  // by the first four fields, as they stand in the file
};

}  // namespace ridge
