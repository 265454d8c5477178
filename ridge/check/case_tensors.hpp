// A case's tensors on the CPU runtime, for tests that compare runs with each other instead of the oracle.
#pragma once
#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>
#include <ridge/core/device.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ridge::check {

struct CaseTensors {
  std::vector<HostTensor> host;
  std::vector<Placed> inputs, outputs;
  std::vector<TensorView> in, out;
};

inline Result<CaseTensors> tensors_of(const CaseBook& book, const OpInfo& op, const Case& c, Place place,
                                      Device device) {
  CaseTensors t;
  auto host = fill_inputs(book, c);
  if (!host) return host.error();
  t.host = std::move(*host);
  const auto put = [&](const TensorType& type, Place at, std::vector<Placed>& tensors, std::vector<TensorView>& views) {
    auto placed = Placed::make(type, at, device);
    if (!placed) return placed.error();
    views.push_back(placed->view());
    tensors.push_back(std::move(*placed));
    return Status();
  };
  for (const HostTensor& tensor : t.host) RIDGE_TRY(put(tensor.type, place, t.inputs, t.in));
  auto types = infer_op(op, t.in, c.operator_options());
  if (!types) return types.error();
  for (const TensorType& type : *types) RIDGE_TRY(put(type, place_of_outputs(place), t.outputs, t.out));
  return t;
}

inline void append_elements(const TensorView& view, std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  const auto* data = static_cast<const std::byte*>(view.data);
  if (view.layout.is_contiguous()) {
    bytes.insert(bytes.end(), data, data + view.count() * size);
    return;
  }
  for (std::int64_t i = 0; i < view.count(); ++i) {
    std::int64_t offset = 0, rest = i;
    for (int axis = view.rank() - 1; axis >= 0; --axis) {
      offset += rest % view.size(axis) * view.stride(axis);
      rest /= view.size(axis);
    }
    bytes.insert(bytes.end(), data + offset * size, data + (offset + 1) * size);
  }
}

// The bytes of the outputs after a run, which starts from the same inputs and outputs every time.
inline Result<std::vector<std::byte>> bytes_of_run(CaseTensors& t, const OpPlan& plan, Device device) {
  for (std::size_t i = 0; i < t.inputs.size(); ++i) RIDGE_TRY(t.inputs[i].write(t.host[i].values));
  for (Placed& output : t.outputs) RIDGE_TRY(output.poison());
  auto workspace = Buffer::allocate(device, plan.workspace_bytes());
  if (!workspace) return workspace.error();
  RIDGE_TRY(plan.run(t.in, t.out, workspace->workspace(), {}));
  std::vector<std::byte> bytes;
  for (const TensorView& view : t.out) append_elements(view, bytes);
  return bytes;
}

}  // namespace ridge::check
