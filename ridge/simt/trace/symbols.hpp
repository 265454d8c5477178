// Maps code addresses of this process to functions and source lines.
#pragma once
#include <ridge/simt/trace.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace ridge::simt::trace {

struct Symbol {
  std::string function;  // the compiled function: a kernel, or a function it calls
  Line line;             // the line in the innermost function that is not the vocabulary's or the compiler's
};

// Maps all addresses at once: runs binutils' addr2line once per loaded object. Where it is not installed, a line is the
// object with the address in it.
std::map<std::uintptr_t, Symbol> find_symbols(const std::set<std::uintptr_t>& addresses);

}  // namespace ridge::simt::trace
