// Fast divisions for index arithmetic, for kernels whose threads each have an index in several axes.
//   Divider    divides by a number known on the host but not when the kernel is compiled: a multiplication and a shift
//   quotient   divides numbers that may need 64 bits but rarely do
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge {

class Divider {
 public:
  static constexpr std::int64_t limit = std::int64_t{1} << 31;  // dividends and divisors are below it

  Divider() = default;
  // Precondition: 1 <= divisor < limit.
  constexpr explicit Divider(std::int64_t divisor) : divisor_(static_cast<std::uint32_t>(divisor)) {
    // With 2^(L-1) < d <= 2^L: floor(n (2^(31+L) / d + e) / 2^(31+L)) is n / d, as n e / 2^(31+L) < 1 / d for e <= 1.
    while ((std::uint64_t{1} << (shift_ - 31)) < divisor_) ++shift_;
    multiplier_ = static_cast<std::uint32_t>((std::uint64_t{1} << shift_) / divisor_ + 1);
  }

  // n / divisor. Precondition: n < limit.
  RIDGE_HD constexpr std::uint32_t operator()(std::uint32_t n) const {
    return static_cast<std::uint32_t>(std::uint64_t{n} * multiplier_ >> shift_);
  }
  // Returns n / divisor; n becomes the remainder.
  RIDGE_HD constexpr std::uint32_t divide(std::uint32_t& n) const {
    const std::uint32_t quotient = (*this)(n);
    n -= quotient * divisor_;
    return quotient;
  }

 private:
  std::uint32_t divisor_ = 1, multiplier_ = (1u << 31) + 1;
  int shift_ = 31;
};

// a / b: in 32 bits where they fit, which is an order of magnitude faster.
RIDGE_HD constexpr std::uint64_t quotient(std::uint64_t a, std::uint64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

}  // namespace ridge
