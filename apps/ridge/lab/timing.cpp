#include "timing.hpp"

#include "../progress.hpp"
#include "../request.hpp"
#include "../terminal.hpp"

#include <ridge/core/file.hpp>
#include <ridge/lab/timed.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace ridge::cli::lab {
namespace {

// What nvcc is told, besides its own name.
std::vector<std::string> compiler_arguments(const Gpu& gpu, const Toolchain& tools, const StudyOptions& options,
                                            const ridge::lab::Translated& timed, const fs::path& program) {
  std::vector<std::string> arguments{"-std=c++20", "-O3", "-w", fmt::format("-arch=sm_{}", gpu.cc)};
  // What g++ takes without asking.
  arguments.insert(arguments.end(), {"--extended-lambda", "--expt-relaxed-constexpr", "-Xcompiler", "-pthread"});
  const auto launches_itself = [](const auto& file) {
    return ridge::lab::has_launches_of_kernels(read_file(file.copy).value_or(""));
  };
  if (std::ranges::any_of(timed.files, launches_itself)) arguments.push_back("-rdc=true");
  arguments.insert(arguments.end(), {"-I", timed.files[0].source.parent_path().string()});
  for (const std::string& folder : options.includes) arguments.insert(arguments.end(), {"-I", folder});
  for (const std::string& define : options.defines) arguments.push_back("-D" + define);
  arguments.insert(arguments.end(), {"-include", (tools.headers / "ridge/lab/launch_timer.hpp").string(), "-x", "cu",
                                     timed.files[0].copy.string(), "-o", program.string()});
  return arguments;
}

Status compile(const fs::path& nvcc, std::vector<std::string> arguments, const StudyOptions& options,
               const fs::path& folder) {
  const Progress progress(fmt::format("compiling {} by nvcc", options.file));
  RIDGE_CLI_TAKE(
      done,
      run_program(nvcc, {.arguments = std::move(arguments), .environment = {}, .seconds = 0, .keeps_output = true},
                  folder));
  if (done.code == 0) return {};
  say_lines(first_lines(done.messages, 24), stderr);
  return Status::error(Code::unsupported,
                       fmt::format("lab: {} does not compile {}; its messages are above", nvcc.string(), options.file));
}

}  // namespace

Result<Timing> time_on(const Gpu& gpu, const fs::path& nvcc, const StudyOptions& options) {
  RIDGE_CLI_TAKE(tools, find_toolchain());
  RIDGE_CLI_TAKE(scratch, Scratch::make(options.keep.empty() ? "" : options.keep + "/time"));
  const std::vector<fs::path> folders(options.includes.begin(), options.includes.end());
  RIDGE_CLI_TAKE(timed, ridge::lab::translate_files(fs::absolute(options.file), folders, scratch.folder(),
                                                    ridge::lab::time_launches));
  const fs::path program = scratch.folder() / "timed", times = scratch.folder() / "times.jsonl";
  RIDGE_TRY(compile(nvcc, compiler_arguments(gpu, tools, options, timed, program), options, scratch.folder()));
  std::error_code ignored;
  fs::remove(times, ignored);  // of a run before, in a folder that was kept
  RIDGE_CLI_TAKE(run, run_program(program,
                                  {.arguments = options.arguments,
                                   // Kernels are loaded at once, else each one's first launch would wait for it.
                                   .environment = {"RIDGE_LAB_TIMES=" + times.string(), "CUDA_MODULE_LOADING=EAGER"},
                                   .seconds = options.seconds,
                                   .keeps_output = options.keeps_output},
                                  scratch.folder()));
  return Timing{.times = read_file(times).value_or(""), .run = std::move(run)};
}

}  // namespace ridge::cli::lab
