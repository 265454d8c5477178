// ridge explain: the choice that a plan makes, and why, without running anything.
#include "commands.hpp"
#include "json.hpp"
#include "request.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace ridge::cli {
namespace {

struct Request {
  std::string case_text, on;
  bool json = false;
};

// A model by name, or a device of this machine.
Result<DeviceInfo> model_or_device(const std::string& text) {
  if (text.empty() || text == "cpu" || text.starts_with("cuda")) return choose_device(text);
  auto model = device_model(text);
  if (model) return model;
  return Status::error(Code::invalid_argument, std::string(model.error().message()) + ", or cpu, cuda, cuda:N");
}

Result<int> explain(const Request& request) {
  RIDGE_CLI_TAKE(known, find_case(request.case_text));
  RIDGE_CLI_TAKE(chosen, model_or_device(request.on));
  RIDGE_CLI_TAKE(device, device_of(known.c, chosen));
  const Options options = known.c.operator_options();
  const auto inputs = planning_views(known.inputs, device.id);
  RIDGE_CLI_TAKE(output_types, infer_op(*known.op, inputs, options));
  const auto outputs = planning_views(output_types, device.id);
  RIDGE_CLI_TAKE(plan, plan_op(*known.op, inputs, outputs, options, device));
  const Explanation explanation = plan->explain();
  std::fputs((request.json ? dump(to_json(explanation)) : explanation.text()).c_str(), stdout);
  return exit_done;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("explain", "Candidates and refusals, bytes, operations, bound, least time");
  command->add_option("CASE", request->case_text, "OP:DTYPE:k=v,k=v[:option[=value]]...")->required();
  command->add_option("--on", request->on, "A device model (ridge devices), or cpu, cuda, cuda:N");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([request, &action] { action = [request] { return explain(*request); }; });
}

}  // namespace ridge::cli
