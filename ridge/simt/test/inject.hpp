// Faults at will: the calls by which a program asks the system for something fail when a test says so.
#pragma once
#include <cstddef>

namespace simt_test {

// Calls are counted from here on, of all threads. The one of number `step`, from 1, fails; with `and_all_after` all
// that come later do too.
void inject(int step, bool and_all_after);
// No more faults. Returns the call that failed ("mmap"); empty if there were fewer calls.
const char* stop_injecting();

}  // namespace simt_test
