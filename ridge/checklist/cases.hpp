// The checklist's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/checklist/checklist.hpp>
#include <ridge/checklist/oracle.hpp>

namespace ridge::checklist_detail {

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  return std::vector<TensorType>(c.op == "checklist_vecadd" ? 2 : 1, TensorType{c.dtype, {c.dim("n")}});
}

// Tolerance: an addition is rounded once; a window's sum of w terms at most w times, each time a partial sum of at most
// the sum of |x|. All else moves bits or whole numbers.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  check::Expected e;
  const std::vector<double>& x = in[0].values;
  if (c.op == "checklist_histogram") {
    e.value = oracle_histogram(x);
  } else if (c.op == "checklist_banks") {
    e.value = oracle_reversed(x, 128);
  } else {
    const std::int64_t width = *c.options.integer(c.op, "w", 9);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      if (c.op == "checklist_branch") e.value.push_back(oracle_hash(index, x[i]));
      else if (c.op == "checklist_vecadd") e.value.push_back(x[i] + in[1].values[i]);
      else if (c.op == "checklist_window") e.value.push_back(oracle_window(x, index, width).sum);
      else e.value.push_back(x[i]);
      double tolerance = 0;
      if (c.op == "checklist_vecadd") tolerance = check::rounding_error(f32, e.value.back());
      if (c.op == "checklist_window")
        tolerance = static_cast<double>(width) * check::roundoff(f32) * oracle_window(x, index, width).magnitude;
      e.tolerance.push_back(tolerance);
    }
  }
  e.tolerance.resize(e.value.size());
  return {e};
}

inline check::CaseBook book_of(Lesson lesson) {
  const std::string op(name(lesson));
  check::CaseBook book{.op = op,
                       .keys = {"n"},
                       .optional_keys = {},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = nullptr,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = lesson == Lesson::vecadd || lesson == Lesson::window};
  const std::string type = lesson == Lesson::histogram ? "u8" : lesson == Lesson::branch ? "i32" : "f32";
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + type + ":" + rest); };
  // Around a warp, a block, and a block with 2, 4, 8 or 32 elements per thread.
  for (const char* n : {"0",   "1",   "2",   "31",   "32",   "33",   "127",  "128",  "129",  "255",  "256",
                        "257", "511", "513", "1023", "1024", "1025", "2047", "2049", "8191", "8193", "20000"})
    test("n=" + std::string(n) + ":fill=uniform");
  test("n=1000:fill=ones");
  test("n=1025:place=offset:fill=uniform");
  test("n=1025:fill=uniform:warp=64");
  if (lesson == Lesson::window)
    for (const char* w : {"1", "3", "255", "257", "1023"}) {
      test("n=700:fill=ints:w=" + std::string(w));
      test("n=700:w=" + std::string(w));
    }
  if (lesson != Lesson::histogram && lesson != Lesson::branch) test("n=1000");
  if (lesson == Lesson::branch) test("n=1000:fill=overflow");
  if (lesson == Lesson::histogram) test("n=100000:fill=zipf");
  book.benches = {op + ":" + type + (lesson == Lesson::histogram ? ":n=268435456:fill=uniform" : ":n=67108864")};
  if (lesson == Lesson::window) book.benches.push_back(op + ":f32:n=67108864:w=63");
  return book;
}

}  // namespace ridge::checklist_detail
