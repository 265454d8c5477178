// ridge ops: the operators, a line each; of those that are named, or of a family, their options, and their variants
// with the step that each adds.
#include "commands.hpp"
#include "json.hpp"
#include "request.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/core/json.hpp>
#include <ridge/core/op.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

std::string join(const std::vector<std::string_view>& names) {
  std::string joined;
  for (std::string_view name : names) joined += (joined.empty() ? "" : ", ") + std::string(name);
  return joined;
}

// "a, b, [c]"
std::string inputs_text(const OpInfo& op) {
  const auto optional = optional_inputs(op);
  std::string text;
  for (std::string_view input : op.inputs) {
    const bool bracketed = std::ranges::find(optional, input) != optional.end();
    text += (text.empty() ? "" : ", ") + (bracketed ? "[" + std::string(input) + "]" : std::string(input));
  }
  return text;
}

bool same_face(const OpInfo& a, const OpInfo& b) {
  const auto option = [](const OptionInfo& x, const OptionInfo& y) {
    return x.name == y.name && help_text(x) == help_text(y);
  };
  const auto variant = [](const VariantInfo& x, const VariantInfo& y) { return x.name == y.name && x.step == y.step; };
  return a.family == b.family && std::ranges::equal(a.options, b.options, option) &&
         std::ranges::equal(a.variants, b.variants, variant);
}

void print_options_and_variants(const OpInfo& op) {
  if (!op.options.empty()) {
    std::puts("  options");
    Table table({{""}, {""}, {""}}, "    ");
    for (const OptionInfo& o : op.options) table.add({std::string(o.name) + "=", std::string(o.values), help_text(o)});
    table.print_rows();
  }
  std::puts("  variants");
  Table table({{""}, {""}}, "    ");
  for (const VariantInfo& v : op.variants) table.add({std::string(v.name), std::string(v.step)});
  table.print_rows();
}

// Operators of one family that share options and variants are shown together.
void print_group(const std::vector<const OpInfo*>& group) {
  say("{}\n", group.front()->family);
  Table table({{"operator"}, {"takes"}, {"gives"}, {"dtypes"}, {"what"}}, "  ");
  for (const OpInfo* op : group)
    table.add(
        {std::string(op->name), inputs_text(*op), join(op->outputs), dtype_list(op->dtypes), std::string(op->summary)});
  table.print();
  print_options_and_variants(*group.front());
}

void print_overview() {
  Table table({{"family"}, {"operator"}, {"dtypes"}, {"what"}});
  std::string_view family;
  for (const OpInfo* op : ops()) {
    table.add({std::string(op->family == family ? "" : op->family), std::string(op->name), dtype_list(op->dtypes),
               std::string(op->summary)});
    family = op->family;
  }
  table.print();
  say("\n{} operators; ridge ops OPERATOR or FAMILY: inputs, options, variants\n", ops().size());
}

Result<int> show(const std::vector<std::string>& names, bool json) {
  std::vector<const OpInfo*> shown;
  if (names.empty()) shown = ops();
  for (const std::string& wanted : names) {
    RIDGE_CLI_TAKE(named, find_ops(wanted));
    shown.insert(shown.end(), named.begin(), named.end());
  }
  if (json) {
    Json list = Json::array();
    for (const OpInfo* op : shown) list.push_back(Json::parse(json_text(*op)));
    std::fputs(dump({{"operators", list}}).c_str(), stdout);
    return exit_done;
  }
  if (names.empty()) {
    print_overview();
    return exit_done;
  }
  std::vector<std::vector<const OpInfo*>> groups;
  for (const OpInfo* op : shown) {
    const auto group = std::ranges::find_if(groups, [&](const auto& g) { return same_face(*g.front(), *op); });
    if (group == groups.end()) groups.push_back({op});
    else group->push_back(op);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) std::puts("");
    print_group(groups[i]);
  }
  return exit_done;
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  struct Request {
    std::vector<std::string> names;
    bool json = false;
  };
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("ops", "Operators; of those that are named, options and variants");
  command->add_option("OP", request->names, "An operator or a family: all there is to know of it");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([request, &action] { action = [request] { return show(request->names, request->json); }; });
}

}  // namespace ridge::cli
