// Vector accesses: the 16 bytes that a thread loads or stores with one instruction, which is the most on every GPU.
#pragma once
#include <ridge/core/dtype.hpp>

#include <cstdint>

namespace ridge {

inline constexpr int vector_bytes = 16;
constexpr std::int64_t vector_elements(DType dtype) { return vector_bytes / static_cast<std::int64_t>(size_of(dtype)); }

}  // namespace ridge
