// DLPack's table of functions for tensors that are lent for one call, as a type publishes it in
// __dlpack_c_exchange_api__ (PyTorch since 2.10). The layout is the published one; dlpack.h of 1.1 does not have it.
#pragma once
#include <ridge.h>
#include <cstdint>

namespace ridge_python {

struct ExchangeApi {
  DLPackVersion version;
  ExchangeApi* previous;
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*managed_of_object)(void* object, DLManagedTensorVersioned** out);
  int (*object_of_managed)(DLManagedTensorVersioned*, void** object);
  int (*view_of_object)(void* object,
                        DLTensor* out);  // may be null. Valid while the object is; 0, or -1 and a Python error
  int (*current_stream)(DLDeviceType, std::int32_t device, void** stream);
};

}  // namespace ridge_python
