// Finds host code that reads or writes device memory: a handler of SIGSEGV says which allocation it was, and ends the
// process.
//
// The runtime's handlers (simt/runtime/faults.cpp) come and go with each launch, over or under this one. Whichever is
// called first passes on what is not its own: theirs what is no fiber's, this one what is no host code's.
#pragma once
#include <ridge/lab/sentence.hpp>

namespace ridge::lab {

void watch_host_access();  // installs the handler, once

// Whether host code that faulted at this address touched device memory, and which: appended as describe_memory() says
// it. Called by the handler; defined beside the table (memory.cpp).
bool describe_host_access(std::uintptr_t address, Sentence&) noexcept;

}  // namespace ridge::lab
