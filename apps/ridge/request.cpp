#include "request.hpp"

#include <ridge/check/placement.hpp>
#include <ridge/core/launch_recorder.hpp>
#include <ridge/roofline/predict.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace ridge::cli {

Result<DeviceInfo> choose_device(const std::string& text) {
  if (!text.empty()) return find_device(text);
  if (device_count() > 0) return device(0);
  return cpu();
}

Result<DeviceInfo> device_of(const check::Case& c, const DeviceInfo& device) {
  if (!c.options.has("warp")) return device;
  RIDGE_CLI_TAKE(warp, c.options.integer(c.op, "warp", 32));
  if (warp != 32 && warp != 64) return Status::invalid(c.op, "warp", std::to_string(warp), "32 or 64");
  if (!device.is_cpu()) return device;
  return cpu({.warp = static_cast<int>(warp)});
}

Result<Options> parse_options(std::string_view op, const std::vector<std::string>& pairs) {
  Options options;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    const std::string key = pair.substr(0, equals);
    if (key.empty()) return Status::invalid(op, "--opt", "'" + pair + "'", "k=v, or k alone for k=1");
    if (options.has(key)) return Status::invalid(op, "option '" + key + "'", "given twice", "given once");
    options.set(key, equals == std::string::npos ? "1" : pair.substr(equals + 1));
  }
  return options;
}

Status check_variant(const OpInfo& op, std::string_view variant) {
  if (std::ranges::find(op.variants, variant, &VariantInfo::name) != op.variants.end()) return {};
  std::vector<std::string_view> known;
  for (const VariantInfo& v : op.variants) known.push_back(v.name);
  return no_such_variant(op.name, variant, known);
}

Result<KnownCase> find_case(std::string_view text) {
  RIDGE_CLI_TAKE(c, check::Case::parse(text));
  RIDGE_CLI_TAKE(op, find_op(c.op));
  RIDGE_CLI_TAKE(book, check::find_case_book(c.op));
  if (c.options.has("variant")) RIDGE_TRY(check_variant(*op, c.options.text("variant")));
  RIDGE_CLI_TAKE(inputs, check::case_inputs(*book, c));
  RIDGE_CLI_TAKE(names, input_names(*op, c.operator_options(), inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (auto bytes = bytes_of(c.op, names[i], inputs[i]); !bytes) return bytes.error();
  return KnownCase{std::move(c), op, book, std::move(inputs)};
}

Result<std::vector<KnownCase>> select_cases(const std::vector<std::string>& arguments,
                                            std::vector<std::string> check::CaseBook::*list) {
  std::vector<KnownCase> cases;
  const auto add = [&](std::string_view text) -> Status {
    RIDGE_CLI_TAKE(known, find_case(text));
    cases.push_back(std::move(known));
    return {};
  };
  if (arguments.empty())
    for (const check::CaseBook* book : check::case_books())
      for (const std::string& text : book->*list) RIDGE_TRY(add(text));
  for (const std::string& argument : arguments) {
    if (argument.find(':') != std::string::npos) {
      RIDGE_TRY(add(argument));
      cases.back().given = true;
      continue;
    }
    RIDGE_CLI_TAKE(named, find_ops(argument));
    for (const OpInfo* op : named) {
      RIDGE_CLI_TAKE(book, check::find_case_book(op->name));
      for (const std::string& text : book->*list) RIDGE_TRY(add(text));
    }
  }
  return cases;
}

// Lets the plan run without launching, and takes over what its main kernel, the one with the most threads, was made to.
static void account_built(Explanation& explanation, const OpPlan& plan, Views inputs, Views outputs,
                          const DeviceInfo& device) {
  LaunchRecorder recorder;
  (void)plan.run(inputs, outputs, {nullptr, plan.workspace_bytes()}, {});  // what it needs memory for is left out
  const auto main =
      std::ranges::max_element(recorder.kernels, {}, [](const KernelRecord& k) { return k.blocks * k.threads; });
  if (main == recorder.kernels.end()) return;
  const std::string source = main->local_bytes > 0
                                 ? fmt::format("the built kernel, {} bytes of them in memory", main->local_bytes)
                                 : "the built kernel";
  roofline::account_resources(explanation.analysis,
                              {.threads = main->threads, .registers = main->registers, .smem = main->smem_bytes},
                              main->blocks, source, device);
}

Result<Explanation> explain_case(const KnownCase& known, const DeviceInfo& device, bool is_here) {
  const Options options = known.c.operator_options();
  RIDGE_CLI_TAKE(place, check::place_of(known.c));
  std::uintptr_t at = std::uintptr_t{1} << 40;
  const bool plain = place == check::Place::plain;
  const auto views = [&](const std::vector<TensorType>& types, check::Place lies, bool outputs) {
    if (plain) return planning_views(types, device.id);
    return check::views_to_plan(types, lies, device.id, at, check::salt_of(known.c, 0, outputs));
  };
  const auto inputs = views(known.inputs, check::place_of_inputs(place), false);
  RIDGE_CLI_TAKE(output_types, infer_op(*known.op, inputs, options));
  auto outputs = views(output_types, check::place_of_outputs(place), true);
  if (place == check::Place::inplace && !outputs.empty()) outputs[0] = inputs[0];
  RIDGE_CLI_TAKE(plan, plan_op(*known.op, inputs, outputs, options, device));
  Explanation explanation = plan->explain();
  if (is_here && !device.is_cpu()) account_built(explanation, *plan, inputs, outputs, device);
  return explanation;
}

Result<std::size_t> bytes_of(std::string_view op, std::string_view argument, const TensorType& type) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype)), padded = bytes;
  for (std::int64_t size : type.shape) {
    // Strides are products as well, with a size of 0 counted as 1.
    if (size < 0 || __builtin_mul_overflow(padded, std::max<std::int64_t>(size, 1), &padded)) {
      std::string shape;
      for (std::int64_t s : type.shape) shape += (shape.empty() ? "" : "x") + std::to_string(s);
      return Status::invalid(op, std::string(argument) + ".shape", shape, "of fewer than 2^63 bytes");
    }
    bytes *= size;
  }
  return static_cast<std::size_t>(bytes);
}

std::vector<TensorView> planning_views(const std::vector<TensorType>& types, Device device) {
  std::vector<TensorView> views;
  for (const TensorType& type : types) views.push_back({nullptr, type.dtype, Layout::contiguous(type.shape), device});
  return views;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return Layout::contiguous(shape).text(); }

std::string dtype_list(const std::vector<DType>& dtypes) {
  std::string list;
  for (DType dtype : dtypes) list += (list.empty() ? "" : " ") + std::string(name(dtype));
  return list;
}

std::string time_text(double us) {
  return us >= 1e6   ? fmt::format("{:.2f} s", us * 1e-6)
         : us >= 1e3 ? fmt::format("{:.2f} ms", us * 1e-3)
                     : fmt::format("{:.1f} us", us);
}

}  // namespace ridge::cli
