#include <ridge/bench/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>

namespace ridge::bench {

const PeerMeasurement* best_peer(const Measurement& m) {
  const auto best = std::ranges::min_element(m.peers, {}, [](const PeerMeasurement& peer) { return peer.time.us; });
  return best == m.peers.end() ? nullptr : &*best;
}

double times_faster(const Measurement& m) {
  const PeerMeasurement* peer = best_peer(m);
  return peer && m.time.us > 0 ? peer->time.us / m.time.us : 0;
}

double times_off(const Measurement& m) {
  if (!(m.time.us > 0) || !(m.predicted_us > 0)) return 1;
  return std::max(m.time.us / m.predicted_us, m.predicted_us / m.time.us);
}

Sweep summarise(std::span<const Measurement> measurements, std::size_t most) {
  Sweep s;
  for (const Measurement& m : measurements) {
    if (!m.error.empty()) {
      s.failed.push_back(&m);
      continue;
    }
    ++s.measured;
    s.furthest.push_back(&m);
    (best_peer(m) ? s.worst : s.alone).push_back(&m);
  }
  std::ranges::stable_sort(s.worst, {}, [](const Measurement* m) { return times_faster(*m); });
  std::ranges::stable_sort(s.furthest, std::greater(), [](const Measurement* m) { return times_off(*m); });
  if (!s.worst.empty()) {
    double logs = 0;
    for (const Measurement* m : s.worst) logs += std::log(times_faster(*m));
    s.geomean = std::exp(logs / static_cast<double>(s.worst.size()));
    s.p5 = times_faster(*s.worst[(s.worst.size() - 1) / 20]);
  }
  if (!s.furthest.empty()) s.median_times_off = times_off(*s.furthest[s.furthest.size() / 2]);
  s.worst.resize(std::min(s.worst.size(), most));
  s.furthest.resize(std::min(s.furthest.size(), most));
  return s;
}

Losses losses_of(std::span<const Measurement> measurements, std::size_t most) {
  std::map<std::string_view, Losses::Loss> of_case;
  std::vector<std::string_view> order;
  for (const Measurement& m : measurements) {
    if (!m.error.empty()) continue;
    const std::string_view name = m.case_text;
    auto [place, is_new] = of_case.try_emplace(name, Losses::Loss{nullptr, &m});
    if (is_new) order.push_back(name);
    if (m.chosen) place->second.chosen = &m;
    if (m.time.us < place->second.fastest->time.us) place->second.fastest = &m;
  }
  Losses losses;
  double logs = 0;
  std::size_t count = 0;
  for (const std::string_view name : order) {
    const Losses::Loss& loss = of_case.at(name);
    if (!loss.chosen) continue;
    ++count;
    logs += std::log(loss.times_slower());
    if (loss.chosen != loss.fastest) losses.worst.push_back(loss);
  }
  if (count > 0) losses.geomean = std::exp(logs / static_cast<double>(count));
  std::ranges::stable_sort(losses.worst, std::greater(), &Losses::Loss::times_slower);
  losses.worst.resize(std::min(losses.worst.size(), most));
  return losses;
}

}  // namespace ridge::bench
