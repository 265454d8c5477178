// Copies of a call's tensors, to be timed on: several sets, so that one run does not find in a cache what another one
// left there.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/op.hpp>

#include <vector>

namespace ridge::tuning {

class TensorCopies {
 public:
  struct Set {
    std::vector<TensorView> inputs, outputs;
  };

  // Views whose bytes meet share theirs in the copies too, and addresses are the same modulo 256. As many sets as make
  // twice what the device's L2 cache holds, 32 at most. Copied on the stream. Fails where there is no room.
  RIDGE_API static Result<TensorCopies> make(Views inputs, Views outputs, const DeviceInfo&, Stream);

  const Set& set(int i) const { return sets_[static_cast<std::size_t>(i) % sets_.size()]; }

 private:
  std::vector<Set> sets_;
  std::vector<Buffer> buffers_;
};

}  // namespace ridge::tuning
