// Accuracy: the error of an output, measured on a sample of its elements.
#pragma once
#include <ridge/check/case_book.hpp>

#include <optional>
#include <vector>

namespace ridge::bench {

// Errors are absolute. An error is infinite where an element should be finite and is not, or should be an infinity or
// NaN and is not.
struct Accuracy {
  double rms_error = 0;  // root of the mean square
  double largest_error = 0;
  std::int64_t elements = 0;  // in the sample
};

// Our error over a peer's: 1 where they are equal, also both 0; infinite where only the peer has none.
double error_ratio(double ours, double of_peer);

// A sample of a case's first output with the right values: all elements where they are few, else elements at indices
// drawn with a fixed seed.
class Sample {
 public:
  // Nothing where the book has no `elements` function or the output is empty. Inputs may be blocks that repeat.
  static std::optional<Sample> make(const check::CaseBook&, const check::Case&,
                                    const std::vector<check::HostTensor>& inputs, const TensorView& output);
  // The accuracy of a contiguous output on any device. Precondition: all work on it is done.
  Result<Accuracy> accuracy_of(const TensorView& output) const;

 private:
  std::vector<std::int64_t> offsets_;
  std::vector<double> values_;
};

}  // namespace ridge::bench
