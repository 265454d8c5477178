#include <ridge/check/placement.hpp>
#include <ridge/check/reach.hpp>

#include <algorithm>
#include <set>

namespace ridge::check {

std::vector<Case> cases_to_plan(const CaseBook& book) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  for (const auto* list : {&book.tests, &book.benches})
    for (const std::string& text : *list) {
      auto c = Case::parse(text);
      if (!c) continue;  // tests of the book say so
      for (const char* option : {"variant", "fill", "seed", "warp", "via"}) c->options.erase(option);
      if (seen.insert(c->text()).second) cases.push_back(std::move(*c));
    }
  return cases;
}

// Calls f(candidate) for each row of each case's plan; rows that fit are what is asked for.
template <class F> static void for_candidates(const std::vector<Case>& cases, const DeviceInfo& device, F f) {
  for (const Case& c : cases) {
    const auto r = placed_request(c, device.id);
    if (!r) continue;
    const auto plan = plan_op(*r->op, r->inputs, r->outputs, c.operator_options(), device);
    if (!plan) continue;
    for (const Candidate& candidate : (*plan)->explain().candidates) f(candidate);
  }
}

std::vector<Reach> reach_of(const CaseBook& book) {
  std::vector<Reach> reach;
  for (const VariantInfo& row : (*find_op(book.op))->variants) reach.push_back({std::string(row.name)});
  const std::vector<Case> cases = cases_to_plan(book);
  for (std::size_t a = 0; a < architectures.size(); ++a) {
    DeviceInfo gpu = *device_model("H200");
    gpu.cc = architectures[a];
    for_candidates(cases, gpu, [&](const Candidate& candidate) {
      if (const auto row = std::ranges::find(reach, candidate.variant, &Reach::row); row != reach.end())
        row->fits[a] = row->fits[a] || candidate.fits();
    });
  }
  return reach;
}

std::vector<std::string> rows_on(const CaseBook& book, const DeviceInfo& device) {
  std::set<std::string> rows;
  for_candidates(cases_to_plan(book), device, [&](const Candidate& candidate) {
    if (candidate.fits()) rows.insert(candidate.variant);
  });
  return {rows.begin(), rows.end()};
}

}  // namespace ridge::check
