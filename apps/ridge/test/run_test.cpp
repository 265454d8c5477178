// ridge run: the main job on files of all kinds, on the CPU and where there is a GPU.
#include "cli.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace ridge {
namespace {

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
  EXPECT_EQ(report["check"]["case"], "softmax:f32:rows=2,cols=1,inner=3");
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
  expect_refused(ridge_program({"run", "histogram", named, "-o", y, "--device", "cpu"}), "is not a .npy file");
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
  EXPECT_EQ(info["optional_inputs"], json({"c", "bias", "residual", "gate", "gate_bias"}));
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

TEST_F(Cli, AFailedCheckOfARunExitsWith1) {
  const auto failed = faulty_program({"run", "faulty", x, "-o", y, "--device", "cpu", "--check"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(failed.out, "FAILED: 1 of 6 elements wrong; y[5] is 7")) << failed.out;
  const auto report = faulty_program({"run", "faulty", x, "-o", y, "--device", "cpu", "--check", "--json"});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(json::parse(report.out)["check"]["wrong"], 1);
}

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

TEST_F(Cli, AReadOnlyOutputStaysAsItIs) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anything";
  folder.write("y.npy", "precious");
  std::filesystem::permissions(y, std::filesystem::perms::owner_read);
  expect_refused(ridge_program({"run", "relu", x, "-o", y, "--device", "cpu"}), "cannot be written");
  EXPECT_EQ(file_bytes(y), "precious");
}

}  // namespace
}  // namespace ridge
