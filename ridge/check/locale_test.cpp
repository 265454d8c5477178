// Sets a locale with a decimal comma, as in Germany: the texts that Ridge reads and writes stay the same.
#include <ridge/check/harness.hpp>
#include <ridge/check/registry.hpp>
#include <ridge/core/calibration.hpp>
#include <ridge/core/json.hpp>
#include <ridge/core/text.hpp>
#include <ridge/core/tuning.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace ridge::check {
namespace {

namespace fs = std::filesystem;

// Sets the locale, and makes it where the system has none, which needs its source; not every system has that.
bool set_decimal_comma(const fs::path& folder) {
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"})
    if (std::setlocale(LC_ALL, name)) return true;
  const std::string made = (folder / "de_DE.UTF-8").string();
  if (std::system(("localedef -i de_DE -f UTF-8 '" + made + "' >/dev/null 2>&1").c_str()) != 0) return false;
  setenv("LOCPATH", folder.c_str(), 1);
  return std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
}

class DecimalComma : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    if (!set_decimal_comma(folder_)) {
      std::puts("skipped: no locale with a decimal comma");  // CTest looks for this text
      GTEST_SKIP() << "no locale with a decimal comma is installed, and localedef cannot make one";
    }
    char half[8];
    std::snprintf(half, sizeof half, "%.1f", 0.5);
    ASSERT_STREQ(half, "0,5");
  }
  void TearDown() override {
    std::setlocale(LC_ALL, "C");
    fs::remove_all(folder_);
  }
  const fs::path folder_ = fs::temp_directory_path() / ("ridge-locale-" + std::to_string(getpid()));
};

TEST_F(DecimalComma, NumbersInTexts) {
  EXPECT_EQ((Text() << 0.5 << " " << 1234567.0 << " " << 1e-9).str(), "0.5 1.23457e+06 1e-09");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(format("%.2f us, %d, %s", 0.125, 3, "x"), "0.12 us, 3, x");
  char half[8];
  std::snprintf(half, sizeof half, "%.1f", 0.5);
  EXPECT_STREQ(half, "0,5") << "the program's locale is changed";
  const Options options{{"scale", "0.25"}, {"comma", "0,25"}};
  EXPECT_EQ(*options.real("op", "scale", 1), 0.25);
  EXPECT_FALSE(options.real("op", "comma", 1).ok());
}

TEST_F(DecimalComma, TuningIsReadAndWritten) {
  Tuning tuning;
  tuning.set("device", "op", "problem", {"row", 12.5});
  const fs::path path = folder_ / "tuning";
  ASSERT_TRUE(tuning.write(path).ok());
  const auto read = Tuning::read(path);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(*read->find("device", "op", "problem"), (Tuning::Entry{"row", 12.5}));
}

TEST_F(DecimalComma, CalibrationIsReadAndWritten) {
  setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  const Calibration measured{.device = "NVIDIA H200", .date = "2026-01-31", .memory_gbs = 4211.5, .fp32_tflops = 0.1};
  ASSERT_TRUE(measured.write().ok());
  EXPECT_EQ(Calibration::read("NVIDIA H200"), measured);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(Calibration::read("NVIDIA H200"), measured);
}

TEST_F(DecimalComma, SettingsOfTheRuntimeAreRead) {
  if (!find_op("relu")) GTEST_SKIP() << "this build has no elementwise operators";
  const auto run = [] { return run_case(*Case::parse("relu:f32:n=7"), cpu(), false).front(); };
  setenv("RIDGE_WATCHDOG_SECONDS", "29.5", 1);
  EXPECT_EQ(run().kind, Outcome::passed) << run().why;
  setenv("RIDGE_WATCHDOG_SECONDS", "29,5", 1);
  EXPECT_NE(run().why.find("RIDGE_WATCHDOG_SECONDS is \"29,5\""), std::string::npos) << run().why;
  unsetenv("RIDGE_WATCHDOG_SECONDS");
}

// The texts of every operator: its description, and a case's explanation on two devices.
TEST_F(DecimalComma, OperatorsSayTheSame) {
  std::vector<std::string> said[2];
  for (std::vector<std::string>& here : said) {
    for (const CaseBook* book : case_books()) {
      here.push_back(json_text(**find_op(book->op)));
      for (const auto* list : {&book->tests, &book->benches})
        for (std::size_t i = 0; i < std::min<std::size_t>(list->size(), 5); ++i)
          for (const DeviceInfo& device : {cpu(), *device_model("H200")}) {
            const Case c = *Case::parse((*list)[i]);
            const auto plan = plan_case(c, c.operator_options(), device);
            const Explanation e = plan ? (*plan)->explain() : Explanation{};
            here.push_back((*list)[i] + "\n" + std::string(plan.error().message()) + e.text() + json_text(e));
          }
    }
    std::setlocale(LC_ALL, "C");
  }
  EXPECT_GT(said[0].size(), case_books().size());
  EXPECT_EQ(said[0], said[1]);
}

}  // namespace
}  // namespace ridge::check
