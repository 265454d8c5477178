#include <ridge/core/plan.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>

namespace ridge {

std::string_view name(Role role) {
  constexpr std::string_view names[] = {"general", "fallback", "lesson"};
  return names[static_cast<int>(role)];
}

namespace {
std::string bytes_text(double bytes) {
  return bytes >= 1e9   ? format("%.3f GB", bytes * 1e-9)
         : bytes >= 1e6 ? format("%.3f MB", bytes * 1e-6)
         : bytes >= 1e3 ? format("%.1f kB", bytes * 1e-3)
                        : format("%.0f B", bytes);
}
}  // namespace

// The operator's place on the roofline: below a level's balance that level is the bound.
static std::string intensity_text(const Analysis& a) {
  std::string s = format("%.3g %s operations per byte", a.intensity, a.unit.c_str());
  const char* lead = "; memory is the bound below ";
  for (const Analysis::Level& level : a.levels) {
    if (level.balance <= 0) continue;
    s += lead + format("%.3g (%s)", level.balance, level.name.c_str());
    lead = ", ";
  }
  return s;
}

static std::string grid_text(const Analysis& a) {
  std::string s = format("%lld blocks of %d threads", static_cast<long long>(a.blocks), a.threads);
  if (a.registers > 0) s += format(", %d registers (%s)", a.registers, a.registers_source.c_str());
  if (a.smem_bytes > 0) s += ", " + bytes_text(a.smem_bytes) + " of shared memory";
  return s;
}

std::string Explanation::text() const {
  const Analysis& a = analysis;
  std::string s = op + " " + problem + " on " + device + "\n";
  s += format("  moves       %s read + %s written\n", bytes_text(cost.bytes_read).c_str(),
              bytes_text(cost.bytes_written).c_str());
  for (int u = 0; u < unit_count; ++u)
    if (cost.operations[u] > 0)
      s += format("  computes    %.4g %s operations\n", cost.operations[u],
                  std::string(name(static_cast<Unit>(u))).c_str());
  if (!a.unit.empty() && cost.bytes() > 0) s += "  intensity   " + intensity_text(a) + "\n";
  s += format("  bound by    %s, at least %.2f us\n", bound.c_str(), least_us);
  s += format("  chosen      %s, predicted %.2f us (%.0f %% of the roof), workspace %s\n", variant.c_str(),
              predicted_us, predicted_us > 0 ? 100 * least_us / predicted_us : 0.0,
              bytes_text(static_cast<double>(workspace_bytes)).c_str());
  if (a.blocks > 0) {
    s += "  grid        " + grid_text(a) + "\n";
    s += format("  occupancy   %.0f %%: %d blocks on a multiprocessor; no more because of %s\n", 100 * a.occupancy,
                a.blocks_per_sm, a.limiter.c_str());
    s += format("  waves       %.3g, the last %.0f %% full; %.0f %% of all places used, tiles %.0f %% full\n", a.waves,
                100 * a.tail_share, 100 * a.wave_efficiency, 100 * a.tile_efficiency);
    s += format("  in flight   %s for each multiprocessor; memory needs %s\n", bytes_text(a.bytes_in_flight).c_str(),
                bytes_text(a.bytes_needed).c_str());
  }
  for (std::size_t i = 0; i < a.terms.size(); ++i)
    s += format("  %-10s  %-10s %10.2f us  %s\n", i == 0 ? "time" : "", a.terms[i].name.c_str(), a.terms[i].us,
                a.terms[i].why.c_str());
  for (std::size_t i = 0; i < a.advice.size(); ++i)
    s += format("  %-10s  %s\n", i == 0 ? "to gain" : "", a.advice[i].c_str());
  std::size_t width = 0;
  for (const Candidate& c : candidates) width = std::max(width, c.variant.size());
  for (const Candidate& c : candidates) {
    s += format("    %-*s  ", static_cast<int>(width), c.variant.c_str());
    if (c.fits()) {
      s += format("%10.2f us", c.predicted_us);
      if (c.role != Role::general) s += "  " + std::string(name(c.role));
      if (c.variant == variant) s += "  <- chosen";
    } else {
      s += "no: " + c.refusal;
    }
    s += "\n";
  }
  // A cheaper row that is not chosen stands there for a reason.
  const auto fits_as = [&](Role role) {
    return std::ranges::any_of(candidates, [&](const Candidate& c) { return c.fits() && c.role == role; });
  };
  if (fits_as(Role::fallback))
    s += "    fallback: chosen where it is predicted at less than half of what others take\n";
  if (fits_as(Role::lesson)) s += "    lesson: runs by name, and where nothing else fits\n";
  return s;
}

}  // namespace ridge
