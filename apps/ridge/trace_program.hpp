// ridge-trace: this program with kernels that were compiled for tracing.
//
// A program of its own, because a kernel is either watched or fast, and the two compilations have the same names. It
// takes as long to build as the kernels of libridge, so a build makes it when it is first asked for.
#pragma once
#include <ridge/core/status.hpp>

#include <string>
#include <vector>

namespace ridge::cli {

// Goes on as ridge-trace with these arguments; returns only to say why it cannot. Where this program lies in its build
// tree, builds ridge-trace first if it is missing or older.
Status become_trace_program(const std::vector<std::string>& arguments);

}  // namespace ridge::cli
