#include "planned.hpp"

#include "infer.hpp"
#include "unlocked.hpp"

#include <cstdlib>

namespace ridge_python {

constexpr std::size_t workspace_alignment = 256;  // what ridge_plan_run() asks for

static std::vector<const DLTensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const DLTensor*> list;
  list.reserve(tensors.size());
  for (const Tensor& t : tensors) list.push_back(&t.view);
  return list;
}

static DLTensor future_tensor(ridge_tensor_type& type, const DLDevice& device) {
  DLTensor t{};
  t.device = device;
  t.dtype = type.dtype;
  t.ndim = type.ndim;
  t.shape = type.shape;
  return t;
}

std::shared_ptr<Planned> Planned::of(const Request& r, const char* device) {
  refuse_in_handler(r.op.name);
  std::shared_ptr<Planned> planned(new Planned);
  std::vector<ridge_option> options;
  for (const Option& o : r.options) options.push_back({o.key.c_str(), o.value.c_str()});
  const auto inputs = pointers(r.inputs);
  auto outputs = pointers(r.outputs);
  planned->types_ = infer(r);
  std::vector<DLTensor> future;
  if (outputs.empty()) {
    for (ridge_tensor_type& type : planned->types_) future.push_back(future_tensor(type, r.device()));
    for (const DLTensor& t : future) outputs.push_back(&t);
  }
  unlocked(!r.on_gpu(), [&] {
    return ridge_plan_create(r.op.name.c_str(), inputs.data(), static_cast<std::int32_t>(inputs.size()), outputs.data(),
                             static_cast<std::int32_t>(outputs.size()), options.data(),
                             static_cast<std::int32_t>(options.size()), device, &planned->plan_);
  });
  planned->workspace_bytes_ = ridge_plan_workspace_bytes(planned->plan_);
  return planned;
}

static Ref maker(const Framework& f, const std::int64_t* shape, int rank, DLDataType type, const DLDevice& device) {
  const Ref sizes = checked(PyTuple_New, rank);
  for (int axis = 0; axis < rank; ++axis)
    checked(PyTuple_SetItem, sizes.get(), axis, checked(PyLong_FromLongLong, shape[axis]).release());
  return checked(PyObject_CallMethod, f.self, "make", "O(ii)(ii)", sizes.get(), type.code, type.bits,
                 static_cast<int>(device.device_type), static_cast<int>(device.device_id));
}

std::vector<Ref> Planned::make_outputs(const Framework& f, const DLDevice& device) {
  if (maker_ != &f || maker_device_.device_type != device.device_type || maker_device_.device_id != device.device_id) {
    std::vector<Ref> makers;
    for (const ridge_tensor_type& type : types_) makers.push_back(maker(f, type.shape, type.ndim, type.dtype, device));
    makers_ = std::move(makers);
    maker_ = &f;
    maker_device_ = device;
  }
  std::vector<Ref> made;
  made.reserve(makers_.size());
  for (const Ref& make : std::vector<Ref>(makers_)) made.push_back(checked(PyObject_CallNoArgs, make.get()));
  return made;
}

void Planned::run_on(const Request& r, void* workspace, std::size_t bytes) const {
  const auto inputs = pointers(r.inputs), outputs = pointers(r.outputs);
  unlocked(!r.on_gpu(),
           [&] { return ridge_plan_run(plan_, inputs.data(), outputs.data(), workspace, bytes, r.stream); });
}

void Planned::run(const Request& r, void* workspace, std::size_t given) {
  refuse_in_handler(r.op.name);
  if (given > 0 || workspace_bytes_ == 0) return run_on(r, workspace, given);
  if (!r.on_gpu()) {
    const std::size_t bytes = (workspace_bytes_ + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    const std::unique_ptr<void, decltype(&std::free)> own(std::aligned_alloc(workspace_alignment, bytes), &std::free);
    if (!own) throw std::bad_alloc();
    return run_on(r, own.get(), bytes);
  }
  // From the caller's own allocator: it knows that memory freed now is in use on the stream until the kernel is done,
  // and where it has to lie when a graph is being captured.
  if (!scratch_) {
    const auto bytes = static_cast<std::int64_t>(workspace_bytes_);
    scratch_ = maker(r.framework(), &bytes, 1, {kDLUInt, 8, 1}, r.device());
  }
  const Ref scratch = checked(PyObject_CallNoArgs, Ref(scratch_).get());
  const Label label{r.op.name, "workspace"};
  Tensor t;
  t.framework = framework_of(scratch.get(), label);
  read(scratch.get(), label, r.stream, t);
  run_on(r, t.view.data, workspace_bytes_);
}

Ref result_of(const Request& r) {
  if (r.out)
    for (std::size_t i = 0; i < r.outputs.size(); ++i)
      if (PyObject* written = r.outputs[i].framework->written)
        checked(PyObject_CallFunctionObjArgs, written, r.output_objects[i], nullptr);
  PyObject* finish = r.out ? nullptr : r.framework().finish;
  const auto finished = [&](PyObject* object) {
    return finish ? checked(PyObject_CallFunctionObjArgs, finish, object, nullptr) : Ref::share(object);
  };
  if (r.output_objects.size() == 1) return finished(r.output_objects[0]);
  Ref tuple = checked(PyTuple_New, static_cast<Py_ssize_t>(r.output_objects.size()));
  for (std::size_t i = 0; i < r.output_objects.size(); ++i)
    checked(PyTuple_SetItem, tuple.get(), static_cast<Py_ssize_t>(i), finished(r.output_objects[i]).release());
  return tuple;
}

}  // namespace ridge_python
