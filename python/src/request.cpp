#include "request.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace ridge_python {

// ---- arguments -----------------------------------------------------------------------------------------------------

void Request::refuse_count(Py_ssize_t given) const {
  std::string names;
  for (const std::string& name : op.inputs) names += (names.empty() ? "" : ", ") + name;
  raise(PyExc_TypeError, op.name + ": the number of positional arguments is " + std::to_string(given) +
                             "; it must be at most " + std::to_string(op.inputs.size()) + " (" + names + ")");
}

template <class Number> static void append_number(std::string& text, Number value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// Numbers as Ridge reads them, True as 1, a sequence joined by commas, anything else by its str().
static void append_value(std::string& text, PyObject* value) {
  if (PyUnicode_Check(value)) {
    text += utf8(value);
  } else if (PyBool_Check(value)) {
    text += value == Py_True ? '1' : '0';
  } else if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) text += text_of(value);
    else append_number(text, number);
  } else if (PyFloat_Check(value)) {
    append_number(text, PyFloat_AsDouble(value));
  } else if (PyTuple_Check(value) || PyList_Check(value)) {
    const Py_ssize_t count = checked(PySequence_Size, value);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (i > 0) text += ',';
      append_value(text, checked(PySequence_GetItem, value, i).get());
    }
  } else {
    text += text_of(value);
  }
}

void Request::add_keyword(std::string_view key, PyObject* value) {
  const auto input = std::find(op.inputs.begin(), op.inputs.end(), key);
  if (input != op.inputs.end()) {
    PyObject*& slot = slots_[static_cast<std::size_t>(input - op.inputs.begin())];
    if (slot) raise(PyExc_TypeError, op.name + ": " + std::string(key) + " is given twice; it must be given once");
    slot = value;
    return;
  }
  if (value == Py_None) return;
  if (key == "out" && !(op.result_type_option && PyUnicode_Check(value))) {
    out = value;
    return;
  }
  Option option{std::string(key), {}};
  append_value(option.value, value);
  refuse_nul(option.key, op.name + ": the name of an option");
  refuse_nul(option.value, op.name + ": " + option.key);
  options.push_back(std::move(option));
}

bool Request::is_tensor(std::string_view key) const {
  return key == "out" || std::find(op.inputs.begin(), op.inputs.end(), key) != op.inputs.end();
}

// The inputs that are here, in the operator's order. Where one is left out before one that is not, they are named.
void Request::choose_inputs() {
  if (op.backward) options.push_back({"backward", "1"});
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i] && slots_[i] != Py_None) input_slots_.push_back(i);
  if (input_slots_.empty())
    raise(PyExc_TypeError,
          op.name + ": " + (op.inputs.empty() ? "an input" : op.inputs.front()) + " is missing; it must be given");
  if (input_slots_.size() > RIDGE_MAX_TENSORS)
    raise(PyExc_ValueError, op.name + ": the number of inputs is " + std::to_string(input_slots_.size()) +
                                "; it must be at most " + std::to_string(RIDGE_MAX_TENSORS));
  if (input_slots_.back() == input_slots_.size() - 1) return;
  Option names{"inputs", {}};
  for (std::size_t slot : input_slots_) names.value += (names.value.empty() ? "" : ",") + op.inputs[slot];
  options.push_back(std::move(names));
}

// ---- tensors -------------------------------------------------------------------------------------------------------

void Request::read_stream() {
  for (const auto* tensors : {&inputs, &outputs})
    for (const Tensor& t : *tensors)
      if (t.view.ndim >= 0 && t.on_gpu() && (t.framework->exchange || t.framework->stream)) {
        stream = current_stream(*t.framework, t.view.device.device_id);
        return;
      }
}

void Request::read_tensors() {
  choose_inputs();
  if (out) {
    if (PyTuple_Check(out) || PyList_Check(out)) {
      sequence_ = checked(PySequence_Tuple, out);
      for (Py_ssize_t i = 0; i < PyTuple_Size(sequence_.get()); ++i)
        output_objects.push_back(PyTuple_GetItem(sequence_.get(), i));
      if (output_objects.empty())
        raise(PyExc_ValueError, op.name + ": out is an empty sequence; it must hold a tensor or more");
    } else {
      output_objects.push_back(out);
    }
    if (output_objects.size() > RIDGE_MAX_TENSORS)
      raise(PyExc_ValueError, op.name + ": out has " + std::to_string(output_objects.size()) +
                                  " tensors; it must have at most " + std::to_string(RIDGE_MAX_TENSORS));
  }
  inputs = std::vector<Tensor>(input_slots_.size());
  outputs = std::vector<Tensor>(output_objects.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].framework = framework_of(slots_[input_slots_[i]], input_label(i));
    inputs[i].view.ndim = -1;  // not read yet
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].framework = framework_of(output_objects[i], output_label(i));
    outputs[i].view.ndim = -1;
  }
  // Tensors whose library says on which stream it works come first: the others are asked to be ready there.
  for (const bool first : {true, false}) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (reads_without_stream(*inputs[i].framework) == first)
        read(slots_[input_slots_[i]], input_label(i), stream, inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (reads_without_stream(*outputs[i].framework) == first)
        read(output_objects[i], output_label(i), stream, outputs[i]);
    if (first) read_stream();
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) check_writable(outputs[i], output_label(i));
  const bool typed = std::any_of(options.begin(), options.end(), [](const Option& o) { return o.key == "out"; });
  if (op.result_type_option && !typed && !outputs.empty()) options.push_back({"out", name_of(outputs[0].view.dtype)});
}

// Pinned and managed memory goes where the others are, as in the library.
const DLDevice& Request::device() const {
  for (const auto* tensors : {&inputs, &outputs})
    for (const Tensor& t : *tensors)
      if (t.view.device.device_type == kDLCPU || t.view.device.device_type == kDLCUDA) return t.view.device;
  return inputs.front().view.device;
}

void Request::take_outputs(const std::vector<Ref>& objects) {
  made_ = objects;
  output_objects.clear();
  outputs = std::vector<Tensor>(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    output_objects.push_back(objects[i].get());
    outputs[i].framework = framework_of(objects[i].get(), output_label(i));
    read(objects[i].get(), output_label(i), stream, outputs[i]);
  }
}

// ---- keys ----------------------------------------------------------------------------------------------------------

template <class T> static void append_bytes(std::string& key, const T* data, std::size_t count) {
  key.append(reinterpret_cast<const char*>(data), count * sizeof(T));
}

void append_key(std::string& key, const DLTensor& t) {
  const std::int32_t head[] = {t.device.device_type,
                               t.device.device_id,
                               t.ndim,
                               t.dtype.code << 24 | t.dtype.bits << 16 | t.dtype.lanes,
                               static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(t.data) % 16),  // its phase
                               t.data == nullptr};
  append_bytes(key, head, std::size(head));
  append_bytes(key, t.shape, static_cast<std::size_t>(t.ndim));
  append_bytes(key, t.strides, static_cast<std::size_t>(t.ndim));
}

std::string Request::key() const {
  std::string key;
  key.reserve(512);
  key += static_cast<char>(inputs.size());
  key += static_cast<char>(output_objects.size());
  for (const Tensor& t : inputs) append_key(key, t.view);
  for (const Tensor& t : outputs) append_key(key, t.view);
  if (brings_outputs())
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      for (const Tensor& t : inputs) key += static_cast<char>(meeting(outputs[i].view, t.view));
      for (std::size_t j = 0; j < i; ++j) key += static_cast<char>(meeting(outputs[i].view, outputs[j].view));
    }
  else append_bytes(key, &inputs.front().framework, 1);  // whose results are made
  for (const Option& o : options) {
    key += o.key;
    key += '\0';
    key += o.value;
    key += '\0';
  }
  return key;
}

bool Request::outputs_meet_partly() const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const Tensor& t : inputs)
      if (meeting(outputs[i].view, t.view) == Meeting::partial) return true;
    for (std::size_t j = 0; j < i; ++j)
      if (meeting(outputs[i].view, outputs[j].view) == Meeting::partial) return true;
  }
  return false;
}

}  // namespace ridge_python
