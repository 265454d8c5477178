// Measurements as the command line shows them: a line each, JSON, and where and when they were made.
#pragma once
#include "json.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "table.hpp"

#include <ridge/bench/bench.hpp>

#include <functional>
#include <string>
#include <vector>

namespace ridge::cli {

Json to_json(const bench::Measurement&);

// The first fields of a file of results: device, driver, version, commit (null where it is empty) and date.
Json provenance(const DeviceInfo&, const std::string& commit);

// The table's widths are known before the first measurement, so each line is printed as soon as it is there.
Table measurement_table(const std::vector<KnownCase>&, bool peers);
void print_line(const Table&, const bench::Measurement&);

// For bench::Settings: shows each turn on a line of progress, which must outlive it.
std::function<void(const bench::Turn&)> shown_by(Progress&);

// "-" or a file that can be written: asked before the work, which may take minutes.
Status check_json_target(const std::string& target);
// Whole, or not at all.
Status write_results(const std::string& path, const Json&);

}  // namespace ridge::cli
