// CaseBook: what tests, benchmarks and the command line know of one operator beyond its plan: how a case's sizes
// become input tensors, what the right answer is, and which cases are worth running. Books register themselves.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/core/op.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::check {

class Draw;

// Values in double, whatever the dtype: what oracles read. Row-major.
struct HostTensor {
  TensorType type;
  std::vector<double> values;  // in benchmarks perhaps fewer than elements: a block that repeats
  double at(std::int64_t element) const {
    const auto count = static_cast<std::int64_t>(values.size());  // not 0
    return values[static_cast<std::size_t>(element < count ? element : element % count)];
  }
  std::int64_t rows() const;  // product of all axes but the last
  std::int64_t cols() const;  // the last axis; 1 for a scalar
};

// The right answer, and how far from it an output may be: |got - value| <= tolerance, per element. Tolerance 0 asks
// for the value itself. NaN asks for NaN, an infinity for that infinity.
struct Expected {
  std::vector<double> value, tolerance;
};

struct CaseBook {
  std::string op;
  std::vector<std::string> keys;           // sizes that a case must give
  std::vector<std::string> optional_keys;  // sizes that it may give
  Result<std::vector<TensorType>> (*inputs)(const Case&) = nullptr;
  // Serial, in double, sharing no code with the kernels. One Expected per output.
  std::vector<Expected> (*oracle)(const Case&, const std::vector<HostTensor>& inputs) = nullptr;
  // The same of some elements of the first output, at these offsets into it: what benchmarks hold errors against, where
  // all elements would take too long. Reads inputs by HostTensor::at(). May be null.
  Expected (*elements)(const Case&, const std::vector<HostTensor>& inputs,
                       const std::vector<std::int64_t>& offsets) = nullptr;
  // Changes the filled inputs where a plain fill is not a legal or useful input; may be null.
  void (*adjust)(const Case&, std::vector<HostTensor>& inputs) = nullptr;
  // Changes the tolerances for a variant whose errors have another bound than the others'; may be null.
  void (*tolerances)(const Case&, const std::vector<HostTensor>& inputs, std::string_view variant,
                     std::vector<Expected>&) = nullptr;
  std::vector<std::string> tests;    // correctness; run with every fitting variant
  std::vector<std::string> benches;  // performance; the published table
  // adjust sets small tensors of integers and looks at nothing else: so it serves too where others are too large to be
  // filled one by one, and have no values.
  bool adjusts_small = false;
  // Numbers near the end of the range may leave it on the way to a result that does not: partial sums of both signs, in
  // an order that is not laid down, or a factor. Nothing is promised then, and `ridge fuzz` leaves such fills out.
  bool may_leave_range = false;
  // A problem such as models have, at random: a case's text without the operator. Null: nobody has said what those are.
  std::string (*draw)(Draw&) = nullptr;
};

struct RegisterCases {
  explicit RegisterCases(CaseBook);
};
const std::vector<const CaseBook*>& case_books();  // in the operators' order
Result<const CaseBook*> find_case_book(std::string_view op);

// The case that an operator's `draw` makes of a stream; it is not null.
Result<Case> drawn_case(const CaseBook&, Draw&);

// The case's inputs, with the check that its keys are the operator's.
Result<std::vector<TensorType>> case_inputs(const CaseBook&, const Case&);

// Unit roundoff of a floating type (2^-24 for f32); 0 for the others.
double roundoff(DType);
// Half the distance between the type's neighbours at |x|: what rounding an exact result into it may cost.
double rounding_error(DType, double x);
// x rounded into the dtype and back.
double round_to(DType, double x);

}  // namespace ridge::check
