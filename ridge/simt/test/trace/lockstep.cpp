// Checks the warp's steps that follow from the lanes' own sequences.
#include <ridge/simt/trace/lockstep.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ridge::simt::trace {
namespace {

// Each lane's events are letters, which are also their addresses; ( and ) enter and leave a function. The result lists
// the steps, with the number of lanes where not all take part, and / where they diverge.
std::string steps(const std::vector<std::string>& lanes) {
  std::vector<Stream> streams(lanes.size());
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    for (char c : lanes[lane])
      streams[lane].events.push_back(c == '(' ? Stream::enter : c == ')' ? Stream::leave : static_cast<unsigned>(c));
  std::string text;
  lockstep(
      std::span<Stream>(streams), [](std::uint32_t event) { return Address{event}; },
      [&](std::uint32_t event, std::uint64_t together, bool parted) {
        const int count = std::popcount(together);
        if (count < static_cast<int>(lanes.size())) text += std::to_string(count);
        text += static_cast<char>(event);
        if (parted) text += '/';
      });
  for (const Stream& stream : streams) EXPECT_TRUE(stream.events.empty());
  return text;
}

TEST(TraceLockstep, LanesThatDoTheSameGoTogether) {
  EXPECT_EQ(steps({"abc", "abc", "abc"}), "abc");
  EXPECT_EQ(steps({"", "", ""}), "");
}

TEST(TraceLockstep, BehindABranchLanesMeetAgain) {
  EXPECT_EQ(steps({"abd", "acd", "abd"}), "a/2b1cd");
  EXPECT_EQ(steps({"abd", "ad"}), "a/1bd");
}

TEST(TraceLockstep, BehindALoopLanesMeetAgain) {
  EXPECT_EQ(steps({"abbbc", "abc"}), "ab/1b1bc");
  EXPECT_EQ(steps({"abbcabbbc", "abbbcabc"}), "abb/1bcab/1b1bc");
}

TEST(TraceLockstep, ALoopThatIsEnteredInItsMiddle) {  // c is where the outer loop begins, b its end, a the inner loop
  EXPECT_EQ(steps({"caabcaab", "cbcb", "cabcab"}), "c/2a/1abc/2a/1ab");
}

TEST(TraceLockstep, LanesInAFunctionGoFirstWhereverItLies) {
  EXPECT_EQ(steps({"b(xy)cb(xy)d", "bcb(xy)d"}), "b/1x1ycbxyd");
  EXPECT_EQ(steps({"b(a)cd", "bcd"}), "b/1acd");
}

TEST(TraceLockstep, LanesThatHaveReturnedAreNotWaitedFor) { EXPECT_EQ(steps({"ab", "abcd", "a"}), "a/2b/1c1d"); }

TEST(TraceLockstep, DepthGoesOnFromOneMeetingToTheNext) {
  std::vector<Stream> lanes(2);
  const auto none = [](std::uint32_t, std::uint64_t, bool) {};
  const auto pc = [](std::uint32_t event) { return Address{event}; };
  lanes[0].events = {1, Stream::enter, 2};
  lanes[1].events = {1};
  lockstep(std::span<Stream>(lanes), pc, none);
  EXPECT_EQ(lanes[0].depth, 1);
  EXPECT_EQ(lanes[1].depth, 0);
}

}  // namespace
}  // namespace ridge::simt::trace
