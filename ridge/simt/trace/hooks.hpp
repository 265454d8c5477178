// Where the hooks of compiled kernels lead.
#pragma once
#include <ridge/simt/trace/recorder.hpp>

namespace ridge::simt::trace {

// The recorder of what the calling OS thread runs; null where it runs no block that is traced.
Recorder* listening();

// From now on the calling OS thread's accesses go to this recorder; null: to none.
void listen(Recorder*);

}  // namespace ridge::simt::trace
