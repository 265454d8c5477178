// What the plan's choices lose against other variants that were measured with them.
#pragma once
#include "json.hpp"
#include "results.hpp"

#include <ridge/bench/bench.hpp>

#include <span>
#include <vector>

namespace ridge::cli {

// Those of measurements that stand.
std::vector<ResultRow> rows_of(std::span<const bench::Measurement>);

Json to_json(const std::vector<BeatenChoice>&);
void print(const std::vector<BeatenChoice>&);

}  // namespace ridge::cli
