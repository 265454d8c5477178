#include <ridge/check/case.hpp>

#include <algorithm>
#include <charconv>

namespace ridge::check {

static Status wrong(std::string_view text, const std::string& why) {
  return Status::error(Code::invalid_argument, "case '" + std::string(text.substr(0, 200)) + "': " + why +
                                                   "; a case is OP:DTYPE:k=v,k=v[:option[=value]]...");
}

static std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

Result<Case> Case::parse(std::string_view text) {
  Case c;
  std::string_view rest = text;
  if (std::ranges::count(text, ':') < 2) return wrong(text, "fewer than three parts");
  c.op = take(rest, ':');
  if (c.op.empty()) return wrong(text, "the operator is missing");
  const std::string_view dtype_text = take(rest, ':');
  const auto dtype = parse_dtype(dtype_text);
  if (!dtype) {
    std::string known;
    for (int i = 0; i < dtype_count; ++i) known += " " + std::string(name(static_cast<DType>(i)));
    return wrong(text, "the dtype is '" + std::string(dtype_text) + "', which is none of" + known);
  }
  c.dtype = *dtype;
  std::string_view dims = take(rest, ':');
  if (dims.empty()) return wrong(text, "the sizes are missing");
  while (!dims.empty()) {
    const std::string_view pair = take(dims, ',');
    const std::size_t equals = pair.find('=');
    std::int64_t value = 0;
    const char* end = pair.data() + pair.size();
    if (equals == std::string_view::npos || equals == 0) return wrong(text, "'" + std::string(pair) + "' is not k=v");
    const auto [stop, error] = std::from_chars(pair.data() + equals + 1, end, value);
    if (error != std::errc{} || stop != end || value < 0)
      return wrong(text, "'" + std::string(pair) + "' is not a size: a whole number, 0 or more");
    const std::string key(pair.substr(0, equals));
    if (c.has(key)) return wrong(text, "'" + key + "' is given twice");
    c.dims.emplace_back(key, value);
  }
  while (!rest.empty()) {
    const std::string_view option = take(rest, ':');
    const std::size_t equals = option.find('=');
    const std::string key(option.substr(0, equals));
    if (key.empty()) return wrong(text, "an option is empty");
    if (c.options.has(key)) return wrong(text, "option '" + key + "' is given twice");
    c.options.set(key, equals == std::string_view::npos ? "1" : std::string(option.substr(equals + 1)));
  }
  return c;
}

std::string Case::text() const {
  std::string s = (op.empty() ? "" : op + ":") + std::string(name(dtype)) + ":";
  for (std::size_t i = 0; i < dims.size(); ++i)
    s += (i ? "," : "") + dims[i].first + "=" + std::to_string(dims[i].second);
  for (const auto& [key, value] : options.pairs()) s += ":" + key + (value == "1" ? "" : "=" + value);
  return s;
}

bool Case::has(std::string_view key) const {
  return std::ranges::any_of(dims, [&](const auto& d) { return d.first == key; });
}

std::int64_t Case::dim(std::string_view key, std::int64_t otherwise) const {
  for (const auto& [k, v] : dims)
    if (k == key) return v;
  return otherwise;
}

bool Case::is_harness_option(std::string_view key) {
  return key == "fill" || key == "seed" || key == "warp" || key == "place" || key == "via";
}

}  // namespace ridge::check
