#include <ridge/check/case_book.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>

namespace ridge::check {

namespace {
struct Books {
  std::deque<CaseBook> all;  // a deque keeps addresses stable
  std::vector<const CaseBook*> order;
};
Books& books() {
  static Books instance;  // filled by static initialisers
  return instance;
}
}  // namespace

std::int64_t HostTensor::cols() const { return type.shape.empty() ? 1 : type.shape.back(); }
std::int64_t HostTensor::rows() const {
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < type.shape.size(); ++axis) rows *= type.shape[axis];
  return rows;
}

RegisterCases::RegisterCases(CaseBook book) {
  books().all.push_back(std::move(book));
  books().order.push_back(&books().all.back());
}

const std::vector<const CaseBook*>& case_books() {
  // Sorts in the operators' order, because static initialisers run in the order of linking.
  static const std::vector<const CaseBook*> sorted = [] {
    auto list = books().order;
    const auto& registered = ops();
    std::ranges::stable_sort(list, {}, [&](const CaseBook* book) {
      return std::ranges::find(registered, book->op, &OpInfo::name) - registered.begin();
    });
    return list;
  }();
  return sorted;
}

Result<const CaseBook*> find_case_book(std::string_view op) {
  for (const CaseBook* book : case_books())
    if (book->op == op) return book;
  auto known = find_op(op);  // its error names the nearest operators
  if (!known) return known.error();
  return Status::error(Code::unsupported, "operator '" + std::string(op) + "' has no cases");
}

Result<Case> drawn_case(const CaseBook& book, Draw& draw) { return Case::parse(book.op + ":" + book.draw(draw)); }

// In this file because case.cpp knows no operators.
Options Case::operator_options() const {
  Options kept;
  if (const auto known = find_op(op))
    for (const auto& [key, value] : dims)
      if (std::ranges::any_of((*known)->options, [&key = key](const OptionInfo& o) { return o.name == key; }))
        kept.set(key, std::to_string(value));
  for (const auto& [key, value] : options.pairs())
    if (!is_harness_option(key)) kept.set(key, value);
  return kept;
}

Result<std::vector<TensorType>> case_inputs(const CaseBook& book, const Case& c) {
  std::string known;
  for (const auto& key : book.keys) known += (known.empty() ? "" : " ") + key;
  for (const auto& key : book.optional_keys) known += " [" + key + "]";
  for (const auto& key : book.keys)
    if (!c.has(key))
      return Status::invalid(c.op, "case size '" + key + "'", "missing", "given; the sizes are " + known);
  for (const auto& [key, value] : c.dims)
    if (std::ranges::find(book.keys, key) == book.keys.end() &&
        std::ranges::find(book.optional_keys, key) == book.optional_keys.end())
      return Status::invalid(c.op, "case size", "'" + key + "'", "one of " + known);
  return book.inputs(c);
}

static int fraction_bits(DType dtype) {
  switch (dtype) {
    case DType::f64: return 52;
    case DType::f32: return 23;
    case DType::f16: return 10;
    case DType::bf16: return 7;
    case DType::f8e4m3: return 3;
    case DType::f8e5m2: return 2;
    default: return -1;
  }
}
static int least_exponent(DType dtype) {  // of normal numbers
  switch (dtype) {
    case DType::f64: return -1022;
    case DType::f16:
    case DType::f8e5m2: return -14;
    case DType::f8e4m3: return -6;
    default: return -126;
  }
}

double roundoff(DType dtype) {
  const int bits = fraction_bits(dtype);
  return bits < 0 ? 0 : std::ldexp(1.0, -bits - 1);
}

double rounding_error(DType dtype, double x) {
  const int bits = fraction_bits(dtype);
  if (bits < 0 || !std::isfinite(x)) return 0;
  const int exponent = x == 0 ? least_exponent(dtype) : std::max(std::ilogb(x), least_exponent(dtype));
  return std::ldexp(1.0, exponent - bits - 1);
}

}  // namespace ridge::check
