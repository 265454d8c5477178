// The .npy reader and writer, and the file that appears only when it is whole.
#include "../npy.hpp"
#include "temporary_folder.hpp"

#include <ridge/core/output_file.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace ridge {
namespace {

// A version 1.0 file from its dictionary and its data.
std::string npy_file(std::string dictionary, const std::string& data = "", char major = 1) {
  dictionary += '\n';
  std::string file = "\x93NUMPY";
  file += {major, 0, static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)};
  if (major > 1) file += {0, 0};
  return file + dictionary + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

Result<npy::Header> parse(const std::string& file, npy::ReadOptions options = {}) {
  return npy::parse_header(std::as_bytes(std::span(file)), file.size(), options);
}

std::string bytes_of(const npy::Array& array) {
  return {static_cast<const char*>(array.bytes.data()), array.bytes.bytes()};
}

std::vector<std::int64_t> shape_of(const Layout& layout) {
  return {layout.shape.begin(), layout.shape.begin() + layout.rank};
}

TEST(Npy, EveryDtypeAndShapeComesBack) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::int64_t>> shapes{{},     {1},    {5},       {0},
                                                      {3, 4}, {0, 7}, {2, 1, 3}, {1, 1, 1, 1, 1, 1, 1, 2}};
  for (int d = 0; d < dtype_count; ++d)
    for (const auto& shape : shapes) {
      const auto dtype = static_cast<DType>(d);
      const std::size_t bytes = static_cast<std::size_t>(Layout::contiguous(shape).count()) * size_of(dtype);
      std::string data(bytes, '\0');
      std::iota(data.begin(), data.end(), '\1');
      if (dtype == DType::boolean)
        for (char& c : data) c &= 1;
      const std::string path = folder.write("a.npy", npy::make_header({dtype, shape}) + data);
      const auto array = npy::read(path, {.bf16 = dtype == DType::bf16});
      ASSERT_TRUE(array.ok()) << array.error().message();
      const bool fp8 = dtype == DType::f8e4m3 || dtype == DType::f8e5m2;  // NumPy has none: kept as bytes
      EXPECT_EQ(array->dtype, fp8 ? DType::u8 : dtype);
      EXPECT_EQ(shape_of(array->layout), shape);
      EXPECT_TRUE(array->layout.is_contiguous());
      EXPECT_EQ(bytes_of(*array), data);
    }
}

TEST(Npy, DataStartAtAMultipleOf64) {
  for (std::int64_t size = 1; size < 1'000'000'000'000'000'000; size *= 10)
    EXPECT_EQ(npy::make_header({DType::f32, {size, 1}}).size() % 64, 0u) << size;
}

TEST(Npy, FortranOrderIsAStridedView) {
  const TemporaryFolder folder;
  const std::string data{0, 1, 2, 3, 4, 5};  // columns of a 2 x 3 matrix
  const auto array = npy::read(folder.write("a.npy", npy_file(dictionary("|u1", "(2, 3)", "True"), data)));
  ASSERT_TRUE(array.ok()) << array.error().message();
  EXPECT_EQ(array->layout.stride[0], 1);
  EXPECT_EQ(array->layout.stride[1], 2);
  EXPECT_EQ(bytes_of(*array), data);
}

TEST(Npy, TheOtherByteOrderIsTurned) {
  const TemporaryFolder folder;
  const auto array =
      npy::read(folder.write("a.npy", npy_file(dictionary(">i4", "(2,)"), std::string("\0\0\0\1\0\0\1\0", 8))));
  ASSERT_TRUE(array.ok()) << array.error().message();
  std::int32_t values[2];
  std::memcpy(values, array->bytes.data(), sizeof values);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 256);
}

TEST(Npy, ABoolIsZeroOrOne) {
  const TemporaryFolder folder;
  const auto array = npy::read(folder.write("a.npy", npy_file(dictionary("|b1", "(3,)"), std::string("\0\1\x7f", 3))));
  ASSERT_TRUE(array.ok()) << array.error().message();
  EXPECT_EQ(bytes_of(*array), std::string("\0\1\1", 3));
}

TEST(Npy, HeadersThatNumPyMayWrite) {
  const std::string data(8, 'x');
  for (const std::string& file : {
           npy_file(dictionary("<f4", "(2,)"), data),
           npy_file(dictionary("<f4", "(2,)"), data, 2),
           npy_file(dictionary("<f4", "(2,)"), data, 3),
           npy_file("{'shape': (2,), 'descr': '<f4', 'fortran_order': False}", data),
           npy_file("{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,)}", data),
           npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }      ", data),
           npy_file(dictionary("=f4", "(2,)"), data),
       }) {
    const auto header = parse(file);
    ASSERT_TRUE(header.ok()) << header.error().message() << "\n" << file;
    EXPECT_EQ(header->dtype, DType::f32);
    EXPECT_EQ(header->shape, std::vector<std::int64_t>{2});
  }
}

TEST(Npy, Bfloat16IsAFlag) {
  const std::string u2 = npy_file(dictionary("<u2", "(2,)"), "abcd");
  EXPECT_NE(parse(u2).error().message().find("--bf16"), std::string::npos);
  EXPECT_EQ(parse(u2, {.bf16 = true})->dtype, DType::bf16);
  EXPECT_EQ(parse(npy_file(dictionary("<V2", "(2,)"), "abcd"), {.bf16 = true})->dtype, DType::bf16);
  // The flag says nothing of other types.
  EXPECT_EQ(parse(npy_file(dictionary("<f2", "(2,)"), "abcd"), {.bf16 = true})->dtype, DType::f16);
}

struct Malformed {
  const char* name;
  std::string file;
  const char* sentence;  // part of it
};

void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.name; }

class MalformedNpy : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedNpy, IsRefusedWithASentence) {
  const auto header = parse(GetParam().file);
  ASSERT_FALSE(header.ok());
  EXPECT_NE(header.error().message().find(GetParam().sentence), std::string::npos) << header.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedNpy,
    testing::Values(
        Malformed{"empty", "", "it is empty"}, Malformed{"other_file", "%PDF-1.4 and so on", "is not a .npy file"},
        Malformed{"magic_only", "\x93NUMPY", "ends inside its header"},
        Malformed{"version_4", npy_file(dictionary("<f4", "()"), "abcd", 4), "version 4.0"},
        Malformed{"length_beyond_file", std::string("\x93NUMPY\1\0\xff\x7f{'descr'", 18), "ends inside its header"},
        Malformed{"length_of_4_gigabytes", std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14),
                  "claims 4294967295 bytes"},
        Malformed{"no_dictionary", npy_file("hello"), "not a dictionary"},
        Malformed{"open_dictionary", npy_file("{'descr': '<f4'"), "not a dictionary"},
        Malformed{"open_string", npy_file("{'descr': '<f4"), "records"},
        Malformed{"lacks_shape", npy_file("{'descr': '<f4', 'fortran_order': False}"), "lacks one of"},
        Malformed{"key_twice", npy_file("{'descr': '<f4', 'descr': '<f4'}"), "twice"},
        Malformed{"unknown_key", npy_file("{'descr': '<f4', 'order': 'C'}"), "the unknown key 'order'"},
        Malformed{"text_after", npy_file(dictionary("<f4", "()") + "import os", "abcd"), "follows the dictionary"},
        Malformed{"order_1", npy_file(dictionary("<f4", "()", "1"), "abcd"), "neither True nor False"},
        Malformed{"complex", npy_file(dictionary("<c8", "()"), "abcdabcd"), "ridge reads f8 f4 f2"},
        Malformed{"u2", npy_file(dictionary("<u2", "()"), "ab"), "--bf16"},
        Malformed{"object", npy_file(dictionary("|O", "()"), "ab"), "none of NumPy's"},
        Malformed{"no_byte_order", npy_file(dictionary("f4", "()"), "abcd"), "its dtype is 'f4'"},
        Malformed{"no_byte_order_3", npy_file(dictionary("ff4", "()"), "abcd"), "no byte order"},
        Malformed{"records", npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd"),
                  "holds records"},
        Malformed{"negative_size", npy_file(dictionary("<f4", "(-1,)"), "abcd"), "not a size"},
        Malformed{"size_of_2_to_64", npy_file(dictionary("<f4", "(18446744073709551616,)"), "abcd"), "not a size"},
        Malformed{"product_overflows", npy_file(dictionary("<f4", "(4294967296, 4294967296)"), ""), "63 bits"},
        Malformed{"product_overflows_beside_0", npy_file(dictionary("<f4", "(0, 4294967296, 4294967296)"), ""),
                  "63 bits"},
        Malformed{"bytes_overflow", npy_file(dictionary("<f8", "(2305843009213693952,)"), ""), "63 bits"},
        Malformed{"huge_and_absent", npy_file(dictionary("<f8", "(1000000000000,)"), "abc"),
                  "promises 8000000000000 bytes of data, and 3 are there"},
        Malformed{"one_byte_short", npy_file(dictionary("<f4", "(2,)"), "abcdabc"), "is truncated"},
        Malformed{"one_byte_long", npy_file(dictionary("<f4", "(2,)"), "abcdabcda"), "has 1 bytes after"},
        Malformed{"rank_9", npy_file(dictionary("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "abcd"), "8 dimensions"},
        Malformed{"shape_is_a_number", npy_file(dictionary("<f4", "2"), "abcdabcd"), "not a tuple"},
        Malformed{"shape_is_a_bracketed_number", npy_file(dictionary("<f4", "(2)"), "abcdabcd"), "not a tuple"},
        Malformed{"shape_lacks_a_comma", npy_file(dictionary("<f4", "(2 1)"), "abcdabcd"), "lacks a comma"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Npy, NoPrefixOfAFileIsAFile) {
  const std::string file = npy_file(dictionary("<f4", "(2, 3)"), std::string(24, 'x'));
  ASSERT_TRUE(parse(file).ok());
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(parse(file.substr(0, length)).ok()) << length;
}

TEST(Npy, ControlCharactersDoNotReachTheSentence) {
  const auto header = parse(npy_file(dictionary("<\x1b[2J\n", "()")));
  ASSERT_FALSE(header.ok());
  for (char c : header.error().message()) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
}

TEST(Npy, WhatIsNoRegularFileIsRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(npy::read(folder / "absent.npy").error().code(), Code::io);
  EXPECT_NE(npy::read(folder.path()).error().message().find("a directory"), std::string::npos);
  ASSERT_EQ(mkfifo((folder / "pipe.npy").c_str(), 0600), 0);
  EXPECT_NE(npy::read(folder / "pipe.npy").error().message().find("a pipe"), std::string::npos);  // and does not hang
}

TEST(Npy, RawIsARowOfBytes) {
  const TemporaryFolder folder;
  const auto array = npy::read_raw(folder.write("any", "hello"));
  ASSERT_TRUE(array.ok()) << array.error().message();
  EXPECT_EQ(array->dtype, DType::u8);
  EXPECT_EQ(shape_of(array->layout), std::vector<std::int64_t>{5});
  EXPECT_EQ(bytes_of(*array), "hello");
  EXPECT_EQ(npy::read_raw(folder.write("empty", ""))->layout.count(), 0);
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out", "before");
  {
    auto dropped = OutputFile::create(path);
    ASSERT_TRUE(dropped.ok());
    ASSERT_TRUE(dropped->write("half").ok());
    EXPECT_EQ(file_bytes(path), "before");
  }
  EXPECT_EQ(file_bytes(path), "before");
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("after").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(file_bytes(path), "after");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});  // no temporary file
}

TEST(OutputFile, KeepsLinksAndDevices) {
  const TemporaryFolder folder;
  const std::string target = folder.write("target", "before"), link = folder / "link";
  std::filesystem::create_symlink(target, link);
  auto file = OutputFile::create(link);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("after").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(file_bytes(target), "after");

  auto null = OutputFile::create("/dev/null");
  ASSERT_TRUE(null.ok());
  EXPECT_TRUE(null->write("gone").ok());
  EXPECT_TRUE(null->commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputFile, SaysWhyItCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_NE(OutputFile::create(folder / "no/such/folder").error().message().find("No such file"), std::string::npos);
  EXPECT_NE(OutputFile::create(folder.path()).error().message().find("Is a directory"), std::string::npos);
  EXPECT_NE(OutputFile::create("").error().message().find("cannot be written"), std::string::npos);
}

TEST(OutputFile, ALinkToNothingStaysALink) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "there");
  std::filesystem::create_symlink("there/target", folder / "link");
  auto file = OutputFile::create(folder / "link");
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_TRUE(file->write("new").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(file_bytes(folder / "there/target"), "new");
  std::filesystem::create_symlink("round", folder / "round");
  EXPECT_FALSE(OutputFile::create(folder / "round").ok());
}

TEST(OutputFile, KeepsThePermissionsThatWereThere) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out", "before");
  const auto mode = static_cast<std::filesystem::perms>(0646);  // more than umask grants
  std::filesystem::permissions(path, mode);
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(), mode);
}

// The temporary file's name is as short as any, and the limit on paths is not met by what lies beside.
TEST(OutputFile, NamesAndPathsAtTheSystemsLimit) {
  const TemporaryFolder folder;
  for (std::size_t length : {240, 254, 255}) {
    const std::string path = folder / std::string(length, 'n');
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file.ok()) << length << ": " << file.error().message();
    ASSERT_TRUE(file->write("whole").ok());
    ASSERT_TRUE(file->commit().ok()) << length;
    EXPECT_EQ(file_bytes(path), "whole");
  }
  EXPECT_NE(OutputFile::create(folder / std::string(256, 'n')).error().message().find("File name too long"),
            std::string::npos);
  std::string deep = folder.path();
  while (deep.size() + 202 < 4094) {
    deep += "/" + std::string(200, 'd');
    ASSERT_TRUE(std::filesystem::create_directory(deep));
  }
  deep += "/" + std::string(4095 - deep.size() - 1 - 2, 'd');  // leaves room for "/x"
  ASSERT_TRUE(std::filesystem::create_directory(deep));
  auto file = OutputFile::create(deep + "/x");
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_TRUE(file->commit().ok());
}

TEST(OutputFile, TemporaryFilesHaveNamesThatNobodyGuesses) {
  const TemporaryFolder folder;
  std::set<std::string> seen;
  int with_process_id = 0;  // of random digits, too, a few happen to hold it
  for (int i = 0; i < 50; ++i) {
    auto file = OutputFile::create(folder / "out");
    ASSERT_TRUE(file.ok());
    const auto names = folder.names();
    ASSERT_EQ(names.size(), 1u);
    with_process_id += names[0].find(std::to_string(getpid())) != std::string::npos;
    seen.insert(names[0]);
  }
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_LT(with_process_id, 40) << *seen.begin();
  EXPECT_TRUE(folder.names().empty());
}

TEST(OutputFile, OnePlaceByManyNames) {
  const TemporaryFolder folder;
  folder.write("target", "before");
  std::filesystem::create_directory(folder.path() / "sub");
  std::filesystem::create_symlink("target", folder / "link");
  std::filesystem::create_directory_symlink(".", folder / "here");
  const auto place = [&](std::string_view path) { return *OutputFile::check(folder / path); };
  for (const char* same : {"./target", "sub/../target", "link", "here/target", "here/here/link"})
    EXPECT_EQ(place("target"), place(same)) << same;
  for (const char* same : {"./new", "sub/../new", "here/new"}) EXPECT_EQ(place("new"), place(same)) << same;
  EXPECT_NE(place("target"), place("new"));
  EXPECT_NE(place("new"), place("sub/new"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(place("pipe"), place("./here/pipe"));  // and does not wait for a reader
  EXPECT_NE(place("pipe"), place("target"));
  EXPECT_EQ(file_bytes(folder / "target"), "before");
}

TEST(OutputFile, UnfinishedFilesAreRemovedAtOnce) {
  const TemporaryFolder folder;
  {
    auto whole = OutputFile::create(folder / "whole"), half = OutputFile::create(folder / "half");
    ASSERT_TRUE(whole.ok() && half.ok());
    ASSERT_TRUE(whole->commit().ok());
    OutputFile::remove_unfinished();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"whole"});
    EXPECT_FALSE(half->commit().ok());
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"whole"});
  std::vector<OutputFile> many;  // more than are known to remove_unfinished()
  for (int i = 0; i < 200; ++i) {
    auto file = OutputFile::create(folder / std::to_string(i));
    ASSERT_TRUE(file.ok());
    many.push_back(std::move(*file));
  }
  many.clear();
  EXPECT_EQ(folder.names(), std::vector<std::string>{"whole"});
}

}  // namespace
}  // namespace ridge
