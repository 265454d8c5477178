// Which launches of a line are one record, and which of them are watched.
#include <ridge/lab/records.hpp>

#include <gtest/gtest.h>

#include <string>

namespace ridge::lab {
namespace {

const LaunchSite site{"k", "a.cu", 7};
const simt::Config config{.grid = 64, .block = 256};

Work work_of_bytes(double bytes) { return {.blocks = 64, .threads = 256, .bytes_read = bytes, .l2_bytes = bytes}; }

class LabRecords : public testing::Test {
 protected:
  // A launch with a scalar that reads this many bytes. Returns whether it is watched.
  bool launch(int scalar, double bytes, const void* kernel = nullptr) {
    const auto claim = records.claim(site, config, given_by(kernel, nullptr, scalar));
    const Work work = work_of_bytes(bytes);
    records.ran(claim, claim.is_watched ? &work : nullptr, traced);
    traced += claim.is_watched;
    watched += claim.is_watched;
    return claim.is_watched;
  }
  std::vector<std::int64_t> launches() const {
    std::vector<std::int64_t> all;
    for (const Record& r : records.all()) all.push_back(r.launches);
    return all;
  }

  Records records;
  std::size_t traced = 0;
  int watched = 0;
};

TEST_F(LabRecords, OtherArgumentsThatDoSomethingElseAreAnotherRecord) {
  for (int round = 0; round < 5; ++round)
    for (const int stride : {1, 8}) launch(stride, stride * 1e6);
  EXPECT_EQ(launches(), (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(watched, 4);  // two of each
  EXPECT_EQ(records.all()[1].arguments, std::vector<std::string>{"8"});
  EXPECT_EQ(records.all()[1].numbers, (std::vector<std::int64_t>{1, 3, 5, 7, 9}));
  EXPECT_EQ(records.all()[1].work.bytes_read, 8e6);
}

TEST_F(LabRecords, OtherArgumentsThatDoTheSameAreOneRecordAndSeldomWatched) {
  for (int step = 0; step < 10000; ++step) launch(step, 1e6 + step % 7);
  EXPECT_EQ(launches(), std::vector<std::int64_t>{10000});
  EXPECT_LT(watched, 20);
  EXPECT_GT(records.all()[0].argument_sets, 4);
}

TEST_F(LabRecords, AfterMuchOfTheSameADifferenceIsStillFound) {
  for (int step = 0; step < 128; ++step) launch(step, step < 64 ? 1e6 : 2e6);
  EXPECT_EQ(records.all().size(), 2u);
}

TEST_F(LabRecords, WhatChangesWithEveryLaunchIsBounded) {
  for (int step = 1; step <= 10000; ++step) launch(step, step * 1e5);
  EXPECT_EQ(records.all().size(), 16u);
  EXPECT_LE(watched, 64);
  std::int64_t all = 0;
  for (const std::int64_t n : launches()) all += n;
  EXPECT_EQ(all, 10000);
}

TEST_F(LabRecords, KernelsAreKeptApart) {
  const int a = 0, b = 0;
  for (int round = 0; round < 3; ++round) launch(1, 1e6, &a), launch(1, 1e6, &b);
  EXPECT_EQ(launches(), (std::vector<std::int64_t>{3, 3}));
}

TEST_F(LabRecords, AFailureIsCounted) {
  EXPECT_EQ(records.failed(records.claim(site, config, {})).failures, 1);
  EXPECT_TRUE(launch(1, 1e6));
  EXPECT_EQ(launches(), std::vector<std::int64_t>{2});
}

TEST(LabGiven, ArgumentsAreSpelledAsAReaderTellsThemApart) {
  struct Pair {
    int a, b;
  };
  const Given given = given_by(nullptr, nullptr, 16, 0.5f, true, Pair{1, 2}, static_cast<int*>(nullptr));
  EXPECT_EQ(given.arguments, (std::vector<std::string>{"16", "0.5", "true", "", "null"}));
  EXPECT_NE(given.hash, given_by(nullptr, nullptr, 16, 0.5f, true, Pair{1, 3}, static_cast<int*>(nullptr)).hash);
  EXPECT_EQ(given.hash, given_by(nullptr, nullptr, 16, 0.5f, true, Pair{1, 2}, static_cast<int*>(nullptr)).hash);
}

}  // namespace
}  // namespace ridge::lab
