#include "plan.hpp"

#include "function.hpp"

namespace ridge_python {

namespace {

struct State {
  const Operator& op;
  std::shared_ptr<Planned> planned;
  std::vector<std::size_t> inputs;  // which of the operator's
  std::size_t output_count;
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
    raise(PyExc_TypeError, r.op.name + ": out is of " + std::to_string(r.output_objects.size()) +
                               " tensors; it must be of " + std::to_string(state.output_count) + ", as planned");
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
    raise(PyExc_ValueError, label.text() + " is of " + std::to_string(given) + " bytes; it must be of " +
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
      raise(PyExc_ValueError, r.op.name + ": workspace is missing; it must be given, of " +
                                  std::to_string(planned->workspace_bytes()) +
                                  " bytes, for stream is not the current one of the inputs' library");
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
    r.read_tensors();
    const std::string where = device && device != Py_None ? text_of(device) : std::string();
    refuse_nul(where, op.name + ": device");
    auto planned = Planned::of(r, where.empty() ? nullptr : where.c_str());
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Ref object = checked(allocate, type, 0);
    reinterpret_cast<PlanObject*>(object.get())->state =
        new State{op, planned, r.input_slots(), planned->output_count()};
    return object.release();
  });
}

}  // namespace ridge_python
