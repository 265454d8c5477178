// The copy that nvcc compiles: launches of the host are timed where they stand, and nothing else changes.
#include <ridge/lab/timed.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace ridge::lab {
namespace {

std::string timed(std::string_view text) {
  const Result<std::string> result = time_launches(text, "a.cu");
  return result ? *result : "refused: " + std::string(result.error().message());
}
std::string launched(const std::string& kernel, const std::string& configuration, const std::string& arguments) {
  return "(::ridge_lab_time::begin_launch(::ridge_lab_time::LaunchSite(\"" + kernel +
         "\", __FILE__, __LINE__), ::ridge_lab_time::LaunchConfig(" + configuration + ")), " + kernel +
         "<<<::ridge_lab_time::launch_grid(), ::ridge_lab_time::launch_block(), ::ridge_lab_time::launch_shared(), "
         "::ridge_lab_time::launch_stream()>>>(" +
         arguments + "), ::ridge_lab_time::end_launch())";
}

TEST(LabTimed, ALaunchIsAnExpressionThatBeginsAndEndsATime) {
  EXPECT_EQ(timed("go<<<1, 1>>>();"), launched("go", "1, 1", "") + ";");
  EXPECT_EQ(timed("a::k<float, 4><<<f(x, y), dim3(16, 16), n * sizeof(float), s>>>(p, NULL);"),
            launched("a::k<float, 4>", "f(x, y), dim3(16, 16), n * sizeof(float), s", "p, NULL") + ";");
}

TEST(LabTimed, ItStandsWhereverALaunchMay) {
  const std::string k = launched("k", "g, b", "x");
  for (const char* around : {"if (a) @; else @;", "for (;;) @;", "do @; while (a);", "return @;",
                             "auto f = [&] { @; };", "CHECK(@);", "a ? @ : @;", "case 1: @;", "f(x), @, g();"}) {
    std::string text = around, expected = around;
    for (std::size_t at; (at = text.find('@')) != text.npos;) text.replace(at, 1, "k<<<g, b>>>(x)");
    for (std::size_t at; (at = expected.find('@')) != expected.npos;) expected.replace(at, 1, k);
    EXPECT_EQ(timed("void f() { " + text + " }"), "void f() { " + expected + " }");
  }
}

TEST(LabTimed, LaunchesOfMacrosAreTimed) {
  EXPECT_EQ(timed("#define RUN(k, ...) k<<<1, 32>>>(__VA_ARGS__)\n"),
            "#define RUN(k, ...) " + launched("k", "1, 32", "__VA_ARGS__") + "\n");
}

TEST(LabTimed, LinesStayWhereTheyAre) {
  const std::string text =
      "a\nkernel\n <4><<<grid,  // of blocks\n  block>>>\n (x,\n  y);\n"
      "#define L(k) \\\n k \\\n <<<1, \\\n 1>>>(x)\nb\n";
  const std::string result = timed(text);
  EXPECT_EQ(std::ranges::count(result, '\n'), std::ranges::count(text, '\n')) << result;
  EXPECT_NE(result.find("// of blocks\n"), result.npos) << result;
}

TEST(LabTimed, LaunchesOfKernelsAreLeftAlone) {
  for (const char* text : {
           "__global__ void f(int n) { if (n) { f<<<1, 1>>>(n - 1); } }",
           "template <class T>\n__device__ __noinline__ void f(T x) { k<<<1, 1>>>(x); }",
           "__global__ void __launch_bounds__(256, 2) f() { k<<<1, 1>>>(); cudaLaunchKernel(k, 1, 1, a); }",
           "void f() { run([=] __device__ (int i) { k<<<1, 1>>>(i); }); }",
           "__host__ __device__ void f() { k<<<1, 1>>>(); }",
       }) {
    EXPECT_EQ(timed(text), text);
    EXPECT_TRUE(has_launches_of_kernels(timed(text))) << text;
  }
  for (const std::string before :
       {"__global__ void f() { g(); } ", "__device__ int x; ", "struct S { __device__ void f(); ",
        "struct S { __device__ S() {} ", "#if A\n__global__ void f() {\n#else\n__global__ void f(int) {\n#endif\n} "}) {
    const std::string text = before + "void h() { k<<<1, 1>>>(x); }";
    EXPECT_EQ(timed(text), before + "void h() { " + launched("k", "1, 1", "x") + "; }");
    EXPECT_FALSE(has_launches_of_kernels(timed(text)));
  }
}

TEST(LabTimed, LaunchesByFunctionAreTimed) {
  const std::string call =
      "ridge_lab_time::LaunchKernel(::ridge_lab_time::LaunchSite(\"cudaLaunchKernel\", __FILE__, "
      "__LINE__))(k, g, b, a);";
  EXPECT_EQ(timed("OK(cudaLaunchKernel(k, g, b, a);"), "OK(" + call);
  EXPECT_EQ(timed("return ::cudaLaunchKernel(k, g, b, a);"), "return ::" + call);
  for (const char* text : {"x.cudaLaunchKernel(k);", "cudaError_t cudaLaunchKernel(const void*);",
                           "auto f = &cudaLaunchKernel;", "mine::cudaLaunchKernel(k);", "cudaLaunchKernelEx(&c, k);"})
    EXPECT_EQ(timed(text), text);
}

TEST(LabTimed, TimesAreReadBeforeTheDeviceIsReset) {
  EXPECT_EQ(timed("else cudaDeviceReset();"), "else ridge_lab_time::reset_device();");
  EXPECT_EQ(timed("#define END cudaDeviceReset()\n"), "#define END ridge_lab_time::reset_device()\n");
}

TEST(LabTimed, IncludedCopiesAreNamed) {
  const auto find = [](std::string_view name) -> std::optional<std::string> {
    if (name != "b.cuh") return std::nullopt;
    return "/copies/1_b.cuh";
  };
  const auto text = time_launches("#include <thrust/sort.h>\n#include \"b.cuh\"  // mine\n", "a.cu", find);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "#include <thrust/sort.h>\n#include \"/copies/1_b.cuh\"  // mine\n");
}

TEST(LabTimed, AllElseIsLeftAlone) {
  for (const char* text : {"// k<<<1, 1>>>()\n", "\"k<<<1, 1>>>()\"", "extern __shared__ float s[];",
                           "x = a << b >> c;", "asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"(x));"})
    EXPECT_EQ(timed(text), text);
  EXPECT_EQ(timed("\nk<<<1, 1;"), "refused: a.cu:2: '<<<' is not closed by '>>>'");
}

}  // namespace
}  // namespace ridge::lab
