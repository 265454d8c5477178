// Draw: what an operator's sweep.hpp takes random problems from. A seed gives the same problems on every machine and by
// every compiler: whole numbers alone are computed with, and none of the standard library's distributions, whose
// algorithms are not laid down.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace ridge::check {

// The most that a problem may ask of the machine that it is for.
struct Room {
  double bytes, operations;
  double slower;  // so many times longer an operation takes that is not of tensor cores
};
// 25 ms of an H200 at most; a moment of the CPU runtime.
inline constexpr Room room_of_gpu{8e9, 2e13, 16}, room_of_cpu{2e6, 4e6, 1};

class Draw {
 public:
  // A problem has a stream of its own: another count of draws in one changes no other.
  explicit Draw(std::uint64_t seed, std::uint64_t problem = 0, Room room = room_of_gpu) : state_(seed), room_(room) {
    state_ = bits() + problem;
  }

  std::uint64_t bits();
  std::int64_t below(std::int64_t n);  // 0 to n - 1, one as likely as another
  bool chance(int percent) { return below(100) < percent; }

  // least to most, x with a probability of 1/x times the same for all. Precondition: 0 < least <= most.
  std::int64_t log_uniform(std::int64_t least, std::int64_t most);

  // The same, rounded as models round their sizes: three of four to 64 or 128, most others to 8; a few are odd.
  std::int64_t size(std::int64_t least, std::int64_t most);

  // One of these values, {weight, value} each.
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

  // Halves these sizes, one at random after another, until fit() holds, or none can be halved. What is left of a size
  // has its old remainder by `step`: with 64 rows are aligned as they were, with 1 it is a count.
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
