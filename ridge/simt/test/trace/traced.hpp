// Helpers for the tests of traces.
#pragma once
#include <ridge/simt/test/support.hpp>
#include <ridge/simt/trace.hpp>

#include <memory>
#include <vector>

namespace simt_test {

namespace trace = simt::trace;
using trace::Kind;
using trace::Space;

// Traces one launch, which must succeed.
template <class... P, class... A>
trace::Launch traced(const Config& config, void (*kernel)(P...), const A&... arguments) {
  auto report = trace::record([&] { return launch(config, kernel, arguments...); });
  if (!report || report->launches.size() != 1) {
    ADD_FAILURE() << (report ? "not one launch" : text(report.error()));
    return {};
  }
  return std::move(report->launches[0]);
}

// Elements aligned to 256 bytes, all zero.
template <class T> class Aligned {
 public:
  explicit Aligned(std::size_t n) : data_(new (std::align_val_t{256}) T[n]()) {}
  operator T*() const { return data_.get(); }
  T* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{256}); }
  };
  std::unique_ptr<T[], Free> data_;
};

// Requests, and the average cost of each.
struct Cost {
  std::int64_t requests;
  double each;
  bool operator==(const Cost&) const = default;
};
inline void PrintTo(const Cost& c, std::ostream* out) { *out << c.requests << " requests of " << c.each; }

inline Cost cost(const trace::Launch& launch, Space space, Kind kind) {
  const trace::Counts sum = launch.total(space, kind);
  const auto units = static_cast<double>(space == Space::global ? sum.sectors : sum.wavefronts);
  return {sum.requests, sum.requests ? units / static_cast<double>(sum.requests) : 0};
}
inline Cost global_loads(const trace::Launch& l) { return cost(l, Space::global, Kind::load); }
inline Cost global_stores(const trace::Launch& l) { return cost(l, Space::global, Kind::store); }
inline Cost global_atomics(const trace::Launch& l) { return cost(l, Space::global, Kind::atomic); }
inline Cost shared_loads(const trace::Launch& l) { return cost(l, Space::shared, Kind::load); }
inline Cost shared_stores(const trace::Launch& l) { return cost(l, Space::shared, Kind::store); }
inline Cost shared_atomics(const trace::Launch& l) { return cost(l, Space::shared, Kind::atomic); }

}  // namespace simt_test
