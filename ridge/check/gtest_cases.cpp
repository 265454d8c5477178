#include <ridge/check/gtest_cases.hpp>
#include <ridge/check/harness.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace ridge::check {

namespace {

std::vector<std::string>& wanted() {
  static std::vector<std::string> names;
  return names;
}

class CaseTest : public testing::Test {
 public:
  CaseTest(std::string text, Device device) : text_(std::move(text)), device_(device) {}

  void TestBody() override {
    auto device = device_.kind == DeviceKind::cpu ? Result<DeviceInfo>(cpu()) : ridge::device(device_.index);
    if (!device) {
      std::puts("skipped: no GPU on this machine");
      GTEST_SKIP() << "no GPU";
    }
    auto c = Case::parse(text_);
    ASSERT_TRUE(c.ok()) << c.error().message();
    int ran = 0;
    const char* seed = std::getenv("RIDGE_SEED");  // the order of blocks and threads in a CPU launch
    for (const Outcome& outcome : run_case(*c, *device, true)) {
      EXPECT_NE(outcome.kind, Outcome::failed) << outcome.case_text << " on " << outcome.device << ": " << outcome.why
                                               << (seed ? "; RIDGE_SEED=" : "") << (seed ? seed : "");
      ran += outcome.kind == Outcome::passed;
    }
    EXPECT_GT(ran, 0) << "no variant ran " << text_;
  }

 private:
  std::string text_;
  Device device_;
};

void register_cases(const CaseBook& book) {
  for (const Device device : {Device{DeviceKind::cpu, 0}, Device{DeviceKind::cuda, 0}})
    for (const std::string& text : book.tests) {
      if (device.kind == DeviceKind::cuda && text.find(":warp=") != std::string::npos) continue;  // a CPU option
      const std::string suite = book.op + (device.kind == DeviceKind::cpu ? ".cpu" : ".cuda");
      testing::RegisterTest(suite.c_str(), text.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [=]() -> testing::Test* { return new CaseTest(text, device); });
    }
}

}  // namespace

TestCasesOf::TestCasesOf(std::initializer_list<std::string> ops) { wanted().insert(wanted().end(), ops); }

}  // namespace ridge::check

int main(int argc, char** argv) {
  for (const std::string& op : ridge::check::wanted()) {
    auto book = ridge::check::find_case_book(op);
    if (!book) {
      std::fprintf(stderr, "%s\n", std::string(book.error().message()).c_str());
      return EXIT_FAILURE;
    }
    ridge::check::register_cases(**book);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
