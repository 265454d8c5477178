// The plans of an operator's latest calls, so that one like them plans nothing.
#pragma once
#include "planned.hpp"

#include <list>
#include <unordered_map>

namespace ridge_python {

class PlanCache {
 public:
  // Null where there is none. The plan stays as long as the caller holds it, also when it leaves the cache meanwhile.
  std::shared_ptr<Planned> find(const std::string& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    latest_first_.splice(latest_first_.begin(), latest_first_, found->second);
    return found->second->plan;
  }

  void clear() {
    places_.clear();
    latest_first_.clear();
  }

  void insert(std::string key, std::shared_ptr<Planned> plan) {
    if (places_.contains(key)) return;  // another thread was faster
    if (latest_first_.size() == capacity) {
      places_.erase(latest_first_.back().key);
      latest_first_.pop_back();
    }
    latest_first_.push_front({std::move(key), std::move(plan)});
    places_.emplace(latest_first_.front().key, latest_first_.begin());
  }

 private:
  static constexpr std::size_t capacity = 1024;  // sequence lengths come in many; a plan is a few hundred bytes
  struct Entry {
    std::string key;
    std::shared_ptr<Planned> plan;
  };
  std::list<Entry> latest_first_;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
};

}  // namespace ridge_python
