// transpose and permute by name.
#include <ridge/core/axes.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/whole_numbers.hpp>
#include <ridge/transpose/families.hpp>

#include <algorithm>
#include <numeric>

namespace ridge {

using namespace transpose_detail;

// axes=2,0,1 as in NumPy: negative axes count from the end; absent: reversed.
static Result<std::vector<int>> axes_option(int rank, const Options& options) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.rbegin(), axes.rend(), 0);
  const std::string_view text = options.text("axes");
  if (!options.has("axes") || (rank == 0 && text.empty())) return axes;
  const auto refuse = [&] {
    return Status::invalid("permute", "axes", "'" + std::string(text) + "'",
                           "each of the " + std::to_string(rank) + " axes of x once, such as 2,0,1");
  };
  const auto given = whole_numbers(text);
  if (!given || static_cast<int>(given->size()) != rank) return refuse();
  const auto set = AxisSet::of("permute", *given, rank);
  if (!set || set->count() != rank) return refuse();
  std::ranges::transform(*given, axes.begin(),
                         [&](auto axis) { return static_cast<int>(axis < 0 ? axis + rank : axis); });
  return axes;
}

template <bool Permute> static Result<std::vector<int>> axes_of(const TensorView& x, const Options& options) {
  if (Permute) return axes_option(x.rank(), options);
  if (x.rank() < 2) return Status::invalid("transpose", "x.shape", x.layout.text(), "of at least two axes");
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.end()[-1], axes.end()[-2]);
  return axes;
}

template <bool Permute> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto axes = axes_of<Permute>(in[0], options);
  if (!axes) return axes.error();
  std::vector<std::int64_t> shape;
  for (int axis : *axes) shape.push_back(in[0].layout.shape[axis]);
  return std::vector<TensorType>{{in[0].dtype, shape}};
}

template <bool Permute>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto axes = axes_of<Permute>(in[0], options);
  if (!axes) return axes.error();
  auto problem = Permute ? TransposeProblem::permute(in[0], *axes, out[0]) : TransposeProblem::transpose(in[0], out[0]);
  if (!problem) return problem.error();
  auto plan = plan_transpose(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const TransposePlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.run(x[0], y[0], stream);
  });
}

template <bool Permute> static OpInfo info(std::string_view summary) {
  return {.name = Permute ? "permute" : "transpose",
          .family = "transpose",
          .summary = summary,
          .inputs = {"x"},
          .outputs = {"y"},
          .dtypes = {f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i8, u8, boolean},
          .options = Permute ? std::vector<OptionInfo>{{"axes", "2,0,1", "of x, in y's order; absent: reversed"}}
                             : std::vector<OptionInfo>{},
          .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
          .infer = infer<Permute>,
          .plan = plan_by_name<Permute>};
}

static const RegisterOp registered[] = {
    RegisterOp(info<false>("y = x with its last two axes exchanged")),
    RegisterOp(info<true>("y = x with its axes in another order")),
};

}  // namespace ridge
