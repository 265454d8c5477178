#include <ridge/lab/poll.hpp>

#include <ridge/simt/runtime/here.hpp>

#include <sched.h>

namespace ridge::lab {

void let_others_run() {
  if (simt::worker_or_null()) simt::detail::yield();  // a worker's OS thread runs kernels alone
  else sched_yield();
}

void looked() {
  constexpr unsigned often = 16;
  static thread_local unsigned looks = 0;
  if (++looks % often == 0) let_others_run();
}

}  // namespace ridge::lab
