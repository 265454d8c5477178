// The layouts of tiles in shared memory for TMA and wgmma, and wgmma's descriptors of them. Plain C++: tested on the
// host.
//
// A tile is made of atoms of the 128-byte swizzle: 8 lines of 128 bytes, 1024 bytes, aligned to as much. The 16-byte
// pieces of line r are permuted: piece p is at p ^ (r % 8). A tile of `outer` rows and 128 bytes along k (64 elements
// of 16 bits) is
//
//   K-major   its lines are rows along k, one per outer; atoms follow each other along outer
//   MN-major  (16-bit elements)  its lines are 64 neighbours along outer, one per k; atoms follow each other along k,
//             and the next group of 64 outer elements follows the 64 lines of one group
//
// A tile may have more than 64 lines along k; groups are then as many lines apart.
//
// K-major tiles may also have lines of 64 bytes, in the 64-byte swizzle: an atom is 8 lines in 512 bytes, and the
// pieces of pairs of lines are permuted.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge::tile::sm90 {

inline constexpr int line_bytes = 128, line_elements = 64, atom_bytes = 1024;

enum class Axis : std::uint8_t { k, outer };  // the contiguous axis

// Lines of other sizes are not swizzled: threads read them, not wgmma.
RIDGE_HD constexpr bool is_swizzled(unsigned bytes) { return bytes == line_bytes || bytes == line_bytes / 2; }

// Offset of the byte at (line, byte of line) from the start of an aligned tile. `bytes`: of a line.
RIDGE_HD constexpr unsigned swizzled(unsigned line, unsigned byte, unsigned bytes = line_bytes) {
  if (!is_swizzled(bytes)) return line * bytes + byte;
  return line * bytes + (byte ^ line / (line_bytes / bytes) % (bytes / 16) * 16);
}

// Bytes from an operand's tile to the one `outer` elements further, a multiple of 64, and `k` elements further, a
// multiple of 32 bytes. size: bytes of an element.
RIDGE_HD constexpr unsigned outer_offset(unsigned outer, unsigned bytes = line_bytes) { return outer * bytes; }
RIDGE_HD constexpr unsigned k_offset(Axis axis, unsigned k, unsigned size = 2) {
  return axis == Axis::k ? k * size : k * line_bytes;  // inside the line of 128 bytes; or k lines on
}

// wgmma's matrix descriptor of an operand at shared memory's `address`, swizzled. lines: MN-major, of a group of 64
// outer elements.
//   bits 0-13   address / 16
//   bits 16-29  MN-major: bytes / 16 from one group of 64 outer elements to the next. K-major: not used
//   bits 32-45  bytes / 16 from one atom to the next: along outer, or MN-major along k
//   bits 62-63  1: the 128-byte swizzle; 2: that of 64 bytes
RIDGE_HD constexpr std::uint64_t descriptor(Axis axis, unsigned address, unsigned lines = line_elements,
                                            unsigned bytes = line_bytes) {
  const std::uint64_t groups = axis == Axis::k ? 1 : lines * line_bytes / 16, atoms = 8 * bytes / 16;
  return (address & 0x3ffff) >> 4 | groups << 16 | atoms << 32 | std::uint64_t{bytes == line_bytes ? 1u : 2u} << 62;
}
// The descriptor of the operand `bytes` further, a multiple of 16: one addition, where a new descriptor takes some ten
// instructions.
RIDGE_HD constexpr std::uint64_t advanced(std::uint64_t descriptor, unsigned bytes) {
  return (descriptor & 0xffffffff00000000) | (static_cast<std::uint32_t>(descriptor) + (bytes >> 4));
}

}  // namespace ridge::tile::sm90
