#include <ridge/check/c_face.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::check {

namespace {

// Whether an element matches the oracle's; `ratio` becomes its error over its tolerance.
bool matches(DType dtype, double got, double want, double tolerance, double& ratio) {
  ratio = 0;
  if (std::isinf(tolerance)) return true;  // the result is unspecified
  // A result beyond the type's range is rounded to infinity.
  if (std::isinf(got) && std::isfinite(want)) return round_to(dtype, want + std::copysign(tolerance, got)) == got;
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  if (std::isnan(got)) return false;
  const double error = std::fabs(got - want);
  if (error == 0) return true;
  ratio = tolerance > 0 ? error / tolerance : HUGE_VAL;
  return error <= tolerance;
}

std::string number(double x) { return format("%.9g", x); }

// Compares one output; empty if it is right.
std::string compare(DType dtype, const Placed::Read& read, const Expected& expected, std::string_view output,
                    Outcome& outcome) {
  if (!read.canaries_intact) return std::string(output) + ": written outside its elements";
  if (read.values.size() != expected.value.size())
    return std::string(output) + ": the oracle gives " + std::to_string(expected.value.size()) +
           " elements, the tensor has " + std::to_string(read.values.size());
  std::int64_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < read.values.size(); ++i) {
    double ratio;
    const bool good = matches(dtype, read.values[i], expected.value[i], expected.tolerance[i], ratio);
    outcome.worst = std::max(outcome.worst, ratio);
    if (good) continue;
    if (wrong++ == 0)
      first = "element " + std::to_string(i) + " is " + (read.poisoned[i] ? "not written" : number(read.values[i])) +
              ", expected " + number(expected.value[i]) + " within " + number(expected.tolerance[i]);
  }
  outcome.elements += static_cast<std::int64_t>(read.values.size());
  if (wrong == 0) return {};
  return std::string(output) + ": " + std::to_string(wrong) + " of " + std::to_string(read.values.size()) +
         " elements are wrong; " + first;
}

// Whether a view has more elements than addresses for them.
bool shares_places(const std::vector<TensorView>& views) {
  return std::ranges::any_of(views, [](const TensorView& v) { return v.count() > v.layout.span(); });
}

struct Prepared {
  const CaseBook* book;
  const OpInfo* op;
  std::vector<std::string_view> input_names, output_names;
  std::vector<HostTensor> host;
  std::vector<Placed> inputs, outputs;
  std::vector<TensorView> in, out;
  std::vector<Expected> expected;
};

Result<Prepared> prepare(const Case& c, const DeviceInfo& device) {
  auto book = find_case_book(c.op);
  if (!book) return book.error();
  auto op = find_op(c.op);
  if (!op) return op.error();
  auto place = place_of(c);
  if (!place) return place.error();
  Prepared p;
  p.book = *book;
  p.op = *op;
  auto host = fill_inputs(**book, c);
  if (!host) return host.error();
  p.host = std::move(*host);
  for (HostTensor& tensor : p.host) {
    auto placed = Placed::make(tensor.type, place_of_inputs(*place), device.id, salt_of(c, p.in.size(), false));
    if (!placed) return placed.error();
    RIDGE_TRY(placed->write(tensor.values));
    if (shares_elements(*place)) {  // elements that share an address have the value written last
      auto read = placed->read();
      if (!read) return read.error();
      tensor.values = std::move(read->values);
    }
    p.in.push_back(placed->view());
    p.inputs.push_back(std::move(*placed));
  }
  auto types = infer_op(*p.op, p.in, c.operator_options());
  if (!types) return types.error();
  p.input_names = *input_names(*p.op, c.operator_options(), p.in.size());  // infer_op has accepted their number
  p.output_names = *output_names(*p.op, c.operator_options());
  for (const TensorType& type : *types) {
    if (*place == Place::inplace && p.out.empty()) {
      if (type.dtype != p.in[0].dtype || type.shape != p.host[0].type.shape)
        return Status::invalid(c.op, "place", "inplace", "another: the output is not like the input");
      p.out.push_back(p.in[0]);
      continue;
    }
    auto placed = Placed::make(type, place_of_outputs(*place), device.id, salt_of(c, p.out.size(), true));
    if (!placed) return placed.error();
    p.out.push_back(placed->view());
    p.outputs.push_back(std::move(*placed));
  }
  p.expected = (*book)->oracle(c, p.host);
  return p;
}

// Plans by the operator's name, or through the C ABI.
Result<std::unique_ptr<OpPlan>> plan_as_asked(const Case& c, const Prepared& p, const Options& options,
                                              const DeviceInfo& device) {
  if (c.options.text("via") == "c") return plan_through_c(*p.op, p.in, p.out, options);
  return plan_op(*p.op, p.in, p.out, options, device);
}

// Restores inputs, poisons outputs and runs one variant.
Outcome run_variant(const Case& c, Prepared& p, const DeviceInfo& device, const std::string& variant) {
  Outcome outcome;
  Case shown = c;
  shown.options.set("variant", variant);
  outcome.case_text = shown.text();
  outcome.variant = variant;
  outcome.device = device.id_text();
  const auto fail = [&](std::string why) {
    outcome.kind = Outcome::failed;
    outcome.why = std::move(why);
    return outcome;
  };
  Options options = c.operator_options();
  options.set("variant", variant);
  auto plan = plan_as_asked(c, p, options, device);
  if (!plan) {
    if (plan.error().code() != Code::unsupported) return fail(std::string(plan.error().message()));
    outcome.kind = Outcome::refused;
    outcome.why = plan.error().message();
    return outcome;
  }
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    if (auto s = p.inputs[i].write(p.host[i].values); !s.ok()) return fail(std::string(s.message()));
  for (Placed& output : p.outputs)
    if (auto s = output.poison(); !s.ok()) return fail(std::string(s.message()));
  auto workspace = Buffer::allocate(device.id, (*plan)->workspace_bytes());
  if (!workspace) return fail(std::string(workspace.error().message()));
  if (auto s = fill_bytes(workspace->data(), device.id, 0xdb, workspace->bytes()); !s.ok())
    return fail(std::string(s.message()));
  // Runs twice, because data that one run leaves in the workspace must not matter to the next.
  for (int run = 0; run < 2; ++run) {
    if (run == 1 && !p.outputs.empty() && p.out.size() == p.outputs.size()) {
      for (Placed& output : p.outputs)
        if (auto s = output.poison(); !s.ok()) return fail(std::string(s.message()));
    } else if (run == 1) {
      break;  // in place: the input was overwritten
    }
    Status status = (*plan)->run(p.in, p.out, workspace->workspace(), {});
    if (status.ok()) status = synchronize(device.id);
    if (!status.ok()) return fail(std::string(status.message()));
  }
  std::vector<Expected> expected = p.expected;
  if (p.book->tolerances) p.book->tolerances(c, p.host, variant, expected);
  const bool in_place = p.out.size() != p.outputs.size();
  for (std::size_t i = 0; i < p.out.size(); ++i) {
    const Placed& placed = in_place ? (i == 0 ? p.inputs[0] : p.outputs[i - 1]) : p.outputs[i];
    auto read = placed.read();
    if (!read) return fail(std::string(read.error().message()));
    if (std::string why = compare(p.out[i].dtype, *read, expected[i], p.output_names[i], outcome); !why.empty())
      return fail(why);
  }
  for (std::size_t i = in_place ? 1 : 0; i < p.inputs.size(); ++i) {
    auto read = p.inputs[i].read();
    if (!read) return fail(std::string(read.error().message()));
    if (!read->canaries_intact) return fail(std::string(p.input_names[i]) + ": written outside its elements");
    if (encode(p.in[i].dtype, read->values) != encode(p.in[i].dtype, p.host[i].values))
      return fail(std::string(p.input_names[i]) + ": the input was changed");
  }
  return outcome;
}

}  // namespace

std::vector<Outcome> run_case(const Case& c, const DeviceInfo& given, bool all_variants,
                              const std::function<bool(std::string_view variant)>& wanted) {
  Outcome wrong{.kind = Outcome::failed, .case_text = c.text(), .variant = {}, .device = given.id_text(), .why = {}};
  DeviceInfo device = given;
  if (device.is_cpu()) {
    auto warp = c.options.integer(c.op, "warp", device.warp);
    if (!warp || (*warp != 32 && *warp != 64)) {
      wrong.why = c.op + ": warp is '" + std::string(c.options.text("warp")) + "'; it must be 32 or 64";
      return {wrong};
    }
    device.warp = static_cast<int>(*warp);
  }
  // The oracle may not be able to handle a request that no plan takes, so such a request is refused before its tensors
  // are made.
  Options without_variant = c.operator_options();
  without_variant.erase("variant");
  const auto request = placed_request(c, device.id);
  Status refusal = request ? Status() : request.error();
  if (request)
    if (auto plan = plan_op(*request->op, request->inputs, request->outputs, without_variant, device); !plan)
      refusal = plan.error();
  if (!refusal.ok()) {
    const bool named = c.options.has("variant") && refusal.code() == Code::unsupported;
    if (named || c.options.text("place") == "tangled") wrong.kind = Outcome::refused;
    wrong.why = refusal.message();
    return {wrong};
  }
  auto prepared = prepare(c, device);
  if (!prepared) {
    wrong.why = prepared.error().message();
    return {wrong};
  }
  std::vector<Outcome> outcomes;
  if (shares_places(prepared->out)) {
    wrong.kind = Outcome::refused;
    auto plan = plan_as_asked(c, *prepared, c.operator_options(), device);
    if (!plan) wrong.why = plan.error().message();
    else wrong.kind = Outcome::failed, wrong.why = "outputs whose elements share places in memory were planned";
    return {wrong};
  }
  if (c.options.has("variant")) {
    outcomes.push_back(run_variant(c, *prepared, device, std::string(c.options.text("variant"))));
    return outcomes;
  }
  auto plan = plan_op(*prepared->op, prepared->in, prepared->out, c.operator_options(), device);
  if (!plan) {  // every case must have a variant that takes it
    wrong.why = plan.error().message();
    return {wrong};
  }
  const std::string chosen = (*plan)->explain().variant;
  for (const VariantInfo& row : prepared->op->variants) {
    if (row.name != chosen && (!all_variants || (wanted && !wanted(row.name)))) continue;
    outcomes.push_back(run_variant(c, *prepared, device, std::string(row.name)));
  }
  return outcomes;
}

}  // namespace ridge::check
