// Lockstep: combines the events of each lane into the steps of the warp.
//
// The lanes of a warp run one after the other here. A GPU runs them side by side: lanes at the same instruction advance
// together, the others wait. The choice of which advance first decides where they reconverge; here, as in most models
// of a GPU, first the lanes deepest in function calls, and among these the lanes at the lowest address. So lanes leave
// loops together and reach the code after a branch together, if the compiler keeps basic blocks in the order of the
// source (-fno-reorder-blocks).
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace ridge::simt::trace {

using Address = std::uintptr_t;

// A lane's events since its warp last met: instruction numbers, and the addresses of those that access memory.
struct Stream {
  static constexpr std::uint32_t enter = ~std::uint32_t(0), leave = enter - 1;  // a function

  std::vector<std::uint32_t> events;
  std::vector<Address> at;
  int depth = 0;  // depth of function calls at the first event

  void clear(int depth_now) {
    events.clear();
    at.clear();
    depth = depth_now;
  }
};

// Calls visit(instruction, lanes, parted) for each step of the warp: these lanes execute the instruction together, and
// parted says whether they continue at different ones. Then clears the streams, which continue where they ended.
//   pc(instruction) -> Address
template <class Pc, class Visit> void lockstep(std::span<Stream> lanes, Pc pc, Visit visit) {
  constexpr std::uint32_t ended = Stream::leave - 1;
  std::size_t cursor[64] = {};
  std::uint32_t next[64];
  int depth[64];
  const auto advance = [&](std::size_t lane) {
    const auto& events = lanes[lane].events;
    next[lane] = ended;
    for (; cursor[lane] < events.size(); ++cursor[lane]) {
      const std::uint32_t event = events[cursor[lane]];
      if (event == Stream::enter) {
        ++depth[lane];
      } else if (event == Stream::leave) {
        --depth[lane];
      } else {
        next[lane] = event;
        ++cursor[lane];
        break;
      }
    }
  };
  std::uint64_t going = 0;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    depth[lane] = lanes[lane].depth;
    advance(lane);
    if (next[lane] != ended) going |= std::uint64_t(1) << lane;
  }
  while (going) {
    const auto any = static_cast<std::size_t>(std::countr_zero(going));
    std::uint32_t first = next[any];
    int deepest = depth[any];
    std::uint64_t together = 0;
    for (std::uint64_t left = going; left; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      if (depth[lane] != deepest || next[lane] != first) {
        if (depth[lane] < deepest || (depth[lane] == deepest && pc(next[lane]) >= pc(first))) continue;
        deepest = depth[lane];
        first = next[lane];
        together = 0;
      }
      together |= std::uint64_t(1) << lane;
    }
    const auto leader = static_cast<std::size_t>(std::countr_zero(together));
    bool parted = false;
    for (std::uint64_t left = together; left; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      advance(lane);
      parted = parted || next[lane] != next[leader];
      if (next[lane] == ended) going &= ~(std::uint64_t(1) << lane);
    }
    visit(first, together, parted);
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane].clear(depth[lane]);
}

}  // namespace ridge::simt::trace
