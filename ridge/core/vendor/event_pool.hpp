// EventPool: workspaces for runtimes without stream-ordered allocation. A block that was returned carries an event of
// the stream that used it last, and the next stream to get the block waits for that event, on the device; so only a
// block of a new size costs a synchronous allocation.
#pragma once
#include <ridge/core/vendor/vendor.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace ridge::gpu {

class EventPool {
 public:
  // From now on the device's workspaces come from here.
  void serve(int device) { served_.fetch_or(bit(device)); }
  bool serves(int device) const { return served_.load(std::memory_order_relaxed) & bit(device); }

  // Precondition of both: the device is current, and the stream is not captured.
  vendor::Error allocate(void** data, int device, std::size_t bytes, vendor::Stream stream) {
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, 4096));  // so that few sizes serve all
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(free_, [&](const Block& b) { return b.device == device && b.size == size; });
    if (found == free_.end()) return allocate_block(data, device, size);
    const Block block = *found;
    if (const vendor::Error error = vendor::wait(stream, block.returned); error != vendor::success) return error;
    *data = block.data;
    free_.erase(found);
    lent_.emplace(block.data, block);
    return vendor::success;
  }

  vendor::Error release(void* data, vendor::Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto found = lent_.find(data);
    if (found == lent_.end()) return vendor::release_async(data, stream);  // from before the pool served this device
    const vendor::Error error = vendor::record(found->second.returned, stream);
    // Without an event nobody knows when the block is free again: it is lost, and not handed out too early.
    if (error == vendor::success) free_.push_back(found->second);
    lent_.erase(found);
    return error;
  }

 private:
  struct Block {
    void* data;
    std::size_t size;
    int device;
    vendor::Event returned;
  };

  static std::uint64_t bit(int device) { return std::uint64_t{1} << (device & 63); }

  vendor::Error allocate_block(void** data, int device, std::size_t size) {
    vendor::Error error = vendor::allocate(data, size);
    if (error == vendor::out_of_memory) {
      (void)vendor::take_last_error();
      free_all(device);
      error = vendor::allocate(data, size);
    }
    if (error != vendor::success) return error;
    Block block{*data, size, device, {}};
    error = vendor::create_event_without_time(&block.returned);
    if (error == vendor::success) lent_.emplace(*data, block);
    else (void)vendor::release(*data);
    return error;
  }

  void free_all(int device) {
    std::erase_if(free_, [&](const Block& b) {
      if (b.device != device) return false;
      (void)vendor::synchronize(b.returned);
      (void)vendor::destroy(b.returned);
      (void)vendor::release(b.data);
      return true;
    });
  }

  std::atomic<std::uint64_t> served_{0};  // a bit per device
  std::mutex mutex_;
  std::vector<Block> free_;
  std::map<void*, Block> lent_;
};

}  // namespace ridge::gpu
