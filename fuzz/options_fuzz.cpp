// libFuzzer: options as text, one per line, are refused with a sentence or are acceptable: known to the operator,
// without control characters, and finite where they are numbers.
#include <ridge/core/op.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace ridge;

static void require(bool holds) {
  if (!holds) std::abort();
}

static Result<std::vector<TensorType>> infer(Views, const Options& options) {
  const auto real = options.real("op", "real", 1), whole = options.real("op", "whole", 1);
  const auto small = options.real32("op", "small", 1);
  if (!real) return real.error();
  if (!whole) return whole.error();
  if (!small) return small.error();
  require(std::isfinite(*real) && std::isfinite(*whole) && std::isfinite(*small));
  const std::string again = number_text(*real);
  require(*Options({{"real", again}}).real("op", "real", 0) == *real);
  const auto size = options.integer("op", "size", 1);
  if (!size) return size.error();
  require(*Options({{"size", std::to_string(*size)}}).integer("op", "size", 0) == *size);
  if (const auto flag = options.flag("op", "flag"); !flag) return flag.error();
  return std::vector<TensorType>{{f32, {}}};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const OpInfo op{
      .name = "op",
      .family = "op",
      .summary = "",
      .inputs = {"x", "y", "z"},
      .outputs = {"a", "b"},
      .dtypes = {f32},
      .options = {{"real", "", ""}, {"whole", "", ""}, {"small", "", ""}, {"size", "", ""}, {"flag", "", ""}},
      .variants = {},
      .infer = infer,
      .optional = {"y", "z", "b"}};
  Options options;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t equals = line.find('=');
    options.set(std::string(line.substr(0, equals)), equals == line.npos ? "1" : std::string(line.substr(equals + 1)));
  }
  const std::array<TensorView, 3> tensors{};
  for (std::size_t given = 0; given <= tensors.size(); ++given) {
    const auto types = infer_op(op, Views(tensors).first(given), options);
    if (!types) {
      require(!types.error().message().empty());
      continue;
    }
    for (const auto& [key, value] : options.pairs()) require(printable(key) == key && printable(value) == value);
    const auto inputs = input_names(op, options, given);
    require(inputs.ok() && inputs->size() == given && output_names(op, options).ok());
  }
  return 0;
}
