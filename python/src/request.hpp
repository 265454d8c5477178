// A call from Python, taken apart: which operator, which tensors, which options.
#pragma once
#include "tensor.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ridge_python {

// An operator of the library and the names it goes by; made once, never freed.
struct Operator {
  std::string name;
  std::vector<std::string> inputs, outputs;
  bool result_type_option = false;  // there is an option `out`, the result's dtype
  bool backward = false;            // these are its gradient's inputs and outputs
};

struct Option {
  std::string key, value;
};

class Request {
 public:
  explicit Request(const Operator& wanted) : op(wanted), slots_(wanted.inputs.size()) {}

  // Arguments as METH_FASTCALL brings them, from the first input on. Other keywords than inputs, `out` and options are
  // left to `special`, which returns whether it took one.
  template <class Special>
  void parse(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, Special&& special) {
    if (static_cast<std::size_t>(count) > slots_.size()) refuse_count(count);
    for (Py_ssize_t i = 0; i < count; ++i) slots_[i] = arguments[i];
    const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) {
      PyObject* value = arguments[count + i];
      const std::string_view key = utf8(PyTuple_GetItem(keywords, i));
      if (!special(key, value)) add_keyword(key, value);
    }
  }
  void parse(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
    parse(arguments, count, keywords, [](std::string_view, PyObject*) { return false; });
  }

  void read_tensors();                                 // fills inputs, outputs, stream
  void take_outputs(const std::vector<Ref>& objects);  // made for a request that brought none

  // All that a plan depends on, as bytes: equal texts, equal plans.
  std::string key() const;
  bool outputs_meet_partly() const;  // then the plan depends on more than key() holds

  bool is_tensor(std::string_view key) const;  // whether this keyword brings a tensor: an input, or `out`
  bool brings_outputs() const { return !output_objects.empty(); }
  const Framework& framework() const { return *inputs.front().framework; }
  const DLDevice& device() const;  // of the first tensor that is on one alone
  bool on_gpu() const { return device().device_type == kDLCUDA || device().device_type == kDLCUDAManaged; }
  const std::vector<std::size_t>& input_slots() const { return input_slots_; }  // which of the operator's inputs
  Label input_label(std::size_t i) const { return {op.name, op.inputs[input_slots_[i]]}; }
  Label output_label(std::size_t i) const {
    return {op.name, i < op.outputs.size() ? std::string_view(op.outputs[i]) : "out"};
  }

  const Operator& op;
  std::vector<Tensor> inputs, outputs;
  std::vector<PyObject*> output_objects;  // borrowed from `out`, or from what take_outputs() was given
  PyObject* out = nullptr;                // as given: a tensor, or a sequence of them; borrowed
  std::vector<Option> options;
  void* stream = nullptr;

 private:
  void add_keyword(std::string_view key, PyObject* value);
  void choose_inputs();
  void read_stream();
  [[noreturn]] void refuse_count(Py_ssize_t given) const;

  std::vector<PyObject*> slots_;  // an object, or null, for each of the operator's inputs; borrowed
  std::vector<std::size_t> input_slots_;
  Ref sequence_;  // keeps output_objects
  std::vector<Ref> made_;
};

// What a plan depends on of a tensor alone.
void append_key(std::string& key, const DLTensor&);

}  // namespace ridge_python
