// GoogleTest tests from case books: one test per case and device, each running every variant that fits.
#pragma once
#include <initializer_list>
#include <string>

namespace ridge::check {

// A static object of this type in a folder's test.cpp names the operators whose books the program runs. The tests are
// OP.cpu/CASE and OP.cuda/CASE; without a GPU the latter end as "skipped: no GPU".
struct TestCasesOf {
  TestCasesOf(std::initializer_list<std::string> ops);
};

}  // namespace ridge::check
