#include "padding.hpp"

#include <ridge/roofline/occupancy.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace ridge::cli {
namespace {

using Sizes = std::vector<PaddedSize>;

// Elements in an access of 16 bytes, the widest there is, and what tensor cores are to be padded to.
std::set<int> multiples_for(DType dtype, const DeviceInfo& device) {
  constexpr int widest_access = 16;
  const auto bytes = static_cast<int>(size_of(dtype));
  return {std::max(1, widest_access / bytes), roofline::padding_multiple(device, bytes)};
}

// Where it would double a size it is no padding: a window of 3 does not become one of 8.
Sizes padded_to(const check::Case& c, std::int64_t multiple) {
  Sizes sizes;
  for (const auto& [name, size] : c.dims)
    if (const std::int64_t over = size % multiple; over > 0 && multiple - over < size)
      sizes.push_back({name, size, size - over + multiple});
  return sizes;
}

// Each size alone, and all of one multiple together: a product's rows are aligned where two of its sizes are.
std::vector<Sizes> ways_to_pad(const check::Case& c, const DeviceInfo& device) {
  std::vector<Sizes> ways;
  for (int multiple : multiples_for(c.dtype, device)) {
    const Sizes all = padded_to(c, multiple);
    for (const PaddedSize& size : all) ways.push_back({size});
    if (all.size() > 1) ways.push_back(all);
  }
  return ways;
}

constexpr double worth_more = 0.02;  // what a way that adds more must gain over one that adds less

// Plans a case with larger sizes.
class Padder {
 public:
  Padder(const KnownCase& known, const DeviceInfo& device, const Explanation& unpadded)
      : known_(known), device_(device), unpadded_(unpadded) {}

  // Nothing where the sizes do not go together, no variant takes them, or they are too much more work.
  std::optional<Padding> pad(const Sizes& sizes) const {
    check::Case c = known_.c;
    for (const PaddedSize& padded : sizes)
      for (auto& [name, size] : c.dims)
        if (name == padded.name) size = padded.to;
    const auto larger = find_case(c.text());
    if (!larger) return std::nullopt;
    const auto plan = explain_case(*larger, device_);
    if (!plan || is_another_problem(plan->cost)) return std::nullopt;
    return Padding{sizes, plan->variant, unpadded_.predicted_us, plan->predicted_us};
  }

  // Without the sizes that the time hardly depends on; it stays at or below `bar`.
  Padding trimmed(Padding padding, double bar) const {
    for (std::size_t i = 0; i < padding.sizes.size() && padding.sizes.size() > 1;) {
      Sizes fewer = padding.sizes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      auto without = pad(fewer);
      if (without && without->predicted_us <= std::min(bar, padding.predicted_us / (1 - worth_more)))
        padding = std::move(*without);
      else ++i;
    }
    return padding;
  }

 private:
  bool is_another_problem(const Cost& padded) const {
    return padded.bytes() > most_padding * unpadded_.cost.bytes() ||
           padded.all_operations() > most_padding * unpadded_.cost.all_operations();
  }

  const KnownCase& known_;
  const DeviceInfo& device_;
  const Explanation& unpadded_;
};

}  // namespace

std::string Padding::text() const {
  std::string list;
  for (const PaddedSize& size : sizes)
    list += fmt::format("{}{} from {} to {}", list.empty() ? "" : ", ", size.name, size.from, size.to);
  return fmt::format("pad {}: predicted {:.2f} us instead of {:.2f}, by {}, where the result allows it", list,
                     predicted_us, unpadded_us, variant);
}

Json to_json(const Padding& padding) {
  Json sizes = Json::array();
  for (const PaddedSize& size : padding.sizes)
    sizes.push_back({{"size", size.name}, {"from", size.from}, {"to", size.to}});
  return {{"sizes", sizes}, {"variant", padding.variant}, {"predicted_us", padding.predicted_us}};
}

std::optional<Padding> best_padding(const KnownCase& known, const DeviceInfo& device, const Explanation& unpadded) {
  const Padder padder(known, device, unpadded);
  const double now = unpadded.predicted_us;
  double bar = std::min((1 - worth_padding) * now, now - worth_padding_us);
  std::optional<Padding> best;
  for (const Sizes& sizes : ways_to_pad(known.c, device)) {
    const auto padding = padder.pad(sizes);
    if (!padding || padding->predicted_us > bar) continue;
    best = padder.trimmed(*padding, bar);
    bar = (1 - worth_more) * best->predicted_us;
  }
  return best;
}

}  // namespace ridge::cli
