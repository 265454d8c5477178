// An operator as a Python function: read the tensors, find the plan, make the results, run.
#pragma once
#include "request.hpp"

namespace ridge_python {

// add_operator(name, inputs, outputs, result_type_option, doc) -> the function
PyObject* add_operator(PyObject* module, PyObject* arguments);

void forget_plans();  // of all functions: what they would choose has changed

const Operator& find_operator(PyObject* name_or_function);  // ValueError where there is none

}  // namespace ridge_python
