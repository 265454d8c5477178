#include <ridge/simt/trace/model.hpp>

#include <algorithm>
#include <bit>

namespace ridge::simt::trace {

constexpr int sector_bytes = 32;
constexpr int bank_bytes = 4, banks = 32;
constexpr int pass_lanes = 32;  // a warp of 64 accesses shared memory in two passes

// ---- global memory -----------------------------------------------------------------------------------------------

Cost sectors(const Request& request) {
  Address starts[64];
  int count = 0;
  bool sorted = true;
  for (std::uint64_t left = request.lanes; left; left &= left - 1) {
    starts[count] = request.at[std::countr_zero(left)];
    sorted = sorted && (count == 0 || starts[count - 1] <= starts[count]);
    ++count;
  }
  if (!sorted) std::sort(starts, starts + count);

  const auto size = static_cast<Address>(request.bytes);
  Cost cost;
  Address bytes = 0, covered = 0, next_sector = 0;  // everything below `covered` and `next_sector` is counted
  for (int i = 0; i < count; ++i) {
    const Address begin = std::max(starts[i], covered), end = starts[i] + size;
    if (end <= begin) continue;
    bytes += end - begin;
    covered = end;
    const Address first = std::max(starts[i] / sector_bytes, next_sector), last = (end - 1) / sector_bytes;
    if (last + 1 > first) cost.units += static_cast<int>(last + 1 - first);
    next_sector = std::max(next_sector, last + 1);
  }
  cost.least = static_cast<int>((bytes + sector_bytes - 1) / sector_bytes);
  return cost;
}

// ---- shared memory -----------------------------------------------------------------------------------------------

// Wavefronts of lanes that are served together: the number of words in the fullest bank. A word that several lanes read
// is read once; atomics on one word are served one after the other.
static int conflicts(Kind kind, const Request& request, std::uint64_t lanes) {
  Address words[banks][pass_lanes];  // a lane has at most one word in a bank
  int filled[banks] = {};
  int most = 0;
  for (; lanes; lanes &= lanes - 1) {
    const Address start = request.at[std::countr_zero(lanes)];
    const Address first = start / bank_bytes, last = (start + static_cast<Address>(request.bytes) - 1) / bank_bytes;
    for (Address word = first; word <= last; ++word) {
      Address* const in_bank = words[word % banks];
      int& n = filled[word % banks];
      if (kind != Kind::atomic && std::find(in_bank, in_bank + n, word) != in_bank + n) continue;
      in_bank[n++] = word;
      most = std::max(most, n);
    }
  }
  return most;
}

// Whether every lane has the same address as its neighbour (the lane whose number differs in `bit`), or a neighbour
// that does not take part.
static bool paired(const Request& request, std::uint64_t lanes, int bit) {
  for (std::uint64_t left = lanes; left; left &= left - 1) {
    const int lane = std::countr_zero(left), other = lane ^ bit;
    if ((lanes >> other & 1) && request.at[lane] != request.at[other]) return false;
  }
  return true;
}

Cost wavefronts(Kind kind, const Request& request) {
  // A wavefront carries 128 bytes: 32 lanes of up to 4 bytes, 16 of 8, 8 of 16. Two such groups are served together
  // where lanes read in pairs.
  const int group = request.bytes <= 4 ? 32 : request.bytes == 8 ? 16 : 8;
  const int span = request.bytes <= 4 ? group : 2 * group;
  const auto lanes_from = [&](int first, int count) {
    return request.lanes & (~std::uint64_t(0) >> (64 - count)) << first;
  };
  Cost cost;
  const auto serve = [&](std::uint64_t lanes) {
    if (!lanes) return;
    cost.units += conflicts(kind, request, lanes);
    ++cost.least;
  };
  for (int first = 0; first < 64; first += span) {
    const std::uint64_t lanes = lanes_from(first, span);
    if (!lanes) continue;
    const bool together =
        span == group || (kind == Kind::load && (paired(request, lanes, 1) || paired(request, lanes, 2)));
    if (together) {
      serve(lanes);
    } else {
      serve(lanes_from(first, group));
      serve(lanes_from(first + group, group));
    }
  }
  return cost;
}

}  // namespace ridge::simt::trace
