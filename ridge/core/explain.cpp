#include <ridge/core/plan.hpp>

#include <algorithm>
#include <cstdio>

namespace ridge {

namespace {
template <class... A> std::string format(const char* pattern, A... a) {
  char line[512];
  std::snprintf(line, sizeof line, pattern, a...);
  return line;
}
std::string bytes_text(double bytes) {
  return bytes >= 1e9   ? format("%.3f GB", bytes * 1e-9)
         : bytes >= 1e6 ? format("%.3f MB", bytes * 1e-6)
         : bytes >= 1e3 ? format("%.1f kB", bytes * 1e-3)
                        : format("%.0f B", bytes);
}
}  // namespace

std::string Explanation::text() const {
  std::string s = op + " " + problem + " on " + device + "\n";
  s += format("  moves       %s read + %s written\n", bytes_text(cost.bytes_read).c_str(),
              bytes_text(cost.bytes_written).c_str());
  for (int u = 0; u < unit_count; ++u)
    if (cost.operations[u] > 0)
      s += format("  computes    %.4g %s operations\n", cost.operations[u],
                  std::string(name(static_cast<Unit>(u))).c_str());
  if (cost.bytes() > 0) s += format("  intensity   %.3g operations per byte\n", cost.all_operations() / cost.bytes());
  s += format("  bound by    %s, at least %.2f us\n", bound.c_str(), least_us);
  s += format("  chosen      %s, predicted %.2f us, workspace %s\n", variant.c_str(), predicted_us,
              bytes_text(static_cast<double>(workspace_bytes)).c_str());
  std::size_t width = 0;
  for (const Candidate& c : candidates) width = std::max(width, c.variant.size());
  for (const Candidate& c : candidates) {
    s += format("    %-*s  ", static_cast<int>(width), c.variant.c_str());
    s += c.fits() ? format("%10.2f us%s", c.predicted_us, c.variant == variant ? "  <- chosen" : "")
                  : "no: " + c.refusal;
    s += "\n";
  }
  return s;
}

}  // namespace ridge
