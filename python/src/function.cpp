#include "function.hpp"

#include "plan_cache.hpp"

#include <map>

namespace ridge_python {

struct Function {
  std::string name;
  Operator op;
  std::string doc;
  PyMethodDef definition{};
  PlanCache cache;  // under the GIL
};

static std::map<std::string, Function*, std::less<>>& functions() {
  static std::map<std::string, Function*, std::less<>> all;
  return all;
}

void forget_plans() {
  for (auto& [name, function] : functions()) function->cache.clear();
}

static std::shared_ptr<Planned> plan_for(PlanCache& cache, const Request& r) {
  if (r.outputs_meet_partly()) return Planned::of(r);
  std::string key = r.key();
  std::shared_ptr<Planned> planned = cache.find(key);
  if (!planned) {
    planned = Planned::of(r);
    cache.insert(std::move(key), planned);
  }
  return planned;
}

static void refuse_specs(const Request& r) {
  for (std::size_t i = 0; i < r.inputs.size(); ++i)
    if (r.inputs[i].framework->reader == Framework::Reader::spec)
      raise(PyExc_TypeError, r.input_label(i).text() + " is a ridge.Spec, which has no data; it must be a tensor");
}

static bool is_aligned(const Request& r) {
  for (const Tensor& t : r.outputs)
    if (reinterpret_cast<std::uintptr_t>(t.view.data) % 16 != 0) return false;
  return true;
}

static PyObject* call(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    Function& function = **static_cast<Function**>(PyModule_GetState(self));
    Request r(function.op);
    r.parse(arguments, count, keywords);
    r.read_tensors();
    refuse_specs(r);
    std::shared_ptr<Planned> planned = plan_for(function.cache, r);
    if (!r.out) {
      r.take_outputs(planned->make_outputs(r.framework(), r.device()));
      if (!is_aligned(r)) planned = Planned::of(r);  // not planned for: an allocator of its own kind
    }
    planned->run(r);
    return result_of(r).release();
  });
}

// What a built-in function is bound to. Of a module, help() and inspect say that it is a function and no method.
static PyModuleDef holder = {
    PyModuleDef_HEAD_INIT, "ridge", nullptr, sizeof(Function*), nullptr, nullptr, nullptr, nullptr, nullptr};

static std::vector<std::string> strings(PyObject* tuple) {
  std::vector<std::string> list;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) list.emplace_back(utf8(PyTuple_GetItem(tuple, i)));
  return list;
}

PyObject* add_operator(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *name = nullptr, *op = nullptr, *doc = nullptr;
    PyObject *inputs = nullptr, *outputs = nullptr;
    int backward = 0, result_type_option = 0;
    if (!PyArg_ParseTuple(arguments, "sspO!O!ps", &name, &op, &backward, &PyTuple_Type, &inputs, &PyTuple_Type,
                          &outputs, &result_type_option, &doc))
      throw Raised{};
    auto* function = new Function{
        name, {op, strings(inputs), strings(outputs), result_type_option != 0, backward != 0}, doc, {}, {}};
    function->definition = {function->name.c_str(), as_c_function(call), METH_FASTCALL | METH_KEYWORDS,
                            function->doc.c_str()};
    functions()[function->name] = function;  // as long as the process, like the library's operators
    const Ref self = checked(PyModule_Create2, &holder, PYTHON_API_VERSION);
    *static_cast<Function**>(PyModule_GetState(self.get())) = function;
    const Ref module = checked(PyUnicode_FromString, "ridge");
    return checked(PyCFunction_NewEx, &function->definition, self.get(), module.get()).release();
  });
}

const Operator& find_operator(PyObject* wanted) {
  const Ref name = PyUnicode_Check(wanted) ? Ref::share(wanted) : attribute(wanted, "__name__");
  const auto found = functions().find(utf8(name.get()));
  if (found != functions().end()) return found->second->op;
  ridge_tensor_type types[RIDGE_MAX_TENSORS];
  std::int32_t count = 0;
  refuse_nul(utf8(name.get()), "the name of an operator");
  check(ridge_infer(text_of(name.get()).c_str(), nullptr, 0, nullptr, 0, types, &count));  // the library's sentence
  raise(PyExc_ValueError, "there is no operator '" + text_of(name.get()) + "'");
}

}  // namespace ridge_python
