// Padding: larger sizes of a case for which less time is predicted, because rows become aligned, or tiles and waves
// full.
#pragma once
#include "json.hpp"
#include "request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridge::cli {

struct PaddedSize {
  std::string name;
  std::int64_t from = 0, to = 0;
};

struct Padding {
  std::vector<PaddedSize> sizes;
  std::string variant;                       // the choice for the padded case
  double unpadded_us = 0, predicted_us = 0;  // the second is of all the padded case's work

  std::string text() const;
};
Json to_json(const Padding&);

// The padding that pays most by the plan's prediction; nothing where none gains a tenth of the time (the model's own
// median error is half of that) and a microsecond (of small work it is least certain), or where it is a quarter more
// work: that would be another problem. Whether the result allows it is for the caller to see: zeros are nothing to a
// sum, but change a mean.
inline constexpr double worth_padding = 0.1, worth_padding_us = 1, most_padding = 1.25;
std::optional<Padding> best_padding(const KnownCase&, const DeviceInfo&, const Explanation& unpadded);

}  // namespace ridge::cli
