// libFuzzer: a file of results is refused with a sentence, or can be reported and plotted.
#include "../apps/ridge/plots.hpp"
#include "../apps/ridge/results.hpp"

#include <ridge/core/text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

using namespace ridge;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto results = cli::parse_results("file", {reinterpret_cast<const char*>(data), size});
  if (!results) {
    const std::string_view said = results.error().message();
    require(said.starts_with("'file' holds no results") && said.find("exception") == said.npos);
    require(printable(said) == said);
    return 0;
  }
  require(!results->rows.empty());
  std::vector<cli::RoofPoint> points;
  cli::Series series{results->device, {}};
  for (const cli::ResultRow& row : results->rows) {
    require(std::isfinite(1 / row.us) && row.us > 0);
    points.push_back({row.variant, row.gbs, 1e12 / row.us * 1e-6, {}, row.chosen, row.case_text});
    series.points.push_back({row.gbs, 1e6 / row.us * 1e-3, row.case_text});
    for (const cli::ResultPeer& peer : row.peers) series.points.push_back({1e9, 1e6 / peer.us, peer.name});
  }
  const DeviceInfo device = cli::model_of_results(*results).ok() ? *cli::model_of_results(*results) : cpu();
  for (const std::string& drawn : {cli::roofline_svg(device, {Unit::fp32}, points, results->date),
                                   cli::bandwidth_svg({series}, device.memory_gbs, results->driver, results->commit)})
    require(printable(drawn, "\n") == drawn);
  require(!std::isnan(cli::choices_over_fastest(results->rows)));
  for (const cli::BeatenChoice& beaten : cli::beaten_choices(results->rows)) require(beaten.slower() >= 0);
  return 0;
}
