// What the extension's files share of Python: CPython 3.10's stable ABI, owned references, and errors that unwind.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <unistd.h>

namespace ridge_python {

// ---- calls into Python ---------------------------------------------------------------------------------------------
// While the interpreter ends, CPython before 3.14 ends a daemon thread where that thread next waits for the GIL, by
// pthread_exit(), which unwinds its stack. A function that is noexcept would end the process there, and destructors
// would give references back without the GIL. So the thread stops in the very call in which it lost the GIL, before
// anything of Ridge's is unwound, and waits for the end of the process, as CPython 3.14 lets it.
[[noreturn]] inline void wait_for_exit() {
  for (;;) pause();
}

// f(arguments...), a C function that may take the GIL, run Python code, or free an object. All of them are called so.
template <class F, class... A> auto python(F* f, A... arguments) {
  try {
    return f(arguments...);
  } catch (...) {  // a C function throws nothing: the thread is being ended
    wait_for_exit();
  }
}

// ---- references and errors -----------------------------------------------------------------------------------------

// An owned reference. Copying takes another one.
class Ref {
 public:
  Ref() = default;
  static Ref take(PyObject* owned) { return Ref(owned); }
  static Ref share(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) python(Py_DecRef, object_);
  }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Ref(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// Thrown where a Python exception is set; guarded() turns it back into Python's nullptr.
struct Raised {};

[[noreturn]] inline void raise(PyObject* type, const std::string& sentence) {
  python(PyErr_SetString, type, sentence.c_str());
  throw Raised{};
}

// What a call into Python gives: a new reference, null exactly where an exception is set, or a number that is negative
// there.
template <class F, class... A> auto checked(F* f, A... arguments) {
  const auto result = python(f, arguments...);
  if constexpr (std::is_same_v<decltype(result), PyObject* const>) {
    if (!result) throw Raised{};
    return Ref::take(result);
  } else {
    if (result < 0) throw Raised{};
    return result;
  }
}

inline Ref attribute(PyObject* object, PyObject* name) { return checked(PyObject_GetAttr, object, name); }
inline Ref attribute(PyObject* object, const char* name) { return checked(PyObject_GetAttrString, object, name); }

// Valid as long as the str is.
inline std::string_view utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (!data) throw Raised{};
  return {data, static_cast<std::size_t>(size)};
}

// C ends a text at its first NUL, and would take what is before for the whole.
inline void refuse_nul(std::string_view text, const std::string& what) {
  if (text.find('\0') != text.npos) raise(PyExc_ValueError, what + " has a NUL inside; it must have none");
}

inline std::string text_of(PyObject* object) { return std::string(utf8(checked(PyObject_Str, object).get())); }

inline long long integer(PyObject* object) {
  const long long value = python(PyLong_AsLongLong, object);
  if (value == -1 && PyErr_Occurred()) throw Raised{};
  return value;
}

inline std::string type_name(PyObject* object) {
  return text_of(attribute(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__").get());
}

// Every function that Python calls is one of these inside.
template <class F> PyObject* guarded(F&& body) noexcept {
  try {
    return body();
  } catch (const Raised&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

template <class F> PyCFunction as_c_function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace ridge_python
