// Draw: the source of randomness for an operator's sweep.hpp. A seed gives the same problems on every machine and with
// every compiler: it computes with whole numbers only, and without the standard library's distributions, whose
// algorithms are not specified.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace ridge::check {

// The most work of a problem for its machine.
struct Room {
  double bytes, operations;
  double slower;  // how many times longer an operation takes without tensor cores
};
// At most 25 ms on an H200; a moment on the CPU runtime.
inline constexpr Room room_of_gpu{8e9, 2e13, 16}, room_of_cpu{2e6, 4e6, 1};

class Draw {
 public:
  // Each problem has its own stream: a change in the number of draws of one problem changes no other.
  explicit Draw(std::uint64_t seed, std::uint64_t problem = 0, Room room = room_of_gpu) : state_(seed), room_(room) {
    state_ = bits() + problem;
  }

  std::uint64_t bits();
  std::int64_t below(std::int64_t n);  // 0 to n - 1, uniform
  bool chance(int percent) { return below(100) < percent; }

  // least to most, with a probability proportional to 1/x. Precondition: 0 < least <= most.
  std::int64_t log_uniform(std::int64_t least, std::int64_t most);

  // The same, rounded as models round their sizes: three of four to 64 or 128, most others to 8; a few are odd numbers.
  std::int64_t size(std::int64_t least, std::int64_t most);

  // One of these {weight, value} pairs' values.
  template <class T> T pick(std::initializer_list<std::pair<int, T>> choices) {
    std::int64_t all = 0;
    for (const auto& [weight, value] : choices) all += weight;
    std::int64_t at = below(all);
    for (const auto& [weight, value] : choices)
      if ((at -= weight) < 0) return value;
    return choices.begin()->second;
  }

  bool fits(double bytes, double operations, bool tensor_cores = true) const {
    return bytes <= room_.bytes && operations * (tensor_cores ? 1 : room_.slower) <= room_.operations;
  }

  // Halves these sizes, one at random after another, until fit() holds or none can be halved. A halved size keeps its
  // remainder modulo `step`: with 64 rows keep their alignment, 1 is for counts.
  template <class Fit> void shrink(std::initializer_list<std::int64_t*> sizes, std::int64_t step, Fit fit) {
    while (!fit()) {
      std::vector<std::int64_t*> left;
      for (std::int64_t* size : sizes)
        if (halved(*size, step) < *size) left.push_back(size);
      if (left.empty()) return;
      std::int64_t& size = *left[static_cast<std::size_t>(below(static_cast<std::int64_t>(left.size())))];
      size = halved(size, step);
    }
  }

 private:
  static std::int64_t halved(std::int64_t size, std::int64_t step);

  std::uint64_t state_;
  Room room_;
};

}  // namespace ridge::check
