// The commands. Each add_X() gives `app` its arguments and leaves in `action` what is to be done when they are read.
#pragma once
#include <ridge/core/status.hpp>

#include <functional>

namespace CLI {
class App;
}

namespace ridge::cli {

// The exit code, or the sentence on what was wrong with the request.
using Action = std::function<Result<int>()>;

inline constexpr int exit_done = 0, exit_check_failed = 1, exit_wrong_request = 2;

void add_ops(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_fuzz(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_survey(CLI::App& app, Action& action);
void add_plans(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_lab(CLI::App& app, Action& action);
void add_learn(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_ladder(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);

}  // namespace ridge::cli
