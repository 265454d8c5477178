// gemv by name. a comes as it is stored, and layout= says whether it is transposed.
#include <ridge/core/op.hpp>
#include <ridge/gemv/request.hpp>
#include <ridge/gemv/variants.hpp>

namespace ridge {

using namespace gemv_detail;

static Result<std::vector<std::string_view>> takes(const Options& options, std::size_t given) {
  auto request = request_of(options, given);
  if (!request) return request.error();
  return request->inputs();
}

// Preconditions: the request's number of inputs; a has 2 axes.
static GemvTensors tensors_of(const Request& r, Views in, const TensorView& y) {
  GemvTensors t{.a = r.transposed ? transposed(in[0]) : in[0], .x = in[1], .y = y};
  std::size_t next = 2;
  if (r.has_c() || r.ignores_c) t.c = in[next++];
  if (r.bias) t.bias = in[next++];
  return t;
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(options, in.size());
  if (!request) return request.error();
  if (in[0].rank() != 2) return Status::invalid("gemv", "a.shape", in[0].layout.text(), "of 2 axes");
  return std::vector<TensorType>{{in[0].dtype, {in[0].size(request->transposed ? 1 : 0)}}};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(options, in.size());
  if (!request) return request.error();
  auto problem = GemvProblem::of(tensors_of(*request, in, out[0]), request->scalars);
  if (!problem) return problem.error();
  auto plan = plan_gemv(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan),
                      [r = *request](const GemvPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
                        return p.run(tensors_of(r, x, y[0]), workspace, stream);
                      });
}

// The checklist item that a row of the table demonstrates.
static std::string_view checklist_item(const Variant& row) {
  const Config& c = row.config;
  if (c.kernel == Kernel::naive || c.strided) return {};
  if (c.split_k || c.kernel == Kernel::block || c.lanes < 32) return "occupancy";
  return c.textbook ? "coalescing" : "coarsening";
}

static const RegisterOp registered(
    {.name = "gemv",
     .family = "gemm",
     .summary = "y = act(alpha * op(a) x + beta * c + bias)",
     .inputs = {"a", "x", "c", "bias"},
     .outputs = {"y"},
     .dtypes = {f32, f16, bf16, f64},
     .options = {{"layout", "n|t", "t: a is stored transposed, as [k, m]", "n"},
                 {"epilogue", "bias+relu ...", "bias (of m), an activation, joined by +"},
                 {"alpha", "number", "of the product", "1"},
                 {"beta", "number", "of c; other than 0, c is an input; given as 0, c may come and is not read", "0"}},
     .variants = variant_infos(variants, checklist_item),
     .infer = infer,
     .plan = plan_by_name,
     .takes = takes});

}  // namespace ridge
