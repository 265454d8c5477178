// The trace functions of a program that is linked with ridge::ridge, which cannot trace.
#include <ridge/simt/trace.hpp>

namespace ridge::simt::trace {

bool available() { return false; }

Result<Report> record(const std::function<Status()>&) {
  return Status::error(Code::unsupported,
                       "trace: this program runs kernels without watching them; link it with ridge::trace");
}

}  // namespace ridge::simt::trace
