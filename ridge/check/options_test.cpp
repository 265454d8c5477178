// Options of every operator as text: a value without a meaning is refused by a sentence that names the option.
#include <ridge/check/registry.hpp>
#include <ridge/core/text.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

class OptionsOf : public testing::TestWithParam<const CaseBook*> {
 protected:
  const OpInfo& op = **find_op(GetParam()->op);

  // The refusal when this option is set, from the first case that can be planned without it and whose refusal names it:
  // some options are read only together with another one.
  std::string refusal(std::string_view option, const std::string& value) const {
    std::string last;
    for (const std::string& text : GetParam()->tests) {
      const Case c = *Case::parse(text);
      Options options = c.operator_options();
      if (!plan_case(c, options, cpu())) continue;
      options.set(std::string(option), value);
      const auto plan = plan_case(c, options, cpu());
      if (plan) return "planned " + text;
      last = plan.error().message();
      if (last.find(option) != last.npos) return last;
    }
    return last.empty() ? "no case is planned" : last;
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OptionsOf);

TEST_P(OptionsOf, AreNoNumbersBeyondTheFinite) {
  for (const OptionInfo& option : op.options)
    for (const char* value : {"nan", "-nan", "inf", "-inf", "infinity", "1e999", "-1e999", "nan,nan", "0,inf"}) {
      const std::string said = refusal(option.name, value);
      EXPECT_FALSE(said.starts_with("planned ")) << option.name << "=" << value << ": " << said;
      EXPECT_NE(said.find(option.name), said.npos) << option.name << "=" << value << ": " << said;
    }
}

// Accepts a real number as C++ and Python write it, and no other text.
TEST_P(OptionsOf, AreOfTheirType) {
  for (const OptionInfo& option : op.options) {
    if (option.values != "number" && option.values != "float") continue;
    const std::string said = refusal(option.name, "1.0");  // within every option's range
    if (said.find("a whole number") != said.npos) continue;
    EXPECT_TRUE(said.starts_with("planned ")) << option.name << ": " << said;
    for (const char* value : {"1,0", "0x1p0", "1.0 ", " 1.0", "+1.0", "1.0f", "", "1.0.0", "1e"})
      EXPECT_FALSE(refusal(option.name, value).starts_with("planned ")) << option.name << "='" << value << "'";
  }
}

TEST_P(OptionsOf, HaveNoControlCharacters) {
  for (const OptionInfo& option : op.options)
    for (const std::string before : {"0", "1", "0.5", "none"})
      for (const std::string& after : {std::string(1, '\0'), std::string("\0x", 2), std::string("\x1b[2J"),
                                       std::string("\xc2\x9b"), std::string("\xff")}) {
        const std::string said = refusal(option.name, before + after);
        EXPECT_NE(said.find("without control characters"), said.npos) << option.name << ": " << said;
        EXPECT_EQ(said, printable(said));
      }
  for (const std::string& key : {std::string("vari\0ant", 8), std::string("\x1b", 1), std::string("variant\0", 8)}) {
    const std::string said = refusal(key, "1");
    EXPECT_NE(said.find("without control characters"), said.npos) << said;
  }
}

// Every operator that has its own cases.
INSTANTIATE_TEST_SUITE_P(Every, OptionsOf, testing::ValuesIn(case_books()),
                         [](const auto& of) { return of.param->op; });

}  // namespace
}  // namespace ridge::check
