#include <ridge/core/file.hpp>
#include <ridge/core/text.hpp>
#include <ridge/lab/memory.hpp>
#include <ridge/lab/record.hpp>
#include <ridge/lab/records.hpp>
#include <ridge/lab/reporter.hpp>
#include <ridge/lab/runtime_kernels.hpp>
#include <ridge/lab/session.hpp>
#include <ridge/simt/runtime/here.hpp>
#include <ridge/simt/runtime/worker.hpp>
#include <ridge/simt/trace/symbols.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace ridge::lab {
namespace {

// cudaError_t of what launch() itself refuses or finds.
constexpr int invalid_configuration = 9, launch_failure = 719;

// A launch of more threads has every n-th of its blocks watched, so that about as many threads are: watching is some
// ten times slower than running, and the blocks of a grid mostly do the same.
constexpr std::int64_t most_watched_threads = std::int64_t(1) << 18;

// Whether the run's time is over: `ridge lab` says so by SIGTERM, and ends the program if it does not come to a launch.
volatile std::sig_atomic_t is_over = 0;

class Session {
 public:
  Session() {
    const char* name = std::getenv("RIDGE_LAB_DEVICE");
    const Result<DeviceInfo> model = device_model(name ? name : "h100");
    device_ = model ? *model : *device_model("h100");
    device_.id = {};  // the program's device is the CPU runtime
    name_threads_in_reports();
    if (std::FILE* file = open_notes()) std::fclose(file);  // there from now on, whatever happens
    is_tracing_ = simt::trace::available() && simt::trace::start().ok();
    if (std::getenv("RIDGE_LAB_REPORT")) std::signal(SIGTERM, [](int) { is_over = 1; });
  }

  // The report, where somebody waits for it. Static objects of the program may have been destroyed by now; ours are
  // not.
  void finish() {
    const std::lock_guard hold(lock_);
    const char* to = std::getenv("RIDGE_LAB_REPORT");
    if (!to) return;
    const simt::trace::Report traced = is_tracing_ ? simt::trace::stop() : simt::trace::Report{};
    if (!replace_file(to, report_text(records_.all(), findings_, traced, device_, most_live_bytes_, now_us_)))
      std::fprintf(stderr, "ridge lab: %s cannot be written\n", to);
  }

  const DeviceInfo& device() const { return device_; }

  double now_us() {
    const std::lock_guard hold(lock_);
    return now_us_;
  }
  void advance_us(double us) {
    const std::lock_guard hold(lock_);
    now_us_ += us;
  }

  void set_error(int code, bool sticky) {
    const std::lock_guard hold(lock_);
    if (sticky && !sticky_error_) sticky_error_ = code;
    last_error_ = code;
  }
  int peek_error() {
    const std::lock_guard hold(lock_);
    return sticky_error_ ? sticky_error_ : last_error_;
  }
  int take_error() {
    const std::lock_guard hold(lock_);
    const int code = sticky_error_ ? sticky_error_ : last_error_;
    last_error_ = 0;
    return code;
  }

  void report(Finding finding) {
    std::fprintf(stderr, "%s:%d: %s\n", finding.file.c_str(), finding.line, finding.sentence.c_str());
    const std::lock_guard hold(lock_);
    note(finding);
    const auto same = [&](const Finding& f) {
      return f.file == finding.file && f.line == finding.line && f.sentence == finding.sentence;
    };
    if (std::ranges::none_of(findings_, same)) findings_.push_back(std::move(finding));
  }

  void launch(const LaunchSite& site, const simt::Config& config, const simt::detail::Entry& entry, Given given) {
    if (is_over) end_with_report();
    if (peek_sticky()) return;  // a device that has failed does nothing more
    const Records::Claim claim = claim_of(site, config, std::move(given));
    if (const std::string wrong = misconfigured(config); !wrong.empty()) {
      note_failure(claim);
      report({site.file, site.line, std::string(site.kernel) + ": " + wrong});
      return set_error(invalid_configuration, false);
    }
    const bool watches = is_tracing_ && claim.is_watched;
    if (is_tracing_) simt::trace::watch(watches ? stride_of(config) : 0);
    const auto begun = std::chrono::steady_clock::now();
    const Status status = [&] {
      const OpenDeviceMemory open;
      return simt::detail::run(config, entry);
    }();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begun;
    if (!status.ok()) {
      note_failure(claim);
      report({site.file, site.line, std::string(site.kernel) + ": " + explained(status.message())});
      return set_error(launch_failure, true);
    }
    if (!is_tracing_) advance_us(taken.count());  // nothing is predicted, and a program may divide by an event's time
    note_run(claim, watches);
    run_launched();
  }

  void launch_later(std::function<void()> launch) {
    const std::lock_guard hold(lock_);
    launched_.push_back(std::move(launch));
  }

 private:
  // Between launches all that was recorded is whole.
  [[noreturn]] void end_with_report() {
    finish();
    std::fflush(nullptr);
    _exit(128 + SIGTERM);
  }

  // What the kernel's own threads have launched, and what these launch in turn.
  void run_launched() {
    std::vector<std::function<void()>> launches;
    {
      const std::lock_guard hold(lock_);
      launches.swap(launched_);
    }
    for (const std::function<void()>& launch : launches) launch();
  }

  // A finding at once, for a program that ends without finish(): FILE, tab, line, tab, sentence.
  static std::FILE* open_notes() {
    const char* report = std::getenv("RIDGE_LAB_REPORT");
    return report ? std::fopen((std::string(report) + ".findings").c_str(), "a") : nullptr;
  }
  static void note(const Finding& finding) {
    std::FILE* file = open_notes();
    if (!file) return;
    std::fprintf(file, "%s\t%d\t%s\n", finding.file.c_str(), finding.line, finding.sentence.c_str());
    std::fclose(file);
  }

  bool peek_sticky() {
    const std::lock_guard hold(lock_);
    return sticky_error_ != 0;
  }

  Records::Claim claim_of(const LaunchSite& site, const simt::Config& config, Given given) {
    const std::lock_guard hold(lock_);
    return records_.claim(site, config, std::move(given));
  }
  void note_failure(const Records::Claim& claim) {
    const std::lock_guard hold(lock_);
    records_.failed(claim);
  }

  std::string misconfigured(const simt::Config& c) const {
    const std::int64_t threads = std::int64_t(c.block.x) * c.block.y * c.block.z;
    if (threads == 0 || c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0)
      return "a launch of no threads: grid (" + spelled(c.grid) + "), block (" + spelled(c.block) + ")";
    if (threads > 1024 || c.block.x > 1024 || c.block.y > 1024 || c.block.z > 64)
      return "a block of (" + spelled(c.block) + ") threads: it may have 1024, and (1024,1024,64)";
    if (c.grid.x > 0x7fffffffu || c.grid.y > 65535 || c.grid.z > 65535)
      return "a grid of (" + spelled(c.grid) + ") blocks: it may have (2147483647,65535,65535)";
    if (c.smem > static_cast<std::size_t>(device_.smem_optin))
      return std::to_string(c.smem) + " bytes of dynamic shared memory: a block of this device has " +
             std::to_string(device_.smem_optin);
    if (c.smem > most_allowed_shared_bytes())
      return std::to_string(c.smem) +
             " bytes of dynamic shared memory: more than 48 KB must be allowed by "
             "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)";
    return {};
  }
  // With what is known of the address in a fault's sentence.
  static std::string explained(std::string_view sentence) {
    std::string text(sentence);
    const std::size_t at = sentence.find("0x");
    if (at == sentence.npos) return text;
    std::uintptr_t address = 0;
    std::from_chars(sentence.data() + at + 2, sentence.data() + sentence.size(), address, 16);
    const std::string known = describe_memory(reinterpret_cast<const void*>(address));
    return known.empty() ? text : text + ", which is " + known;
  }
  static std::string spelled(dim3 d) {
    return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
  }

  static std::int64_t blocks_of(const simt::Config& c) { return std::int64_t(c.grid.x) * c.grid.y * c.grid.z; }
  static std::int64_t stride_of(const simt::Config& c) {
    const std::int64_t threads = std::int64_t(c.block.x) * c.block.y * c.block.z;
    return std::max<std::int64_t>(1, blocks_of(c) * threads / most_watched_threads);
  }

  void note_run(const Records::Claim& claim, bool watched) {
    const double live = static_cast<double>(memory_use().bytes);
    Work work;
    if (watched) {
      const simt::trace::Launch& launch = simt::trace::latest();
      work = work_of(launch, blocks_of(claim.start.config));
      check_static_shared(claim.start, launch);
    }
    const std::lock_guard hold(lock_);
    Record& record = records_.ran(claim, watched ? &work : nullptr, traced_);
    if (!is_tracing_) return;
    traced_ += watched;
    most_live_bytes_ = std::max(most_live_bytes_, live);
    const auto before = static_cast<double>(record.launches - 1);
    const double us = watched ? predict(work, device_, live).us() : before > 0 ? record.us / before : 0;
    record.us += us;
    now_us_ += us;
  }

  // A device has 48 KB for them, and its compiler refuses more; here they are seen when they are used.
  void check_static_shared(const Record& record, const simt::trace::Launch& launch) {
    const std::int64_t bytes = launch.footprint.shared_bytes - static_cast<std::int64_t>(launch.smem);
    if (bytes > device_.smem_per_block)
      report({record.file, record.line,
              record.kernel + ": " + std::to_string(bytes) + " bytes of static shared memory: a block may have " +
                  std::to_string(device_.smem_per_block)});
  }

  std::mutex lock_;
  DeviceInfo device_;
  bool is_tracing_ = false;
  std::size_t traced_ = 0;
  double now_us_ = 0, most_live_bytes_ = 0;
  int last_error_ = 0, sticky_error_ = 0;
  Records records_;
  std::vector<Finding> findings_;
  std::vector<std::function<void()>> launched_;
};

// Null until something is asked of it. Never destroyed, since a program's own static objects may still launch at its
// end.
constinit std::atomic<Session*> made{nullptr};

Session& session() {
  static Session& the_session = *[] {
    report_at_end();
    auto* const session = new Session;
    made = session;
    return session;
  }();
  return the_session;
}

}  // namespace

void report_at_end() {
  static const int registered = std::atexit([] {
    if (Session* const session = made) session->finish();
  });
  static_cast<void>(registered);
}

const DeviceInfo& device() { return session().device(); }
double now_us() { return session().now_us(); }
void advance_us(double us) { session().advance_us(us); }
void set_error(int code, bool sticky) { session().set_error(code, sticky); }
int peek_error() { return session().peek_error(); }
int take_error() { return session().take_error(); }
void report_misuse(std::source_location at, const char* what) {
  session().report({at.file_name(), static_cast<int>(at.line()), what});
}
void report_at(const void* instruction, const char* what) {
  const auto address = reinterpret_cast<std::uintptr_t>(instruction);
  const auto symbols = simt::trace::find_symbols({address});
  const simt::trace::Line line = symbols.empty() ? simt::trace::Line{} : symbols.begin()->second.line;
  session().report({line.file, line.number, what});
}
void check_pointer(const LaunchSite& site, int argument, const void* pointer) {
  if (!pointer || find_memory(pointer)) return;
  if (find_memory(static_cast<const char*>(pointer) - 1)) return;  // the end of an allocation
  const std::string known = describe_memory(pointer);
  session().report({site.file, site.line,
                    std::string(site.kernel) + ": argument " + std::to_string(argument) +
                        (known.empty() ? " points to host memory, which a device cannot read"
                                       : " points to memory that is not there: " + known)});
}
bool in_kernel() {
  const simt::Worker* worker = simt::worker_or_null();
  return worker && worker->in_fiber.load(std::memory_order_relaxed);
}
void launch_later(std::function<void()> launch) { session().launch_later(std::move(launch)); }
void launch(const LaunchSite& site, const simt::Config& config, const simt::detail::Entry& entry, Given given) {
  session().launch(site, config, entry, std::move(given));
}
std::string spelled_pointer(const void* pointer) {
  if (!pointer) return "null";
  const std::optional<Allocation> memory = find_memory(pointer);
  if (!memory) return "";
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - memory->begin;
  return std::string(memory->call) + " of line " + std::to_string(memory->at.line()) +
         (offset > 0 ? " + " + std::to_string(offset) + " bytes" : "");
}

}  // namespace ridge::lab
