#include <ridge/core/rows.hpp>

namespace ridge {

void rows_of(std::span<const TensorView> views, std::span<Rows> out) {
  Layout outer[4];
  const std::size_t n = views.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Layout& full = views[i].layout;
    const int last = full.rank - 1;
    outer[i] = full;
    outer[i].rank = last < 0 ? 0 : last;
    out[i].step = last < 0 || full.shape[last] <= 1 ? 1 : full.stride[last];
    out[i].alignment_offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(views[i].data) % 16);
  }
  collapse(std::span(outer, n));
  for (std::size_t i = 0; i < n; ++i) out[i].outer = outer[i];
}

}  // namespace ridge
