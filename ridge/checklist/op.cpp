// The checklist's operators by name.
#include <ridge/checklist/launch.hpp>
#include <ridge/checklist/variants.hpp>
#include <ridge/core/op.hpp>

namespace ridge {

using namespace checklist_detail;

static Result<ChecklistProblem> problem_of(Lesson lesson, Views in, const Options& options) {
  auto width = options.integer(name(lesson), "w", 9);
  if (!width) return width.error();
  return ChecklistProblem{.lesson = lesson, .n = in[0].count(), .width = *width};
}

// The checklist item of a lesson.
static constexpr std::string_view checklist_item(Lesson lesson) {
  switch (lesson) {
    case Lesson::copy: return "coalescing";
    case Lesson::branch: return "divergence";
    case Lesson::vecadd: return "coarsening";
    case Lesson::histogram: return "privatisation";
    case Lesson::window:
    case Lesson::banks: return "tiling";
  }
  return {};
}

template <Lesson L> static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto problem = problem_of(L, in, options);
  if (!problem) return problem.error();
  if (L == Lesson::histogram) return std::vector<TensorType>{{i32, {bins}}};
  const Layout& x = in[0].layout;
  if (L == Lesson::vecadd && !in[1].layout.same_shape(x))
    return Status::invalid(name(L), "b.shape", in[1].layout.text(), "that of a, " + x.text());
  return std::vector<TensorType>{{in[0].dtype, {x.shape.begin(), x.shape.begin() + x.rank}}};
}

template <Lesson L>
static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto problem = problem_of(L, in, options);
  if (!problem) return problem.error();
  auto plan = plan_checklist(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  RIDGE_TRY(plan->check(in, out[0]));
  return make_op_plan(std::move(*plan), [](const ChecklistPlan& made, Views x, Views y, Workspace, Stream stream) {
    return made.run(x, y[0], stream);
  });
}

template <Lesson L> static OpInfo info(std::string_view summary) {
  return {.name = name(L),
          .family = "checklist",
          .summary = summary,
          .inputs = L == Lesson::vecadd ? std::vector<std::string_view>{"a", "b"} : std::vector<std::string_view>{"x"},
          .outputs = {"y"},
          .dtypes = {L == Lesson::histogram ? u8
                     : L == Lesson::branch  ? i32
                                            : f32},
          .options = L == Lesson::window ? std::vector<OptionInfo>{{"w", "odd", "the window's width", "9"}}
                                         : std::vector<OptionInfo>{},
          .variants = variant_infos(table<L>(), [](const Variant&) { return checklist_item(L); }),
          .infer = infer<L>,
          .plan = plan_by_name<L>};
}

static const RegisterOp registered[] = {
    RegisterOp(info<Lesson::copy>("y = x: coalesced, strided and misaligned access")),
    RegisterOp(info<Lesson::branch>("y = one of two hashes of x: uniform and divergent branches")),
    RegisterOp(info<Lesson::vecadd>("y = a + b: one or several elements per thread")),
    RegisterOp(info<Lesson::histogram>("counts of bytes: atomics in global or in shared memory")),
    RegisterOp(info<Lesson::window>("sums of windows: with and without shared memory")),
    RegisterOp(info<Lesson::banks>("blocks reversed: strides in shared memory")),
};

}  // namespace ridge
