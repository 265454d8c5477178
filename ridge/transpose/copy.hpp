// No axis moves.
#pragma once
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail::copy {

inline std::string fits(const Variant&, const Request& r, const DeviceInfo&) {
  if (std::string why = refuse_form(r.form, {Kind::copy}); !why.empty()) return why;
  return r.form.offset_x || r.form.offset_y ? "a tensor does not start on 16 bytes" : "";
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  const std::int64_t chunks = ceil_div(r.form.count(), per_chunk(r.form.unit));
  return {.grid = ceil_div(chunks, c.threads), .threads = c.threads};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  return kernel_of(row, footprint(row, r, device), r);
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::transpose_detail::copy
