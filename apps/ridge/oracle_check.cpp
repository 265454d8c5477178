#include "oracle_check.hpp"

#include "request.hpp"

#include <ridge/check/harness.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

namespace ridge::cli {
namespace {

std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.layout.shape.begin(), view.layout.shape.begin() + view.rank()};
}

std::int64_t count_of(const TensorType& type) { return Layout::contiguous(type.shape).count(); }

// How well a case's tensors describe the user's: the shapes themselves; the same rows and columns (an operator on
// the last axis); or only the same number of elements (an operator on everything).
enum class Match { none, count, rows_and_columns, shape };

Match match(const TensorType& ours, const TensorType& theirs) {
  if (ours.dtype != theirs.dtype || count_of(ours) != count_of(theirs)) return Match::none;
  if (ours.shape == theirs.shape) return Match::shape;
  const std::int64_t columns = ours.shape.empty() ? 1 : ours.shape.back();
  if (ours.shape.size() == 2 && !theirs.shape.empty() && theirs.shape.back() == columns) return Match::rows_and_columns;
  return ours.shape.size() <= 1 ? Match::count : Match::none;
}

// Looks for sizes that make the book's inputs the user's tensors: a search over the tensors' own axes, because a
// book says how sizes become shapes and not the way back.
class CaseSearch {
 public:
  CaseSearch(const OpInfo& op, const check::CaseBook& book, const Options& options,
             const std::vector<TensorType>& inputs, const std::vector<TensorType>& outputs)
      : op_(op), book_(book), inputs_(inputs), outputs_(outputs) {
    case_.op = book.op;
    case_.dtype = inputs.empty() ? DType::f32 : inputs[0].dtype;
    keys_ = book.keys;
    keys_.insert(keys_.end(), book.optional_keys.begin(), book.optional_keys.end());
    for (const auto& [key, value] : options.pairs())
      if (std::ranges::find(keys_, key) == keys_.end()) case_.options.set(key, value);
      else if (auto size = options.integer(op.name, key, 0)) given_.emplace_back(key, *size);
    for (const TensorType& type : inputs) {
      for (std::int64_t size : type.shape) add_candidate(size);
      const std::int64_t columns = type.shape.empty() ? 1 : type.shape.back();
      if (columns > 0) add_candidate(count_of(type) / columns);
      add_candidate(count_of(type));
    }
    for (const TensorType& type : outputs)
      for (std::int64_t size : type.shape) add_candidate(size);
    add_candidate(1);
  }

  std::optional<check::Case> run() {
    try_key(0);
    return best_ == Match::none ? std::nullopt : std::optional(found_);
  }

 private:
  void add_candidate(std::int64_t size) {
    if (std::ranges::find(candidates_, size) == candidates_.end()) candidates_.push_back(size);
  }

  void try_key(std::size_t index) {
    if (best_ == Match::shape || tries_ > tries_most) return;
    if (index == keys_.size()) return try_case();
    const std::string& key = keys_[index];
    const auto with = [&](std::int64_t size) {
      case_.dims.emplace_back(key, size);
      try_key(index + 1);
      case_.dims.pop_back();
    };
    const auto given = std::ranges::find(given_, key, &std::pair<std::string, std::int64_t>::first);
    if (given != given_.end()) return with(given->second);
    if (index >= book_.keys.size()) try_key(index + 1);  // an optional size: first without it
    for (std::int64_t size : candidates_) with(size);
  }

  void try_case() {
    ++tries_;
    const auto types = check::case_inputs(book_, case_);
    if (!types || types->size() != inputs_.size()) return;
    Match worst = Match::shape;
    for (std::size_t i = 0; i < inputs_.size(); ++i) worst = std::min(worst, match((*types)[i], inputs_[i]));
    if (worst <= best_) return;
    // The case must also mean what the user asked for: the same outputs.
    const auto views = planning_views(*types, {});
    const auto outputs = infer_op(op_, views, case_.operator_options());
    if (!outputs || outputs->size() != outputs_.size()) return;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if ((*outputs)[i].dtype != outputs_[i].dtype || count_of((*outputs)[i]) != count_of(outputs_[i])) return;
    best_ = worst;
    found_ = case_;
  }

  static constexpr int tries_most = 2'000'000;
  const OpInfo& op_;
  const check::CaseBook& book_;
  const std::vector<TensorType>&inputs_, &outputs_;
  std::vector<std::string> keys_;
  std::vector<std::pair<std::string, std::int64_t>> given_;  // sizes that the user's options name
  std::vector<std::int64_t> candidates_;
  check::Case case_, found_;
  Match best_ = Match::none;
  int tries_ = 0;
};

// The elements of a view, row-major, in double.
std::vector<double> values_of(const TensorView& view) {
  const auto* data = static_cast<const std::byte*>(view.data);
  const std::int64_t count = view.count();
  if (view.layout.is_contiguous()) return check::decode(view.dtype, data, count);
  const std::size_t size = size_of(view.dtype);
  std::vector<std::byte> gathered(static_cast<std::size_t>(count) * size);
  std::array<std::int64_t, max_rank> at{};
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(gathered.data() + static_cast<std::size_t>(i) * size, data + offset * static_cast<std::int64_t>(size),
                size);
    for (int axis = view.rank() - 1; axis >= 0; --axis) {
      offset += view.stride(axis);
      if (++at[axis] < view.size(axis)) break;
      offset -= at[axis] * view.stride(axis);
      at[axis] = 0;
    }
  }
  return check::decode(view.dtype, gathered.data(), count);
}

// The error of an element as a share of its tolerance; above 1 it is wrong.
double share_of_tolerance(double got, double expected, double tolerance) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(expected)) return std::isnan(got) ? 0 : infinity;
  if (std::isnan(got)) return infinity;
  if (got == expected) return 0;
  const double error = std::abs(got - expected);
  return tolerance > 0 && !std::isinf(error) ? error / tolerance : infinity;
}

}  // namespace

Result<OracleCheck> check_against_oracle(const OpInfo& op, const Options& options, Views inputs, Views outputs) {
  RIDGE_CLI_TAKE(book, check::find_case_book(op.name));
  std::vector<TensorType> input_types, output_types;
  for (const TensorView& view : inputs) input_types.push_back({view.dtype, shape_of(view)});
  for (const TensorView& view : outputs) output_types.push_back({view.dtype, shape_of(view)});
  const auto found = CaseSearch(op, *book, options, input_types, output_types).run();
  if (!found)
    return Status::error(Code::unsupported, std::string(op.name) + ": --check has no case for inputs of these shapes");

  RIDGE_CLI_TAKE(types, check::case_inputs(*book, *found));
  std::vector<check::HostTensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back({types[i], values_of(inputs[i])});
  const std::vector<check::Expected> expected = book->oracle(*found, tensors);

  RIDGE_CLI_TAKE(names, output_names(op, options));
  OracleCheck result;
  result.case_text = found->text();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::vector<double> got = values_of(outputs[o]);
    const std::size_t wanted = o < expected.size() ? expected[o].value.size() : 0;
    if (wanted != got.size())
      return Status::error(Code::unsupported, fmt::format("{}: {} has {} elements, and the oracle gives {}", op.name,
                                                          names[o], got.size(), wanted));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double tolerance = expected[o].tolerance.empty() ? 0 : expected[o].tolerance[i];
      const double share = share_of_tolerance(got[i], expected[o].value[i], tolerance);
      result.worst = std::max(result.worst, share);
      if (share <= 1) continue;
      if (result.wrong++ == 0)
        result.first_wrong = fmt::format("{}[{}] is {:.9g}; the oracle has {:.9g} +- {:.3g}", names[o], i, got[i],
                                         expected[o].value[i], tolerance);
    }
    result.elements += static_cast<std::int64_t>(got.size());
  }
  return result;
}

}  // namespace ridge::cli
