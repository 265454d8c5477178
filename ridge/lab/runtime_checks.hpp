// What the functions of the runtime API share: how they fail.
#pragma once
#include <ridge/lab/runtime_api.hpp>

#include <string>

namespace ridge::lab {

inline cudaError_t fail(cudaError_t error) {
  if (error != cudaSuccess) set_error(error);
  return error;
}
// Fails, and says what the program does wrong.
inline cudaError_t misuse(cudaError_t error, Place at, const std::string& sentence) {
  report_misuse(at, sentence.c_str());
  return fail(error);
}

// A kernel's fault, which every later call returns; or success.
inline cudaError_t device_error() {
  switch (const auto error = static_cast<cudaError_t>(peek_error()); error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return error;
    default: return cudaSuccess;
  }
}

// Whether the stream lives; else says that it does not.
cudaError_t check_stream(const char* call, cudaStream_t, Place);

// Checks and does a copy of `rows` rows of `width` bytes each, and moves the device's clock.
struct Rows {
  std::size_t width = 0, rows = 1, to_pitch = 0, from_pitch = 0;
};
cudaError_t copy(const char* call, void* to, const void* from, Rows, cudaMemcpyKind, Place);
cudaError_t fill(const char* call, void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows, Place);

}  // namespace ridge::lab

// Returns the error from the calling function, if there is one.
#define RIDGE_LAB_TRY(expression) \
  if (const cudaError_t ridge_tried = (expression); ridge_tried != cudaSuccess) return ridge_tried
