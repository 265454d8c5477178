// The interface of operators by name, for the command line, the C ABI and Python. Operators register themselves; there
// is no list of them anywhere.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/options.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/stream.hpp>
#include <ridge/core/tensor.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

using Views = std::span<const TensorView>;

// A plan of an operator that is known by name.
class OpPlan {
 public:
  virtual ~OpPlan() = default;
  virtual Explanation explain() const = 0;
  virtual std::size_t workspace_bytes() const = 0;
  // Views must have the layouts and alignments planned for. run() neither allocates nor synchronises, except the first
  // run of a plan that is not settled yet.
  virtual Status run(Views inputs, Views outputs, Workspace, Stream) const = 0;
  // Whether the variant is final. A plan that measures on its first run (tuning/tuned_plan.hpp) settles then.
  virtual bool is_settled() const { return true; }
};

struct TensorType {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

struct OptionInfo {
  std::string_view name, values, help;  // values: "0|1", "float", "lo,hi"
  // What a request has that does not give the option, as a text that may be given as well: "256". Empty: `help` says.
  std::string_view otherwise = {};
  bool required = false;
};
// What people read of an option: "the number of bins; default 256".
inline std::string help_text(const OptionInfo& o) {
  std::string text(o.help);
  const auto add = [&](std::string_view more) { text.append(text.empty() ? "" : "; ").append(more); };
  if (o.required) add("must be given");
  if (!o.otherwise.empty()) add("default " + std::string(o.otherwise));
  return text;
}

// The textbook's checklist of optimisations. A rung of a ladder names the item that it shows.
inline constexpr std::string_view checklist[] = {"coalescing",    "occupancy",  "tiling",      "divergence",
                                                 "privatisation", "coarsening", "better maths"};

struct VariantInfo {
  std::string_view name, step;  // step: what this rung of the ladder changes
  std::string_view item = {};   // of the checklist; empty: none, as for a rung that takes what others refuse
};

// The elements of an input that are read, where those are not all: a view of them, and the layout that the input has
// over a contiguous copy of them.
struct PartRead {
  TensorView part;
  Layout whole;
};

struct OpInfo {
  std::string_view name, family, summary;
  std::vector<std::string_view> inputs, outputs;  // in order, optional inputs included
  std::vector<DType> dtypes;                      // of the first input
  std::vector<OptionInfo> options;
  std::vector<VariantInfo> variants;
  // Types and shapes of the outputs, from those of the inputs (data pointers are not used).
  Result<std::vector<TensorType>> (*infer)(Views inputs, const Options&) = nullptr;
  // Plans for the layouts and alignments of the views; data may be null, which counts as fully aligned.
  // options may hold "variant", and "tune", which the operator ignores. plan_op has already refused unknown options.
  Result<std::unique_ptr<OpPlan>> (*plan)(Views inputs, Views outputs, const Options&, const DeviceInfo&) = nullptr;
  // The names of the inputs and outputs of a request with these options that has `given` input tensors, where they
  // differ from `inputs` and `outputs`.
  Result<std::vector<std::string_view>> (*takes)(const Options&, std::size_t given) = nullptr;
  Result<std::vector<std::string_view>> (*gives)(const Options&) = nullptr;
  // Inputs and outputs that a request may leave out: it names those that it has in the options `inputs` and `outputs`
  // ("x,beta"), or leaves out inputs at the end by passing fewer tensors. Every operator knows these options.
  std::vector<std::string_view> optional = {};
  // What is read of an input that infer() has taken, so that less need be moved to another device. Null: all of it.
  PartRead (*reads)(const TensorView& input) = nullptr;
};

RIDGE_API const std::vector<const OpInfo*>& ops();          // sorted by family, then in the order registered
RIDGE_API Result<const OpInfo*> find_op(std::string_view);  // the sentence of a failure names the nearest operators
RIDGE_API Result<std::vector<const OpInfo*>> find_ops(std::string_view op_or_family);  // a family's, in their order

// The names of a request's input tensors, one for each; or a sentence that says which tensors it should have.
RIDGE_API Result<std::vector<std::string_view>> input_names(const OpInfo&, const Options&, std::size_t given);
// The names of a request's output tensors.
RIDGE_API Result<std::vector<std::string_view>> output_names(const OpInfo&, const Options&);
// The view of this name; null: the request does not have it.
RIDGE_API const TensorView* find_view(Views, std::span<const std::string_view> names, std::string_view wanted);

// infer() and plan() after the checks that all operators share: number and names of inputs and outputs, unknown
// options, types and shapes of outputs.
RIDGE_API Result<std::vector<TensorType>> infer_op(const OpInfo&, Views inputs, const Options&);
RIDGE_API Result<std::unique_ptr<OpPlan>> plan_op(const OpInfo&, Views inputs, Views outputs, const Options&,
                                                  const DeviceInfo&);

// The inputs that a request may leave out.
RIDGE_API std::vector<std::string_view> optional_inputs(const OpInfo&);

struct RIDGE_API RegisterOp {
  explicit RegisterOp(OpInfo);
};

// Wraps an operator's typed plan: run(plan, inputs, outputs, workspace, stream).
template <class Plan, class Run> std::unique_ptr<OpPlan> make_op_plan(Plan plan, Run run) {
  struct Wrapped final : OpPlan {
    Wrapped(Plan p, Run r) : plan(std::move(p)), call(std::move(r)) {}
    Explanation explain() const override { return plan.explain(); }
    std::size_t workspace_bytes() const override { return plan.workspace_bytes(); }
    Status run(Views inputs, Views outputs, Workspace workspace, Stream stream) const override {
      return call(plan, inputs, outputs, workspace, stream);
    }
    Plan plan;
    Run call;
  };
  return std::make_unique<Wrapped>(std::move(plan), std::move(run));
}

// The names and steps of a table's rows; item(row) is the checklist item.
template <class Rows, class Item> std::vector<VariantInfo> variant_infos(const Rows& rows, Item&& item) {
  std::vector<VariantInfo> infos;
  for (const auto& row : rows) infos.push_back({row.name, row.step, item(row)});
  return infos;
}
template <class Rows> std::vector<VariantInfo> variant_infos(const Rows& rows) {
  return variant_infos(rows, [](const auto&) { return std::string_view(); });
}

}  // namespace ridge
