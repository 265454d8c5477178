// What validate.cpp knows of small.cu.
#pragma once
#include <ridge/core/status.hpp>

namespace ridge::trace_validation {

// Tensors of `elements` floats each, aligned to 256 bytes.
struct Tensors {
  static constexpr int elements = 1 << 20;
  float *a, *b, *c;
};

int small_count();
const char* small_name(int number);
Status launch_small(int number, const Tensors&);

}  // namespace ridge::trace_validation
