#include <ridge/simt/trace/memory_map.hpp>

#include <link.h>

namespace ridge::simt::trace {

void MemoryMap::survey(const Worker& w, const detail::Entry& entry) {
  registers_.clear();
  shared_.clear();
  shared_bytes_ = 0;
  const auto own = [&](const void* p, std::size_t bytes) {
    registers_.push_back({reinterpret_cast<std::uintptr_t>(p), bytes, 0});
  };
  const auto share = [&](const void* p, std::size_t bytes) {
    if (p && bytes) shared_.push_back({reinterpret_cast<std::uintptr_t>(p), bytes, shared_bytes_});
    shared_bytes_ += p ? bytes : 0;
  };
  own(w.stacks.base(), w.stacks.size());
  own(entry.arguments, entry.bytes);
  own(&threadIdx, sizeof threadIdx);
  own(&blockIdx, sizeof blockIdx);
  own(&blockDim, sizeof blockDim);
  own(&gridDim, sizeof gridDim);
  own(&warpSize, sizeof warpSize);
  share(w.smem.get(), w.smem_bytes);
  // The thread_local data of every loaded object, which includes the kernels' shared arrays.
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* share_tls) {
        for (int i = 0; i < object->dlpi_phnum; ++i)
          if (object->dlpi_phdr[i].p_type == PT_TLS)
            (*static_cast<decltype(share)*>(share_tls))(object->dlpi_tls_data, object->dlpi_phdr[i].p_memsz);
        return 0;
      },
      const_cast<void*>(static_cast<const void*>(&share)));
}

}  // namespace ridge::simt::trace
