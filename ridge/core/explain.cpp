#include <ridge/core/nearest.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace ridge {

std::string_view name(Role role) {
  constexpr std::string_view names[] = {"general", "fallback", "trial", "lesson"};
  return names[static_cast<int>(role)];
}

Status no_such_variant(std::string_view op, std::string_view wanted, std::span<const std::string_view> known) {
  constexpr std::size_t few = 8;  // up to this many names are all listed
  std::string names;
  for (std::string_view name : known) names += (names.empty() ? "" : " ") + std::string(name);
  if (known.size() > few) {
    names = "its " + std::to_string(known.size()) + "; the nearest are";
    for (std::string_view near : nearest(wanted, known, 3)) names += " " + std::string(near);
  }
  return Status::invalid(op, "variant", "'" + std::string(wanted) + "'", "one of " + names);
}

namespace {
std::string bytes_text(double bytes) {
  return bytes >= 1e9   ? format("%.3f GB", bytes * 1e-9)
         : bytes >= 1e6 ? format("%.3f MB", bytes * 1e-6)
         : bytes >= 1e3 ? format("%.1f kB", bytes * 1e-3)
                        : format("%.0f B", bytes);
}

std::string time_text(double us) {
  return us >= 1e6 ? format("%.2f s", us * 1e-6) : us >= 1e4 ? format("%.1f ms", us * 1e-3) : format("%.2f us", us);
}

// A fused multiply-add is two operations.
std::string operations_text(double n, Unit unit) {
  constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t step = 0;
  for (; n >= 1000 && step + 1 < std::size(prefixes); ++step) n /= 1000;
  const bool floats = unit != Unit::int32 && unit != Unit::int8_tensor;
  return format("%.3g %s%s (%s)", n, prefixes[step], floats ? "FLOP" : "OP", std::string(name(unit)).c_str());
}
}  // namespace

// The operator's position on the roofline: below a level's balance that level is the bound.
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

// The rows that fit, in the table's order, with the role of each row that another rule than its time chooses.
static std::string fitting_text(const Explanation& e, bool all, int width) {
  std::string s;
  bool has[role_count] = {};
  for (const Candidate& c : e.candidates) {
    if (!c.fits() && !all) continue;
    s += format("    %-*s  ", width, c.variant.c_str());
    if (c.fits()) {
      has[static_cast<int>(c.role)] = true;
      s += format("%10s", time_text(c.predicted_us).c_str());
      if (c.role != Role::general) s += "  " + std::string(name(c.role));
      if (c.variant == e.variant) s += "  <- chosen";
    } else {
      s += "no: " + c.refusal;
    }
    s += "\n";
  }
  // Says why a cheaper row is not chosen.
  if (has[static_cast<int>(Role::fallback)])
    s += "    fallback: chosen where it is predicted at less than half of what others take\n";
  if (has[static_cast<int>(Role::trial)])
    s += "    trial: not measured yet: runs by name, by tuning, and where nothing else fits\n";
  if (has[static_cast<int>(Role::lesson)]) s += "    lesson: runs by name, and where nothing else fits\n";
  return s;
}

// Each reason once, with the rows that it applies to.
static std::string refusals_text(const Explanation& e) {
  constexpr std::size_t few = 4;  // up to this many rows are named
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Candidate& c : e.candidates) {
    if (c.fits()) continue;
    const auto known = std::ranges::find(reasons, c.refusal, [](const auto& reason) { return reason.first; });
    if (known == reasons.end()) reasons.push_back({c.refusal, {c.variant}});
    else known->second.push_back(c.variant);
  }
  std::string s;
  for (const auto& [reason, rows] : reasons) {
    std::string names;
    if (rows.size() > few) names = std::to_string(rows.size()) + " variants";
    else
      for (const std::string& row : rows) names += (names.empty() ? "" : ", ") + row;
    s += "    no: " + reason + " (" + names + ")\n";
  }
  return s;
}

std::string Explanation::text(bool all) const {
  const Analysis& a = analysis;
  std::string s = op + " " + problem + " on " + device + "\n";
  s += format("  moves       %s read + %s written\n", bytes_text(cost.bytes_read).c_str(),
              bytes_text(cost.bytes_written).c_str());
  for (int u = 0; u < unit_count; ++u)
    if (cost.operations[u] > 0)
      s += "  computes    " + operations_text(cost.operations[u], static_cast<Unit>(u)) + "\n";
  if (!a.unit.empty() && cost.bytes() > 0) s += "  intensity   " + intensity_text(a) + "\n";
  s += "  bound by    " + bound + ", at least " + time_text(least_us) + "\n";
  s += format("  chosen      %s, predicted %s (%.0f %% of the roof), workspace %s\n", variant.c_str(),
              time_text(predicted_us).c_str(), predicted_us > 0 ? 100 * least_us / predicted_us : 0.0,
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
    s += format("  %-10s  %-10s %10s  %s\n", i == 0 ? "time" : "", a.terms[i].name.c_str(),
                time_text(a.terms[i].us).c_str(), a.terms[i].why.c_str());
  for (std::size_t i = 0; i < a.advice.size(); ++i)
    s += format("  %-10s  %s\n", i == 0 ? "to gain" : "", a.advice[i].c_str());
  std::size_t width = 0;
  for (const Candidate& c : candidates)
    if (c.fits() || all) width = std::max(width, c.variant.size());
  s += fitting_text(*this, all, static_cast<int>(width));
  if (!all) s += refusals_text(*this);
  return s;
}

}  // namespace ridge
