// The trace functions of a program that is linked with ridge::ridge, which cannot trace.
#include <ridge/simt/trace.hpp>

namespace ridge::simt::trace {

bool available() { return false; }

static Status refusal() {
  return Status::error(Code::unsupported,
                       "trace: this program runs kernels without watching them; link it with ridge::trace");
}

Result<Report> record(const std::function<Status()>&) { return refusal(); }
Status start() { return refusal(); }
Report stop() { return {}; }
void watch(std::int64_t) {}
Launch latest() { return {}; }

}  // namespace ridge::simt::trace
