// AttentionProblem: from views to sizes and strides, with a sentence where they do not fit together.
#include <ridge/attention/validate.hpp>

#include <cmath>
#include <sstream>

namespace ridge {

using namespace attention_detail;

namespace {

constexpr std::string_view op = "attention";

Status not_of_rank(const char* argument, const TensorView& v, int rank, const char* axes) {
  if (v.rank() == rank) return {};
  return Status::invalid(op, std::string(argument) + ".shape", v.layout.text(), axes);
}

Status not_equal(const char* argument, const TensorView& v, const char* axis, std::int64_t size, std::int64_t wanted) {
  if (size == wanted) return {};
  return Status::invalid(op, std::string(argument) + ".shape", v.layout.text(),
                         "of " + std::string(axis) + " " + std::to_string(wanted));
}

int phase_of(const TensorView& v) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(v.data) % 16); }

// The stride of an axis with one element says nothing: problems that differ in it alone are one.
AttentionOperand operand_of(const TensorView& v) {
  const auto stride = [&](int axis) { return v.size(axis) <= 1 ? 0 : v.stride(axis); };
  return {stride(0), stride(1), stride(2), v.size(3) <= 1 ? 1 : v.stride(3), phase_of(v)};
}

std::string number(double x) {
  std::ostringstream s;
  s << x;
  return s.str();
}

// What q, k, v, o, mask and lse say, whichever of them are written.
Result<AttentionProblem> described(const AttentionTensors& t, const AttentionRule& rule) {
  for (const auto& [name, view] :
       {std::pair("q", &t.q), std::pair("k", &t.k), std::pair("v", &t.v), std::pair("o", &t.o)})
    RIDGE_TRY(not_of_rank(name, *view, 4, "of 4 axes: batch, heads, rows and columns"));
  AttentionProblem p;
  p.b = t.q.size(0);
  p.hq = t.q.size(1);
  p.hkv = t.k.size(1);
  p.sq = t.q.size(2);
  p.sk = t.k.size(2);
  p.d = t.q.size(3);
  p.dv = t.v.size(3);
  p.dtype = t.q.dtype;
  p.rule = rule;
  RIDGE_TRY(not_equal("k", t.k, "batch", t.k.size(0), p.b));
  RIDGE_TRY(not_equal("v", t.v, "batch", t.v.size(0), p.b));
  RIDGE_TRY(not_equal("v", t.v, "heads", t.v.size(1), p.hkv));
  RIDGE_TRY(not_equal("v", t.v, "rows", t.v.size(2), p.sk));
  RIDGE_TRY(not_equal("k", t.k, "columns", t.k.size(3), p.d));
  RIDGE_TRY(not_equal("o", t.o, "batch", t.o.size(0), p.b));
  RIDGE_TRY(not_equal("o", t.o, "heads", t.o.size(1), p.hq));
  RIDGE_TRY(not_equal("o", t.o, "rows", t.o.size(2), p.sq));
  RIDGE_TRY(not_equal("o", t.o, "columns", t.o.size(3), p.dv));
  for (const auto& [name, view] : {std::pair("k", &t.k), std::pair("v", &t.v), std::pair("o", &t.o)})
    if (view->dtype != p.dtype)
      return Status::invalid(op, std::string(name) + ".dtype", std::string(ridge::name(view->dtype)),
                             "that of q, " + std::string(ridge::name(p.dtype)));
  p.q = operand_of(t.q);
  p.k = operand_of(t.k);
  p.v = operand_of(t.v);
  p.o = operand_of(t.o);
  if (t.mask) {
    p.mask = t.mask->dtype == boolean ? AttentionMask::boolean : AttentionMask::additive;
    p.mask_dtype = t.mask->dtype;
    const Layout scores = Layout::contiguous({p.b, p.hq, p.sq, p.sk});
    const TensorView mask = broadcast_to(*t.mask, scores);
    if (!mask.layout.same_shape(scores))
      return Status::invalid(op, "mask.shape", t.mask->layout.text(), "such that it stretches to " + scores.text());
    p.mask_lies = operand_of(mask);
    if (p.sk <= 1) p.mask_lies->element = 0;
    p.mask_lies->phase = 0;  // read element by element
  }
  if (t.lse) {
    RIDGE_TRY(not_of_rank("lse", *t.lse, 3, "of 3 axes: batch, heads and rows"));
    RIDGE_TRY(not_equal("lse", *t.lse, "batch", t.lse->size(0), p.b));
    RIDGE_TRY(not_equal("lse", *t.lse, "heads", t.lse->size(1), p.hq));
    RIDGE_TRY(not_equal("lse", *t.lse, "rows", t.lse->size(2), p.sq));
    if (t.lse->dtype != f32) return Status::invalid(op, "lse.dtype", std::string(ridge::name(t.lse->dtype)), "f32");
    const auto stride = [&](int axis) { return t.lse->size(axis) <= 1 ? 0 : t.lse->stride(axis); };
    p.lse = true;
    p.lse_lies = AttentionOperand{stride(0), stride(1), stride(2), 1, 0};
  }
  return p;
}

using Named = std::pair<const char*, const TensorView*>;

// Refuses outputs that overlap a tensor, or each other, and tensors of several devices.
Status apart(std::initializer_list<Named> inputs, std::initializer_list<Named> outputs) {
  const Device device = outputs.begin()->second->device;
  const auto differ = [&](const Named& out, const Named& other) -> Status {
    if (!other.second || !out.second || other.second == out.second) return {};
    if (other.second->device != device)
      return Status::invalid(op, std::string(other.first) + ".device", "another",
                             std::string("that of ") + outputs.begin()->first);
    if (overlap(*other.second, *out.second))
      return Status::invalid(op, out.first, std::string("overlapping ") + other.first, "apart from it");
    return {};
  };
  for (const Named& out : outputs) {
    for (const Named& in : inputs) RIDGE_TRY(differ(out, in));
    for (const Named& other : outputs) RIDGE_TRY(differ(out, other));
  }
  return {};
}

}  // namespace

Result<AttentionProblem> AttentionProblem::of(const AttentionTensors& t, const AttentionRule& rule) {
  auto p = described(t, rule);
  if (!p) return p;
  RIDGE_TRY(apart({{"q", &t.q}, {"k", &t.k}, {"v", &t.v}, {"mask", t.mask ? &*t.mask : nullptr}},
                  {{"o", &t.o}, {"lse", t.lse ? &*t.lse : nullptr}}));
  return p;
}

Result<AttentionProblem> AttentionProblem::of_gradient(const AttentionGradientTensors& t, const AttentionRule& rule) {
  const struct {
    const char *name, *like;
    const TensorView *view, *of;
    std::optional<AttentionOperand> AttentionProblem::*operand;
  } gradients[] = {{"do", "o", &t.grad_o, &t.o, &AttentionProblem::grad_o},
                   {"dq", "q", &t.grad_q, &t.q, &AttentionProblem::grad_q},
                   {"dk", "k", &t.grad_k, &t.k, &AttentionProblem::grad_k},
                   {"dv", "v", &t.grad_v, &t.v, &AttentionProblem::grad_v}};
  auto p = described({.q = t.q, .k = t.k, .v = t.v, .o = t.o, .mask = t.mask, .lse = t.lse}, rule);
  if (!p) return p;
  p->backward = true;
  for (const auto& g : gradients) {
    if (!g.view->layout.same_shape(g.of->layout))
      return Status::invalid(op, std::string(g.name) + ".shape", g.view->layout.text(),
                             "that of " + std::string(g.like) + ", " + g.of->layout.text());
    if (g.view->dtype != p->dtype)
      return Status::invalid(op, std::string(g.name) + ".dtype", std::string(ridge::name(g.view->dtype)),
                             "that of q, " + std::string(ridge::name(p->dtype)));
    (*p).*g.operand = operand_of(*g.view);
  }
  RIDGE_TRY(apart({{"q", &t.q},
                   {"k", &t.k},
                   {"v", &t.v},
                   {"o", &t.o},
                   {"lse", &t.lse},
                   {"do", &t.grad_o},
                   {"mask", t.mask ? &*t.mask : nullptr}},
                  {{"dq", &t.grad_q}, {"dk", &t.grad_k}, {"dv", &t.grad_v}}));
  return p;
}

std::string AttentionProblem::text() const {
  std::ostringstream s;
  s << name(dtype) << " " << b << "x" << hq;
  if (hkv != hq) s << "/" << hkv;
  s << " heads, " << sq << "x" << sk << ", d " << d;
  if (dv != d && dv != 0) s << "/" << dv;
  const bool end = rule.align == AttentionAlign::lower_right;
  if (rule.left < 0 && rule.right == 0) s << ", causal" << (end ? " from the lower right" : "");
  else if (rule.left >= 0 || rule.right >= 0)
    s << ", window " << rule.left << "," << rule.right << (end ? " from the lower right" : "");
  if (mask != AttentionMask::none) s << (mask == AttentionMask::boolean ? ", boolean mask" : ", additive mask");
  if (rule.softcap > 0) s << ", softcap " << rule.softcap;
  if (rule.scale) s << ", scale " << *rule.scale;
  if (backward) s << ", backward" << (rule.nondeterministic ? " in any order" : "");
  else if (lse) s << ", lse";
  return s.str();
}

namespace attention_detail {

AttentionProblem with_operands(AttentionProblem p) {
  if (p.dv == 0) p.dv = p.d;
  const auto packed = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    const auto stride = [](std::int64_t size, std::int64_t s) { return size <= 1 ? 0 : s; };
    return AttentionOperand{stride(p.b, heads * rows * columns), stride(heads, rows * columns), stride(rows, columns),
                            1, 0};
  };
  if (!p.q) p.q = packed(p.hq, p.sq, p.d);
  if (!p.k) p.k = packed(p.hkv, p.sk, p.d);
  if (!p.v) p.v = packed(p.hkv, p.sk, p.dv);
  if (!p.o) p.o = packed(p.hq, p.sq, p.dv);
  if (!p.mask_lies && p.mask != AttentionMask::none) p.mask_lies = packed(p.hq, p.sq, p.sk);
  if (p.backward) {
    p.lse = true;
    if (!p.grad_o) p.grad_o = packed(p.hq, p.sq, p.dv);
    if (!p.grad_q) p.grad_q = packed(p.hq, p.sq, p.d);
    if (!p.grad_k) p.grad_k = packed(p.hkv, p.sk, p.d);
    if (!p.grad_v) p.grad_v = packed(p.hkv, p.sk, p.dv);
  }
  if (!p.lse_lies && p.lse) p.lse_lies = packed(p.hq, p.sq, 1);
  return p;
}

Status validate(const AttentionProblem& p) {
  const auto one_of = [](DType dtype, std::initializer_list<DType> list) {
    for (DType d : list)
      if (d == dtype) return true;
    return false;
  };
  if (!one_of(p.dtype, {f32, f16, bf16}))
    return Status::invalid(op, "q.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (p.b < 0 || p.hq < 0 || p.hkv < 0 || p.sq < 0 || p.sk < 0)
    return Status::invalid(op, "shape", p.text(), "of sizes from 0");
  for (const auto& [argument, size] : {std::pair("d", p.d), std::pair("dv", p.dv)})
    if (size < 1 || size > max_columns)
      return Status::invalid(op, argument, std::to_string(size), "1 to " + std::to_string(max_columns));
  if (p.hkv == 0 ? p.hq != 0 : p.hq % p.hkv != 0)
    return Status::invalid(op, "hq", std::to_string(p.hq),
                           "a multiple of hkv, the heads of k and v, " + std::to_string(p.hkv));
  for (const auto& [argument, size] : {std::pair("sq", p.sq), std::pair("sk", p.sk)})
    if (size >= most_rows) return Status::invalid(op, argument, std::to_string(size), "less than 2^30");
  const AttentionRule& r = p.rule;
  if (r.scale && !std::isfinite(*r.scale)) return Status::invalid(op, "scale", number(*r.scale), "finite");
  if (!std::isfinite(r.softcap) || r.softcap < 0)
    return Status::invalid(op, "softcap", number(r.softcap), "above 0, or 0 for none");
  for (const auto& [argument, bound] : {std::pair("left", r.left), std::pair("right", r.right)})
    if (bound < -1)
      return Status::invalid(op, std::string("window.") + argument, std::to_string(bound), "from 0 on, or -1 for all");
  if (p.mask == AttentionMask::boolean && p.mask_dtype != boolean)
    return Status::invalid(op, "mask.dtype", std::string(name(p.mask_dtype)), "bool");
  if (p.mask == AttentionMask::additive && p.mask_dtype != f32 && p.mask_dtype != p.dtype)
    return Status::invalid(op, "mask.dtype", std::string(name(p.mask_dtype)),
                           p.dtype == f32 ? "bool or f32" : "bool, f32 or that of q, " + std::string(name(p.dtype)));
  const struct {
    const char* name;
    std::optional<AttentionOperand> lies;
    std::int64_t heads, rows, columns;
  } outputs[] = {{"o", p.backward ? std::nullopt : p.o, p.hq, p.sq, p.dv},
                 {"dq", p.grad_q, p.hq, p.sq, p.d},
                 {"dk", p.grad_k, p.hkv, p.sk, p.d},
                 {"dv", p.grad_v, p.hkv, p.sk, p.dv}};
  for (const auto& out : outputs)
    if (out.lies && ((out.lies->batch == 0 && p.b > 1) || (out.lies->head == 0 && out.heads > 1) ||
                     (out.lies->row == 0 && out.rows > 1) || (out.lies->element == 0 && out.columns > 1)))
      return Status::invalid(op, std::string(out.name) + ".strides", "0", "such that elements are apart");
  return {};
}

}  // namespace attention_detail
}  // namespace ridge
