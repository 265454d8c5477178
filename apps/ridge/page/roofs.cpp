#include "roofs.hpp"

#include "../plots.hpp"
#include "html.hpp"
#include "quantities.hpp"

#include <ridge/roofline/bound.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace ridge::cli::page {
namespace {

// With so many points, there is room for their numbers alone.
constexpr std::size_t most_names = 8;

struct Numbered {
  int number = 0;
  const RoofKernel* kernel = nullptr;
  double intensity() const { return kernel->operations / kernel->bytes; }
  double tera() const { return kernel->operations / kernel->us * 1e-6; }
  double gbs() const { return kernel->bytes / kernel->us * 1e-3; }
};

std::string operations_text(double n) {
  return n >= 1e9   ? fmt::format("{:.3g} G", n * 1e-9)
         : n >= 1e6 ? fmt::format("{:.3g} M", n * 1e-6)
                    : fmt::format("{:.0f}", n);
}

// The rate that the roofs allow at an intensity.
double allowed_tera(const DeviceInfo& device, const Numbered& k) {
  const double memory = roofline::bandwidth_gbs(device, roofline::Level::dram) * 1e-3 * k.intensity();
  return std::min(memory, roofline::rate(device, k.kernel->unit));
}

RoofPoint point_of(const Numbered& k, bool has_room) {
  const std::string number = std::to_string(k.number);
  RoofPoint point{.label = has_room ? number + " " + k.kernel->label : number, .hint = k.kernel->label};
  if (k.kernel->operations > 0) point.intensity = k.intensity(), point.tera = k.tera();
  else point.gbs = k.gbs();
  return point;
}

std::string table_of(const DeviceInfo& device, const std::vector<Numbered>& kernels) {
  std::vector<Row> rows;
  for (const Numbered& k : kernels) {
    Row row{{std::to_string(k.number)}, {k.kernel->label}};
    if (k.kernel->operations > 0) {
      const double allowed = allowed_tera(device, k);
      for (const std::string& text :
           {fmt::format("{} {}", operations_text(k.kernel->operations), name(k.kernel->unit)), figures(k.intensity()),
            figures(k.tera()), allowed > 0 ? fmt::format("{:.3g} %", 100 * k.tera() / allowed) : std::string()})
        row.push_back({text});
    } else {
      row.insert(row.end(), 4, Cell{});
    }
    row.insert(row.begin() + 2, {{bytes_text(k.kernel->bytes)}, {time_text(k.kernel->us)}, {figures(k.gbs())}});
    rows.push_back(std::move(row));
  }
  return table_of_said(
      {"#", "<label", "memory", "predicted", "GB/s", "operations", "per byte", "1e12 operations/s", "of the roof"},
      rows);
}

}  // namespace

std::string roofline_figure(const DeviceInfo& device, const std::vector<RoofKernel>& kernels, std::vector<Unit> units,
                            std::string_view caption) {
  std::vector<Numbered> numbered;
  for (const RoofKernel& k : kernels)
    if (k.bytes > 0 && k.us > 0) numbered.push_back({static_cast<int>(&k - kernels.data()) + 1, &k});
  if (numbered.empty()) return {};
  for (const Numbered& k : numbered)
    if (k.kernel->operations > 0 && std::ranges::find(units, k.kernel->unit) == units.end())
      units.push_back(k.kernel->unit);
  std::vector<RoofPoint> points;
  for (const Numbered& k : numbered) points.push_back(point_of(k, numbered.size() <= most_names));
  const std::string svg = roofline_svg(device, units, points, "Roofline of " + device.name, PlotSize::phone);
  return "<figure>" + inlined(svg) + tag("figcaption", caption) + "</figure>\n" + table_of(device, numbered);
}

}  // namespace ridge::cli::page
