// _ridge.Plan: a plan that the caller keeps. ridge.Plan, which is it with explain(), is Python.
#pragma once
#include "planned.hpp"

namespace ridge_python {

void add_plan_type(PyObject* module);

// make_plan(type, op, *inputs, out=None, device=None, **options) -> an instance of `type`
PyObject* make_plan(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

}  // namespace ridge_python
