#include <ridge/core/nearest.hpp>
#include <ridge/core/op.hpp>

#include <algorithm>
#include <deque>

namespace ridge {

namespace {
struct Registry {
  std::deque<OpInfo> infos;  // a deque: addresses stay
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

Result<const OpInfo*> find_op(std::string_view wanted) {
  std::vector<std::string_view> known;
  for (const OpInfo* op : ops()) {
    if (op->name == wanted) return op;
    known.push_back(op->name);
  }
  std::string names;
  for (std::string_view name : nearest(wanted, known, 3)) names += (names.empty() ? "" : ", ") + std::string(name);
  return Status::error(Code::invalid_argument,
                       "there is no operator '" + std::string(wanted) + "'; the nearest are " + names);
}

static std::string count_text(std::size_t n) { return std::to_string(n) + (n == 1 ? " tensor" : " tensors"); }

Result<std::vector<std::string_view>> input_names(const OpInfo& op, const Options& options, std::size_t given) {
  auto expected = op.takes ? op.takes(options, given) : op.inputs;
  if (!expected || expected->size() == given) return expected;
  std::string names;
  for (auto n : *expected) names += (names.empty() ? "" : ", ") + std::string(n);
  return Status::invalid(op.name, "the number of inputs", std::to_string(given),
                         std::to_string(expected->size()) + " (" + names + ")");
}

std::vector<std::string_view> optional_inputs(const OpInfo& op) {
  std::vector<std::string_view> optional;
  const auto least = op.takes ? op.takes({}, 0) : op.inputs;
  for (std::string_view input : op.inputs)
    if (least && std::ranges::find(*least, input) == least->end()) optional.push_back(input);
  return optional;
}

static Status check_request(const OpInfo& op, Views inputs, const Options& options) {
  for (const auto& [key, value] : options.pairs()) {
    const bool known =
        key == "variant" || std::ranges::any_of(op.options, [&key = key](auto& o) { return o.name == key; });
    if (known) continue;
    std::string names = "variant";
    for (auto& o : op.options) names += " " + std::string(o.name);
    return Status::invalid(op.name, "option", "'" + key + "'", "one of " + names);
  }
  const auto input = input_names(op, options, inputs.size());
  if (!input) return input.error();
  if (!inputs.empty() && std::ranges::find(op.dtypes, inputs[0].dtype) == op.dtypes.end()) {
    std::string names;
    for (DType d : op.dtypes) names += (names.empty() ? "" : " ") + std::string(name(d));
    return Status::invalid(op.name, std::string((*input)[0]) + ".dtype", std::string(name(inputs[0].dtype)),
                           "one of " + names);
  }
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].device != inputs[0].device)
      return Status::invalid(op.name, std::string((*input)[i]) + ".device", "another than that of the first input",
                             "the same");
  return {};
}

Result<std::vector<TensorType>> infer_op(const OpInfo& op, Views inputs, const Options& options) {
  RIDGE_TRY(check_request(op, inputs, options));
  return op.infer(inputs, options);
}

Result<std::unique_ptr<OpPlan>> plan_op(const OpInfo& op, Views inputs, Views outputs, const Options& options,
                                        const DeviceInfo& device) {
  auto types = infer_op(op, inputs, options);
  if (!types) return types.error();
  if (outputs.size() != types->size())
    return Status::invalid(op.name, "outputs", count_text(outputs.size()), count_text(types->size()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& expected = (*types)[i];
    const Layout layout = Layout::contiguous(expected.shape);
    if (outputs[i].dtype != expected.dtype)
      return Status::invalid(op.name, std::string(op.outputs[i]) + ".dtype", std::string(name(outputs[i].dtype)),
                             std::string(name(expected.dtype)));
    if (!outputs[i].layout.same_shape(layout))
      return Status::invalid(op.name, std::string(op.outputs[i]) + ".shape", outputs[i].layout.text(), layout.text());
  }
  return op.plan(inputs, outputs, options, device);
}

}  // namespace ridge
