// The functions of the runtime API that copy and fill, in each of their spellings.
#include <ridge/lab/runtime_checks.hpp>

using namespace ridge::lab;

// ---- copies ------------------------------------------------------------------------------------------------------

cudaError_t cudaMemcpy(Placed<void*> to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy("cudaMemcpy", to.value, from, {bytes}, kind, to.at);
}
cudaError_t cudaMemcpyAsync(Placed<void*> to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  RIDGE_LAB_TRY(check_stream("cudaMemcpyAsync", stream, to.at));
  return copy("cudaMemcpyAsync", to.value, from, {bytes}, kind, to.at);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind, Place at) {
  return copy("cudaMemcpy2D", to, from, {width, height, to_pitch, from_pitch}, kind, at);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream,
                              Place at) {
  RIDGE_LAB_TRY(check_stream("cudaMemcpy2DAsync", stream, at));
  return copy("cudaMemcpy2DAsync", to, from, {width, height, to_pitch, from_pitch}, kind, at);
}

static char* first_byte(const cudaPitchedPtr& p, cudaPos at) {
  return static_cast<char*>(p.ptr) + (at.z * p.ysize + at.y) * p.pitch + at.x;
}
// A copy for each slice.
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p, Place at) {
  if (!p) return misuse(cudaErrorInvalidValue, at, "cudaMemcpy3D: the parameters are null");
  for (std::size_t z = 0; z < p->extent.depth; ++z) {
    cudaPos to = p->dstPos, from = p->srcPos;
    to.z += z;
    from.z += z;
    RIDGE_LAB_TRY(copy("cudaMemcpy3D", first_byte(p->dstPtr, to), first_byte(p->srcPtr, from),
                       {p->extent.width, p->extent.height, p->dstPtr.pitch, p->srcPtr.pitch}, p->kind, at));
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaMemcpy3DAsync", stream, at));
  return cudaMemcpy3D(p, at);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes, Place at) {
  if (to_device != 0 || from_device != 0)
    return misuse(cudaErrorInvalidDevice, at, "cudaMemcpyPeer: there is one device, number 0");
  return copy("cudaMemcpyPeer", to, from, {bytes}, cudaMemcpyDeviceToDevice, at);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaMemcpyPeerAsync", stream, at));
  return cudaMemcpyPeer(to, to_device, from, from_device, bytes, at);
}

// ---- fills -------------------------------------------------------------------------------------------------------

cudaError_t cudaMemset(Placed<void*> to, int value, std::size_t bytes) {
  return fill("cudaMemset", to.value, bytes, value, bytes, 1, to.at);
}
cudaError_t cudaMemsetAsync(Placed<void*> to, int value, std::size_t bytes, cudaStream_t stream) {
  RIDGE_LAB_TRY(check_stream("cudaMemsetAsync", stream, to.at));
  return fill("cudaMemsetAsync", to.value, bytes, value, bytes, 1, to.at);
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, Place at) {
  return fill("cudaMemset2D", to, pitch, value, width, height, at);
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaMemset2DAsync", stream, at));
  return fill("cudaMemset2DAsync", to, pitch, value, width, height, at);
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent, Place at) {
  for (std::size_t z = 0; z < extent.depth; ++z)
    RIDGE_LAB_TRY(fill("cudaMemset3D", first_byte(to, {0, 0, z}), to.pitch, value, extent.width, extent.height, at));
  return cudaSuccess;
}
