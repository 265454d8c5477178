// The pages of device memory. Each allocation has pages of its own, which host code cannot touch while they are closed.
// With a sanitizer it is an ordinary block of the heap instead, always open, with the sanitizer's redzones around it.
#pragma once
#include <cstddef>

namespace ridge::lab {

#if defined(__SANITIZE_ADDRESS__) || defined(RIDGE_SIMT_SERIAL) || defined(RIDGE_SIMT_RACE)
constexpr bool pages_close = false;
#else
constexpr bool pages_close = true;
#endif

// The unusable addresses after an allocation: a kernel that runs over the end stops there, instead of in its neighbour.
constexpr std::size_t guard_bytes = 1 << 16;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

// Null where the system has no memory. Pages are zero and closed; `bytes` is the same in all calls for an allocation.
void* take_pages(std::size_t bytes);
void open_pages(void*, std::size_t bytes);
void close_pages(void*, std::size_t bytes);
// Gives the memory back. The addresses stay closed and unused until they are returned.
void empty_pages(void*, std::size_t bytes);
void return_pages(void*, std::size_t bytes);

// Memory that host code may touch at any time: pinned, managed.
void* take_host_memory(std::size_t bytes);
void return_host_memory(void*);

}  // namespace ridge::lab
