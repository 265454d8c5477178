// asm volatile("..." : outputs : inputs : clobbers), as g++ is to read it: a call of the interpreter of PTX (ptx.hpp).
#pragma once
#include <ridge/lab/source_text.hpp>

namespace ridge::lab {

// Assembly of the host, and what is not within a function, stays as it is.
void translate_assembly(SourceText&, std::size_t first, bool in_function);

}  // namespace ridge::lab
