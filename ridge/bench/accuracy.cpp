#include <ridge/bench/accuracy.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/core/memory.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace ridge::bench {

// The rms error of this many elements is within some 2 % of the rms error of all. For a product of 8192^3 the host
// computes them in a quarter of a second.
static constexpr std::int64_t sample_elements = 1024;

static double error_of(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double error = std::fabs(got - want);
  return std::isfinite(error) ? error : HUGE_VAL;
}

double error_ratio(double ours, double of_peer) {
  return ours == of_peer ? 1 : of_peer == 0 ? HUGE_VAL : ours / of_peer;
}

std::optional<Sample> Sample::make(const check::CaseBook& book, const check::Case& c,
                                   const std::vector<check::HostTensor>& inputs, const TensorView& output) {
  const std::int64_t count = output.count();
  if (!book.elements || count == 0) return {};
  Sample sample;
  sample.offsets_.resize(static_cast<std::size_t>(std::min(count, sample_elements)));
  if (count <= sample_elements) {
    std::iota(sample.offsets_.begin(), sample.offsets_.end(), 0);
  } else {
    std::mt19937_64 random(1);
    for (std::int64_t& offset : sample.offsets_)
      offset = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  }
  sample.values_ = book.elements(c, inputs, sample.offsets_).value;
  return sample;
}

Result<Accuracy> Sample::accuracy_of(const TensorView& output) const {
  const std::size_t size = size_of(output.dtype);
  std::vector<std::byte> bytes(offsets_.size() * size);
  for (std::size_t i = 0; i < offsets_.size(); ++i)
    RIDGE_TRY(copy_bytes(bytes.data() + i * size, {},
                         static_cast<const std::byte*>(output.data) + static_cast<std::size_t>(offsets_[i]) * size,
                         output.device, size));
  const auto got = check::decode(output.dtype, bytes.data(), static_cast<std::int64_t>(offsets_.size()));
  Accuracy accuracy{.elements = static_cast<std::int64_t>(offsets_.size())};
  double squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = error_of(got[i], values_[i]);
    squares += error * error;
    accuracy.largest_error = std::max(accuracy.largest_error, error);
  }
  accuracy.rms_error = std::sqrt(squares / static_cast<double>(got.size()));
  return accuracy;
}

}  // namespace ridge::bench
