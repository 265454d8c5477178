// attention's cases: what tests, benchmarks and the command line run.
//
// Further keys: dv; mask=1 (bool), 2 (additive, of q's type) or 3 (additive, f32), of the axes mb, mh, mq and sk, which
// are 1, 1 and sq unless they are given.
#pragma once
#include <ridge/attention/oracle.hpp>
#include <ridge/attention/request.hpp>
#include <ridge/check/case_book.hpp>

#include <algorithm>
#include <cmath>

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

// Where element (b, h, row, column) of q, k, v or o lies in a packed tensor of either layout.
struct Packed {
  std::int64_t heads, rows, columns;
  bool rows_first;
  std::int64_t operator()(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t column = 0) const {
    return (rows_first ? (b * rows + row) * heads + h : (b * heads + h) * rows + row) * columns + column;
  }
};

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const Sizes s(c);
  const auto tensor = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    return request->rows_first ? TensorType{c.dtype, {s.b, rows, heads, columns}}
                               : TensorType{c.dtype, {s.b, heads, rows, columns}};
  };
  std::vector<TensorType> types{tensor(s.hq, s.sq, s.d), tensor(s.hkv, s.sk, s.d), tensor(s.hkv, s.sk, s.dv)};
  if (s.mask < 0 || s.mask > 3) return Status::invalid("attention", "mask", std::to_string(s.mask), "0 to 3");
  if (s.mask) types.push_back({s.mask == 1 ? boolean : s.mask == 2 ? c.dtype : f32, {s.mb, s.mh, s.mq, s.sk}});
  return types;
}

// fill=nan and fill=inf: q is finite; single keys have NaN throughout, and single values NaN or infinities in some
// columns, so that a mask decides who sees them. A mask tensor hides every fifth key, and all of them from query 1.
inline void as_inputs(const check::Case& c, std::vector<check::HostTensor>& in) {
  const Sizes s(c);
  const std::string_view fill = c.options.text("fill", "normal");
  const bool rows_first = request_of(c.operator_options())->rows_first;
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  if (fill == "nan" || fill == "inf") {
    for (auto& tensor : in)
      for (double& x : tensor.values)
        if (!std::isfinite(x)) x = 0.25;
    const Packed k{s.hkv, s.sk, s.d, rows_first}, v{s.hkv, s.sk, s.dv, rows_first};
    for (std::int64_t b = 0; b < s.b; ++b)
      for (std::int64_t h = 0; h < s.hkv; ++h)
        for (std::int64_t j : {s.sk / 3, s.sk - 1}) {
          if (j < 0) continue;
          for (std::int64_t i = 0; fill == "nan" && i < s.d; ++i) in[1].values[k(b, h, j, i)] = nan;
          for (std::int64_t i = 0; i < s.dv; i += 3)
            in[2].values[v(b, h, j, i)] = fill == "nan" ? nan : i % 2 ? infinity : -infinity;
        }
  }
  if (!s.mask || s.sk == 0) return;
  auto& mask = in[3].values;
  for (std::size_t at = 0; at < mask.size(); ++at) {
    const auto row = static_cast<std::int64_t>(at) / s.sk;
    if (row % s.mq == 1 || at % 5 == 2) mask[at] = s.mask == 1 ? 0 : -infinity;
    else if (!std::isfinite(mask[at])) mask[at] = 1;
  }
}

// Tolerance, in units u of float32. A product of d terms, in any order, errs by (d + 1) u of their absolute sum; the
// scale, the softcap (16 u of it), the mask and the exponent's rounding by 4 u of the score, of the greatest one and of
// the mask. Such an error delta of a score is a factor exp(delta) of its weight w, which changes O by
// w (|v| + |O|) delta. Sums of n weighted values err by (n + 8) u of their absolute sum (a rescaling per tile is among
// these), exponentials and the quotient are in the 8. Where types have 16 bits, weights are rounded to them before they
// meet V, and f16 loses what is below 2^-25 of the greatest. Then one rounding into O's type.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const Request r = *request_of(c.operator_options());
  const Sizes s(c);
  const AttentionRule& rule = r.rule;
  const double u = check::roundoff(f32), infinity = std::numeric_limits<double>::infinity();
  const double u16 = c.dtype == f32 ? 0 : check::roundoff(c.dtype), lost = c.dtype == f16 ? 0x1p-25 : 0x1p-126;
  const double scale = rule.scale ? *rule.scale : 1 / std::sqrt(static_cast<double>(s.d));
  const std::int64_t shift = rule.align == AttentionAlign::lower_right ? s.sk - s.sq : 0;
  const Packed at_q{s.hq, s.sq, s.d, r.rows_first}, at_k{s.hkv, s.sk, s.d, r.rows_first},
      at_v{s.hkv, s.sk, s.dv, r.rows_first}, at_o{s.hq, s.sq, s.dv, r.rows_first};
  check::Expected o, lse;
  o.value.resize(static_cast<std::size_t>(s.b * s.hq * s.sq * s.dv));
  o.tolerance.resize(o.value.size());
  std::vector<Score> scores(static_cast<std::size_t>(s.sk));
  std::vector<double> masks(scores.size());
  for (std::int64_t b = 0; b < s.b; ++b)
    for (std::int64_t h = 0; h < s.hq; ++h)
      for (std::int64_t i = 0; i < s.sq; ++i) {
        const std::int64_t group = h / (s.hq / s.hkv);
        for (std::int64_t j = 0; j < s.sk; ++j) {
          const std::int64_t away = j - i - shift;
          bool attends = (rule.right < 0 || away <= rule.right) && (rule.left < 0 || -away <= rule.left);
          double more = 0;
          if (s.mask) {
            const std::int64_t axes[] = {s.mb == 1 ? 0 : b, s.mh == 1 ? 0 : h, s.mq == 1 ? 0 : i};
            more = in[3].values[((axes[0] * s.mh + axes[1]) * s.mq + axes[2]) * s.sk + j];
            if (s.mask == 1) attends = attends && more != 0, more = 0;
          }
          masks[j] = attends ? more : -infinity;
          scores[j] = score_oracle(in[0].values.data() + at_q(b, h, i), 1, in[1].values.data() + at_k(b, group, j), 1,
                                   s.d, scale, rule.softcap, masks[j]);
        }
        const WeightsOracle row(scores);
        const double n = static_cast<double>(s.sk), d = static_cast<double>(s.d);
        std::vector<double> errors(scores.size());  // relative, of weights
        double of_log = 0;
        for (std::size_t j = 0; j < scores.size(); ++j) {
          if (!(row.weights[j] > 0)) continue;
          const double delta = (d + 1) * u * scores[j].magnitude +
                               4 * u * (std::fabs(scores[j].value) + std::fabs(row.max) + std::fabs(masks[j])) +
                               16 * u * rule.softcap;
          errors[j] = std::expm1(delta);
          of_log += row.weights[j] * errors[j];
        }
        for (std::int64_t column = 0; column < s.dv; ++column) {
          double want = 0, size = 0, all = 0, error = 0;
          for (std::int64_t j = 0; j < s.sk; ++j) {
            if (scores[j].value == -infinity) continue;
            const double v = in[2].values[at_v(b, group, j, column)];
            want += row.weights[j] * v;
            size += row.weights[j] * std::fabs(v);
            all += std::fabs(v);
          }
          for (std::int64_t j = 0; j < s.sk; ++j)
            if (row.weights[j] > 0)
              error +=
                  row.weights[j] * errors[j] * (std::fabs(in[2].values[at_v(b, group, j, column)]) + std::fabs(want));
          error += ((n + 8) * u + u16) * size + lost * all;
          const std::int64_t at = at_o(b, h, i, column);
          o.value[at] = want;
          const bool attends = std::isfinite(row.max);
          o.tolerance[at] =
              std::isfinite(want) && attends ? error + check::rounding_error(c.dtype, std::fabs(want) + error) : 0;
        }
        lse.value.push_back(row.log_sum);
        lse.tolerance.push_back(of_log + (n + 8) * u + 4 * u * (std::fabs(row.max) + std::fabs(row.log_sum)));
      }
  if (r.lse) return {o, lse};
  return {o};
}

inline check::CaseBook book() {
  check::CaseBook book{.op = "attention",
                       .keys = {"b", "hq", "hkv", "sq", "sk", "d"},
                       .optional_keys = {"dv", "mask", "mb", "mh", "mq"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = as_inputs,
                       .tests = {},
                       .benches = {}};
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
  // Many blocks, many tiles.
  test("bf16:b=2,hq=4,hkv=2,sq=70,sk=140,d=64:causal=lower_right");
  test("f32:b=1,hq=1,hkv=1,sq=3,sk=700,d=64:lse");
  test("bf16:b=1,hq=8,hkv=2,sq=3,sk=700,d=64:lse:causal=lower_right");  // keys in parts, heads together

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
  for (const char* more : {"", ":causal"}) bench(std::string("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64") + more);
  bench("f32:b=4,hq=8,hkv=8,sq=2048,sk=2048,d=128:causal");
  return book;
}

}  // namespace ridge::attention_detail
