// Expected results, in double, for a case of attention, forward or backward, and a kernel's tolerance.
#pragma once
#include <ridge/attention/inputs_of_case.hpp>
#include <ridge/attention/oracle.hpp>

#include <algorithm>

namespace ridge::attention_detail {

// Masks (-inf where the query does not attend) and scores of a query with every key. Finds q, k, v among a request's
// tensors.
struct CaseRows {
  Request request;
  Sizes s;
  CaseSequences sequences;
  double scale;
  Packed at_q, at_k, at_v, at_o;
  const double *q, *k, *v, *mask;
  bool exact;  // fill=far
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
        at_o(packed_queries(sequences, s, s.dv, request.rows_first)),
        exact(c.options.text("fill", "normal") == "far") {
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
  void compute_scores(std::int64_t b, std::int64_t h, std::int64_t i) {
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
      scores[j] = score_oracle(q + at_q(b, h, i), k + at_k(b, key_head(h), j), s.d, scale, rule.softcap, masks[j]);
    }
  }
  // A row is unspecified if a score depends on the order of additions.
  bool decided() const { return std::ranges::all_of(scores, &Score::decided); }
  bool two_float() const { return request.rule.accumulate == Accumulate::two_float; }
  bool attended(std::int64_t j) const { return scores[j].value != -std::numeric_limits<double>::infinity(); }
  // Error bound of a score, beside `other` magnitudes that are added to it. With fill=far, products and their sums with
  // masks are exact, equal scores are equal, and others differ from the row's maximum by so much that only the error of
  // the difference counts, and that of an offset, which is used up to 4096, in powers of 2.
  double score_error(std::int64_t j, double other) const {
    const double u = check::roundoff(f32);
    if (two_float()) {
      const double terms = static_cast<double>(s.d) + 4;
      return 0x1p-34 + terms * terms * u * u * scores[j].magnitude +
             16 * u * u * (std::fabs(scores[j].value) + other + std::fabs(masks[j]));
    }
    if (exact) return 4 * u * (4096 + std::fabs(std::fabs(scores[j].value) - std::fabs(other)));
    return (static_cast<double>(s.d) + 1) * u * scores[j].magnitude +
           4 * u * (std::fabs(scores[j].value) + other + std::fabs(masks[j])) + 16 * u * request.rule.softcap;
  }
};

// Makes a gradient's o and lse those of the forward pass.
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
  if (c.options.text("fill", "normal") == "far") std::ranges::for_each(in[0].values, near_one);
  for (double& x : in[0].values)
    if (!std::isfinite(x)) x = -0.5;
  CaseRows rows(c, in);
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t h = 0; h < s.hq; ++h)
      for (std::int64_t i = 0; i < rows.queries(b); ++i) {
        rows.compute_scores(b, h, i);
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

// Tolerance, in units u of float32. A sum of d products, in any order, errs by (d + 1) u of their absolute sum; the
// scale, the softcap (16 u of it), the mask and the exponent's rounding by 4 u of the score, of the maximum and of the
// mask. An error delta of a score is a factor exp(delta) of its weight w, which changes O by w (|v| + |O|) delta. Sums
// of n weighted values err by (n + 8) u of their absolute sum, including one rescaling per tile; exponentials and the
// quotient are in the 8. With 16-bit types, weights are rounded before they multiply V, and f16 loses weights below
// 2^-25 of the largest. Then O is rounded once to its type. In double-float arithmetic a sum of n terms errs by
// (n + 4)^2 u^2 of their absolute sum, and a weight by 2^-35 and 2^-149. What is left is a rounding of O, and two of
// LSE, whose logarithm errs by 2 u.
inline std::vector<check::Expected> forward_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  CaseRows rows(c, in);
  const Sizes& s = rows.s;
  const double u = check::roundoff(f32);
  const double u16 = c.dtype == f32 ? 0 : check::roundoff(c.dtype), lost = c.dtype == f16     ? 0x1p-25
                                                                           : rows.two_float() ? 0x1p-149
                                                                                              : 0x1p-126;
  check::Expected o, lse;
  lse.value.resize(static_cast<std::size_t>(s.hq * rows.sequences.queries()));
  o.value.resize(lse.value.size() * static_cast<std::size_t>(s.dv));
  o.tolerance.resize(o.value.size());
  lse.tolerance.resize(lse.value.size());
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t h = 0; h < s.hq; ++h)
      for (std::int64_t i = 0; i < rows.queries(b); ++i) {
        rows.compute_scores(b, h, i);
        if (!rows.decided()) {
          constexpr double anything = std::numeric_limits<double>::infinity();
          for (std::int64_t column = 0; column < s.dv; ++column) o.tolerance[rows.at_o(b, h, i, column)] = anything;
          lse.tolerance[rows.at_lse(b, h, i)] = anything;
          continue;
        }
        const WeightsOracle row(rows.scores);
        const double n = static_cast<double>(s.sk),
                     of_sums = rows.two_float() ? (n + 4) * (n + 4) * u * u + 0x1p-33 : (n + 8) * u;
        std::vector<double> errors(rows.scores.size());  // relative errors of weights
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
          error += (of_sums + u16) * size + lost * all;
          const std::int64_t at = rows.at_o(b, h, i, column);
          o.value[at] = want;
          const bool attends = std::isfinite(row.max);
          o.tolerance[at] =
              std::isfinite(want) && attends ? error + check::rounding_error(c.dtype, std::fabs(want) + error) : 0;
        }
        const std::int64_t at = rows.at_lse(b, h, i);
        lse.value[at] = row.log_sum;
        lse.tolerance[at] = of_log + of_sums + 4 * u * (std::fabs(row.max) + std::fabs(row.log_sum));
      }
  if (rows.request.lse) return {o, lse};
  return {o};
}

// share * value for bounds that may be infinite: 0 if either is 0.
inline double part_of(double share, double value) { return share == 0 || value == 0 ? 0 : share * value; }

// Sums with their errors, for one gradient.
struct GradientSums {
  std::vector<double> values, sizes, errors;  // sizes: sums of absolute terms; errors: of the terms themselves
  std::vector<char> unknown;
  explicit GradientSums(std::int64_t n)
      : values(static_cast<std::size_t>(n)), sizes(values), errors(values), unknown(values.size()) {}
  // Adds factor * elements[i], each with that error of the factor, to sum number first + i.
  void add(std::int64_t first, double factor, double error, const double* elements, std::int64_t n) {
    double *const value = values.data() + first, *const size = sizes.data() + first;
    for (std::int64_t i = 0; i < n; ++i) value[i] += factor * elements[i];
    for (std::int64_t i = 0; i < n; ++i) size[i] += std::fabs(factor * elements[i]);
    double* const sum = errors.data() + first;
    if (!std::isfinite(error))
      for (std::int64_t i = 0; i < n; ++i) sum[i] += part_of(error, std::fabs(elements[i]));
    else if (error != 0)
      for (std::int64_t i = 0; i < n; ++i) sum[i] += error * std::fabs(elements[i]);
  }
  void forget(std::int64_t first, std::int64_t n) { std::fill_n(unknown.begin() + first, n, char{1}); }
  // n terms in any order err by n u of their absolute sum; the scale and the product by 3 u. Terms that underflow lose
  // 2^-149 each. Then the result is rounded once to the type; beyond its range it is infinite.
  check::Expected expected(DType dtype, double n, double scale) const {
    check::Expected e;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double want = scale * values[i], stored = check::round_to(dtype, want);
      const double error =
          std::fabs(scale) * (errors[i] + (n + 3) * check::roundoff(f32) * sizes[i] + n * 0x1p-149) + 0x1p-149;
      const double least = std::fabs(want) - error;  // NaN: an unbounded error
      const bool may_be_finite = std::isinf(stored) && !(least > 0 && std::isinf(check::round_to(dtype, least)));
      if (unknown[i] || may_be_finite) {
        e.value.push_back(0);
        e.tolerance.push_back(std::numeric_limits<double>::infinity());
        continue;
      }
      e.value.push_back(std::isinf(stored) ? stored : want);
      e.tolerance.push_back(std::isfinite(stored) ? error + check::rounding_error(dtype, std::fabs(want) + error) : 0);
    }
    return e;
  }
};

// In units u of float32, for O and LSE as given. P = exp(s - lse) errs by a factor exp(delta) as in the forward pass,
// with lse in place of the maximum, and by 4 u; below 2^-126 it may be 0. dP and delta are sums of dv products. The
// slope 1 - r^2 errs by twice the error of r = s / softcap, which is a score's error over the softcap, and by 4 u. Each
// error is multiplied by the others' magnitudes; three products err by 3 u. Where P and dS are rounded before they
// multiply dO, Q and K, each errs by u16 of itself, or by `lost` below its type's least normal number: so each sum errs
// by u16 of its absolute sum, and by `lost` times the absolute sum of the elements that they multiply. dQ and dK err by
// twice as much, because dS is a product with the rounded P.
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
        rows.compute_scores(b, h, i);
        const std::int64_t group = rows.key_head(h);
        if (!rows.decided()) {  // its contributions to the keys that it may attend to are unspecified too
          dq.forget(rows.at_q(b, h, i), s.d);
          for (std::int64_t j = 0; j < rows.keys(b); ++j) {
            if (rows.masks[j] == -std::numeric_limits<double>::infinity()) continue;
            dk.forget(rows.at_k(b, group, j), s.d);
            dv.forget(rows.at_v(b, group, j), s.dv);
          }
          continue;
        }
        const double* g = grad_o + rows.at_o(b, h, i);
        const double log_sum = lse[rows.at_lse(b, h, i)];  // as given; inaccurate far from 0
        const WeightsOracle row(rows.scores);
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
          const double weight = rows.exact ? row.weights[j] : std::exp(score.value - log_sum),
                       relative = std::expm1(rows.score_error(j, std::fabs(rows.exact ? row.max : log_sum))) + 4 * u;
          const double weight_error = (weight > 0 ? weight * relative : 0) + 0x1p-126;
          const double ratio = softcap > 0 ? (score.value - rows.masks[j]) / softcap : 0, slope = 1 - ratio * ratio;
          const double slope_error = softcap > 0 ? 2 * rows.score_error(j, 0) / softcap + 4 * u : 0;
          const double apart = dp - delta, apart_error = of_dv * (dp_size + delta_size);
          const double ds = weight * apart * slope;
          const double ds_exact = part_of(weight_error, (std::fabs(apart) + apart_error) * (slope + slope_error)) +
                                  weight * (apart_error * (slope + slope_error) + std::fabs(apart) * slope_error) +
                                  3 * u * std::fabs(ds);
          const double ds_error = ds_exact + part_of(2 * u16, std::fabs(ds) + ds_exact) + lost * (1 + std::fabs(apart));
          dq.add(rows.at_q(b, h, i), ds, ds_error, key, s.d);
          dk.add(rows.at_k(b, group, j), ds, ds_error, rows.q + rows.at_q(b, h, i), s.d);
          dv.add(rows.at_v(b, group, j), weight, weight_error + part_of(u16, weight + weight_error) + lost, g, s.dv);
        }
      }
  const double keys = static_cast<double>(s.sk), queries = static_cast<double>(s.hkv ? s.hq / s.hkv * s.sq : 0);
  return {dq.expected(c.dtype, keys, rows.scale), dk.expected(c.dtype, queries, rows.scale),
          dv.expected(c.dtype, queries, 1)};
}

inline bool is_gradient_by_tensor_cores(std::string_view variant) {
  return variant.starts_with("wgmma_gradient") || variant.starts_with("mma_gradient") ||
         variant.starts_with("short_gradient");
}

// Tolerances of rows that round P and dS to a 16-bit type; and of rows that lose what is below bf16's least normal
// number, for values whose weights sum to 1.
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (variant.starts_with("wgmma_bf16x6"))
    for (double& tolerance : expected[0].tolerance) tolerance += 0x1p-126;
  // A split's O, and its product with its weight, are rounded to float32, whose least number is 2^-149.
  if (variant == "tiled_split" || variant.starts_with("register_split"))
    for (double& tolerance : expected[0].tolerance) tolerance += (static_cast<double>(Sizes(c).sk) / 32 + 2) * 0x1p-149;
  if (!is_gradient_by_tensor_cores(variant)) return;
  const double lost = c.dtype == f16 ? 0x1p-25 : 0x1p-126;  // half of f16's least number; more than bfloat16's
  expected = backward_oracle(c, in, check::roundoff(c.dtype), lost);
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return request_of(c.operator_options())->backward ? backward_oracle(c, in) : forward_oracle(c, in);
}

}  // namespace ridge::attention_detail
