// What the emulation itself does, and no device: a conversion to half is one instruction there, and many branches here.
#pragma once

// Of a function of values: in traced programs it is a call of which the trace sees nothing. What it calls is still
// seen, unless that is such a function too, or always inlined; and it must not be given references to what a kernel has
// in memory.
#ifdef RIDGE_SIMT_TRACED
#define RIDGE_LAB_UNCOUNTED __attribute__((noinline, no_sanitize("thread"), no_sanitize_coverage))
#else
#define RIDGE_LAB_UNCOUNTED
#endif
