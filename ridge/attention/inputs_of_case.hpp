// Tensors of a case of attention: their sizes, the sequences in them, and their values.
#pragma once
#include <ridge/attention/request.hpp>
#include <ridge/check/case_book.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>

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

// Sequences of a case: their lengths, the first rows of packed ones, and their pages.
struct CaseSequences {
  bool packed_q, packed_k, lengths, paged;  // whether there is cu_q, cu_k, lengths, block_table
  std::vector<std::int64_t> q, k, from_q{0}, from_k{0};
  std::int64_t page, columns, pages = 0;  // columns: of the table
  std::vector<std::int64_t> table;        // [b][columns]

  explicit CaseSequences(const check::Case& c)
      : packed_q(has_input(c, "cu_q")),
        packed_k(has_input(c, "cu_k")),
        lengths(has_input(c, "lengths")),
        paged(has_input(c, "block_table")),
        page(c.dim("paged", 16)),
        columns(pages_for(c.dim("sk"))) {
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
    // Pages in random order, two of them unused; table entries past a sequence's end are invalid.
    std::vector<std::int64_t> numbers(2);
    for (std::int64_t keys : k) numbers.resize(numbers.size() + static_cast<std::size_t>(pages_for(keys)));
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
  // Also for extreme values: a page may have 2^63 - 1 keys.
  std::int64_t pages_for(std::int64_t keys) const { return page > 0 ? keys / page + (keys % page > 0 ? 1 : 0) : 0; }
  static bool any(const check::Case& c) {
    return has_input(c, "cu_q") || has_input(c, "cu_k") || has_input(c, "lengths") || has_input(c, "block_table");
  }
  static bool has_input(const check::Case& c, std::string_view name) {
    const std::string list = "," + std::string(c.options.text("inputs")) + ",";
    return list.find("," + std::string(name) + ",") != std::string::npos;
  }
  std::int64_t queries() const { return from_q.back(); }
};

// Offset of element (b, h, row, column) of q, k, v or o: in a contiguous tensor of either layout, ...
struct Packed {
  std::int64_t heads, rows, columns;
  bool rows_first;
  const std::vector<std::int64_t>* from = nullptr;  // ... in packed sequences, by their first rows, ...
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
  check::Case of_sequences = c;
  if (CaseSequences::any(c)) {  // each of which is drawn
    constexpr std::int64_t most = 1 << 20, longest = std::int64_t{1} << 31;
    if (s.b > most)
      return Status::invalid("attention", "b", std::to_string(s.b), "at most 2^20 in a case of sequences");
    if (s.sq > longest || s.sk > longest)
      return Status::invalid("attention", "the longer of sq and sk", std::to_string(std::max(s.sq, s.sk)),
                             "at most 2^31 in a case of sequences");
    if (CaseSequences::has_input(c, "block_table") && c.dim("paged", 16) > 0 &&
        s.sk / c.dim("paged", 16) > 4 * most / std::max<std::int64_t>(1, s.b))
      return Status::invalid("attention", "sk", std::to_string(s.sk),
                             "such that all sequences have at most 2^22 pages");
  } else {
    for (auto& [key, size] : of_sequences.dims)
      if (key == "b") size = 0;
  }
  for (const auto& [key, size] : {std::pair{"max_q", s.sq}, {"max_k", s.sk}})
    if (auto given = c.options.integer(c.op, key, size); given && *given >= 0 && *given < size)
      return Status::invalid(c.op, key, std::to_string(*given),
                             "at least " + std::to_string(size) + ", the longest that the case's sequences may be");
  const CaseSequences sequences(of_sequences);
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
  if (s.mask < 0 || s.mask > 3) return Status::invalid("attention", "mask", std::to_string(s.mask), "from 0 to 3");
  if (s.mask) types.push_back({s.mask == 1 ? boolean : s.mask == 2 ? c.dtype : f32, {s.mb, s.mh, s.mq, s.sk}});
  const DType whole = c.dim("wide", 0) ? i64 : i32;
  if (sequences.packed_q) types.push_back({whole, {s.b + 1}});
  if (sequences.packed_k) types.push_back({whole, {s.b + 1}});
  if (sequences.lengths) types.push_back({whole, {s.b}});
  if (sequences.paged) types.push_back({whole, {s.b, sequences.columns}});
  return types;
}

// fill=far puts values near 1 into tensors other than q and k: otherwise gradients exceed the range of 16-bit floats.
inline void near_one(double& x) { x = std::copysign(1 + std::log2(std::fabs(x)) / 64, x); }
// Additive masks and products far from 0, in separate rows; 16-bit floats do not reach all of them.
inline constexpr double far_masks[] = {-1e4, -4e8, 3e3, -1e9, 4.5e9, -4.5e9, 1e30, -3.4e38};
inline constexpr int far_products[] = {0, 8, 14, 40};  // powers of 2 of q and of k
// fill=far: exact scores, so that rounding excuses no kernel: only the first column of q and k is nonzero, with powers
// of 2. With an additive mask q is 0, and a row of the mask is one number, except that in every second row a third of
// the keys has half of it.
inline void fill_far(DType dtype, const Sizes& s, std::span<check::HostTensor> in, std::vector<double>* mask) {
  const bool adds = mask && s.mask != 1;
  std::ranges::for_each(in[2].values, near_one);
  for (int t : {0, 1})
    for (std::size_t at = 0; at < in[t].values.size(); ++at) {
      const auto row = static_cast<std::int64_t>(at) / s.d;
      const int power = std::min(far_products[t == 0 ? row % 4 : 3], dtype == f16 ? 15 : 40);
      double& value = in[t].values[at];
      if (t == 0 && adds) value = 0;
      else if (at % s.d == 0) value = (row % 3 == 1 ? -1 : 1) * std::ldexp(1, power);
      else if (t == 0) value = 0;
    }
  if (!adds) return;
  const DType type = s.mask == 2 ? dtype : f32;
  const double most = type == f16 ? 65504 : 3.3e38;
  for (std::size_t at = 0; at < mask->size(); ++at) {
    const auto row = static_cast<std::int64_t>(at) / s.sk;
    const double value = far_masks[row / 2 % static_cast<std::int64_t>(std::size(far_masks))];
    const double rounded = check::round_to(type, std::clamp(value, -most, most));  // because LSE sums these
    (*mask)[at] = rounded * (row % 2 && at % s.sk % 3 == 0 ? 0.5 : 1);
  }
}

// fill=nan and fill=inf: q is finite; a few keys have NaN throughout, and a few values NaN or infinities in some
// columns, so that a mask decides who sees them. A mask tensor hides every fifth key, and all of them from query 1.
inline void fill_qkv(const check::Case& c, const CaseSequences& sequences, std::span<check::HostTensor> in,
                     std::vector<double>* mask) {
  const Sizes s(c);
  const std::string_view fill = c.options.text("fill", "normal");
  const bool rows_first = request_of(c.operator_options())->rows_first;
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Packed k = packed_keys(sequences, s, s.d, rows_first), v = packed_keys(sequences, s, s.dv, rows_first);
  if (sequences.lengths) {  // rows of no sequence must not matter
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
  if (fill == "far") return fill_far(c.dtype, s, in, mask);
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

}  // namespace ridge::attention_detail
