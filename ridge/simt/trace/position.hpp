// Position: where in the kernel a lane is, so that the accesses which a GPU makes together can be found together.
//
// The lanes of a warp run one after the other here. A GPU runs them side by side and lets them meet again after a
// branch; so what belongs together is the same instruction in the same iteration of the loops around it. Loops are
// seen as they are walked: a jump back opens one, or begins its next iteration; a block beyond the place of that jump
// leaves it. Blocks stand in the order of the source for that (-fno-reorder-blocks).
#pragma once
#include <cstdint>

namespace ridge::simt::trace {

class Position {
 public:
  // Equal for lanes that a GPU would have side by side.
  std::uint64_t key() const { return key_; }

  void start() {
    depth_ = base_ = frames_ = 0;
    block_ = 0;
    key_ = 0;
  }

  void enter_block(std::uintptr_t block) {
    while (depth_ > base_ && !inside(block)) key_ = loops_[--depth_].outer_key;
    if (block <= block_) iterate(block);
    block_ = block;
  }

  void enter_function(std::uintptr_t return_address) {
    if (frames_++ >= most) return;
    saved_[frames_ - 1] = {base_, block_, key_};
    base_ = depth_;
    block_ = 0;
    key_ = mix(key_, return_address, 0, 0);
  }
  void leave_function() {
    if (frames_ == 0 || --frames_ >= most) return;
    depth_ = base_;
    base_ = saved_[frames_].base;
    block_ = saved_[frames_].block;
    key_ = saved_[frames_].key;
  }

 private:
  static constexpr int most = 12;  // loops, and functions, within each other; deeper ones are not told apart

  struct Loop {
    std::uintptr_t first = 0, last = 0;  // the jump back is from last to first
    std::uint64_t iteration = 0, outer_key = 0;
  };
  struct Frame {
    int base = 0;
    std::uintptr_t block = 0;
    std::uint64_t key = 0;
  };

  bool inside(std::uintptr_t block) const {
    const Loop& loop = loops_[depth_ - 1];
    return loop.first <= block && block <= loop.last;
  }
  void iterate(std::uintptr_t first) {
    const bool goes_on = depth_ > base_ && loops_[depth_ - 1].first == first && loops_[depth_ - 1].last == block_;
    if (!goes_on) {
      if (depth_ == most) return;
      loops_[depth_++] = {first, block_, 0, key_};
    }
    Loop& loop = loops_[depth_ - 1];
    key_ = mix(loop.outer_key, loop.first, loop.last, ++loop.iteration);
  }
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    std::uint64_t x = a;
    for (const std::uint64_t next : {b, c, d}) {
      x = (x ^ next) * 0xd6e8feb86659fd93ull;
      x ^= x >> 32;
    }
    return x;
  }

  Loop loops_[most];
  Frame saved_[most];
  int depth_ = 0, base_ = 0, frames_ = 0;  // loops_[base_, depth_) belong to the function that runs
  std::uintptr_t block_ = 0;
  std::uint64_t key_ = 0;
};

}  // namespace ridge::simt::trace
