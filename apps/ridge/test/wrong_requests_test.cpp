// Wrong requests, of all commands: each is one sentence, exit code 2, and no file.
#include "cli.hpp"

#include <algorithm>
#include <ostream>

namespace ridge {
namespace {

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
        Wrong{"no_npy", {"run", "relu", "TEXT", "-o", "Y"}, "is not a .npy file"},
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
        Wrong{"case_too_large", {"check", "relu:f32:n=1000000000000000000", "--device", "cpu"}, "it must be less"},
        Wrong{"check_operator", {"check", "rela"}, "no operator or family 'rela'"},
        Wrong{"check_variant", {"check", "relu", "--variant", "fastest"}, "it must be one of"},
        Wrong{"check_variant_of_none", {"check", "--variant", "fastest"}, "no operator has it"},
        Wrong{"trace_lacks_case", {"trace"}, "CASE is required"},
        Wrong{"trace_is_no_case", {"trace", "relu"}, "a case is OP:DTYPE:k=v"},
        Wrong{"trace_operator", {"trace", "rela:f32:n=4"}, "no operator 'rela'; the nearest are relu"},
        Wrong{"trace_key", {"trace", "relu:f32:m=4"}, "'n' is missing"},
        Wrong{"trace_variant", {"trace", "relu:f32:n=4", "--variant", "fastest"}, "'fastest'; it must be one of"},
        Wrong{"trace_variant_twice", {"trace", "relu:f32:n=4:variant=scalar", "--variant", "all"}, "given twice"},
        Wrong{"model",
              {"explain", "relu:f32:n=4", "--on", "h300"},
              "nearest to H100; it must be one of V100 T4 A100 A10 H100"},
        Wrong{"plot_in_no_folder",
              {"explain", "relu:f32:n=4", "--on", "h200", "--plot", "/no/such/folder/r.svg"},
              "cannot be written"},
        Wrong{"calibrate_the_cpu", {"calibrate", "--device", "cpu"}, "it must be a GPU"},
        Wrong{"ladder_operator", {"ladder", "rela"}, "no operator or family 'rela'"},
        Wrong{"ladder_case_of_another", {"ladder", "relu", "sum:f32:n=4"}, "a case of operator relu"},
        Wrong{"ladder_variant", {"ladder", "relu", "relu:f32:n=4:variant=vec4"}, "without variant="},
        Wrong{"ladder_times_and_counts", {"ladder", "relu", "--times", "--counts"}, "excludes"},
        Wrong{"ladder_repeats_of_counts",
              {"ladder", "relu", "--device", "cpu", "--repeats", "3"},
              "--repeats is of times, and on the CPU the ladder shows counts; --times must be given as well"},
        Wrong{
            "ladder_markdown_of_counts", {"ladder", "relu", "--device", "cpu", "--markdown"}, "--markdown is of times"},
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

}  // namespace
}  // namespace ridge
