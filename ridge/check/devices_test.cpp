// Every operator's plans on every device model: a row is offered where its instructions are, and what a plan launches
// is within the device's limits.
#include <ridge/check/placement.hpp>
#include <ridge/check/reach.hpp>
#include <ridge/roofline/occupancy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace ridge::check {

void PrintTo(const CaseBook* book, std::ostream* out) { *out << book->op; }

namespace {

class Devices : public testing::TestWithParam<const CaseBook*> {};

// Rows begin at Turing, Ampere or Ada and go on from there; or they are Hopper's alone, whose instructions of its own
// no later architecture has. (An operator may share a table with others, and have no case for some rows.)
TEST_P(Devices, ARowIsOfferedWhereItsInstructionsAre) {
  const auto from = [](int cc) {
    std::array<bool, architectures.size()> fits;
    std::ranges::transform(architectures, fits.begin(), [cc](int architecture) { return architecture >= cc; });
    return fits;
  };
  std::array<bool, architectures.size()> hopper{};
  *(hopper.begin() + (std::ranges::find(architectures, 90) - architectures.begin())) = true;
  for (const Reach& reach : reach_of(*GetParam())) {
    std::string where;
    for (std::size_t a = 0; a < architectures.size(); ++a)
      if (reach.fits[a]) where += " " + std::to_string(architectures[a]);
    if (where.empty()) continue;
    EXPECT_TRUE(reach.fits == from(75) || reach.fits == from(80) || reach.fits == from(89) || reach.fits == hopper)
        << reach.row << " fits on" << where;
  }
}

std::string over_limits(const Explanation& e, const DeviceInfo& device) {
  const Analysis& a = e.analysis;
  if (a.blocks == 0) return {};  // nothing is launched
  if (a.blocks < 0 || a.blocks > std::numeric_limits<std::int32_t>::max()) return std::to_string(a.blocks) + " blocks";
  if (a.threads < 1 || a.threads > 1024) return std::to_string(a.threads) + " threads";
  if (a.smem_bytes > device.smem_optin) return std::to_string(a.smem_bytes) + " bytes of shared memory";
  const roofline::Resources block{.threads = a.threads, .registers = a.registers, .smem = a.smem_bytes};
  const roofline::Occupancy held = roofline::occupancy(device, block);
  if (held.blocks < 1) return "no block fits a multiprocessor, by its " + std::string(held.limiter);
  return {};
}

// A plan of the row, or of the plan's own choice where it is empty.
Result<Explanation> explained(Case c, const std::string& row, const DeviceInfo& device) {
  if (!row.empty()) c.options.set("variant", row);
  const auto r = placed_request(c, device.id);
  if (!r) return r.error();
  const auto plan = plan_op(*r->op, r->inputs, r->outputs, c.operator_options(), device);
  if (!plan) return plan.error();
  return (*plan)->explain();
}

TEST_P(Devices, LaunchesAreWithinTheDevicesLimits) {
  constexpr int times = 3;  // that a row which is not chosen is tried
  const std::vector<Case> cases = cases_to_plan(*GetParam());
  for (const DeviceInfo& device : device_models()) {
    std::map<std::string, int> tried;
    for (const Case& c : cases) {
      const auto chosen = explained(c, "", device);
      if (!chosen) {
        EXPECT_FALSE(chosen.error().message().empty()) << c.text() << " on " << device.name;
        continue;
      }
      EXPECT_EQ(over_limits(*chosen, device), "") << c.text() << " on " << device.name << ": " << chosen->variant;
      for (const Candidate& candidate : chosen->candidates) {
        if (!candidate.fits() || candidate.variant == chosen->variant || tried[candidate.variant]++ >= times) continue;
        const auto named = explained(c, candidate.variant, device);
        ASSERT_TRUE(named.ok()) << c.text() << " on " << device.name << ": " << named.error().message();
        EXPECT_EQ(over_limits(*named, device), "") << c.text() << " on " << device.name << ": " << candidate.variant;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Devices, testing::ValuesIn(case_books()),
                         [](const auto& instance) { return instance.param->op; });

}  // namespace
}  // namespace ridge::check
