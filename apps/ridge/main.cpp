// ridge: the library on the command line. Exit code 0 is done, 1 a check that failed, 2 a request that was wrong,
// which one sentence on stderr explains.
#include "commands.hpp"
#include "lab/toolchain.hpp"
#include "terminal.hpp"

#include <ridge/core/nearest.hpp>
#include <ridge/core/output_file.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {
namespace {

int refuse(std::string_view sentence) {
  std::string line;  // one, whatever the message was made of
  for (char c : sentence)
    if (c == '\n' || c == '\r') line += line.empty() || line.back() == ' ' ? "" : "; ";
    else line += c;
  while (line.ends_with(' ') || line.ends_with(';')) line.pop_back();
  say_to(stderr, "ridge: {}\n", line);
  return exit_wrong_request;
}

int refuse_for_memory() { return refuse("the memory of this machine does not suffice for this request"); }

// A file that is being written goes with the program that a signal ends.
void end_by_signal(int signal) {
  OutputFile::remove_unfinished();
  lab::end_on_signal();
  raise(signal);  // as if nobody had caught it
}

void remove_unfinished_on_signals() {
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);  // a fiber's stack may be nearly full
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
}

std::string command_names(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

std::string nearest_commands(const CLI::App& app, std::string_view wanted) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string text;
  for (std::string_view name : nearest(wanted, known, 2)) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool has_command(const CLI::App& app, std::string_view name) {
  return !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; }).empty();
}

// What CLI11 found wrong, with the command it was found in.
int refuse_arguments(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return refuse("a command is needed, one of " + command_names(app) + "; see ridge --help");
  const std::string command = chosen.front()->get_name();
  return refuse(command + ": " + error.what() + "; see ridge " + command + " --help");
}

int run(int argc, char** argv) {
  CLI::App app{"GPU operators at the roof of the hardware: run, check, explain and measure them.", "ridge"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "ridge " RIDGE_VERSION);
  app.footer("Exit code: 0 done, 1 a check failed, 2 the request was wrong.");
  Action action;
  add_ops(app, action);
  add_devices(app, action);
  add_run(app, action);
  add_check(app, action);
  add_fuzz(app, action);
  add_explain(app, action);
  add_survey(app, action);
  add_plans(app, action);
  add_bench(app, action);
  add_trace(app, action);
  add_lab(app, action);
  add_learn(app, action);
  add_ladder(app, action);
  add_report(app, action);
  add_calibrate(app, action);
  add_completion(app, action);
  add_man(app, action);

  if (argc == 1) {
    fmt::print("{}", app.help());
    return exit_done;
  }
  if (argc > 1 && argv[1][0] != '-' && !has_command(app, argv[1]))
    return refuse(fmt::format("there is no command '{}'; the nearest are {} (ridge --help lists all)", argv[1],
                              nearest_commands(app, argv[1])));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);  // --help
    return refuse_arguments(app, error);
  }
  const Result<int> code = action();
  if (!code) return refuse(code.error().message());
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return refuse(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
  return *code;
}

}  // namespace
}  // namespace ridge::cli

int main(int argc, char** argv) {
  ridge::cli::remove_unfinished_on_signals();
  try {
    return ridge::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return ridge::cli::refuse_for_memory();
  } catch (const std::length_error&) {
    return ridge::cli::refuse_for_memory();
  } catch (const std::exception& error) {
    return ridge::cli::refuse(error.what());
  }
}
