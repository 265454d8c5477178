#include <ridge/core/launch_limits.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace ridge {

int allow_shared_bytes(const void* kernel, int device, std::size_t bytes, int (*set)(const void*, int)) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t> most_asked;
  const std::lock_guard lock(mutex);  // held while the driver is told, or a lower limit might be set last
  std::size_t& most = most_asked[{kernel, device}];
  const std::size_t asked = std::max(most, bytes);
  const int error = set(kernel, static_cast<int>(asked));
  if (error == 0) most = asked;
  return error;
}

}  // namespace ridge
