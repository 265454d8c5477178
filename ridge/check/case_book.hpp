// CaseBook: what tests, benchmarks and the command line know about an operator besides its plan: how a case's sizes
// become input tensors, the right answer, and the cases worth running. Books register themselves.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/core/op.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::check {

class Draw;

// A tensor that oracles read: values in double, whatever the dtype; row-major.
struct HostTensor {
  TensorType type;
  std::vector<double> values;  // in benchmarks possibly fewer than elements: a block that repeats
  double at(std::int64_t element) const {
    const auto count = static_cast<std::int64_t>(values.size());  // not 0
    return values[static_cast<std::size_t>(element < count ? element : element % count)];
  }
  std::int64_t rows() const;  // product of all axes but the last
  std::int64_t cols() const;  // the last axis; 1 for a scalar
};

// The right answer and its tolerance per element: |got - value| <= tolerance. Tolerance 0 demands the value itself. NaN
// demands NaN, an infinity that infinity.
struct Expected {
  std::vector<double> value, tolerance;
};

struct CaseBook {
  std::string op;
  std::vector<std::string> keys;           // sizes that a case must give
  std::vector<std::string> optional_keys;  // sizes that a case may give
  Result<std::vector<TensorType>> (*inputs)(const Case&) = nullptr;
  // Serial, in double, sharing no code with the kernels. One Expected per output.
  std::vector<Expected> (*oracle)(const Case&, const std::vector<HostTensor>& inputs) = nullptr;
  // The same for some elements of the first output, at these offsets. Benchmarks measure errors against them, because
  // all elements would take too long. Reads inputs by HostTensor::at(). May be null.
  Expected (*elements)(const Case&, const std::vector<HostTensor>& inputs,
                       const std::vector<std::int64_t>& offsets) = nullptr;
  // Changes the filled inputs where a plain fill is not a legal or useful input; may be null.
  void (*adjust)(const Case&, std::vector<HostTensor>& inputs) = nullptr;
  // Changes the tolerances for a variant with an error bound of its own; may be null.
  void (*tolerances)(const Case&, const std::vector<HostTensor>& inputs, std::string_view variant,
                     std::vector<Expected>&) = nullptr;
  std::vector<std::string> tests;    // correctness; run with every fitting variant
  std::vector<std::string> benches;  // performance; the published table
  // adjust sets small tensors of integers and reads nothing else, so it also works where other tensors are too large to
  // have values of their own.
  bool adjusts_small = false;
  // Intermediate results may overflow where the result does not: partial sums of both signs in an unspecified order, or
  // a factor. The result is unspecified then, and `ridge fuzz` leaves such fills out.
  bool may_leave_range = false;
  // Draws a random problem such as models have: a case's text without the operator. Null: there is no distribution.
  std::string (*draw)(Draw&) = nullptr;
};

struct RegisterCases {
  explicit RegisterCases(CaseBook);
};
const std::vector<const CaseBook*>& case_books();  // in the operators' order
Result<const CaseBook*> find_case_book(std::string_view op);

// The case that the book's `draw` makes. Precondition: `draw` is not null.
Result<Case> drawn_case(const CaseBook&, Draw&);

// The types of the case's inputs; checks that the case's keys are the operator's.
Result<std::vector<TensorType>> case_inputs(const CaseBook&, const Case&);

// Unit roundoff of a floating type (2^-24 for f32); 0 for the others.
double roundoff(DType);
// Half the distance between the type's neighbours at |x|: the greatest error of rounding an exact result to the type.
double rounding_error(DType, double x);
// x rounded to the dtype, as a double.
double round_to(DType, double x);

}  // namespace ridge::check
