// What the tests of the commands share: the program from outside. Exit code, standard output, standard error and files.
#pragma once
#include "../npy.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

using nlohmann::json;
using Arguments = std::vector<std::string>;

inline Finished ridge_program(Arguments arguments) { return run_program(RIDGE_PROGRAM, std::move(arguments)); }
inline Finished faulty_program(Arguments arguments) { return run_program(RIDGE_FAULTY_PROGRAM, std::move(arguments)); }

// A shell, as most users have one around the program.
inline Finished shell(const std::string& command) { return run_program("/bin/sh", {"-c", command}); }
inline const std::string quoted_program = "'" RIDGE_PROGRAM "' ";

template <class T> std::string npy_of(std::vector<std::int64_t> shape, const std::vector<T>& values) {
  std::string file = npy::make_header({dtype_of<T>, std::move(shape)});
  return file + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <class T> std::vector<T> values_of(const std::string& path) {
  const auto array = npy::read(path);
  if (!array || array->dtype != dtype_of<T>) {
    ADD_FAILURE() << path << ": " << (array ? "another dtype" : array.error().message());
    return {};
  }
  std::vector<T> values(static_cast<std::size_t>(array->layout.count()));
  if (!values.empty()) std::memcpy(values.data(), array->bytes.data(), values.size() * sizeof(T));
  return values;
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

inline void expect_done(const Finished& finished) {
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
}

// What every wrong request comes to: exit code 2, one sentence on one line, nothing on standard output.
inline void expect_refused(const Finished& finished, std::string_view part) {
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  EXPECT_TRUE(finished.err.starts_with("ridge: ")) << finished.err;
  EXPECT_TRUE(contains(finished.err, part)) << finished.err;
}

class Cli : public testing::Test {
 protected:
  const TemporaryFolder folder;
  const std::string x = folder.write("x.npy", npy_of<float>({2, 3}, {-1, 2, -3, 4, -5, 6}));
  const std::string y = folder / "y.npy";
};

// Where there is a GPU.
class CliOnGpu : public Cli {
 protected:
  void SetUp() override {
    if (json::parse(ridge_program({"devices", "--json"}).out)["devices"].size() > 1) return;
    std::puts("skipped: no GPU on this machine");
    GTEST_SKIP();
  }
};

// Where ridge-trace has been built since the programs: an older one would be built by the first call, which says so.
class CliTrace : public Cli {
 protected:
  void SetUp() override {
    const std::filesystem::path program = RIDGE_PROGRAM, tracer = program.parent_path() / "ridge-trace";
    std::error_code error;
    const auto built = std::filesystem::last_write_time(tracer, error);
    if (!error && built >= std::filesystem::last_write_time(program)) return;
    std::puts("skipped: ridge-trace is not built");
    GTEST_SKIP();
  }
};

}  // namespace ridge
