// .npy: NumPy's file of one array. Reads versions 1 to 3 in either byte order, and writes version 1.0.
//
// Why not a library: the one that Debian keeps (xtensor's xnpy.hpp, 0.24) sign-extends the bytes of the header's
// length, allocates what the header claims before looking at the file, does not check that it could read it, lets the
// shape's product overflow, and wants the keys in one order. None of that survives a fuzzer. The format is a magic
// word and a dictionary of three keys; a strict reader of it is the 150 lines in npy.cpp.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/op.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ridge::npy {

struct ReadOptions {
  bool bf16 = false;  // 16-bit words (u2, or the V2 that ml_dtypes writes) are bfloat16
};

struct Header {
  DType dtype = DType::f32;
  bool swapped = false;  // stored in the other byte order than this machine's
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t data_offset = 0, data_bytes = 0;

  Layout layout() const;  // without gaps, in the file's order
};

// The header at the start of a file of `file_bytes` bytes; `start` is as much of it as was read. Errors are clauses
// that follow the file's name ("is not a .npy file: ..."). What it returns has been compared with file_bytes: the data
// lie wholly inside the file and end it.
Result<Header> parse_header(std::span<const std::byte> start, std::uint64_t file_bytes, ReadOptions = {});

// Bytes of a file from which parse_header can always tell.
inline constexpr std::size_t header_bytes_most = 12 + 65535;

// An array in host memory: the file's bytes in the file's order (strides say which), native byte order.
struct Array {
  DType dtype = DType::u8;
  Layout layout;
  Buffer bytes;
  TensorView view() const { return {bytes.data(), dtype, layout, {}}; }
};

Result<Array> read(const std::filesystem::path&, ReadOptions = {});
// Any file as a row of uint8.
Result<Array> read_raw(const std::filesystem::path&);

// NumPy's name for a dtype: "<f4". Types that NumPy lacks get the unsigned integer of their size.
std::string descr(DType);
// The header of an array in C order, padded so that the data start at a multiple of 64.
std::string make_header(const TensorType&);

}  // namespace ridge::npy
