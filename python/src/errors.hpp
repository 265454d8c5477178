// The library's refusals as Python exceptions, each with the library's sentence.
#pragma once
#include "python.hpp"

#include <ridge.h>

namespace ridge_python {

struct Errors {
  PyObject* unsupported = nullptr;  // ridge.Unsupported
  PyObject* no_device = nullptr;    // ridge.NoDevice
};
extern Errors errors;

void add_errors(PyObject* module);

// Raises what a failed status stands for.
void check(ridge_status);

}  // namespace ridge_python
