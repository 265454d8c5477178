// Operators where memory runs out: each allocation of a plan and of its run fails, one after the other. The result is a
// Status or std::bad_alloc, which the C ABI turns into a status; the next plan and run give the same results as before.
#include <ridge/check/case_tensors.hpp>
#include <ridge/simt/test/inject.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

class Scarce : public testing::TestWithParam<const CaseBook*> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Scarce);

// The first of the book's cases without special options.
Case plain_case(const CaseBook& book) {
  for (const std::string& text : book.tests) {
    const auto c = Case::parse(text);
    if (c.ok() && !c->options.has("variant") && !c->options.has("place") && !c->options.has("warp")) return *c;
  }
  return {};
}

TEST_P(Scarce, EachAllocationFailsInTurn) {
  const CaseBook& book = *GetParam();
  const OpInfo& op = **find_op(book.op);
  const Case c = plain_case(book);
  const DeviceInfo device = cpu();
  auto tensors = tensors_of(book, op, c, Place::plain, device.id);
  ASSERT_TRUE(tensors.ok()) << c.text() << ": " << tensors.error().message();
  const Options options = c.operator_options();
  const auto unhindered = [&] {
    auto plan = plan_op(op, tensors->in, tensors->out, options, device);
    return plan ? bytes_of_run(*tensors, **plan, device.id) : plan.error();
  };
  const auto before = unhindered();
  ASSERT_TRUE(before.ok()) << c.text() << ": " << before.error().message();
  auto plan = plan_op(op, tensors->in, tensors->out, options, device);
  auto workspace = Buffer::allocate(device.id, (*plan)->workspace_bytes());
  ASSERT_TRUE(workspace.ok());

  for (const bool and_all_after : {false, true}) {
    std::map<std::string, int> seen;
    for (int step = 1;; ++step) {
      ASSERT_LT(step, 100000);
      std::string told = "std::bad_alloc";
      simt_test::inject(step, and_all_after);
      try {
        Status status;
        if (auto made = plan_op(op, tensors->in, tensors->out, options, device); !made) status = made.error();
        else status = (*made)->run(tensors->in, tensors->out, workspace->workspace(), {});
        const bool reached = *simt_test::stop_injecting();
        if (!reached) {
          EXPECT_TRUE(status.ok()) << c.text() << ": " << status.message();
          break;
        }
        told = status.message();
        EXPECT_TRUE(status.ok() || status.code() == Code::out_of_memory)
            << c.text() << ", step " << step << ": " << told;
      } catch (const std::bad_alloc&) {
        simt_test::stop_injecting();
      }
      ++seen[told];
      const auto after = unhindered();
      ASSERT_TRUE(after.ok()) << c.text() << ", after step " << step << ": " << after.error().message();
      ASSERT_TRUE(*after == *before) << c.text() << ", after step " << step;
    }
    for (const auto& [told, times] : seen)
      std::printf("%-18s  %-12s  %5d  %s\n", book.op.c_str(), and_all_after ? "from then on" : "once", times,
                  told.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Scarce, testing::ValuesIn(case_books()),
                         [](const auto& instance) { return instance.param->op; });

}  // namespace
}  // namespace ridge::check
