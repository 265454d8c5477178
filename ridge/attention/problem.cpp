// AttentionProblem: sizes and strides from views, with a sentence where they do not fit together.
#include <ridge/attention/validate.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/checked.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace ridge {

using namespace attention_detail;

namespace {

constexpr std::string_view op = "attention";

Status not_of_rank(const char* argument, const TensorView& v, int rank, const char* axes) {
  if (v.rank() == rank) return {};
  return Status::invalid(op, std::string(argument) + ".shape", v.layout.text(), axes);
}

// of: one of what the axis counts.
Status not_equal(const char* argument, const TensorView& v, const char* of, std::int64_t size, std::int64_t wanted) {
  if (size == wanted) return {};
  return Status::invalid(op, std::string(argument) + ".shape", v.layout.text(), "of " + count_text(wanted, of));
}
Status not_of_batch(const char* argument, const TensorView& v, std::int64_t size, std::int64_t wanted) {
  if (size == wanted) return {};
  return Status::invalid(op, std::string(argument) + ".shape", v.layout.text(),
                         "of a batch of " + std::to_string(wanted));
}

int alignment_offset_of(const TensorView& v) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(v.data) % 16); }

// An axis with one element gets stride 0: problems that differ only there compare equal.
AttentionOperand operand_of(const TensorView& v) {
  const auto stride = [&](int axis) { return v.size(axis) <= 1 ? 0 : v.stride(axis); };
  return {stride(0), stride(1), stride(2), v.size(3) <= 1 ? 1 : v.stride(3), alignment_offset_of(v)};
}

// Views [rows, heads, columns] of packed sequences as [1, heads, rows, columns].
TensorView rows_of_all(TensorView v) {
  Layout& l = v.layout;
  l.rank = 4;
  l.shape = {1, l.shape[1], l.shape[0], l.shape[2]};
  l.stride = {0, l.stride[1], l.stride[0], l.stride[2]};
  return v;
}

// Indices of cu_q and the like.
Result<AttentionIndices> indices_of(const char* argument, const TensorView& v, int rank, std::int64_t size) {
  const std::string name = argument;
  if (v.rank() != rank || v.size(0) != size)
    return Status::invalid(op, name + ".shape", v.layout.text(),
                           "of " + count_text(size, rank == 1 ? "element" : "row"));
  if (v.dtype != i32 && v.dtype != i64)
    return Status::invalid(op, name + ".dtype", std::string(ridge::name(v.dtype)), "i32 or i64");
  const auto stride = [&](int axis) { return v.size(axis) <= 1 ? 0 : v.stride(axis); };
  return AttentionIndices{v.dtype, rank == 1 ? 0 : stride(0), stride(rank - 1)};
}

// The views as [batch, heads, rows, columns]; the batch of K and V may be one of pages.
struct Headed {
  TensorView q, k, v, o;
};
Result<Headed> headed(const AttentionTensors& t) {
  constexpr auto batched = "of 4 axes: batch, heads, rows and columns",
                 packed = "of 3 axes, as sequences follow each other: rows, heads and columns",
                 paged = "of 4 axes: pages, rows, heads and columns";
  RIDGE_TRY(not_of_rank("q", t.q, t.cu_q ? 3 : 4, t.cu_q ? packed : batched));
  for (const auto& [name, view] : {std::pair("k", &t.k), std::pair("v", &t.v)})
    RIDGE_TRY(not_of_rank(name, *view, t.cu_k ? 3 : 4, t.cu_k ? packed : t.block_table ? paged : batched));
  RIDGE_TRY(not_of_rank("o", t.o, t.cu_q ? 3 : 4, t.cu_q ? packed : batched));
  const auto queries = [&](const TensorView& v) { return t.cu_q ? rows_of_all(v) : v; };
  const auto keys = [&](const TensorView& v) { return t.cu_k ? rows_of_all(v) : t.block_table ? heads_first(v) : v; };
  return Headed{queries(t.q), keys(t.k), keys(t.v), queries(t.o)};
}

// Adds cu_q, cu_k, lengths and block_table to a problem with the tensors' sizes, where sk is that of a page.
Status add_lengths(AttentionProblem& p, const AttentionTensors& t) {
  const auto add = [&](const char* name, const std::optional<TensorView>& view, int rank, std::int64_t size,
                       std::optional<AttentionIndices>& to) -> Status {
    if (!view) return {};
    auto indices = indices_of(name, *view, rank, size);
    if (indices) to = *indices;
    return indices.error();
  };
  RIDGE_TRY(add("cu_q", t.cu_q, 1, p.b + 1, p.cu_q));
  RIDGE_TRY(add("cu_k", t.cu_k, 1, p.b + 1, p.cu_k));
  RIDGE_TRY(add("lengths", t.lengths, 1, p.b, p.lengths));
  RIDGE_TRY(add("block_table", t.block_table, 2, p.b, p.block_table));
  if (t.cu_q) p.total_q = p.sq;
  if (t.cu_k) p.total_k = p.sk;
  if (t.block_table) {
    p.page = p.sk;
    p.pages = t.k.size(0);
    const std::int64_t columns = t.block_table->size(1);
    if (columns > 0 && p.page > most_rows / columns)
      return Status::invalid(op, "block_table.shape", t.block_table->layout.text(), "of fewer than 2^30 keys");
    p.sk = columns * p.page;
  }
  // A maximum beyond the existing rows has no effect.
  const auto limit = [](const char* name, bool uneven, std::int64_t given, std::int64_t& size) -> Status {
    if (given >= 0 && !uneven)
      return Status::invalid(op, name, std::to_string(given), "left out where all sequences are of one length");
    if (given >= 0) size = std::min(size, given);
    return {};
  };
  RIDGE_TRY(limit("max_q", t.cu_q.has_value(), t.max_q, p.sq));
  return limit("max_k", t.cu_k || t.lengths, t.max_k, p.sk);
}

// Checks q, k, v and o; the problem has its sizes from q, k and v.
Status check_shapes(const AttentionProblem& p, const AttentionTensors& t, const Headed& views) {
  const auto& [q, k, v, o] = views;
  if (!t.cu_k && !t.block_table) RIDGE_TRY(not_of_batch("k", t.k, k.size(0), p.b));
  RIDGE_TRY(t.block_table ? not_equal("v", t.v, "page", v.size(0), k.size(0))
                          : not_of_batch("v", t.v, v.size(0), k.size(0)));
  RIDGE_TRY(not_equal("v", t.v, "head", v.size(1), p.hkv));
  RIDGE_TRY(not_equal("v", t.v, "row", v.size(2), p.sk));
  RIDGE_TRY(not_equal("k", t.k, "column", k.size(3), p.d));
  RIDGE_TRY(not_of_batch("o", t.o, o.size(0), q.size(0)));
  RIDGE_TRY(not_equal("o", t.o, "head", o.size(1), p.hq));
  RIDGE_TRY(not_equal("o", t.o, "row", o.size(2), p.sq));
  RIDGE_TRY(not_equal("o", t.o, "column", o.size(3), p.dv));
  for (const auto& [name, view] : {std::pair("k", &t.k), std::pair("v", &t.v), std::pair("o", &t.o)})
    if (view->dtype != p.dtype)
      return Status::invalid(op, std::string(name) + ".dtype", std::string(ridge::name(view->dtype)),
                             "that of q, " + std::string(ridge::name(p.dtype)));
  return {};
}

Status add_mask(AttentionProblem& p, const AttentionTensors& t) {
  if (!t.mask) return {};
  p.mask = t.mask->dtype == boolean ? AttentionMask::boolean : AttentionMask::additive;
  p.mask_dtype = t.mask->dtype;
  const Layout scores = Layout::contiguous({p.b, p.hq, p.sq, p.sk});
  const TensorView mask = broadcast_to(*t.mask, scores);
  const bool uneven = t.cu_q || t.cu_k || t.lengths;  // refused by validate()
  if (!uneven && !mask.layout.same_shape(scores))
    return Status::invalid(op, "mask.shape", t.mask->layout.text(), "one that broadcasts to " + scores.text());
  if (!uneven) p.mask_layout = operand_of(mask);
  else p.mask_layout = AttentionOperand{};
  if (p.sk <= 1) p.mask_layout->element = 0;
  p.mask_layout->alignment_offset = 0;  // kernels that read pairs test the alignment themselves
  return {};
}

Status add_lse(AttentionProblem& p, const AttentionTensors& t) {
  if (!t.lse) return {};
  const int rank = t.cu_q ? 2 : 3;
  RIDGE_TRY(
      not_of_rank("lse", *t.lse, rank, t.cu_q ? "of 2 axes: heads and rows" : "of 3 axes: batch, heads and rows"));
  if (!t.cu_q) RIDGE_TRY(not_of_batch("lse", *t.lse, t.lse->size(0), p.b));
  RIDGE_TRY(not_equal("lse", *t.lse, "head", t.lse->size(-2), p.hq));
  RIDGE_TRY(not_equal("lse", *t.lse, "row", t.lse->size(-1), p.sq));
  if (t.lse->dtype != f32) return Status::invalid(op, "lse.dtype", std::string(ridge::name(t.lse->dtype)), "f32");
  const auto stride = [&](int axis) { return t.lse->size(axis) <= 1 ? 0 : t.lse->stride(axis); };
  p.lse = true;
  p.lse_layout = AttentionOperand{t.cu_q ? 0 : stride(0), stride(-2), stride(-1), 1, 0};
  return {};
}

// Problem of q, k, v, o, mask, lse and lengths, whether they are inputs or outputs.
Result<AttentionProblem> described(const AttentionTensors& t, const AttentionRule& rule) {
  const auto views = headed(t);
  if (!views) return views.error();
  const auto& [q, k, v, o] = *views;
  AttentionProblem p;
  if (t.cu_q && (t.cu_q->rank() != 1 || t.cu_q->size(0) == 0))
    return Status::invalid(op, "cu_q.shape", t.cu_q->layout.text(), "of one element more than there are sequences");
  p.b = t.cu_q ? t.cu_q->size(0) - 1 : q.size(0);
  p.hq = q.size(1);
  p.hkv = k.size(1);
  p.sq = q.size(2);
  p.sk = k.size(2);
  p.d = q.size(3);
  p.dv = v.size(3);
  p.dtype = t.q.dtype;
  p.rule = rule;
  if (p.dv == 0)  // a problem written by hand has 0 for the default
    return Status::invalid(op, "dv", "0", "from 1 to " + std::to_string(max_columns));
  RIDGE_TRY(check_shapes(p, t, *views));
  p.q = operand_of(q);
  p.k = operand_of(k);
  p.v = operand_of(v);
  p.o = operand_of(o);
  RIDGE_TRY(add_mask(p, t));
  RIDGE_TRY(add_lse(p, t));
  RIDGE_TRY(add_lengths(p, t));
  return p;
}

using Named = std::pair<const char*, const TensorView*>;

const TensorView* if_given(const std::optional<TensorView>& v) { return v ? &*v : nullptr; }

// Refuses outputs that overlap a tensor or each other, and tensors on different devices.
Status apart(std::initializer_list<Named> inputs, std::initializer_list<Named> outputs) {
  const Device device = outputs.begin()->second->device;
  const auto differ = [&](const Named& out, const Named& other) -> Status {
    if (!other.second || !out.second || other.second == out.second) return {};
    RIDGE_TRY(check_same_device(op, other.first, other.second->device, outputs.begin()->first, device));
    return check_no_overlap(op, out.first, *out.second, other.first, *other.second);
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
  RIDGE_TRY(apart({{"q", &t.q},
                   {"k", &t.k},
                   {"v", &t.v},
                   {"mask", if_given(t.mask)},
                   {"cu_q", if_given(t.cu_q)},
                   {"cu_k", if_given(t.cu_k)},
                   {"lengths", if_given(t.lengths)},
                   {"block_table", if_given(t.block_table)}},
                  {{"o", &t.o}, {"lse", if_given(t.lse)}}));
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
  auto p = described({.q = t.q,
                      .k = t.k,
                      .v = t.v,
                      .o = t.o,
                      .mask = t.mask,
                      .lse = t.lse,
                      .cu_q = t.cu_q,
                      .cu_k = t.cu_k,
                      .max_q = t.max_q,
                      .max_k = t.max_k},
                     rule);
  if (!p) return p;
  p->backward = true;
  if (t.mask && p->mask_layout) p->mask_layout->alignment_offset = alignment_offset_of(*t.mask);  // for a copy
  for (const auto& g : gradients) {
    if (!g.view->layout.same_shape(g.of->layout))
      return Status::invalid(op, std::string(g.name) + ".shape", g.view->layout.text(),
                             "that of " + std::string(g.like) + ", " + g.of->layout.text());
    if (g.view->dtype != p->dtype)
      return Status::invalid(op, std::string(g.name) + ".dtype", std::string(ridge::name(g.view->dtype)),
                             "that of q, " + std::string(ridge::name(p->dtype)));
    (*p).*g.operand = operand_of(g.view->rank() == 3 ? rows_of_all(*g.view) : *g.view);
  }
  RIDGE_TRY(apart({{"q", &t.q},
                   {"k", &t.k},
                   {"v", &t.v},
                   {"o", &t.o},
                   {"lse", &t.lse},
                   {"do", &t.grad_o},
                   {"mask", if_given(t.mask)},
                   {"cu_q", if_given(t.cu_q)},
                   {"cu_k", if_given(t.cu_k)}},
                  {{"dq", &t.grad_q}, {"dk", &t.grad_k}, {"dv", &t.grad_v}}));
  return p;
}

std::string AttentionProblem::text() const {
  Text s;
  s << name(dtype) << " " << b << "x" << hq;
  if (hkv != hq) s << "/" << hkv;
  s << " heads, " << (cu_q || cu_k || lengths ? "up to " : "") << sq << "x" << sk << ", d " << d;
  if (dv != d && dv != 0) s << "/" << dv;
  if (cu_q) s << ", " << total_q << " queries in all";
  if (cu_k) s << ", " << total_k << " keys in all";
  if (block_table) s << ", " << pages << " pages of " << page << " keys";
  else if (lengths) s << ", lengths of keys";
  const bool end = rule.align == AttentionAlign::lower_right;
  if (rule.left < 0 && rule.right == 0) s << ", causal" << (end ? " from the lower right" : "");
  else if (rule.left >= 0 || rule.right >= 0)
    s << ", window " << rule.left << "," << rule.right << (end ? " from the lower right" : "");
  if (mask != AttentionMask::none) s << (mask == AttentionMask::boolean ? ", boolean mask" : ", additive mask");
  if (rule.softcap > 0) s << ", softcap " << rule.softcap;
  if (rule.scale) s << ", scale " << *rule.scale;
  if (rule.math == AttentionMath::bf16x6) s << ", bf16x6";
  if (rule.accumulate == Accumulate::two_float) s << ", in two floats";
  if (backward) s << ", backward" << (rule.nondeterministic ? " in any order" : "");
  else if (lse) s << ", lse";
  return s.str();
}

namespace attention_detail {

AttentionProblem with_operands(AttentionProblem p) {
  if (p.dv == 0) p.dv = p.d;
  struct Axis {
    std::int64_t batch, rows;
    bool packed;  // rows of packed sequences, [rows, heads, columns]
  };
  const Axis queries = p.cu_q ? Axis{1, p.total_q, true} : Axis{p.b, p.sq, false};
  const Axis keys = p.block_table ? Axis{p.pages, p.page, true}
                    : p.cu_k      ? Axis{1, p.total_k, true}
                                  : Axis{p.b, p.sk, false};
  const auto stride = [](std::int64_t size, std::int64_t s) { return size <= 1 ? 0 : s; };
  const auto packed = [&](const Axis& of, std::int64_t heads, std::int64_t columns) {
    const std::int64_t matrix = saturating_product(of.rows, columns);  // before validate() has checked these sizes
    const std::int64_t head = of.packed ? columns : matrix,
                       row = of.packed ? saturating_product(heads, columns) : columns;
    return AttentionOperand{stride(of.batch, saturating_product(heads, matrix)), stride(heads, head),
                            stride(of.rows, row), 1, 0};
  };
  if (!p.q) p.q = packed(queries, p.hq, p.d);
  if (!p.k) p.k = packed(keys, p.hkv, p.d);
  if (!p.v) p.v = packed(keys, p.hkv, p.dv);
  if (!p.o) p.o = packed(queries, p.hq, p.dv);
  if (!p.mask_layout && p.mask != AttentionMask::none) p.mask_layout = packed({p.b, p.sq, false}, p.hq, p.sk);
  if (p.backward) {
    p.lse = true;
    if (!p.grad_o) p.grad_o = packed(queries, p.hq, p.dv);
    if (!p.grad_q) p.grad_q = packed(queries, p.hq, p.d);
    if (!p.grad_k) p.grad_k = packed(keys, p.hkv, p.d);
    if (!p.grad_v) p.grad_v = packed(keys, p.hkv, p.dv);
  }
  if (!p.lse_layout && p.lse) p.lse_layout = packed({queries.batch, queries.rows, false}, p.hq, 1);
  return p;
}

// Checks of validate(): types and sizes, ...
static Status check_sizes_of(const AttentionProblem& p) {
  const auto one_of = [](DType dtype, std::initializer_list<DType> list) {
    for (DType d : list)
      if (d == dtype) return true;
    return false;
  };
  if (!one_of(p.dtype, {f32, f16, bf16}))
    return Status::invalid(op, "q.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (p.b < 0 || p.hq < 0 || p.hkv < 0 || p.sq < 0 || p.sk < 0)
    return Status::invalid(op, "shape", p.text(), "of sizes that are 0 or more");
  for (const auto& [argument, size] : {std::pair("d", p.d), std::pair("dv", p.dv)})
    if (size < 1 || size > max_columns)
      return Status::invalid(op, argument, std::to_string(size), "from 1 to " + std::to_string(max_columns));
  if (p.hkv == 0 ? p.hq != 0 : p.hq % p.hkv != 0)
    return Status::invalid(op, "hq", std::to_string(p.hq),
                           "a multiple of hkv, the heads of k and v, " + std::to_string(p.hkv));
  if (p.total_q < 0 || p.total_k < 0 || p.pages < 0)
    return Status::invalid(op, "shape", p.text(), "of sizes that are 0 or more");
  for (const auto& [argument, heads, rows, columns] :
       {std::tuple("q.shape", p.hq, p.sq, p.d), std::tuple("k.shape", p.hkv, p.sk, p.d),
        std::tuple("o.shape", p.hq, p.sq, p.dv)})
    RIDGE_TRY(check_sizes(op, argument, {p.b, heads, rows, columns}));
  RIDGE_TRY(check_sizes(op, "pages", {p.pages, std::max<std::int64_t>(p.page, 0), p.hkv, p.d}));
  for (const auto& [argument, size] :
       {std::pair("sq", p.sq), std::pair("sk", p.sk), std::pair("total_q", p.total_q), std::pair("total_k", p.total_k)})
    if (size >= most_rows) return Status::invalid(op, argument, std::to_string(size), "less than 2^30");
  return {};
}

// ... the tensors that describe sequences, ...
static Status check_lengths_of(const AttentionProblem& p) {
  if (p.mask != AttentionMask::none && (p.cu_q || p.cu_k || p.lengths))
    return Status::invalid(op, "mask", "given with sequences of uneven lengths", "left out");
  if (p.cu_k && p.lengths)
    return Status::invalid(op, "lengths", "given with cu_k", "left out: cu_k says how many keys a sequence has");
  if (p.block_table) {
    if (!p.lengths) return Status::invalid(op, "lengths", "missing", "given with block_table");
    if (p.page < least_page || (p.page & (p.page - 1)) != 0)
      return Status::invalid(op, "the number of rows of a page", std::to_string(p.page),
                             "a power of two, at least " + std::to_string(least_page));
  }
  if (p.backward && p.lengths)
    return Status::invalid(op, "lengths", "given with backward", "left out: it is for the forward pass");
  return {};
}

static Status check_rule(const AttentionProblem& p) {
  const AttentionRule& r = p.rule;
  if (r.math != AttentionMath::exact && (p.dtype != f32 || p.backward))
    return Status::invalid(op, "math", p.backward ? "bf16x6 with backward" : "bf16x6 of " + std::string(name(p.dtype)),
                           "exact: only the forward pass of f32 may be emulated");
  if (r.accumulate == Accumulate::two_float) {
    const auto wrong = [](const std::string& why) { return Status::invalid(op, "accumulate", "two_float", why); };
    if (p.dtype != f32) return wrong("left out: it is for f32, and q is " + std::string(name(p.dtype)));
    if (p.backward) return wrong("left out with backward: it is for the forward pass");
    if (r.softcap != 0) return wrong("left out with a softcap");
    if (r.math != AttentionMath::exact) return wrong("left out where math is bf16x6");
  }
  constexpr double most = std::numeric_limits<float>::max();
  if (r.scale && !(std::fabs(*r.scale) <= most))
    return Status::invalid(op, "scale", number_text(*r.scale), "finite in float32");
  if (!(r.softcap >= 0 && r.softcap <= most))
    return Status::invalid(op, "softcap", number_text(r.softcap), "above 0 and finite in float32, or 0 for none");
  for (const auto& [argument, bound] : {std::pair("left", r.left), std::pair("right", r.right)})
    if (bound < -1)
      return Status::invalid(op, std::string("window.") + argument, std::to_string(bound), "0 or more, or -1 for all");
  return {};
}

static Status check_mask_type(const AttentionProblem& p) {
  if (p.mask == AttentionMask::boolean && p.mask_dtype != boolean)
    return Status::invalid(op, "mask.dtype", std::string(name(p.mask_dtype)), "bool");
  if (p.mask == AttentionMask::additive && p.mask_dtype != f32 && p.mask_dtype != p.dtype)
    return Status::invalid(op, "mask.dtype", std::string(name(p.mask_dtype)),
                           p.dtype == f32 ? "bool or f32" : "bool, f32 or that of q, " + std::string(name(p.dtype)));
  return {};
}

// ... and outputs: no two elements share an address.
static Status check_outputs_apart(const AttentionProblem& p) {
  const struct {
    const char* name;
    std::optional<AttentionOperand> layout;
    std::int64_t batch, heads, rows, columns;
  } outputs[] = {
      {"o", p.backward ? std::nullopt : p.o, p.cu_q ? 1 : p.b, p.hq, p.cu_q ? p.total_q : p.sq, p.dv},
      {"lse", p.backward ? std::nullopt : p.lse_layout, p.cu_q ? 1 : p.b, p.hq, p.cu_q ? p.total_q : p.sq, 1},
      {"dq", p.grad_q, p.cu_q ? 1 : p.b, p.hq, p.cu_q ? p.total_q : p.sq, p.d},
      {"dk", p.grad_k, p.cu_k ? 1 : p.b, p.hkv, p.cu_k ? p.total_k : p.sk, p.d},
      {"dv", p.grad_v, p.cu_k ? 1 : p.b, p.hkv, p.cu_k ? p.total_k : p.sk, p.dv}};
  for (const auto& out : outputs)
    if (out.layout)
      RIDGE_TRY(check_elements_apart(
          op, out.name,
          {.rank = 4,
           .shape = {out.batch, out.heads, out.rows, out.columns},
           .stride = {out.layout->batch, out.layout->head, out.layout->row, out.layout->element}}));
  return {};
}

Status validate(const AttentionProblem& p) {
  RIDGE_TRY(check_sizes_of(p));
  RIDGE_TRY(check_lengths_of(p));
  RIDGE_TRY(check_rule(p));
  RIDGE_TRY(check_mask_type(p));
  return check_outputs_apart(p);
}

}  // namespace attention_detail
}  // namespace ridge
