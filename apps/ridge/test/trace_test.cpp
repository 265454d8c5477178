// ridge trace, and how it comes to the program that traces.
#include "cli.hpp"
#include "page.hpp"

#include <stdlib.h>

#include <chrono>
#include <filesystem>

namespace ridge {
namespace {

// A build tree as the program sees one: itself, a library, and a cache that names the sources. On the PATH is a cmake
// that notes how it is called, and makes a ridge-trace that says its arguments.
class CliBuildsTrace : public Cli {
 protected:
  const std::string tree = folder / "tree", program = tree + "/bin/ridge", tracer = tree + "/bin/ridge-trace",
                    library = tree + "/lib/libridge.so", called = folder / "called",
                    source = folder / "source/ridge/relu/relu.cuh";

  void SetUp() override {
    if (RIDGE_TRACED_SOURCES == 0) GTEST_SKIP() << "a build that has no ridge-trace";
    for (const char* name : {"tree/bin", "tree/lib", "source/ridge/relu", "path"})
      std::filesystem::create_directories(folder / name);
    std::filesystem::copy_file(RIDGE_PROGRAM, program);
    folder.write("tree/lib/libridge.so", "");
    folder.write("tree/CMakeCache.txt", "ridge_SOURCE_DIR:STATIC=" + folder / "source" + "\n");
    folder.write("source/ridge/relu/relu.cuh", "");
    const std::string cmake = folder.write("path/cmake", "#!/bin/sh\necho \"$*\" > '" + called +
                                                             "'\nprintf '#!/bin/sh\\necho \"traced: $*\"\\n' > '" +
                                                             tracer + "'\nchmod +x '" + tracer + "'\n");
    std::filesystem::permissions(cmake, std::filesystem::perms::owner_all);
    path_ = getenv("PATH");
    setenv("PATH", (folder / "path:" + path_).c_str(), 1);
    change(source, -1);
  }
  void TearDown() override {
    if (!path_.empty()) setenv("PATH", path_.c_str(), 1);
  }

  // As if it had been written so many hours after the program was built.
  void change(const std::string& file, int hours) const {
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(program) + std::chrono::hours(hours));
  }

 private:
  std::string path_;
};

TEST_F(CliBuildsTrace, SaysWhatAndAboutHowLong) {
  const auto library_time = std::filesystem::last_write_time(library),
             program_time = std::filesystem::last_write_time(program);
  const auto first = run_program(program, {"trace", "relu:f32:n=64"});
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.out, "traced: trace relu:f32:n=64\n");
  EXPECT_TRUE(first.err.starts_with("building " + tracer + ", once: ")) << first.err;
  EXPECT_TRUE(contains(first.err, "; about ") && contains(first.err, " core")) << first.err;
  EXPECT_TRUE(contains(file_bytes(called), "--build " + tree)) << file_bytes(called);
  EXPECT_TRUE(file_bytes(called).ends_with(" --target ridge_trace_cli\n")) << file_bytes(called);
  std::filesystem::remove(called);
  const auto again = run_program(program, {"ladder", "relu", "--device", "cpu"});  // nothing is left to build
  expect_done(again);
  EXPECT_TRUE(again.out.starts_with("traced: ladder relu ")) << again.out;
  EXPECT_FALSE(std::filesystem::exists(called));
  EXPECT_EQ(std::filesystem::last_write_time(library), library_time);
  EXPECT_EQ(std::filesystem::last_write_time(program), program_time);
}

TEST_F(CliBuildsTrace, APageIsAskedOfTheProgramThatTraces) {
  const std::string page = folder / "page.html";
  const auto done = run_program(program, {"trace", "relu:f32:n=64", "--html", page, "--on", "a100"});
  EXPECT_EQ(done.out, "traced: trace relu:f32:n=64 --html " + page + " --on a100\n") << done.err;
}

TEST_F(Cli, APageThatCannotBeIsRefusedBeforeATrace) {
  expect_refused(ridge_program({"trace", "relu:f32:n=64", "--html", folder / "no/page.html"}), "no/page.html");
  expect_refused(ridge_program({"trace", "relu:f32:n=64", "--html", folder / "p.html", "--on", "h1000"}), "h1000");
  expect_refused(ridge_program({"trace", "relu:f32:n=64", "--on", "h100"}), "--html");
  EXPECT_FALSE(std::filesystem::exists(folder / "p.html"));
}

TEST_F(CliBuildsTrace, NeverTheLibraryAsWell) {
  change(source, 1);
  for (const Arguments& arguments : {Arguments{"trace", "relu:f32:n=64"}, {"ladder", "relu", "--counts"}})
    expect_refused(run_program(program, arguments), source + " is newer than " + program);
  folder.write("source/ridge/relu/relu_test.cpp", "");  // is in no library
  change(source, -1);
  change(folder / "source/ridge/relu/relu_test.cpp", 1);
  EXPECT_EQ(run_program(program, {"trace", "relu:f32:n=64"}).code, 0);
}

TEST_F(CliBuildsTrace, NotUnlessAsked) {
  const auto told = run_program(program, {"ladder", "relu", "--device", "cpu"});
  expect_done(told);
  EXPECT_TRUE(contains(told.out, " --counts counts the other rows, and builds ridge-trace first, once, in about "))
      << told.out;
  EXPECT_FALSE(std::filesystem::exists(called));
}

TEST_F(CliTrace, AVariantPerLine) {
  const auto done = ridge_program({"trace", "softmax:f32:rows=64,cols=256:variant=naive"});
  expect_done(done);
  for (const char* part : {"variant=naive", "softmax_naive", "grid (1), block (128)", "streaming.cuh:",
                           "global load 4 B", "32.00 (4.00)", "uncoalesced", "max = tile::greater(max, X(x[i]))"})
    EXPECT_TRUE(contains(done.out, part)) << part << "\n" << done.out;
}

TEST_F(CliTrace, EveryVariantAsJson) {
  const auto done = ridge_program({"trace", "relu:f32:n=4096", "--variant", "all", "--json"});
  expect_done(done);
  const auto report = json::parse(done.out);
  int traced = 0, refused = 0;
  for (const auto& trace : report["traces"]) {
    EXPECT_TRUE(trace["error"].is_null()) << trace["error"];
    if (!trace["refused"].is_null()) {
      ++refused;
      continue;
    }
    ++traced;
    std::int64_t requests = 0, sectors = 0;
    for (const auto& access : trace["launches"][0]["accesses"]) {
      EXPECT_EQ(access["space"], "global");
      EXPECT_GT(access["line"], 0);
      requests += access["requests"].get<std::int64_t>();
      sectors += access["sectors"].get<std::int64_t>();
    }
    EXPECT_EQ(sectors, 2 * 4096 * 4 / 32) << trace["case"];
    const bool wide = contains(trace["case"].get<std::string>(), "vec4");
    EXPECT_EQ(requests, 2 * 4096 / 32 / (wide ? 4 : 1)) << trace["case"];
  }
  EXPECT_GE(traced, 3);
  EXPECT_GE(refused, 1);  // broadcast: relu has no second input
}

TEST_F(CliTrace, APageOfACase) {
  const std::string page = folder / "page.html";
  expect_done(ridge_program({"trace", "softmax:f32:rows=64,cols=256:variant=naive", "--html", page}));
  const std::string html = file_bytes(page);
  EXPECT_EQ(page_fault(html), "") << html;
  for (const char* part : {"<h3>softmax/streaming.cuh</h3>", "<td class=\"l\">softmax_naive</td>", ">32.00 (4.00)</td>",
                           "uncoalesced", ">1 naive</text>", "DRAM 3.35 TB/s", "Predicted on a model of H100: "})
    EXPECT_TRUE(contains(html, part)) << part << "\n" << html;
}

TEST_F(CliTrace, APageOfEveryVariant) {
  const std::string page = folder / "page.html";
  expect_done(ridge_program({"trace", "relu:f32:n=4096", "--variant", "all", "--html", page, "--on", "h200"}));
  const std::string html = file_bytes(page);
  EXPECT_EQ(page_fault(html), "") << html;
  for (const char* part : {"<h2>scalar</h2>", "<h2>vec4</h2>", "Refused: ", "DRAM 4.8 TB/s"})
    EXPECT_TRUE(contains(html, part)) << part << "\n" << html;
}

TEST_F(CliTrace, SharedMemoryAndWideWarps) {
  for (const char* warp : {"32", "64"}) {
    const auto done =
        ridge_program({"trace", std::string("sum:f32:n=4096:variant=tree_interleaved:warp=") + warp, "--json"});
    expect_done(done);
    const auto launch = json::parse(done.out)["traces"][0]["launches"][0];
    EXPECT_EQ(std::to_string(launch["warp"].get<int>()), warp);
    EXPECT_FALSE(launch["divergent_branches"].empty());
    EXPECT_TRUE(launch["races_between_blocks"].empty());
    int shared = 0;
    for (const auto& access : launch["accesses"]) {
      if (access["space"] != "shared") continue;
      ++shared;
      EXPECT_EQ(access["wavefronts"], access["least_wavefronts"]);
      EXPECT_EQ(access["unset_reads"], 0);
    }
    EXPECT_GE(shared, 3);
  }
}

TEST_F(CliTrace, AVariantThatDoesNotFitIsAWrongRequest) {
  expect_refused(ridge_program({"trace", "softmax:f32:rows=2,cols=5000:variant=warp_32"}), "and 32 are kept");
}

}  // namespace
}  // namespace ridge
