// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/elementwise/flat.cuh>
#include <ridge/elementwise/launch.hpp>
#include <ridge/elementwise/strided.cuh>

namespace ridge::elementwise_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

struct Arguments {
  const ElementwisePlan& plan;
  const void *a, *b;
  void* y;
  Stream stream;
};

template <int I, class F, class T> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  const ElementwiseProblem& p = args.plan.problem;
  const std::int64_t n = p.y.count();
  const simt::Config at{
      .grid = dim3(static_cast<unsigned>(args.plan.grid)), .block = dim3(c.threads), .stream = args.stream.handle};
  const T *a = static_cast<const T*>(args.a), *b = static_cast<const T*>(args.b);
  T* y = static_cast<T*>(args.y);
  if constexpr (c.walk == Walk::flat) {
    return simt::launch(at, elementwise_flat<Policy<I>, F, T>, a, b, y, n);
  } else if constexpr (c.walk == Walk::broadcast) {
    if constexpr (is_binary<F>)
      return simt::launch(at, elementwise_broadcast<Policy<I>, F, T>, a, b, y, n, p.y.shape[1]);
    else
      return Status::error(Code::unsupported,
                           "elementwise: a function of one input has no broadcast");  // refused by fits()
  } else {
    StridedShape s{.rank = p.y.rank};
    for (int axis = 0; axis < s.rank; ++axis) {
      s.shape[axis] = p.y.shape[axis];
      s.a[axis] = p.a.stride[axis];
      s.b[axis] = p.b.stride[axis];
      s.y[axis] = p.y.stride[axis];
    }
    return simt::launch(at, elementwise_strided<Policy<I>, F, T>, a, b, y, n, s);
  }
}

template <class F, class T> static Status launch_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_row<I, F, T>(args); });
}

template <class F, class Types> static Status launch_type(const Arguments& args) {
  return Types::visit(args.plan.problem.dtype, Status{}, [&]<class T>() { return launch_table<F, T>(args); });
}

// A copy moves bits: one type serves all elements of its size.
static Status launch_copy(const Arguments& args) {
  switch (size_of(args.plan.problem.dtype)) {
    case 1: return launch_table<Copy, std::uint8_t>(args);
    case 2: return launch_table<Copy, std::uint16_t>(args);
    case 4: return launch_table<Copy, std::uint32_t>(args);
    default: return launch_table<Copy, std::uint64_t>(args);
  }
}

template <>
Status launch<simt::Backend>(const ElementwisePlan& plan, const void* a, const void* b, void* y, Stream stream) {
  const Arguments args{plan, a, b, y, stream};
  switch (plan.problem.function) {
    case Elementwise::add: return launch_type<Add, ArithmeticTypes>(args);
    case Elementwise::mul: return launch_type<Mul, ArithmeticTypes>(args);
    case Elementwise::relu: return launch_type<Relu, ArithmeticTypes>(args);
    case Elementwise::sigmoid: return launch_type<Sigmoid, FloatTypes>(args);
    case Elementwise::tanh: return launch_type<Tanh, FloatTypes>(args);
    case Elementwise::gelu: return launch_type<Gelu, FloatTypes>(args);
    case Elementwise::gelu_tanh: return launch_type<GeluTanh, FloatTypes>(args);
    case Elementwise::silu: return launch_type<Silu, FloatTypes>(args);
    case Elementwise::exp: return launch_type<Exp, FloatTypes>(args);
    case Elementwise::copy: return launch_copy(args);
  }
  return {};
}

}  // namespace ridge::elementwise_detail
