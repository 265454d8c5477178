// Benchmarks: a case timed with a cold cache and rotated inputs, interleaved with its peers and with a plain copy.
#pragma once
#include <ridge/bench/accuracy.hpp>
#include <ridge/check/case.hpp>
#include <ridge/core/op.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::bench {

// Another implementation of the same operator: CUB, cuBLAS, cudaMemcpy. make() prepares (and allocates) for a case's
// tensors and returns a function that queues one run; an error means that the peer does not do this case.
struct Peer {
  std::string op, name;
  std::function<Result<std::function<Status(Stream)>>(const check::Case&, Views inputs, Views outputs)> make;
  bool takes_strides = false;  // else it is measured on contiguous tensors only
  bool takes_host = false;     // else it is measured on a GPU's tensors only
};
struct RegisterPeer {
  explicit RegisterPeer(Peer);
};
std::vector<const Peer*> peers_of(std::string_view op);

struct Timing {
  double us = 0;     // median
  double noise = 0;  // half the interquartile range, as a share of the median
};

struct PeerMeasurement {
  std::string name;
  Timing time;
  std::optional<Accuracy> accuracy;  // measured like ours
};

struct Measurement {
  std::string case_text, variant, device;
  std::string op, problem;  // as the plan's Explanation names them
  Timing time;
  double gbs = 0;         // 1e9 bytes/s, counting the bytes of the operator's Cost
  double copy_share = 0;  // share of the copy's rate in the same run (GPU); 0 where not measured
  double tflops = 0;
  double predicted_us = 0, least_us = 0, plan_us = 0;
  bool chosen = true;                // the variant that the plan chooses
  std::optional<Accuracy> accuracy;  // with Settings::peers, where the case book has `elements`
  std::vector<PeerMeasurement> peers;
  std::string error;  // empty if the measurement is valid
};

// A contender's turn, all of which come once in a round: variants, peers, the copy.
struct Turn {
  std::size_t round = 0, rounds = 0, contender = 0, contenders = 0;  // from 0; of how many
  std::string_view name;
  double share_done() const {
    return static_cast<double>(round * contenders + contender) / static_cast<double>(rounds * contenders);
  }
};

struct Settings {
  bool peers = false, all_variants = false;
  bool near_variants = false;  // measures those that tuning would time (tuning/tuned_plan.hpp)
  int repeats = 30;
  // On a GPU: the number of runs in one graph, with as many empty kernels for comparison; 0: enough runs for a long
  // enough measurement, and no empty kernels.
  int chain = 0;
  std::function<void(const Turn&)> on_turn = nullptr;  // where given: told before each turn
};

// Times one case on one device, with its tensors placed as the case says (place=).
std::vector<Measurement> measure(const check::Case&, const DeviceInfo&, const Settings&);

// The rate of a 1 GiB device-to-device copy in 1e9 bytes/s, counting read and written bytes.
Result<double> copy_gbs(const DeviceInfo&);

}  // namespace ridge::bench
