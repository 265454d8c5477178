// ridge run: one operator on the user's files.
#include "commands.hpp"
#include "json.hpp"
#include "npy.hpp"
#include "oracle_check.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "table.hpp"

#include <ridge/core/op.hpp>
#include <ridge/core/output_file.hpp>
#include <ridge/tuning/tuned_plan.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

struct Request {
  std::string op, device, variant;
  std::vector<std::string> inputs, outputs, options;
  bool raw = false, bf16 = false, check = false, json = false;
};

// A tensor of the operator: the bytes in host memory, and where the operator reads or writes them.
struct Tensor {
  std::string path;
  TensorView host, on_device;
  Buffer host_bytes, device_bytes;  // device_bytes is empty where the device is the host
};

Tensor make_tensor(std::string path, npy::Array array) {
  Tensor tensor{
      .path = std::move(path), .host = array.view(), .on_device = array.view(), .host_bytes = {}, .device_bytes = {}};
  tensor.host_bytes = std::move(array.bytes);
  return tensor;
}

// Bytes that a view of a file spans: strides have no gaps, in whichever order they are.
std::size_t spanned_bytes(const TensorView& view) {
  return static_cast<std::size_t>(view.count()) * size_of(view.dtype);
}

// The elements of a view of one axis, one after another.
std::vector<std::byte> gathered(const TensorView& line) {
  const std::size_t size = size_of(line.dtype), count = static_cast<std::size_t>(line.count());
  std::vector<std::byte> elements(count * size);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(elements.data() + i * size,
                static_cast<const std::byte*>(line.data) + static_cast<std::int64_t>(i * size) * line.stride(0), size);
  return elements;
}

Status give_device_memory(Tensor& tensor, Device device, std::size_t bytes) {
  RIDGE_CLI_TAKE(buffer, Buffer::allocate(device, bytes));
  tensor.device_bytes = std::move(buffer);
  tensor.on_device.data = tensor.device_bytes.data();
  tensor.on_device.device = device;
  return {};
}

Status move_input(const OpInfo& op, Tensor& tensor, Device device) {
  if (device.kind == DeviceKind::cpu) return {};
  if (op.reads) {
    const PartRead read = op.reads(tensor.host);
    const std::vector<std::byte> part = gathered(read.part);
    RIDGE_TRY(give_device_memory(tensor, device, part.size()));
    tensor.on_device.layout = read.whole;
    return copy_bytes(tensor.on_device.data, device, part.data(), {}, part.size());
  }
  RIDGE_TRY(give_device_memory(tensor, device, spanned_bytes(tensor.host)));
  return copy_bytes(tensor.on_device.data, device, tensor.host.data, {}, spanned_bytes(tensor.host));
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.on_device);
  return views;
}

std::vector<TensorView> host_views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.host);
  return views;
}

// A histogram counts the bytes of any file; every other operator, and every file called .npy, is read as .npy.
Result<std::vector<Tensor>> read_inputs(const OpInfo& op, const Request& request) {
  if (request.raw && op.family != "histogram")
    return Status::invalid(op.name, "--raw", "given", "left out, for only histogram takes raw bytes");
  std::vector<Tensor> tensors;
  for (const std::string& path : request.inputs) {
    const bool named_npy = std::filesystem::path(path).extension() == ".npy";
    const bool raw = request.raw || (op.family == "histogram" && !named_npy);
    RIDGE_CLI_TAKE(array, raw ? npy::read_raw(path) : npy::read(path, {.bf16 = request.bf16}));
    tensors.push_back(make_tensor(path, std::move(array)));
  }
  return tensors;
}

Result<std::vector<Tensor>> make_outputs(const OpInfo& op, const std::vector<std::string_view>& names,
                                         const std::vector<TensorType>& types, const Request& request) {
  if (request.outputs.size() != types.size())
    return Status::invalid(op.name, "the number of -o output files", std::to_string(request.outputs.size()),
                           fmt::format("{} ({})", types.size(), fmt::join(names, ", ")));
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < types.size(); ++i) {
    RIDGE_CLI_TAKE(bytes, bytes_of(op.name, names[i], types[i]));
    RIDGE_CLI_TAKE(buffer, Buffer::allocate({}, bytes));
    const Layout layout = Layout::contiguous(types[i].shape);
    tensors.push_back(make_tensor(request.outputs[i], {types[i].dtype, layout, std::move(buffer)}));
  }
  return tensors;
}

// Refuses before any work what could not be written after it.
Result<std::vector<OutputFile::Place>> check_output_paths(const std::vector<std::string>& paths) {
  std::vector<OutputFile::Place> places;
  for (const std::string& path : paths) {
    RIDGE_CLI_TAKE(place, OutputFile::check(path));
    if (const auto same = std::ranges::find(places, place); same != places.end()) {
      const std::string& before = paths[static_cast<std::size_t>(same - places.begin())];
      return Status::error(Code::invalid_argument,
                           fmt::format("output file '{}' is given twice{}; each output needs its own", path,
                                       before == path ? "" : fmt::format(", as '{}' too", before)));
    }
    places.push_back(std::move(place));
  }
  return places;
}

Status write_outputs(const std::vector<Tensor>& outputs) {
  std::vector<OutputFile> files;
  for (const Tensor& tensor : outputs) {
    RIDGE_CLI_TAKE(file, OutputFile::create(tensor.path));
    const auto& shape = tensor.host.layout.shape;
    RIDGE_TRY(file.write(npy::make_header({tensor.host.dtype, {shape.begin(), shape.begin() + tensor.host.rank()}})));
    RIDGE_TRY(file.write(tensor.host.data, spanned_bytes(tensor.host)));
    RIDGE_TRY(file.finish());
    files.push_back(std::move(file));
  }
  for (OutputFile& file : files) RIDGE_TRY(file.commit());  // all, or as good as none
  return {};
}

// One run, as the wall sees it. A GPU runs twice, for the first run also loads the kernel; so does what measures.
Result<double> timed_run(const OpPlan& plan, Views inputs, Views outputs, const DeviceInfo& device) {
  RIDGE_CLI_TAKE(scratch, Buffer::allocate(device.id, plan.workspace_bytes()));
  const auto once = [&]() -> Result<double> {
    const auto begin = std::chrono::steady_clock::now();
    RIDGE_TRY(plan.run(inputs, outputs, scratch.workspace(), {}));
    RIDGE_TRY(synchronize(device.id));
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  };
  const bool measured = !plan.is_settled();  // it times variants in its first run
  auto first = once();
  return first && (!device.is_cpu() || measured) ? once() : first;
}

std::string type_text(const TensorView& view) {
  std::string text = fmt::format("{} {}", name(view.dtype), view.layout.text());
  if (view.dtype == DType::bf16) text += " (u2 in the file)";
  if (view.dtype == DType::f8e4m3 || view.dtype == DType::f8e5m2) text += " (u1 in the file)";
  return text;
}

std::string check_text(const OracleCheck& check) {
  if (!check.passed())
    return fmt::format("FAILED: {} of {} elements wrong; {}", check.wrong, check.elements, check.first_wrong);
  if (check.worst == 0) return fmt::format("passed: {} elements, exact", check.elements);
  return fmt::format("passed: {} elements, worst error {:.2g} of the tolerance", check.elements, check.worst);
}

Json to_json(const Tensor& tensor, std::string_view argument) {
  const Layout& layout = tensor.host.layout;
  return {{"name", std::string(argument)},
          {"path", tensor.path},
          {"dtype", std::string(name(tensor.host.dtype))},
          {"shape", std::vector<std::int64_t>(layout.shape.begin(), layout.shape.begin() + layout.rank)},
          {"strides", std::vector<std::int64_t>(layout.stride.begin(), layout.stride.begin() + layout.rank)}};
}

Json to_json(const OracleCheck& check) {
  return {{"passed", check.passed()},
          {"case", check.case_text},
          {"elements", check.elements},
          {"wrong", check.wrong},
          {"worst_share_of_tolerance", check.worst},
          {"first_wrong", check.first_wrong}};
}

struct Report {
  const OpInfo& op;
  const DeviceInfo& device;
  const std::vector<std::string_view>&input_names, &output_names;
  const std::vector<Tensor>&inputs, &outputs;
  Explanation plan;
  double us = 0;
  std::optional<OracleCheck> check;
};

void print_json(const Report& r, std::FILE* to) {
  Json inputs = Json::array(), outputs = Json::array();
  for (std::size_t i = 0; i < r.inputs.size(); ++i) inputs.push_back(to_json(r.inputs[i], r.input_names[i]));
  for (std::size_t i = 0; i < r.outputs.size(); ++i) outputs.push_back(to_json(r.outputs[i], r.output_names[i]));
  std::fputs(dump({{"operator", std::string(r.op.name)},
                   {"device", r.device.id_text()},
                   {"device_name", r.device.name},
                   {"variant", r.plan.variant},
                   {"inputs", inputs},
                   {"outputs", outputs},
                   {"us", r.us},
                   {"predicted_us", r.plan.predicted_us},
                   {"least_us", r.plan.least_us},
                   {"bound", r.plan.bound},
                   {"check", r.check ? to_json(*r.check) : Json(nullptr)}})
                 .c_str(),
             to);
}

void print_table(const Report& r, std::FILE* to) {
  Table table({{""}, {""}, {""}});
  for (std::size_t i = 0; i < r.inputs.size(); ++i)
    table.add({std::string(r.input_names[i]), r.inputs[i].path, type_text(r.inputs[i].host)});
  for (std::size_t i = 0; i < r.outputs.size(); ++i)
    table.add({std::string(r.output_names[i]), r.outputs[i].path, type_text(r.outputs[i].host)});
  table.print_rows(to);
  Table facts({{""}, {""}});
  facts.add({"device", r.device.is_cpu() ? fmt::format("cpu ({}, {} threads)", r.device.name, r.device.sms)
                                         : fmt::format("{} ({})", r.device.id_text(), r.device.name)});
  facts.add({"variant", r.plan.variant});
  facts.add({"time", fmt::format("{} (predicted {}, bound by {})", time_text(r.us), time_text(r.plan.predicted_us),
                                 r.plan.bound)});
  if (r.check) facts.add({"check", check_text(*r.check)});
  facts.print_rows(to);
}

// Whether what files hold of offsets, tables and indices is looked at before anything runs with it: where the operator
// can, unless the user has said.
bool is_guarded(const OpInfo& op, const Options& options) {
  const auto is_checked = [](const OptionInfo& option) { return option.name == "checked"; };
  return std::ranges::any_of(op.options, is_checked) && !options.has("checked");
}

// On a GPU, where looking waits: a run of its own, so that the one which is timed does not.
Status run_checked(const OpInfo& op, Views in, Views out, Options options, const DeviceInfo& device) {
  options.set("checked", "1");
  options.erase("tune");
  RIDGE_CLI_TAKE(plan, plan_op(op, in, out, options, device));
  RIDGE_CLI_TAKE(scratch, Buffer::allocate(device.id, plan->workspace_bytes()));
  RIDGE_TRY(plan->run(in, out, scratch.workspace(), {}));
  return synchronize(device.id);
}

Result<int> run(const Request& request) {
  RIDGE_CLI_TAKE(op, find_op(request.op));
  RIDGE_CLI_TAKE(options, parse_options(op->name, request.options));
  if (!request.variant.empty()) {
    if (options.has("variant"))
      return Status::invalid(op->name, "variant", "given twice", "given once, by --variant or by --opt");
    options.set("variant", request.variant);
  }
  if (options.has("variant")) RIDGE_TRY(check_variant(*op, options.text("variant")));
  RIDGE_CLI_TAKE(device, choose_device(request.device));
  RIDGE_CLI_TAKE(names, input_names(*op, options, request.inputs.size()));
  RIDGE_CLI_TAKE(inputs, read_inputs(*op, request));
  RIDGE_CLI_TAKE(types, infer_op(*op, host_views_of(inputs), options));
  RIDGE_CLI_TAKE(given, output_names(*op, options));
  RIDGE_CLI_TAKE(outputs, make_outputs(*op, given, types, request));
  RIDGE_CLI_TAKE(places, check_output_paths(request.outputs));

  for (Tensor& tensor : inputs) RIDGE_TRY(move_input(*op, tensor, device.id));
  if (!device.is_cpu())
    for (Tensor& tensor : outputs) RIDGE_TRY(give_device_memory(tensor, device.id, spanned_bytes(tensor.host)));
  const auto in = views_of(inputs), out = views_of(outputs);
  const bool guarded = is_guarded(*op, options);
  Options planned = options;
  if (guarded && device.is_cpu()) planned.set("checked", "1");
  if (guarded && !device.is_cpu()) RIDGE_TRY(run_checked(*op, in, out, options, device));
  RIDGE_CLI_TAKE(plan, plan_tuned(*op, in, out, planned, device));

  Report report{.op = *op,
                .device = device,
                .input_names = names,
                .output_names = given,
                .inputs = inputs,
                .outputs = outputs,
                .plan = plan->explain(),
                .us = 0,
                .check = {}};
  {
    Progress progress(fmt::format("{} on {}", op->name, device.id_text()));
    RIDGE_CLI_TAKE(us, timed_run(*plan, in, out, device));
    report.us = us;
    report.plan = plan->explain();
    for (Tensor& tensor : outputs)
      RIDGE_TRY(copy_bytes(tensor.host.data, {}, tensor.on_device.data, tensor.on_device.device,
                           tensor.on_device.data == tensor.host.data ? 0 : spanned_bytes(tensor.host)));
    if (request.check) {
      progress.step(0, "checking against the oracle");
      Options asked = options;  // a case says by name which of its optional inputs there are
      if (!op->optional.empty()) asked.set("inputs", fmt::format("{}", fmt::join(names, ",")));
      RIDGE_CLI_TAKE(check, check_against_oracle(*op, asked, host_views_of(inputs), host_views_of(outputs)));
      report.check = std::move(check);
    }
  }
  RIDGE_TRY(write_outputs(outputs));
  // Standard output may be taken by an array; what is said of it then goes the other way.
  std::FILE* to = std::ranges::any_of(places, &OutputFile::Place::standard_output) ? stderr : stdout;
  request.json ? print_json(report, to) : print_table(report, to);
  return report.check && !report.check->passed() ? exit_check_failed : exit_done;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("run", "Run an operator on files: ridge run OP IN.npy ... -o OUT.npy");
  command->add_option("OP", request->op, "The operator (ridge ops)")->required();
  command->add_option("IN", request->inputs, "Input files, in the operator's order")->required();
  command->add_option("-o,--output", request->outputs, "Output file; once for each output")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--opt", request->options, "An option of the operator, as k=v")->allow_extra_args(false);
  command->add_option("--device,--on", request->device, "cpu, cuda or cuda:N (default: a GPU if there is one)");
  command->add_option("--variant", request->variant, "This row of the operator's table, not the best one");
  command->add_flag("--raw", request->raw, "Histogram: count the bytes of the file, whatever it is");
  command->add_flag("--bf16", request->bf16, "Read arrays of 16-bit words (u2) as bfloat16");
  command->add_flag("--check", request->check, "Compare the result with the oracle; exit 1 if it is wrong");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([request, &action] { action = [request] { return run(*request); }; });
}

}  // namespace ridge::cli
