#include "traced.hpp"

#include "progress.hpp"

#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>

namespace ridge::cli {
namespace {

// The case's tensors, filled and placed, in host memory.
struct Tensors {
  std::vector<check::Placed> placed;
  std::vector<TensorView> in, out;
};

Result<Tensors> make_tensors(const KnownCase& known, const DeviceInfo& device) {
  RIDGE_CLI_TAKE(place, check::place_of(known.c));
  RIDGE_CLI_TAKE(host, check::fill_inputs(*known.book, known.c));
  Tensors tensors;
  for (const check::HostTensor& tensor : host) {
    RIDGE_CLI_TAKE(placed, check::Placed::make(tensor.type, check::place_of_inputs(place), device.id,
                                               check::salt_of(known.c, tensors.in.size(), false)));
    RIDGE_TRY(placed.write(tensor.values));
    tensors.in.push_back(placed.view());
    tensors.placed.push_back(std::move(placed));
  }
  RIDGE_CLI_TAKE(types, infer_op(*known.op, tensors.in, known.c.operator_options()));
  for (const TensorType& type : types) {
    if (place == check::Place::inplace && tensors.out.empty()) {
      tensors.out.push_back(tensors.in[0]);
      continue;
    }
    RIDGE_CLI_TAKE(placed, check::Placed::make(type, check::place_of_outputs(place), device.id,
                                               check::salt_of(known.c, tensors.out.size(), true)));
    tensors.out.push_back(placed.view());
    tensors.placed.push_back(std::move(placed));
  }
  return tensors;
}

Result<Traced> trace_variant(const KnownCase& known, const DeviceInfo& device, const Tensors& tensors,
                             const std::string& variant) {
  Options options = known.c.operator_options();
  if (!variant.empty()) options.set("variant", variant);
  auto plan = plan_op(*known.op, tensors.in, tensors.out, options, device);
  if (!plan && plan.error().code() != Code::unsupported) return plan.error();
  check::Case c = known.c;
  c.options.set("variant", plan ? (*plan)->explain().variant : variant);
  Traced traced{.case_text = c.text(),
                .variant = std::string(c.options.text("variant")),
                .step = {},
                .refused = {},
                .error = {},
                .report = {}};
  for (const VariantInfo& row : known.op->variants)
    if (row.name == traced.variant) traced.step = row.step;
  if (!plan) {
    traced.refused = plan.error().message();
    return traced;
  }
  RIDGE_CLI_TAKE(workspace, Buffer::allocate(device.id, (*plan)->workspace_bytes()));
  auto report = simt::trace::record([&] { return (*plan)->run(tensors.in, tensors.out, workspace.workspace(), {}); });
  if (report) traced.report = std::move(*report);
  else traced.error = report.error().message();
  return traced;
}

}  // namespace

Result<std::vector<Traced>> trace_variants(const KnownCase& known, const std::vector<std::string>& variants) {
  RIDGE_CLI_TAKE(device, device_of(known.c, cpu()));
  Progress progress("tracing", variants.size());
  RIDGE_CLI_TAKE(tensors, make_tensors(known, device));
  std::vector<Traced> all;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    progress.step(i, variants[i]);
    RIDGE_CLI_TAKE(traced, trace_variant(known, device, tensors, variants[i]));
    all.push_back(std::move(traced));
  }
  return all;
}

std::vector<std::string> variant_names(const OpInfo& op) {
  std::vector<std::string> names;
  for (const VariantInfo& row : op.variants) names.emplace_back(row.name);
  return names;
}

}  // namespace ridge::cli
