// Fault injection: calls that request resources from the system fail when a test says so.
#pragma once
#include <cstddef>

namespace simt_test {

// Counts the calls of all threads from here on. Call number `step`, from 1, fails; with `and_all_after` all later calls
// fail too.
void inject(int step, bool and_all_after);
// Stops the injection. Returns the name of the call that failed ("mmap"); empty if there were fewer calls.
const char* stop_injecting();

}  // namespace simt_test
