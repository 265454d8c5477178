// What the extension's files share of Python: CPython 3.10's stable ABI, owned references, and errors that unwind.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace ridge_python {

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
  ~Ref() { Py_XDECREF(object_); }

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
  PyErr_SetString(type, sentence.c_str());
  throw Raised{};
}

// The result of a call into Python, which is null exactly where an exception is set.
inline Ref checked(PyObject* owned) {
  if (!owned) throw Raised{};
  return Ref::take(owned);
}
inline void checked(int status) {
  if (status < 0) throw Raised{};
}

inline Ref attribute(PyObject* object, PyObject* name) { return checked(PyObject_GetAttr(object, name)); }
inline Ref attribute(PyObject* object, const char* name) { return checked(PyObject_GetAttrString(object, name)); }

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

inline std::string text_of(PyObject* object) { return std::string(utf8(checked(PyObject_Str(object)).get())); }

inline long long integer(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
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
  }
}

template <class F> PyCFunction as_c_function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace ridge_python
