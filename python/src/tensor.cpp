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
  const Ref capsule = Ref::take(python(PyObject_GetAttrString, type, "__dlpack_c_exchange_api__"));
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
  Ref made = checked(PyObject_CallFunctionObjArgs, frameworks, type, nullptr);
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
  f.written = attribute_or_null(made.get(), "written");
  f.grad_enabled = attribute_or_null(made.get(), "grad_enabled");
  f.writable = checked(PyObject_IsTrue, attribute(made.get(), "writable").get()) == 1;
  f.type = Ref::share(type).release();
  f.self = made.release();
  return &known.emplace(Py_TYPE(object), f).first->second;
}

void* current_stream(const Framework& f, int device) {
  void* stream = nullptr;
  if (f.exchange) {
    checked(f.exchange->current_stream, kDLCUDA, device, &stream);
  } else if (f.stream) {
    const Ref number = checked(PyObject_CallFunction, f.stream, "i", device);
    stream = PyLong_AsVoidPtr(number.get());
    if (!stream && PyErr_Occurred()) throw Raised{};
  }
  return stream;
}

// ---- readers -------------------------------------------------------------------------------------------------------

static void check_rank(const Label& label, int rank) {
  if (rank < 0 || rank > most_axes)
    raise(PyExc_ValueError, label.text() + ".shape has " + std::to_string(rank) + " axes; it must have from 0 to " +
                                std::to_string(most_axes));
}

const char* name_of(DLDataType type) {
  if (type.lanes != 1) return nullptr;
  switch (type.code << 8 | type.bits) {
    case kDLFloat << 8 | 64: return "f64";
    case kDLFloat << 8 | 32: return "f32";
    case kDLFloat << 8 | 16: return "f16";
    case kDLBfloat << 8 | 16: return "bf16";
    case kDLFloat8_e4m3fn << 8 | 8: return "f8e4m3";
    case kDLFloat8_e5m2 << 8 | 8: return "f8e5m2";
    case kDLInt << 8 | 64: return "i64";
    case kDLInt << 8 | 32: return "i32";
    case kDLInt << 8 | 8: return "i8";
    case kDLUInt << 8 | 8: return "u8";
    case kDLBool << 8 | 8: return "bool";
    default: return nullptr;
  }
}

[[noreturn]] static void refuse_type(const Label& label, const std::string& name) {
  raise(PyExc_TypeError, label.text() + ".dtype is " + name +
                             "; it must be one of float64 float32 float16 bfloat16 float8_e4m3fn "
                             "float8_e5m2 int64 int32 int8 uint8 bool");
}

// Of a tensor that comes with a DLPack type and no name for it.
static void check_type(DLDataType type, const Label& label) {
  if (name_of(type)) return;
  static constexpr const char* kinds[] = {"int", "uint", "float", nullptr, "bfloat", "complex", "bool"};  // by code
  const char* kind = type.code < std::size(kinds) ? kinds[type.code] : nullptr;
  refuse_type(label,
              (kind ? kind + std::to_string(type.bits)
                    : "DLPack's code " + std::to_string(type.code) + " of " + std::to_string(type.bits) + " bits") +
                  (type.lanes != 1 ? " in " + std::to_string(type.lanes) + " lanes" : ""));
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
    if (name == "bfloat16" && a.item_bytes == 2) return {kDLBfloat, 16, 1};
    if (name == "float8_e4m3fn" && a.item_bytes == 1) return {kDLFloat8_e4m3fn, 8, 1};
    if (name == "float8_e5m2" && a.item_bytes == 1) return {kDLFloat8_e5m2, 8, 1};
  } else if (a.kind != 'V') {  // records are of no order of their own
    raise(PyExc_TypeError, label.text() + ".dtype is " + name + "; it must be in this machine's byte order");
  }
  refuse_type(label, name);
}

static DLDataType element_type(PyObject* array, const ArrayStruct& a, const Label& label) {
  std::uint8_t code = kDLOpaqueHandle;
  switch (a.kind) {
    case 'f': code = kDLFloat; break;
    case 'i': code = kDLInt; break;
    case 'u': code = kDLUInt; break;
    case 'b': code = kDLBool; break;
    default: break;
  }
  if (const DLDataType type{code, static_cast<std::uint8_t>(8 * a.item_bytes), 1};
      a.flags & native_order && a.item_bytes > 0 && a.item_bytes <= 8 && name_of(type))
    return type;
  return named_type(array, a, label);
}

static void read_numpy(PyObject* object, const Label& label, Tensor& t) {
  static PyObject* const name = PyUnicode_InternFromString("__array_struct__");
  const Ref capsule = attribute(object, name);
  const auto* a = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.get(), nullptr));
  if (!a) throw Raised{};
  if (a->two != 2 || (a->rank > 0 && (!a->shape || !a->strides)))
    raise(PyExc_ValueError,
          label.text() + ".__array_struct__ is malformed; it must be that of NumPy's array interface");
  check_rank(label, a->rank);
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

// A DLTensor of somebody else's, with a copy of its shape and with strides. What it says of its sizes is the library's
// to refuse, so that until then nothing may overflow.
static void take_view(const DLTensor& from, const Label& label, Tensor& t) {
  check_rank(label, from.ndim);
  check_type(from.dtype, label);
  if (from.ndim > 0 && !from.shape)
    raise(PyExc_ValueError, label.text() + ".shape is NULL; it must be an array of ndim sizes");
  std::uintptr_t address = 0;
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(from.data), from.data ? from.byte_offset : 0, &address))
    raise(PyExc_ValueError, label.text() + ".byte_offset is " + std::to_string(from.byte_offset) +
                                "; it must be such that elements lie within the address space");
  t.view = from;
  t.view.data = reinterpret_cast<void*>(address);
  t.view.byte_offset = 0;
  std::copy_n(from.shape, from.ndim, t.shape.begin());
  if (from.strides) {
    std::copy_n(from.strides, from.ndim, t.strides.begin());
  } else {
    std::uint64_t stride = 1;
    for (int axis = from.ndim; axis-- > 0;
         stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(t.shape[axis], 1)))
      t.strides[axis] = static_cast<std::int64_t>(stride);
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
    t.is_copy = managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED;
    take_view(managed->dl_tensor, label, t);
  } else if (PyCapsule_IsValid(capsule.get(), "dltensor")) {
    take_view(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"))->dl_tensor, label, t);
  } else {
    raise(PyExc_TypeError, label.text() + ".__dlpack__() gave no DLPack capsule; it must give one");
  }
  t.keeper = std::move(capsule);
}

static void check_gradient(PyObject* object, const Label& label, const Framework& f) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  if (attribute(object, name).get() != Py_True) return;
  if (checked(PyObject_CallNoArgs, f.grad_enabled).get() == Py_True)
    raise(PyExc_ValueError, label.text() +
                                " requires grad, and no gradient is recorded here; it must be detached "
                                "(x.detach()), or the call made under torch.no_grad()");
}

// PyTorch has no DLPack tensor for this one, or one of a type that Ridge does not have: says why, in Ridge's words
// where it has some.
[[noreturn]] static void refuse_torch(PyObject* object, const Label& label, const Framework& f) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref kept[] = {Ref::take(type), Ref::take(value), Ref::take(trace)};
  const Ref reason = checked(PyObject_CallMethod, f.self, "refusal", "OO", object, value ? value : Py_None);
  raise(PyExc_TypeError, label.text() + std::string(utf8(reason.get())));
}

static void read_torch(PyObject* object, const Label& label, Tensor& t) {
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  const Framework& f = *t.framework;
  check_gradient(object, label, f);
  // The lazy minus sign of a conjugate's imaginary part, which no DLPack tensor can carry.
  if (checked(PyObject_CallMethodObjArgs, object, is_neg, nullptr).get() == Py_True)
    raise(PyExc_ValueError, label.text() + " is a negated view; it must be resolved, by x.resolve_neg()");
  if (f.exchange) {
    DLTensor view;
    if (python(f.exchange->view_of_object, static_cast<void*>(object), &view) == 0 && name_of(view.dtype))
      return take_view(view, label, t);
  } else {
    static PyObject* const to_dlpack = PyUnicode_InternFromString("to_dlpack");
    Ref capsule = Ref::take(python(PyObject_CallMethodObjArgs, f.self, to_dlpack, object, nullptr));
    if (capsule) return take_capsule(std::move(capsule), label, t);
  }
  refuse_torch(object, label, f);
}

// Whether __dlpack_device__() says that the tensor is in a GPU's memory.
static bool says_gpu(PyObject* object, const Label& label) {
  const Ref device = checked(PyObject_CallMethod, object, "__dlpack_device__", nullptr);
  const auto refuse = [&] {
    PyErr_Clear();
    raise(PyExc_TypeError, label.text() + ".__dlpack_device__() gave " + text_of(device.get()) +
                               "; it must give a pair of numbers, a device's type and its number");
  };
  if (!PyTuple_Check(device.get()) || PyTuple_Size(device.get()) != 2) refuse();
  long numbers[2];
  for (int i = 0; i < 2; ++i)
    if ((numbers[i] = python(PyLong_AsLong, PyTuple_GetItem(device.get(), i))) == -1 && PyErr_Occurred()) refuse();
  return numbers[0] == kDLCUDA || numbers[0] == kDLCUDAManaged;
}

static Ref dlpack_capsule(PyObject* object, bool on_gpu, void* stream, const Framework& f) {
  const Ref method = attribute(object, "__dlpack__"), none = checked(PyTuple_New, 0), keywords = checked(PyDict_New);
  // -1: the caller works on the producer's current stream, so that nothing need wait. 1: CUDA's default stream.
  if (on_gpu) {
    const Ref number =
        !f.stream && stream ? checked(PyLong_FromVoidPtr, stream) : checked(PyLong_FromLong, f.stream ? -1l : 1l);
    checked(PyDict_SetItemString, keywords.get(), "stream", number.get());
  }
  if (f.versioned) {
    const Ref version = checked(Py_BuildValue, "ii", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    checked(PyDict_SetItemString, keywords.get(), "max_version", version.get());
    if (Ref capsule = Ref::take(python(PyObject_Call, method.get(), none.get(), keywords.get()))) return capsule;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw Raised{};
    PyErr_Clear();  // a producer from before DLPack 1.0
    f.versioned = false;
    checked(PyDict_DelItemString, keywords.get(), "max_version");
  }
  return checked(PyObject_Call, method.get(), none.get(), keywords.get());
}

static void read_dlpack(PyObject* object, const Label& label, void* stream, Tensor& t) {
  const bool on_gpu = says_gpu(object, label);
  take_capsule(dlpack_capsule(object, on_gpu, stream, *t.framework), label, t);
  if (t.on_gpu() && !on_gpu)  // it was not told of the stream
    raise(PyExc_ValueError, label.text() + " is on a GPU; its __dlpack_device__() must say so");
}

// ridge.Spec: metadata, and no data.
static void read_spec(PyObject* object, const Label& label, Tensor& t) {
  const Ref fields = checked(PyObject_CallMethod, object, "_fields", nullptr);
  int code = 0, bits = 0, type = 0, id = 0;
  unsigned long long address = 0;  // of nothing: it says where the tensor would lie
  PyObject *shape = nullptr, *strides = nullptr;
  if (!python(PyArg_ParseTuple, fields.get(), "iiiiOOK", &code, &bits, &type, &id, &shape, &strides, &address))
    throw Raised{};
  const auto rank = static_cast<int>(PyTuple_Size(shape));
  check_rank(label, rank);
  t.view.dtype = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  t.view.device = {static_cast<DLDeviceType>(type), id};
  t.view.ndim = rank;
  for (int axis = 0; axis < rank; ++axis) {
    t.shape[axis] = integer(PyTuple_GetItem(shape, axis));
    t.strides[axis] = integer(PyTuple_GetItem(strides, axis));
  }
  t.view.shape = t.shape.data();
  t.view.strides = t.strides.data();
  t.view.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
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
  if (t.is_copy)
    raise(PyExc_ValueError, label.text() + " came as a copy of itself; it must be lent, for the result goes there");
}

std::size_t contiguous_bytes(const Tensor& t, const Label& label) {
  std::int64_t bytes = t.view.dtype.bits / 8;
  for (int axis = t.view.ndim; axis-- > 0;)
    if (t.shape[axis] < 0 || __builtin_mul_overflow(bytes, t.shape[axis], &bytes))
      raise(PyExc_ValueError,
            label.text() + ".shape has a negative size, or 2^63 bytes and more; it must be that of memory");
  if (bytes == 0) return 0;
  std::int64_t stride = 1;
  for (int axis = t.view.ndim; axis-- > 0; stride *= t.shape[axis])
    if (t.shape[axis] != 1 && t.strides[axis] != stride)
      raise(PyExc_ValueError, label.text() + ".strides is " + std::to_string(t.strides[axis]) + " along axis " +
                                  std::to_string(axis) + "; it must be " + std::to_string(stride) +
                                  ", as of memory without gaps");
  return static_cast<std::size_t>(bytes);
}

// ---- meetings ------------------------------------------------------------------------------------------------------

static bool is_empty(const DLTensor& t) {
  return !t.data || std::find(t.shape, t.shape + t.ndim, 0) != t.shape + t.ndim;
}

// Addresses, which wrap around where a tensor lies about itself; the library refuses it then.
static std::pair<std::uintptr_t, std::uintptr_t> bytes_of(const DLTensor& t) {
  const std::uintptr_t bytes = t.dtype.bits / 8;
  std::uintptr_t low = reinterpret_cast<std::uintptr_t>(t.data), high = low + bytes;
  for (int axis = 0; axis < t.ndim; ++axis)
    (t.strides[axis] < 0 ? low : high) +=
        (static_cast<std::uintptr_t>(t.shape[axis]) - 1) * static_cast<std::uintptr_t>(t.strides[axis]) * bytes;
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
