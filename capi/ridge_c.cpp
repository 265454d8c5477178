// ridge.h on top of core/op.hpp. Every failure becomes a status and a sentence; no exception leaves.
#include "dlpack_view.hpp"

#include <ridge.h>
#include <ridge/core/interrupt.hpp>
#include <ridge/core/json.hpp>
#include <ridge/core/op.hpp>
#include <ridge/tuning/tuned_plan.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

using namespace ridge;
using namespace ridge::capi;

static_assert(RIDGE_MAX_RANK == max_rank);
static_assert(RIDGE_INTERRUPTED == static_cast<int>(Code::interrupted));
static_assert(RIDGE_IO == static_cast<int>(Code::io) && RIDGE_OK == static_cast<int>(Code::ok));

// ---- errors --------------------------------------------------------------------------------------------------------

static constexpr const char* no_memory = "Ridge has run out of memory";

static thread_local std::string sentence;
static thread_local const char* last_error = "";

static ridge_status fail(ridge_status status, std::string_view text) noexcept {
  try {
    sentence = text;
    last_error = sentence.c_str();
  } catch (...) {
    last_error = no_memory;
  }
  return status;
}

// The result or exception of body(), as a status.
template <class Body> static ridge_status reported(Body&& body) noexcept {
  try {
    const Status status = body();
    if (status.ok()) return RIDGE_OK;
    return fail(static_cast<ridge_status>(status.code()), status.message());
  } catch (const std::bad_alloc&) {
    return fail(RIDGE_OUT_OF_MEMORY, no_memory);
  } catch (const std::exception& exception) {
    return fail(RIDGE_INTERNAL_ERROR, exception.what());
  } catch (...) {
    return fail(RIDGE_INTERNAL_ERROR, "an exception of an unknown kind was thrown");
  }
}

const char* ridge_last_error(void) { return last_error; }

const char* ridge_status_name(ridge_status status) {
  if (status == RIDGE_INTERNAL_ERROR) return "internal_error";
  return status >= RIDGE_OK && status <= RIDGE_INTERRUPTED ? name(static_cast<Code>(status)).data() : "unknown";
}

// ---- version, devices, tuning, operators ---------------------------------------------------------------------------

const char* ridge_version(void) { return RIDGE_VERSION; }
int ridge_has_cuda(void) { return RIDGE_HAS_CUDA; }

int ridge_device_count(void) {
  int count = 0;
  (void)reported([&]() -> Status {
    count = device_count();
    return {};
  });
  return count;
}

const char* ridge_ops_json(void) {
  const char* text = nullptr;
  (void)reported([&]() -> Status {
    static const std::string json = [] {
      std::string list;
      for (const OpInfo* op : ops()) list += (list.empty() ? "" : ", ") + json_text(*op);
      return "{\"operators\": [" + list + "]}";
    }();
    text = json.c_str();
    return {};
  });
  return text;
}

// ---- requests ------------------------------------------------------------------------------------------------------

static Status check_not_null(const char* function, const char* argument, const void* given) {
  return given ? Status{} : Status::invalid(function, argument, "NULL", "given");
}

static Status check_list(const char* function, const char* argument, const void* list, std::int32_t count, int most) {
  if (count < 0 || count > most)
    return Status::invalid(function, std::string("n_") + argument, std::to_string(count),
                           "from 0 to " + std::to_string(most));
  return count > 0 ? check_not_null(function, argument, list) : Status{};
}

ridge_status ridge_set_tuning(const char* mode) {
  return reported([&]() -> Status {
    RIDGE_TRY(check_not_null("ridge_set_tuning", "mode", mode));
    const auto wanted = tune_mode_of(mode);
    if (!wanted) return Status::invalid("ridge_set_tuning", "mode", "'" + std::string(mode) + "'", "0, 1 or read");
    set_tuning(*wanted);
    return {};
  });
}

// The operator and the tensors of a request, each tensor with its name.
namespace {
struct Tensor {
  const DLTensor* tensor;
  std::string_view name;
  Place place = {};
};

struct Request {
  const OpInfo* op = nullptr;
  Options options;
  std::vector<Tensor> inputs, outputs;
};

struct RawRequest {  // the arguments of an ABI function
  const char* function;
  const char* op;
  const DLTensor* const* inputs;
  std::int32_t n_inputs;
  const DLTensor* const* outputs;
  std::int32_t n_outputs;
  const ridge_option* options;
  std::int32_t n_options;
};
}  // namespace

static Status add_tensors(const RawRequest& raw, const DLTensor* const* given, std::int32_t count,
                          const std::vector<std::string_view>& names, std::vector<Tensor>& tensors) {
  for (std::int32_t i = 0; i < count; ++i) {
    const std::string_view name = static_cast<std::size_t>(i) < names.size() ? names[i] : "tensor";
    if (!given[i]) return Status::invalid(raw.op, std::string(name), "NULL", "a pointer to a tensor");
    tensors.push_back({given[i], name});
  }
  return {};
}

static Result<Request> read_request(const RawRequest& raw) {
  RIDGE_TRY(check_not_null(raw.function, "op", raw.op));
  RIDGE_TRY(check_list(raw.function, "inputs", raw.inputs, raw.n_inputs, RIDGE_MAX_TENSORS));
  RIDGE_TRY(check_list(raw.function, "outputs", raw.outputs, raw.n_outputs, RIDGE_MAX_TENSORS));
  RIDGE_TRY(check_list(raw.function, "options", raw.options, raw.n_options, INT32_MAX));
  Request request;
  auto op = find_op(raw.op);
  if (!op) return op.error();
  request.op = *op;
  for (std::int32_t i = 0; i < raw.n_options; ++i) {
    const auto& [key, value] = raw.options[i];
    RIDGE_TRY(check_not_null(raw.op, "an option's key", key));
    RIDGE_TRY(check_not_null(raw.op, "an option's value", value));
    request.options.set(key, value);
  }
  const auto names = input_names(*request.op, request.options, static_cast<std::size_t>(raw.n_inputs));
  if (!names) return names.error();
  RIDGE_TRY(add_tensors(raw, raw.inputs, raw.n_inputs, *names, request.inputs));
  const auto results = output_names(*request.op, request.options);
  if (!results) return results.error();
  RIDGE_TRY(add_tensors(raw, raw.outputs, raw.n_outputs, *results, request.outputs));
  return request;
}

static std::string text_of(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

// The one device that all of the request's tensors can be on.
static Result<Device> common_device(Request& request) {
  const Tensor* first = nullptr;  // the first tensor that is on one device only
  const Tensor* any = nullptr;
  for (std::vector<Tensor>* tensors : {&request.inputs, &request.outputs})
    for (Tensor& t : *tensors) {
      auto place = place_of(request.op->name, t.name, t.tensor->device);
      if (!place) return place.error();
      t.place = *place;
      if (!any) any = &t;
      if (place->anywhere) continue;
      if (!first) first = &t;
      if (place->alone != first->place.alone)
        return Status::invalid(request.op->name, std::string(t.name) + ".device", text_of(place->alone),
                               "that of " + std::string(first->name) + ", " + text_of(first->place.alone));
    }
  return first ? first->place.alone : any ? any->place.alone : Device{};
}

namespace {
struct Target {
  DeviceInfo info;
  bool is_model;
};
}  // namespace

// The device that a plan is for. `named` is the caller's name for it, or null.
static Result<Target> target_of(Request& request, const char* named) {
  const std::string_view text = named ? named : "";
  const bool is_model = named && text != "cpu" && !text.starts_with("cuda");
  if (is_model) {
    auto model = device_model(text);
    if (model) return Target{*model, true};
    return Status::error(Code::invalid_argument, std::string(model.error().message()) + ", or cpu, cuda, cuda:N");
  }
  auto common = common_device(request);
  if (!common) return common.error();
  auto info = named ? find_device(text) : common->kind == DeviceKind::cpu ? cpu() : device(common->index);
  if (!info) return info.error();
  for (const std::vector<Tensor>* tensors : {&request.inputs, &request.outputs})
    for (const Tensor& t : *tensors)
      if (!t.place.anywhere && t.place.alone != info->id)
        return Status::invalid(request.op->name, std::string(t.name) + ".device", text_of(t.place.alone),
                               "that of the plan, " + text_of(info->id));
  return Target{*info, false};
}

static Result<std::vector<TensorView>> views_of(const OpInfo& op, const std::vector<Tensor>& tensors, Device device,
                                                bool keep_data) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) {
    auto view = view_of(op.name, t.name, *t.tensor, device, keep_data);
    if (!view) return view.error();
    views.push_back(*view);
  }
  return views;
}

ridge_status ridge_infer(const char* op, const DLTensor* const* inputs, int32_t n_inputs, const ridge_option* options,
                         int32_t n_options, ridge_tensor_type* types, int32_t* n_types) {
  return reported([&]() -> Status {
    RIDGE_TRY(check_not_null("ridge_infer", "types", types));
    RIDGE_TRY(check_not_null("ridge_infer", "n_types", n_types));
    *n_types = 0;
    auto request = read_request({"ridge_infer", op, inputs, n_inputs, nullptr, 0, options, n_options});
    if (!request) return request.error();
    auto device = common_device(*request);
    if (!device) return device.error();
    auto views = views_of(*request->op, request->inputs, *device, false);
    if (!views) return views.error();
    auto inferred = infer_op(*request->op, *views, request->options);
    if (!inferred) return inferred.error();
    for (const TensorType& type : *inferred) {
      ridge_tensor_type& t = types[(*n_types)++];
      t = {dlpack_type(type.dtype), static_cast<std::int32_t>(type.shape.size()), {}};
      std::ranges::copy(type.shape, t.shape);
    }
    return {};
  });
}

// ---- plans ---------------------------------------------------------------------------------------------------------

namespace {
// A text that is made on first use, by any thread.
class LazyText {
 public:
  template <class Make> const char* get(Make&& make) const {
    std::call_once(made_, [&] { text_ = make(); });
    return text_.c_str();
  }

 private:
  mutable std::once_flag made_;
  mutable std::string text_;
};

struct PlannedTensor {
  TensorView view;  // data is null
  DLDataType dtype;
  std::string_view name;
  bool empty;
  Reach reach;
};
}  // namespace

struct ridge_plan {
  const OpInfo* op;
  std::vector<PlannedTensor> inputs, outputs;
  std::unique_ptr<OpPlan> plan;
  std::size_t workspace_bytes;
  Device device;
  std::string model;                             // not empty: the plan is for a model of a device
  LazyText explanation[2], explanation_json[2];  // before and after the plan has settled
};

static std::vector<PlannedTensor> planned(const std::vector<Tensor>& tensors, const std::vector<TensorView>& views) {
  std::vector<PlannedTensor> list;
  for (std::size_t i = 0; i < views.size(); ++i) {
    TensorView view = views[i];
    view.data = nullptr;
    const auto reach = reach_of(view.layout, static_cast<std::int64_t>(size_of(view.dtype)));  // views_of() checked it
    list.push_back({view, tensors[i].tensor->dtype, tensors[i].name, view.count() == 0, reach.value_or(Reach{})});
  }
  return list;
}

ridge_status ridge_plan_create(const char* op, const DLTensor* const* inputs, int32_t n_inputs,
                               const DLTensor* const* outputs, int32_t n_outputs, const ridge_option* options,
                               int32_t n_options, const char* device, ridge_plan** plan) {
  return reported([&]() -> Status {
    RIDGE_TRY(check_not_null("ridge_plan_create", "plan", plan));
    *plan = nullptr;
    auto request = read_request({"ridge_plan_create", op, inputs, n_inputs, outputs, n_outputs, options, n_options});
    if (!request) return request.error();
    auto target = target_of(*request, device);
    if (!target) return target.error();
    auto in = views_of(*request->op, request->inputs, target->info.id, true);
    if (!in) return in.error();
    auto out = views_of(*request->op, request->outputs, target->info.id, true);
    if (!out) return out.error();
    // A plan for a model explains and does not run, so there is nothing to measure.
    auto made = target->is_model ? plan_op(*request->op, *in, *out, request->options, target->info)
                                 : plan_tuned(*request->op, *in, *out, request->options, target->info);
    if (!made) return made.error();
    const std::size_t workspace_bytes = (*made)->workspace_bytes();
    *plan = new ridge_plan{.op = request->op,
                           .inputs = planned(request->inputs, *in),
                           .outputs = planned(request->outputs, *out),
                           .plan = std::move(*made),
                           .workspace_bytes = workspace_bytes,
                           .device = target->info.id,
                           .model = target->is_model ? target->info.name : "",
                           .explanation = {},
                           .explanation_json = {}};
    return {};
  });
}

void ridge_plan_destroy(ridge_plan* plan) { delete plan; }

size_t ridge_plan_workspace_bytes(const ridge_plan* plan) { return plan ? plan->workspace_bytes : 0; }

const char* ridge_plan_explain(const ridge_plan* plan) {
  const char* text = nullptr;
  (void)reported([&]() -> Status {
    RIDGE_TRY(check_not_null("ridge_plan_explain", "plan", plan));
    text = plan->explanation[plan->plan->is_settled()].get([&] { return plan->plan->explain().text(); });
    return {};
  });
  return text;
}

const char* ridge_plan_explain_json(const ridge_plan* plan) {
  const char* text = nullptr;
  (void)reported([&]() -> Status {
    RIDGE_TRY(check_not_null("ridge_plan_explain_json", "plan", plan));
    text = plan->explanation_json[plan->plan->is_settled()].get([&] { return json_text(plan->plan->explain()); });
    return {};
  });
  return text;
}

// ---- runs: from here on nothing is allocated unless something is wrong ---------------------------------------------

static bool is_on(DLDevice given, Device device) {
  if (is_gpu(given.device_type)) return device.kind == DeviceKind::cuda && device.index == given.device_id;
  switch (static_cast<int>(given.device_type)) {
    case kDLCPU: return device.kind == DeviceKind::cpu;
    case kDLCUDAHost:
    case kDLCUDAManaged: return true;
    default: return false;
  }
}

static bool as_planned(const PlannedTensor& p, const DLTensor& t, Device device) {
  const Layout& layout = p.view.layout;
  if (t.dtype.code != p.dtype.code || t.dtype.bits != p.dtype.bits || t.dtype.lanes != 1) return false;
  if (t.ndim != layout.rank || !is_on(t.device, device)) return false;
  if (t.ndim > 0 && !t.shape) return false;
  if (!std::equal(t.shape, t.shape + t.ndim, layout.shape.begin())) return false;
  if (p.empty) return true;
  std::int64_t contiguous = 1;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    if (layout.shape[axis] != 1 && (t.strides ? t.strides[axis] : contiguous) != layout.stride[axis]) return false;
    contiguous *= layout.shape[axis];
  }
  return true;
}

static std::string description(const TensorView& view) {
  return std::string(name(view.dtype)) + " " + view.layout.text() + " on " + text_of(view.device);
}

// The refusal of a tensor that is not as planned.
static Status mismatch(const OpInfo& op, const PlannedTensor& p, const DLTensor& t) {
  auto place = place_of(op.name, p.name, t.device);
  if (!place) return place.error();
  auto view = view_of(op.name, p.name, t, place->anywhere ? p.view.device : place->alone, true);
  if (!view) return view.error();
  return Status::invalid(op.name, std::string(p.name), description(*view), "as planned, " + description(p.view));
}

// The given tensors as views, each compared with the planned one.
static Status take(const ridge_plan& plan, const char* argument, const std::vector<PlannedTensor>& list,
                   const DLTensor* const* given, TensorView* views) {
  if (list.empty()) return {};
  RIDGE_TRY(check_not_null("ridge_plan_run", argument, given));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const PlannedTensor& p = list[i];
    if (!given[i]) return Status::invalid(plan.op->name, std::string(p.name), "NULL", "a pointer to a tensor");
    const DLTensor& t = *given[i];
    if (!as_planned(p, t, plan.device)) return mismatch(*plan.op, p, t);
    views[i] = p.view;
    if (p.empty) continue;
    if (!t.data)
      return Status::invalid(plan.op->name, std::string(p.name) + ".data", "NULL", "a pointer to its elements");
    const auto address = address_of(t, p.reach);
    if (!address || *address % size_of(p.view.dtype) != 0) return mismatch(*plan.op, p, t);
    views[i].data = reinterpret_cast<void*>(*address);
  }
  return {};
}

// The workspace must not overlap tensors: neither may a tensor change a kernel's workspace, nor the workspace a tensor.
static Status check_apart(const ridge_plan& plan, std::uintptr_t workspace, const std::vector<PlannedTensor>& list,
                          const TensorView* views) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const PlannedTensor& p = list[i];
    const auto data = reinterpret_cast<std::uintptr_t>(views[i].data);
    if (!p.empty && workspace < data + static_cast<std::uintptr_t>(p.reach.above) &&
        data - static_cast<std::uintptr_t>(p.reach.below) < workspace + plan.workspace_bytes)
      return Status::invalid(plan.op->name, "workspace", "memory that overlaps " + std::string(p.name),
                             "memory that no tensor uses");
  }
  return {};
}

static Status check_workspace(const ridge_plan& plan, const void* workspace, std::size_t bytes, const TensorView* in,
                              const TensorView* out) {
  if (plan.workspace_bytes == 0) return {};
  if (bytes < plan.workspace_bytes)
    return Status::invalid(plan.op->name, "workspace_bytes", std::to_string(bytes),
                           "at least " + std::to_string(plan.workspace_bytes));
  if (!workspace) return Status::invalid(plan.op->name, "workspace", "NULL", "memory on " + text_of(plan.device));
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    return Status::invalid(plan.op->name, "workspace", "at an address that is not a multiple of 256",
                           "aligned to 256 bytes");
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  RIDGE_TRY(check_apart(plan, address, plan.inputs, in));
  return check_apart(plan, address, plan.outputs, out);
}

ridge_status ridge_plan_run(const ridge_plan* plan, const DLTensor* const* inputs, const DLTensor* const* outputs,
                            void* workspace, size_t workspace_bytes, void* stream) {
  return reported([&]() -> Status {
    RIDGE_TRY(check_not_null("ridge_plan_run", "plan", plan));
    if (!plan->model.empty())
      return Status::error(Code::unsupported, std::string(plan->op->name) + ": the plan is for a device model, " +
                                                  plan->model +
                                                  ", and only explains; to run, plan for a device of this machine");
    std::array<TensorView, RIDGE_MAX_TENSORS> in, out;
    RIDGE_TRY(take(*plan, "inputs", plan->inputs, inputs, in.data()));
    RIDGE_TRY(take(*plan, "outputs", plan->outputs, outputs, out.data()));
    RIDGE_TRY(check_workspace(*plan, workspace, workspace_bytes, in.data(), out.data()));
    return plan->plan->run({in.data(), plan->inputs.size()}, {out.data(), plan->outputs.size()},
                           {workspace, workspace_bytes}, {stream});
  });
}

void ridge_set_interrupt(int (*asked)(void* context), void* context) { set_interrupt({asked, context}); }

// ---- tensors with an owner -----------------------------------------------------------------------------------------

ridge_status ridge_tensor_of_managed(DLManagedTensorVersioned* managed, int for_output, const DLTensor** tensor) {
  if (tensor) *tensor = nullptr;
  const ridge_status status = reported([&]() -> Status {
    constexpr const char* function = "ridge_tensor_of_managed";
    RIDGE_TRY(check_not_null(function, "managed", managed));
    RIDGE_TRY(check_not_null(function, "tensor", tensor));
    if (managed->version.major != DLPACK_MAJOR_VERSION)
      return Status::refuse(Code::unsupported, function, "managed->version.major",
                            std::to_string(managed->version.major), std::to_string(DLPACK_MAJOR_VERSION));
    if (for_output && (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY))
      return Status::invalid(function, "managed", "read-only", "writable, for it is an output");
    *tensor = &managed->dl_tensor;
    return {};
  });
  if (status != RIDGE_OK && managed && managed->deleter) managed->deleter(managed);
  return status;
}
