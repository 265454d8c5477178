// Benchmarks: a case timed with a cold cache and rotated inputs, interleaved with its peers and with a plain copy.
#pragma once
#include <ridge/bench/accuracy.hpp>
#include <ridge/check/case.hpp>
#include <ridge/core/op.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ridge::bench {

// Something else that computes the same: CUB, cuBLAS, cudaMemcpy. make() prepares (and allocates) for a case's
// tensors and returns what queues one run; an error means that the peer does not do this case.
struct Peer {
  std::string op, name;
  std::function<Result<std::function<Status(Stream)>>(const check::Case&, Views inputs, Views outputs)> make;
  bool takes_strides = false;  // else it is asked of contiguous tensors alone
  bool takes_host = false;     // else it is asked of a GPU's tensors alone
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
  std::optional<Accuracy> accuracy;  // as ours
};

struct Measurement {
  std::string case_text, variant, device;
  std::string op, problem;  // as the plan's Explanation names them
  Timing time;
  double gbs = 0;         // 1e9 bytes/s, of the bytes in the operator's Cost
  double copy_share = 0;  // of the copy measured in the same run (GPU); 0 where not measured
  double tflops = 0;
  double predicted_us = 0, least_us = 0, plan_us = 0;
  bool chosen = true;                // the variant that the plan chooses
  std::optional<Accuracy> accuracy;  // with Settings::peers, where the case book has `elements`
  std::vector<PeerMeasurement> peers;
  std::string error;  // empty where the measurement stands
};

struct Settings {
  bool peers = false, all_variants = false;
  bool near_variants = false;  // those that tuning would time (tuning/tuned_plan.hpp)
  int repeats = 30;
  // On a GPU: runs in one graph, beside as many empty kernels; 0: as many as take long enough, and no empty ones.
  int chain = 0;
};

// Times one case on one device, its tensors lying as the case says (place=).
std::vector<Measurement> measure(const check::Case&, const DeviceInfo&, const Settings&);

// Bytes per second / 1e9 of a 1 GiB device-to-device copy, read and written bytes both counted.
Result<double> copy_gbs(const DeviceInfo&);

}  // namespace ridge::bench
