#include "infer.hpp"

#include "function.hpp"

namespace ridge_python {

std::vector<ridge_tensor_type> infer(const Request& r) {
  std::vector<const DLTensor*> inputs;
  for (const Tensor& t : r.inputs) inputs.push_back(&t.view);
  std::vector<ridge_option> options;
  for (const Option& o : r.options) options.push_back({o.key.c_str(), o.value.c_str()});
  std::vector<ridge_tensor_type> types(RIDGE_MAX_TENSORS);
  std::int32_t count = 0;
  check(ridge_infer(r.op.name.c_str(), inputs.data(), static_cast<std::int32_t>(inputs.size()), options.data(),
                    static_cast<std::int32_t>(options.size()), types.data(), &count));
  types.resize(static_cast<std::size_t>(count));
  return types;
}

PyObject* infer_types(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (count < 1) raise(PyExc_TypeError, "infer() needs an operator's name, and its inputs");
    Request r(find_operator(arguments[0]));
    r.parse(arguments + 1, count - 1, keywords);
    r.read_tensors();
    const auto types = infer(r);
    Ref list = checked(PyList_New, 0);
    for (const ridge_tensor_type& type : types) {
      const Ref shape = checked(PyTuple_New, type.ndim);
      for (int axis = 0; axis < type.ndim; ++axis)
        checked(PyTuple_SetItem, shape.get(), axis, checked(PyLong_FromLongLong, type.shape[axis]).release());
      const Ref item = checked(Py_BuildValue, "iiO", type.dtype.code, type.dtype.bits, shape.get());
      checked(PyList_Append, list.get(), item.get());
    }
    return list.release();
  });
}

}  // namespace ridge_python
