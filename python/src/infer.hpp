// ridge.infer(): what an operator's outputs will be, from the inputs' types and shapes alone.
#pragma once
#include "request.hpp"

namespace ridge_python {

std::vector<ridge_tensor_type> infer(const Request&);

// infer_types(op, *inputs, **options) -> [(type code, bits, shape)]
PyObject* infer_types(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

}  // namespace ridge_python
