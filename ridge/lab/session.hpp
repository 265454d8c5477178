// The state of one run of a user's CUDA program: the device that it believes to be on, that device's clock, and what
// went wrong. The program's calls of the runtime API (runtime_api.hpp) and its launches (launch.hpp) share it.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/lab/given.hpp>
#include <ridge/simt/cpu/runtime.hpp>
#include <ridge/simt/launch.hpp>

#include <functional>
#include <source_location>

namespace ridge::lab {

// The device whose properties the program is told, and for which times are predicted. RIDGE_LAB_DEVICE names its model.
const DeviceInfo& device();

// The device's clock in microseconds: the predicted times of all launches, copies and fills until now. The program's
// events read it.
double now_us();
void advance_us(double us);

// Codes of cudaError_t; 0 is success. A sticky error (a kernel's fault) stays until the process ends, as on a device.
void set_error(int code, bool sticky = false);
int peek_error();
int take_error();  // and forgets it, unless it is sticky

// A line of the user's program, and what it says is wrong there; it goes to the report, and to standard error at once.
void report_misuse(std::source_location at, const char* what);

void report_at(const void* instruction, const char* what);

// Code of a kernel launch's `kernel<<<...>>>(...)` as the translator found it.
struct LaunchSite {
  const char* kernel;  // as it is written: "add<float>"
  const char* file;
  int line;
};

// From now on the report is written when the program ends, if it calls CUDA at all: after all static objects that are
// made from now on have been destroyed, and so have freed their memory.
void report_at_end();

// Whether a kernel's thread calls. Its own launches run when the grid that they were launched from has ended.
bool in_kernel();
void launch_later(std::function<void()>);

// An argument of a launch: reports one that points to no memory of the device.
void check_pointer(const LaunchSite&, int argument, const void*);

// Runs the grid, records what it did, and moves the device's clock.
void launch(const LaunchSite&, const simt::Config&, const simt::detail::Entry&, Given);

}  // namespace ridge::lab
