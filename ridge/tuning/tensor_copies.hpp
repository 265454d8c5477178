// Copies of a call's tensors for timing: several sets, so that a run does not find the data of another one in a cache.
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

  // Views that overlap do so in the copies too, and addresses are the same modulo 256. The sets together have twice the
  // size of the device's L2 cache; there are 32 at most. Copies on the stream. Fails where there is no room.
  RIDGE_API static Result<TensorCopies> make(Views inputs, Views outputs, const DeviceInfo&, Stream);

  const Set& set(int i) const { return sets_[static_cast<std::size_t>(i) % sets_.size()]; }

 private:
  std::vector<Set> sets_;
  std::vector<Buffer> buffers_;
};

}  // namespace ridge::tuning
