// The program from outside: exit code, standard output, standard error and files.
#include "../npy.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <ridge/core/op.hpp>
#include <ridge/core/text.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace ridge {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

Finished ridge_program(Arguments arguments) { return run_program(RIDGE_PROGRAM, std::move(arguments)); }
Finished faulty_program(Arguments arguments) { return run_program(RIDGE_FAULTY_PROGRAM, std::move(arguments)); }

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

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void expect_done(const Finished& finished) {
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
}

// What every wrong request comes to: exit code 2, one sentence on one line, nothing on standard output.
void expect_refused(const Finished& finished, std::string_view part) {
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

// ---- the main job ------------------------------------------------------------------------------------------------

TEST_F(Cli, ReluOfAFile) {
  const auto done = ridge_program({"run", "relu", x, "-o", y, "--device", "cpu", "--check"});
  expect_done(done);
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 2, 0, 4, 0, 6}));
  for (const char* part : {"x.npy", "y.npy", "f32 2x3", "device", "cpu", "variant", "time", "predicted", "passed"})
    EXPECT_TRUE(contains(done.out, part)) << part << "\n" << done.out;
}

TEST_F(Cli, FortranOrderIsReadAsStrides) {
  std::string fortran = file_bytes(x);
  fortran.replace(fortran.find("False,"), 6, "True, ");  // now the columns of a 2 x 3 matrix
  const auto done =
      ridge_program({"run", "relu", folder.write("f.npy", fortran), "-o", y, "--device", "cpu", "--check", "--json"});
  expect_done(done);
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 0, 0, 2, 4, 6}));
  EXPECT_EQ(json::parse(done.out)["inputs"][0]["strides"], json({1, 2}));
}

TEST_F(Cli, ScalarAndEmptyArrays) {
  expect_done(
      ridge_program({"run", "relu", folder.write("s.npy", npy_of<float>({}, {-2})), "-o", y, "--device", "cpu"}));
  EXPECT_EQ(npy::read(y)->layout.rank, 0);
  EXPECT_EQ(values_of<float>(y), std::vector<float>{0});
  const std::string empty = folder.write("e.npy", npy_of<float>({0, 5}, {}));
  expect_done(ridge_program({"run", "relu", empty, "-o", y, "--device", "cpu", "--check"}));
  EXPECT_EQ(npy::read(y)->layout.text(), "0x5");
}

TEST_F(Cli, SumOfAFile) {
  const auto done = ridge_program({"run", "sum", x, "-o", y, "--device", "cpu", "--check", "--json"});
  expect_done(done);
  EXPECT_EQ(values_of<float>(y), std::vector<float>{3});
  EXPECT_TRUE(json::parse(done.out)["check"]["passed"]);
}

TEST_F(Cli, SoftmaxOfThreeAxes) {
  const std::string cube = folder.write("c.npy", npy_of<float>({2, 1, 3}, {1, 2, 3, 1000, 1000, 1000}));
  const auto done = ridge_program({"run", "softmax", cube, "-o", y, "--device", "cpu", "--check", "--json"});
  expect_done(done);
  const auto report = json::parse(done.out);
  EXPECT_TRUE(report["check"]["passed"]);
  EXPECT_EQ(report["check"]["case"], "softmax:f32:rows=2,cols=3");
  EXPECT_EQ(report["device"], "cpu");
  EXPECT_EQ(report["outputs"][0]["shape"], json({2, 1, 3}));
  for (const char* key : {"operator", "variant", "us", "predicted_us", "least_us", "bound"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_NEAR(values_of<float>(y).back(), 1 / 3.0, 1e-6);
}

TEST_F(Cli, Bfloat16InAndOutAsU2) {
  std::string file = npy::make_header({DType::bf16, {2}});
  file += std::string("\x80\x3f\x80\xbf", 4);  // 1, -1
  const std::string input = folder.write("b.npy", file);
  expect_refused(ridge_program({"run", "relu", input, "-o", y, "--device", "cpu"}), "--bf16");
  const auto done = ridge_program({"run", "relu", input, "-o", y, "--device", "cpu", "--bf16", "--check"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "bf16 2 (u2 in the file)")) << done.out;
  EXPECT_TRUE(contains(file_bytes(y), "'<u2'"));
  EXPECT_TRUE(file_bytes(y).ends_with(std::string("\x80\x3f\0\0", 4)));
}

TEST_F(Cli, HistogramOfTheBytesOfAnyFile) {
  const std::string text = folder.write("text", "abracadabra");
  const auto done = ridge_program({"run", "histogram", text, "-o", y, "--device", "cpu", "--check"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "passed")) << done.out;
  const auto counts = npy::read(y);
  ASSERT_TRUE(counts.ok());
  ASSERT_EQ(counts->layout.count(), 256);
  const auto at = [&](unsigned char c) {
    return counts->dtype == DType::i64 ? static_cast<std::int64_t*>(counts->bytes.data())[c]
                                       : static_cast<std::int32_t*>(counts->bytes.data())[c];
  };
  EXPECT_EQ(at('a'), 5);
  EXPECT_EQ(at('b'), 2);
  EXPECT_EQ(at('z'), 0);
  // A file named .npy is an array, unless the user says otherwise.
  const std::string named = folder.write("text.npy", "abracadabra");
  expect_refused(ridge_program({"run", "histogram", named, "-o", y, "--device", "cpu"}), "is no .npy file");
  expect_done(ridge_program({"run", "histogram", named, "--raw", "-o", y, "--device", "cpu"}));
}

TEST_F(Cli, GemmTakesTheInputsThatItsOptionsAskFor) {
  const std::string a = folder.write("a.npy", npy_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const std::string b = folder.write("b.npy", npy_of<float>({3, 2}, {1, 0, 0, 1, 1, 1}));
  const std::string bt = folder.write("bt.npy", npy_of<float>({2, 3}, {1, 0, 1, 0, 1, 1}));
  const std::string c = folder.write("c.npy", npy_of<float>({2, 2}, {1, 1, 1, -9}));
  const std::string bias = folder.write("bias.npy", npy_of<float>({2}, {-100, 0.5}));
  expect_done(ridge_program({"run", "gemm", a, b, "-o", y, "--device", "cpu", "--check"}));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{4, 5, 10, 11}));
  expect_done(ridge_program({"run", "gemm", a, bt, "--opt", "layout=nt", "-o", y, "--device", "cpu", "--check"}));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{4, 5, 10, 11}));
  const auto all = ridge_program({"run", "gemm", a, b, c, bias, "--opt", "beta=2", "--opt", "epilogue=bias+relu", "-o",
                                  y, "--device", "cpu", "--check", "--json"});
  expect_done(all);
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 7.5, 0, 0}));
  const auto report = json::parse(all.out);
  EXPECT_EQ(report["inputs"][3]["name"], "bias");
  EXPECT_TRUE(report["check"]["passed"]);
  // Too few, too many, and an option that is none.
  expect_refused(ridge_program({"run", "gemm", a, b, "--opt", "beta=2", "-o", y, "--device", "cpu"}),
                 "gemm: the number of inputs is 2; it must be 3 (a, b, c)");
  expect_refused(ridge_program({"run", "gemm", a, b, c, "-o", y, "--device", "cpu"}),
                 "gemm: the number of inputs is 3; it must be 2 (a, b)");
  expect_refused(ridge_program({"run", "gemm", a, b, "--opt", "layout=nx", "-o", y, "--device", "cpu"}),
                 "gemm: layout is 'nx'; it must be one of nn nt tn tt");
  EXPECT_TRUE(contains(ridge_program({"ops", "gemm"}).out, "a, b, [c], [bias], [residual]"));
  const auto info = json::parse(ridge_program({"ops", "gemm", "--json"}).out)["operators"][0];
  EXPECT_EQ(info["optional_inputs"], json({"c", "bias", "residual", "gate"}));
}

TEST_F(Cli, NumbersOfPlacesAreLookedAt) {
  const std::string table = folder.write("table.npy", npy_of<float>({2, 1}, {3, 5}));
  const std::string wrong = folder.write("wrong.npy", npy_of<std::int64_t>({3}, {1, 2, 0}));
  const Arguments lookup{"run", "embedding", table, wrong, "-o", y, "--device", "cpu"};
  expect_refused(ridge_program(lookup), "embedding: indices[1] is 2; it must be from 0 to 1, the rows of table");
  Arguments unchecked = lookup;
  unchecked.insert(unchecked.end(), {"--opt", "checked=0"});
  expect_done(ridge_program(unchecked));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{5, 0, 3}));

  const std::string q = folder.write("q.npy", npy_of<float>({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const std::string ends = folder.write("ends.npy", npy_of<std::int32_t>({3}, {0, 4, 100}));
  Arguments packed{
      "run", "attention", q, q, q, ends, ends, "-o", y, "--device", "cpu", "--opt", "inputs=q,k,v,cu_q,cu_k"};
  expect_refused(ridge_program(packed), "attention: cu_q[2] is 100; it must be from 0 to 4, the rows of q");
  packed.insert(packed.end(), {"--opt", "checked=0"});
  expect_done(ridge_program(packed));
}

TEST_F(Cli, EveryVariantByName) {
  const auto info = json::parse(ridge_program({"ops", "relu", "--json"}).out)["operators"][0];
  ASSERT_GT(info["variants"].size(), 1u);
  for (const auto& variant : info["variants"]) {
    const auto done = ridge_program(
        {"run", "relu", x, "-o", y, "--device", "cpu", "--check", "--json", "--variant", variant["name"]});
    if (done.code == 2) continue;  // a variant may refuse 6 elements
    EXPECT_EQ(json::parse(done.out)["variant"], variant["name"]);
  }
}

TEST_F(Cli, AnOutputMayReplaceItsInput) {
  expect_done(ridge_program({"run", "relu", x, "-o", x, "--device", "cpu"}));
  EXPECT_EQ(values_of<float>(x), (std::vector<float>{0, 2, 0, 4, 0, 6}));
}

// ---- the same where there is a GPU ----------------------------------------------------------------------------------

class CliOnGpu : public Cli {
 protected:
  void SetUp() override {
    if (json::parse(ridge_program({"devices", "--json"}).out)["devices"].size() > 1) return;
    std::puts("skipped: no GPU on this machine");
    GTEST_SKIP();
  }
};

TEST_F(CliOnGpu, IsWhatRunsWhenNoDeviceIsNamed) {
  const auto done = ridge_program({"run", "relu", x, "-o", y, "--check", "--json"});
  expect_done(done);
  EXPECT_EQ(json::parse(done.out)["device"], "cuda:0");
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 2, 0, 4, 0, 6}));
}

TEST_F(CliOnGpu, StridesAndEmptyArrays) {
  std::string fortran = file_bytes(x);
  fortran.replace(fortran.find("False,"), 6, "True, ");
  expect_done(ridge_program({"run", "relu", folder.write("f.npy", fortran), "-o", y, "--device", "cuda", "--check"}));
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{0, 0, 0, 2, 4, 6}));
  const std::string empty = folder.write("e.npy", npy_of<float>({0, 5}, {}));
  expect_done(ridge_program({"run", "relu", empty, "-o", y, "--device", "cuda:0", "--check"}));
  EXPECT_EQ(npy::read(y)->layout.text(), "0x5");
}

TEST_F(CliOnGpu, TheOtherOperators) {
  for (const char* op : {"sum", "softmax"})
    expect_done(ridge_program({"run", op, x, "-o", y, "--device", "cuda", "--check"}));
  const std::string text = folder.write("text", "abracadabra");
  expect_done(ridge_program({"run", "histogram", text, "-o", y, "--device", "cuda", "--check"}));
  expect_done(ridge_program({"check", "softmax:f32:rows=3,cols=1000", "--device", "cuda", "--variant", "all"}));
  expect_done(ridge_program({"bench", "relu:f32:n=1048576", "--device", "cuda", "--peers", "--repeats", "3"}));
}

TEST_F(CliOnGpu, ExplainAsksTheBuiltKernels) {
  for (const char* text :
       {"relu:f32:n=1048576", "softmax:bf16:rows=4096,cols=50257", "sum:f32:n=1048576", "histogram:u8:n=1048576"}) {
    const auto done = ridge_program({"explain", text, "--on", "cuda", "--json"});
    expect_done(done);
    const auto analysis = json::parse(done.out)["analysis"];
    EXPECT_EQ(analysis["registers_source"], "the built kernel") << text;  // and no spilled registers
    EXPECT_GT(analysis["registers"], 0) << text;
    EXPECT_GT(analysis["blocks_per_multiprocessor"], 0) << text;
  }
}

TEST_F(CliOnGpu, CalibratesAndKeepsIt) {
  setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  const auto before = json::parse(ridge_program({"devices", "--json"}).out)["devices"][1];
  const auto done = ridge_program({"calibrate", "--json"});
  expect_done(done);
  const auto after = json::parse(ridge_program({"devices", "--json"}).out)["devices"][1];
  EXPECT_EQ(json::parse(done.out)["device"], after);
  EXPECT_TRUE(before["measured"].is_null());
  EXPECT_TRUE(contains(after["measured"].get<std::string>(), "read_gbs"));
  for (const char* figure : {"memory_gbs", "read_gbs"}) {
    EXPECT_GT(after[figure], 0.5 * before[figure].get<double>()) << figure;
    EXPECT_LT(after[figure], 2 * before[figure].get<double>()) << figure;
  }
  unsetenv("XDG_CACHE_HOME");
}

// ---- looking -----------------------------------------------------------------------------------------------------

TEST_F(Cli, OpsAndDevices) {
  const auto ops_text = ridge_program({"ops"});
  expect_done(ops_text);
  for (const char* op : {"relu", "sum", "histogram", "softmax"}) EXPECT_TRUE(contains(ops_text.out, op)) << op;
  const auto ops_json = json::parse(ridge_program({"ops", "--json"}).out);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(ops_text.out, '\n')), ops_json["operators"].size() + 3)
      << "a line each, titles, and what there is besides";
  const auto family = ridge_program({"ops", "norm"});
  expect_done(family);
  for (const char* op : {"layer_norm", "add_rms_norm", "warp_32"}) EXPECT_TRUE(contains(family.out, op)) << op;
  for (const auto& op : ops_json["operators"]) {
    EXPECT_FALSE(op["variants"].empty()) << op;
    for (const auto& variant : op["variants"]) {
      if (variant["item"].is_null()) continue;
      EXPECT_NE(std::ranges::find(checklist, variant["item"].get<std::string>()), std::end(checklist)) << variant;
    }
    for (const char* key : {"name", "family", "summary", "inputs", "outputs", "dtypes", "options"})
      EXPECT_TRUE(op.contains(key)) << key;
  }
  const auto devices_text = ridge_program({"devices"});
  expect_done(devices_text);
  EXPECT_TRUE(contains(devices_text.out, "cpu")) << devices_text.out;
  const auto devices_json = json::parse(ridge_program({"devices", "--json"}).out);
  EXPECT_EQ(devices_json["devices"][0]["id"], "cpu");
  EXPECT_EQ(devices_json["no_gpu"].is_null(), devices_json["devices"].size() > 1);
  EXPECT_GE(devices_json["models"].size(), 7u);
}

TEST_F(Cli, ExplainNeedsNoDevice) {
  const auto text = ridge_program({"explain", "softmax:f32:rows=8192,cols=50264", "--on", "h200"});
  expect_done(text);
  EXPECT_TRUE(contains(text.out, "bound by    memory")) << text.out;
  const auto report =
      json::parse(ridge_program({"explain", "softmax:f32:rows=8192,cols=50264", "--on", "h200", "--json"}).out);
  EXPECT_EQ(report["operator"], "softmax");
  EXPECT_EQ(report["bound"], "memory");
  EXPECT_EQ(report["bytes"], 2.0 * 8192 * 50264 * 4);
  EXPECT_GT(report["operations"], 0);
  EXPECT_GT(report["least_us"], 0);
  EXPECT_GE(report["predicted_us"], report["least_us"]);
  ASSERT_FALSE(report["candidates"].empty());
  for (const auto& candidate : report["candidates"]) EXPECT_EQ(candidate["fits"], candidate["reason"] == "");
}

TEST_F(Cli, ExplainSaysWhyACheaperRowIsNotChosen) {
  const std::string text = "softmax:f32:rows=64,cols=17";
  const auto told = ridge_program({"explain", text, "--device", "h200"});
  expect_done(told);
  for (const char* part : {"  lesson\n", "lesson: runs by name", "  fallback\n", "fallback: chosen where"})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  const auto report = json::parse(ridge_program({"explain", text, "--on", "h200", "--json"}).out);
  double least = 1e30, chosen = 0;
  for (const auto& row : report["candidates"]) {
    if (!row["fits"]) continue;
    if (row["role"] == "general") least = std::min(least, row["predicted_us"].get<double>());
    if (row["variant"] == report["variant"]) chosen = row["predicted_us"];
  }
  EXPECT_EQ(chosen, least);
}

TEST_F(Cli, ExplainFoldsRefusals) {
  const std::string text = "gemm:bf16:m=64,n=64,k=64";
  const auto folded = ridge_program({"explain", text, "--on", "h200"}),
             all = ridge_program({"explain", text, "--on", "h200", "--all"});
  expect_done(folded);
  expect_done(all);
  EXPECT_TRUE(contains(folded.out, "no: not instantiated for bf16 (")) << folded.out;
  EXPECT_FALSE(contains(folded.out, "double_buffer")) << folded.out;
  EXPECT_TRUE(contains(all.out, "double_buffer")) << all.out;
}

// The lines by which two builds are compared: a line for each row of the table, of each case on each device.
TEST_F(Cli, PlansTellsEveryRow) {
  const auto rows = json::parse(ridge_program({"ops", "softmax", "--json"}).out)["operators"][0]["variants"].size();
  const auto told = ridge_program({"plans", "softmax:f32:rows={1,64},cols=17", "--on", "h200", "--on", "a100"});
  expect_done(told);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(told.out, '\n')), rows * 4) << told.out;
  std::size_t chosen = 0;
  for (std::size_t at = 0; (at = told.out.find(" chosen\n", at)) != std::string::npos; ++at) ++chosen;
  EXPECT_EQ(chosen, 4u) << told.out;
  EXPECT_TRUE(contains(told.out, "softmax:f32:rows=1,cols=17 | A100 | vec4 | ")) << told.out;
  EXPECT_TRUE(contains(told.out, " | no: ")) << told.out;
  expect_done(ridge_program({"plans", "checklist", "--on", "h200"}));  // a family's cases
  expect_refused(ridge_program({"plans", "softmaxx"}), "no file to read");
}

TEST_F(Cli, TellsShellsAndManWhatThereIs) {
  const auto bash = ridge_program({"completion", "bash"}), fish = ridge_program({"completion", "fish"}),
             page = ridge_program({"man"});
  for (const auto* told : {&bash, &fish, &page}) {
    expect_done(*told);
    for (const char* word : {"explain", "softmax", "variant"}) EXPECT_TRUE(contains(told->out, word)) << word;
  }
  expect_refused(ridge_program({"completion", "csh"}), "csh");
  const std::string script = folder.write("ridge.bash", bash.out);
  const auto completed = run_program(
      "/bin/bash", {"-c", "source " + script +
                              "; COMP_WORDS=(ridge explain --de) COMP_CWORD=2; _ridge; echo ${COMPREPLY[@]};"
                              "COMP_WORDS=(ridge check layer) COMP_CWORD=2; _ridge; echo ${COMPREPLY[@]}"});
  expect_done(completed);
  EXPECT_EQ(completed.out, "--device\nlayer_norm\n");
}

TEST_F(Cli, AloneItHelps) {
  const auto told = ridge_program({});
  expect_done(told);
  for (const char* command : {"explain", "bench", "trace"}) EXPECT_TRUE(contains(told.out, command)) << told.out;
}

TEST_F(Cli, ExplainShowsEachTerm) {
  const std::string text = "softmax:bf16:rows=4096,cols=50257";
  const auto told = ridge_program({"explain", text, "--on", "h200"});
  expect_done(told);
  for (const char* part : {"intensity", "DRAM", "L2", "shared", "occupancy", "waves", "in flight", "launch", "memory",
                           "latency", "arithmetic", "tail", "to gain", "<- chosen", "no: a row has"})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  const auto report = json::parse(ridge_program({"explain", text, "--on", "h200", "--json"}).out);
  const auto& analysis = report["analysis"];
  for (const char* key : {"terms", "intensity", "levels", "blocks", "occupancy", "limiter", "waves", "tail_share",
                          "tile_efficiency", "bytes_in_flight", "bytes_needed", "registers_source", "advice"})
    EXPECT_TRUE(analysis.contains(key)) << key;
  EXPECT_EQ(analysis["levels"].size(), 3u);
  double together = 0;
  for (const auto& term : analysis["terms"]) together += term["us"].get<double>();
  EXPECT_GE(together, report["predicted_us"]);  // some of them overlap
}

TEST_F(Cli, ExplainTakesUnder50Milliseconds) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i)
    expect_done(ridge_program({"explain", "softmax:bf16:rows=4096,cols=50257", "--on", "h200"}));
  const std::chrono::duration<double, std::milli> each = (std::chrono::steady_clock::now() - begin) / 10;
  EXPECT_LT(each.count(), 50) << "the whole process, its start included";
}

TEST_F(Cli, SurveyShowsTheFurthestFromTheRoof) {
  const std::string pattern = "softmax:{f32,bf16}:rows={1,4096},cols={17,4096,100000}";
  const auto told = ridge_program({"survey", pattern, "--on", "h200", "--worst", "3"});
  expect_done(told);
  EXPECT_TRUE(contains(told.out, "12 cases on H200")) << told.out;
  EXPECT_EQ(std::ranges::count(told.out, '\n'), 1 + 3 + 1) << told.out;  // titles, three cases, what was counted
}

TEST_F(Cli, SurveyHoldsAFileToItsTimes) {
  const std::string kind = folder.write("kind.txt", "# comment\nsum:f32:n={1000,1000000} | 50 | tested\n");
  expect_done(ridge_program({"survey", kind, "--on", "h200"}));
  const std::string strict = folder.write("strict.txt", "softmax:f32:rows=8192,cols=8192:variant=naive | 1.5\n");
  const auto failed = ridge_program({"survey", strict, "--on", "h200"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(failed.out, "1 further off than their file allows")) << failed.out;
}

TEST_F(Cli, SurveyRefusesWhatIsNoPattern) {
  expect_refused(ridge_program({"survey", "sum:f32:n={1,{2}}", "--on", "h200"}), "hold no braces");
  expect_refused(ridge_program({"survey", "sum:f32:n={1,2", "--on", "h200"}), "hold no braces");
  expect_refused(ridge_program({"survey", "nowhere.txt", "--on", "h200"}), "no file to read");
  expect_refused(ridge_program({"survey", folder.write("few.txt", "sum:f32:n=1 | few\n"), "--on", "h200"}),
                 ":1: 'few'");
  expect_refused(ridge_program({"survey", "relax:f32:n={1,2}", "--on", "h200"}), "no operator 'relax'");
}

TEST_F(Cli, ExplainDrawsTheRoofline) {
  const std::string drawing = folder / "roof.svg";
  expect_done(ridge_program({"explain", "sum:f32:n=1048576", "--on", "a100", "--plot", drawing}));
  const std::string svg = file_bytes(drawing);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  for (const char* part : {"DRAM 2.04 TB/s", "L2 7.2 TB/s", "shared", "fp32 19.5", "(chosen)"})
    EXPECT_TRUE(contains(svg, part)) << part;
  expect_refused(ridge_program({"explain", "copy:f32:n=64", "--on", "a100", "--plot", drawing}), "computes nothing");
}

TEST_F(Cli, LadderRunsEveryRow) {
  const auto told = ridge_program({"ladder", "sum", "sum:f32:n=5000", "--device", "cpu", "--repeats", "1"});
  expect_done(told);
  for (const char* part : {"tree_interleaved", "privatisation", "divergence", "coalescing", "x previous", "no: "})
    EXPECT_TRUE(contains(told.out, part)) << part << "\n" << told.out;
  const auto report = json::parse(
      ridge_program({"ladder", "relu", "relu:f32:n=5000", "--device", "cpu", "--repeats", "1", "--json"}).out);
  const auto& rungs = report["ladders"][0]["rungs"];
  EXPECT_EQ(rungs.size(), 5u);
  EXPECT_GT(rungs[1]["speed_up"], 0);
  EXPECT_EQ(rungs[1]["item"], "coalescing");
  EXPECT_TRUE(rungs[3]["us"].is_null());  // broadcast has no second input here
  expect_done(ridge_program({"ladder", "softmax", "--device", "cpu", "--repeats", "1"}));
}

// Results of two rows of the table, one of a peer, as ridge bench writes them.
std::string results_text(const char* device) {
  json file{{"device", device}, {"driver", "1.2"}, {"commit", "abc"}, {"date", "2026-01-01"}};
  const auto row = [](const char* variant, bool chosen, double us) {
    return json{{"case", "relu:f32:n=268435456"},
                {"variant", variant},
                {"device", "x"},
                {"chosen", chosen},
                {"us", us},
                {"noise", 0.01},
                {"gbs", 4000.0},
                {"copy_share", 0.9},
                {"tflops", 0.5},
                {"predicted_us", us},
                {"least_us", 500.0},
                {"plan_us", 10.0},
                {"peers", json::array({{{"name", "cudaMemcpy"}, {"us", 2 * us}}})}};
  };
  file["measurements"] = {row("scalar", false, 780), row("vec4", true, 502)};
  return file.dump();
}

// Each row says which item of the checklist it is about, but for the simplest, and those that only take more.
TEST_F(Cli, RowsHaveTheirItem) {
  for (const char* op : {"gemm", "grouped_gemm", "linear", "attention_merge"}) {
    const auto report = json::parse(ridge_program({"ops", op, "--json"}).out);
    const auto& rows = report["operators"][0]["variants"];
    ASSERT_FALSE(rows.empty()) << op;
    EXPECT_EQ(std::ranges::count_if(rows, [](const json& row) { return row["item"].is_null(); }),
              op == std::string("attention_merge") ? 0 : 2)  // naive, gate_naive
        << op;
  }
}

TEST_F(Cli, LadderOfAFileAsMarkdown) {
  const std::string results = folder.write("r.json", results_text("NVIDIA H200"));
  const auto told = ridge_program({"ladder", "relu", "--from", results, "--markdown"});
  expect_done(told);
  EXPECT_TRUE(contains(told.out, "| variant | what it changes | item | f32:n=268435456 |")) << told.out;
  EXPECT_TRUE(contains(told.out, "| coalescing | 502.0 us, 100 % |")) << told.out;
  expect_refused(ridge_program({"ladder", "sum", "--from", results}), "a file with cases of sum");
}

TEST_F(Cli, ReportOfResults) {
  const std::string results = folder.write("r.json", results_text("NVIDIA H200")), page = folder / "page";
  const auto told = ridge_program({"report", results, "-o", page});
  expect_done(told);
  EXPECT_TRUE(contains(told.out, "median error of the prediction")) << told.out;
  const std::string html = file_bytes(page + "/index.html");
  for (const char* part : {"<!doctype html>", "roofline.svg", "bandwidth-elementwise.svg", "cudaMemcpy", "2.00x",
                           "relu:f32:n=268435456", "median error"})
    EXPECT_TRUE(contains(html, part)) << part;
  EXPECT_FALSE(contains(html, "http"));  // nothing is fetched
  EXPECT_TRUE(file_bytes(page + "/roofline.svg").starts_with("<svg "));
  expect_refused(ridge_program({"report", results, folder.write("o.json", results_text("NVIDIA A100")), "-o", page}),
                 "that of the first file");
  expect_refused(ridge_program({"report", folder.write("t.json", results_text("NVIDIA T4")), "-o", page}), "nearest");
  expect_refused(ridge_program({"report", folder.write("b.json", "{}"), "-o", page}), "holds no results");
  expect_refused(ridge_program({"report", folder / "none.json", "-o", page}), "cannot be read");
}

// Of several files, one that another program wrote is left out with a sentence; one that is not there is still refused.
TEST_F(Cli, ReportLeavesOutWhatHoldsNoResults) {
  const std::string results = folder.write("r.json", results_text("NVIDIA H200")), page = folder / "page";
  const std::string other = folder.write(
      "other.json",
      R"({"device": "NVIDIA H200", "measurements": [{"case": "relu:f32:n=1024", "variant": "vec4", "us": 2.5}]})");
  const auto told = ridge_program({"report", other, results, "-o", page});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_TRUE(contains(told.err, "left out: '" + other + "' holds no results")) << told.err;
  EXPECT_TRUE(contains(file_bytes(page + "/index.html"), "Left out: "));
  expect_refused(ridge_program({"report", results, folder / "none.json", "-o", page}), "cannot be read");
}

// The fields that a file may lack: all but the case, the variant, whether it was chosen, and the time.
TEST_F(Cli, ReportOfTimesAlone) {
  const std::string page = folder / "page";
  const std::string times = folder.write("t.json", R"({"device": "NVIDIA H200", "measurements": [
    {"case": "relu:f32:n=1024", "variant": "vec4", "chosen": true, "us": 2.5, "noise": null}]})");
  expect_done(ridge_program({"report", times, "-o", page}));
  EXPECT_TRUE(contains(file_bytes(page + "/index.html"), "2.50</td><td>-</td><td>-</td><td>-</td>"));
}

// Where another row of a file was faster than the one that the plan chose, by more than the noise of both (1 % each).
TEST_F(Cli, ReportOfBeatenChoices) {
  const std::string page = folder / "page";
  auto file = json::parse(results_text("NVIDIA H200"));
  const auto says = [&] {
    expect_done(ridge_program({"report", folder.write("r.json", file.dump()), "-o", page}));
    const std::string html = file_bytes(page + "/index.html");
    EXPECT_EQ(contains(html, "Choices that another row beats"), contains(html, "slower by"));
    return contains(html, "slower by") ? html.substr(html.find("slower by")) : std::string();
  };
  EXPECT_EQ(says(), "");  // the chosen one is the fastest
  file["measurements"][0]["us"] = 497;
  EXPECT_EQ(says(), "");  // within the noise
  file["measurements"][0]["us"] = 251;
  EXPECT_TRUE(contains(says(),
                       "<td class=\"l\">vec4</td><td>502.00</td><td class=\"l\">scalar</td><td>251.00</td>"
                       "<td>+100.0 %</td>"))
      << says();
}

// What --all-variants says of its choices, of which the times decide.
TEST_F(Cli, BenchOfAllVariantsSaysWhichChoicesWereBeaten) {
  const std::string results = folder / "r.json";
  const auto told = ridge_program(
      {"bench", "relu:f32:n=4096", "--device", "cpu", "--repeats", "1", "--all-variants", "--json", results});
  expect_done(told);
  const auto report = json::parse(file_bytes(results));
  double chosen = 0, fastest = 0;
  for (const auto& m : report["measurements"]) {
    if (m["chosen"]) chosen = m["us"];
    if (fastest == 0 || m["us"] < fastest) fastest = m["us"];
  }
  EXPECT_NEAR(report["choices_over_fastest"], chosen / fastest, 1e-3);
  ASSERT_TRUE(report["beaten_choices"].is_array());
  EXPECT_NE(contains(told.out, "no row was faster than the plan's choice"), !report["beaten_choices"].empty())
      << told.out;
}

TEST_F(Cli, HelpIsNoError) {
  for (const Arguments& arguments : {Arguments{"--help"}, {"run", "--help"}, {"--version"}}) {
    const auto done = ridge_program(arguments);
    expect_done(done);
    EXPECT_NE(done.out, "");
  }
}

// ---- checking and measuring --------------------------------------------------------------------------------------

TEST_F(Cli, CheckOfACase) {
  const auto done = ridge_program(
      {"check", "relu:f32:n=7", "softmax:f32:rows=2,cols=9:fill=overflow", "--device", "cpu", "--variant", "all"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "softmax")) << done.out;
  const auto report = json::parse(ridge_program({"check", "relu:f32:n=7", "--device", "cpu", "--json"}).out);
  EXPECT_EQ(report["failed"], 0);
  EXPECT_EQ(report["outcomes"].size(), 1u);
  EXPECT_EQ(report["outcomes"][0]["outcome"], "passed");
}

TEST_F(Cli, AFailedCheckExitsWith1AndACaseToPaste) {
  const auto failed = faulty_program({"check", "faulty", "--device", "cpu"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_EQ(failed.err, "");
  EXPECT_TRUE(contains(failed.out, "FAILED  faulty:f32:n=5:variant=only")) << failed.out;
  EXPECT_FALSE(contains(failed.out, "FAILED  faulty:f32:n=0"));
  EXPECT_EQ(faulty_program({"check", "faulty:f32:n=5:variant=only", "--device", "cpu"}).code, 1);
  EXPECT_EQ(faulty_program({"check", "faulty:f32:n=0", "--device", "cpu"}).code, 0);
  const auto report = faulty_program({"check", "faulty", "--device", "cpu", "--json"});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(json::parse(report.out)["failed"], 1);
}

TEST_F(Cli, AFailedCheckOfARunExitsWith1) {
  const auto failed = faulty_program({"run", "faulty", x, "-o", y, "--device", "cpu", "--check"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(failed.out, "FAILED: 1 of 6 elements wrong; y[5] is 7")) << failed.out;
  const auto report = faulty_program({"run", "faulty", x, "-o", y, "--device", "cpu", "--check", "--json"});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(json::parse(report.out)["check"]["wrong"], 1);
}

TEST_F(Cli, BenchOfACase) {
  const std::string results = folder / "results.json";
  const auto done = ridge_program(
      {"bench", "relu:f32:n=4096", "--device", "cpu", "--repeats", "2", "--json", results, "--commit", "abc123"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "relu:f32:n=4096")) << done.out;
  const auto report = json::parse(file_bytes(results));
  EXPECT_EQ(report["commit"], "abc123");
  for (const char* key : {"device", "driver", "date", "settings"}) EXPECT_TRUE(report.contains(key)) << key;
  ASSERT_EQ(report["measurements"].size(), 1u);
  EXPECT_GT(report["measurements"][0]["us"], 0);
  const auto printed = ridge_program({"bench", "relu:f32:n=4096", "--device", "cpu", "--repeats", "2", "--json"});
  EXPECT_EQ(json::parse(printed.out)["measurements"].size(), 1u);
}

TEST_F(Cli, BenchBesideAPeerShowsBothErrors) {
  const auto bench = [](Arguments more) {
    Arguments all{"bench", "faulty:f32:n=4:fill=ints", "--device", "cpu", "--repeats", "1", "--peers"};
    all.insert(all.end(), more.begin(), more.end());
    return faulty_program(all);
  };
  const auto shown = bench({});
  expect_done(shown);
  EXPECT_TRUE(contains(shown.out, "x worse (0.50, 0.50)")) << shown.out;
  const auto measured = json::parse(bench({"--json"}).out)["measurements"][0];
  EXPECT_EQ(measured["accuracy"], json({{"rms_error", 0.5}, {"largest_error", 1.0}, {"elements", 4}}));
  EXPECT_EQ(measured["peers"][0]["accuracy"]["rms_error"], 1.0);
  EXPECT_EQ(measured["peers"][0]["error_ratio"], json({{"rms", 0.5}, {"largest", 0.5}}));
  const auto alone = faulty_program({"bench", "faulty:f32:n=4", "--device", "cpu", "--repeats", "1", "--json"});
  EXPECT_TRUE(json::parse(alone.out)["measurements"][0]["accuracy"].is_null());
}

// ---- problems at random ---------------------------------------------------------------------------------------------

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

TEST_F(Cli, ASweepListsCasesToPaste) {
  const auto list = [](Arguments more) {
    Arguments all{"bench", "--sweep", "gemm", "--list"};
    all.insert(all.end(), more.begin(), more.end());
    const auto done = ridge_program(all);
    expect_done(done);
    return lines_of(done.out);
  };
  const auto small = list({"--count", "5", "--device", "cpu"});
  ASSERT_EQ(small.size(), 5u);
  EXPECT_EQ(list({"--count", "5", "--device", "cpu", "--seed", "1"}), small);
  EXPECT_NE(list({"--count", "5", "--device", "cpu", "--seed", "2"}), small);
  const auto fewer = list({"--count", "3", "--device", "cpu"});
  EXPECT_TRUE(std::ranges::equal(fewer, std::vector(small.begin(), small.begin() + 3)));
  Arguments check{"check", "--device", "cpu"};
  check.insert(check.end(), small.begin(), small.end());
  expect_done(ridge_program(check));
  // Those of a GPU need none to be listed.
  const auto large = list({"--device", "cuda"});
  ASSERT_EQ(large.size(), 100u);
  EXPECT_EQ(large[0], "gemm:bf16:m=1899,n=1408,k=1408:layout=nt");
  expect_done(ridge_program({"explain", large[0], "--on", "h200"}));
}

TEST_F(Cli, ASweepOnTheCpuIsChecked) {
  const std::string results = folder / "sweep.json";
  const auto done = ridge_program({"bench", "--sweep", "softmax", "--count", "4", "--seed", "3", "--device", "cpu",
                                   "--json", results, "--commit", "abc123"});
  expect_done(done);
  EXPECT_TRUE(contains(done.out, "worst error / tolerance")) << done.out;
  const auto report = json::parse(file_bytes(results));
  EXPECT_EQ(report["operator"], "softmax");
  EXPECT_EQ(report["seed"], 3);
  EXPECT_EQ(report["count"], 4);
  EXPECT_EQ(report["commit"], "abc123");
  EXPECT_EQ(report["failed"], 0);
  EXPECT_EQ(report["outcomes"].size(), 4u);
}

TEST_F(Cli, ASweepThatFindsAMismatchExitsWith1) {
  const auto failed = faulty_program({"bench", "--sweep", "faulty", "--count", "3", "--device", "cpu"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_TRUE(contains(failed.out, "FAILED  faulty:f32:n=")) << failed.out;
  const auto report = faulty_program({"bench", "--sweep", "faulty", "--count", "3", "--device", "cpu", "--json"});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(json::parse(report.out)["failed"], 3);
}

TEST_F(Cli, FuzzFindsAFaultAndMakesItSimple) {
  const auto failed = faulty_program({"fuzz", "faulty", "--cases", "20"});
  EXPECT_EQ(failed.code, 1) << failed.err;
  const auto lines = lines_of(failed.out);
  ASSERT_GE(lines.size(), 3u) << failed.out;
  EXPECT_TRUE(contains(lines[0], "wrong     faulty:f32:n=1:")) << failed.out;
  EXPECT_TRUE(contains(lines[1], "y: 1 of 1 elements are wrong")) << failed.out;
  const std::string found = lines[0].substr(10);
  EXPECT_EQ(faulty_program({"check", found, "--device", "cpu"}).code, 1) << found;
  expect_done(ridge_program({"fuzz", "relu", "--cases", "20", "--seed", "3"}));
  const auto listed = lines_of(ridge_program({"fuzz", "relu", "add", "--cases", "6", "--list"}).out);
  ASSERT_EQ(listed.size(), 6u);
  EXPECT_EQ(lines_of(ridge_program({"fuzz", "relu", "add", "--first", "4", "--cases", "1", "--list"}).out)[0],
            listed[4]);
}

TEST_F(CliOnGpu, ASweepIsMeasured) {
  const std::string results = folder / "sweep.json";
  const auto done = ridge_program(
      {"bench", "--sweep", "softmax", "--count", "4", "--device", "cuda", "--repeats", "3", "--json", results});
  expect_done(done);
  const auto report = json::parse(file_bytes(results));
  EXPECT_EQ(report["measured"], 4);
  EXPECT_TRUE(report["geomean"].is_null());  // no peer of this program's measures it
  EXPECT_EQ(report["without_peer"].size(), 4u);
  EXPECT_EQ(report["furthest"].size(), 4u);
  EXPECT_GT(report["furthest"][0]["ridge_us"], 0);
  expect_done(ridge_program({"report", results, "-o", folder / "page"}));
}

// ---- tracing: where ridge-trace has been built (`ridge trace` would build it, in a minute) --------------------------

class CliTrace : public Cli {
 protected:
  void SetUp() override {
    if (std::filesystem::exists(std::filesystem::path(RIDGE_PROGRAM).parent_path() / "ridge-trace")) return;
    std::puts("skipped: ridge-trace is not built");
    GTEST_SKIP();
  }
};

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

TEST_F(CliTrace, ALadderByCounts) {
  const auto done = ridge_program({"ladder", "transpose", "transpose:f32:rows=64,cols=64", "--counts", "--json"});
  expect_done(done);
  std::map<std::string, json> rungs;
  const auto report = json::parse(done.out);
  for (const auto& rung : report["ladders"][0]["rungs"]) rungs[rung["variant"]] = rung;
  EXPECT_EQ(rungs["naive"]["least_sectors"], 2 * 64 * 64 * 4 / 32);
  EXPECT_EQ(rungs["naive"]["sectors"], (1 + 8) * 64 * 64 * 4 / 32);  // a sector for each element that is written
  EXPECT_EQ(rungs["shared"]["sectors"], rungs["shared"]["least_sectors"]);
  EXPECT_EQ(rungs["shared"]["least_wavefronts"], 2 * 64 * 64 / 32);
  EXPECT_EQ(rungs["shared"]["wavefronts"], (1 + 32) * 64 * 64 / 32);  // a column is one bank
  EXPECT_EQ(rungs["padded"]["wavefronts"], rungs["padded"]["least_wavefronts"]);
  EXPECT_EQ(rungs["copy"]["reason"].get<std::string>().substr(0, 10), "transpose:");
}

TEST_F(CliTrace, AVariantThatDoesNotFitIsAWrongRequest) {
  expect_refused(ridge_program({"trace", "softmax:f32:rows=2,cols=5000:variant=warp_32"}), "and 32 are kept");
}

// ---- files that are none, names that meet, ends in the midst --------------------------------------------------------

TEST_F(Cli, OneFileForTwoOutputsIsRefusedHoweverItIsNamed) {
  std::filesystem::create_directory_symlink(".", folder / "here");
  std::filesystem::create_symlink("y.npy", folder / "link");
  const std::string dotted = folder.path() / "." / "y.npy";
  for (const std::string& other : {y, dotted, folder / "here/y.npy", folder / "link"}) {
    expect_refused(ridge_program({"run", "batch_norm_stats", x, "-o", y, "-o", other, "--device", "cpu"}),
                   "is given twice");
    EXPECT_FALSE(std::filesystem::exists(y)) << other;
  }
  folder.write("y.npy", "");
  expect_refused(ridge_program({"run", "batch_norm_stats", x, "-o", y, "-o", dotted, "--device", "cpu"}),
                 "'" + dotted + "' is given twice, as '" + y + "' too");
}

// A shell, as most users have one around the program.
Finished shell(const std::string& command) { return run_program("/bin/sh", {"-c", command}); }
const std::string quoted_program = "'" RIDGE_PROGRAM "' ";

// Whoever reads a pipe finds the array and the end once.
TEST_F(Cli, APipeIsOpenedOnce) {
  const std::string pipe = folder / "pipe", copy = folder / "copy.npy";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto done = shell("cat " + pipe + " > " + copy + " & timeout 30 " + quoted_program + "run relu " + x + " -o " +
                          pipe + " --device cpu; said=$?; wait; exit $said");
  expect_done(done);
  EXPECT_EQ(values_of<float>(copy), (std::vector<float>{0, 2, 0, 4, 0, 6}));
}

// An array on standard output is alone there: the table goes to standard error.
TEST_F(Cli, AnArrayOnStandardOutputIsAlone) {
  const std::string copy = folder / "copy.npy";
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
    for (const std::string& to : {" > " + copy, " | cat > " + copy})
      for (const char* form : {"", " --json"}) {
        const auto done = shell(quoted_program + "run relu " + x + " -o " + name + " --device cpu" + form + to);
        EXPECT_EQ(done.code, 0) << done.err;
        EXPECT_TRUE(contains(done.err, "variant")) << name << to << done.err;
        EXPECT_EQ(values_of<float>(copy), (std::vector<float>{0, 2, 0, 4, 0, 6})) << name << to;
        std::filesystem::remove(copy);
      }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"x.npy"});
  const auto twice =
      shell(quoted_program + "run batch_norm_stats " + x + " -o /dev/stdout -o /dev/fd/1 --device cpu | cat");
  EXPECT_TRUE(contains(twice.err, "is given twice")) << twice.err;
  EXPECT_EQ(twice.out, "");
  expect_done(shell(quoted_program + "run relu " + x + " -o /dev/null --device cpu > /dev/null"));  // mixes nothing
}

TEST_F(Cli, ResultsAndDrawingsOnStandardOutputAreAlone) {
  const auto bench = shell(quoted_program + "bench relu:f32:n=64 --device cpu --repeats 1 --json /dev/stdout | cat");
  EXPECT_EQ(json::parse(bench.out)["measurements"].size(), 1u);
  const auto drawn = shell(quoted_program + "explain relu:f32:n=64 --on h200 --plot /dev/stdout | cat");
  EXPECT_TRUE(drawn.out.starts_with("<svg ") && drawn.out.ends_with("</svg>\n")) << drawn.out;
  EXPECT_TRUE(contains(drawn.err, "bound by")) << drawn.err;
}

// While the second output waits for its reader, the first lies under a name of its own.
TEST_F(Cli, ASignalInTheMidstOfAWriteLeavesNothing) {
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child =
        start_program(RIDGE_PROGRAM, {"run", "batch_norm_stats", x, "-o", y, "-o", pipe, "--device", "cpu"},
                      "/dev/null", "/dev/null");
    const auto temporary_bytes = [&] {
      std::error_code error;
      for (const std::string& name : folder.names())
        if (name.starts_with(".ridge-")) return std::filesystem::file_size(folder / name, error);
      return std::uintmax_t{0};
    };
    for (int i = 0; i < 3000 && temporary_bytes() == 0; ++i) usleep(10000);
    EXPECT_GT(temporary_bytes(), 0u);
    kill(child, signal);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(folder.names().size(), 2u);  // x.npy and the pipe
  }
}

// ---- what files hold ------------------------------------------------------------------------------------------------

// One row, with a field that is another.
std::string one_result(std::string_view field, const json& value) {
  json row{{"case", "relu:f32:n=1024"}, {"variant", "vec4"}, {"chosen", true}, {"us", 2.5}};
  if (value.is_discarded()) row.erase(std::string(field));
  else row[std::string(field)] = value;
  return json{{"device", "NVIDIA H200"}, {"measurements", json::array({row})}}.dump();
}

TEST_F(Cli, ResultsThatAreNoneAreToldInWords) {
  const std::string page = folder / "page";
  const json gone(json::value_t::discarded);
  struct Wrong {
    std::string text, sentence;
  };
  for (const Wrong& wrong :
       {Wrong{one_result("case", gone), "measurement 0 has no text 'case'"},
        {one_result("case", 3), "measurement 0 has no text 'case'"},
        {one_result("variant", gone), "measurement 0 has no text 'variant'"},
        {one_result("chosen", "yes"), "measurement 0 does not say whether it was 'chosen'"},
        {one_result("us", gone), "measurement 0 has no time 'us'"},
        {one_result("us", 5e-324), "measurement 0 has no time 'us'"},
        {one_result("us", 1e300), "measurement 0 has no time 'us'"},
        {one_result("us", -1), "measurement 0 has no time 'us'"},
        {one_result("us", "fast"), "measurement 0 has no time 'us'"},
        {one_result("peers", 7), "measurement 0 has 'peers' that are no list"},
        {one_result("peers", json::array({json{{"us", 1}}})), "measurement 0 has a peer without a text 'name'"},
        {one_result("peers", json::array({json{{"name", "p"}, {"us", 5e-324}}})),
         "measurement 0 has a peer that has no time 'us'"},
        {one_result("peers", json::array({3})), "measurement 0 has a peer without a text 'name'"},
        {R"({"device": "NVIDIA H200", "measurements": [3]})", "measurement 0 has no text 'case'"},
        {R"({"device": "NVIDIA H200", "measurements": {}})", "it has no list 'measurements'"},
        {R"({"device": "NVIDIA H200"})", "it has no list 'measurements'"},
        {R"({"device": 3, "measurements": []})", "it has no text 'device'"},
        {R"({"device": "NVIDIA H200", "measurements": []})", "nothing in it was measured"},
        {"[]", "it has no text 'device'"},
        {"3", "it has no text 'device'"},
        {"", "it is no JSON"},
        {R"({"device": 1e999})", "it is no JSON"},
        {"{\"device\": \"\xff\"}", "it is no JSON"},
        {std::string(100000, '['), "it is no JSON"}}) {
    const std::string file = folder.write("r.json", wrong.text);
    expect_refused(ridge_program({"report", file, "-o", page}),
                   "'" + file + "' holds no results of `ridge bench --json`: " + wrong.sentence);
    expect_refused(ridge_program({"ladder", "relu", "--from", file}), wrong.sentence);
  }
  EXPECT_FALSE(std::filesystem::exists(page));
}

TEST_F(Cli, NumbersAtTheEdgeAreDrawn) {
  const std::string page = folder / "page";
  for (const double us : {1e-6, 1e15})
    expect_done(ridge_program({"report", folder.write("r.json", one_result("us", us)), "-o", page}));
  for (const char* field : {"noise", "gbs", "tflops", "predicted_us", "copy_share"})
    for (const json& value : {json(5e-324), json(1.7e308), json(-1), json("x"), json(nullptr)})
      expect_done(ridge_program({"report", folder.write("r.json", one_result(field, value)), "-o", page}));
}

// ---- what a terminal would obey -------------------------------------------------------------------------------------

void expect_printable(const Finished& finished) {
  for (const std::string* text : {&finished.out, &finished.err}) EXPECT_EQ(*text, printable(*text, "\n"));
}

TEST_F(Cli, NoControlCharacterReachesTheTerminal) {
  const std::string page = folder / "page";
  // Escapes that clear a screen, of 7 and of 8 bits and as UTF-8; a bell, a delete, a carriage return.
  for (const std::string bad : {"\x1b[2J",
                                "\x9b"
                                "2J",
                                "\xc2\x9b"
                                "2J",
                                "\a", "\x7f", "a\rb", "\xff"}) {
    const std::string odd = folder.write("o" + bad + ".npy", file_bytes(x)), out = folder / ("y" + bad + ".npy");
    for (const Arguments& arguments : {Arguments{bad},
                                       {"ops", bad},
                                       {"ops", "--" + bad},
                                       {"run", bad, x, "-o", y},
                                       {"run", "relu", bad, "-o", y},
                                       {"run", "relu", odd, "-o", out, "--device", "cpu"},
                                       {"run", "relu", odd, "-o", out, "--device", "cpu", "--json"},
                                       {"run", "relu", x, "-o", folder / (bad + "/y")},
                                       {"run", "relu", x, "-o", y, "--device", bad},
                                       {"run", "relu", x, "-o", y, "--opt", bad},
                                       {"run", "relu", x, "-o", y, "--opt", "variant=" + bad},
                                       {"run", "relu", x, "-o", y, "--variant", bad},
                                       {"check", bad},
                                       {"check", "relu:f32:n=4:" + bad},
                                       {"check", "relu:f32:n=4:fill=" + bad},
                                       {"explain", "relu:f32:n=4", "--on", bad},
                                       {"explain", bad + ":f32:n=1"},
                                       {"survey", bad, "--on", "h200"},
                                       {"survey", "relu:f32:n={" + bad + "}", "--on", "h200"},
                                       {"ladder", bad},
                                       {"ladder", "relu", bad},
                                       {"ladder", "relu", "--from", bad},
                                       {"report", bad, "-o", page},
                                       {"bench", bad},
                                       {"bench", "relu:f32:n=4", "--json", bad + "/r"},
                                       {"bench", "--sweep", bad}})
      expect_printable(ridge_program(arguments));
    // As JSON can hold it: invalid UTF-8 is no JSON.
    if (bad.find('\x9b') == 0 || bad == "\xff") continue;
    for (const char* field : {"case", "variant"})
      for (const std::string& text : {bad, "relu:f32:n=1024:fill=" + bad, "relu" + bad + ":f32:n=4"}) {
        const std::string file = folder.write("r.json", one_result(field, text));
        expect_printable(ridge_program({"report", file, "-o", page}));
        expect_printable(ridge_program({"ladder", "relu", "--from", file}));
        expect_printable(ridge_program({"ladder", "relu", "--from", file, "--markdown"}));
      }
    json named = json::parse(one_result("us", 2.5));
    named["device"] = "NVIDIA H200" + bad;
    named["commit"] = named["driver"] = named["date"] = bad;
    const std::string file = folder.write("r.json", named.dump());
    expect_printable(ridge_program({"report", file, "-o", page}));
    expect_printable(ridge_program({"ladder", "relu", "--from", file}));
    const std::string html = file_bytes(page + "/index.html"), svg = file_bytes(page + "/roofline.svg");
    EXPECT_EQ(html, printable(html, "\n"));
    EXPECT_EQ(svg, printable(svg, "\n"));
  }
}

// ---- wrong requests ----------------------------------------------------------------------------------------------

struct Wrong {
  const char* name;
  Arguments arguments;  // X is the good input, Y the output, other words in capitals a bad file
  const char* sentence;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

class WrongRequest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRequest, IsOneSentenceAndNoFile) {
  const TemporaryFolder folder;
  const std::string good = npy_of<float>({2, 3}, {-1, 2, -3, 4, -5, 6});
  std::string complex = good;
  complex.replace(complex.find("<f4"), 3, "<c8");
  folder.write("X", good);
  folder.write("TEXT", "this is a text");
  folder.write("TRUNCATED", good.substr(0, good.size() - 1));
  folder.write("HEADER", good.substr(0, 20));
  folder.write("COMPLEX", complex);
  folder.write("BYTES", npy_of<std::int64_t>({3}, {1, 2, 3}));
  folder.write("SCALAR", npy_of<float>({}, {1}));
  const auto files = folder.names();
  Arguments arguments = GetParam().arguments;
  for (std::string& argument : arguments)
    if (!argument.empty() && std::ranges::all_of(argument, [](char c) { return c >= 'A' && c <= 'Z'; }))
      argument = folder / argument;
  expect_refused(ridge_program(arguments), GetParam().sentence);
  EXPECT_EQ(folder.names().size(), files.size()) << "a file was left behind";
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongRequest,
    testing::Values(
        Wrong{"unknown_command", {"rum"}, "there is no command 'rum'; the nearest are run"},
        Wrong{"unknown_flag", {"ops", "--jason"}, "--jason"}, Wrong{"run_lacks_operator", {"run"}, "OP is required"},
        Wrong{"run_lacks_input", {"run", "relu", "-o", "Y"}, "IN is required"},
        Wrong{"run_lacks_output", {"run", "relu", "X"}, "--output is required"},
        Wrong{"unknown_operator", {"run", "rela", "X", "-o", "Y"}, "no operator 'rela'; the nearest are relu"},
        Wrong{"unknown_operator_of_ops", {"ops", "rela"}, "no operator or family 'rela'; the nearest are relu"},
        Wrong{"unknown_option", {"run", "relu", "X", "-o", "Y", "--opt", "colour=red"}, "'colour'; it must be one of"},
        Wrong{"option_twice", {"run", "sum", "X", "-o", "Y", "--opt", "axis=1", "--opt", "axis=1"}, "given twice"},
        Wrong{"option_without_key", {"run", "relu", "X", "-o", "Y", "--opt", "=1"}, "k=v"},
        Wrong{"option_value", {"run", "histogram", "X", "-o", "Y", "--opt", "bins=many"}, "'many'"},
        Wrong{"output_too_large",
              {"run", "histogram", "X", "-o", "Y", "--opt", "bins=9000000000000000000"},
              "histogram: "},
        Wrong{
            "unknown_variant", {"run", "relu", "X", "-o", "Y", "--variant", "fastest"}, "'fastest'; it must be one of"},
        Wrong{"variant_twice", {"run", "relu", "X", "-o", "Y", "--variant", "a", "--opt", "variant=a"}, "twice"},
        Wrong{"unknown_device", {"run", "relu", "X", "-o", "Y", "--device", "tpu"}, "it must be cpu, cuda or cuda:N"},
        Wrong{"device_number", {"run", "relu", "X", "-o", "Y", "--device", "cuda:x"}, "cpu, cuda or cuda:N"},
        Wrong{"absent_file", {"run", "relu", "ABSENT", "-o", "Y"}, "No such file"},
        Wrong{"folder_as_input", {"run", "relu", "/", "-o", "Y"}, "a directory"},
        Wrong{"no_npy", {"run", "relu", "TEXT", "-o", "Y"}, "is no .npy file"},
        Wrong{"truncated", {"run", "relu", "TRUNCATED", "-o", "Y"}, "promises 24 bytes of data, and 23 are there"},
        Wrong{"truncated_header", {"run", "relu", "HEADER", "-o", "Y"}, "ends inside its header"},
        Wrong{"dtype_of_no_operator", {"run", "relu", "COMPLEX", "-o", "Y"}, "holds '<c8'; ridge reads"},
        Wrong{"dtype_refused", {"run", "softmax", "BYTES", "-o", "Y"}, "dtype is i64; it must be one of"},
        Wrong{"shape_refused", {"run", "softmax", "SCALAR", "-o", "Y"}, "softmax"},
        Wrong{"inputs_too_many",
              {"run", "relu", "X", "X", "-o", "Y"},
              "relu: the number of inputs is 2; it must be 1 (a)"},
        Wrong{"outputs_too_many", {"run", "relu", "X", "-o", "Y", "-o", "Z"}, "output files is 2; it must be 1"},
        Wrong{"raw_elsewhere", {"run", "relu", "X", "-o", "Y", "--raw"}, "only histogram takes raw bytes"},
        Wrong{"output_in_no_folder", {"run", "relu", "X", "-o", "/no/such/folder/y.npy"}, "cannot be written"},
        Wrong{"output_is_a_folder", {"run", "relu", "X", "-o", "/"}, "cannot be written"},
        Wrong{"disk_full", {"run", "relu", "X", "-o", "/dev/full"}, "No space left"},
        Wrong{"case_is_no_case", {"check", "relu:f32"}, "a case is OP:DTYPE:k=v"},
        Wrong{"case_dtype", {"check", "relu:f33:n=4"}, "f33"},
        Wrong{"case_dtype_refused", {"check", "softmax:i64:rows=2,cols=2"}, "dtype is i64"},
        Wrong{"case_key", {"check", "relu:f32:m=4"}, "'n' is missing"},
        Wrong{"case_key_unknown", {"check", "relu:f32:n=4,k=3"}, "'k'; it must be one of"},
        Wrong{"case_option", {"check", "relu:f32:n=4:colour=red"}, "'colour'"},
        Wrong{"case_operator", {"explain", "rela:f32:n=4"}, "no operator 'rela'"},
        Wrong{"case_variant", {"explain", "relu:f32:n=4:variant=fastest"}, "'fastest'; it must be one of"},
        Wrong{"groups_say_their_name",
              {"explain", "grouped_gemm:f32:m=8,n=8,k=8,groups=2:layout=xx"},
              "grouped_gemm: layout is 'xx'"},
        Wrong{"groups_say_their_name_in_a_plan",
              {"explain", "grouped_gemm:bf16:m=8,n=8,k=8,groups=2:math=tf32"},
              "grouped_gemm: math is tf32"},
        Wrong{"case_place", {"check", "relu:f32:n=4:place=moon"}, "'moon'"},
        Wrong{"case_fill", {"check", "relu:f32:n=4:fill=rain", "--device", "cpu"}, "'rain'"},
        Wrong{"case_warp", {"check", "relu:f32:n=4:warp=31", "--device", "cpu"}, "32 or 64"},
        Wrong{"case_overflows", {"explain", "softmax:f32:rows=4294967296,cols=4294967296"}, "2^63 bytes"},
        Wrong{"case_too_large", {"check", "relu:f32:n=1000000000000000000", "--device", "cpu"}, "it must be fewer"},
        Wrong{"check_operator", {"check", "rela"}, "no operator or family 'rela'"},
        Wrong{"check_variant", {"check", "relu", "--variant", "fastest"}, "it must be one of"},
        Wrong{"check_variant_of_none", {"check", "--variant", "fastest"}, "no operator has it"},
        Wrong{"trace_lacks_case", {"trace"}, "CASE is required"},
        Wrong{"trace_is_no_case", {"trace", "relu"}, "a case is OP:DTYPE:k=v"},
        Wrong{"trace_operator", {"trace", "rela:f32:n=4"}, "no operator 'rela'; the nearest are relu"},
        Wrong{"trace_key", {"trace", "relu:f32:m=4"}, "'n' is missing"},
        Wrong{"trace_variant", {"trace", "relu:f32:n=4", "--variant", "fastest"}, "'fastest'; it must be one of"},
        Wrong{"trace_variant_twice", {"trace", "relu:f32:n=4:variant=scalar", "--variant", "all"}, "given twice"},
        Wrong{
            "model", {"explain", "relu:f32:n=4", "--on", "h300"}, "nearest to H100; it must be one of V100 A100 H100"},
        Wrong{"plot_in_no_folder",
              {"explain", "relu:f32:n=4", "--on", "h200", "--plot", "/no/such/folder/r.svg"},
              "cannot be written"},
        Wrong{"calibrate_the_cpu", {"calibrate", "--device", "cpu"}, "it must be a GPU"},
        Wrong{"ladder_operator", {"ladder", "rela"}, "no operator or family 'rela'"},
        Wrong{"ladder_case_of_another", {"ladder", "relu", "sum:f32:n=4"}, "one of operator relu"},
        Wrong{"ladder_variant", {"ladder", "relu", "relu:f32:n=4:variant=vec4"}, "without variant="},
        Wrong{"report_folder", {"report", "ABSENT"}, "--output is required"},
        Wrong{"bench_repeats", {"bench", "relu", "--repeats", "0"}, "--repeats"},
        Wrong{"bench_chain", {"bench", "relu", "--chain", "0"}, "--chain"},
        Wrong{"sweep_operator", {"bench", "--sweep", "rela"}, "no operator 'rela'; the nearest are relu"},
        Wrong{"sweep_of_nothing", {"bench", "--sweep", "relu"}, "'relu' does not say which problems models have"},
        Wrong{"sweep_of_a_case", {"bench", "relu", "--sweep", "gemm"}, "excludes --sweep"},
        Wrong{"sweep_count", {"bench", "--sweep", "gemm", "--count", "0"}, "--count"},
        Wrong{"sweep_seed_alone", {"bench", "relu", "--seed", "3"}, "--seed requires --sweep"},
        Wrong{"sweep_json_in_no_folder",
              {"bench", "--sweep", "gemm", "--json", "/no/such/folder/r.json"},
              "cannot be written"},
        Wrong{"bench_json_took_a_case", {"bench", "--json", "relu:f32:n=4"}, "is a case or an operator"},
        Wrong{"bench_json_in_no_folder", {"bench", "relu", "--json", "/no/such/folder/r.json"}, "cannot be written"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_F(Cli, AGpuWhereThereIsNone) {
  const auto devices = json::parse(ridge_program({"devices", "--json"}).out)["devices"];
  if (devices.size() > 1) GTEST_SKIP() << "this machine has a GPU";
  for (const Arguments& arguments : {Arguments{"run", "relu", x, "-o", y, "--device", "cuda"},
                                     {"check", "relu:f32:n=4", "--device", "cuda:0"},
                                     {"bench", "relu:f32:n=4", "--device", "cuda"},
                                     {"explain", "relu:f32:n=4", "--on", "cuda"},
                                     {"calibrate"}})
    expect_refused(ridge_program(arguments), "GPU");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"x.npy"});
}

TEST_F(Cli, AGpuNumberThatIsNotThere) {
  expect_refused(ridge_program({"run", "relu", x, "-o", y, "--device", "cuda:99"}), "GPU");
}

TEST_F(Cli, AReadOnlyOutputStaysAsItIs) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anything";
  folder.write("y.npy", "precious");
  std::filesystem::permissions(y, std::filesystem::perms::owner_read);
  expect_refused(ridge_program({"run", "relu", x, "-o", y, "--device", "cpu"}), "cannot be written");
  EXPECT_EQ(file_bytes(y), "precious");
}

TEST_F(Cli, AFullStandardOutputIsReported) {
  const auto done = run_program(RIDGE_PROGRAM, {"ops"}, "/dev/full");
  EXPECT_EQ(done.code, 2);
  EXPECT_TRUE(contains(done.err, "standard output cannot be written")) << done.err;
}

}  // namespace
}  // namespace ridge
