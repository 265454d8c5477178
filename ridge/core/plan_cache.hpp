// PlanCache: the plans of the one-line functions, one per problem and device. Each thread keeps its latest few, so that
// a lookup takes no lock and costs tens of nanoseconds.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/memory.hpp>

#include <list>
#include <type_traits>
#include <utility>

namespace ridge {

template <class Problem, class Plan> class PlanCache {
 public:
  // The cached plan for this problem, or the plan that make(problem, device_info) returns.
  template <class Make> Result<const Plan*> find(const Problem& problem, Device device, Make&& make) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->device == device && entry->problem == problem) {
        entries_.splice(entries_.begin(), entries_, entry);
        return &entry->plan;
      }
    auto info = device.kind == DeviceKind::cpu ? Result<DeviceInfo>(cpu()) : ridge::device(device.index);
    if (!info) return info.error();
    auto plan = make(problem, *info);
    if (!plan) return plan.error();
    if (entries_.size() == capacity) entries_.pop_back();
    entries_.push_front({problem, device, std::move(*plan)});
    return &entries_.front().plan;
  }

 private:
  static constexpr std::size_t capacity = 32;  // enough for a network's shapes; a miss costs a few microseconds
  struct Entry {
    Problem problem;
    Device device;
    Plan plan;
  };
  std::list<Entry> entries_;  // most recently used first
};

// This thread's cache.
template <class Problem, class Plan> PlanCache<Problem, Plan>& cached_plans() {
  thread_local PlanCache<Problem, Plan> cache;
  return cache;
}

// Workspace from the stream's memory pool.
RIDGE_API Result<Workspace> borrow_workspace(Device, std::size_t bytes, Stream);
RIDGE_API void return_workspace(Device, Workspace, Stream);  // queued behind what uses it

template <class Plan, class Run> Status run_with_workspace(const Plan& plan, Device device, Stream stream, Run&& run) {
  if constexpr (!requires { plan.workspace_bytes(); }) {
    return run(Workspace());
  } else {
    auto workspace = borrow_workspace(device, plan.workspace_bytes(), stream);
    if (!workspace) return workspace.error();
    Status status = run(*workspace);
    return_workspace(device, *workspace, stream);
    return status;
  }
}

// The body of a one-line function: takes the plan from this thread's cache or from make(problem, device_info), and
// calls run(plan, workspace). Throws ridge::Error.
template <class Problem, class Make, class Run>
void run_cached(const Result<Problem>& problem, Make&& make, Device device, Stream stream, Run&& run) {
  using Plan = std::remove_cvref_t<decltype(*make(*problem, std::declval<const DeviceInfo&>()))>;
  throw_if(problem.error());
  const auto plan = cached_plans<Problem, Plan>().find(*problem, device, make);
  throw_if(plan.error());
  throw_if(run_with_workspace(**plan, device, stream, [&](const Workspace& w) { return run(**plan, w); }));
}

}  // namespace ridge
