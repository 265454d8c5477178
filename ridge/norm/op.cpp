// The norms by name.
#include <ridge/core/axes.hpp>
#include <ridge/core/op.hpp>
#include <ridge/norm/families.hpp>
#include <ridge/norm/request.hpp>

namespace ridge {

using namespace norm_detail;

namespace {
enum class Op { layer_norm, rms_norm, add_layer_norm, add_rms_norm };
constexpr std::string_view op_names[] = {"layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"};
}  // namespace

template <Op O> static const OpInfo& info();

// A request and the names of its views.
namespace {
struct Named {
  Request request;
  Names inputs, outputs;
};
}  // namespace
template <Op O> static Result<Named> named(const Options& options, std::size_t given) {
  auto request = request_of(info<O>().name, options);
  if (!request) return request.error();
  auto inputs = input_names(info<O>(), options, given);
  if (!inputs) return inputs.error();
  auto outputs = output_names(info<O>(), options);
  if (!outputs) return outputs.error();
  return Named{*request, *inputs, *outputs};
}

// Gradients are planned as those of the norm alone, of x: puts the names that were asked for into a refusal.
static Status as_asked(std::string_view op, const Named& n, const Status& why) {
  if (why.op().empty()) return why;
  std::string argument(why.argument()), value(why.value()), must(why.constraint());
  if (n.request.backward) {
    const std::string_view x = n.inputs[1];
    constexpr std::string_view overlapping = "overlapping ", that_of = "that of ";
    if (argument == "x" || argument.starts_with("x.")) argument.replace(0, 1, x);
    if (value == "overlapping x") value.replace(overlapping.size(), 1, x);
    if (must.starts_with("that of x,")) must.replace(that_of.size(), 1, x);
  }
  return Status::refuse(why.code(), op, std::move(argument), std::move(value), std::move(must));
}

static std::optional<TensorView> view_if(Views views, const Names& names, std::string_view name) {
  const TensorView* found = find_view(views, names, name);
  return found ? std::optional(*found) : std::nullopt;
}

static bool is_parameter(std::string_view name) {
  return name == "gamma" || name == "beta" || name == "dgamma" || name == "dbeta";
}

// The views with the axes that a row is made of merged into one; refuses strides that do not allow it. Parameters have
// those axes alone, and x's sizes there.
// like: the name of x, the first input.
static Result<std::vector<TensorView>> with_one_row_axis(std::string_view op, const Names& names, Views views, int axes,
                                                         std::string_view like, const TensorView& x) {
  std::vector<TensorView> merged(views.begin(), views.end());
  if (x.rank() < axes)
    return Status::invalid(op, std::string(like) + ".shape", x.layout.text(),
                           "of at least " + std::to_string(axes) + " axes");
  const AxisSet last{((1u << axes) - 1) << (x.rank() - axes)};
  for (std::size_t i = 0; axes > 1 && i < merged.size(); ++i) {
    TensorView& v = merged[i];
    const std::string shape = std::string(names[i]) + ".shape", text = v.layout.text();
    const bool of_rows = !is_parameter(names[i]);
    if (of_rows && v.rank() != x.rank())
      return Status::invalid(op, shape, text, "that of " + std::string(like) + ", " + x.layout.text());
    const Layout row = of_rows ? within(v.layout, last) : v.layout;
    if (!row.same_shape(within(x.layout, last)))
      return Status::invalid(
          op, shape, text,
          "the last " + std::to_string(axes) + " axes of " + std::string(like) + ", " +
              Layout::contiguous(std::span(x.layout.shape.data() + x.rank() - axes, static_cast<std::size_t>(axes)))
                  .text());
    Layout one = row;
    collapse(std::span(&one, 1));
    const std::int64_t cols = row.count();
    if (one.rank > 1 && cols > 0)
      return Status::invalid(op, shape, text, "contiguous in its last " + std::to_string(axes) + " axes");
    const std::int64_t step = one.rank == 1 && cols > 0 ? one.stride[0] : 1;
    v.layout = of_rows ? without(v.layout, last) : Layout{};
    v.layout.shape[v.layout.rank] = cols;
    v.layout.stride[v.layout.rank++] = step;
  }
  return merged;
}

static NormTensors forward_of(const Named& n, Views in, Views out) {
  return {.x = in[0],
          .residual = view_if(in, n.inputs, "residual"),
          .gamma = view_if(in, n.inputs, "gamma"),
          .beta = view_if(in, n.inputs, "beta"),
          .y = out[0],
          .sum = view_if(out, n.outputs, "sum")};
}
static NormGradientTensors backward_of(const Named& n, Views in, Views out) {
  return {.dy = in[0],
          .x = in[1],
          .gamma = view_if(in, n.inputs, "gamma"),
          .dsum = view_if(in, n.inputs, "dsum"),
          .dx = out[0],
          .dgamma = view_if(out, n.outputs, "dgamma"),
          .dbeta = view_if(out, n.outputs, "dbeta")};
}

template <Op O> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto names = named<O>(options, in.size());
  if (!names) return names.error();
  const Layout& shape = in[0].layout;
  if (shape.rank < 1)
    return Status::invalid(info<O>().name, std::string(names->inputs[0]) + ".shape", "scalar", "of at least one axis");
  std::vector<TensorType> types;
  const int axes = names->request.axes;
  if (axes > shape.rank)
    return Status::invalid(info<O>().name, "axes", std::to_string(axes),
                           "from 1 to " + std::to_string(shape.rank) + ", the number of x's axes");
  for (std::string_view name : names->outputs)
    types.push_back(
        {in[0].dtype,
         {shape.shape.begin() + (is_parameter(name) ? shape.rank - axes : 0), shape.shape.begin() + shape.rank}});
  return types;
}

namespace {
struct RowViews {
  std::vector<TensorView> in, out;
};
}  // namespace
template <Op O> static Result<RowViews> as_rows(const Named& n, Views in, Views out) {
  const std::string_view op = info<O>().name, first = n.inputs[0];
  auto of_in = with_one_row_axis(op, n.inputs, in, n.request.axes, first, in[0]);
  if (!of_in) return of_in.error();
  auto of_out = with_one_row_axis(op, n.outputs, out, n.request.axes, first, in[0]);
  if (!of_out) return of_out.error();
  return RowViews{std::move(*of_in), std::move(*of_out)};
}

template <Op O>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto names = named<O>(options, in.size());
  if (!names) return names.error();
  const Request& r = names->request;
  const auto rows = as_rows<O>(*names, in, out);
  if (!rows) return rows.error();
  auto problem = r.backward ? NormProblem::of(r.norm, r.eps, backward_of(*names, rows->in, rows->out))
                            : NormProblem::of(r.norm, r.eps, forward_of(*names, rows->in, rows->out));
  if (!problem) return as_asked(info<O>().name, *names, problem.error());
  problem->accumulate = r.accumulate;
  auto plan = plan_norm(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return as_asked(info<O>().name, *names, plan.error());
  return make_op_plan(
      std::move(*plan), [n = *names](const NormPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
        const auto given = as_rows<O>(n, x, y);
        if (!given) return given.error();
        const Status done = n.request.backward ? p.run(backward_of(n, given->in, given->out), workspace, stream)
                                               : p.run(forward_of(n, given->in, given->out), workspace, stream);
        return as_asked(info<O>().name, n, done);
      });
}

template <Op O> static OpInfo make_info() {
  constexpr std::string_view name = op_names[static_cast<int>(O)];
  constexpr bool layer = O == Op::layer_norm || O == Op::add_layer_norm,
                 added = O == Op::add_layer_norm || O == Op::add_rms_norm;
  const Request plain{.added = added};
  return {.name = name,
          .family = "norm",
          .summary = layer   ? added ? "sum = x + residual, y = (sum - mean) / sqrt(variance + eps) * gamma + beta"
                                     : "y = (x - mean) / sqrt(variance + eps) * gamma + beta, over the last axes"
                     : added ? "sum = x + residual, y = sum / sqrt(mean of squares + eps) * gamma + beta"
                             : "y = x / sqrt(mean of squares + eps) * gamma + beta, over the last axes",
          .inputs = plain.inputs(),
          .outputs = plain.outputs(),
          .dtypes = {f32, f16, bf16, f64},
          .options = {{"axes", "integer", "the last axes that a row is made of, as gamma and beta are", "1"},
                      {"eps", "float", "added inside the root", "1e-5"},
                      {"backward", "0|1",
                       added ? "takes dy, sum, [gamma], [dsum] and gives dx, [dgamma], [dbeta]"
                             : "takes dy, x, [gamma] and gives dx, [dgamma], [dbeta]",
                       "0"},
                      {"accumulate", "plain|two_float", "two_float: f32 with nearly the accuracy of f64", "plain"}},
          .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
          .infer = infer<O>,
          .plan = plan_by_name<O>,
          .takes = [](const Options& options, std::size_t) -> Result<Names> {
            auto request = request_of(op_names[static_cast<int>(O)], options);
            return request ? Result<Names>(request->inputs()) : request.error();
          },
          .gives = [](const Options& options) -> Result<Names> {
            auto request = request_of(op_names[static_cast<int>(O)], options);
            return request ? Result<Names>(request->outputs()) : request.error();
          },
          .optional = {"gamma", "beta", "dsum", "dgamma", "dbeta"}};
}

template <Op O> static const OpInfo& info() {
  static const OpInfo instance = make_info<O>();
  return instance;
}

static const RegisterOp registered[] = {RegisterOp(info<Op::layer_norm>()), RegisterOp(info<Op::rms_norm>()),
                                        RegisterOp(info<Op::add_layer_norm>()), RegisterOp(info<Op::add_rms_norm>())};

}  // namespace ridge
