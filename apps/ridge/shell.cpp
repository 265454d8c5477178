// ridge completion, ridge man: what shells and man(1) know of this program, made from its own commands and operators.
#include "commands.hpp"
#include "request.hpp"

#include <ridge/core/device.hpp>
#include <ridge/core/op.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {
namespace {

using Commands = std::vector<const CLI::App*>;

Commands commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> named;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_lnames().empty()) named.push_back(option);
  return named;
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// What a case or an operator's argument may begin with.
std::vector<std::string> operators_and_families() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  for (const OpInfo* op : ops()) add(op->name), add(op->family);
  return names;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names{"cpu", "cuda"};
  for (const DeviceInfo& model : device_models()) names.push_back(model.name);
  return names;
}

// For zsh too, by its bashcompinit.
void print_bash(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  std::puts(
      "_ridge() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=");
  fmt::print("  if [[ $COMP_CWORD -eq 1 ]]; then words='{} --help --version'\n", joined(names));
  fmt::print("  elif [[ $before == --device || $before == --on ]]; then words='{}'\n", joined(device_names()));
  std::puts("  elif [[ $word == -* ]]; then\n    case ${COMP_WORDS[1]} in");
  for (const CLI::App* command : commands_of(app))
    fmt::print("      {}) words='{}' ;;\n", command->get_name(), joined(long_names(*command)));
  std::puts("    esac");
  fmt::print("  else words='{}'\n  fi\n", joined(operators_and_families()));
  std::puts(
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _ridge ridge");
}

std::string in_quotes(std::string_view text) {
  std::string s = "'";
  for (char c : text) s += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return s + "'";
}

void print_fish(const CLI::App& app) {
  for (const CLI::App* command : commands_of(app)) {
    fmt::print("complete -c ridge -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
               in_quotes(command->get_description()));
    for (const CLI::Option* option : options_of(*command))
      for (const std::string& name : option->get_lnames())
        fmt::print("complete -c ridge -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", command->get_name(), name,
                   in_quotes(option->get_description()));
  }
  for (const char* name : {"device", "on"})
    fmt::print("complete -c ridge -x -l {} -a '{}'\n", name, joined(device_names()));
  fmt::print("complete -c ridge -n 'not __fish_use_subcommand' -a '{}'\n", joined(operators_and_families()));
}

// troff: a line must not begin with a period, and a minus that can be typed is written \-.
std::string roff(std::string_view text) {
  std::string s;
  for (char c : text)
    if (c == '\\') s += "\\\\";
    else if (c == '-') s += "\\-";
    else s += c;
  return s.starts_with('.') || s.starts_with('\'') ? "\\&" + s : s;
}

void print_man(const CLI::App& app) {
  fmt::print(".TH RIDGE 1 \"\" \"{}\"\n.SH NAME\nridge \\- {}\n", roff("ridge " RIDGE_VERSION),
             roff(app.get_description()));
  std::puts(".SH SYNOPSIS\n.B ridge\nCOMMAND [OPTION]...\n.SH COMMANDS");
  for (const CLI::App* command : commands_of(app)) {
    fmt::print(".SS {}\n{}.\n", roff(command->get_name()), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options())
      if (option->get_lnames() != std::vector<std::string>{"help"})
        fmt::print(".TP\n.B {}\n{}.\n", roff(option->get_name(option->get_positional(), true)),
                   roff(option->get_description()));
    const std::string footer = command->get_footer();  // its own text, and then the program's
    if (const std::size_t end = footer.find("\n\n"); end != std::string::npos)
      fmt::print(".PP\n{}\n", roff(footer.substr(0, end)));
  }
  std::puts(".SH OPERATORS");
  for (const OpInfo* op : ops()) fmt::print(".TP\n.B {}\n{}.\n", roff(op->name), roff(op->summary));
  std::puts(
      ".SH EXIT STATUS\n0: done; 1: a check failed; 2: the request was wrong, which one sentence on standard error "
      "explains.");
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "A script by which a shell completes this program's arguments");
  command->add_option("SHELL", *shell, "bash, zsh (after bashcompinit) or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &action] {
    action = [shell, &app]() -> Result<int> {
      if (*shell == "fish") print_fish(app);
      else print_bash(app);
      return exit_done;
    };
  });
}

void add_man(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("man", "This program's manual page: ridge man | man -l -");
  command->callback([&app, &action] {
    action = [&app]() -> Result<int> {
      print_man(app);
      return exit_done;
    };
  });
}

}  // namespace ridge::cli
