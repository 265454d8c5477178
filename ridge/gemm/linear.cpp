// linear: converts a layer's views to gemm's, and registers the operator by name.
#include <ridge/core/op.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/gemm/families.hpp>
#include <ridge/gemm/linear.hpp>
#include <ridge/gemm/request.hpp>
#include <ridge/gemm/run_cached.hpp>

#include <algorithm>
#include <array>

namespace ridge {

using namespace gemm_detail;

namespace {

// A tensor [..., n] as a matrix or a batch of them; `rows`: its merged leading axes.
TensorView as_matrix(const TensorView& v, const Layout& rows) {
  TensorView matrix = v;
  const std::int64_t size = v.size(-1), stride = v.stride(-1);
  matrix.layout = rows;
  if (rows.rank == 0) matrix.layout.rank = 1, matrix.layout.shape[0] = 1, matrix.layout.stride[0] = size;  // one row
  const int last = matrix.layout.rank++;
  matrix.layout.shape[last] = size;
  matrix.layout.stride[last] = stride;
  return matrix;
}

Layout leading(const Layout& layout) {
  Layout rows = layout;
  --rows.rank;
  rows.shape[rows.rank] = rows.stride[rows.rank] = 0;
  return rows;
}

// gemm's sentence with linear's argument names.
Status renamed(const Status& status) {
  if (status.ok()) return status;
  if (status.op() != "gemm") return in_name_of("linear", status);
  std::string argument(status.argument());
  for (const auto& [theirs, ours] : {std::pair('a', 'x'), {'b', 'w'}, {'d', 'y'}})
    if (argument[0] == theirs && (argument.size() == 1 || argument[1] == '.')) {
      argument[0] = ours;
      break;
    }
  std::string value(status.value());
  if (value == "overlapping a") value = "overlapping x";
  if (value == "overlapping b") value = "overlapping w";
  return Status::refuse(status.code(), "linear", argument, value, std::string(status.constraint()));
}

GemmScalars scalars_of(const LinearOptions& options) {
  return {.activation = options.activation, .math = options.math, .accumulate = options.accumulate};
}

}  // namespace

Result<GemmTensors> LinearTensors::matrices() const {
  const auto wrong = [](const char* argument, const TensorView& v, std::string must) -> Status {
    return Status::invalid("linear", std::string(argument) + ".shape", v.layout.text(), std::move(must));
  };
  if (x.rank() < 1) return wrong("x", x, "of at least one axis");
  if (w.rank() != 2) return wrong("w", w, "of 2 axes, [out, in]");
  if (w.size(1) != x.size(-1)) return wrong("w", w, "of as many columns as x has, " + std::to_string(x.size(-1)));
  Layout like_y = x.layout;
  like_y.shape[like_y.rank - 1] = w.size(0);
  like_y = Layout::contiguous(std::span(like_y.shape.data(), static_cast<std::size_t>(like_y.rank)));
  if (!y.layout.same_shape(like_y)) return wrong("y", y, like_y.text());
  if (residual && !residual->layout.same_shape(like_y)) return wrong("residual", *residual, like_y.text());
  if (bias && (bias->rank() != 1 || bias->size(0) != w.size(0))) return wrong("bias", *bias, std::to_string(w.size(0)));

  std::array<Layout, 3> rows{leading(x.layout), leading(y.layout), residual ? leading(residual->layout) : Layout{}};
  const std::span merged(rows.data(), residual ? 3 : 2);
  if (rows[0].count() == 0) rows.fill(Layout::contiguous({0}));
  collapse(merged);
  if (rows[0].rank > 2)
    return wrong("x", x, "such that its leading axes, with those of y and residual, merge into one or two");
  GemmTensors t{.a = as_matrix(x, rows[0]), .b = transposed(w), .d = as_matrix(y, rows[1]), .bias = bias};
  if (residual) t.residual = as_matrix(*residual, rows[2]);
  return t;
}

Result<LinearPlan> plan_linear(const LinearTensors& tensors, const LinearOptions& options, const DeviceInfo& device,
                               const PlanOptions& plan_options, const Tuning* tuning) {
  auto matrices = tensors.matrices();
  if (!matrices) return matrices.error();
  auto problem = GemmProblem::of(*matrices, scalars_of(options));
  if (!problem) return renamed(problem.error());
  auto plan = plan_gemm(*problem, device, plan_options, tuning);
  if (!plan) return renamed(plan.error());
  return LinearPlan{std::move(*plan)};
}

Status LinearPlan::run(const LinearTensors& tensors, Workspace workspace, Stream stream) const {
  auto matrices = tensors.matrices();
  if (!matrices) return matrices.error();
  return renamed(product.run(*matrices, workspace, stream));
}

Explanation LinearPlan::explain() const {
  Explanation e = product.explain();
  e.op = "linear";
  return e;
}

void linear(const LinearTensors& tensors, const LinearOptions& options, Stream stream) {
  auto matrices = tensors.matrices();
  throw_if(matrices.error());
  throw_if(renamed(run_cached(*matrices, scalars_of(options), stream)));
}

// ---- by name --------------------------------------------------------------------------------------------------------

static const OpInfo& info();

static Result<LinearOptions> options_of(const Options& options) {
  LinearOptions o;
  const auto activation = parse_activation(options.text("activation", "none"));
  if (!activation)
    return Status::invalid("linear", "activation", "'" + std::string(options.text("activation")) + "'",
                           "one of none relu gelu gelu_tanh silu sigmoid relu6 hardswish hardsigmoid");
  o.activation = *activation;
  auto math = math_of("linear", options);
  if (!math) return math.error();
  o.math = *math;
  auto accumulate = accumulate_option("linear", options);
  if (!accumulate) return accumulate.error();
  o.accumulate = *accumulate;
  return o;
}

static Result<LinearTensors> tensors_of(Views in, const TensorView& y, const Options& options) {
  auto names = input_names(info(), options, in.size());
  if (!names) return names.error();
  LinearTensors t{.x = in[0], .w = in[1], .y = y};
  if (const TensorView* bias = find_view(in, *names, "bias")) t.bias = *bias;
  if (const TensorView* residual = find_view(in, *names, "residual")) t.residual = *residual;
  return t;
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto wanted = options_of(options);
  if (!wanted) return wanted.error();
  auto out = out_of("linear", options);
  if (!out) return out.error();
  if (in[0].rank() < 1) return Status::invalid("linear", "x.shape", "scalar", "of at least one axis");
  if (in[1].rank() != 2) return Status::invalid("linear", "w.shape", in[1].layout.text(), "of 2 axes, [out, in]");
  const Layout& x = in[0].layout;
  TensorType y{*out ? **out : gemm_default_out(in[0].dtype), {x.shape.begin(), x.shape.begin() + x.rank}};
  y.shape.back() = in[1].size(0);
  return std::vector<TensorType>{y};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto wanted = options_of(options);
  if (!wanted) return wanted.error();
  auto tensors = tensors_of(in, out[0], options);
  if (!tensors) return tensors.error();
  auto plan = plan_linear(*tensors, *wanted, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  const bool bias = tensors->bias.has_value(), residual = tensors->residual.has_value();
  return make_op_plan(std::move(*plan), [=](const LinearPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
    LinearTensors t{.x = x[0], .w = x[1], .y = y[0]};
    if (bias) t.bias = x[2];
    if (residual) t.residual = x.back();
    return p.run(t, workspace, stream);
  });
}

static const OpInfo& info() {
  static const OpInfo instance{
      .name = "linear",
      .family = "gemm",
      .summary = "y = act(x w^T + bias) + residual, over the last axis of x",
      .inputs = {"x", "w", "bias", "residual"},
      .outputs = {"y"},
      .dtypes = {f32, f16, bf16, f64, f8e4m3, f8e5m2, i8},
      .options = {{"activation", "none|relu|gelu|gelu_tanh|silu|sigmoid|relu6|hardswish|hardsigmoid", "", "none"},
                  {"math", "exact|tf32|3xtf32|fast", "as gemm has it", "exact"},
                  {"accumulate", "plain|two_float", "as gemm has it", "plain"},
                  {"out", "dtype", "of y; default that of x, i32 for i8, f32 for fp8"}},
      .variants = variant_infos(variants, lesson_of),
      .infer = infer,
      .plan = plan_by_name,
      .optional = {"bias", "residual"}};
  return instance;
}

static const RegisterOp registered(info());

}  // namespace ridge
