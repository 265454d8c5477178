#include <ridge/lab/reporter.hpp>

#include <ridge/simt/runtime/here.hpp>
#include <ridge/simt/runtime/worker.hpp>

#include <cstdio>

// AddressSanitizer's, where the program is linked with it: the callback gets the report before the process ends.
extern "C" void __asan_set_error_report_callback(void (*)(const char*)) __attribute__((weak));

namespace ridge::lab {

static void name_thread(const char*) {
  const simt::Worker* worker = simt::worker_or_null();
  if (!worker || !worker->current) return;  // host code
  const uint3 block = worker->block, thread = worker->current->index;
  std::fprintf(stderr, "ridge lab: block (%u,%u,%u), thread (%u,%u,%u)\n", block.x, block.y, block.z, thread.x,
               thread.y, thread.z);
}

void name_threads_in_reports() {
  if (__asan_set_error_report_callback) __asan_set_error_report_callback(name_thread);
}

}  // namespace ridge::lab
