// CUDA's <cuda_pipeline.h>: copies to shared memory that a thread starts and waits for in groups.
#pragma once
#include <ridge/lab/copies.hpp>

// Copies bytes - zeros, and sets the rest to zero. Precondition: 4, 8 or 16 bytes, and both addresses multiples of it.
inline void __pipeline_memcpy_async(void* to_shared, const void* from_global, std::size_t bytes, std::size_t zeros = 0,
                                    ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    throw std::runtime_error("__pipeline_memcpy_async: not 4, 8 or 16 bytes");
  if (zeros > bytes) throw std::runtime_error("__pipeline_memcpy_async: more zeros than bytes");
  for (const void* p : {static_cast<const void*>(to_shared), from_global})
    if (reinterpret_cast<std::uintptr_t>(p) % bytes != 0) ridge::simt::detail::misaligned(p, bytes, at);
  ridge::lab::queue_copy({to_shared, from_global, bytes - zeros, zeros});
}
inline void __pipeline_commit() { ridge::lab::commit_copies(); }
inline void __pipeline_wait_prior(std::size_t prior) { ridge::lab::wait_copies_prior(prior); }

namespace nvcuda::experimental {

// The same as an object.
class pipeline {
 public:
  pipeline() = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  std::size_t commit() {
    ridge::lab::commit_copies();
    return batches_++;
  }
  void commit_and_wait() {
    commit();
    wait_prior<0>();
  }
  void wait(std::size_t batch) { ridge::lab::wait_copies_prior(batches_ > batch ? batches_ - batch - 1 : 0); }
  template <unsigned Prior> void wait_prior() { ridge::lab::wait_copies_prior(Prior); }

 private:
  std::size_t batches_ = 0;
};

template <class T> void memcpy_async(T& to, const T& from, pipeline&) {
  ridge::lab::queue_copy({&to, &from, sizeof(T), 0});
}

}  // namespace nvcuda::experimental
