#include <ridge/core/gpu.hpp>
#include <ridge/tuning/clock.hpp>
#include <ridge/tuning/tensor_copies.hpp>
#include <ridge/tuning/tuned_plan.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace ridge {

namespace {

// The choices that this process knows: those of the file when it was first read, and its own.
class Choices {
 public:
  static Choices& instance() {
    static Choices one;
    return one;
  }
  Result<std::optional<std::string>> find(std::string_view device, std::string_view op, std::string_view problem,
                                          TuneMode mode) {
    const std::lock_guard lock(mutex_);
    RIDGE_TRY(load(mode));
    const Tuning::Entry* entry = tuning_.find(device, op, problem);
    return entry ? std::optional(entry->variant) : std::nullopt;
  }
  // Fails where measured choices cannot be kept. Makes the file where there is none.
  Status can_keep() {
    const std::filesystem::path path = tuning_path();
    const std::lock_guard lock(mutex_);
    if (writable_ == path) return {};
    RIDGE_TRY(Tuning().add_to(path));
    writable_ = path;
    return {};
  }
  Status keep(std::string_view device, std::string_view op, std::string_view problem, const Tuning::Entry& entry) {
    Tuning one;
    one.set(device, op, problem, entry);
    const std::filesystem::path path = [&] {
      const std::lock_guard lock(mutex_);
      tuning_.set(device, op, problem, entry);
      return path_;
    }();
    return one.add_to(path);  // without the mutex, because it may wait for other processes
  }

 private:
  Status load(TuneMode mode) {
    const std::filesystem::path now = tuning_path();
    if (loaded_ && now == path_) return {};
    auto read = Tuning::kept(mode);
    if (!read) return read.error();
    tuning_ = std::move(*read), path_ = now, loaded_ = true;
    return {};
  }

  std::mutex mutex_;
  Tuning tuning_;
  std::filesystem::path path_, writable_;
  bool loaded_ = false;
};

// ---- a plan's problem, and its tensors' copies ---------------------------------------------------------------------

// The problem's text, with strides of tensors that are not contiguous and the alignment of those below 16 bytes.
std::string key_of(const Explanation& e, Views inputs, Views outputs) {
  std::string key = e.problem;
  int index = 0;
  for (const Views& views : {inputs, outputs})
    for (const TensorView& v : views) {
      const int alignment = v.data ? alignment_of(v.data) : 16;
      if (!v.layout.is_contiguous() || alignment < 16) key += " [" + std::to_string(index);
      if (!v.layout.is_contiguous()) key += " " + v.layout.text();
      if (alignment < 16) key += " @" + std::to_string(alignment);
      if (!v.layout.is_contiguous() || alignment < 16) key += "]";
      ++index;
    }
  return key;
}

double median(std::vector<double> x) {
  std::ranges::nth_element(x, x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
  return x[x.size() / 2];
}

// ---- the plan ------------------------------------------------------------------------------------------------------

class TunedPlan final : public OpPlan {
 public:
  struct Contender {
    std::string variant;
    std::unique_ptr<OpPlan> plan;
    double predicted_us = 0;
  };

  TunedPlan(std::string op, std::string key, DeviceInfo device, std::vector<Contender> contenders)
      : op_(std::move(op)), key_(std::move(key)), device_(std::move(device)), contenders_(std::move(contenders)) {
    for (const Contender& c : contenders_) workspace_bytes_ = std::max(workspace_bytes_, c.plan->workspace_bytes());
  }

  Explanation explain() const override {
    Explanation e = current().explain();
    e.workspace_bytes = workspace_bytes_;
    return e;
  }
  bool is_settled() const override { return chosen_.load(std::memory_order_acquire) >= 0; }
  std::size_t workspace_bytes() const override { return workspace_bytes_; }

  Status run(Views inputs, Views outputs, Workspace workspace, Stream stream) const override {
    if (chosen_.load(std::memory_order_acquire) < 0 && !gpu_is_capturing(stream)) {
      const std::lock_guard lock(measuring_);
      if (chosen_.load(std::memory_order_relaxed) < 0) {
        const gpu::BesideCaptures others;
        RIDGE_TRY(synchronize(device_.id, stream));  // earlier work on the stream writes the inputs
        auto fastest = measure(inputs, outputs);
        // Without room, or on a device that cannot be timed, the model's choice stays. Planning has checked that
        // choices can be kept; if that changed, the next process measures again.
        if (fastest && fastest->us > 0) (void)Choices::instance().keep(device_.name, op_, key_, entry_of(*fastest));
        chosen_.store(fastest ? fastest->index : 0, std::memory_order_release);
      }
    }
    return current().run(inputs, outputs, workspace, stream);
  }

 private:
  struct Fastest {
    int index;
    double us;
  };

  const OpPlan& current() const { return *contenders_[std::max(chosen_.load(std::memory_order_acquire), 0)].plan; }
  bool gpu_is_capturing(Stream stream) const {
    return !device_.is_cpu() && gpu::is_capturing(device_.id.index, stream);
  }
  Tuning::Entry entry_of(const Fastest& f) const { return {contenders_[f.index].variant, f.us}; }

  // Times all contenders alternately, with a cold cache, on copies of the tensors.
  Result<Fastest> measure(Views inputs, Views outputs) const {
    auto clock = device_.is_cpu() ? tuning::make_cpu_clock() : tuning::make_gpu_clock(device_);
    if (!clock) return clock.error();
    const Stream stream = (*clock)->stream();
    auto copies = tuning::TensorCopies::make(inputs, outputs, device_, stream);
    if (!copies) return copies.error();
    auto scratch = Buffer::allocate(device_.id, workspace_bytes_);
    if (!scratch) return scratch.error();
    constexpr double group_us = 200;  // time of the calls in one graph, so that an event's microsecond does not matter
    constexpr int most_calls = 32, rounds = 5;
    std::vector<std::function<Result<double>()>> timed;
    for (const Contender& c : contenders_) {
      const int calls =
          device_.is_cpu() ? 1 : std::clamp(static_cast<int>(group_us / std::max(c.predicted_us, 1.0)), 1, most_calls);
      auto prepared = (*clock)->prepare(calls, [&, plan = c.plan.get()](int i) {
        const auto& set = copies->set(i);
        return plan->run(set.inputs, set.outputs, scratch->workspace(), stream);
      });
      if (!prepared) return prepared.error();
      timed.push_back(std::move(*prepared));
    }
    std::vector<std::vector<double>> us(contenders_.size());
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < timed.size(); ++i) {
        auto once = timed[i]();
        if (!once) return once.error();
        us[i].push_back(*once);
      }
    constexpr double clearly = 0.98;  // share of the model choice's time; smaller gains are noise
    Fastest fastest{0, median(us[0])};
    const double of_choice = fastest.us;
    for (std::size_t i = 1; i < us.size(); ++i)
      if (const double now = median(us[i]); now < std::min(fastest.us, of_choice * clearly))
        fastest = {static_cast<int>(i), now};
    return fastest;
  }

  const std::string op_, key_;
  const DeviceInfo device_;
  const std::vector<Contender> contenders_;  // the model's choice is the first
  std::size_t workspace_bytes_ = 0;
  mutable std::atomic<int> chosen_ = -1;  // none yet
  mutable std::mutex measuring_;
};

}  // namespace

std::vector<std::string> near_variants(const Explanation& e) {
  constexpr double near = 1.6;
  constexpr std::size_t most = 6;
  std::vector<Candidate> others;
  for (const Candidate& c : e.candidates)
    if (c.fits() && c.variant != e.variant && c.predicted_us <= near * e.predicted_us) others.push_back(c);
  std::ranges::stable_sort(others, {}, &Candidate::predicted_us);
  std::vector<std::string> names{e.variant};
  for (const Candidate& c : others)
    if (names.size() < most) names.push_back(c.variant);
  return names;
}

Result<std::unique_ptr<OpPlan>> plan_tuned(const OpInfo& op, Views inputs, Views outputs, const Options& given,
                                           const DeviceInfo& device) {
  Options options = given;
  auto mode = tuning_mode();
  if (given.has("tune")) {
    const std::string_view wanted = given.text("tune");
    if (wanted != "0" && wanted != "1")
      return Status::invalid(op.name, "tune", "'" + std::string(wanted) + "'", "0 or 1");
    mode = wanted == "1" ? TuneMode::measure : TuneMode::off;
    options.erase("tune");
  }
  if (!mode) return mode.error();
  auto plan = plan_op(op, inputs, outputs, options, device);
  if (!plan || *mode == TuneMode::off || options.has("variant")) return plan;

  const Explanation e = (*plan)->explain();
  const std::string key = key_of(e, inputs, outputs);
  const auto with = [&](const std::string& variant) {
    Options named = options;
    named.set("variant", variant);
    return plan_op(op, inputs, outputs, named, device);
  };
  auto known = Choices::instance().find(device.name, op.name, key, *mode);
  if (!known) return known.error();
  if (*known) {
    if (**known == e.variant) return plan;
    auto tuned = with(**known);
    return tuned ? std::move(tuned) : std::move(plan);  // a file written by hand may name a row that does not fit
  }
  const auto is_empty = [](const TensorView& v) { return v.count() == 0; };
  if (*mode == TuneMode::read || std::ranges::any_of(outputs, is_empty)) return plan;
  RIDGE_TRY(Choices::instance().can_keep());
  std::vector<TunedPlan::Contender> contenders;
  for (const std::string& variant : near_variants(e)) {
    auto one = variant == e.variant ? std::move(plan) : with(variant);
    if (!one) continue;
    const double us = (*one)->explain().predicted_us;
    contenders.push_back({variant, std::move(*one), us});
  }
  if (contenders.size() == 1) return std::move(contenders[0].plan);
  return std::unique_ptr<OpPlan>(std::make_unique<TunedPlan>(std::string(op.name), key, device, std::move(contenders)));
}

}  // namespace ridge
