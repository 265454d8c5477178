// ridge-trace: this program with kernels that were compiled for tracing.
//
// A program of its own, because a kernel is either watched or fast, and the two compilations have the same names. It
// takes as long to build as the kernels of libridge, so a build makes it when it is first asked for.
#pragma once
#include <ridge/core/status.hpp>

#include <string>
#include <vector>

namespace ridge::cli {

// Whether ridge-trace lies beside this program and was built after it and its library.
bool trace_program_is_ready();

// What it takes where it is not: "builds ridge-trace first, once, in about 6 minutes on 2 cores".
std::string trace_program_needs();

// Goes on as ridge-trace with these arguments; returns only to say why it cannot. Where this program lies in its build
// tree and ridge-trace is missing or older, says so on standard error, with about how long it takes, and builds it; but
// never where that would build the library anew as well: who looks changes nothing that others use.
Status become_trace_program(const std::vector<std::string>& arguments);

}  // namespace ridge::cli
