#include "errors.hpp"

namespace ridge_python {

Errors errors;

static PyObject* add_error(PyObject* module, const char* name, const char* doc) {
  const std::string qualified = std::string("ridge.") + name;
  PyObject* type = checked(PyErr_NewExceptionWithDoc, qualified.c_str(), doc, PyExc_RuntimeError, nullptr).release();
  checked(PyModule_AddObjectRef, module, name, type);
  return type;
}

void add_errors(PyObject* module) {
  errors.unsupported = add_error(module, "Unsupported", "The request is legal, and Ridge has nothing that takes it.");
  errors.no_device = add_error(module, "NoDevice", "A GPU was asked for, and there is none.");
}

// A refusal reads "softmax: x.dtype is i32; it must be one of ...". A wrong element type is Python's TypeError.
static bool is_about_dtype(std::string_view sentence) {
  const std::size_t argument = sentence.find(": "), verb = sentence.find(" is ");
  return argument != std::string_view::npos && verb != std::string_view::npos && argument < verb &&
         sentence.substr(0, verb).ends_with(".dtype");
}

void check(ridge_status status) {
  if (status == RIDGE_OK) return;
  const std::string sentence = ridge_last_error();
  switch (status) {
    case RIDGE_INVALID_ARGUMENT: raise(is_about_dtype(sentence) ? PyExc_TypeError : PyExc_ValueError, sentence);
    case RIDGE_UNSUPPORTED: raise(errors.unsupported, sentence);
    case RIDGE_NO_DEVICE: raise(errors.no_device, sentence);
    case RIDGE_OUT_OF_MEMORY: raise(PyExc_MemoryError, sentence);
    default: raise(PyExc_RuntimeError, sentence);
  }
}

}  // namespace ridge_python
