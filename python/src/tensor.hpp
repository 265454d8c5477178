// Python objects as DLPack tensors: nothing is copied, and nothing waits.
#pragma once
#include "errors.hpp"
#include "exchange.hpp"

#include <array>
#include <cstdint>

namespace ridge_python {

// How the tensors of one Python type are read, and how results are made for their owner. One per type, made by
// _frameworks.of(type) when the first object of the type is met.
struct Framework {
  enum class Reader { numpy, torch, dlpack, spec };
  Reader reader = Reader::dlpack;
  const ExchangeApi* exchange = nullptr;  // null: the type has none
  PyObject* type = nullptr;               // kept
  PyObject* self = nullptr;               // the Python object, with make(shape, dtype, device) -> a maker
  PyObject* stream = nullptr;             // stream(device_id) -> int, the current one; null: none to ask for
  PyObject* finish = nullptr;             // finish(result) -> what the caller gets; null: the result itself
  PyObject* written = nullptr;            // written(tensor), after a result went to a caller's own; null: nobody asks
  PyObject* grad_enabled = nullptr;       // whether gradients are being recorded; null: the library records none
  bool writable = true;                   // whether its tensors may be results
  mutable bool versioned = true;          // __dlpack__ takes max_version, as far as is known
};

inline constexpr int most_axes = RIDGE_MAX_RANK;

struct Tensor {
  Tensor() = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  DLTensor view{};  // byte_offset 0; strides never null; of an element type that Ridge has
  const Framework* framework = nullptr;
  bool read_only = false, is_copy = false;
  Ref keeper;  // of a capsule's tensor
  std::array<std::int64_t, most_axes> shape, strides;

  bool on_gpu() const { return view.device.device_type == kDLCUDA || view.device.device_type == kDLCUDAManaged; }
};

// How a sentence names a tensor: "softmax: x".
struct Label {
  std::string_view op, name;
  std::string text() const { return std::string(op) + ": " + std::string(name); }
};

// An element type by Ridge's name for it; null where Ridge does not have it.
const char* name_of(DLDataType);

void set_frameworks(PyObject* of);  // _frameworks.of

// The object's framework; TypeError where it is no tensor.
const Framework* framework_of(PyObject*, const Label&);

// Fills `tensor`. `stream` is where its data will be used: a producer that keeps its own is told to wait for none but
// that one. Precondition: tensor.framework is the object's.
void read(PyObject*, const Label&, void* stream, Tensor& tensor);
inline bool reads_without_stream(const Framework& f) { return f.reader != Framework::Reader::dlpack || f.stream; }

// Refuses a tensor that cannot be written to.
void check_writable(const Tensor&, const Label&);

// The bytes of a tensor that is memory without gaps, row major. Refuses any other.
std::size_t contiguous_bytes(const Tensor&, const Label&);

// The framework's current stream of a GPU.
void* current_stream(const Framework&, int device);

// Whether two tensors' bytes meet: apart, the same elements in the same places, or anything between.
enum class Meeting : char { apart, same, partial };
Meeting meeting(const DLTensor&, const DLTensor&);

}  // namespace ridge_python
