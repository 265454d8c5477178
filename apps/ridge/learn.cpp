// ridge learn: exercises in CUDA with a hole each, checked without a GPU.
#include "commands.hpp"
#include "learn/check.hpp"
#include "learn/course.hpp"
#include "learn/progress_file.hpp"
#include "request.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/core/file.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;
using learn::Course;
using learn::Exercise;
using learn::ProgressFile;

struct Request {
  std::string action = "list", name, file;
  bool all = false, trace = false;
};

Status refuse(const std::string& sentence) { return Status::error(Code::invalid_argument, "learn: " + sentence); }

Result<int> list(const Course& course) {
  const ProgressFile progress;
  Table table({{"", Align::right}, {"exercise"}, {"done"}, {"teaches"}});
  std::size_t done = 0;
  for (const Exercise& e : course) {
    done += progress.is_done(e.name);
    table.add({std::to_string(e.number), e.name, progress.is_done(e.name) ? "yes" : "", e.teaches});
  }
  table.print();
  say("{} of {} done\n", done, course.size());
  return exit_done;
}

void say_goals(const Exercise& exercise) {
  say("goal: the right result, no race, nothing out of bounds{}\n", exercise.goals.empty() ? "" : ", and");
  for (const learn::Goal& goal : exercise.goals) say("  {}\n", goal.goal);
}

Result<int> start(const Exercise& exercise, const std::string& file) {
  const std::string path = file.empty() ? exercise.name + ".cu" : file;
  std::error_code error;
  if (fs::exists(path, error))
    return refuse(fmt::format("{} exists; name another file: ridge learn start {} FILE", path, exercise.name));
  const auto text = read_file(exercise.start());
  if (!text) return refuse(exercise.start().string() + " cannot be read");
  if (!replace_file(path, *text)) return refuse(path + " cannot be written");
  say("{}. {}, in {}\n\n", exercise.number, exercise.title, path);
  say_lines(learn::opening_comment(*text));
  say("\n");
  say_goals(exercise);
  say("then: ridge learn check {}   (stuck: ridge learn hint {})\n", path, exercise.name);
  return exit_done;
}

Result<int> check_file(const Course& course, const std::string& file, bool only_trace) {
  RIDGE_CLI_TAKE(exercise, learn::exercise_of(course, file));
  RIDGE_CLI_TAKE(verdict, learn::check(exercise, file, only_trace));
  say("{}: {}\n", verdict.passed ? "passed" : "failed", verdict.text);
  if (!verdict.source.empty()) say("    {}\n", verdict.source);
  if (!verdict.passed) {
    say("stuck: ridge learn hint {}\n", exercise.name);
    return exit_check_failed;
  }
  if (only_trace) return exit_done;  // not looked at for races
  ProgressFile().set_done(exercise.name);
  const auto next = static_cast<std::size_t>(exercise.number);
  if (next < course.size()) say("next: ridge learn start {}\n", course[next].name);
  return exit_done;
}

Result<int> hint(const Exercise& exercise, bool all) {
  const std::vector<std::string> hints = learn::hints_of(exercise);
  ProgressFile progress;
  const std::size_t shown = all ? 0 : progress.hints_shown(exercise.name);
  if (shown >= hints.size()) {
    say("there are no more hints (--all shows them again); ridge learn solution {}\n", exercise.name);
    return exit_done;
  }
  const std::size_t end = all ? hints.size() : shown + 1;
  for (std::size_t i = shown; i < end; ++i) say_lines(fmt::format("{}. {}\n", i + 1, hints[i]));
  if (end > progress.hints_shown(exercise.name)) progress.set_hints_shown(exercise.name, end);
  return exit_done;
}

Result<int> solution(const Exercise& exercise) {
  const auto text = read_file(exercise.solution());
  if (!text) return refuse(exercise.solution().string() + " cannot be read");
  say_lines(*text);
  return exit_done;
}

Result<int> learn_by(const Request& request) {
  RIDGE_CLI_TAKE(course, learn::load_course());
  if (request.action == "list") return list(course);
  const bool is_check = request.action == "check";
  if (request.name.empty())
    return refuse(
        fmt::format("{} needs {}", request.action, is_check ? "a file" : "an exercise; ridge learn list has all"));
  if (!request.file.empty() && request.action != "start")
    return refuse(fmt::format("{} takes one argument, and got {} besides", request.action, request.file));
  if (is_check) return check_file(course, request.name, request.trace);
  RIDGE_CLI_TAKE(exercise, learn::find_exercise(course, request.name));
  if (request.action == "start") return start(exercise, request.file);
  if (request.action == "hint") return hint(exercise, request.all);
  return solution(exercise);
}

}  // namespace

void add_learn(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("learn", "Exercises in CUDA without a GPU, each with a hole to fill");
  command->footer(
      "ridge learn list            the exercises in order, and which are done\n"
      "ridge learn start NAME      writes the exercise to NAME.cu, or FILE, and says what to do\n"
      "ridge learn check FILE      compiles and runs it as ridge lab does: the result, races, bounds, and the goal\n"
      "ridge learn hint NAME       the next hint; --all: all of them\n"
      "ridge learn solution NAME   a solution, and why it is fast\n\n"
      "A number may stand for NAME. Progress is kept in $XDG_STATE_HOME/ridge/learn.json (~/.local/state).\n\n" +
      app.get_footer());
  command->add_option("ACTION", request->action, "list, start, check, hint or solution (default: list)")
      ->check(CLI::IsMember({"list", "start", "check", "hint", "solution"}));
  command->add_option("NAME", request->name, "An exercise; of check, a file");
  command->add_option("FILE", request->file, "Where start writes it (default: NAME.cu)");
  command->add_flag("--all", request->all, "All hints");
  command->add_flag("--trace", request->trace, "Check without bounds and races: faster, and progress is not kept");
  command->callback([=, &action] { action = [request] { return learn_by(*request); }; });
}

}  // namespace ridge::cli
