#include <ridge/core/check_data.hpp>
#include <ridge/core/nearest.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>
#include <deque>

namespace ridge {

namespace {
struct Registry {
  std::deque<OpInfo> infos;  // a deque keeps addresses stable
  std::vector<const OpInfo*> sorted;
};
Registry& registry() {
  static Registry instance;  // filled by static initialisers, in any order
  return instance;
}
}  // namespace

RegisterOp::RegisterOp(OpInfo info) {
  Registry& r = registry();
  r.infos.push_back(std::move(info));
  r.sorted.push_back(&r.infos.back());
  std::ranges::stable_sort(r.sorted, {}, &OpInfo::family);
}

const std::vector<const OpInfo*>& ops() { return registry().sorted; }

static std::string nearest_text(std::string_view wanted, const std::vector<std::string_view>& known) {
  std::string names;
  for (std::string_view name : nearest(wanted, known, 3)) names += (names.empty() ? "" : ", ") + std::string(name);
  return "'" + std::string(wanted) + "'; the nearest are " + names;
}

Result<const OpInfo*> find_op(std::string_view wanted) {
  std::vector<std::string_view> known;
  for (const OpInfo* op : ops()) {
    if (op->name == wanted) return op;
    known.push_back(op->name);
  }
  return Status::error(Code::invalid_argument, "there is no operator " + nearest_text(wanted, known));
}

Result<std::vector<const OpInfo*>> find_ops(std::string_view wanted) {
  std::vector<std::string_view> known;
  std::vector<const OpInfo*> of_family;
  for (const OpInfo* op : ops()) {
    if (op->name == wanted) return std::vector{op};
    if (op->family == wanted) of_family.push_back(op);
    known.push_back(op->name);
    if (std::ranges::find(known, op->family) == known.end()) known.push_back(op->family);
  }
  if (!of_family.empty()) return of_family;
  return Status::error(Code::invalid_argument, "there is no operator or family " + nearest_text(wanted, known));
}

static std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

static bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The names in `all` that a list "x,beta" picks. Only optional names may be left out, and the order stays.
static Result<std::vector<std::string_view>> picked(const OpInfo& op, std::string_view option,
                                                    const std::vector<std::string_view>& all, std::string_view list) {
  std::vector<std::string_view> names;
  std::size_t next = 0;
  const auto wrong = [&] {
    std::string known;
    for (std::string_view name : all)
      known += (known.empty() ? "" : ", ") +
               (contains(op.optional, name) ? "[" + std::string(name) + "]" : std::string(name));
    return Status::invalid(op.name, std::string(option), "'" + std::string(list) + "'", "of " + known + ", in order");
  };
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    while (next < all.size() && all[next] != name)
      if (!contains(op.optional, all[next++])) return wrong();
    if (next == all.size()) return wrong();
    names.push_back(all[next++]);
  }
  for (; next < all.size(); ++next)
    if (!contains(op.optional, all[next])) return wrong();
  return names;
}

Result<std::vector<std::string_view>> input_names(const OpInfo& op, const Options& options, std::size_t given) {
  auto expected = op.takes ? op.takes(options, given) : op.inputs;
  if (!expected) return expected;
  if (options.has("inputs")) expected = picked(op, "inputs", *expected, options.text("inputs"));
  else
    while (expected->size() > given && contains(op.optional, expected->back())) expected->pop_back();
  if (!expected || expected->size() == given) return expected;
  return Status::invalid(op.name, "the number of inputs", std::to_string(given),
                         std::to_string(expected->size()) + " (" + joined(*expected) + ")");
}

Result<std::vector<std::string_view>> output_names(const OpInfo& op, const Options& options) {
  auto names = op.gives ? op.gives(options) : op.outputs;
  return names && options.has("outputs") ? picked(op, "outputs", *names, options.text("outputs")) : names;
}

const TensorView* find_view(Views views, std::span<const std::string_view> names, std::string_view wanted) {
  const auto found = static_cast<std::size_t>(std::ranges::find(names, wanted) - names.begin());
  return found < views.size() ? &views[found] : nullptr;
}

// Whether a request without options may leave this input out by passing fewer tensors.
static bool may_lack(const OpInfo& op, std::string_view input) {
  for (std::size_t given = 0; op.takes && given < op.inputs.size(); ++given) {
    const auto names = op.takes({}, given);
    if (names && names->size() == given && !contains(*names, input)) return true;
  }
  return false;
}

std::vector<std::string_view> optional_inputs(const OpInfo& op) {
  std::vector<std::string_view> optional;
  for (std::string_view input : op.inputs)
    if (contains(op.optional, input) || may_lack(op, input)) optional.push_back(input);
  return optional;
}

static Status check_request(const OpInfo& op, Views inputs, const Options& options) {
  for (const auto& [key, value] : options.pairs()) {
    const std::string shown_key = printable(key), shown = printable(value);
    if (shown_key != key || shown != value)  // no option has control characters, and C ends a text at its first NUL
      return Status::invalid(op.name, "option '" + shown_key + "'", "'" + shown + "'",
                             "text without control characters");
    const bool known = key == "variant" || key == "tune" || key == "inputs" || key == "outputs" ||
                       std::ranges::any_of(op.options, [&key = key](auto& o) { return o.name == key; });
    if (known) continue;
    std::string names = "variant";
    for (auto& o : op.options) names += " " + std::string(o.name);
    return Status::invalid(op.name, "option", "'" + key + "'", "one of " + names);
  }
  const auto input = input_names(op, options, inputs.size());
  if (!input) return input.error();
  RIDGE_TRY(output_names(op, options).error());
  if (!inputs.empty() && std::ranges::find(op.dtypes, inputs[0].dtype) == op.dtypes.end()) {
    std::string names;
    for (DType d : op.dtypes) names += (names.empty() ? "" : " ") + std::string(name(d));
    return Status::invalid(op.name, std::string((*input)[0]) + ".dtype", std::string(name(inputs[0].dtype)),
                           "one of " + names);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) RIDGE_TRY(check_extent(op.name, (*input)[i], inputs[i].layout));
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].device != inputs[0].device)
      return Status::invalid(op.name, std::string((*input)[i]) + ".device", "not that of the first input", "the same");
  return {};
}

Result<std::vector<TensorType>> infer_op(const OpInfo& op, Views inputs, const Options& options) {
  RIDGE_TRY(check_request(op, inputs, options));
  auto types = op.infer(inputs, options);
  if (!types) return types;
  const auto names = *output_names(op, options);  // check_request has accepted them
  for (std::size_t i = 0; i < types->size(); ++i)
    RIDGE_TRY(check_extent(op.name, names[i], Layout::contiguous((*types)[i].shape)));
  return types;
}

Result<std::unique_ptr<OpPlan>> plan_op(const OpInfo& op, Views inputs, Views outputs, const Options& options,
                                        const DeviceInfo& device) {
  auto types = infer_op(op, inputs, options);
  if (!types) return types.error();
  if (outputs.size() != types->size())
    return Status::invalid(op.name, "outputs", count_text(outputs.size(), "tensor"),
                           count_text(types->size(), "tensor"));
  const auto names = *output_names(op, options);  // infer_op has accepted them
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& expected = (*types)[i];
    const Layout layout = Layout::contiguous(expected.shape);
    if (outputs[i].dtype != expected.dtype)
      return Status::invalid(op.name, std::string(names[i]) + ".dtype", std::string(name(outputs[i].dtype)),
                             std::string(name(expected.dtype)));
    if (!outputs[i].layout.same_shape(layout))
      return Status::invalid(op.name, std::string(names[i]) + ".shape", outputs[i].layout.text(), layout.text());
    RIDGE_TRY(check_extent(op.name, names[i], outputs[i].layout));
  }
  return op.plan(inputs, outputs, options, device);
}

}  // namespace ridge
