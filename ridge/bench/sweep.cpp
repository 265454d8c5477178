#include <ridge/bench/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

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

}  // namespace ridge::bench
