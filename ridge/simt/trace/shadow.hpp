// Shadow memory: the blocks that last wrote and read each byte.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ridge::simt::trace {

// The writers of shared memory. Blocks are numbered from 1 in the order they run.
class SharedShadow {
 public:
  void resize(std::size_t bytes) {
    writer_.assign(bytes, 0);
    block_ = 0;
    used_ = most_used_ = 0;
  }
  void write(std::size_t offset, int bytes, std::uint32_t block) {
    if (block != block_) block_ = block, used_ = 0;
    for (int i = 0; i < bytes; ++i) {
      std::uint32_t& writer = writer_[offset + static_cast<std::size_t>(i)];
      used_ += writer != block;
      writer = block;
    }
    most_used_ = std::max(most_used_, used_);
  }
  std::int64_t most_used() const { return most_used_; }  // bytes that one block wrote, at most
  // Whether somebody of the block has written each word of four bytes, at least in part: what is left of a word may be
  // a structure's padding, which nobody writes.
  bool is_set(std::size_t offset, int bytes, std::uint32_t block) const {
    for (int word = 0; word < bytes; word += 4) {
      bool any = false;
      for (int i = word; i < std::min(word + 4, bytes); ++i)
        any = any || writer_[offset + static_cast<std::size_t>(i)] == block;
      if (!any) return false;
    }
    return true;
  }

 private:
  std::vector<std::uint32_t> writer_;
  std::uint32_t block_ = 0;
  std::int64_t used_ = 0, most_used_ = 0;
};

// Sectors of global memory, each with the block that last touched it: counts those of the launch and those of each
// block.
class SectorShadow {
 public:
  static constexpr int sector_bytes = 32;

  void clear() { pages_.clear(), cached_ = nullptr, all_ = in_blocks_ = 0; }
  void touch(std::uintptr_t at, int bytes, std::uint32_t block) {
    const std::uintptr_t last = (at + static_cast<std::uintptr_t>(bytes) - 1) / sector_bytes;
    for (std::uintptr_t sector = at / sector_bytes; sector <= last; ++sector) {
      std::uint32_t& toucher = of(sector);
      all_ += toucher == 0;
      in_blocks_ += toucher != block;
      toucher = block;
    }
  }
  std::int64_t all() const { return all_; }
  std::int64_t in_blocks() const { return in_blocks_; }

 private:
  static constexpr std::uintptr_t page_sectors = 1024;
  using Page = std::unique_ptr<std::uint32_t[]>;

  std::uint32_t& of(std::uintptr_t sector) {
    const std::uintptr_t number = sector / page_sectors;
    if (!cached_ || number != cached_number_) {
      Page& page = pages_[number];
      if (!page) page = std::make_unique<std::uint32_t[]>(page_sectors);
      cached_ = page.get();
      cached_number_ = number;
    }
    return cached_[sector % page_sectors];
  }

  std::unordered_map<std::uintptr_t, Page> pages_;
  std::uintptr_t cached_number_ = 0;
  std::uint32_t* cached_ = nullptr;
  std::int64_t all_ = 0, in_blocks_ = 0;
};

// Writers and readers of global memory, in cells of four bytes with a bit per byte. A cell's last writer and last
// reader are enough, because blocks run one after the other.
class GlobalShadow {
 public:
  static constexpr std::uint32_t nobody = 0;

  void clear() { pages_.clear(), cached_ = nullptr; }

  // Records an access of `block` by instruction `site`. Returns the site of another block's conflicting access, or -1.
  // Atomics conflict only with plain writes.
  int load(std::uintptr_t at, int bytes, std::uint32_t block, int site) { return touch(at, bytes, block, site, false); }
  int store(std::uintptr_t at, int bytes, std::uint32_t block, int site) { return touch(at, bytes, block, site, true); }
  int atomic(std::uintptr_t at, int bytes, std::uint32_t block, int site) {
    return touch(at, bytes, block, site, false);
  }

  // A block that uses a fence and then an atomic passes data on by a flag or a ticket. The accesses of two such blocks
  // are assumed to be ordered.
  void fenced(std::uint32_t block) { note(block, has_fenced); }
  void used_atomic(std::uint32_t block) {
    if (state_of(block) & has_fenced) note(block, hands_on);
  }
  void begin(std::size_t blocks) { state_.assign(std::min(blocks, most_blocks) + 1, 0); }

 private:
  static constexpr std::size_t most_blocks = 1 << 24;  // fences of more blocks are not recorded
  static constexpr std::uint8_t has_fenced = 1, hands_on = 2;
  static constexpr std::uint32_t several = ~std::uint32_t(0);
  static constexpr int cell_bytes = 4, page_bits = 12;

  struct Cell {
    std::uint32_t writer = nobody, reader = nobody;
    std::uint16_t writer_site = 0, reader_site = 0;
    std::uint8_t written = 0, read = 0;  // masks of bytes
  };
  using Page = std::unique_ptr<Cell[]>;

  std::uint8_t state_of(std::uint32_t block) const { return block < state_.size() ? state_[block] : 0; }
  void note(std::uint32_t block, std::uint8_t bit) {
    if (block < state_.size()) state_[block] |= bit;
  }
  bool ordered(std::uint32_t a, std::uint32_t b) const { return (state_of(a) & hands_on) && (state_of(b) & hands_on); }

  Cell& cell(std::uintptr_t at);
  int touch(std::uintptr_t at, int bytes, std::uint32_t block, int site, bool write);

  std::unordered_map<std::uintptr_t, Page> pages_;
  std::uintptr_t cached_number_ = 0;
  Cell* cached_ = nullptr;
  std::vector<std::uint8_t> state_;
};

}  // namespace ridge::simt::trace
