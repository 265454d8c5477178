// ridge learn: its course from outside; each exercise fails as given for the reason it teaches, and passes as solved.
#include "cli.hpp"

#include <atomic>
#include <cstdlib>
#include <thread>

namespace ridge {
namespace {

const std::string course = RIDGE_LEARN_FOLDER;

class CliLearn : public Cli {
 protected:
  CliLearn() { setenv("XDG_STATE_HOME", folder.path().c_str(), 1); }
  ~CliLearn() override { unsetenv("XDG_STATE_HOME"); }

  static Finished learn(Arguments arguments) {
    arguments.insert(arguments.begin(), "learn");
    return ridge_program(std::move(arguments));
  }
};

TEST_F(CliLearn, ListsWhatThereIsAndHowMuchIsDone) {
  const auto list = learn({});
  expect_done(list);
  EXPECT_EQ(list.out, learn({"list"}).out);
  EXPECT_TRUE(contains(list.out, " 1  first-kernel ")) << list.out;
  EXPECT_TRUE(contains(list.out, "\n30  fusion ")) << list.out;
  EXPECT_TRUE(contains(list.out, "\n0 of 30 done\n")) << list.out;
}

TEST_F(CliLearn, StartWritesTheExerciseAndOverwritesNothing) {
  const std::string file = folder / "mine.cu";
  const auto started = learn({"start", "bank-conflicts", file});
  expect_done(started);
  EXPECT_EQ(file_bytes(file), file_bytes(course + "/bank-conflicts/exercise.cu"));
  EXPECT_TRUE(contains(started.out, "8. Bank conflicts, in " + file)) << started.out;
  EXPECT_TRUE(contains(started.out, "the accesses of shared memory take the fewest wavefronts\n")) << started.out;
  expect_refused(learn({"start", "8", file}), file + " exists");
}

TEST_F(CliLearn, HintsComeOneByOneThenAllAgain) {
  const auto first = learn({"hint", "bank-conflicts"}), second = learn({"hint", "8"});
  expect_done(first);
  EXPECT_TRUE(first.out.starts_with("1. Shared memory has 32 banks")) << first.out;
  EXPECT_TRUE(second.out.starts_with("2. ")) << second.out;
  EXPECT_TRUE(learn({"hint", "bank-conflicts"}).out.starts_with("3. "));
  EXPECT_TRUE(contains(learn({"hint", "bank-conflicts"}).out, "there are no more hints"));
  EXPECT_TRUE(contains(learn({"hint", "bank-conflicts", "--all"}).out, "\n3. "));
}

TEST_F(CliLearn, ASolutionIsAProgramThatBeginsWithWhyItIsFast) {
  const auto solution = learn({"solution", "transpose"});
  expect_done(solution);
  EXPECT_EQ(solution.out, file_bytes(course + "/transpose/solution.cu"));
  EXPECT_TRUE(solution.out.starts_with("// ridge learn transpose\n//\n// ")) << solution.out;
}

TEST_F(CliLearn, WhatIsWrongWithARequest) {
  expect_refused(learn({"start", "tanspose"}), "there is no exercise tanspose; the nearest are transpose");
  expect_refused(learn({"start", "31"}), "there is no exercise 31");
  expect_refused(learn({"begin"}), "begin");
  expect_refused(learn({"start"}), "start needs an exercise");
  expect_refused(learn({"check"}), "check needs a file");
  expect_refused(learn({"hint", "transpose", "fusion"}), "hint takes one argument, and got fusion besides");
  expect_refused(learn({"check", "nowhere.cu"}), "nowhere.cu cannot be read");
  expect_refused(learn({"check", folder.write("other.cu", "int main() {}\n")}), "does not say which exercise it is of");
  const std::string broken = folder.write("broken.cu", "// ridge learn fusion\nint main() { return x; }\n");
  const auto refused = learn({"check", broken});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "broken.cu:2:21: error: ")) << refused.err;
}

TEST_F(CliLearn, ACheckThatFailsNamesTheLineAndOneThatPassesIsKept) {
  const auto failed = learn({"check", course + "/bank-conflicts/exercise.cu"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(failed.out, "failed: exercise.cu:16: the accesses of shared memory take 16.5 times"))
      << failed.out;
  EXPECT_TRUE(contains(failed.out, "\n    y[(blockIdx.x * 32 + r) * size")) << failed.out;
  EXPECT_TRUE(contains(learn({}).out, "\n0 of 30 done\n"));
  const auto passed = learn({"check", course + "/bank-conflicts/solution.cu"});
  expect_done(passed);
  EXPECT_TRUE(passed.out.starts_with(
      "passed: the result is right, no races, nothing out of bounds, wavefronts / least 1 (at most"))
      << passed.out;
  EXPECT_TRUE(contains(passed.out, "next: ridge learn start missing-barrier\n")) << passed.out;
  EXPECT_TRUE(contains(learn({}).out, "\n1 of 30 done\n"));
  EXPECT_EQ(json::parse(file_bytes(folder / "ridge/learn.json"))["done"], json::array({"bank-conflicts"}));
}

std::vector<std::string> exercises() { return lines_of(file_bytes(course + "/index.txt")); }

// Calls work(name) for each exercise, as many at a time as there are cores.
template <class Work> void for_each_exercise(Work work) {
  const std::vector<std::string> names = exercises();
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.emplace_back([&] {
      for (std::size_t at; (at = next++) < names.size();) work(names[at]);
    });
}

class CliLearnCourse : public CliLearn {};

TEST_F(CliLearnCourse, EachExerciseFailsAsGivenForTheReasonThatItTeaches) {
  for_each_exercise([&](const std::string& name) {
    const auto failed = learn({"check", course + "/" + name + "/exercise.cu"});
    const auto reason = json::parse(file_bytes(course + "/" + name + "/goal.json"))["as_given"].get<std::string>();
    EXPECT_EQ(failed.code, 1) << name << ": " << failed.err;
    EXPECT_TRUE(contains(lines_of(failed.out + "\n")[0], reason)) << name << ": " << failed.out;
  });
}

// Without bounds and races, which would take three times as long; the modes' own tests look for these.
TEST_F(CliLearnCourse, EachSolutionPasses) {
  for_each_exercise([&](const std::string& name) {
    const auto passed = learn({"check", course + "/" + name + "/solution.cu", "--trace"});
    EXPECT_EQ(passed.code, 0) << name << ": " << passed.out << passed.err;
  });
}

TEST_F(CliLearnCourse, EachSaysWhatItTeachesAndHasHints) {
  EXPECT_EQ(exercises().size(), 30u);
  for (const std::string& name : exercises()) {
    EXPECT_TRUE(learn({"hint", name, "--all"}).out.starts_with("1. ")) << name;
    for (const char* file : {"/exercise.cu", "/solution.cu"})
      EXPECT_TRUE(file_bytes(course + "/" + name + file).starts_with("// ridge learn " + name + "\n//\n// ")) << name;
  }
}

}  // namespace
}  // namespace ridge
