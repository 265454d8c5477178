// Runs that stay together: the innermost axis stays in its place.
#pragma once
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail::runs {

inline std::string fits(const Variant&, const Request& r, const DeviceInfo&) {
  return refuse_form(r.form, {Kind::runs, Kind::copy});
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(r.form.count(), c.threads * c.accesses), .threads = c.threads};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  return kernel_of(row, footprint(row, r, device), r);
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::transpose_detail::runs
