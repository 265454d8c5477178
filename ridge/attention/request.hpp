// A request by name: the options of the command line and of cases.
#pragma once
#include <ridge/attention/attention.hpp>
#include <ridge/core/options.hpp>

#include <charconv>
#include <string_view>

namespace ridge::attention_detail {

struct Request {
  AttentionRule rule;
  bool rows_first = false;  // layout bshd
  bool lse = false;
  bool backward = false;  // takes do, q, k, v, o, lse and a mask; gives dq, dk and dv
  std::int64_t max_q = -1, max_k = -1;
};

// scale=X  softcap=X  causal[=upper_left|lower_right]  window=L,R  align=upper_left|lower_right  layout=bhsd|bshd  lse
// backward  nondeterministic  max_q=N  max_k=N  math=exact|bf16x6  accumulate=plain|two_float
inline Result<Request> request_of(const Options& options) {
  Request r;
  const auto wrong = [&](const char* key, const char* allowed) {
    return Status::invalid("attention", key, "'" + std::string(options.text(key)) + "'", allowed);
  };
  if (options.has("scale")) {
    auto scale = options.real("attention", "scale", 1);
    if (!scale) return scale.error();
    r.rule.scale = *scale;
  }
  auto softcap = options.real("attention", "softcap", 0);
  if (!softcap) return softcap.error();
  r.rule.softcap = *softcap;
  if (options.has("window")) {
    const std::string_view text = options.text("window");
    const auto comma = text.find(',');
    const auto read = [](std::string_view part, std::int64_t& to) {
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), to);
      return error == std::errc{} && end == part.data() + part.size() && to >= -1;
    };
    if (comma == std::string_view::npos || !read(text.substr(0, comma), r.rule.left) ||
        !read(text.substr(comma + 1), r.rule.right))
      return wrong("window", "L,R: whole numbers of keys before and after, or -1 for all");
  }
  const std::string_view align = options.text("align", "upper_left");
  if (align != "upper_left" && align != "lower_right") return wrong("align", "upper_left or lower_right");
  if (align == "lower_right") r.rule.align = AttentionAlign::lower_right;
  const std::string_view causal = options.text("causal", "0");
  if (causal == "lower_right") r.rule.align = AttentionAlign::lower_right;
  else if (causal == "upper_left" && options.has("align") && align != causal)
    return wrong("align", "that of causal, upper_left");
  if (causal == "upper_left" || causal == "lower_right" || causal.empty() || causal == "1") r.rule.right = 0;
  else if (causal != "0") return wrong("causal", "upper_left, lower_right, 0, or 1 for upper_left");
  const std::string_view layout = options.text("layout", "bhsd");
  if (layout != "bhsd" && layout != "bshd") return wrong("layout", "bhsd or bshd");
  r.rows_first = layout == "bshd";
  auto lse = options.flag("attention", "lse");
  if (!lse) return lse.error();
  r.lse = *lse;
  auto backward = options.flag("attention", "backward");
  if (!backward) return backward.error();
  r.backward = *backward;
  auto nondeterministic = options.flag("attention", "nondeterministic");
  if (!nondeterministic) return nondeterministic.error();
  r.rule.nondeterministic = *nondeterministic;
  const std::string_view math = options.text("math", "exact");
  if (math == "bf16x6") r.rule.math = AttentionMath::bf16x6;
  else if (math != "exact") return wrong("math", "exact or bf16x6");
  auto accumulate = accumulate_option("attention", options);
  if (!accumulate) return accumulate.error();
  r.rule.accumulate = *accumulate;
  if (r.backward && r.lse)
    return Status::invalid("attention", "lse", "given with backward", "left out: it is an option of the forward pass");
  for (const auto& [key, to] : {std::pair("max_q", &r.max_q), std::pair("max_k", &r.max_k)}) {
    auto most = options.integer("attention", key, -1);
    if (!most) return most.error();
    if (options.has(key) && *most < 0) return wrong(key, "a number of rows, 0 or more");
    *to = *most;
  }
  return r;
}

}  // namespace ridge::attention_detail
