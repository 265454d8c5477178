// From addresses in this process's code to functions and source lines.
#pragma once
#include <ridge/simt/trace.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace ridge::simt::trace {

struct Symbol {
  std::string function;  // the one that was compiled: a kernel, or a function it calls
  Line line;             // in the innermost function that is not the vocabulary's or the compiler's
};

// All at once: binutils' addr2line is asked one time for each loaded object. Where it is not installed, a line is the
// object with the address in it.
std::map<std::uintptr_t, Symbol> find_symbols(const std::set<std::uintptr_t>& addresses);

}  // namespace ridge::simt::trace
