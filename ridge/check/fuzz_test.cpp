// The fuzzer's parts: draws that repeat, placements whose elements are where they should be, children that die.
#include <ridge/check/fuzz.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/check/isolated.hpp>
#include <ridge/check/placement.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <string>
#include <vector>

namespace ridge::check {
namespace {

std::vector<std::string> drawn(const CaseBook& book, std::uint64_t seed, int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    Draw draw(seed, static_cast<std::uint64_t>(i), room_of_fuzzing);
    texts.push_back(fuzz_case(book, draw, cpu(), room_of_fuzzing, [](const Case&) {}).text());
  }
  return texts;
}

TEST(Fuzz, ASeedHasItsCases) {
  for (const CaseBook* book : case_books()) {
    const auto texts = drawn(*book, 1, 20);
    EXPECT_EQ(drawn(*book, 1, 20), texts);
    EXPECT_GT(std::set<std::string>(texts.begin(), texts.end()).size(), 15u) << book->op;
    for (const std::string& text : texts) EXPECT_EQ(Case::parse(text)->text(), text);
  }
}

TEST(Fuzz, SimplerCasesEnd) {
  for (const CaseBook* book : case_books())
    for (const std::string& text : drawn(*book, 2, 5)) {
      Case c = *Case::parse(text);
      int steps = 0;
      for (auto less = simpler_cases(c); !less.empty() && steps < 2000; less = simpler_cases(c), ++steps) {
        EXPECT_NE(less.front().text(), c.text());
        c = less.front();
      }
      EXPECT_LT(steps, 2000) << text;
    }
}

TEST(Fuzz, ARefusalMustNameItsOperator) {
  if (!find_case_book("softmax")) GTEST_SKIP() << "built without softmax";
  const auto kind = [](const char* text) { return try_case(*Case::parse(text), cpu(), room_of_fuzzing).kind; };
  EXPECT_EQ(kind("softmax:f32:rows=3,cols=4"), Verdict::right);
  EXPECT_EQ(kind("softmax:i32:rows=3,cols=4"), Verdict::refused);
  EXPECT_EQ(kind("softmax:f32:rows=65536,cols=65536"), Verdict::planned);
  EXPECT_EQ(kind("softmax:f32:rows=4611686018427387904,cols=4"), Verdict::refused);
  EXPECT_EQ(kind("softmax:f32:rows=3,cols=4:place=inplace:via=c"), Verdict::right);
  // Operators built on another operator's plan use their own name.
  if (find_case_book("grouped_gemm")) {
    EXPECT_EQ(kind("grouped_gemm:f32:m=0,n=1,k=1,groups=2147483648"), Verdict::refused);
  }
}

TEST(Isolated, WhatAChildReportsArrives) {
  Board board;
  const Verdict told = board.run([&] { board.report({Verdict::wrong, "a:f32:n=1", "why"}); }, 10, 0);
  EXPECT_EQ(told.kind, Verdict::wrong);
  EXPECT_EQ(told.case_text, "a:f32:n=1");
  EXPECT_EQ(told.why, "why");
  EXPECT_EQ(board.run([] {}, 10, 0).kind, Verdict::right);
}

TEST(Isolated, AChildThatDiesLeavesItsCase) {
  Board board;
  const Case c = *Case::parse("a:f32:n=1");
  const Verdict died = board.run([&] { board.begin(c), raise(SIGKILL); }, 10, 0);
  EXPECT_EQ(died.kind, Verdict::crashed);
  EXPECT_EQ(died.case_text, c.text());
  const Verdict left = board.run([&] { board.begin(c), _exit(3); }, 10, 0);
  EXPECT_EQ(left.kind, Verdict::crashed);
  const Verdict hung = board.run(
      [&] {
        for (board.begin(c);;) pause();
      },
      0.2, 0);
  EXPECT_EQ(hung.kind, Verdict::hung);
  EXPECT_EQ(hung.case_text, c.text());
}

// ---- placements ----------------------------------------------------------------------------------------------------

TEST(Placement, ScatteredElementsAreApartAndReadBack) {
  std::set<std::string> layouts;
  for (std::uint64_t salt = 0; salt < 200; ++salt) {
    const TensorType type{f32, {3, 1, 4, 5}};
    auto placed = Placed::make(type, Place::scattered, {}, salt);
    ASSERT_TRUE(placed.ok());
    layouts.insert(placed->view().layout.text());
    std::vector<double> values(60);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    ASSERT_TRUE(placed->write(values).ok());
    const auto read = placed->read();
    EXPECT_EQ(read->values, values) << placed->view().layout.text();
    EXPECT_TRUE(read->canaries_intact);
  }
  EXPECT_GT(layouts.size(), 100u);
}

TEST(Placement, ElementsThatShareAPlaceShareAValue) {
  const TensorType type{f32, {3, 4}};
  for (const Place place : {Place::broadcast, Place::windows}) {
    auto placed = Placed::make(type, place, {});
    ASSERT_TRUE(placed->write({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).ok());
    const auto read = placed->read();
    EXPECT_TRUE(read->canaries_intact);
    const std::vector<double> rows{9, 10, 11, 12, 9, 10, 11, 12, 9, 10, 11, 12};
    const std::vector<double> halves{1, 2, 5, 6, 5, 6, 9, 10, 9, 10, 11, 12};
    EXPECT_EQ(read->values, place == Place::broadcast ? rows : halves);
  }
}

}  // namespace
}  // namespace ridge::check
