#include "plan.hpp"

#include "function.hpp"

#include <algorithm>

namespace ridge_python {

namespace {

// What the choice of a variant can see of a tensor.
struct Lent {
  explicit Lent(const DLTensor& t)
      : dtype(t.dtype),
        device(t.device),
        shape(t.shape, t.shape + t.ndim),
        strides(t.strides, t.strides + t.ndim),
        address(reinterpret_cast<std::uintptr_t>(t.data)) {}
  DLDataType dtype;
  DLDevice device;
  std::vector<std::int64_t> shape, strides;
  std::uintptr_t address;
};

// What a plan was made from: a copy of it is planned from that anew.
struct Origin {
  Ref op;  // the function's name
  std::vector<Lent> inputs, outputs;
  bool brought_outputs;
  std::vector<Option> options;  // as the caller gave them
  std::string device;           // empty: where the tensors are
};

struct State {
  const Operator& op;
  std::shared_ptr<Planned> planned;
  std::vector<std::size_t> inputs;  // which of the operator's
  std::size_t output_count;
  Origin origin;
};

struct PlanObject {
  PyObject ob_base;
  State* state;
};

State& state_of(PyObject* self) { return *reinterpret_cast<PlanObject*>(self)->state; }

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<PlanObject*>(self)->state;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "a plan is made by ridge.plan()");
  return nullptr;
}

// What was planned is what is brought; the library looks at types, shapes and strides.
void check_count(const State& state, const Request& r) {
  if (r.input_slots() != state.inputs) {
    std::string names;
    for (std::size_t slot : state.inputs) names += (names.empty() ? "" : ", ") + r.op.inputs[slot];
    raise(PyExc_TypeError, r.op.name + ": the inputs are not those planned for; they must be " + names);
  }
  if (r.output_objects.size() != state.output_count)
    raise(PyExc_TypeError, r.op.name + ": out has " + std::to_string(r.output_objects.size()) +
                               " tensors; it must have " + std::to_string(state.output_count) + ", as planned");
}

// A workspace has no view in the library, which takes it for memory that the plan's device reaches.
void check_reached(const Tensor& workspace, const Request& r, const Label& label) {
  const DLDevice& given = workspace.view.device;
  if (given.device_type == kDLCUDAHost || given.device_type == kDLCUDAManaged) return;  // reached by all
  const std::string here = r.on_gpu() ? "cuda:" + std::to_string(r.device().device_id) : "cpu";
  const std::string there = given.device_type == kDLCPU    ? "cpu"
                            : given.device_type == kDLCUDA ? "cuda:" + std::to_string(given.device_id)
                                                           : "DLPack's of type " + std::to_string(given.device_type);
  if (there != here)
    raise(PyExc_ValueError, label.text() + ".device is " + there + "; it must be that of the inputs, " + here);
}

void check_size(std::size_t given, std::size_t wanted, const Label& label) {
  if (given < wanted)
    raise(PyExc_ValueError, label.text() + " has " + std::to_string(given) + " bytes; it must have " +
                                std::to_string(wanted) + " or more");
}

// A number, or an object of a library's that holds one: torch.cuda.Stream, cupy.cuda.Stream.
void* stream_handle(PyObject* stream) {
  Ref number = Ref::share(stream);
  for (const char* name : {"cuda_stream", "ptr"})
    if (python(PyObject_HasAttrString, stream, name)) {
      number = attribute(stream, name);
      break;
    }
  if (!PyLong_Check(number.get()))
    raise(PyExc_TypeError, "stream is of type " + type_name(stream) + "; it must be a stream or its address");
  void* handle = PyLong_AsVoidPtr(number.get());
  if (!handle && PyErr_Occurred()) throw Raised{};
  return handle;
}

PyObject* run(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    State& state = state_of(self);
    const std::shared_ptr<Planned> planned = state.planned;
    PyObject *workspace = nullptr, *stream = nullptr;
    Request r(state.op);
    r.parse(arguments, count, keywords, [&](std::string_view key, PyObject* value) {
      if (key == "workspace") workspace = value;
      else if (key == "stream") stream = value;
      else if (!r.is_tensor(key))
        raise(PyExc_TypeError,
              r.op.name + ": run() takes no " + std::string(key) + "; options are planned for, and given to plan()");
      else return false;
      return true;
    });
    r.read_tensors();
    void* const current = r.stream;
    if (stream && stream != Py_None) r.stream = stream_handle(stream);
    if (!r.out) r.take_outputs(planned->make_outputs(r.framework(), r.device()));
    check_count(state, r);
    Tensor scratch;
    std::size_t bytes = 0;
    if (workspace && workspace != Py_None) {
      const Label label{r.op.name, "workspace"};
      scratch.framework = framework_of(workspace, label);
      read(workspace, label, r.stream, scratch);
      check_writable(scratch, label);
      check_reached(scratch, r, label);
      bytes = contiguous_bytes(scratch, label);
      check_size(bytes, planned->workspace_bytes(), label);
    }
    // An allocator lends memory for its library's current stream, and may give it away there while another one runs.
    if (bytes == 0 && planned->workspace_bytes() > 0 && r.stream != current && r.on_gpu())
      raise(PyExc_ValueError, r.op.name + ": workspace is missing; it must be given, with " +
                                  std::to_string(planned->workspace_bytes()) +
                                  " bytes or more, for the stream is not the current one of the inputs' library");
    planned->run(r, scratch.view.data, bytes);
    return result_of(r).release();
  });
}

PyObject* explain_text(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(state_of(self).planned->explain()); });
}
PyObject* explain_json(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(state_of(self).planned->explain_json()); });
}

// ---- copies --------------------------------------------------------------------------------------------------------

// What is subtracted from addresses: they lose their place in this process, and keep their distances and alignment
// offsets, which is all that a plan depends on (append_key).
std::uintptr_t origin_of_addresses(const Origin& origin) {
  constexpr std::uintptr_t unit = 16;
  std::uintptr_t lowest = UINTPTR_MAX;
  for (const auto* tensors : {&origin.inputs, &origin.outputs})
    for (const Lent& t : *tensors) {
      if (t.address == 0 || std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end()) continue;
      std::uintptr_t low = t.address;
      for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
        if (t.strides[axis] < 0)
          low -= static_cast<std::uintptr_t>((1 - t.shape[axis]) * t.strides[axis] * (t.dtype.bits / 8));
      lowest = std::min(lowest, low);
    }
  return lowest == UINTPTR_MAX ? 0 : lowest / unit * unit - unit;
}

Ref numbers(const std::vector<std::int64_t>& values) {
  Ref tuple = checked(PyTuple_New, static_cast<Py_ssize_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    checked(PyTuple_SetItem, tuple.get(), static_cast<Py_ssize_t>(i),
            checked(PyLong_FromLongLong, values[i]).release());
  return tuple;
}

// As _spec.Lent takes them.
Ref fields(const Lent& t, std::uintptr_t zero) {
  const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
  const Ref shape = numbers(t.shape), strides = numbers(t.strides);
  return checked(Py_BuildValue, "iiiiOOK", t.dtype.code, t.dtype.bits, static_cast<int>(t.device.device_type),
                 static_cast<int>(t.device.device_id), shape.get(), strides.get(),
                 static_cast<unsigned long long>(t.address == 0 || empty ? 0 : t.address - zero));
}

// (op, ((input, fields), ...), (fields, ...) of outputs or None, ((option, value), ...), device or None)
PyObject* origin(PyObject* self, PyObject*) {
  return guarded([&] {
    const State& state = state_of(self);
    const Origin& from = state.origin;
    const std::uintptr_t zero = origin_of_addresses(from);
    const Ref inputs = checked(PyList_New, 0), outputs = checked(PyList_New, 0), options = checked(PyList_New, 0);
    const auto append = [](const Ref& list, const Ref& item) { checked(PyList_Append, list.get(), item.get()); };
    for (std::size_t i = 0; i < from.inputs.size(); ++i)
      append(inputs, checked(Py_BuildValue, "sO", state.op.inputs[state.inputs[i]].c_str(),
                             fields(from.inputs[i], zero).get()));
    for (const Lent& t : from.outputs) append(outputs, fields(t, zero));
    for (const Option& o : from.options) append(options, checked(Py_BuildValue, "ss", o.key.c_str(), o.value.c_str()));
    const auto tuple = [](const Ref& list) { return checked(PyList_AsTuple, list.get()); };
    return checked(Py_BuildValue, "OOOOz", from.op.get(), tuple(inputs).get(),
                   from.brought_outputs ? tuple(outputs).get() : Py_None, tuple(options).get(),
                   from.device.empty() ? nullptr : from.device.c_str())
        .release();
  });
}

// ---- the type ------------------------------------------------------------------------------------------------------

PyObject* workspace(PyObject* self, void*) { return PyLong_FromSize_t(state_of(self).planned->workspace_bytes()); }
PyObject* op_name(PyObject* self, void*) { return PyUnicode_FromString(state_of(self).op.name.c_str()); }

PyMethodDef methods[] = {
    {"run", as_c_function(run), METH_FASTCALL | METH_KEYWORDS,
     "run($self, /, *inputs, out=None, workspace=None, stream=None)\n--\n\n"
     "Run the plan on tensors like those planned for.\n\n"
     "out:        where the result goes; made anew where it is not given\n"
     "workspace:  scratch memory on the plan's device, 256-byte aligned, of Plan.workspace bytes or more; borrowed\n"
     "            from the inputs' library where it is not given, for its current stream\n"
     "stream:     a stream or its address; the current one of the inputs' library where it is not given"},
    {"_explain_text", explain_text, METH_NOARGS, nullptr},
    {"_explain_json", explain_json, METH_NOARGS, nullptr},
    {"_origin", origin, METH_NOARGS, nullptr},
    {},
};

PyGetSetDef properties[] = {
    {"workspace", workspace, nullptr, "Bytes of scratch memory that a run borrows.", nullptr},
    {"op", op_name, nullptr, "The operator's name.", nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("A plan that the caller keeps.")},
    {},
};

PyType_Spec spec = {"_ridge.Plan", sizeof(PlanObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

static std::vector<Lent> lent(const std::vector<Tensor>& tensors) {
  std::vector<Lent> list;
  for (const Tensor& t : tensors) list.emplace_back(t.view);
  return list;
}

void add_plan_type(PyObject* module) {
  const Ref type = checked(PyType_FromSpec, &spec);
  checked(PyModule_AddObjectRef, module, "Plan", type.get());
}

PyObject* make_plan(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (count < 2) raise(PyExc_TypeError, "plan() needs an operator's name, and its inputs");
    auto* type = reinterpret_cast<PyTypeObject*>(arguments[0]);
    const Operator& op = find_operator(arguments[1]);
    PyObject* device = nullptr;
    Request r(op);
    r.parse(arguments + 2, count - 2, keywords, [&](std::string_view key, PyObject* value) {
      if (key != "device") return false;
      device = value;
      return true;
    });
    Origin origin;
    origin.op = PyUnicode_Check(arguments[1]) ? Ref::share(arguments[1]) : attribute(arguments[1], "__name__");
    origin.options = r.options;
    r.read_tensors();
    origin.inputs = lent(r.inputs);
    origin.outputs = lent(r.outputs);
    origin.brought_outputs = r.brings_outputs();
    std::string& where = origin.device;
    if (device && device != Py_None) where = text_of(device);
    refuse_nul(where, op.name + ": device");
    auto planned = Planned::of(r, where.empty() ? nullptr : where.c_str());
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Ref object = checked(allocate, type, 0);
    reinterpret_cast<PlanObject*>(object.get())->state =
        new State{op, planned, r.input_slots(), planned->output_count(), std::move(origin)};
    return object.release();
  });
}

}  // namespace ridge_python
