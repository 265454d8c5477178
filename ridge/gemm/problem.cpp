// GemmProblem: from views to sizes and strides, with a sentence where they do not fit together.
#include <ridge/core/check_data.hpp>
#include <ridge/core/checked.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/gemm/validate.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ridge {

using namespace gemm_detail;

std::string_view name(GemmLayout layout) {
  constexpr std::string_view names[] = {"nn", "nt", "tn", "tt"};
  return names[static_cast<int>(layout)];
}
std::string_view name(GemmMath math) {
  constexpr std::string_view names[] = {"exact", "tf32", "tf32x3", "fast"};
  return names[static_cast<int>(math)];
}

namespace {

struct Dims {
  std::int64_t batch, rows, cols;  // batch -1: the view has no such axis, and is shared
};

Result<Dims> dims_of(std::string_view argument, const TensorView& v) {
  if (v.rank() != 2 && v.rank() != 3)
    return Status::invalid("gemm", std::string(argument) + ".shape", v.layout.text(),
                           "of 2 axes, or more with a batch");
  return Dims{v.rank() == 3 ? v.size(0) : -1, v.size(-2), v.size(-1)};
}

// Normalizes the strides of axes with one element, which say nothing, so that equal problems compare equal.
GemmOperand normalised(GemmOperand o, std::int64_t rows, std::int64_t cols, std::int64_t batch) {
  if (rows <= 1) o.row_stride = 0;
  if (cols <= 1) o.col_stride = o.col_stride == 0 ? 0 : 1;  // 0: a bias along M
  if (batch <= 1) o.batch_stride = 0;
  return o;
}

GemmOperand operand_of(const TensorView& v) {
  const GemmOperand o{.dtype = v.dtype,
                      .row_stride = v.stride(-2),
                      .col_stride = v.stride(-1),
                      .batch_stride = v.rank() == 3 ? v.stride(0) : 0,
                      .alignment_offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(v.data) % 16)};
  return normalised(o, v.size(-2), v.size(-1), v.rank() == 3 ? v.size(0) : 1);
}

std::string size_text(const Dims& d) { return std::to_string(d.rows) + "x" + std::to_string(d.cols); }

// C, D and the residual have D's shape; `batch` is D's.
Status check_like_d(std::string_view argument, const TensorView& v, const Dims& d) {
  auto dims = dims_of(argument, v);
  if (!dims) return dims.error();
  if (dims->rows != d.rows || dims->cols != d.cols)
    return Status::invalid("gemm", std::string(argument) + ".shape", v.layout.text(), "that of d, " + size_text(d));
  if (dims->batch >= 0 && dims->batch != d.batch)
    return Status::invalid("gemm", std::string(argument) + ".shape", v.layout.text(),
                           "of a batch of " + std::to_string(d.batch));
  return {};
}

}  // namespace

// Different with groups of A's rows: the number of groups is B's batch, and nothing else has a batch.
static Status check_groups(const GemmTensors& t, const Dims& a, const Dims& b, const Dims& d) {
  const TensorView& offsets = *t.offsets;
  if (a.batch >= 0) return Status::invalid("gemm", "a.shape", t.a.layout.text(), "of 2 axes where there are offsets");
  if (b.batch < 0) return Status::invalid("gemm", "b.shape", t.b.layout.text(), "of 3 axes where there are offsets");
  if (d.batch >= 0) return Status::invalid("gemm", "d.shape", t.d.layout.text(), "of 2 axes where there are offsets");
  if (offsets.dtype != i32) return Status::invalid("gemm", "offsets.dtype", std::string(name(offsets.dtype)), "i32");
  if (offsets.rank() != 1 || offsets.size(0) != b.batch + 1 || offsets.stride(0) != 1)
    return Status::invalid("gemm", "offsets.shape", offsets.layout.text(),
                           "contiguous, of " + std::to_string(b.batch + 1) + " elements: one more than b has matrices");
  if (reinterpret_cast<std::uintptr_t>(offsets.data) % 4 != 0)
    return Status::invalid("gemm", "offsets", "misaligned", "aligned to 4 bytes");
  RIDGE_TRY(check_same_device("gemm", "offsets", offsets.device, "d", t.d.device));
  RIDGE_TRY(check_no_overlap("gemm", "d", t.d, "offsets", offsets));
  if (a.rows > 0x7fffffff) return Status::invalid("gemm", "a.shape", t.a.layout.text(), "of at most 2^31 - 1 rows");
  if (t.gate) return Status::invalid("gemm", "gate", "given", "left out where there are offsets");
  if (t.gate_bias) return Status::invalid("gemm", "gate_bias", "given", "left out where there are offsets");
  return {};
}

// A view's axes before its last two.
static Layout batch_axes(const Layout& layout) {
  Layout batch = layout;
  batch.rank = std::max(layout.rank - 2, 0);
  return batch;
}

// The tensors with their batch axes, where any has several or is broadcast, as those of D, merged into one.
static Result<GemmTensors> with_one_batch(GemmTensors t, bool reads_c) {
  std::vector<std::pair<std::string_view, TensorView*>> views{{"d", &t.d}, {"a", &t.a}, {"b", &t.b}};
  if (t.c && reads_c) views.emplace_back("c", &*t.c);
  if (t.residual) views.emplace_back("residual", &*t.residual);
  if (t.gate) views.emplace_back("gate", &*t.gate);
  const auto needs_it = [&](const auto& named) {
    const TensorView& v = *named.second;
    return v.rank() > 3 || (v.rank() == 3 && v.size(0) == 1 && t.d.rank() == 3 && t.d.size(0) != 1);
  };
  if (t.offsets || std::ranges::none_of(views, needs_it)) return t;

  const Layout of_d = batch_axes(t.d.layout);
  std::vector<Layout> batches;
  for (const auto& [name, view] : views) {
    TensorView leading = *view;
    leading.layout = batch_axes(view->layout);
    batches.push_back(broadcast_to(leading, of_d).layout);
    if (view->rank() < 2 || !batches.back().same_shape(of_d))
      return Status::invalid("gemm", std::string(name) + ".shape", view->layout.text(),
                             "of 2 axes, behind batch axes that broadcast to those of d, " + t.d.layout.text());
  }
  const std::int64_t batch = of_d.count();
  for (std::size_t i = 0; batch > 0 && i < views.size(); ++i) {
    Layout both[] = {of_d, batches[i]};
    collapse(both);
    if (both[0].rank > 1)
      return Status::invalid("gemm", std::string(views[i].first) + ".shape", views[i].second->layout.text(),
                             "one whose batch axes are broadcast all or none, and merge into one as d's do: copy it");
  }
  collapse(batches);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Layout was = views[i].second->layout;
    Layout& layout = views[i].second->layout;
    layout = Layout{};
    layout.rank = 3;
    layout.shape = {batch, was.shape[was.rank - 2], was.shape[was.rank - 1]};
    layout.stride = {batches[i].rank == 1 && batch > 0 ? batches[i].stride[0] : 0, was.stride[was.rank - 2],
                     was.stride[was.rank - 1]};
  }
  return t;
}

Result<GemmProblem> GemmProblem::of(const GemmTensors& given, const GemmScalars& scalars) {
  const auto merged = with_one_batch(given, scalars.beta != 0);
  if (!merged) return merged.error();
  const GemmTensors& t = *merged;
  auto a = dims_of("a", t.a), b = dims_of("b", t.b), d = dims_of("d", t.d);
  if (!a) return a.error();
  if (!b) return b.error();
  if (!d) return d.error();
  if (t.offsets) RIDGE_TRY(check_groups(t, *a, *b, *d));
  if (b->rows != a->cols)
    return Status::invalid("gemm", "b.shape", given.b.layout.text(),
                           "of as many rows as a has columns, " + std::to_string(a->cols));
  if (d->rows != a->rows || d->cols != b->cols)
    return Status::invalid("gemm", "d.shape", given.d.layout.text(), size_text({0, a->rows, b->cols}));
  const std::int64_t batch = t.offsets ? b->batch : d->batch < 0 ? 1 : d->batch;
  for (const auto& [name, dims, view] : {std::tuple("a", &*a, &t.a), std::tuple("b", &*b, &t.b)})
    if (dims->batch >= 0 && dims->batch != batch)
      return Status::invalid("gemm", std::string(name) + ".shape", view->layout.text(),
                             "of a batch of " + std::to_string(batch) + ", as d is");
  d->batch = t.offsets ? 1 : batch;
  if (t.gate) {
    auto gate = dims_of("gate", *t.gate);
    if (!gate) return gate.error();
    if (gate->rows != b->rows || gate->cols != b->cols || (gate->batch >= 0 && gate->batch != batch))
      return Status::invalid("gemm", "gate.shape", t.gate->layout.text(), "that of b, " + size_text(*b));
    if (t.gate->dtype != t.a.dtype)
      return Status::invalid("gemm", "gate.dtype", std::string(ridge::name(t.gate->dtype)),
                             "that of a, " + std::string(ridge::name(t.a.dtype)));
  }

  GemmProblem p;
  p.m = a->rows;
  p.n = b->cols;
  p.k = a->cols;
  p.batch = batch;
  p.dtype = t.a.dtype;
  if (t.b.dtype != p.dtype)
    return Status::invalid("gemm", "b.dtype", std::string(ridge::name(t.b.dtype)),
                           "that of a, " + std::string(ridge::name(p.dtype)));
  p.out = t.d.dtype;
  p.scalars = scalars;
  p.a = operand_of(t.a);
  p.b = operand_of(t.b);
  p.d = operand_of(t.d);
  p.grouped = t.offsets.has_value();
  p.gate = t.gate.has_value();
  if (t.gate) p.gate_layout = operand_of(*t.gate);
  if (scalars.beta != 0) {
    if (!t.c) return Status::invalid("gemm", "c", "not given", "given where beta is not 0");
    RIDGE_TRY(check_like_d("c", *t.c, *d));
    p.c = operand_of(*t.c);
  }
  if (t.residual) {
    RIDGE_TRY(check_like_d("residual", *t.residual, *d));
    p.residual = true;
    p.residual_layout = operand_of(*t.residual);
  }
  if (t.bias) {
    const TensorView& v = *t.bias;
    const bool of_groups = p.grouped && v.rank() == 2 && v.size(0) == batch && v.size(1) == p.n;
    const bool along_n = of_groups || (!p.grouped && v.rank() == 1 && v.size(0) == p.n);
    if (p.grouped && !of_groups)
      return Status::invalid("gemm", "bias.shape", v.layout.text(),
                             size_text({0, batch, p.n}) + ", one for each group");
    if (!along_n && !(v.rank() == 2 && v.size(0) == p.m && v.size(1) == 1))
      return Status::invalid("gemm", "bias.shape", v.layout.text(),
                             std::to_string(p.n) + ", or " + std::to_string(p.m) + "x1 along M");
    p.bias = along_n ? GemmBias::along_n : GemmBias::along_m;
    const int alignment_offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(v.data) % 16);
    const GemmOperand operand{.dtype = v.dtype,
                              .row_stride = along_n ? 0 : v.stride(0),
                              .col_stride = along_n ? v.stride(-1) : 0,
                              .batch_stride = of_groups ? v.stride(0) : 0,
                              .alignment_offset = alignment_offset};
    p.bias_layout = normalised(operand, p.m, p.n, of_groups ? batch : 1);
  }
  if (t.gate_bias) {
    const TensorView& v = *t.gate_bias;
    if (!t.gate) return Status::invalid("gemm", "gate_bias", "given", "left out where there is no gate");
    if (v.rank() != 1 || v.size(0) != p.n)
      return Status::invalid("gemm", "gate_bias.shape", v.layout.text(), std::to_string(p.n));
    p.gate_bias = true;
    const int alignment_offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(v.data) % 16);
    p.gate_bias_layout = normalised({.dtype = v.dtype,
                                     .row_stride = 0,
                                     .col_stride = v.stride(0),
                                     .batch_stride = 0,
                                     .alignment_offset = alignment_offset},
                                    p.m, p.n, 1);
  }
  const TensorView& gate = t.gate ? *t.gate : t.b;
  for (const auto& [name, view] : {std::pair("a", &t.a), std::pair("b", &t.b), std::pair("gate", &gate)})
    RIDGE_TRY(check_no_overlap("gemm", "d", t.d, name, *view));
  for (const auto& [name, view] : {std::pair("bias", &t.bias), std::pair("gate_bias", &t.gate_bias)})
    if (*view && share_memory(**view, t.d))
      return Status::invalid("gemm", "d", std::string("overlapping ") + name, "apart from it");
  const std::pair<const char*, const std::optional<TensorView>*> addends[] = {
      {"c", p.c ? &t.c : nullptr}, {"residual", &t.residual}, {"bias", &t.bias}, {"gate_bias", &t.gate_bias}};
  for (const auto& [name, view] : std::span(addends).first(2))
    if (view && *view && share_memory(**view, t.d) && !same_elements(**view, t.d))
      return Status::invalid("gemm", "d", std::string("overlapping ") + name, "apart from it, or the same elements");
  const auto check_place = [&](const std::string& name, const TensorView& view) -> Status {
    RIDGE_TRY(check_same_device("gemm", name, view.device, "d", t.d.device));
    return check_data("gemm", name, view);
  };
  for (const auto& [name, view] :
       {std::pair("a", &t.a), std::pair("b", &t.b), std::pair("gate", &gate), std::pair("d", &t.d)})
    RIDGE_TRY(check_place(name, *view));
  for (const auto& [name, view] : addends)
    if (view && *view) RIDGE_TRY(check_place(name, **view));
  return p;
}

std::string GemmProblem::text() const {
  Text s;
  s << ridge::name(dtype);
  if (out && *out != gemm_default_out(dtype)) s << " to " << ridge::name(*out);
  s << " " << m << "x" << n << "x" << k;
  if (grouped) s << " in " << batch << " groups";
  else if (batch != 1) s << " batch " << batch;
  s << " " << ridge::name(layout_of(*this));
  if (scalars.math != GemmMath::exact) s << " " << ridge::name(scalars.math);
  if (is_two_float(*this)) s << " in two floats";
  if (scalars.alpha != 1) s << ", alpha " << scalars.alpha;
  if (scalars.beta != 0) s << ", beta " << scalars.beta;
  std::string epilogue;
  const auto with = [&](std::string_view part) { epilogue += (epilogue.empty() ? "" : "+") + std::string(part); };
  if (bias == GemmBias::along_n) with("bias");
  if (bias == GemmBias::along_m) with("bias_m");
  if (scalars.activation != Activation::none) with(ridge::name(scalars.activation));
  if (gate) with("gate");
  if (gate_bias) with("gate_bias");
  if (residual) with("residual");
  if (!epilogue.empty()) s << ", " << epilogue;
  if (scalars.scale != 1) s << ", scale " << scalars.scale;
  return s.str();
}

namespace gemm_detail {

GemmProblem with_operands(GemmProblem p) {
  const bool transposed_a = p.layout == GemmLayout::tn || p.layout == GemmLayout::tt;
  const bool transposed_b = p.layout == GemmLayout::nt || p.layout == GemmLayout::tt;
  const auto packed = [&](DType dtype, std::int64_t rows, std::int64_t cols, bool transposed) {
    GemmOperand o{.dtype = dtype,
                  .row_stride = cols,
                  .col_stride = 1,
                  .batch_stride = saturating_product(rows, cols),
                  .alignment_offset = 0};
    if (transposed) o.row_stride = 1, o.col_stride = rows;
    return o;
  };
  const auto normalise = [&](std::optional<GemmOperand>& o, std::int64_t rows, std::int64_t cols) {
    if (o) o = normalised(*o, rows, cols, p.batch);
  };
  if (!p.out) p.out = gemm_default_out(p.dtype);
  if (!p.a) p.a = packed(p.dtype, p.m, p.k, transposed_a);
  if (!p.b) p.b = packed(p.dtype, p.k, p.n, transposed_b);
  if (!p.d) p.d = packed(*p.out, p.m, p.n, false);
  if (!p.gate_layout && p.gate) p.gate_layout = packed(p.dtype, p.k, p.n, transposed_b);
  if (!p.c && p.scalars.beta != 0) p.c = packed(*p.out, p.m, p.n, false);
  if (!p.residual_layout && p.residual) p.residual_layout = packed(*p.out, p.m, p.n, false);
  if (!p.bias_layout && p.bias != GemmBias::none) {
    p.bias_layout = GemmOperand{.dtype = *p.out};
    if (p.grouped) p.bias_layout->batch_stride = p.n;
    if (p.bias == GemmBias::along_m) p.bias_layout->row_stride = 1, p.bias_layout->col_stride = 0;
  }
  if (!p.gate_bias_layout && p.gate_bias) p.gate_bias_layout = GemmOperand{.dtype = *p.out};
  normalise(p.a, p.m, p.k);
  normalise(p.b, p.k, p.n);
  normalise(p.gate_layout, p.k, p.n);
  if (p.grouped)
    for (auto* o : {&p.a, &p.c, &p.d, &p.residual_layout})
      if (*o) (*o)->batch_stride = 0;
  for (auto* o : {&p.c, &p.d, &p.bias_layout, &p.residual_layout, &p.gate_bias_layout}) normalise(*o, p.m, p.n);
  return p;
}

// The types that D may have, in words and as a set.
static std::string_view outputs_of(DType dtype, DType out) {
  switch (dtype) {
    case f64: return "f64";
    case i8: return out == i32 ? "i32" : "f32 f16 bf16 i8";
    default: return "f32 f16 bf16 f8e4m3 f8e5m2";
  }
}
static bool is_one_of(DType dtype, std::string_view names) {
  const std::string spaced = " " + std::string(names) + " ";
  return spaced.find(" " + std::string(name(dtype)) + " ") != std::string::npos;
}

Status validate(const GemmProblem& p) {
  const auto text = [](DType dtype) { return std::string(name(dtype)); };
  for (const auto& [argument, rows, cols] :
       {std::tuple("a.shape", p.m, p.k), std::tuple("b.shape", p.k, p.n), std::tuple("d.shape", p.m, p.n)})
    RIDGE_TRY(check_sizes("gemm", argument, {p.batch, rows, cols}));
  const auto layout = [&](const GemmOperand& o, std::int64_t rows, std::int64_t cols) {
    return Layout{.rank = 3,
                  .shape = {p.grouped ? 1 : p.batch, rows, cols},
                  .stride = {o.batch_stride, o.row_stride, o.col_stride}};
  };
  for (const auto& [argument, o, rows, cols] :
       {std::tuple("a", &p.a, p.m, p.k), std::tuple("b", &p.b, p.k, p.n), std::tuple("gate", &p.gate_layout, p.k, p.n),
        std::tuple("c", &p.c, p.m, p.n), std::tuple("d", &p.d, p.m, p.n),
        std::tuple("residual", &p.residual_layout, p.m, p.n)})
    if (*o) RIDGE_TRY(check_extent("gemm", argument, layout(**o, rows, cols)));
  if (!is_one_of(p.dtype, "f64 f32 f16 bf16 f8e4m3 f8e5m2 i8"))
    return Status::invalid("gemm", "a.dtype", text(p.dtype), "one of f64 f32 f16 bf16 f8e4m3 f8e5m2 i8");
  const std::string outs(outputs_of(p.dtype, *p.out));
  if (!is_one_of(*p.out, outs))
    return Status::invalid("gemm", "d.dtype", text(*p.out),
                           "one of " + (p.dtype == i8 ? "i32 " + outs : outs) + " where a is " + text(p.dtype));
  const auto check_addend = [&](const char* argument, const std::optional<GemmOperand>& o) -> Status {
    if (!o || is_one_of(o->dtype, outs)) return {};
    return Status::invalid("gemm", std::string(argument) + ".dtype", text(o->dtype), "one of " + outs);
  };
  RIDGE_TRY(check_addend("c", p.c));
  RIDGE_TRY(check_addend("bias", p.bias_layout));
  RIDGE_TRY(check_addend("residual", p.residual_layout));
  RIDGE_TRY(check_addend("gate_bias", p.gate_bias_layout));
  const GemmScalars& s = p.scalars;
  for (const auto& [name, value] :
       {std::pair("alpha", s.alpha), std::pair("beta", s.beta), std::pair("scale", s.scale)}) {
    const std::string given = number_text(value);
    if (!std::isfinite(value)) return Status::invalid("gemm", name, given, "finite");
    if (p.dtype != f64 && std::fabs(value) > std::numeric_limits<float>::max())
      return Status::invalid("gemm", name, given, "within float32's range where a is " + text(p.dtype));
    if (p.out == i32 && (value != std::floor(value) || std::fabs(value) > 0x7fffffff))
      return Status::invalid("gemm", name, given, "a whole number below 2^31 where d is i32");
  }
  if (p.out == i32 && s.activation != Activation::none && s.activation != Activation::relu)
    return Status::invalid("gemm", "activation", std::string(name(s.activation)), "none or relu where d is i32");
  if ((p.gate || p.grouped) && !is_one_of(p.dtype, "f64 f32 f16 bf16"))
    return Status::invalid("gemm", p.gate ? "gate" : "offsets", "given",
                           "left out where a is " + text(p.dtype) + ": it is for f64 f32 f16 bf16");
  const bool float8 = p.dtype == f8e4m3 || p.dtype == f8e5m2;
  if (s.math != GemmMath::exact && (s.math == GemmMath::fast ? !float8 : p.dtype != f32))
    return Status::invalid("gemm", "math", std::string(name(s.math)),
                           std::string("left out: it is for ") +
                               (s.math == GemmMath::fast ? "f8e4m3 and f8e5m2" : "f32") + ", and a is " +
                               text(p.dtype));
  if (is_two_float(p)) {
    const auto wrong = [](const std::string& why) { return Status::invalid("gemm", "accumulate", "two_float", why); };
    if (p.dtype != f32) return wrong("left out: it is for f32, and a is " + text(p.dtype));
    if (s.math != GemmMath::exact) return wrong("left out where math is " + std::string(name(s.math)));
    if (p.gate || p.grouped) return wrong(std::string("left out with ") + (p.gate ? "a gate" : "groups"));
  }
  return check_elements_apart("gemm", "d", layout(*p.d, p.m, p.n));
}

}  // namespace gemm_detail
}  // namespace ridge
