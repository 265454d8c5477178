// The reductions by name.
#include <ridge/core/op.hpp>
#include <ridge/reduce/families.hpp>

namespace ridge {

using namespace reduce_detail;

static bool has_axes(Reduce f) { return f != Reduce::dot && f != Reduce::trace; }

static bool adds(Reduce f) { return f == Reduce::sum || f == Reduce::mean || f == Reduce::dot || f == Reduce::trace; }

static std::vector<OptionInfo> options_of(Reduce f) {
  std::vector<OptionInfo> options;
  const bool one = f == Reduce::argmax || f == Reduce::argmin;
  if (has_axes(f))
    options = {{"axis", one ? "integer" : "n or 0,2", "along that axis, -1 the last; absent: over all elements"},
               {"keepdims", "0|1", "y keeps the reduced axes, as 1", "0"}};
  if (adds(f))
    options.push_back({"accumulate", "plain|two_float", "two_float: f32 with nearly the accuracy of f64", "plain"});
  return options;
}

// The requested axes (axis=); none: over everything.
static Result<AxisSet> axes_of(Reduce f, const TensorView& x, const Options& options) {
  if (!has_axes(f) || !options.has("axis")) return AxisSet{};
  return AxisSet::of(name(f), "axis", options, x.rank());
}

template <Reduce F> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  const auto axes = axes_of(F, in[0], options);
  if (!axes) return axes.error();
  const auto keeps = options.flag(name(F), "keepdims");
  if (!keeps) return keeps.error();
  if (F == Reduce::trace && in[0].rank() != 2)
    return Status::invalid(name(F), "x.shape", in[0].layout.text(), "of 2 axes");
  std::vector<std::int64_t> shape;
  for (int i = 0; i < in[0].rank(); ++i) {
    const bool stays = axes->count() > 0 && !axes->contains(i);
    if (stays || *keeps) shape.push_back(stays ? in[0].size(i) : 1);
  }
  return std::vector<TensorType>{{result_type(F, in[0].dtype), shape}};
}

template <Reduce F>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  constexpr bool two = arity(F) == 2;
  auto axes = axes_of(F, in[0], options);
  if (!axes) return axes.error();
  auto accumulate = accumulate_option(name(F), options);
  if (!accumulate) return accumulate.error();
  const bool everything = axes->count() == 0;
  // All axes kept as 1 are the scalar that their only element is.
  if (everything && out[0].rank() != 0) axes = AxisSet{(1u << in[0].rank()) - 1};
  auto problem = ReduceProblem::of(F, in[0], two ? &in[1] : nullptr, out[0], *axes, *accumulate);
  if (!problem) return problem.error();
  auto plan = plan_reduce(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const ReducePlan& p, Views x, Views y, Workspace workspace, Stream stream) {
    return p.run(x[0], x[two ? 1 : 0], y[0], workspace, stream);
  });
}

// A copy of the diagonal is a matrix's where going down, or to the right, leads to the next of its elements, and the
// other way nowhere.
static PartRead diagonal_of(const TensorView& matrix) {
  PartRead read{matrix, matrix.layout};
  read.part.layout = diagonal(matrix.layout);
  const bool down = matrix.size(0) <= matrix.size(1);
  read.whole.stride[0] = down ? 1 : 0;
  read.whole.stride[1] = down ? 0 : 1;
  return read;
}

template <Reduce F> static OpInfo info(std::string_view summary) {
  static const std::vector<DType> all{f32, f16, bf16, f64, i64, i32, i8, u8};
  constexpr bool two = arity(F) == 2;
  return {.name = name(F),
          .family = "reduce",
          .summary = summary,
          .inputs = two ? std::vector<std::string_view>{"x", "z"} : std::vector<std::string_view>{"x"},
          .outputs = {"y"},
          .dtypes = all,
          .options = options_of(F),
          .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
          .infer = infer<F>,
          .plan = plan_by_name<F>,
          .reads = F == Reduce::trace ? diagonal_of : nullptr};
}

static const RegisterOp registered[] = {
    RegisterOp(info<Reduce::sum>("the sum; integers in i64")),
    RegisterOp(info<Reduce::mean>("the mean; of integers in f64")),
    RegisterOp(info<Reduce::max>("the greatest; NaN passes through")),
    RegisterOp(info<Reduce::min>("the least; NaN passes through")),
    RegisterOp(info<Reduce::argmax>("where the greatest is: the first NaN, else the first of ties")),
    RegisterOp(info<Reduce::argmin>("where the least is: the first NaN, else the first of ties")),
    RegisterOp(info<Reduce::dot>("the sum of x * z")),
    RegisterOp(info<Reduce::trace>("the sum of a matrix's diagonal")),
};

}  // namespace ridge
