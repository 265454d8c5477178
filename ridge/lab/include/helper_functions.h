// The helpers of NVIDIA's samples that need no CUDA: command lines, stopwatches, comparing results.
#pragma once
#include <helper_string.h>
#include <helper_timer.h>

#include <math.h>

// Whether the difference is at most `tolerance` of the reference, both as vectors' lengths.
inline bool sdkCompareL2fe(const float* reference, const float* data, unsigned length, float tolerance) {
  double difference = 0, size = 0;
  for (unsigned i = 0; i < length; ++i) {
    const double d = double(reference[i]) - double(data[i]);
    difference += d * d;
    size += double(reference[i]) * double(reference[i]);
  }
  return size > 0 && sqrt(difference) <= double(tolerance) * sqrt(size);
}
