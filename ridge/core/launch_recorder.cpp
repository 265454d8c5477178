#include <ridge/core/launch_recorder.hpp>

namespace ridge {

static thread_local LaunchRecorder* of_this_thread = nullptr;

LaunchRecorder::LaunchRecorder() : outer_(of_this_thread) { of_this_thread = this; }
LaunchRecorder::~LaunchRecorder() { of_this_thread = outer_; }
LaunchRecorder* LaunchRecorder::current() { return of_this_thread; }

}  // namespace ridge
