// Which thread of a kernel a sanitizer's report is about.
#pragma once

namespace ridge::lab {

// From now on AddressSanitizer's reports are followed by "ridge lab: block (3,0,0), thread (232,0,0)". Does nothing in
// a program without that sanitizer.
void name_threads_in_reports();

}  // namespace ridge::lab
