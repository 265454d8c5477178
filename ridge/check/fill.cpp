// fill=: the values of a case's inputs.
#include <ridge/check/harness.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace ridge::check {

namespace {

constexpr const char* known_fills =
    "normal uniform ints ones constant,X shifted,X scaled,X alternating,X rows ties special lowest greatest nan inf "
    "overflow denormal zipf far";

// The greatest finite value, and the least positive subnormal, of a type.
double greatest(DType dtype) {
  switch (dtype) {
    case DType::f64: return std::numeric_limits<double>::max();
    case DType::f32: return std::numeric_limits<float>::max();
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.fep127;
    case DType::f8e4m3: return 448;
    case DType::f8e5m2: return 57344;
    case DType::i64: return 0x1p62;
    case DType::i32: return 2147483647;
    case DType::i8: return 127;
    case DType::u8: return 255;
    case DType::boolean: return 1;
  }
  return 0;
}
double lowest(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::boolean: return 0;
    case DType::i64: return -0x1p63;
    case DType::i32: return -2147483648.0;
    case DType::i8: return -128;
    default: return -greatest(dtype);
  }
}
double least_normal(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-1022;
    case DType::f32:
    case DType::bf16: return 0x1p-126;
    case DType::f16: return 0x1p-14;
    case DType::f8e4m3: return 0x1p-6;
    case DType::f8e5m2: return 0x1p-14;
    default: return 1;
  }
}
double least_subnormal(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-1074;
    case DType::f32: return 0x1p-149;
    case DType::f16: return 0x1p-24;
    case DType::bf16: return 0x1p-133;
    case DType::f8e4m3: return 0x1p-9;
    case DType::f8e5m2: return 0x1p-16;
    default: return 1;
  }
}

// One value in double; the caller rounds it into the dtype.
class Source {
 public:
  Source(DType dtype, std::int64_t cols, std::string_view name, double constant, std::uint64_t seed)
      : dtype_(dtype), cols_(cols), name_(name), constant_(constant), random_(seed) {}

  double operator()(std::int64_t index) {
    if (name_ == "ones") return 1;
    if (name_ == "lowest") return lowest(dtype_);
    if (name_ == "greatest") return greatest(dtype_);
    if (name_ == "special") return special();
    if (name_ == "ties") return tie();
    if (name_ == "rows") {  // all elements of a row are equal
      if (index % cols_ == 0) row_ = is_floating(dtype_) ? normal_(random_) : uniform();
      return row_;
    }
    if (name_ == "constant") return constant_;
    if (name_ == "ints") return std::uniform_int_distribution<int>(dtype_ == DType::u8 ? 0 : -4, 4)(random_);
    if (name_ == "zipf") return zipf();
    if (name_ == "uniform") return uniform();
    const double x = is_floating(dtype_) ? normal_(random_) : uniform();
    // About every seventh element is special, and so is the first.
    const bool special = index == 0 || random_() % 7 == 0;
    if (name_ == "nan" && special) return std::numeric_limits<double>::quiet_NaN();
    if (name_ == "inf" && special) return random_() % 2 ? HUGE_VAL : -HUGE_VAL;
    if (name_ == "overflow") return x < 0 ? -greatest(dtype_) * 0.99 : greatest(dtype_) * 0.99;
    if (name_ == "shifted") return constant_ + x;
    if (name_ == "scaled") return constant_ * x;
    if (name_ == "alternating") return (index % 2 ? -constant_ : constant_) + x;
    if (name_ == "far")
      return std::clamp(std::ldexp(x < 0 ? -1 : 1, static_cast<int>(random_() % 41)), -greatest(dtype_),
                        greatest(dtype_));
    if (name_ == "denormal") return std::floor(x * 16) * least_subnormal(dtype_);
    return x;
  }

 private:
  double uniform() {
    switch (dtype_) {
      case DType::u8: return std::uniform_int_distribution<int>(0, 255)(random_);
      case DType::i8: return std::uniform_int_distribution<int>(-128, 127)(random_);
      case DType::boolean: return static_cast<double>(random_() & 1);
      case DType::i32:
      case DType::i64: return std::uniform_int_distribution<int>(0, 255)(random_);
      default: return std::uniform_real_distribution<double>(0, 1)(random_);
    }
  }
  // One of a type's special values, or a neighbour of 1.
  double special() {
    if (!is_floating(dtype_)) return std::array{lowest(dtype_), greatest(dtype_), 0.0, 1.0}[random_() % 4];
    const double sign = random_() % 2 ? -1 : 1, nan = std::numeric_limits<double>::quiet_NaN();
    const double magnitudes[] = {0,
                                 HUGE_VAL,
                                 nan,
                                 greatest(dtype_),
                                 least_normal(dtype_),
                                 least_subnormal(dtype_),
                                 1,
                                 1 + 2 * roundoff(dtype_),
                                 1 - roundoff(dtype_)};
    return sign * magnitudes[random_() % std::size(magnitudes)];
  }
  // Halves, many of them equal and some one unit in the last place off: tests sorting, and rounding to even.
  double tie() {
    const auto half = static_cast<double>(random_() % 8);
    if (!is_floating(dtype_)) return half;
    const double sign = random_() % 2 ? -1 : 1;
    return sign * (half + 0.5) * (random_() % 4 == 0 ? 1 + 2 * roundoff(dtype_) : 1);
  }
  double zipf() {  // integers k >= 0 with probability about 1 / (k + 1), capped as a byte would cap them
    const double u = std::uniform_real_distribution<double>(0, 1)(random_);
    return std::min(255.0, std::floor(std::pow(256.0, u)) - 1);
  }
  DType dtype_;
  std::int64_t cols_;
  std::string_view name_;
  double constant_, row_ = 0;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace

std::vector<std::byte> encode(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  AllTypes::visit(dtype, 0, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      if constexpr (std::is_integral_v<T>) element = static_cast<T>(values[i]);
      else if constexpr (std::is_same_v<T, double>) element = values[i];
      else element = T(static_cast<float>(values[i]));
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
    return 0;
  });
  return bytes;
}

std::vector<double> decode(DType dtype, const std::byte* bytes, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  AllTypes::visit(dtype, 0, [&]<class T>() {
    for (std::int64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
      if constexpr (std::is_arithmetic_v<T>) values[i] = static_cast<double>(element);
      else values[i] = static_cast<float>(element);
    }
    return 0;
  });
  return values;
}

double round_to(DType dtype, double x) { return decode(dtype, encode(dtype, {x}).data(), 1)[0]; }

Result<std::vector<HostTensor>> fill_inputs(const CaseBook& book, const Case& c) {
  auto types = case_inputs(book, c);
  if (!types) return types.error();
  std::string_view fill = c.options.text("fill", "normal");
  double constant = 0;
  if (const std::size_t comma = fill.find(','); comma != std::string_view::npos) {
    const char *begin = fill.data() + comma + 1, *end = fill.data() + fill.size();
    const auto [rest, error] = std::from_chars(begin, end, constant);  // accepts infinity and NaN too
    if (error != std::errc() || rest != end)
      return Status::invalid(c.op, "fill", "'" + std::string(fill) + "'", "one with a number after its comma");
    fill = fill.substr(0, comma);
  }
  const std::string_view known[] = {"normal",      "uniform",  "ints",     "ones",    "constant", "shifted",  "scaled",
                                    "alternating", "rows",     "ties",     "special", "lowest",   "greatest", "nan",
                                    "inf",         "overflow", "denormal", "zipf",    "far"};
  if (std::ranges::find(known, fill) == std::end(known))
    return Status::invalid(c.op, "fill", "'" + std::string(fill) + "'", std::string("one of ") + known_fills);
  auto seed = c.options.integer(c.op, "seed", 1);
  if (!seed) return seed.error();

  std::vector<HostTensor> inputs;
  for (std::size_t i = 0; i < types->size(); ++i) {
    HostTensor tensor{std::move((*types)[i]), {}};
    std::int64_t count = 1;
    for (std::int64_t n : tensor.type.shape) count *= n;
    // Integers have no NaN and no infinity; for them those fills give the usual values.
    const bool special = fill == "nan" || fill == "inf" || fill == "denormal" || fill == "far";
    const std::string_view legal = special && !is_floating(tensor.type.dtype) ? "uniform" : fill;
    Source source(tensor.type.dtype, std::max<std::int64_t>(tensor.cols(), 1), legal, constant,
                  static_cast<std::uint64_t>(*seed) * 1000 + i);
    tensor.values.resize(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k) tensor.values[k] = source(k);
    inputs.push_back(std::move(tensor));
  }
  // Rounds to the dtype, as the kernel will see the values. Floats also before adjust, which may compute an input from
  // others, as a gradient's inputs are results of the first pass; adjust may first have to make integers legal.
  const auto round_values = [](HostTensor& tensor) {
    const auto bytes = encode(tensor.type.dtype, tensor.values);
    tensor.values = decode(tensor.type.dtype, bytes.data(), static_cast<std::int64_t>(tensor.values.size()));
  };
  if (book.adjust) {
    for (HostTensor& tensor : inputs)
      if (is_floating(tensor.type.dtype)) round_values(tensor);
    book.adjust(c, inputs);
  }
  std::ranges::for_each(inputs, round_values);
  return inputs;
}

}  // namespace ridge::check
