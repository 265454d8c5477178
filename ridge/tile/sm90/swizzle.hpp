// How tiles lie in shared memory for TMA and wgmma, and the words that describe them. Plain C++: the
// facts are tested on the host.
//
// The unit is the atom of the 128-byte swizzle: 8 lines of 128 bytes, 1024 bytes, aligned to as much. The 16-byte
// pieces of line r change places: piece p is found at p ^ (r % 8). A tile of `outer` rows and 128 bytes along k (64
// elements of 16 bits) is
//
//   K-major   its lines are rows along k, one per outer; atoms follow each other along outer
//   MN-major  (16-bit elements)  its lines are 64 neighbours along outer, one per k; atoms follow each other along k,
//                                and behind the 64
//             lines of one group of 64 outer elements comes the next group
//
// A tile may have more lines along k than 64; then that is how many lie between two groups.
//
// K-major tiles may also have lines of 64 bytes, in the 64-byte swizzle: 8 of them follow each other in 512 bytes, and
// the pieces of pairs of lines change places.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge::tile::sm90 {

inline constexpr int line_bytes = 128, line_elements = 64, atom_bytes = 1024;

enum class Axis : std::uint8_t { k, outer };  // in which neighbours lie

// Lines of other sizes follow each other as they are: those that threads read, and wgmma does not.
RIDGE_HD constexpr bool is_swizzled(unsigned bytes) { return bytes == line_bytes || bytes == line_bytes / 2; }

// Where the byte at (line, byte of line) lies, from the start of an aligned tile. `bytes`: of a line.
RIDGE_HD constexpr unsigned swizzled(unsigned line, unsigned byte, unsigned bytes = line_bytes) {
  if (!is_swizzled(bytes)) return line * bytes + byte;
  return line * bytes + (byte ^ line / (line_bytes / bytes) % (bytes / 16) * 16);
}

// Bytes from an operand's tile to that of `outer` elements further, a multiple of 64, and of `k` further, of 32 bytes.
// size: bytes of an element.
RIDGE_HD constexpr unsigned outer_offset(unsigned outer, unsigned bytes = line_bytes) { return outer * bytes; }
RIDGE_HD constexpr unsigned k_offset(Axis axis, unsigned k, unsigned size = 2) {
  return axis == Axis::k ? k * size : k * line_bytes;  // inside the line of 128 bytes; or k lines on
}

// wgmma's matrix descriptor of an operand at `address` of shared memory, in the 128-byte swizzle. lines: of a group of
// 64 outer elements, MN-major.
//   bits 0-13   address / 16
//   bits 16-29  MN-major: bytes / 16 from one group of 64 outer elements to the next. K-major: not used
//   bits 32-45  bytes / 16 from one atom to the next: along outer, or MN-major along k
//   bits 62-63  1: the 128-byte swizzle; 2: that of 64 bytes
RIDGE_HD constexpr std::uint64_t descriptor(Axis axis, unsigned address, unsigned lines = line_elements,
                                            unsigned bytes = line_bytes) {
  const std::uint64_t groups = axis == Axis::k ? 1 : lines * line_bytes / 16, atoms = 8 * bytes / 16;
  return (address & 0x3ffff) >> 4 | groups << 16 | atoms << 32 | std::uint64_t{bytes == line_bytes ? 1u : 2u} << 62;
}
// The same operand `bytes` further, a multiple of 16: one addition, where a descriptor anew is some ten instructions.
RIDGE_HD constexpr std::uint64_t advanced(std::uint64_t descriptor, unsigned bytes) {
  return (descriptor & 0xffffffff00000000) | (static_cast<std::uint32_t>(descriptor) + (bytes >> 4));
}

}  // namespace ridge::tile::sm90
