#include <ridge/core/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace ridge {

namespace {

std::string quoted(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      s += escape;
    } else {
      s += c;
    }
  }
  return s + '"';
}
std::string quoted_or_null(std::string_view text) { return text.empty() ? "null" : quoted(text); }

std::string number(std::integral auto value) { return std::to_string(value); }
std::string number(double value) {  // the shortest text that reads back as the same number
  if (!std::isfinite(value)) return "null";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}
std::string boolean_text(bool value) { return value ? "true" : "false"; }

// An object of these members, in this order; the values are already JSON.
std::string object(std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string s = "{";
  for (const auto& [key, value] : members) s += (s.size() > 1 ? ", " : "") + quoted(key) + ": " + value;
  return s + "}";
}

template <class List, class ToJson> std::string array(const List& list, ToJson&& one) {
  std::string s = "[";
  for (const auto& item : list) s += (s.size() > 1 ? ", " : "") + one(item);
  return s + "]";
}
template <class List> std::string strings(const List& list) {
  return array(list, [](std::string_view text) { return quoted(text); });
}

std::string analysis(const Analysis& a) {
  return object(
      {{"terms", array(a.terms,
                       [](const Analysis::Term& t) {
                         return object({{"name", quoted(t.name)}, {"us", number(t.us)}, {"why", quoted(t.why)}});
                       })},
       {"unit", quoted_or_null(a.unit)},
       {"intensity", number(a.intensity)},
       {"levels", array(a.levels,
                        [](const Analysis::Level& l) {
                          return object({{"level", quoted(l.name)},
                                         {"gbs", number(l.gbs)},
                                         {"operations_per_byte", l.balance > 0 ? number(l.balance) : "null"}});
                        })},
       {"blocks", number(a.blocks)},
       {"threads", number(a.threads)},
       {"shared_bytes", number(a.smem_bytes)},
       {"registers", number(a.registers)},
       {"registers_source", quoted(a.registers_source)},
       {"blocks_per_multiprocessor", number(a.blocks_per_sm)},
       {"limiter", quoted(a.limiter)},
       {"occupancy", number(a.occupancy)},
       {"waves", number(a.waves)},
       {"wave_efficiency", number(a.wave_efficiency)},
       {"tail_share", number(a.tail_share)},
       {"tile_efficiency", number(a.tile_efficiency)},
       {"bytes_in_flight", number(a.bytes_in_flight)},
       {"bytes_needed", number(a.bytes_needed)},
       {"advice", strings(a.advice)}});
}

std::string operations_by_unit(const Cost& cost) {
  std::string s = "{";
  for (int u = 0; u < unit_count; ++u)
    if (cost.operations[u] > 0)
      s += (s.size() > 1 ? ", " : "") + quoted(name(static_cast<Unit>(u))) + ": " + number(cost.operations[u]);
  return s + "}";
}

}  // namespace

std::string json_text(std::string_view text) { return quoted(text); }

std::string json_text(const Explanation& e) {
  return object({{"operator", quoted(e.op)},
                 {"problem", quoted(e.problem)},
                 {"device", quoted(e.device)},
                 {"variant", quoted(e.variant)},
                 {"bound", quoted(e.bound)},
                 {"bytes", number(e.cost.bytes())},
                 {"bytes_read", number(e.cost.bytes_read)},
                 {"bytes_written", number(e.cost.bytes_written)},
                 {"operations", number(e.cost.all_operations())},
                 {"operations_by_unit", operations_by_unit(e.cost)},
                 {"least_us", number(e.least_us)},
                 {"predicted_us", number(e.predicted_us)},
                 {"workspace_bytes", number(e.workspace_bytes)},
                 {"analysis", analysis(e.analysis)},
                 {"candidates", array(e.candidates, [](const Candidate& c) {
                    return object({{"variant", quoted(c.variant)},
                                   {"fits", boolean_text(c.fits())},
                                   {"role", quoted(name(c.role))},
                                   {"reason", quoted(c.refusal)},
                                   {"predicted_us", c.fits() ? number(c.predicted_us) : "null"}});
                  })}});
}

// The tensor names of a request with the option `backward`; null: the operator has no such option.
static std::string backward_request(const OpInfo& op) {
  const auto named = [](std::string_view wanted) { return [wanted](auto& option) { return option.name == wanted; }; };
  if (std::ranges::none_of(op.options, named("backward"))) return "null";
  const Options asked{{"backward", "1"}};
  const auto inputs = op.takes ? op.takes(asked, 0) : op.inputs;
  const auto outputs = op.gives ? op.gives(asked) : op.outputs;
  if (!inputs || !outputs) return "null";
  const auto optional = [&](const std::vector<std::string_view>& names) {
    std::vector<std::string_view> some;
    std::ranges::copy_if(names, std::back_inserter(some),
                         [&](auto name) { return std::ranges::find(op.optional, name) != op.optional.end(); });
    return strings(some);
  };
  return object({{"inputs", strings(*inputs)},
                 {"optional_inputs", optional(*inputs)},
                 {"outputs", strings(*outputs)},
                 {"optional_outputs", optional(*outputs)}});
}

// The outputs that a request without options does not get.
static std::vector<std::string_view> optional_outputs(const OpInfo& op) {
  std::vector<std::string_view> some;
  if (const auto given = output_names(op, {}))
    std::ranges::copy_if(op.outputs, std::back_inserter(some),
                         [&](auto name) { return std::ranges::find(*given, name) == given->end(); });
  return some;
}

std::string json_text(const OpInfo& op) {
  return object(
      {{"name", quoted(op.name)},
       {"family", quoted(op.family)},
       {"summary", quoted(op.summary)},
       {"inputs", strings(op.inputs)},
       {"optional_inputs", strings(optional_inputs(op))},
       {"outputs", strings(op.outputs)},
       {"optional_outputs", strings(optional_outputs(op))},
       {"backward", backward_request(op)},
       {"dtypes", array(op.dtypes, [](DType dtype) { return quoted(name(dtype)); })},
       {"options", array(op.options,
                         [](const OptionInfo& o) {
                           return object({{"name", quoted(o.name)},
                                          {"values", quoted(o.values)},
                                          {"help", quoted(help_text(o))},
                                          {"default", quoted_or_null(o.otherwise)},
                                          {"required", boolean_text(o.required)}});
                         })},
       {"variants", array(op.variants, [](const VariantInfo& v) {
          return object({{"name", quoted(v.name)}, {"step", quoted(v.step)}, {"item", quoted_or_null(v.item)}});
        })}});
}

}  // namespace ridge
