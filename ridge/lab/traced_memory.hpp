// In traced programs memset, memcpy and memmove are functions that tell the trace. Before <string.h> declares them, so
// that the calls that g++ makes by itself, for structures, have these names as well.
#pragma once
#ifdef RIDGE_SIMT_TRACED
#include <stddef.h>

extern "C" {
void* memset(void*, int, size_t) noexcept __asm__("ridge_traced_memset");
void* memcpy(void*, const void*, size_t) noexcept __asm__("ridge_traced_memcpy");
void* memmove(void*, const void*, size_t) noexcept __asm__("ridge_traced_memmove");
}
#endif
