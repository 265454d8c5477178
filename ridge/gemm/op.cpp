// gemm and grouped_gemm by name. Inputs come as they are stored, and layout= says which of them are transposed.
#include <ridge/core/op.hpp>
#include <ridge/gemm/families.hpp>
#include <ridge/gemm/request.hpp>

#include <algorithm>

namespace ridge {

using namespace gemm_detail;

template <bool Grouped> static Result<std::vector<std::string_view>> takes(const Options& options, std::size_t given) {
  auto request = request_of(options, Grouped, given);
  if (!request) return request.error();
  return request->inputs();
}

// The plan's status about groups, in the name of the requested operator.
template <bool Grouped> static Status named(const Status& status) {
  if (!Grouped || status.ok()) return status;
  if (status.op() != "gemm") return in_name_of("grouped_gemm", status);
  return Status::refuse(status.code(), "grouped_gemm", std::string(status.argument()), std::string(status.value()),
                        std::string(status.constraint()));
}

// The views for GemmProblem::of. Preconditions: the request's number of inputs; matrices have 2 or 3 axes.
static GemmTensors tensors_of(const Request& r, Views in, const TensorView& d) {
  const auto names = r.inputs();
  const auto given = [&](std::string_view name) -> std::optional<TensorView> {
    const TensorView* found = find_view(in, names, name);
    return found ? std::optional(*found) : std::nullopt;
  };
  GemmTensors t{.a = r.transposed_a() ? transposed(in[0]) : in[0],
                .b = r.transposed_b() ? transposed(in[1]) : in[1],
                .d = d,
                .c = given("c"),
                .bias = given("bias"),
                .residual = given("residual"),
                .gate = given("gate"),
                .gate_bias = given("gate_bias"),
                .offsets = given("offsets")};
  if (t.gate && r.transposed_b()) t.gate = transposed(*t.gate);
  if (r.bias == GemmBias::along_m) {  // [M] viewed as [M, 1]
    t.bias->layout.rank = 2;
    t.bias->layout.shape[1] = t.bias->layout.stride[1] = 1;
  }
  return t;
}

template <bool Grouped> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(options, Grouped, in.size());
  if (!request) return request.error();
  const auto names = request->inputs();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool vector = names[i] == "offsets" || names[i] == "gate_bias" || (names[i] == "bias" && !Grouped);
    if (vector ? in[i].rank() != 1 : in[i].rank() < 2 || (Grouped && in[i].rank() > 3))
      return Status::invalid(Grouped ? "grouped_gemm" : "gemm", std::string(names[i]) + ".shape", in[i].layout.text(),
                             vector    ? "of 1 axis"
                             : Grouped ? "of 2 axes, or 3 where it has a matrix for each group"
                                       : "of 2 axes, or more with a batch");
  }
  const GemmTensors t = tensors_of(*request, in, {});
  TensorType d{request->out_of(t.a.dtype), {t.a.size(-2), t.b.size(-1)}};
  if (Grouped) return std::vector<TensorType>{d};
  // Batch axes that do not broadcast are refused later, with both shapes.
  for (int from_last = 3; from_last <= std::max(t.a.rank(), t.b.rank()); ++from_last) {
    const auto size = [&](const TensorView& v) { return v.rank() >= from_last ? v.size(-from_last) : 1; };
    d.shape.insert(d.shape.begin(), size(t.a) == 1 ? size(t.b) : size(t.a));
  }
  return std::vector<TensorType>{d};
}

template <bool Grouped>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(options, Grouped, in.size());
  if (!request) return request.error();
  auto problem = GemmProblem::of(tensors_of(*request, in, out[0]), request->scalars);
  if (!problem) return named<Grouped>(problem.error());
  auto checked = options.flag_if_given("grouped_gemm", "checked");
  if (!checked) return checked.error();
  auto plan = plan_gemm(*problem, device, {.variant = std::string(options.text("variant")), .checked = *checked});
  if (!plan) return named<Grouped>(plan.error());
  return make_op_plan(std::move(*plan),
                      [r = *request](const GemmPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
                        return named<Grouped>(p.run(tensors_of(r, x, y[0]), workspace, stream));
                      });
}

static const RegisterOp registered(
    {.name = "gemm",
     .family = "gemm",
     .summary = "d = scale * (act(alpha * op(a) op(b) + beta * c + bias) + residual)",
     .inputs = {"a", "b", "c", "bias", "residual", "gate", "gate_bias"},
     .outputs = {"d"},
     .dtypes = {f32, f16, bf16, f64, f8e4m3, f8e5m2, i8},
     .options = {{"layout", "nn|nt|tn|tt", "t: the operand is stored transposed, a as [k, m], b as [n, k]", "nn"},
                 {"epilogue", "bias+relu ...",
                  "bias (of n) or bias_m (of m), an activation, gate, gate_bias (of n), residual, joined by +"},
                 {"alpha", "number", "of the product", "1"},
                 {"beta", "number", "of c; other than 0, c is an input; given as 0, c may come and is not read", "0"},
                 {"scale", "number", "of d", "1"},
                 {"math", "exact|tf32|3xtf32|fast", "f32 on tensor cores as TF32; fast: f8 with sums that stay in them",
                  "exact"},
                 {"accumulate", "plain|two_float", "two_float: f32 with nearly the accuracy of f64", "plain"},
                 {"out", "dtype", "of d; default that of a, i32 for i8, f32 for fp8"}},
     .variants = variant_infos(variants, lesson_of),
     .infer = infer<false>,
     .plan = plan_by_name<false>,
     .takes = takes<false>});

static const RegisterOp registered_grouped(
    {.name = "grouped_gemm",
     .family = "gemm",
     .summary = "rows offsets[g] to offsets[g + 1] of d are those of a times b[g]",
     .inputs = {"a", "b", "offsets", "c", "bias", "residual"},
     .outputs = {"d"},
     .dtypes = {f32, f16, bf16, f64},
     .options = {{"layout", "nn|nt|tn|tt", "t: the operand is stored transposed, a as [k, m], b as [groups, n, k]",
                  "nn"},
                 {"epilogue", "bias+relu ...", "bias (of groups x n), an activation, residual, joined by +"},
                 {"alpha", "number", "of the product", "1"},
                 {"beta", "number", "of c; other than 0, c is an input; given as 0, c may come and is not read", "0"},
                 {"scale", "number", "of d", "1"},
                 {"math", "exact|tf32|3xtf32", "as gemm has it", "exact"},
                 {"out", "dtype", "of d; default that of a"},
                 {"checked", "0|1", "wrong offsets are refused, for which a GPU is waited for; default on the CPU"}},
     .variants = variant_infos(variants, lesson_of),
     .infer = infer<true>,
     .plan = plan_by_name<true>,
     .takes = takes<true>});

}  // namespace ridge
