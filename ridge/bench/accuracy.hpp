// Accuracy: how far an output is from the right one, by a sample of its elements.
#pragma once
#include <ridge/check/case_book.hpp>

#include <optional>
#include <vector>

namespace ridge::bench {

// Errors are absolute, and infinite where an element is not finite and should be, or is not the infinity or NaN that it
// should be.
struct Accuracy {
  double rms_error = 0;  // root of the mean square
  double largest_error = 0;
  std::int64_t elements = 0;  // looked at
};

// An error of ours over that of a peer: 1 where they are equal, 0 among them; infinite where the peer alone has none.
double error_ratio(double ours, double of_peer);

// Some elements of a case's first output and what they should be: all where they are few, else a number of them at
// places that a fixed seed draws.
class Sample {
 public:
  // Nothing where the book has no `elements`, or the output none. Inputs may be blocks that repeat.
  static std::optional<Sample> make(const check::CaseBook&, const check::Case&,
                                    const std::vector<check::HostTensor>& inputs, const TensorView& output);
  // Of a contiguous output, on any device, that all work has finished with.
  Result<Accuracy> accuracy_of(const TensorView& output) const;

 private:
  std::vector<std::int64_t> offsets_;
  std::vector<double> values_;
};

}  // namespace ridge::bench
