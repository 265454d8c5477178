#include <ridge/check/c_face.hpp>

#include <ridge.h>

#include <string>
#include <vector>

namespace ridge::check {

namespace {

DLDataType type_of(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::f16: return {kDLFloat, bits, 1};
    case DType::bf16: return {kDLBfloat, bits, 1};
    case DType::f8e4m3: return {kDLFloat8_e4m3fn, bits, 1};
    case DType::f8e5m2: return {kDLFloat8_e5m2, bits, 1};
    case DType::i64:
    case DType::i32:
    case DType::i8: return {kDLInt, bits, 1};
    case DType::u8: return {kDLUInt, bits, 1};
    case DType::boolean: return {kDLBool, bits, 1};
  }
  return {};
}

// A tensor for the C ABI: part of its address is in byte_offset, which counts, and it has no strides where it needs
// none.
struct Tensor {
  explicit Tensor(const TensorView& view)
      : shape(view.layout.shape.begin(), view.layout.shape.begin() + view.rank()),
        strides(view.layout.stride.begin(), view.layout.stride.begin() + view.rank()),
        plain(view.layout.is_contiguous()) {
    constexpr std::uint64_t before = 16;
    dl.data = view.data ? static_cast<std::byte*>(view.data) - before : nullptr;
    dl.byte_offset = view.data ? before : 0;
    dl.device = {view.device.kind == DeviceKind::cpu ? kDLCPU : kDLCUDA, view.device.index};
    dl.dtype = type_of(view.dtype);
  }
  const DLTensor* get() {
    dl.ndim = static_cast<std::int32_t>(shape.size());
    dl.shape = shape.data();
    dl.strides = plain ? nullptr : strides.data();
    return &dl;
  }
  DLTensor dl{};
  std::vector<std::int64_t> shape, strides;
  bool plain;
};

struct Request {
  Request(Views in, Views out) : inputs(in.begin(), in.end()), outputs(out.begin(), out.end()) {}
  static std::vector<const DLTensor*> pointers(std::vector<Tensor>& tensors) {
    std::vector<const DLTensor*> list;
    for (Tensor& tensor : tensors) list.push_back(tensor.get());
    return list;
  }
  std::vector<Tensor> inputs, outputs;
};

Status status_of(ridge_status status) {
  if (status == RIDGE_OK) return {};
  constexpr Code codes[] = {
      Code::ok,           Code::invalid_argument, Code::unsupported, Code::no_device,   Code::out_of_memory,
      Code::kernel_fault, Code::device_error,     Code::io,          Code::kernel_fault};
  return Status::error(codes[status], ridge_last_error());
}

struct CPlan final : OpPlan {
  ~CPlan() override { ridge_plan_destroy(plan); }
  Explanation explain() const override { return explanation; }
  std::size_t workspace_bytes() const override { return ridge_plan_workspace_bytes(plan); }

  Status run(Views inputs, Views outputs, Workspace workspace, Stream stream) const override {
    Request request(inputs, outputs);
    const auto call = [&] {
      return ridge_plan_run(plan, Request::pointers(request.inputs).data(), Request::pointers(request.outputs).data(),
                            workspace.data, workspace.bytes, stream.handle);
    };
    for (auto* tensors : {&request.inputs, &request.outputs})
      for (Tensor& tensor : *tensors)
        for (int change = 0; change < changes; ++change) {
          const Tensor right = tensor;
          if (corrupt(tensor, change) && call() == RIDGE_OK)
            return Status::error(Code::kernel_fault, "ridge_plan_run took a tensor of another " + change_names[change]);
          tensor = right;
        }
    return status_of(call());
  }

  static constexpr int changes = 4;
  static inline const std::string change_names[changes] = {"shape", "stride", "rank", "type"};
  static bool corrupt(Tensor& tensor, int change) {
    switch (change) {
      case 0:
        if (tensor.shape.empty()) return false;
        ++tensor.shape.back();
        return true;
      case 1: {  // the stride of the last axis that has a second element
        std::size_t axis = tensor.shape.size();
        for (std::int64_t size : tensor.shape)
          if (size == 0) return false;  // nothing is read, whatever the strides
        while (axis > 0 && tensor.shape[axis - 1] < 2) --axis;
        if (axis == 0) return false;
        tensor.plain = false;
        ++tensor.strides[axis - 1];
        return true;
      }
      case 2:
        if (tensor.shape.size() >= RIDGE_MAX_RANK) return false;
        tensor.shape.push_back(1);
        tensor.strides.push_back(1);
        return true;
      default:  // a type of the same size where there is one
        tensor.dl.dtype = tensor.dl.dtype.code == kDLFloat ? DLDataType{kDLInt, tensor.dl.dtype.bits, 1}
                                                           : DLDataType{kDLFloat, 32, 1};
        return true;
    }
  }

  ridge_plan* plan = nullptr;
  Explanation explanation;
};

}  // namespace

Result<std::unique_ptr<OpPlan>> plan_through_c(const OpInfo& op, Views inputs, Views outputs, const Options& options) {
  std::vector<ridge_option> pairs;
  for (const auto& [key, value] : options.pairs()) pairs.push_back({key.c_str(), value.c_str()});
  Request request(inputs, outputs);
  auto made = std::make_unique<CPlan>();
  const std::string name(op.name);
  RIDGE_TRY(status_of(ridge_plan_create(
      name.c_str(), Request::pointers(request.inputs).data(), static_cast<std::int32_t>(inputs.size()),
      Request::pointers(request.outputs).data(), static_cast<std::int32_t>(outputs.size()), pairs.data(),
      static_cast<std::int32_t>(pairs.size()), nullptr, &made->plan)));
  made->explanation.op = op.name;
  return Result<std::unique_ptr<OpPlan>>(std::move(made));
}

}  // namespace ridge::check
