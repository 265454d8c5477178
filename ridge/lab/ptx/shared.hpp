// Addresses of shared memory as PTX has them: 32 bits. Here they are the lower half of a pointer.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge::lab {

// The pointer of an address in the calling thread's shared memory: its dynamic array, or the shared variables of any
// loaded object. Also of 64 bits, which are a pointer. Ends the kernel if the address is of neither.
RIDGE_API void* shared_pointer(std::uint64_t address);

// Whether a pointer is into the calling thread's shared memory.
RIDGE_API bool is_shared(const void*);

}  // namespace ridge::lab
