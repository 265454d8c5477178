// attention's cases: what tests, benchmarks and the command line run.
//
// Further keys: dv; mask=1 (bool), 2 (additive, of q's type) or 3 (additive, f32), of the axes mb, mh, mq and sk, which
// are 1, 1 and sq unless they are given. Where inputs= names cu_q, cu_k or lengths, sequences are of uneven lengths drawn
// from the seed, the first having sq queries and sk keys: around the edges of tiles, or with uneven=2 from half of these
// on. paged: keys of a page, 16 unless it is given. wide=1: cu_q and the others are int64.
#pragma once
#include <ridge/attention/oracle.hpp>
#include <ridge/attention/request.hpp>
#include <ridge/check/case_book.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

namespace ridge::attention_detail {

struct Sizes {
  std::int64_t b, hq, hkv, sq, sk, d, dv, mask, mb, mh, mq;
  explicit Sizes(const check::Case& c)
      : b(c.dim("b")),
        hq(c.dim("hq")),
        hkv(c.dim("hkv")),
        sq(c.dim("sq")),
        sk(c.dim("sk")),
        d(c.dim("d")),
        dv(c.dim("dv", d)),
        mask(c.dim("mask", 0)),
        mb(c.dim("mb")),
        mh(c.dim("mh")),
        mq(c.dim("mq", sq)) {}
};

// The sequences of a case: how long each is, where those that follow each other begin, and which pages they have.
struct CaseSequences {
  bool packed_q, packed_k, lengths, paged;  // whether there is cu_q, cu_k, lengths, block_table
  std::vector<std::int64_t> q, k, from_q{0}, from_k{0};
  std::int64_t page, columns, pages = 0;  // columns: of the table
  std::vector<std::int64_t> table;        // [b][columns]

  explicit CaseSequences(const check::Case& c)
      : packed_q(brings(c, "cu_q")),
        packed_k(brings(c, "cu_k")),
        lengths(brings(c, "lengths")),
        paged(brings(c, "block_table")),
        page(c.dim("paged", 16)),
        columns(page > 0 ? (c.dim("sk") + page - 1) / page : 0) {
    const Sizes s(c);
    auto seed = c.options.integer("attention", "seed", 1);
    std::mt19937_64 random(seed ? static_cast<std::uint64_t>(*seed) : 1);
    const auto draw = [&](bool uneven, std::int64_t first, std::int64_t most) {
      constexpr std::int64_t edges[] = {0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129};
      if (!uneven || first == 0) return most;
      if (c.dim("uneven") == 2)
        return most - static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most / 2 + 1));
      if (random() % 2) return std::min(most, edges[random() % std::size(edges)]);
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    for (std::int64_t b = 0; b < s.b; ++b) {
      q.push_back(draw(packed_q, b, s.sq));
      k.push_back(draw(packed_k || lengths, b, s.sk));
      from_q.push_back(from_q.back() + q.back());
      from_k.push_back(from_k.back() + k.back());
    }
    if (!paged || page <= 0) return;
    // Pages in any order, two of which are nobody's; behind a sequence's there are numbers of none.
    std::vector<std::int64_t> numbers(2);
    for (std::int64_t keys : k) numbers.resize(numbers.size() + static_cast<std::size_t>((keys + page - 1) / page));
    pages = static_cast<std::int64_t>(numbers.size());
    for (std::int64_t n = 0; n < pages; ++n) numbers[n] = n;
    std::shuffle(numbers.begin(), numbers.end(), random);
    for (std::int64_t keys : k)
      for (std::int64_t n = 0; n < columns; ++n) {
        const bool used = n * page < keys;
        table.push_back(used ? numbers.back() : 1 << 30);
        if (used) numbers.pop_back();
      }
  }
  static bool brings(const check::Case& c, std::string_view name) {
    const std::string list = "," + std::string(c.options.text("inputs")) + ",";
    return list.find("," + std::string(name) + ",") != std::string::npos;
  }
  std::int64_t queries() const { return from_q.back(); }
};

// Where element (b, h, row, column) of q, k, v or o lies: in a packed tensor of either layout, ...
struct Packed {
  std::int64_t heads, rows, columns;
  bool rows_first;
  const std::vector<std::int64_t>* from = nullptr;  // ... among the rows of all sequences, which begin there, ...
  const CaseSequences* cache = nullptr;             // ... or in pages
  std::int64_t operator()(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t column = 0) const {
    if (cache) {
      const std::int64_t page = cache->table[b * cache->columns + row / cache->page];
      return ((page * cache->page + row % cache->page) * heads + h) * columns + column;
    }
    if (from) return (((*from)[b] + row) * heads + h) * columns + column;
    return (rows_first ? (b * rows + row) * heads + h : (b * heads + h) * rows + row) * columns + column;
  }
};
inline Packed packed_queries(const CaseSequences& of, const Sizes& s, std::int64_t columns, bool rows_first) {
  return {s.hq, s.sq, columns, rows_first, of.packed_q ? &of.from_q : nullptr};
}
inline Packed packed_keys(const CaseSequences& of, const Sizes& s, std::int64_t columns, bool rows_first) {
  return {s.hkv, s.sk, columns, rows_first, of.packed_k ? &of.from_k : nullptr, of.paged ? &of : nullptr};
}

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const Sizes s(c);
  const CaseSequences sequences(c);
  const auto tensor = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    return request->rows_first ? TensorType{c.dtype, {s.b, rows, heads, columns}}
                               : TensorType{c.dtype, {s.b, heads, rows, columns}};
  };
  const auto queries = [&](std::int64_t columns) {
    return sequences.packed_q ? TensorType{c.dtype, {sequences.queries(), s.hq, columns}} : tensor(s.hq, s.sq, columns);
  };
  const auto keys = [&](std::int64_t columns) {
    return sequences.paged      ? TensorType{c.dtype, {sequences.pages, sequences.page, s.hkv, columns}}
           : sequences.packed_k ? TensorType{c.dtype, {sequences.from_k.back(), s.hkv, columns}}
                                : tensor(s.hkv, s.sk, columns);
  };
  std::vector<TensorType> types{queries(s.d), keys(s.d), keys(s.dv)};
  if (request->backward) {
    types.insert(types.begin(), queries(s.dv));
    types.push_back(queries(s.dv));
    types.push_back({f32, sequences.packed_q ? std::vector{s.hq, sequences.queries()} : std::vector{s.b, s.hq, s.sq}});
  }
  if (s.mask < 0 || s.mask > 3) return Status::invalid("attention", "mask", std::to_string(s.mask), "0 to 3");
  if (s.mask) types.push_back({s.mask == 1 ? boolean : s.mask == 2 ? c.dtype : f32, {s.mb, s.mh, s.mq, s.sk}});
  const DType whole = c.dim("wide", 0) ? i64 : i32;
  if (sequences.packed_q) types.push_back({whole, {s.b + 1}});
  if (sequences.packed_k) types.push_back({whole, {s.b + 1}});
  if (sequences.lengths) types.push_back({whole, {s.b}});
  if (sequences.paged) types.push_back({whole, {s.b, sequences.columns}});
  return types;
}

// fill=nan and fill=inf: q is finite; single keys have NaN throughout, and single values NaN or infinities in some
// columns, so that a mask decides who sees them. A mask tensor hides every fifth key, and all of them from query 1.
inline void fill_qkv(const check::Case& c, const CaseSequences& sequences, std::span<check::HostTensor> in,
                     std::vector<double>* mask) {
  const Sizes s(c);
  const std::string_view fill = c.options.text("fill", "normal");
  const bool rows_first = request_of(c.operator_options())->rows_first;
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Packed k = packed_keys(sequences, s, s.d, rows_first), v = packed_keys(sequences, s, s.dv, rows_first);
  if (sequences.lengths) {  // what is no sequence's must not matter
    std::vector<double> used[2];
    for (int t : {0, 1}) used[t].resize(in[1 + t].values.size(), nan);
    for (std::int64_t b = 0; b < s.b; ++b)
      for (std::int64_t h = 0; h < s.hkv; ++h)
        for (std::int64_t j = 0; j < sequences.k[b]; ++j) {
          for (std::int64_t i = 0; i < s.d; ++i) used[0][k(b, h, j, i)] = in[1].values[k(b, h, j, i)];
          for (std::int64_t i = 0; i < s.dv; ++i) used[1][v(b, h, j, i)] = in[2].values[v(b, h, j, i)];
        }
    for (int t : {0, 1}) in[1 + t].values = std::move(used[t]);
  }
  if (fill == "nan" || fill == "inf") {
    const auto finite = [](double& x) {
      if (!std::isfinite(x)) x = 0.25;
    };
    std::ranges::for_each(in[0].values, finite);
    for (std::int64_t b = 0; b < s.b; ++b)
      for (std::int64_t h = 0; h < s.hkv; ++h)
        for (std::int64_t j = 0; j < sequences.k[b]; ++j) {
          for (std::int64_t i = 0; i < s.d; ++i) finite(in[1].values[k(b, h, j, i)]);
          for (std::int64_t i = 0; i < s.dv; ++i) finite(in[2].values[v(b, h, j, i)]);
        }
    for (std::int64_t b = 0; b < s.b; ++b)
      for (std::int64_t h = 0; h < s.hkv; ++h)
        for (std::int64_t j : {sequences.k[b] / 3, sequences.k[b] - 1}) {
          if (j < 0 || j >= sequences.k[b]) continue;
          for (std::int64_t i = 0; fill == "nan" && i < s.d; ++i) in[1].values[k(b, h, j, i)] = nan;
          for (std::int64_t i = 0; i < s.dv; i += 3)
            in[2].values[v(b, h, j, i)] = fill == "nan" ? nan : i % 2 ? infinity : -infinity;
        }
  }
  if (!mask || s.sk == 0) return;
  for (std::size_t at = 0; at < mask->size(); ++at) {
    double& value = (*mask)[at];
    const auto row = static_cast<std::int64_t>(at) / s.sk;
    if (row % s.mq == 1 || at % 5 == 2) value = s.mask == 1 ? 0 : -infinity;
    else if (!std::isfinite(value)) value = 1;
  }
}

// What a query makes of every key: masks (-inf where it does not attend) and scores. Of q, k, v by name, wherever they are
// among a request's tensors.
struct CaseRows {
  Request request;
  Sizes s;
  CaseSequences sequences;
  double scale;
  Packed at_q, at_k, at_v, at_o;
  const double *q, *k, *v, *mask;
  std::vector<double> masks;
  std::vector<Score> scores;

  CaseRows(const check::Case& c, const std::vector<check::HostTensor>& in)
      : request(*request_of(c.operator_options())),
        s(c),
        sequences(c),
        scale(request.rule.scale ? *request.rule.scale : 1 / std::sqrt(static_cast<double>(s.d))),
        at_q(packed_queries(sequences, s, s.d, request.rows_first)),
        at_k(packed_keys(sequences, s, s.d, request.rows_first)),
        at_v(packed_keys(sequences, s, s.dv, request.rows_first)),
        at_o(packed_queries(sequences, s, s.dv, request.rows_first)) {
    const std::size_t first = request.backward ? 1 : 0;
    q = in[first].values.data();
    k = in[first + 1].values.data();
    v = in[first + 2].values.data();
    mask = s.mask ? in.back().values.data() : nullptr;
  }
  CaseRows(const CaseRows&) = delete;  // at_q and the others point to its sequences

  std::int64_t queries(std::int64_t b) const { return sequences.q[b]; }
  std::int64_t keys(std::int64_t b) const { return sequences.k[b]; }
  std::int64_t at_lse(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return sequences.packed_q ? h * sequences.queries() + sequences.from_q[b] + i : (b * s.hq + h) * s.sq + i;
  }
  std::int64_t key_head(std::int64_t h) const { return h / (s.hq / s.hkv); }
  void look_at(std::int64_t b, std::int64_t h, std::int64_t i) {
    const AttentionRule& rule = request.rule;
    const std::int64_t shift = rule.align == AttentionAlign::lower_right ? keys(b) - queries(b) : 0;
    masks.resize(static_cast<std::size_t>(keys(b)));
    scores.resize(masks.size());
    for (std::int64_t j = 0; j < keys(b); ++j) {
      const std::int64_t away = j - i - shift;
      bool attends = (rule.right < 0 || away <= rule.right) && (rule.left < 0 || -away <= rule.left);
      double more = 0;
      if (mask) {
        const std::int64_t axes[] = {s.mb == 1 ? 0 : b, s.mh == 1 ? 0 : h, s.mq == 1 ? 0 : i};
        more = mask[((axes[0] * s.mh + axes[1]) * s.mq + axes[2]) * s.sk + j];
        if (s.mask == 1) attends = attends && more != 0, more = 0;
      }
      masks[j] = attends ? more : -std::numeric_limits<double>::infinity();
      scores[j] =
          score_oracle(q + at_q(b, h, i), 1, k + at_k(b, key_head(h), j), 1, s.d, scale, rule.softcap, masks[j]);
    }
  }
  bool attended(std::int64_t j) const { return scores[j].value != -std::numeric_limits<double>::infinity(); }
  // What a score may be off by, beside `other` magnitudes that it is taken together with.
  double score_error(std::int64_t j, double other) const {
    const double u = check::roundoff(f32);
    return (static_cast<double>(s.d) + 1) * u * scores[j].magnitude +
           4 * u * (std::fabs(scores[j].value) + other + std::fabs(masks[j])) + 16 * u * request.rule.softcap;
  }
};

// A gradient's o and lse are what the forward pass gives.
inline void as_inputs(const check::Case& c, std::vector<check::HostTensor>& in) {
  const Sizes s(c);
  const CaseSequences sequences(c);
  const bool backward = request_of(c.operator_options())->backward;
  // cu_q and the others are the last ones.
  auto last = in.end();
  const auto set = [&](bool there, const std::vector<std::int64_t>& values) {
    if (there) (--last)->values.assign(values.begin(), values.end());
  };
  set(sequences.paged, sequences.table);
  set(sequences.lengths, sequences.k);
  set(sequences.packed_k, sequences.from_k);
  set(sequences.packed_q, sequences.from_q);
  // Benchmarks' tensors may be too large to have values here.
  for (const check::HostTensor& tensor : std::span(in.begin(), last))
    if (static_cast<std::int64_t>(tensor.values.size()) != tensor.rows() * tensor.cols()) return;
  fill_qkv(c, sequences, std::span(in).subspan(backward ? 1 : 0, 3), s.mask ? &in.back().values : nullptr);
  if (!backward) return;
  for (double& x : in[0].values)
    if (!std::isfinite(x)) x = -0.5;
  CaseRows rows(c, in);
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t h = 0; h < s.hq; ++h)
      for (std::int64_t i = 0; i < rows.queries(b); ++i) {
        rows.look_at(b, h, i);
        const WeightsOracle row(rows.scores);
        in[5].values[rows.at_lse(b, h, i)] = row.log_sum;
        for (std::int64_t column = 0; column < s.dv; ++column) {
          double sum = 0;
          for (std::int64_t j = 0; j < rows.keys(b); ++j)
            if (rows.attended(j)) sum += row.weights[j] * rows.v[rows.at_v(b, rows.key_head(h), j, column)];
          in[4].values[rows.at_o(b, h, i, column)] = sum;
        }
      }
}

// Tolerance, in units u of float32. A product of d terms, in any order, errs by (d + 1) u of their absolute sum; the
// scale, the softcap (16 u of it), the mask and the exponent's rounding by 4 u of the score, of the greatest one and of
// the mask. Such an error delta of a score is a factor exp(delta) of its weight w, which changes O by
// w (|v| + |O|) delta. Sums of n weighted values err by (n + 8) u of their absolute sum (a rescaling per tile is among
// these), exponentials and the quotient are in the 8. Where types have 16 bits, weights are rounded to them before they
// meet V, and f16 loses what is below 2^-25 of the greatest. Then one rounding into O's type.
inline std::vector<check::Expected> forward_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  CaseRows rows(c, in);
  const Sizes& s = rows.s;
  const double u = check::roundoff(f32);
  const double u16 = c.dtype == f32 ? 0 : check::roundoff(c.dtype), lost = c.dtype == f16 ? 0x1p-25 : 0x1p-126;
  check::Expected o, lse;
  lse.value.resize(static_cast<std::size_t>(s.hq * rows.sequences.queries()));
  o.value.resize(lse.value.size() * static_cast<std::size_t>(s.dv));
  o.tolerance.resize(o.value.size());
  lse.tolerance.resize(lse.value.size());
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t h = 0; h < s.hq; ++h)
      for (std::int64_t i = 0; i < rows.queries(b); ++i) {
        rows.look_at(b, h, i);
        const WeightsOracle row(rows.scores);
        const double n = static_cast<double>(s.sk);
        std::vector<double> errors(rows.scores.size());  // relative, of weights
        double of_log = 0;
        for (std::int64_t j = 0; j < rows.keys(b); ++j) {
          if (!(row.weights[j] > 0)) continue;
          errors[j] = std::expm1(rows.score_error(j, std::fabs(row.max)));
          of_log += row.weights[j] * errors[j];
        }
        for (std::int64_t column = 0; column < s.dv; ++column) {
          const auto v = [&](std::int64_t j) { return rows.v[rows.at_v(b, rows.key_head(h), j, column)]; };
          double want = 0, size = 0, all = 0, error = 0;
          for (std::int64_t j = 0; j < rows.keys(b); ++j) {
            if (!rows.attended(j)) continue;
            want += row.weights[j] * v(j);
            size += row.weights[j] * std::fabs(v(j));
            all += std::fabs(v(j));
          }
          for (std::int64_t j = 0; j < rows.keys(b); ++j)
            if (row.weights[j] > 0) error += row.weights[j] * errors[j] * (std::fabs(v(j)) + std::fabs(want));
          error += ((n + 8) * u + u16) * size + lost * all;
          const std::int64_t at = rows.at_o(b, h, i, column);
          o.value[at] = want;
          const bool attends = std::isfinite(row.max);
          o.tolerance[at] =
              std::isfinite(want) && attends ? error + check::rounding_error(c.dtype, std::fabs(want) + error) : 0;
        }
        const std::int64_t at = rows.at_lse(b, h, i);
        lse.value[at] = row.log_sum;
        lse.tolerance[at] = of_log + (n + 8) * u + 4 * u * (std::fabs(row.max) + std::fabs(row.log_sum));
      }
  if (rows.request.lse) return {o, lse};
  return {o};
}

// Sums with their errors, for one gradient.
struct GradientSums {
  struct Sum {
    double value = 0, size = 0, error = 0;  // size: of the terms, absolutely; error: what they themselves err by
  };
  std::vector<Sum> sums;
  explicit GradientSums(std::int64_t n) : sums(static_cast<std::size_t>(n)) {}
  void add(std::int64_t at, double factor, double error, double element) {
    Sum& sum = sums[static_cast<std::size_t>(at)];
    sum.value += factor * element;
    sum.size += std::fabs(factor * element);
    sum.error += error * std::fabs(element);
  }
  // n terms in any order err by n u of their absolute sum; the scale and the product by 3 u. Terms that underflow lose
  // 2^-149 each. Then one rounding into the type, beyond whose range it is infinite.
  check::Expected expected(DType dtype, double n, double scale) const {
    check::Expected e;
    for (const Sum& sum : sums) {
      const double want = scale * sum.value, stored = check::round_to(dtype, want);
      const double error =
          std::fabs(scale) * (sum.error + (n + 3) * check::roundoff(f32) * sum.size + n * 0x1p-149) + 0x1p-149;
      e.value.push_back(std::isinf(stored) ? stored : want);
      e.tolerance.push_back(std::isfinite(stored) ? error + check::rounding_error(dtype, std::fabs(want) + error) : 0);
    }
    return e;
  }
};

// In units u of float32, of O and LSE as they are given. A weight p = exp(s - lse) errs by a factor exp(delta) as in the
// forward pass, with lse in the maximum's place, and by 4 u; below 2^-126 it may be 0. dP and delta are sums of dv
// products. The slope 1 - r^2 errs by twice what r = s / softcap does, which is a score's error over the softcap, and by
// 4 u. Each of these meets the others' magnitudes; three products err by 3 u. Where weights and gradients of products are
// rounded before they meet dO, Q and K, each errs by u16 of itself, or by `lost` where it is below its type's least normal
// number: so each sum by u16 of its terms' absolute sum, and by `lost` times that of the elements that they meet. Those of
// dQ and dK err by twice as much, for dX is a product with the rounded weight.
inline std::vector<check::Expected> backward_oracle(const check::Case& c, const std::vector<check::HostTensor>& in,
                                                    double u16 = 0, double lost = 0) {
  CaseRows rows(c, in);
  const Sizes& s = rows.s;
  const double *grad_o = in[0].values.data(), *o = in[4].values.data(), *lse = in[5].values.data();
  const double u = check::roundoff(f32), softcap = rows.request.rule.softcap;
  const double of_dv = (static_cast<double>(s.dv) + 2) * u;
  const std::int64_t all_q = s.hq * rows.sequences.queries(), all_k = s.hkv * rows.sequences.from_k.back();
  GradientSums dq(all_q * s.d), dk(all_k * s.d), dv(all_k * s.dv);
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t h = 0; h < s.hq; ++h)
      for (std::int64_t i = 0; i < rows.queries(b); ++i) {
        rows.look_at(b, h, i);
        const std::int64_t group = rows.key_head(h);
        const double* g = grad_o + rows.at_o(b, h, i);
        const double log_sum = lse[rows.at_lse(b, h, i)];
        double delta = 0, delta_size = 0;
        for (std::int64_t column = 0; column < s.dv; ++column) {
          delta += g[column] * o[rows.at_o(b, h, i, column)];
          delta_size += std::fabs(g[column] * o[rows.at_o(b, h, i, column)]);
        }
        for (std::int64_t j = 0; j < rows.keys(b); ++j) {
          if (!rows.attended(j)) continue;
          const double *key = rows.k + rows.at_k(b, group, j), *value = rows.v + rows.at_v(b, group, j);
          double dp = 0, dp_size = 0;
          for (std::int64_t column = 0; column < s.dv; ++column) {
            dp += g[column] * value[column];
            dp_size += std::fabs(g[column] * value[column]);
          }
          const Score& score = rows.scores[j];
          const double weight = std::exp(score.value - log_sum),
                       relative = std::expm1(rows.score_error(j, std::fabs(log_sum))) + 4 * u;
          const double weight_error = weight * relative + 0x1p-126;
          const double ratio = softcap > 0 ? (score.value - rows.masks[j]) / softcap : 0, slope = 1 - ratio * ratio;
          const double slope_error = softcap > 0 ? 2 * rows.score_error(j, 0) / softcap + 4 * u : 0;
          const double apart = dp - delta, apart_error = of_dv * (dp_size + delta_size);
          const double dx = weight * apart * slope;
          const double dx_exact = weight_error * (std::fabs(apart) + apart_error) * (slope + slope_error) +
                                  weight * (apart_error * (slope + slope_error) + std::fabs(apart) * slope_error) +
                                  3 * u * std::fabs(dx);
          const double dx_error = dx_exact + 2 * u16 * (std::fabs(dx) + dx_exact) + lost * (1 + std::fabs(apart));
          for (std::int64_t column = 0; column < s.d; ++column) {
            dq.add(rows.at_q(b, h, i, column), dx, dx_error, key[column]);
            dk.add(rows.at_k(b, group, j, column), dx, dx_error, rows.q[rows.at_q(b, h, i, column)]);
          }
          for (std::int64_t column = 0; column < s.dv; ++column)
            dv.add(rows.at_v(b, group, j, column), weight, weight_error + u16 * (weight + weight_error) + lost,
                   g[column]);
        }
      }
  const double keys = static_cast<double>(s.sk), queries = static_cast<double>(s.hkv ? s.hq / s.hkv * s.sq : 0);
  return {dq.expected(c.dtype, keys, rows.scale), dk.expected(c.dtype, queries, rows.scale),
          dv.expected(c.dtype, queries, 1)};
}

// Rows that round weights and gradients of products to a 16-bit type; and those that lose what is below bf16's least
// normal number, of values whose weights come to 1.
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (variant.starts_with("wgmma_bf16x6"))
    for (double& tolerance : expected[0].tolerance) tolerance += 0x1p-126;
  // A part's O and its product with its weight are rounded to float32's numbers, of which 2^-149 is the least.
  if (variant == "tiled_split")
    for (double& tolerance : expected[0].tolerance) tolerance += (static_cast<double>(Sizes(c).sk) / 32 + 2) * 0x1p-149;
  if (!variant.starts_with("wgmma_gradient") && !variant.starts_with("mma_gradient")) return;
  const double lost = c.dtype == f16 ? 0x1p-25 : 0x1p-126;  // half of f16's least number; more than bfloat16's
  expected = backward_oracle(c, in, check::roundoff(c.dtype), lost);
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return request_of(c.operator_options())->backward ? backward_oracle(c, in) : forward_oracle(c, in);
}

inline check::CaseBook book() {
  check::CaseBook book{.op = "attention",
                       .keys = {"b", "hq", "hkv", "sq", "sk", "d"},
                       .optional_keys = {"dv", "mask", "mb", "mh", "mq", "uneven", "paged", "wide"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = as_inputs,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {},
                       .adjusts_small = true};
  const auto test = [&](std::string rest) { book.tests.push_back("attention:" + rest); };
  // Empty, one, and around the tiles' edges: 16, 64 and 128 queries, 16 and 64 keys; columns around 16, 64, 128, 256.
  for (const char* size : {"b=0,hq=2,hkv=1,sq=3,sk=4,d=8",         "b=2,hq=2,hkv=1,sq=0,sk=4,d=8",
                           "b=1,hq=2,hkv=2,sq=3,sk=0,d=8",         "b=1,hq=1,hkv=1,sq=1,sk=1,d=1",
                           "b=1,hq=1,hkv=1,sq=1,sk=17,d=3",        "b=1,hq=2,hkv=1,sq=15,sk=17,d=15",
                           "b=1,hq=1,hkv=1,sq=16,sk=16,d=16",      "b=2,hq=12,hkv=3,sq=16,sk=16,d=8",
                           "b=1,hq=1,hkv=1,sq=17,sk=63,d=17",      "b=1,hq=1,hkv=1,sq=63,sk=64,d=40",
                           "b=1,hq=1,hkv=1,sq=64,sk=65,d=63",      "b=1,hq=1,hkv=1,sq=65,sk=128,d=64",
                           "b=1,hq=1,hkv=1,sq=127,sk=129,d=65",    "b=1,hq=1,hkv=1,sq=128,sk=127,d=32",
                           "b=1,hq=1,hkv=1,sq=129,sk=200,d=127",   "b=1,hq=2,hkv=2,sq=33,sk=80,d=128",
                           "b=1,hq=1,hkv=1,sq=20,sk=70,d=129",     "b=1,hq=1,hkv=1,sq=66,sk=67,d=255",
                           "b=1,hq=1,hkv=1,sq=9,sk=130,d=256",     "b=1,hq=2,hkv=1,sq=33,sk=40,d=192,dv=128",
                           "b=1,hq=1,hkv=1,sq=20,sk=70,d=8,dv=72", "b=1,hq=1,hkv=1,sq=70,sk=30,d=40,dv=1",
                           "b=1,hq=1,hkv=1,sq=3,sk=70,d=4,dv=256"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size + ":lse");
  test("f16:b=2,hq=4,hkv=2,sq=70,sk=130,d=64:lse");
  test("f16:b=1,hq=2,hkv=1,sq=40,sk=70,d=100:causal");
  // Masks, in the middle of tiles and at their edges; rows with nothing to attend to; NaN and infinities behind masks.
  const char* masks[] = {
      ":causal",      ":causal=lower_right",           ":window=5,3",         ":window=-1,9",
      ":window=9,-1", ":window=0,0:align=lower_right", ":window=70,1:causal", ":window=20,0:causal=lower_right"};
  for (const char* type : {"f32", "bf16"})
    for (const char* mask : masks) {
      test(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=70,d=16" + mask + ":lse");
      test(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=150,d=24" + mask + ":lse:fill=nan");
      test(std::string(type) + ":b=1,hq=1,hkv=1,sq=150,sk=40,d=24" + mask + ":lse:fill=inf");
    }
  test("f32:b=1,hq=1,hkv=1,sq=200,sk=200,d=80:causal:fill=nan:lse");
  test("f16:b=1,hq=1,hkv=1,sq=200,sk=200,d=72:causal:fill=nan:lse");
  test("bf16:b=1,hq=1,hkv=1,sq=200,sk=200,d=136:causal:fill=inf");
  for (const char* type : {"f32", "bf16"})
    for (const char* mask : {"mask=1", "mask=2", "mask=3,mb=2,mh=2", "mask=1,mh=2,mq=1", "mask=2,mb=2,mq=1"})
      for (const char* more : {"", ":causal", ":fill=nan", ":softcap=5:window=40,-1"})
        test(std::string(type) + ":b=2,hq=2,hkv=1,sq=19,sk=70,d=24," + mask + more + ":lse");
  // Scores: softcap, scales of either sign and none.
  for (const char* type : {"f32", "bf16"})
    for (const char* more : {":softcap=2", ":softcap=30:causal", ":scale=0.5", ":scale=-0.7", ":scale=-0.2:softcap=1",
                             ":scale=0", ":scale=3:causal"})
      test(std::string(type) + ":b=1,hq=2,hkv=1,sq=40,sk=70,d=32" + more + ":lse");
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* fill : {"ones", "denormal", "uniform", "constant,-3"})
      test(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=" + fill + ":lse");
  // Placement, layout, the width of warps.
  for (const char* type : {"f32", "bf16"})
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      for (const char* layout : {"bhsd", "bshd"})
        test(std::string(type) + ":b=2,hq=4,hkv=2,sq=20,sk=70,d=40,dv=24,mask=1:causal:lse:layout=" + layout +
             ":place=" + place);
  for (const char* type : {"f32", "bf16"}) {
    test(std::string(type) + ":b=2,hq=4,hkv=2,sq=70,sk=70,d=64:causal:layout=bshd:lse");
    test(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=90,d=64:causal:lse:warp=64");
    test(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=90,d=100:lse:warp=64");
    test(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=90,d=200:lse:warp=64");
  }
  // float32 that may be emulated.
  for (const char* size : {"sq=65,sk=63,d=64", "sq=129,sk=70,d=128", "sq=3,sk=330,d=40,dv=24"})
    for (const char* more : {"", ":causal=lower_right:fill=nan"})
      test(std::string("f32:b=1,hq=2,hkv=1,") + size + more + ":lse:math=bf16x6");
  test("f32:b=3,hq=2,hkv=1,sq=70,sk=90,d=64:inputs=q,k,v,cu_q,cu_k:causal=lower_right:lse:math=bf16x6");
  // Many blocks, many tiles.
  test("bf16:b=2,hq=4,hkv=2,sq=70,sk=140,d=64:causal=lower_right");
  test("f32:b=1,hq=1,hkv=1,sq=3,sk=700,d=64:lse");
  test("bf16:b=1,hq=8,hkv=2,sq=3,sk=700,d=64:lse:causal=lower_right");  // keys in parts, heads together

  // Sequences of uneven lengths: queries, keys or both follow each other, or keys are the first ones of a cache.
  const std::string packed = ":inputs=q,k,v,cu_q,cu_k", cached = ":inputs=q,k,v,lengths",
                    paged = ":inputs=q,k,v,lengths,block_table", paged_too = ":inputs=q,k,v,cu_q,lengths,block_table";
  for (const std::string type : {"f32:", "bf16:"}) {
    for (const char* mask : {"", ":causal", ":causal=lower_right", ":window=20,5", ":window=7,0:align=lower_right"})
      for (const char* seed : {"1", "2", "3"})
        test(type + "b=8,hq=2,hkv=1,sq=130,sk=140,d=24" + packed + mask + ":lse:seed=" + seed);
    for (const std::string& kind : {packed, cached, paged, paged_too}) {
      test(type + "b=0,hq=2,hkv=1,sq=3,sk=4,d=8" + kind + ":lse");
      test(type + "b=3,hq=2,hkv=1,sq=0,sk=4,d=8" + kind + ":lse");
      test(type + "b=3,hq=2,hkv=2,sq=3,sk=0,d=8" + kind + ":lse");
      test(type + "b=4,hq=4,hkv=2,sq=5,sk=150,d=40,dv=24,wide=1" + kind + ":causal=lower_right:lse:max_k=170");
      for (const char* fill : {"nan", "inf"})
        test(type + "b=4,hq=2,hkv=1,sq=70,sk=150,d=24" + kind + ":causal=lower_right:lse:fill=" + fill);
      for (const char* place : {"offset", "padded", "strided", "reversed"})
        test(type + "b=3,hq=4,hkv=2,sq=20,sk=70,d=40,dv=24" + kind + ":causal:lse:place=" + place);
      test(type + "b=3,hq=4,hkv=2,sq=20,sk=70,d=40,dv=24" + kind + ":layout=bshd:lse");
      test(type + "b=3,hq=2,hkv=1,sq=70,sk=90,d=64" + kind + ":causal:lse:warp=64");
      test(type + "b=2,hq=1,hkv=1,sq=33,sk=70,d=136" + kind + ":softcap=5:lse");
      test(type + "b=2,hq=1,hkv=1,sq=33,sk=70,d=100" + kind);
    }
    for (const char* kind : {":inputs=q,k,v,cu_q", ":inputs=q,k,v,cu_k", ":inputs=q,k,v,cu_q,lengths"})
      test(type + "b=4,hq=2,hkv=1,sq=70,sk=150,d=24" + kind + ":causal=lower_right:lse");
    test(type + "b=6,hq=6,hkv=2,sq=130,sk=140,d=64" + packed + ":causal:lse:max_q=130:max_k=140");
    for (const char* page : {"16", "32", "64", "256"})
      test(type + "b=3,hq=8,hkv=2,sq=3,sk=700,d=64,paged=" + page + paged_too + ":causal=lower_right:lse:max_q=3");
    test(type + "b=3,hq=8,hkv=2,sq=1,sk=700,d=64,paged=16" + paged + ":window=300,0:align=lower_right:lse");
    test(type + "b=3,hq=8,hkv=2,sq=1,sk=700,d=64" + packed + ":causal=lower_right:lse:max_q=1");  // in parts
  }
  test("f16:b=5,hq=2,hkv=1,sq=130,sk=140,d=64" + packed + ":causal:lse");

  // Gradients: the same edges, whose tiles are of 32 and 64 rows of either side and of 64, 128 and 256 columns.
  const auto backward = [&](std::string rest) { test(rest + ":backward"); };
  for (const char* size :
       {"b=0,hq=2,hkv=1,sq=3,sk=4,d=8", "b=2,hq=2,hkv=1,sq=0,sk=4,d=8", "b=1,hq=2,hkv=2,sq=3,sk=0,d=8",
        "b=1,hq=0,hkv=2,sq=3,sk=4,d=8", "b=1,hq=1,hkv=1,sq=1,sk=1,d=1", "b=1,hq=1,hkv=1,sq=1,sk=17,d=3",
        "b=2,hq=6,hkv=3,sq=16,sk=15,d=8", "b=1,hq=1,hkv=1,sq=63,sk=64,d=40", "b=1,hq=1,hkv=1,sq=64,sk=65,d=63",
        "b=1,hq=2,hkv=1,sq=65,sk=63,d=64", "b=1,hq=1,hkv=1,sq=33,sk=70,d=65", "b=1,hq=1,hkv=1,sq=66,sk=31,d=127",
        "b=1,hq=1,hkv=1,sq=31,sk=33,d=129", "b=1,hq=1,hkv=1,sq=34,sk=32,d=256",
        "b=1,hq=2,hkv=1,sq=20,sk=30,d=192,dv=128", "b=1,hq=1,hkv=1,sq=20,sk=70,d=8,dv=72",
        "b=1,hq=1,hkv=1,sq=70,sk=30,d=40,dv=1"})
    for (const char* type : {"f32", "bf16"}) backward(std::string(type) + ":" + size);
  backward("f16:b=1,hq=4,hkv=2,sq=70,sk=40,d=64:causal");
  for (const char* type : {"f32", "bf16"}) {
    for (const char* mask : masks) {
      backward(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=70,d=16" + mask);
      backward(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=90,d=24" + mask + ":fill=nan");
      backward(std::string(type) + ":b=1,hq=1,hkv=1,sq=90,sk=40,d=24" + mask + ":fill=inf");
    }
    for (const char* more : {",mask=1", ",mask=2", ",mask=3,mq=1", ",mask=3,mh=2:softcap=2:causal", ":softcap=1.5",
                             ":scale=-0.3", ":scale=0", ",mask=1:softcap=0.7:window=9,4:fill=nan"})
      backward(std::string(type) + ":b=1,hq=2,hkv=1,sq=40,sk=70,d=32" + more);
    for (const char* fill : {"ones", "denormal", "constant,-3"})
      backward(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=" + fill);
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      for (const char* layout : {"bhsd", "bshd"})
        backward(std::string(type) + ":b=2,hq=4,hkv=2,sq=20,sk=30,d=40,dv=24,mask=1:causal:layout=" + layout +
                 ":place=" + place);
    backward(std::string(type) + ":b=2,hq=4,hkv=2,sq=70,sk=70,d=64:causal:layout=bshd");
    backward(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=90,d=64:causal:warp=64");
  }
  for (const std::string type : {"f32:", "bf16:"}) {
    const std::string uneven = ":inputs=do,q,k,v,o,lse,cu_q,cu_k";
    for (const char* mask : {"", ":causal", ":causal=lower_right", ":window=20,5"})
      for (const char* seed : {"1", "2"})
        backward(type + "b=8,hq=2,hkv=1,sq=130,sk=70,d=24" + uneven + mask + ":seed=" + seed);
    backward(type + "b=0,hq=2,hkv=1,sq=3,sk=4,d=8" + uneven);
    backward(type + "b=3,hq=2,hkv=1,sq=0,sk=4,d=8" + uneven);
    backward(type + "b=3,hq=2,hkv=1,sq=4,sk=0,d=8" + uneven);
    for (const char* fill : {"nan", "inf"})
      backward(type + "b=4,hq=2,hkv=1,sq=70,sk=90,d=24" + uneven + ":causal=lower_right:fill=" + fill);
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      backward(type + "b=3,hq=4,hkv=2,sq=20,sk=30,d=40,dv=24,wide=1" + uneven + ":causal:place=" + place);
    backward(type + "b=3,hq=2,hkv=1,sq=70,sk=90,d=100" + uneven + ":causal:max_q=70:max_k=90:warp=64");
    for (const char* kind : {"cu_q", "cu_k"})
      backward(type + "b=3,hq=2,hkv=1,sq=70,sk=40,d=136:inputs=do,q,k,v,o,lse," + kind + ":causal=lower_right");
  }

  // Several tiles of 128 keys and of 64 and 128 queries, of heads that share keys; two summands have no order.
  for (const char* more :
       {"", ":causal", ":causal=lower_right", ":window=40,3", ":softcap=3:causal", ":causal:fill=nan"})
    for (const char* d : {"64", "128"}) backward(std::string("bf16:b=1,hq=2,hkv=1,sq=200,sk=300,d=") + d + more);
  backward("f16:b=2,hq=4,hkv=2,sq=130,sk=129,d=96,dv=72:causal:layout=bshd");
  backward("f16:b=1,hq=4,hkv=2,sq=200,sk=256,d=64:nondeterministic");

  const auto bench = [&](std::string rest) { book.benches.push_back("attention:" + rest); };
  for (const char* d : {"64", "128", "256"})
    for (const char* s :
         {"b=16,hq=H,hkv=H,sq=1024,sk=1024", "b=4,hq=H,hkv=H,sq=4096,sk=4096", "b=1,hq=H,hkv=H,sq=16384,sk=16384"})
      for (const char* more : {"", ":causal"}) {
        std::string text = s;  // 2,048 columns of all heads together
        for (std::size_t at; (at = text.find('H')) != std::string::npos;)
          text.replace(at, 1, std::to_string(2048 / std::stoi(d)));
        bench("bf16:" + text + ",d=" + d + more);
      }
  bench("bf16:b=4,hq=32,hkv=8,sq=4096,sk=4096,d=128:causal");
  bench("bf16:b=2,hq=32,hkv=8,sq=8192,sk=8192,d=128:causal");
  for (const char* heads : {"hq=32,hkv=32,sq=16384,sk=16384,d=64", "hq=16,hkv=16,sq=16384,sk=16384,d=128"})
    bench(std::string("bf16:b=1,") + heads + ":window=1024,0");
  for (const char* size : {"b=1,hq=32,hkv=8,sq=1,sk=8192", "b=16,hq=32,hkv=8,sq=1,sk=8192",
                           "b=64,hq=32,hkv=8,sq=1,sk=4096", "b=1,hq=32,hkv=8,sq=1,sk=65536"})
    bench(std::string("bf16:") + size + ",d=128");
  bench("bf16:b=16,hq=16,hkv=16,sq=2048,sk=2048,d=128,uneven=2" + packed + ":causal:max_q=2048:max_k=2048");
  for (const char* size : {"b=16,hq=32,hkv=8,sq=1,sk=8192", "b=64,hq=32,hkv=8,sq=1,sk=4096"})
    for (const char* page : {"16", "256"}) bench(std::string("bf16:") + size + ",d=128,uneven=2,paged=" + page + paged);
  for (const char* more : {"", ":causal"}) bench(std::string("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64") + more);
  bench("f32:b=4,hq=8,hkv=8,sq=2048,sk=2048,d=128:causal");
  for (const char* heads : {"hq=32,hkv=32,sq=4096,sk=4096,d=64", "hq=16,hkv=16,sq=4096,sk=4096,d=128"})
    for (const char* more : {"", ":causal", ":nondeterministic", ":causal:nondeterministic"})
      bench(std::string("bf16:b=4,") + heads + more + ":backward");
  bench("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64:causal:backward");
  return book;
}

}  // namespace ridge::attention_detail
