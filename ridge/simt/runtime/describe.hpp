// Sentences about a block that failed.
#pragma once
#include <ridge/simt/runtime/worker.hpp>

namespace ridge::simt {

std::string spell(where);  // kernel.cu:12
std::string spell(uint3);  // (1,2,3)
std::string spell(Collective);
std::string locate(const Worker&, const Thread&);  // block (0,0,0), thread (7,0,0):
// Where all threads are: "; 64 threads wait at __syncthreads (kernel.cu:12), first (0,0,0); ...".
std::string census(const Worker&);
// The error of a block that ended early; throws if there is no memory for it.
Status describe_failure(const Worker&, double watchdog_seconds);

}  // namespace ridge::simt
