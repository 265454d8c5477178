// Tuning on the CPU runtime: measuring, keeping, reading, and leaving alone.
#include <ridge/core/tuning.hpp>
#include <ridge/tuning/tensor_copies.hpp>
#include <ridge/tuning/tuned_plan.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace ridge {
namespace {

// A tuning file that exists for one test.
class Tuned : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_op("add")) GTEST_SKIP() << "this build has no elementwise operators";
    path_ = std::filesystem::temp_directory_path() / ("ridge-tuned-" + std::to_string(getpid())) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    setenv("RIDGE_TUNE_CACHE", path_.c_str(), 1);
    unsetenv("RIDGE_TUNE");
    set_tuning(TuneMode::off);
  }
  void TearDown() override {
    set_tuning(TuneMode::off);
    if (path_.has_parent_path()) std::filesystem::remove_all(path_.parent_path());
  }

  struct Call {
    std::vector<float> a, b, y;
    std::vector<TensorView> in, out;
  };
  static Call sums(std::int64_t n) {
    Call c{std::vector<float>(static_cast<std::size_t>(n), 1),
           std::vector<float>(static_cast<std::size_t>(n), 2),
           std::vector<float>(static_cast<std::size_t>(n)),
           {},
           {}};
    c.in = {view(c.a.data(), {n}), view(c.b.data(), {n})};
    c.out = {view(c.y.data(), {n})};
    return c;
  }
  static std::unique_ptr<OpPlan> plan_of(const Call& c, const Options& options = {}) {
    auto plan = plan_tuned(**find_op("add"), c.in, c.out, options, cpu());
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    return plan ? std::move(*plan) : nullptr;
  }
  static void run(const OpPlan& plan, Call& c) {
    auto workspace = Buffer::allocate(cpu().id, plan.workspace_bytes());
    ASSERT_TRUE(workspace.ok());
    const Status status = plan.run(c.in, c.out, workspace->workspace(), {});
    ASSERT_TRUE(status.ok()) << status.message();
    for (const float y : c.y) ASSERT_EQ(y, 3);
  }
  std::size_t kept() const {
    auto file = Tuning::read(path_);
    return file ? file->size() : 0;
  }

  std::filesystem::path path_;
};

TEST_F(Tuned, TheFirstRunMeasuresAndTheFileKeepsIt) {
  Call c = sums(1000);
  const auto plan = plan_of(c, {{"tune", "1"}});
  EXPECT_EQ(kept(), 0u);
  run(*plan, c);
  ASSERT_EQ(kept(), 1u);
  const auto entry = *Tuning::read(path_)->find(cpu().name, "add", plan->explain().problem);
  EXPECT_EQ(entry.variant, plan->explain().variant);
  EXPECT_GT(entry.us, 0);
  run(*plan, c);
  EXPECT_EQ(kept(), 1u);
}

TEST_F(Tuned, WhatIsKeptIsTaken) {
  Call c = sums(1000);
  const Explanation e = plan_of(c)->explain();
  std::string other;  // a variant that fits and that the model does not choose
  for (const Candidate& candidate : e.candidates)
    if (candidate.fits() && candidate.variant != e.variant) other = candidate.variant;
  ASSERT_FALSE(other.empty());
  Tuning tuning;
  tuning.set(cpu().name, "add", e.problem, {other, 1});
  ASSERT_TRUE(tuning.add_to(path_).ok());
  for (const TuneMode mode : {TuneMode::read, TuneMode::measure}) {
    set_tuning(mode);
    const auto plan = plan_of(c);
    EXPECT_EQ(plan->explain().variant, other);
    run(*plan, c);
  }
  EXPECT_EQ(plan_of(c, {{"tune", "0"}})->explain().variant, e.variant);
  EXPECT_EQ(plan_of(c, {{"variant", e.variant}})->explain().variant, e.variant);  // a named variant is used
}

TEST_F(Tuned, ReadingMeasuresNothing) {
  set_tuning(TuneMode::read);
  Call c = sums(77);
  const auto refused = plan_tuned(**find_op("add"), c.in, c.out, {}, cpu());  // a named file must exist
  EXPECT_EQ(std::string(refused.error().message()), "tuning file '" + path_.string() + "' cannot be read");
  ASSERT_TRUE(Tuning().add_to(path_).ok());
  run(*plan_of(c), c);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Tuned, StridesAndAddressesAreOtherProblems) {
  set_tuning(TuneMode::measure);
  Call c = sums(64);
  run(*plan_of(c), c);
  Call odd = sums(65);
  odd.in[0] = view(odd.a.data() + 1, {64});
  odd.in[1] = view(odd.b.data(), {64});
  odd.out[0] = view(odd.y.data(), {64});
  odd.y[64] = 3;
  run(*plan_of(odd), odd);
  EXPECT_EQ(kept(), 2u);
}

TEST_F(Tuned, EmptyTensorsAndOneThreadAfterAnother) {
  set_tuning(TuneMode::measure);
  Call none = sums(0);
  run(*plan_of(none), none);
  EXPECT_EQ(kept(), 0u);
  Call c = sums(5000);
  const auto plan = plan_of(c);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&plan] {
      Call own = sums(5000);
      run(*plan, own);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Tuned, ManyWritersLoseNothing) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([this, i] {
      Tuning one;
      one.set("device", "op", "problem " + std::to_string(i), {"row", 1});
      EXPECT_TRUE(one.add_to(path_).ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kept(), 8u);
}

TEST_F(Tuned, InPlaceAndSettledOnce) {
  set_tuning(TuneMode::measure);
  Call c = sums(300);
  c.out[0] = c.in[0];
  const auto plan = plan_of(c);
  const bool measures = !plan->is_settled();
  auto workspace = Buffer::allocate(cpu().id, plan->explain().workspace_bytes);
  ASSERT_TRUE(plan->run(c.in, c.out, workspace->workspace(), {}).ok());
  EXPECT_TRUE(plan->is_settled());
  EXPECT_EQ(kept(), measures ? 1u : 0u);
  for (const float a : c.a) ASSERT_EQ(a, 3);  // added to once: measuring used copies
}

TEST(NearVariants, TheChoiceAndTheFewNearIt) {
  Explanation e;
  e.variant = "b", e.predicted_us = 10;
  for (const auto& [name, us] :
       {std::pair{"a", 15.9}, {"b", 10.0}, {"c", 16.1}, {"d", 8.0}, {"e", 11.0}, {"f", 12.0}, {"g", 13.0}, {"h", 14.0}})
    e.candidates.push_back({name, "", us});
  e.candidates.push_back({"i", "it does not fit", 0});
  EXPECT_EQ(near_variants(e), (std::vector<std::string>{"b", "d", "e", "f", "g", "h"}));
}

TEST_F(Tuned, WhatIsWrongIsSaid) {
  Call c = sums(10);
  auto refused = plan_tuned(**find_op("add"), c.in, c.out, {{"tune", "yes"}}, cpu());
  EXPECT_EQ(std::string(refused.error().message()), "add: tune is 'yes'; it must be 0 or 1");
  setenv("RIDGE_TUNE_CACHE", "/proc/no/such/place", 1);
  set_tuning(TuneMode::measure);
  refused = plan_tuned(**find_op("add"), c.in, c.out, {}, cpu());
  EXPECT_EQ(std::string(refused.error().message()), "tuning file '/proc/no/such/place' cannot be written");
  setenv("RIDGE_TUNE_CACHE", path_.c_str(), 1);
  std::filesystem::create_directories(path_.parent_path());
  std::ofstream(path_) << "something else\n";
  set_tuning(TuneMode::read);
  refused = plan_tuned(**find_op("add"), c.in, c.out, {}, cpu());
  EXPECT_EQ(std::string(refused.error().message()),
            "tuning file '" + path_.string() + "' does not begin with 'ridge tuning 2'");
}

// A pipe may never end, and reading it would hang.
TEST_F(Tuned, ThatAPipeIsNoTuningFile) {
  std::filesystem::create_directories(path_.parent_path());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Tuning::read(path_).error().message(), "tuning file '" + path_.string() + "' cannot be read");
  Tuning one;
  one.set("device", "op", "problem", {"row", 1});
  EXPECT_FALSE(one.add_to(path_).ok());
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(Tuned, AFileWhoseNameIsAtTheSystemsLimit) {
  Tuning one;
  one.set("device", "op", "problem", {"row", 1});
  for (std::size_t length : {249, 251, 255}) {
    const auto path = path_.parent_path() / std::string(length, 'n');
    ASSERT_TRUE(one.add_to(path).ok()) << length;
    EXPECT_EQ(Tuning::read(path)->size(), 1u);
  }
}

TEST_F(Tuned, ALineThatGoesOnBehindItsTimeIsCorrupt) {
  Tuning one;
  one.set("device", "op", "problem", {"row", 1});
  ASSERT_TRUE(one.add_to(path_).ok());
  std::string text;
  std::getline(std::ifstream(path_), text, '\0');
  text.insert(text.size() - 1, std::string("\0more", 5));
  std::ofstream(path_) << text;
  EXPECT_FALSE(Tuning::read(path_).ok());
}

TEST(TensorCopies, ViewsThatMeetStillMeet) {
  std::vector<float> x(100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  TensorView packed = view(x.data() + 10, {4, 5});
  packed.layout.stride[0] = 15;
  TensorView turned = view(x.data() + 99, {10});
  turned.layout.stride[0] = -1;
  const std::vector<TensorView> in{view(x.data(), {30}), packed, turned}, out{view(x.data(), {30})};
  auto copies = tuning::TensorCopies::make(in, out, cpu(), {});
  ASSERT_TRUE(copies.ok());
  const auto& set = copies->set(0);
  EXPECT_NE(set.inputs[0].data, x.data());
  EXPECT_EQ(set.inputs[0].data, set.outputs[0].data);
  EXPECT_EQ(static_cast<float*>(set.inputs[1].data) - static_cast<float*>(set.inputs[0].data), 10);
  EXPECT_EQ(*static_cast<float*>(set.inputs[1].data), 10);
  EXPECT_EQ(*static_cast<float*>(set.inputs[2].data), 99);
  EXPECT_EQ(static_cast<float*>(set.inputs[2].data)[-9], 90);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(set.inputs[0].data) % 256,
            reinterpret_cast<std::uintptr_t>(x.data()) % 256);
}

}  // namespace
}  // namespace ridge
