// From views to a problem, and the contract's refusals.
#include <ridge/core/check_data.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/gemv/launch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace ridge {

using namespace gemv_detail;

static int alignment_offset_of(const void* data) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(data) % 16);
}

// An axis of one element counts as contiguous.
static GemvProblem::Vector vector_of(const TensorView& v) {
  return {.stride = v.size(0) <= 1 ? 1 : v.stride(0), .alignment_offset = alignment_offset_of(v.data)};
}

GemvProblem GemvProblem::packed(DType dtype, std::int64_t m, std::int64_t k, bool transposed,
                                const GemvScalars& scalars, bool bias) {
  const auto pitch = [](std::int64_t size) { return std::max<std::int64_t>(size, 1); };  // also for size 0
  GemvProblem p{.m = m, .k = k, .dtype = dtype, .row_stride = pitch(k), .scalars = scalars};
  if (transposed) p.row_stride = 1, p.k_stride = pitch(m);
  if (k <= 1) p.k_stride = 1;  // as of() treats axes of one element
  if (m <= 1) p.row_stride = p.k_stride == 1 ? 0 : 1;
  if (scalars.beta != 0) p.c = Vector{};
  if (bias) p.bias = Vector{};
  return p;
}

Result<GemvProblem> GemvProblem::of(const GemvTensors& t, const GemvScalars& scalars) {
  if (t.a.rank() != 2) return Status::invalid("gemv", "a.shape", t.a.layout.text(), "of 2 axes");
  GemvProblem p{
      .m = t.a.size(0), .k = t.a.size(1), .dtype = t.a.dtype, .alignment_offset = alignment_offset_of(t.a.data)};
  const bool has_c = scalars.beta != 0;
  if (has_c && !t.c) return Status::invalid("gemv", "c", "not given", "given where beta is not 0");
  const TensorView* c = has_c ? &*t.c : nullptr;
  const TensorView* bias = t.bias ? &*t.bias : nullptr;
  for (const auto& [name, v, size] : {std::tuple("x", &t.x, p.k), std::tuple("y", &t.y, p.m), std::tuple("c", c, p.m),
                                      std::tuple("bias", bias, p.m)}) {
    if (!v) continue;
    const std::string argument(name);
    if (v->rank() != 1 || v->size(0) != size)
      return Status::invalid("gemv", argument + ".shape", v->layout.text(), std::to_string(size));
    if (v->dtype != p.dtype)
      return Status::invalid("gemv", argument + ".dtype", std::string(ridge::name(v->dtype)),
                             "that of a, " + std::string(ridge::name(p.dtype)));
    RIDGE_TRY(check_same_device("gemv", argument, v->device, "a", t.a.device));
  }
  for (const auto& [name, v] : {std::pair("a", &t.a), std::pair("x", &t.x)})
    RIDGE_TRY(check_no_overlap("gemv", "y", t.y, name, *v));
  for (const auto& [name, v] : {std::pair("c", c), std::pair("bias", bias)})
    if (v && share_memory(*v, t.y) && !same_elements(*v, t.y))
      return Status::invalid("gemv", "y", std::string("overlapping ") + name, "apart from it, or the same elements");
  for (const auto& [name, v] :
       {std::pair("a", &t.a), std::pair("x", &t.x), std::pair("y", &t.y), std::pair("c", c), std::pair("bias", bias)})
    if (v) RIDGE_TRY(check_data("gemv", name, *v));
  p.k_stride = p.k <= 1 ? 1 : t.a.stride(1);
  p.row_stride = p.m <= 1 ? (p.k_stride == 1 ? 0 : 1) : t.a.stride(0);
  p.x = vector_of(t.x);
  p.y = vector_of(t.y);
  if (c) p.c = vector_of(*c);
  if (bias) p.bias = vector_of(*bias);
  p.scalars = scalars;
  return p;
}

std::string GemvProblem::text() const {
  Text s;
  s << ridge::name(dtype) << " " << m << "x" << k << (k_stride == 1 ? " n" : row_stride == 1 ? " t" : " strided");
  if (scalars.alpha != 1) s << ", alpha " << scalars.alpha;
  if (scalars.beta != 0) s << ", beta " << scalars.beta;
  if (bias) s << ", bias";
  if (scalars.activation != Activation::none) s << (bias ? "+" : ", ") << ridge::name(scalars.activation);
  return s.str();
}

namespace gemv_detail {

Status validate(const GemvProblem& p) {
  RIDGE_TRY(check_sizes("gemv", "shape", {p.m, p.k}));
  if (p.dtype != f64 && p.dtype != f32 && p.dtype != f16 && p.dtype != bf16)
    return Status::invalid("gemv", "a.dtype", std::string(name(p.dtype)), "one of f64 f32 f16 bf16");
  for (const auto& [name, value] : {std::pair("alpha", p.scalars.alpha), std::pair("beta", p.scalars.beta)}) {
    if (!std::isfinite(value)) return Status::invalid("gemv", name, number_text(value), "finite");
    if (p.dtype != f64 && std::fabs(value) > std::numeric_limits<float>::max())
      return Status::invalid("gemv", name, number_text(value),
                             "within float32's range where a is " + std::string(ridge::name(p.dtype)));
  }
  Layout y = Layout::contiguous({p.m});
  y.stride[0] = p.y.stride;
  RIDGE_TRY(check_elements_apart("gemv", "y", y));
  if (p.scalars.beta != 0 && !p.c) return Status::invalid("gemv", "c", "not given", "given where beta is not 0");
  return {};
}

}  // namespace gemv_detail
}  // namespace ridge
