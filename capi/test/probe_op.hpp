// An operator only for the ABI's test: y = a + b with any strides on the CPU, s = the sum of y, with as much workspace
// as the request says. It records the views it was planned with, and throws on demand.
#pragma once
#include <ridge/core/op.hpp>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace probe {

using namespace ridge;

inline std::vector<TensorView> planned;  // inputs, then outputs

inline void throw_as_asked(const Options& options) {
  const std::string_view what = options.text("throw");
  if (what == "bad_alloc") throw std::bad_alloc();
  if (what == "logic_error") throw std::logic_error("a fault on purpose");
  if (what == "number") throw 7;
}

inline std::int64_t offset_of(const Layout& layout, std::int64_t element) {
  std::int64_t offset = 0;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    offset += element % layout.shape[axis] * layout.stride[axis];
    element /= layout.shape[axis];
  }
  return offset;
}

struct Plan {
  std::string problem, device;
  std::size_t bytes;
  std::size_t workspace_bytes() const { return bytes; }
  Explanation explain() const {
    Explanation e;
    e.op = "capi_probe";
    e.problem = problem;
    e.device = device;
    e.variant = "only \"one\"";
    e.bound = "memory";
    e.least_us = 0.5;
    e.workspace_bytes = bytes;
    e.candidates = {{"only \"one\"", "", 1.5}, {"other", "never\nfits", 0}};
    return e;
  }
};

inline Status run(const Plan& plan, Views in, Views out, Workspace workspace, Stream) {
  for (std::size_t i = 0; i < plan.bytes; ++i) static_cast<char*>(workspace.data)[i] = 1;
  double sum = 0;
  for (std::int64_t i = 0; i < out[0].count(); ++i) {
    const float y = static_cast<const float*>(in[0].data)[offset_of(in[0].layout, i)] +
                    static_cast<const float*>(in[1].data)[offset_of(in[1].layout, i)];
    static_cast<float*>(out[0].data)[offset_of(out[0].layout, i)] = y;
    sum += y;
  }
  *static_cast<double*>(out[1].data) = sum;
  return {};
}

inline const RegisterOp registered(
    {.name = "capi_probe",
     .family = "capi_probe",
     .summary = "y = a + b, s = sum(y)",
     .inputs = {"a", "b"},
     .outputs = {"y", "s"},
     .dtypes = {f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i8, u8, boolean},
     .options = {{"bytes", "0..", "workspace", "0"}, {"throw", "text", "what is thrown"}},
     .variants = {{"only \"one\"", "all there is"}},
     .infer = [](Views in, const Options& o) -> Result<std::vector<TensorType>> {
       throw_as_asked(o);
       const Layout& shape = in[0].layout;
       return std::vector<TensorType>{{in[0].dtype, {shape.shape.begin(), shape.shape.begin() + shape.rank}},
                                      {f64, {}}};
     },
     .plan = [](Views in, Views out, const Options& o, const DeviceInfo& device) -> Result<std::unique_ptr<OpPlan>> {
       planned.assign(in.begin(), in.end());
       planned.insert(planned.end(), out.begin(), out.end());
       const auto bytes = o.integer("capi_probe", "bytes", 0);
       if (!bytes) return bytes.error();
       return make_op_plan(Plan{in[0].layout.text(), device.name, static_cast<std::size_t>(*bytes)}, run);
     }});

}  // namespace probe
