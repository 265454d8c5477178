#include "tensor.hpp"

#include <algorithm>
#include <unordered_map>

namespace ridge_python {

// ---- frameworks ----------------------------------------------------------------------------------------------------

static PyObject* frameworks = nullptr;  // _frameworks.of

void set_frameworks(PyObject* of) { frameworks = Ref::share(of).release(); }

static PyObject* attribute_or_null(PyObject* object, const char* name) {
  Ref value = attribute(object, name);
  return value.get() == Py_None ? nullptr : value.release();
}

static const ExchangeApi* exchange_of(PyObject* type) {
  const Ref capsule = Ref::take(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  if (!capsule) {
    PyErr_Clear();
    return nullptr;
  }
  auto* api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  if (!api) PyErr_Clear();
  while (api && api->version.major != DLPACK_MAJOR_VERSION) api = api->previous;
  return api && api->view_of_object && api->current_stream ? api : nullptr;
}

const Framework* framework_of(PyObject* object, const Label& label) {
  static std::unordered_map<PyTypeObject*, Framework> known;  // under the GIL; as many as there are types of tensors
  if (auto found = known.find(Py_TYPE(object)); found != known.end()) return &found->second;
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  Ref made = checked(PyObject_CallFunctionObjArgs(frameworks, type, nullptr));
  if (made.get() == Py_None)
    raise(PyExc_TypeError, label.text() + " is of type " + type_name(object) +
                               "; it must be a tensor: a NumPy, PyTorch, CuPy or JAX array, or an object with "
                               "__dlpack__");
  if (PyUnicode_Check(made.get())) raise(PyExc_TypeError, label.text() + " " + std::string(utf8(made.get())));
  Framework f;
  const std::string reader = text_of(attribute(made.get(), "reader").get());
  f.reader = reader == "numpy"   ? Framework::Reader::numpy
             : reader == "torch" ? Framework::Reader::torch
             : reader == "spec"  ? Framework::Reader::spec
                                 : Framework::Reader::dlpack;
  if (f.reader == Framework::Reader::torch) f.exchange = exchange_of(type);
  f.stream = attribute_or_null(made.get(), "stream");
  f.finish = attribute_or_null(made.get(), "finish");
  f.grad_enabled = attribute_or_null(made.get(), "grad_enabled");
  f.writable = PyObject_IsTrue(attribute(made.get(), "writable").get()) == 1;
  f.type = Ref::share(type).release();
  f.self = made.release();
  return &known.emplace(Py_TYPE(object), f).first->second;
}

void* current_stream(const Framework& f, int device) {
  void* stream = nullptr;
  if (f.exchange) {
    checked(f.exchange->current_stream(kDLCUDA, device, &stream) == 0 ? 0 : -1);
  } else if (f.stream) {
    const Ref number = checked(PyObject_CallFunction(f.stream, "i", device));
    stream = PyLong_AsVoidPtr(number.get());
    if (!stream && PyErr_Occurred()) throw Raised{};
  }
  return stream;
}

// ---- readers -------------------------------------------------------------------------------------------------------

static void refuse_rank(const Label& label, int rank) {
  if (rank > most_axes)
    raise(PyExc_ValueError, label.text() + ".shape is of " + std::to_string(rank) + " axes; it must be of at most " +
                                std::to_string(most_axes));
}

// NumPy's C view of an array, which __array_struct__ hands out (its array interface, version 3).
struct ArrayStruct {
  int two, rank;
  char kind;
  int item_bytes, flags;
  Py_intptr_t *shape, *strides;
  void* data;
};
constexpr int native_order = 0x200, writeable = 0x400;

// Element types that NumPy's core does not have, by the names that ml_dtypes gives them.
static DLDataType named_type(PyObject* array, const ArrayStruct& a, const Label& label) {
  const Ref dtype = attribute(array, "dtype");
  const std::string name = text_of(dtype.get());
  if (a.flags & native_order) {
    if (name == "bfloat16") return {kDLBfloat, 16, 1};
    if (name == "float8_e4m3fn") return {kDLFloat8_e4m3fn, 8, 1};
    if (name == "float8_e5m2") return {kDLFloat8_e5m2, 8, 1};
  }
  raise(PyExc_TypeError,
        label.text() + ".dtype is " + name +
            (a.flags & native_order ? "; it must be a number's that Ridge has: float64 float32 float16 bfloat16 "
                                      "float8_e4m3fn float8_e5m2 int64 int32 int8 uint8 bool"
                                    : "; it must be in this machine's byte order"));
}

static DLDataType element_type(PyObject* array, const ArrayStruct& a, const Label& label) {
  const auto bits = static_cast<std::uint8_t>(8 * a.item_bytes);
  if (a.flags & native_order && a.item_bytes <= 8) switch (a.kind) {
      case 'f':
        if (a.item_bytes >= 2) return {kDLFloat, bits, 1};
        break;
      case 'i': return {kDLInt, bits, 1};
      case 'u': return {kDLUInt, bits, 1};
      case 'b': return {kDLBool, 8, 1};
      default: break;
    }
  return named_type(array, a, label);
}

static void read_numpy(PyObject* object, const Label& label, Tensor& t) {
  static PyObject* const name = PyUnicode_InternFromString("__array_struct__");
  const Ref capsule = attribute(object, name);
  const auto* a = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.get(), nullptr));
  if (!a) throw Raised{};
  refuse_rank(label, a->rank);
  t.view.dtype = element_type(object, *a, label);
  t.view.data = a->data;
  t.view.device = {kDLCPU, 0};
  t.view.ndim = a->rank;
  t.read_only = !(a->flags & writeable);
  for (int axis = 0; axis < a->rank; ++axis) {
    t.shape[axis] = a->shape[axis];
    t.strides[axis] = a->strides[axis] / a->item_bytes;
    if (a->strides[axis] % a->item_bytes != 0 && a->shape[axis] > 1)
      raise(PyExc_ValueError, label.text() + ".strides are of " + std::to_string(a->strides[axis]) +
                                  " bytes along axis " + std::to_string(axis) +
                                  "; they must be multiples of the element's " + std::to_string(a->item_bytes));
  }
  t.view.shape = t.shape.data();
  t.view.strides = t.strides.data();
}

// A DLTensor of somebody else's, with a copy of its shape and with strides.
static void take_view(const DLTensor& from, const Label& label, Tensor& t) {
  refuse_rank(label, from.ndim);
  t.view = from;
  if (from.data) t.view.data = static_cast<char*>(from.data) + from.byte_offset;
  t.view.byte_offset = 0;
  std::copy_n(from.shape, from.ndim, t.shape.begin());
  if (from.strides) {
    std::copy_n(from.strides, from.ndim, t.strides.begin());
  } else {
    std::int64_t stride = 1;
    for (int axis = from.ndim; axis-- > 0; stride *= std::max<std::int64_t>(t.shape[axis], 1)) t.strides[axis] = stride;
  }
  t.view.shape = t.shape.data();
  t.view.strides = t.strides.data();
}

// The capsule's destructor frees the tensor: the name stays, for nobody has consumed it.
static void take_capsule(Ref capsule, const Label& label, Tensor& t) {
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
    auto* managed = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    if (managed->version.major != DLPACK_MAJOR_VERSION)
      raise(errors.unsupported, label.text() + " comes as DLPack " + std::to_string(managed->version.major) + "." +
                                    std::to_string(managed->version.minor) + "; it must come as DLPack 1");
    t.read_only = managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
    take_view(managed->dl_tensor, label, t);
  } else if (PyCapsule_IsValid(capsule.get(), "dltensor")) {
    take_view(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"))->dl_tensor, label, t);
  } else {
    raise(PyExc_TypeError, label.text() + ".__dlpack__() gave no DLPack capsule");
  }
  t.keeper = std::move(capsule);
}

static void check_gradient(PyObject* object, const Label& label, const Framework& f) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  if (attribute(object, name).get() != Py_True) return;
  if (checked(PyObject_CallNoArgs(f.grad_enabled)).get() == Py_True)
    raise(PyExc_ValueError, label.text() +
                                " requires grad, and no gradient is recorded here; it must be detached "
                                "(x.detach()), or the call be made under torch.no_grad()");
}

static void read_torch(PyObject* object, const Label& label, Tensor& t) {
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  const Framework& f = *t.framework;
  check_gradient(object, label, f);
  // The lazy minus sign of a conjugate's imaginary part, which no DLPack tensor can carry.
  if (checked(PyObject_CallMethodObjArgs(object, is_neg, nullptr)).get() == Py_True)
    raise(PyExc_ValueError, label.text() + " is a negated view; it must be made real by x.resolve_neg()");
  if (f.exchange) {
    DLTensor view;
    checked(f.exchange->view_of_object(object, &view) == 0 ? 0 : -1);
    take_view(view, label, t);
  } else {
    static PyObject* const to_dlpack = PyUnicode_InternFromString("to_dlpack");
    take_capsule(checked(PyObject_CallMethodObjArgs(f.self, to_dlpack, object, nullptr)), label, t);
  }
}

static void read_dlpack(PyObject* object, const Label& label, void* stream, Tensor& t) {
  const Framework& f = *t.framework;
  const Ref device = checked(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  int type = 0, id = 0;
  if (!PyArg_ParseTuple(device.get(), "ii", &type, &id)) throw Raised{};
  const Ref method = attribute(object, "__dlpack__"), none = checked(PyTuple_New(0)), keywords = checked(PyDict_New());
  // -1: the caller works on the producer's current stream, so that nothing need wait. 1: CUDA's default stream.
  const bool gpu = type == kDLCUDA || type == kDLCUDAManaged;
  if (gpu) {
    const Ref number = checked(f.stream ? PyLong_FromLong(-1)
                               : stream ? PyLong_FromVoidPtr(stream)
                                        : PyLong_FromLong(1));
    checked(PyDict_SetItemString(keywords.get(), "stream", number.get()));
  }
  if (f.versioned) {
    const Ref version = checked(Py_BuildValue("ii", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION));
    checked(PyDict_SetItemString(keywords.get(), "max_version", version.get()));
    if (PyObject* capsule = PyObject_Call(method.get(), none.get(), keywords.get()))
      return take_capsule(Ref::take(capsule), label, t);
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw Raised{};
    PyErr_Clear();  // a producer from before DLPack 1.0
    f.versioned = false;
    checked(PyDict_DelItemString(keywords.get(), "max_version"));
  }
  take_capsule(checked(PyObject_Call(method.get(), none.get(), keywords.get())), label, t);
}

// ridge.Spec: metadata, and no data.
static void read_spec(PyObject* object, const Label& label, Tensor& t) {
  const Ref fields = checked(PyObject_CallMethod(object, "_fields", nullptr));
  int code = 0, bits = 0, type = 0, id = 0;
  PyObject *shape = nullptr, *strides = nullptr;
  if (!PyArg_ParseTuple(fields.get(), "iiiiOO", &code, &bits, &type, &id, &shape, &strides)) throw Raised{};
  const auto rank = static_cast<int>(PyTuple_Size(shape));
  refuse_rank(label, rank);
  t.view.dtype = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  t.view.device = {static_cast<DLDeviceType>(type), id};
  t.view.ndim = rank;
  for (int axis = 0; axis < rank; ++axis) {
    t.shape[axis] = integer(PyTuple_GetItem(shape, axis));
    t.strides[axis] = integer(PyTuple_GetItem(strides, axis));
  }
  t.view.shape = t.shape.data();
  t.view.strides = t.strides.data();
}

void read(PyObject* object, const Label& label, void* stream, Tensor& tensor) {
  switch (tensor.framework->reader) {
    case Framework::Reader::numpy: return read_numpy(object, label, tensor);
    case Framework::Reader::torch: return read_torch(object, label, tensor);
    case Framework::Reader::dlpack: return read_dlpack(object, label, stream, tensor);
    case Framework::Reader::spec: return read_spec(object, label, tensor);
  }
}

void check_writable(const Tensor& t, const Label& label) {
  if (t.read_only || !t.framework->writable)
    raise(PyExc_ValueError, label.text() + " is read-only; it must be writable, for the result goes there");
}

// ---- meetings ------------------------------------------------------------------------------------------------------

static bool is_empty(const DLTensor& t) {
  return !t.data || std::find(t.shape, t.shape + t.ndim, 0) != t.shape + t.ndim;
}

static std::pair<const char*, const char*> bytes_of(const DLTensor& t) {
  const char *low = static_cast<const char*>(t.data), *high = low + t.dtype.bits / 8;
  for (int axis = 0; axis < t.ndim; ++axis) {
    const std::int64_t reach = (t.shape[axis] - 1) * t.strides[axis] * (t.dtype.bits / 8);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

Meeting meeting(const DLTensor& a, const DLTensor& b) {
  if (is_empty(a) || is_empty(b) || a.device.device_type != b.device.device_type) return Meeting::apart;
  const auto [a_low, a_high] = bytes_of(a);
  const auto [b_low, b_high] = bytes_of(b);
  if (a_high <= b_low || b_high <= a_low) return Meeting::apart;
  const bool same = a.data == b.data && a.ndim == b.ndim && std::equal(a.shape, a.shape + a.ndim, b.shape) &&
                    std::equal(a.strides, a.strides + a.ndim, b.strides) && a.dtype.bits == b.dtype.bits;
  return same ? Meeting::same : Meeting::partial;
}

}  // namespace ridge_python
