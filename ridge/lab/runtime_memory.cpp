// Allocation: cudaMalloc and its family.
#include <ridge/lab/pages.hpp>
#include <ridge/lab/runtime_checks.hpp>

#include <algorithm>

using namespace ridge::lab;

// Rows of pitched memory begin at multiples of this, as on devices since compute capability 2.
constexpr std::size_t pitch_alignment = 512;

static cudaError_t take(MemoryKind kind, void** memory, std::size_t bytes, const char* call, Place at) {
  RIDGE_LAB_TRY(device_error());
  if (!memory) return misuse(cudaErrorInvalidValue, at, std::string(call) + ": the address of the pointer is null");
  if (bytes == 0 && kind != MemoryKind::managed) {
    *memory = nullptr;
    return cudaSuccess;
  }
  if (bytes == 0) return misuse(cudaErrorInvalidValue, at, std::string(call) + " of 0 bytes");
  void* p = allocate(kind, bytes, call, at);
  if (!p) return fail(cudaErrorMemoryAllocation);
  *memory = p;
  return cudaSuccess;
}

static cudaError_t give(void* p, MemoryKind kind, MemoryKind or_this, const char* call, Place at) {
  RIDGE_LAB_TRY(device_error());
  if (!p) return cudaSuccess;
  const std::string wrong = release(p, kind, or_this, call, at);
  return wrong.empty() ? cudaSuccess : misuse(cudaErrorInvalidValue, at, wrong);
}

// ---- device and managed memory -----------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** memory, std::size_t bytes, Place at) {
  return take(MemoryKind::device, memory, bytes, "cudaMalloc", at);
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaMallocAsync", stream, at));
  return take(MemoryKind::device, memory, bytes, "cudaMallocAsync", at);
}
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags, Place at) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
    return misuse(cudaErrorInvalidValue, at, "cudaMallocManaged: flags are cudaMemAttachGlobal or cudaMemAttachHost");
  return take(MemoryKind::managed, memory, bytes, "cudaMallocManaged", at);
}
cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width, std::size_t height, Place at) {
  if (!pitch) return misuse(cudaErrorInvalidValue, at, "cudaMallocPitch: the address of the pitch is null");
  const std::size_t row = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(row, height, &bytes)) return fail(cudaErrorMemoryAllocation);
  *pitch = row;
  return take(MemoryKind::device, memory, bytes, "cudaMallocPitch", at);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent, Place at) {
  if (!memory) return misuse(cudaErrorInvalidValue, at, "cudaMalloc3D: the address of the pointer is null");
  memory->xsize = extent.width;
  memory->ysize = extent.height;
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth, at);
}
cudaError_t cudaFree(Placed<void*> p) {
  return give(p.value, MemoryKind::device, MemoryKind::managed, "cudaFree", p.at);
}
cudaError_t cudaFreeAsync(Placed<void*> p, cudaStream_t stream) {
  RIDGE_LAB_TRY(check_stream("cudaFreeAsync", stream, p.at));
  return give(p.value, MemoryKind::device, MemoryKind::device, "cudaFreeAsync", p.at);
}

// ---- the host's memory -------------------------------------------------------------------------------------------

cudaError_t cudaMallocHost(void** memory, std::size_t bytes, unsigned, Place at) {
  return take(MemoryKind::pinned, memory, bytes, "cudaMallocHost", at);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned, Place at) {
  return take(MemoryKind::pinned, memory, bytes, "cudaHostAlloc", at);
}
cudaError_t cudaFreeHost(Placed<void*> p) {
  return give(p.value, MemoryKind::pinned, MemoryKind::pinned, "cudaFreeHost", p.at);
}
cudaError_t cudaHostRegister(void* p, std::size_t bytes, unsigned, Place at) {
  if (!p || bytes == 0) return misuse(cudaErrorInvalidValue, at, "cudaHostRegister of no memory");
  if (const auto known = find_memory(p)) {
    const bool again = known->kind == MemoryKind::registered || known->kind == MemoryKind::pinned;
    return misuse(again ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue, at,
                  "cudaHostRegister: the memory is " + describe_memory(p));
  }
  enter_memory(MemoryKind::registered, p, bytes, "cudaHostRegister", at);
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(Placed<void*> p) {
  const std::string wrong =
      release(p.value, MemoryKind::registered, MemoryKind::registered, "cudaHostUnregister", p.at);
  return wrong.empty() ? cudaSuccess : misuse(cudaErrorHostMemoryNotRegistered, p.at, wrong);
}
// The device uses the host's addresses.
cudaError_t cudaHostGetDevicePointer(void** on_device, void* host, unsigned, Place at) {
  const auto known = find_memory(host);
  if (!on_device || !known || (known->kind != MemoryKind::pinned && known->kind != MemoryKind::registered))
    return misuse(cudaErrorInvalidValue, at,
                  "cudaHostGetDevicePointer of memory that is neither of cudaHostAlloc nor registered");
  *on_device = host;
  return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  const auto known = find_memory(host);
  if (!flags || !known || known->kind != MemoryKind::pinned) return fail(cudaErrorInvalidValue);
  *flags = cudaHostAllocMapped;
  return cudaSuccess;
}

// ---- asking ------------------------------------------------------------------------------------------------------

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return fail(cudaErrorInvalidValue);
  const auto known = find_memory(pointer);
  void* p = const_cast<void*>(pointer);
  *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, p};
  if (!known) return cudaSuccess;
  switch (known->kind) {
    case MemoryKind::device:
    case MemoryKind::symbol: *attributes = {cudaMemoryTypeDevice, 0, p, nullptr}; break;
    case MemoryKind::managed: *attributes = {cudaMemoryTypeManaged, 0, p, p}; break;
    case MemoryKind::pinned:
    case MemoryKind::registered: *attributes = {cudaMemoryTypeHost, 0, p, p}; break;
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const auto all = static_cast<std::size_t>(device().memory_bytes);
  if (free) *free = all - std::min(all, memory_use().bytes);
  if (total) *total = all;
  return cudaSuccess;
}

// ---- the default pool --------------------------------------------------------------------------------------------

struct CUmemPoolHandle_st {};
static CUmemPoolHandle_st default_pool;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!pool || device != 0) return fail(pool ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *pool = &default_pool;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void*) {
  return pool == &default_pool ? cudaSuccess : fail(cudaErrorInvalidValue);
}
// The settings are an int that says yes or no; the others are numbers of bytes.
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  if (pool != &default_pool || !value) return fail(cudaErrorInvalidValue);
  const bool peak = which == cudaMemPoolAttrReservedMemHigh || which == cudaMemPoolAttrUsedMemHigh;
  if (which < cudaMemPoolAttrReleaseThreshold) *static_cast<int*>(value) = 1;
  else if (which == cudaMemPoolAttrReleaseThreshold) *static_cast<unsigned long long*>(value) = 0;
  else *static_cast<unsigned long long*>(value) = peak ? memory_use().peak : memory_use().bytes;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  return pool == &default_pool ? cudaSuccess : fail(cudaErrorInvalidValue);
}
