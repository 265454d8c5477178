// The extension module _ridge: what ridge/__init__.py is made of.
#include "errors.hpp"
#include "function.hpp"
#include "infer.hpp"
#include "plan.hpp"

namespace ridge_python {

static PyObject* connect(PyObject*, PyObject* frameworks_of) {
  set_frameworks(frameworks_of);
  return Ref::share(Py_None).release();
}

static PyObject* ops_json(PyObject*, PyObject*) { return PyUnicode_FromString(ridge_ops_json()); }

static PyObject* set_tuning(PyObject*, PyObject* mode) {
  return guarded([&]() -> PyObject* {
    const std::string text(utf8(mode));
    refuse_nul(text, "set_tuning: mode");
    check(ridge_set_tuning(text.c_str()));
    forget_plans();
    return Ref::share(Py_None).release();
  });
}

static PyMethodDef methods[] = {
    {"add_operator", add_operator, METH_VARARGS, nullptr},
    {"make_plan", as_c_function(make_plan), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"infer_types", as_c_function(infer_types), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"connect", connect, METH_O, nullptr},
    {"ops_json", ops_json, METH_NOARGS, nullptr},
    {"set_tuning", set_tuning, METH_O, nullptr},
    {},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_ridge", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace ridge_python

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__ridge() {
  using namespace ridge_python;
  return guarded([]() -> PyObject* {
    Ref module = checked(PyModule_Create2, &definition, PYTHON_API_VERSION);
    add_errors(module.get());
    add_plan_type(module.get());
    checked(PyModule_AddStringConstant, module.get(), "__version__", ridge_version());
    checked(PyModule_AddObjectRef, module.get(), "has_cuda", ridge_has_cuda() ? Py_True : Py_False);
    checked(PyModule_AddIntConstant, module.get(), "max_rank", RIDGE_MAX_RANK);
    return module.release();
  });
}
