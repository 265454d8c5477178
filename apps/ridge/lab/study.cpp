#include "study.hpp"

#include "../progress.hpp"
#include "../request.hpp"
#include "../terminal.hpp"

#include <ridge/core/file.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace ridge::cli::lab {

// What the sanitizers are told: the first fault ends a run with bounds, a race does not.
static constexpr const char* asan_options = "ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:exitcode=66";
static constexpr const char* ubsan_options = "UBSAN_OPTIONS=print_stacktrace=0";
static constexpr const char* tsan_options = "TSAN_OPTIONS=exitcode=0:atexit_sleep_ms=0:history_size=4";

Result<Scratch> Scratch::make(const std::string& keep) {
  Scratch scratch;
  std::error_code error;
  if (!keep.empty()) {
    fs::create_directories(keep, error);
    scratch.folder_ = fs::absolute(keep);
    if (error) return Status::error(Code::io, fmt::format("lab: {}: {}", keep, error.message()));
    return scratch;
  }
  std::string pattern = (fs::temp_directory_path(error) / "ridge-lab-XXXXXX").string();
  if (error || !mkdtemp(pattern.data())) return Status::error(Code::io, "lab: no temporary folder can be made");
  scratch.folder_ = pattern;
  scratch.is_temporary_ = true;
  remove_on_signal(pattern.c_str());
  return scratch;
}
Scratch::Scratch(Scratch&& other) noexcept
    : folder_(std::move(other.folder_)), is_temporary_(std::exchange(other.is_temporary_, false)) {}
Scratch::~Scratch() {
  std::error_code ignored;
  if (!is_temporary_) return;
  fs::remove_all(folder_, ignored);
  remove_on_signal(nullptr);
}

Study::Study(StudyOptions options, Toolchain tools, Scratch scratch, Source source)
    : options_(std::move(options)), tools_(std::move(tools)), scratch_(std::move(scratch)), source_(std::move(source)) {
  for (const auto& file : source_.translated.files) files_.push_back(file.source);
  report_.file = options_.file;
}

Result<Study> Study::begin(StudyOptions options) {
  std::error_code error;
  if (!fs::is_regular_file(options.file, error))
    return Status::error(Code::invalid_argument, fmt::format("lab: there is no file {}", options.file));
  if (const Result<DeviceInfo> model = device_model(options.device); !model) return model.error();
  RIDGE_CLI_TAKE(tools, find_toolchain());
  RIDGE_CLI_TAKE(scratch, Scratch::make(options.keep));
  const std::vector<fs::path> folders(options.includes.begin(), options.includes.end());
  RIDGE_CLI_TAKE(translated, ridge::lab::translate_files(fs::absolute(options.file), folders, scratch.folder()));
  Source source{.translated = std::move(translated), .flags = {}};
  for (const std::string& folder : options.includes) source.flags.push_back("-I" + folder);
  for (const std::string& define : options.defines) source.flags.push_back("-D" + define);
  return Study(std::move(options), std::move(tools), std::move(scratch), std::move(source));
}

Status Study::run(const std::vector<Mode>& modes) {
  {
    const Progress progress("compiling " + options_.file);
    RIDGE_TRY(compile(tools_, source_, modes, scratch_.folder()));
  }
  for (const Mode mode : modes) RIDGE_TRY(run_one(mode));
  return {};
}

Status Study::run_one(Mode mode) {
  const bool is_first = !std::exchange(has_run_, true);
  const fs::path written = scratch_.folder() / "report.json";
  RunOptions options{.arguments = options_.arguments,
                     .environment = {"RIDGE_LAB_DEVICE=" + options_.device, asan_options, ubsan_options, tsan_options},
                     .seconds = options_.seconds,
                     .keeps_output = !is_first || options_.keeps_output};
  std::error_code ignored;
  fs::remove(written, ignored);
  options.environment.push_back("RIDGE_LAB_REPORT=" + written.string());
  Result<Run> done = run_program(scratch_.folder() / name(mode), options, scratch_.folder());
  if (!done) return done.error();
  for (const Finding& f : findings_of(done->messages, files_))
    if (std::ranges::find(report_.findings, f) == report_.findings.end()) report_.findings.push_back(f);
  const fs::path noted = written.string() + ".findings";
  if (const auto text = read_file(written)) take(Json::parse(*text, nullptr, false), mode);
  else if (const auto findings = read_file(noted))
    take_noted(*findings, mode, done->timed_out);  // else it never called CUDA
  fs::remove(noted, ignored);
  remark(mode, *done, is_first);
  if (is_first) first_ = std::move(*done);
  return {};
}

void Study::take(Json json, Mode mode) {
  if (json.is_discarded()) return;
  if (mode == Mode::trace || report_.run.is_null()) report_.run = std::move(json);
  else
    for (Json& finding : json["findings"]) report_.run["findings"].push_back(std::move(finding));
}

// Of a program that ended before it could write its report: what it had found until then.
void Study::take_noted(std::string_view text, Mode mode, bool timed_out) {
  failed_ = true;
  report_.is_whole = false;
  if (!timed_out)
    report_.remarks.push_back(fmt::format("{}: the program ended without a report, by abort() or _exit()", name(mode)));
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == line.npos) continue;
    Finding finding{
        .file = std::string(line.substr(0, first)), .line = 0, .sentence = std::string(line.substr(second + 1))};
    std::from_chars(line.data() + first + 1, line.data() + second, finding.line);
    if (std::ranges::find(report_.findings, finding) == report_.findings.end()) report_.findings.push_back(finding);
  }
}

void Study::remark(Mode mode, const Run& run, bool is_first) {
  const std::string title = fmt::format("{}: ", name(mode));
  if (run.timed_out) {
    failed_ = true;  // who knows what it would have found
    report_.is_whole = false;
    report_.remarks.push_back(title + fmt::format("stopped after {:g} s (--seconds)", options_.seconds));
    return;
  }
  const bool has_spoken = !findings_of(run.messages, files_).empty();
  const bool is_sanitizers = run.messages.find("Sanitizer: ") != run.messages.npos;
  if (is_first && !run.messages.empty() && !has_spoken && !is_sanitizers && !options_.is_quiet)
    say_lines(run.messages, stderr);
  if (run.code != 0) {
    failed_ = true;
    if (run.code > 128)
      report_.remarks.push_back(title + fmt::format("the program was ended by signal {}", run.code - 128));
    else if (!has_spoken || is_first)
      report_.remarks.push_back(title + fmt::format("the program ended with code {}", run.code));
    if (!is_first && !has_spoken && !options_.is_quiet) say_lines(run.messages, stderr);
  }
}

}  // namespace ridge::cli::lab
