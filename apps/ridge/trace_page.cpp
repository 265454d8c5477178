#include "trace_page.hpp"

#include "page/document.hpp"
#include "page/launches.hpp"
#include "page/quantities.hpp"
#include "page/roofs.hpp"
#include "page/source.hpp"
#include "svg.hpp"

#include <ridge/roofline/occupancy.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace ridge::cli {
namespace {

namespace trace = simt::trace;

constexpr double sector_bytes = 32;

// ---- the gutter ----------------------------------------------------------------------------------------------------

void add(page::Units& units, const trace::Access& a) {
  const bool is_global = a.space == trace::Space::global;
  units.requests += static_cast<double>(a.requests);
  units.units += static_cast<double>(is_global ? a.sectors : a.wavefronts);
  units.least += static_cast<double>(is_global ? a.least_sectors : a.least_wavefronts);
}

std::string race_text(const trace::Race& r) {
  return fmt::format("race between blocks: {} accesses meet those of {}", r.accesses, r.against.spelled());
}

page::Gutters gutters_of(const trace::Report& report) {
  page::Gutters gutters;
  const auto at = [&](const trace::Line& line) -> page::Gutter& {
    page::Gutter& gutter = gutters[{line.file, line.number}];
    gutter.text = line.text;
    return gutter;
  };
  for (const trace::Launch& launch : report.launches) {
    for (const trace::Access& a : launch.accesses) {
      page::Gutter& gutter = at(a.at);
      add(gutter.of(a.space == trace::Space::global), a);
      if (const std::string note = a.note(launch.warp); !note.empty()) gutter.notes.insert(note);
    }
    for (const trace::Branch& b : launch.branches) {
      page::Gutter& gutter = at(b.at);
      gutter.divergent += b.divergent;
      gutter.branches += b.executed;
    }
    for (const trace::Race& r : launch.races) at(r.at).notes.insert(race_text(r));
  }
  return gutters;
}

// ---- launches ------------------------------------------------------------------------------------------------------

std::string dim_text(trace::Dim d) {
  return d.z > 1   ? fmt::format("({},{},{})", d.x, d.y, d.z)
         : d.y > 1 ? fmt::format("({},{})", d.x, d.y)
                   : fmt::format("({})", d.x);
}

std::int64_t shared_bytes(const trace::Launch& launch) {
  return std::max(launch.footprint.shared_bytes, static_cast<std::int64_t>(launch.smem));
}

// Of global memory, each sector that was read or written counted once.
double memory_bytes(const trace::Launch& launch) {
  return sector_bytes * static_cast<double>(launch.footprint.read_sectors + launch.footprint.written_sectors);
}

page::LaunchRow row_of(const trace::Launch& launch, const DeviceInfo& model) {
  page::LaunchRow row{
      .kernel = page::short_name(launch.kernel), .grid = dim_text(launch.grid), .block = dim_text(launch.block)};
  if (!launch.accesses.empty()) row.memory = page::bytes_text(memory_bytes(launch));
  for (const trace::Access& a : launch.accesses) add(a.space == trace::Space::global ? row.sectors : row.wavefronts, a);
  if (shared_bytes(launch) > 0) row.shared = page::bytes_text(static_cast<double>(shared_bytes(launch)));
  const std::int64_t blocks = std::int64_t{1} * launch.grid.x * launch.grid.y * launch.grid.z;
  const auto threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  const roofline::Occupancy held =
      roofline::occupancy(model, {.threads = threads, .smem = static_cast<int>(shared_bytes(launch))});
  if (held.blocks == 0) return row;
  const double filled = static_cast<double>(blocks) / (static_cast<double>(held.blocks) * model.sms);
  row.occupancy = filled < 1 ? page::occupancy_text(held.share * filled, "the grid")
                             : page::occupancy_text(held.share, held.limiter);
  row.waves = std::to_string(roofline::waves(blocks, held.blocks, model.sms).count());
  return row;
}

// ---- the roofline --------------------------------------------------------------------------------------------------

Unit busiest_unit(const Explanation& e) {
  for (int u = 0; u < unit_count; ++u)
    if (name(static_cast<Unit>(u)) == e.analysis.unit) return static_cast<Unit>(u);
  return Unit::fp32;
}

page::RoofKernel roof_kernel(const TracedOnModel& t) {
  page::RoofKernel kernel{.label = t.traced.variant};
  for (const trace::Launch& launch : t.traced.report.launches) kernel.bytes += memory_bytes(launch);
  if (!t.planned) return kernel;
  kernel.unit = busiest_unit(*t.planned);
  if (!t.planned->analysis.unit.empty()) kernel.operations = t.planned->cost.on(kernel.unit);
  kernel.us = t.planned->predicted_us;
  return kernel;
}

std::string caption(const std::vector<page::RoofKernel>& kernels, const DeviceInfo& model) {
  const std::string times =
      fmt::format("the time that its plan predicts on a model of {}; nothing was measured there.", model.name);
  if (std::ranges::none_of(kernels, [](const page::RoofKernel& k) { return k.operations > 0; }))
    return "The operator computes nothing, so a variant is not a point here but a dotted line: all places at the rate "
           "at "
           "which it moves memory, by the sectors that the trace saw, each counted once, and by " +
           times;
  return "Each point is a variant: the operations that the operator cannot do without, on the unit that they keep "
         "busiest, over the bytes of memory that the trace saw it move (sectors, each counted once) and over " +
         times;
}

void add_roofline(page::Document& document, const std::vector<TracedOnModel>& all, const DeviceInfo& model) {
  std::vector<page::RoofKernel> kernels;
  for (const TracedOnModel& t : all) kernels.push_back(roof_kernel(t));
  document.heading("Roofline");
  const std::string figure = page::roofline_figure(model, kernels, {Unit::fp32}, caption(kernels, model));
  if (figure.empty()) document.paragraph("No variant here has both bytes and a predicted time.");
  else document.add(figure);
}

// ---- a variant -----------------------------------------------------------------------------------------------------

std::string plan_text(const TracedOnModel& t, const DeviceInfo& model) {
  if (!t.planned) return fmt::format("Not predicted on a model of {}: {}", model.name, t.not_planned);
  const Explanation& e = *t.planned;
  const Analysis& a = e.analysis;
  std::string text = fmt::format("Predicted on a model of {}: {}, bound by {}, at least {}", model.name,
                                 page::time_text(e.predicted_us), e.bound, page::time_text(e.least_us));
  if (a.blocks_per_sm > 0)
    text += fmt::format("; occupancy {:.3g} % ({} blocks on a multiprocessor, no more because of {}), {:.3g} waves",
                        100 * a.occupancy, a.blocks_per_sm, a.limiter, a.waves);
  return text;
}

std::string findings_html(const trace::Report& report, const page::Sources& sources) {
  std::string html;
  const auto say = [&](const trace::Line& at, const std::string& what) {
    html += fmt::format("<li class=\"bad\"><a href=\"{}\">{}</a>: {}</li>\n", escaped(sources.link(at.file, at.number)),
                        escaped(at.spelled()), escaped(what));
  };
  for (const trace::Launch& launch : report.launches) {
    for (const trace::Access& a : launch.accesses)
      if (a.unset > 0) say(a.at, "reads shared memory that no thread of the block has written");
    for (const trace::Race& r : launch.races) say(r.at, race_text(r));
  }
  return html.empty() ? "" : "<ul>" + html + "</ul>\n";
}

// A variant among others shows its source when asked.
std::string source_html(const page::Sources& sources, bool is_alone) {
  if (sources.empty()) return {};
  const std::string html = sources.html(page::Lines::near_figures);
  return is_alone ? html : "<details><summary>source</summary>\n" + html + "</details>\n";
}

void add_variant(page::Document& document, const TracedOnModel& t, const DeviceInfo& model, bool is_alone) {
  const Traced& traced = t.traced;
  document.heading(traced.variant);
  document.paragraph(traced.step);
  if (!traced.refused.empty()) return document.paragraph("Refused: " + traced.refused, "soft");
  if (!traced.error.empty()) return document.paragraph("Failed: " + traced.error, "bad");
  document.paragraph(plan_text(t, model), "soft");
  std::vector<page::LaunchRow> rows;
  for (const trace::Launch& launch : traced.report.launches) rows.push_back(row_of(launch, model));
  if (rows.empty()) return document.paragraph("No kernel was launched.");
  const page::Sources sources(gutters_of(traced.report), is_alone ? "" : traced.variant + ".");
  document.add(page::launches_table(rows));
  document.add(findings_html(traced.report, sources));
  document.add(source_html(sources, is_alone));
}

}  // namespace

std::string trace_page(const std::string& case_text, const std::vector<TracedOnModel>& all, const DeviceInfo& model) {
  page::Document document(case_text);
  document.paragraph(
      "What the kernels do to memory, counted on the CPU runtime: sectors of 32 bytes of global memory and wavefronts "
      "of "
      "shared memory, beside the least that would have done, and branches at which the lanes of a warp part. Per line "
      "they are those of a request, on the average.");
  document.paragraph(fmt::format("Occupancy and waves of a launch are those that its grid and its blocks' threads and "
                                 "shared memory allow on a model of {}; registers are a matter of the compiler.",
                                 model.name),
                     "soft");
  add_roofline(document, all, model);
  for (const TracedOnModel& t : all) add_variant(document, t, model, all.size() == 1);
  return document.str();
}

}  // namespace ridge::cli
