// Any strides, a unit per thread: takes everything.
#pragma once
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail::strided {

inline std::string fits(const Variant&, const Request& r, const DeviceInfo&) { return refuse_parts(r.form); }

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  return {.grid = ceil_div(r.form.count(), row.config.threads), .threads = row.config.threads};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  return kernel_of(row, footprint(row, r, device), r);
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::transpose_detail::strided
