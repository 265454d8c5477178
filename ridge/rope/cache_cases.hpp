// rope_cache's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/rope/rotation_cases.hpp>
#include <ridge/rope/sweep.hpp>

#include <limits>
#include <tuple>

namespace ridge::rope_detail {

// The sizes of a case. Caches are [b, hkv, rows, d], with layout=bshd [b, rows, hkv, d]; with table=N, which comes with
// pages and page, they are [pages, page, hkv, d], and the block table is [b, N].
//   positions: 1 gives [s] in i32, 2 [b, s] in i64. tables=P gives cos and sin for P positions, in f32, or with
//   narrow=1 in q's type. wide=1: the block table is i64. outside=1: some tokens have no row in the caches.
// Without b, tensors of tokens have 3 axes. rows, pages and page are also the operator's options; given as such, they
// override the sizes.
struct CacheCase {
  std::int64_t b, s, hq, hkv, d, dv, pages, page, columns, rows;  // rows: per sequence
  int positions;
  bool paged, rows_first;
  std::size_t first_table, block_table;  // indices of inputs

  explicit CacheCase(const check::Case& c)
      : b(c.dim("b")),
        s(c.dim("s")),
        hq(c.dim("hq")),
        hkv(c.dim("hkv")),
        d(c.dim("d")),
        dv(c.dim("dv", d)),
        pages(option(c, "pages", 0)),
        page(option(c, "page", 0)),
        columns(c.dim("table", 0)),
        rows(c.has("table") ? product(columns, page) : option(c, "rows", s)),
        positions(static_cast<int>(c.dim("positions", 0))),
        paged(c.has("table")),
        rows_first(c.options.text("layout", "bhsd") == "bshd"),
        first_table(positions ? 4 : 3),
        block_table(first_table + (c.has("tables") ? 2 : 0)) {}

  // Saturates on overflow: such a page is refused later.
  static std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t p = 0;
    return __builtin_mul_overflow(a, b, &p) ? std::numeric_limits<std::int64_t>::max() : p;
  }
  static std::int64_t option(const check::Case& c, const char* key, std::int64_t otherwise) {
    const auto given = c.operator_options().integer(c.op, key, otherwise);
    return given ? *given : otherwise;  // the plan refuses what is no number
  }
  // Index of a head in a cache: of the sequence or page, and of the row in it.
  std::int64_t head(std::int64_t outer, std::int64_t row, std::int64_t h) const {
    if (paged) return (outer * page + row) * hkv + h;
    return rows_first ? (outer * rows + row) * hkv + h : (outer * hkv + h) * rows + row;
  }
};

inline Result<std::vector<TensorType>> cache_inputs(const check::Case& c) {
  if (c.dim("positions", 0) > 2)
    return Status::invalid(c.op, "case size 'positions'", std::to_string(c.dim("positions")), "at most 2");
  for (const char* key : {"pages", "page"})  // without these the operator would take the block table for positions
    if (c.has("table") && !c.operator_options().has(key))
      return Status::invalid(c.op, std::string("case size '") + key + "'", "missing", "given along with table");
  const CacheCase of(c);
  const auto tokens = [&](std::int64_t heads, std::int64_t columns) {
    return TensorType{c.dtype,
                      c.has("b") ? std::vector{of.b, of.s, heads, columns} : std::vector{of.s, heads, columns}};
  };
  std::vector<TensorType> types{tokens(of.hq, of.d), tokens(of.hkv, of.d), tokens(of.hkv, of.dv)};
  if (of.positions == 1) types.push_back({i32, {of.s}});
  if (of.positions == 2) types.push_back({i64, {of.b, of.s}});
  if (c.has("tables"))
    types.insert(types.end(), 2, {c.dim("narrow", 0) ? c.dtype : f32, {c.dim("tables"), pairs_of(c)}});
  if (of.paged) types.push_back({c.dim("wide", 0) ? i64 : i32, {of.b, of.columns}});
  return types;
}

// Tokens of a sequence have distinct positions: from the last row of the cache backwards if there is a row for each,
// further ones beyond the cache. With outside=1 two positions before the cache and two beyond it occur too, and every
// fifth entry of a block table names a page that does not exist.
inline void cache_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  const CacheCase of(c);
  const std::int64_t outside = c.dim("outside", 0) ? 2 : 0, places = of.rows + 2 * outside;
  if (of.positions) {
    std::int64_t i = 0;
    for (double& v : in[3].values) {
      const std::int64_t sequence = i / of.s, token = i % of.s;  // [s] counts as the first sequence
      const std::int64_t at = token < places ? places - 1 - (token + 3 * sequence) % places : token;
      v = static_cast<double>(of.s <= places ? at - outside : token);
      ++i;
    }
  }
  if (of.paged) {
    std::int64_t i = 0;
    for (double& v : in[of.block_table].values) {
      v = outside && i % 5 == 4 ? 0x1p30 : static_cast<double>(of.pages - 1 - i);
      ++i;
    }
  }
}

// Rows without a token keep their values, which are not checked here: an infinite tolerance accepts any value.
// cache_test.cpp checks them.
inline std::vector<check::Expected> cache_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const CacheCase of(c);
  const RotationOfCase rotation(c, in, of.first_table);
  const auto exact = [](const std::vector<double>& values) {
    return check::Expected{values, std::vector<double>(values.size(), 0.0)};
  };
  const auto untouched = [&](std::int64_t columns) {
    const auto n = static_cast<std::size_t>((of.paged ? of.pages * of.page : of.b * of.rows) * of.hkv * columns);
    return check::Expected{std::vector<double>(n, 0.0),
                           std::vector<double>(n, std::numeric_limits<double>::infinity())};
  };
  check::Expected q = exact(in[0].values), k = exact(in[1].values), k_cache = untouched(of.d),
                  v_cache = untouched(of.dv);
  for (std::int64_t token = 0; token < of.b * of.s; ++token) {
    const std::int64_t b = token / of.s;
    double position = static_cast<double>(token % of.s);
    if (of.positions == 1) position = in[3].values[token % of.s];
    if (of.positions == 2) position = in[3].values[token];
    for (auto& [x, e, heads] : {std::tuple(&in[0], &q, of.hq), std::tuple(&in[1], &k, of.hkv)})
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t start = (token * heads + head) * of.d;
        rotation.rotate(x->values.data() + start, position, e->value.data() + start, e->tolerance.data() + start);
      }
    if (position < 0 || position >= static_cast<double>(of.rows)) continue;
    std::int64_t outer = b, row = static_cast<std::int64_t>(position);
    if (of.paged) {
      const double page = in[of.block_table].values[b * of.columns + row / of.page];
      if (page < 0 || page >= static_cast<double>(of.pages)) continue;
      outer = static_cast<std::int64_t>(page);
      row %= of.page;
    }
    for (std::int64_t head = 0; head < of.hkv; ++head) {
      const std::int64_t from = token * of.hkv + head, to = of.head(outer, row, head);
      for (std::int64_t i = 0; i < of.d; ++i) {
        k_cache.value[to * of.d + i] = k.value[from * of.d + i];
        k_cache.tolerance[to * of.d + i] = k.tolerance[from * of.d + i];
      }
      for (std::int64_t i = 0; i < of.dv; ++i) {
        v_cache.value[to * of.dv + i] = in[2].values[from * of.dv + i];
        v_cache.tolerance[to * of.dv + i] = 0;
      }
    }
  }
  return {q, k_cache, v_cache};
}

inline check::CaseBook cache_book() {
  const std::string op = "rope_cache";
  check::CaseBook book{
      .op = op,
      .keys = {"s", "hq", "hkv", "d"},
      .optional_keys = {"b", "dv", "rows", "table", "pages", "page", "positions", "tables", "narrow", "wide",
                        "outside"},
      .inputs = cache_inputs,
      .oracle = cache_oracle,
      .adjust = cache_adjust,
      .tests = {},
      .benches = {},
      .adjusts_small = true,
      .may_leave_range = true,
      .draw = draw_cache,
  };
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* style : {":style=neox", ":style=gptj"}) {
      const auto each = [&](const std::string& rest) { test(std::string(type) + ":" + rest + style); };
      // Heads around the four of a thread; halves and values that are whole vectors, and others.
      for (const char* size :
           {"b=2,s=5,hq=3,hkv=1,d=16", "b=1,s=3,hq=4,hkv=4,d=64", "b=2,s=2,hq=9,hkv=3,d=32", "s=7,hq=1,hkv=1,d=8",
            "s=4,hq=2,hkv=1,d=6", "b=1,s=1,hq=1,hkv=1,d=2", "b=3,s=1,hq=5,hkv=5,d=128", "b=1,s=150,hq=2,hkv=2,d=16",
            "b=2,s=3,hq=5,hkv=2,d=40", "s=5,hq=4,hkv=2,d=20", "s=2,hq=3,hkv=3,d=12", "b=2,s=3,hq=5,hkv=2,d=32,dv=48",
            "b=2,s=3,hq=2,hkv=5,d=64,dv=8", "s=3,hq=2,hkv=2,d=32,dv=7"})
        each(size);
      for (const char* empty :
           {"b=0,s=3,hq=2,hkv=2,d=8", "b=2,s=0,hq=2,hkv=2,d=8", "s=3,hq=0,hkv=2,d=8", "s=3,hq=2,hkv=0,d=8",
            "s=3,hq=0,hkv=0,d=8", "s=3,hq=2,hkv=2,d=0,dv=8", "s=3,hq=2,hkv=2,d=8,dv=0", "s=3,hq=2,hkv=2,d=0",
            "s=3,hq=2,hkv=2,d=8,rows=0", "b=2,s=3,hq=2,hkv=2,d=8,table=0,page=16,pages=2",
            "b=2,s=3,hq=2,hkv=2,d=8,table=2,page=16,pages=0"})
        each(empty);
      for (const char* rest :
           {"b=2,s=3,hq=5,hkv=2,d=48:rotary_dim=32", "s=3,hq=2,hkv=2,d=24,rows=9:rotary_dim=16",
            "s=3,hq=2,hkv=1,d=10:rotary_dim=4", "b=2,s=3,hq=5,hkv=2,d=52,dv=20:rotary_dim=40",
            "s=5,hq=4,hkv=2,d=32:base=500000", "b=2,s=3,hq=5,hkv=2,d=32,rows=7:layout=bshd",
            "b=2,s=6,hq=4,hkv=2,d=32,rows=4", "b=2,s=6,hq=4,hkv=2,d=32,rows=19,positions=1",
            "b=2,s=6,hq=4,hkv=2,d=32,rows=19,positions=2:layout=bshd", "b=2,s=6,hq=4,hkv=2,d=32,rows=3,positions=2",
            "b=5,s=1,hq=8,hkv=2,d=64,rows=33,positions=2", "b=2,s=9,hq=4,hkv=2,d=32,rows=6,positions=2,outside=1",
            "b=2,s=6,hq=4,hkv=2,d=32,tables=6", "b=2,s=6,hq=5,hkv=3,d=32,rows=12,positions=2,tables=9",
            "b=2,s=6,hq=3,hkv=2,d=48,tables=5,narrow=1:rotary_dim=32", "b=2,s=5,hq=5,hkv=3,d=32:warp=64"})
        each(rest);
      for (const char* paged :
           {"b=2,s=20,hq=4,hkv=2,d=32,table=2,page=16,pages=5", "s=3,hq=2,hkv=3,d=20,table=1,page=32,pages=1",
            "b=3,s=1,hq=8,hkv=2,d=64,positions=2,table=4,page=16,pages=12",
            "b=3,s=5,hq=3,hkv=1,d=40,dv=24,positions=2,table=3,page=16,pages=9,wide=1",
            "b=2,s=40,hq=2,hkv=2,d=16,positions=2,table=3,page=16,pages=4,outside=1",
            "b=2,s=7,hq=4,hkv=2,d=32,positions=1,tables=64,table=2,page=32,pages=4,wide=1",
            "b=2,s=7,hq=4,hkv=2,d=48,tables=9,narrow=1,table=1,page=16,pages=2:rotary_dim=32"})
        each(paged);
      for (const char* place : {"offset", "padded", "packed", "strided", "reversed", "inplace"}) {
        each("b=2,s=3,hq=5,hkv=2,d=32,rows=5,positions=2:place=" + std::string(place));
        each("b=2,s=3,hq=3,hkv=3,d=40:layout=bshd:place=" + std::string(place));
        each("s=3,hq=5,hkv=1,d=48,positions=1,table=2,page=16,pages=2:rotary_dim=32:place=" + std::string(place));
      }
      for (const char* fill : {"nan", "denormal", "ones"})
        each("b=1,s=9,hq=4,hkv=2,d=32,rows=12:fill=" + std::string(fill));
    }
  test("f16:b=1,s=9,hq=4,hkv=2,d=32:fill=overflow");
  test("bf16:b=1,s=1,hq=0,hkv=1,d=2,dv=1:rows=2");
  test("f32:b=2,s=5,hq=2,hkv=1,d=32,table=1,page=32,pages=2:page=16");
  // A step of many sequences, with caches of few rows so that several sets of them fit, and the tokens of a prompt.
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"b=256,s=1,hq=32,hkv=8,d=128,rows=64,positions=2",
                             "b=256,s=1,hq=32,hkv=8,d=128,positions=2,table=4,page=16,pages=1024",
                             "b=8,s=1,hq=32,hkv=8,d=128,rows=1024,positions=2", "b=1,s=4096,hq=32,hkv=8,d=128"})
      book.benches.push_back(op + ":" + type + ":" + size);
  return book;
}

}  // namespace ridge::rope_detail
