// A library without a trace mode: what a program gets that is linked with ridge::ridge.
#include <ridge/simt/trace.hpp>

namespace ridge::simt::trace {

bool available() { return false; }

Result<Report> record(const std::function<Status()>&) {
  return Status::error(Code::unsupported,
                       "trace: this program runs kernels without watching them; link it with ridge::trace");
}

}  // namespace ridge::simt::trace
