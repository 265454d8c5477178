#include "npy.hpp"

#include <ridge/core/text.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace ridge::npy {

namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};
constexpr std::string_view readable = "f8 f4 f2 i8 i4 i1 u1 b1";

Status wrong(std::string clause) { return Status::error(Code::invalid_argument, std::move(clause)); }
Status no_npy(const std::string& why) { return wrong("is not a .npy file: " + why); }
Status bad_header(const std::string& why) { return wrong("is a broken .npy file: " + why); }

// Text from a file, fit to stand in a sentence on a terminal.
std::string quoted(std::string_view text) {
  std::string s = "'";
  for (char c : text.substr(0, 40)) s += c >= ' ' && c <= '~' ? c : '?';
  return s + (text.size() > 40 ? "...'" : "'");
}

// The Python literal of the header: just the grammar that NumPy writes, with spaces and keys in any order.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> string() {
    skip_spaces();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  // A whole number from 0 that fits in 63 bits; Python 2 wrote a trailing L.
  std::optional<std::int64_t> size() {
    skip_spaces();
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return std::nullopt;
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    take('L');
    return value;
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

Status parse_descr(std::string_view text, ReadOptions options, Header& header) {
  const std::string given = "its dtype is " + quoted(text);
  if (text.size() < 3) return bad_header(given + ", which is none of NumPy's");
  const char order = text.front();
  const std::string_view kind = text.substr(1);
  if (order != '<' && order != '>' && order != '|' && order != '=')
    return bad_header(given + ", which has no byte order in front");
  static constexpr std::pair<std::string_view, DType> known[] = {
      {"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16}, {"i8", DType::i64},
      {"i4", DType::i32}, {"i1", DType::i8},  {"u1", DType::u8},  {"b1", DType::boolean}};
  const bool two_bytes = kind == "u2" || kind == "V2";
  const auto* found = std::ranges::find(known, kind, &std::pair<std::string_view, DType>::first);
  if (two_bytes && options.bf16) header.dtype = DType::bf16;
  else if (found != std::end(known)) header.dtype = found->second;
  else
    return wrong(fmt::format("holds {}; ridge reads {}{}", quoted(text), readable,
                             two_bytes ? ", and u2 as bfloat16 with --bf16" : ""));
  constexpr char other = std::endian::native == std::endian::little ? '>' : '<';
  header.swapped = order == other && size_of(header.dtype) > 1;
  return {};
}

Status parse_shape(Literal& literal, std::vector<std::int64_t>& shape) {
  if (!literal.take('(')) return bad_header("its shape is not a tuple");
  bool comma = true;
  while (!literal.take(')')) {
    if (!comma) return bad_header("its shape lacks a comma");
    const auto size = literal.size();
    if (!size) return bad_header("its shape holds something that is not a size, a whole number below 2^63");
    if (shape.size() == max_rank)
      return wrong(fmt::format("holds an array of more than {0} dimensions; ridge takes up to {0}", max_rank));
    shape.push_back(*size);
    comma = literal.take(',');
  }
  if (shape.size() == 1 && !comma) return bad_header("its shape is a number in brackets, not a tuple");
  return {};
}

// Bytes of an array, with sizes of 0 counted as 1: strides are products of these, so they must fit as well.
std::optional<std::int64_t> padded_bytes(const std::vector<std::int64_t>& shape, DType dtype) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t size : shape)
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) return std::nullopt;
  return bytes;
}

// A regular file that is open for reading, and how long it is.
struct File {
  int descriptor = -1;
  std::uint64_t bytes = 0;
  File() = default;
  File(File&& other) noexcept : descriptor(std::exchange(other.descriptor, -1)), bytes(other.bytes) {}
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
};

// The whole path, however long: a user wants to see which file it was.
std::string file_name(const std::filesystem::path& path) { return "file '" + printable(path.native()) + "'"; }

}  // namespace

Layout Header::layout() const {
  Layout layout = Layout::contiguous(shape);
  if (!fortran_order) return layout;
  std::int64_t stride = 1;
  for (int axis = 0; axis < layout.rank; ++axis) {
    layout.stride[axis] = stride;
    stride *= std::max<std::int64_t>(layout.shape[axis], 1);
  }
  return layout;
}

Result<Header> parse_header(std::span<const std::byte> start, std::uint64_t file_bytes, ReadOptions options) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(start.data());
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (file_bytes == 0) return no_npy("it is empty");
  if (!text.starts_with(magic)) return no_npy("it does not begin with \\x93NUMPY");
  if (start.size() < 10) return bad_header("it ends inside its header");
  const int version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0)
    return wrong(fmt::format("is of .npy version {}.{}; ridge reads 1.0, 2.0 and 3.0", version, bytes[7]));
  // The header's length: 2 bytes in version 1, 4 in the others, little endian.
  const std::size_t text_offset = version == 1 ? 10 : 12;
  if (start.size() < text_offset) return bad_header("it ends inside its header");
  std::uint64_t length = 0;
  for (std::size_t i = text_offset; i-- > 8;) length = length << 8 | bytes[i];
  if (length > header_bytes_most - 12)
    return bad_header(fmt::format("its header claims {} bytes, and no array of numbers needs so many", length));
  if (text_offset + length > file_bytes) return bad_header("it ends inside its header");
  if (text_offset + length > start.size()) return bad_header("its header was not read whole");

  Header header;
  header.data_offset = text_offset + length;
  Literal literal(text.substr(text_offset, length));
  if (!literal.take('{')) return bad_header("its header is not a dictionary");
  bool has_descr = false, has_order = false, has_shape = false, comma = true;
  while (!literal.take('}')) {
    const auto key = comma ? literal.string() : std::nullopt;
    if (!key || !literal.take(':')) return bad_header("its header is not a dictionary of descr, fortran_order, shape");
    bool& seen = *key == "descr" ? has_descr : *key == "fortran_order" ? has_order : has_shape;
    if (seen || (&seen == &has_shape && *key != "shape"))
      return bad_header("its header has the " + std::string(seen ? "" : "unknown ") + "key " + quoted(*key) +
                        (seen ? " twice" : ""));
    seen = true;
    if (&seen == &has_descr) {
      const auto descr = literal.string();
      if (!descr) return wrong(fmt::format("holds records, not numbers of one type; ridge reads {}", readable));
      RIDGE_TRY(parse_descr(*descr, options, header));
    } else if (&seen == &has_order) {
      header.fortran_order = literal.take_word("True");
      if (!header.fortran_order && !literal.take_word("False"))
        return bad_header("its fortran_order is neither True nor False");
    } else {
      RIDGE_TRY(parse_shape(literal, header.shape));
    }
    comma = literal.take(',');
  }
  if (!literal.at_end()) return bad_header("something follows the dictionary in its header");
  if (!has_descr || !has_order || !has_shape) return bad_header("its header lacks one of descr, fortran_order, shape");

  const auto padded = padded_bytes(header.shape, header.dtype);
  if (!padded) return bad_header("its shape has more bytes than 63 bits can count");
  header.data_bytes = std::ranges::count(header.shape, 0) ? 0 : static_cast<std::uint64_t>(*padded);
  const std::uint64_t present = file_bytes - header.data_offset;
  if (present < header.data_bytes)
    return wrong(fmt::format("is truncated: its header promises {} bytes of data, and {} are there", header.data_bytes,
                             present));
  if (present > header.data_bytes)
    return wrong(
        fmt::format("has {} bytes after its array; ridge reads files of one array", present - header.data_bytes));
  return header;
}

static Result<File> open_file(const std::filesystem::path& path) {
  File file;
  file.descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NONBLOCK: a pipe must not hang here
  if (file.descriptor < 0)
    return Status::error(Code::io, fmt::format("{} cannot be read: {}", file_name(path), std::strerror(errno)));
  struct stat about {};
  if (fstat(file.descriptor, &about) != 0 || !S_ISREG(about.st_mode))
    return Status::error(Code::io, fmt::format("{} is {}; it must be a regular file", file_name(path),
                                               S_ISDIR(about.st_mode) ? "a directory" : "a pipe or a device"));
  file.bytes = static_cast<std::uint64_t>(about.st_size);
  return file;
}

static Status read_at(const File& file, const std::filesystem::path& path, std::uint64_t offset, void* to,
                      std::uint64_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got =
        pread(file.descriptor, at, std::min<std::uint64_t>(bytes, 1u << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return Status::error(Code::io,
                           fmt::format("{} cannot be read: {}", file_name(path),
                                       got < 0 ? std::strerror(errno) : "it became shorter while it was read"));
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return {};
}

static void swap_bytes(void* data, std::uint64_t bytes, std::size_t element) {
  auto* at = static_cast<std::byte*>(data);
  for (std::uint64_t i = 0; i + element <= bytes; i += element) std::reverse(at + i, at + i + element);
}

Result<Array> read(const std::filesystem::path& path, ReadOptions options) {
  auto file = open_file(path);
  if (!file) return file.error();
  std::vector<std::byte> start(std::min<std::uint64_t>(file->bytes, header_bytes_most));
  RIDGE_TRY(read_at(*file, path, 0, start.data(), start.size()));
  auto header = parse_header(start, file->bytes, options);
  if (!header) return Status::error(Code::io, file_name(path) + " " + std::string(header.error().message()));

  auto buffer = Buffer::allocate({}, header->data_bytes);
  if (!buffer) return buffer.error();
  RIDGE_TRY(read_at(*file, path, header->data_offset, buffer->data(), header->data_bytes));
  if (header->swapped) swap_bytes(buffer->data(), header->data_bytes, size_of(header->dtype));
  if (header->dtype == DType::boolean) {  // a bool that is neither 0 nor 1 would be undefined behaviour in a kernel
    auto* values = static_cast<unsigned char*>(buffer->data());
    for (std::uint64_t i = 0; i < header->data_bytes; ++i) values[i] = values[i] != 0;
  }
  return Array{header->dtype, header->layout(), std::move(*buffer)};
}

Result<Array> read_raw(const std::filesystem::path& path) {
  auto file = open_file(path);
  if (!file) return file.error();
  auto buffer = Buffer::allocate({}, file->bytes);
  if (!buffer) return buffer.error();
  RIDGE_TRY(read_at(*file, path, 0, buffer->data(), file->bytes));
  return Array{DType::u8, Layout::contiguous({static_cast<std::int64_t>(file->bytes)}), std::move(*buffer)};
}

std::string descr(DType dtype) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::bf16: return "<u2";
    case DType::i64: return "<i8";
    case DType::i32: return "<i4";
    case DType::i8: return "|i1";
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::u8: return "|u1";
    case DType::boolean: return "|b1";
  }
  return "";
}

std::string make_header(const TensorType& type) {
  static_assert(std::endian::native == std::endian::little, "the descr of make_header is little endian");
  std::string shape;
  for (std::int64_t size : type.shape) shape += fmt::format("{}, ", size);
  if (type.shape.size() > 1) shape.resize(shape.size() - 2);
  else if (type.shape.size() == 1) shape.pop_back();  // "(5,)"
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr(type.dtype), shape);
  const std::size_t before = magic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');  // with the newline the data start at a multiple of 64
  text += '\n';
  std::string header(magic);
  header += {1, 0, static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace ridge::npy
