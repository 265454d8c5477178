// `faulty`: an operator whose last element is wrong, the case book that finds it, and a peer that is twice as wrong.
#include <ridge/bench/bench.hpp>
#include <ridge/check/case_book.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/op.hpp>

#include <algorithm>

namespace ridge {
namespace {

struct FaultyPlan {
  Explanation explanation;
  const Explanation& explain() const { return explanation; }
  std::size_t workspace_bytes() const { return 0; }
};

Result<std::vector<TensorType>> infer(Views in, const Options&) {
  const Layout& layout = in[0].layout;
  return std::vector<TensorType>{{in[0].dtype, {layout.shape.begin(), layout.shape.begin() + layout.rank}}};
}

Result<std::unique_ptr<OpPlan>> plan(Views in, Views, const Options&, const DeviceInfo& device) {
  FaultyPlan made{{.op = "faulty",
                   .problem = in[0].layout.text(),
                   .device = device.id_text(),
                   .variant = "only",
                   .cost = {},
                   .bound = "latency",
                   .candidates = {}}};
  made.explanation.candidates.push_back({.variant = "only", .refusal = "", .predicted_us = 1});
  return make_op_plan(std::move(made), [](const FaultyPlan&, Views x, Views y, Workspace, Stream) {
    const auto* from = static_cast<const float*>(x[0].data);
    auto* to = static_cast<float*>(y[0].data);
    const std::int64_t n = x[0].count();
    std::copy_n(from, n, to);
    if (n > 0) to[n - 1] = from[n - 1] + 1;
    return Status{};
  });
}

const RegisterOp op({.name = "faulty",
                     .family = "faulty",
                     .summary = "y = x, but for the last element",
                     .inputs = {"x"},
                     .outputs = {"y"},
                     .dtypes = {f32},
                     .options = {},
                     .variants = {{"only", "wrong on purpose"}},
                     .infer = infer,
                     .plan = plan});

const check::RegisterCases cases(
    {.op = "faulty",
     .keys = {"n"},
     .optional_keys = {},
     .inputs = [](const check::Case& c) -> Result<std::vector<TensorType>> {
       return std::vector<TensorType>{{c.dtype, {c.dim("n")}}};
     },
     .oracle = [](const check::Case&, const std::vector<check::HostTensor>& in) -> std::vector<check::Expected> {
       return {{in[0].values, std::vector<double>(in[0].values.size(), 0.0)}};
     },
     .elements =
         [](const check::Case&, const std::vector<check::HostTensor>& in, const std::vector<std::int64_t>& offsets) {
           check::Expected e;
           for (std::int64_t offset : offsets) e.value.push_back(in[0].at(offset));
           return e;
         },
     .adjust = nullptr,
     .tests = {"faulty:f32:n=0", "faulty:f32:n=5"},
     .benches = {},
     .draw = [](check::Draw& d) { return "f32:n=" + std::to_string(d.log_uniform(1, 100)); }});

const bench::RegisterPeer peer({.op = "faulty",
                                .name = "worse",
                                .make = [](const check::Case&, Views in,
                                           Views out) -> Result<std::function<Status(Stream)>> {
                                  return std::function<Status(Stream)>([x = in[0], y = out[0]](Stream) {
                                    const auto* from = static_cast<const float*>(x.data);
                                    auto* to = static_cast<float*>(y.data);
                                    std::copy_n(from, x.count(), to);
                                    to[x.count() - 1] += 2;
                                    return Status{};
                                  });
                                },
                                .takes_host = true});

}  // namespace
}  // namespace ridge
