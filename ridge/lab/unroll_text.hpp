// #pragma unroll, as g++ is to read it.
//
// nvcc makes straight code of a loop that is to be unrolled, without counter, comparison and branch, and so does g++
// where it traces: else the trace would see a basic block for each time round.
#pragma once
#include <ridge/lab/source_text.hpp>

namespace ridge::lab {

// At the word "unroll" of a directive, or the literal of _Pragma("unroll").
void translate_unroll(SourceText&, std::size_t unroll);

}  // namespace ridge::lab
