// trace::record: one session, fed by the runtime's observer.
#include <ridge/simt/trace.hpp>

#include <ridge/simt/runtime/here.hpp>
#include <ridge/simt/runtime/observer.hpp>
#include <ridge/simt/trace/hooks.hpp>
#include <ridge/simt/trace/recorder.hpp>
#include <ridge/simt/trace/summary.hpp>

#include <memory>
#include <mutex>

namespace ridge::simt {

namespace trace {
namespace {

struct Session {
  Summary summary;
  Config config;
  detail::Entry entry{};
  Recorder recorder;
  std::int64_t every = 1, block = 0;  // of the blocks every n-th is watched; the current one
  bool is_watching() const { return every > 0; }
  bool is_watched() const { return is_watching() && (block - 1) % every == 0; }
};
std::unique_ptr<Session> session;  // no lock: the pool runs one launch at a time, and orders its threads

}  // namespace

bool available() { return true; }

Result<Report> record(const std::function<Status()>& work) {
  static std::mutex one_at_a_time;
  const std::unique_lock hold(one_at_a_time, std::try_to_lock);
  if (!hold) return Status::error(Code::unsupported, "trace: another trace is being recorded");
  session = std::make_unique<Session>();
  const Status status = work();
  const std::unique_ptr<Session> done = std::move(session);
  if (!status.ok()) return status;
  return done->summary.report();
}

Status start() {
  if (session) return Status::error(Code::unsupported, "trace: another trace is being recorded");
  session = std::make_unique<Session>();
  return {};
}

Report stop() {
  const std::unique_ptr<Session> done = std::move(session);
  return done ? done->summary.report() : Report{};
}

void watch(std::int64_t every) {
  if (session) session->every = every;
}

Launch latest() { return session ? session->summary.latest() : Launch{}; }

}  // namespace trace

namespace observe {

using trace::session;

void launch_begin(const Config& config, const detail::Entry& entry) {
  if (!session || !session->is_watching()) return;
  session->config = config;
  session->entry = entry;
  session->block = 0;
  session->recorder.begin(config, entry);
}
void launch_end() {
  if (session && session->is_watching()) session->summary.add(session->config, session->entry, session->recorder);
}
void block_begin() {
  if (!session) return;
  ++session->block;
  if (!session->is_watched()) return;
  session->recorder.begin_block(here());
  trace::listen(&session->recorder);
}
void block_end() {
  if (!session || !session->is_watched()) return;
  trace::listen(nullptr);
  session->recorder.end_block();
}
void block_synced() {
  if (const trace::Listener r; r) r->block_synced();
}
void lanes_synced(int warp, lane_mask lanes) {
  if (const trace::Listener r; r) r->lanes_synced(warp, lanes);
}

}  // namespace observe
}  // namespace ridge::simt
