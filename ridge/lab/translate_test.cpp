// The translator: what g++ reads of CUDA C++, on the user's own lines.
#include <ridge/lab/translate.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace ridge::lab {
namespace {

std::string translated(std::string_view text) {
  const Result<std::string> result = translate(text, "a.cu");
  return result ? *result : "refused: " + std::string(result.error().message());
}
std::string launched(const std::string& kernel, const std::string& configuration, const std::string& arguments) {
  const std::string address = ".of([&](auto... ridge_none) -> decltype(::ridge::lab::address_of(" + kernel +
                              ", ridge_none...)) { return ::ridge::lab::address_of(" + kernel + ", ridge_none...); })";
  return "::ridge::lab::Launch(::ridge::lab::LaunchSite{\"" + kernel + "\", __FILE__, __LINE__}, " + configuration +
         ")" + (kernel.find('<') == kernel.npos ? address : "") + ".run([&](auto&... ridge_given) -> decltype(" +
         kernel + "(ridge_given...)) { " + kernel + "(ridge_given...); }" + (arguments.empty() ? "" : ", ") +
         arguments + ")";
}

TEST(LabTranslate, ALaunchIsACall) {
  EXPECT_EQ(translated("add<<<grid, 256>>>(x, n);"), launched("add", "grid, 256", "x, n") + ";");
  EXPECT_EQ(translated("go<<<1, 1>>>();"), launched("go", "1, 1", "") + ";");
  EXPECT_EQ(translated("if (a) b::c<<<f(x, y), dim3(16, 16), n * sizeof(float), s>>>(p);"),
            "if (a) " + launched("b::c", "f(x, y), dim3(16, 16), n * sizeof(float), s", "p") + ";");
  EXPECT_EQ(translated("return ::k<<<1, 2>>>(p);"), "return " + launched("::k", "1, 2", "p") + ";");
}

TEST(LabTranslate, TheKernelMayBeAnyExpressionOfANameOrAPointer) {
  for (const char* kernel : {"k<float>", "k<float, 4>", "a::b<c<int>>::k<(3 > 2)>", "table[i]", "(*f)", "(k<T>)", "o.f",
                             "o->f", "k<vec<vec<vec<int>>>>", "NAME(x)", "A<T>::template k<4>"})
    EXPECT_EQ(translated(std::string("{ ") + kernel + "<<<1, 32>>>(p); }"),
              "{ " + launched(kernel, "1, 32", "p") + "; }");
}

TEST(LabTranslate, TheMarksOfALaunchMayHaveBlanksWithin) {
  for (const char* text : {"k << <1, 32 >> >(x);", "k<< <1, 32>> > (x);", "k <<\n< 1, 32 >>\n> (x);"}) {
    std::string result = translated(text);
    std::erase_if(result, [](char c) { return c == ' ' || c == '\n'; });
    std::string expected = launched("k", "1, 32", "x") + ";";
    std::erase_if(expected, [](char c) { return c == ' '; });
    EXPECT_EQ(result, expected) << text;
  }
  EXPECT_EQ(translated("k<<<f(A<B<C>> >::n), 32>>>(x);"), launched("k", "f(A<B<C>> >::n), 32", "x") + ";");
  for (const char* other : {"A<B<C>> > d;", "A<B<C>> > (d);", "x = a << b >> (c);"})
    EXPECT_EQ(translated(other), other);
}

TEST(LabTranslate, ALoopThatIsToBeUnrolledIsSo) {
  const auto unrolled = [](const std::string& times) {
    return "#pragma GCC unroll ::ridge::lab::unrolled(" + times + ")\n";
  };
  for (const auto& [written, times] : {std::pair{"", "64"},
                                       {" 8", "8"},
                                       {"(4)", "4"},
                                       {" 1", "1"},
                                       {" N", "64"},
                                       {" (N / 2)", "64"},
                                       {" 2 * 3", "64"},
                                       {" 16u", "16"},
                                       {" 100000", "65534"}})
    for (const char* loop : {"for (;;) f();", "while (a) f();", "do f(); while (a);", "// then\nfor (;;) f();"})
      EXPECT_EQ(translated("#pragma unroll" + std::string(written) + "\n" + loop), unrolled(times) + loop);
  EXPECT_EQ(translated("_Pragma(\"unroll 2\") for (;;) f();"),
            "_Pragma(\"GCC unroll ::ridge::lab::unrolled(2)\") for (;;) f();");
  for (const char* other : {"#pragma unroll\nLOOP(i, n) f();", "#pragma unroll 4\n#if A\nfor (;;) f();\n#endif\n",
                            "#pragma once\nfor (;;) unroll();", "f(\"unroll\"); for (;;) f();"})
    EXPECT_EQ(translated(other), other);
}

TEST(LabTranslate, OfAKernelsOwnNameNoAddressIsAsked) {
  const std::string kernel = "__global__ void k(int*); ";
  EXPECT_EQ(translated(kernel + "n::k<<<1, 32>>>(x);").find("address_of"), std::string::npos);
  EXPECT_NE(translated(kernel + "p<<<1, 32>>>(x);").find("address_of(p,"), std::string::npos);
}

TEST(LabTranslate, NullPointersAmongTheArgumentsHaveThePointersType) {
  EXPECT_EQ(translated("k<<<1, 32, 0, NULL>>>(NULL, n);"), launched("k", "1, 32, 0, NULL", "nullptr, n") + ";");
}

TEST(LabTranslate, ALiteralZeroMayBeANullPointer) {
  EXPECT_EQ(translated("k<<<1, 32>>>(0, n + 0, f(0), g<a, 0, b>(x), 0);"),
            launched("k", "1, 32", "::ridge::lab::Zero{}, n + 0, f(0), g<a, 0, b>(x), ::ridge::lab::Zero{}") + ";");
}

TEST(LabTranslate, ArgumentsInBracesHaveTheParametersType) {
  EXPECT_EQ(translated("k<T><<<{1, 2}, {3}>>>(x, {1, 2}, {}, f({3}), T{4});"),
            launched("k<T>", "{1, 2}, {3}",
                     "x, ::ridge::lab::Parameter<1, decltype(k<T>)>{1, 2}, "
                     "::ridge::lab::Parameter<2, decltype(k<T>)>{}, f({3}), T{4}") +
                ";");
}

TEST(LabTranslate, AMacroMayPasteTheKernelsName) {
  for (const std::string kernel : {"sum_##T", "a##b##_c", "n::sum##2", "sum_ ## T<int>"}) {
    std::string expected = launched(kernel, "g, b", "x"), literal = "\"" + kernel + "\"";
    expected.replace(expected.find(literal), literal.size(), "RIDGE_LAB_LITERAL(" + kernel + ")");
    EXPECT_EQ(translated("#define RUN(T, x) " + kernel + "<<<g, b>>>(x)\n"), "#define RUN(T, x) " + expected + "\n");
  }
}

TEST(LabTranslate, AKernelThatIsCastToAPointerToVoidIsKnown) {
  const std::string kernels =
      "__global__ void k(int*); template <class T> __global__ void __launch_bounds__(64, 2) t(T x); ";
  for (const auto& [cast, known] :
       {std::pair{"(const void*)k;", "(const void*)::ridge::lab::known(k);"},
        {"f((void *)&n::t<int>, 1);", "f((void *)::ridge::lab::known(&n::t<int>), 1);"},
        {"reinterpret_cast<const void*>(k);", "reinterpret_cast<const void*>(::ridge::lab::known(k));"},
        {"(void*)other;", "(void*)other;"},
        {"int f(void*) const;", "int f(void*) const;"},
        {"cudaLaunchKernel((const void*)p, g, b, a);", "cudaLaunchKernel(p, g, b, a);"}})
    EXPECT_EQ(translated(kernels + cast), kernels + known);
}

TEST(LabTranslate, StaticSharedMemoryHasALimit) {
  const auto limit = [](const std::string& bytes) {
    return " static_assert(" + bytes + " <= 49152, \"of static shared memory\");";
  };
  EXPECT_EQ(translated("void f() { __shared__ float s[N][8], t; { __shared__ int u[2]; } __shared__ int v[1]; }"),
            "void f() { __shared__ float s[N][8], t;" + limit("sizeof(s) + sizeof(t)") + " { __shared__ int u[2];" +
                limit("sizeof(s) + sizeof(t) + sizeof(u)") + " } __shared__ int v[1];" +
                limit("sizeof(s) + sizeof(t) + sizeof(v)") + " }");
  EXPECT_EQ(translated("void f() {\n#if A\n__shared__ int s[1];\n#else\n__shared__ int t[1];\n#endif\n"
                       "__shared__ int u[1];\n}"),
            "void f() {\n#if A\n__shared__ int s[1];" + limit("sizeof(s)") + "\n#else\n__shared__ int t[1];" +
                limit("sizeof(t)") + "\n#endif\n__shared__ int u[1];" + limit("sizeof(u)") + "\n}");
}

TEST(LabTranslate, InAMacroALaunchMayHaveNoArguments) {
  EXPECT_EQ(translated("#define RUN(k, ...) k<<<1, 32>>>(__VA_ARGS__)\n"),
            "#define RUN(k, ...) ::ridge::lab::Launch(::ridge::lab::LaunchSite{\"k\", __FILE__, __LINE__}, 1, 32"
            ").of([&](auto... ridge_none) -> decltype(::ridge::lab::address_of(k, ridge_none...)) { return "
            "::ridge::lab::address_of(k, ridge_none...); }).run([&](auto&... ridge_given) -> "
            "decltype(k(ridge_given...)) { k(ridge_given...); } __VA_OPT__(,) "
            "__VA_ARGS__)\n");
}

TEST(LabTranslate, LinesStayWhereTheyAre) {
  const std::string text =
      "a\nkernel\n  <float,\n   4><<<grid,\n  block>>>\n  (x,\n   y);\nb\n#define L(k) \\\n k \\\n <<<1, \\\n "
      "1>>>(x)\nc\n"
      "void f() {\nextern __shared__\n  float s[];\n asm volatile(\"a\"\n \"b\" : \"=r\"(x));\nd }\n";
  const std::string result = translated(text);
  EXPECT_EQ(std::ranges::count(result, '\n'), std::ranges::count(text, '\n')) << result;
  EXPECT_NE(result.find("\\\n"), std::string::npos);
}

TEST(LabTranslate, DynamicSharedMemoryIsAPointer) {
  const std::string get = "*>(::ridge::simt::detail::dynamic_shared_memory()); ";
  EXPECT_EQ(translated("void f() { extern __shared__ float s[]; s[0] = 1; }"),
            "void f() { [[maybe_unused]] auto* const s = static_cast<float" + get + " s[0] = 1; }");
  EXPECT_EQ(translated("void f() { extern volatile __shared__ __align__(16) unsigned char s[]; }"),
            "void f() { [[maybe_unused]] auto* const s = static_cast<volatile unsigned char" + get + " }");
  EXPECT_EQ(translated("void f() { extern __shared__ half s[][8 * K]; }"),
            "void f() { [[maybe_unused]] auto* const s = static_cast<half (*)[8 * K]>(::ridge::simt::detail::"
            "dynamic_shared_memory());  }");
  EXPECT_EQ(translated("namespace n { extern __shared__ int s[]; }"),
            "namespace n { [[maybe_unused]] static constexpr ::ridge::lab::DynamicShared<int> s{};  }");
  for (const char* other : {"extern int x;", "extern \"C\" void f();", "__shared__ float s[32];", "extern int a[];",
                            "void f() { __shared__ float* f(); extern int b; }"})
    EXPECT_EQ(translated(other), other);
}

// "asm(...)" within a function, as it is translated.
std::string statement(const std::string& text) {
  const std::string result = translated("void f() { " + text + "; }"), begin = "void f() { ", end = "; }";
  EXPECT_TRUE(result.starts_with(begin) && result.ends_with(end)) << result;
  return result.substr(begin.size(), result.size() - begin.size() - end.size());
}
std::string ptx(const std::string& literals, const std::string& operands) {
  return "::ridge::lab::ptx(::ridge::lab::PtxSite{" + literals + ", __FILE__, __LINE__}" + operands + ")";
}

TEST(LabTranslate, InlinePtxIsACallWithItsOperands) {
  EXPECT_EQ(statement(R"(asm volatile("mov.u32 %0, %%smid;" : "=r"(x)))"),
            ptx(R"("mov.u32 %0, %%smid;")", R"(, ::ridge::lab::written("=r", x))"));
  EXPECT_EQ(statement(R"(asm("add.u32 %0, %1, %2;" : "+r" (a[f(i, j)]) : "r"(b), "n"(sizeof(T<int, 2>)) : "memory"))"),
            ptx(R"("add.u32 %0, %1, %2;")", R"(, ::ridge::lab::written("+r", a[f(i, j)]), ::ridge::lab::given("r", b))"
                                            R"(, ::ridge::lab::given("n", sizeof(T<int, 2>)))"));
  for (const char* begin : {"asm", "__asm__", "__asm", "asm volatile", "__asm__ __volatile__"})
    EXPECT_EQ(statement(std::string(begin) + R"(("st.f32 [%0], %1;" :: "l"(a::b), "f"(c ? d : e)))"),
              ptx(R"("st.f32 [%0], %1;")", R"(, ::ridge::lab::given("l", a::b), ::ridge::lab::given("f", c ? d : e))"));
}

TEST(LabTranslate, InlinePtxMayHaveNoOperands) {
  for (const char* rest : {"", " :", " ::", ":::\"memory\"", " : : : \"memory\"", "::: \"memory\", \"cc\""})
    EXPECT_EQ(statement(std::string("asm volatile(\"bar.sync 0;\"") + rest + ")"), ptx("\"bar.sync 0;\"", "")) << rest;
}

TEST(LabTranslate, OperandsOfInlinePtxMayHaveNames) {
  EXPECT_EQ(statement(R"(asm("mov.b32 %[to], %[from];" : [to] "=r"(x) : [from]"r"(y)))"),
            ptx(R"("mov.b32 %[to], %[from];")",
                R"(, ::ridge::lab::written("=r", x, "to"), ::ridge::lab::given("r", y, "from"))"));
}

TEST(LabTranslate, InlinePtxOverSeveralLinesStaysOnThem) {
  EXPECT_EQ(
      translated("void f() {\nasm volatile(\n  \"{ .reg .pred p;\\n\\t\"  // ; : (\n  \"}\"\n  : \"=r\"(x),\n"
                 "    \"=r\"(y)\n  : \"r\"(z)\n  : \"memory\");\n}\n"),
      "void f() {\n::ridge::lab::ptx(::ridge::lab::PtxSite{\n\"{ .reg .pred p;\\n\\t\"  // ; : (\n  \"}\", __FILE__, "
      "__LINE__}, ::ridge::lab::written(\n\"=r\", x), ::ridge::lab::written(\n\"=r\", y), ::ridge::lab::given(\n"
      "\"r\", z))\n;\n}\n");
}

TEST(LabTranslate, InlinePtxOfMacros) {
  EXPECT_EQ(translated("#define LANE(x) asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x))\n"),
            "#define LANE(x) " + ptx("\"mov.u32 %0, %%laneid;\"", ", ::ridge::lab::written(\"=r\", x)") + "\n");
  EXPECT_EQ(translated("#define WAIT(n) \\\n  asm volatile(\"cp.async.wait_group \" #n \";\" \\\n  ::: \"memory\")\n"),
            "#define WAIT(n) \\\n  " + ptx("\"cp.async.wait_group \" #n \";\"", "") + "\\\n\n");
  EXPECT_EQ(
      statement("asm(ADD(\"u32\") : OUT(x))"),
      "::ridge::lab::ptx(::ridge::lab::PtxSite{ADD(\"u32\"), __FILE__, __LINE__}, ::ridge::lab::written(OUT, x))");
  EXPECT_EQ(statement("asm(TEXT : OUTPUTS : \"r\"(x))"),
            "::ridge::lab::ptx_refused(::ridge::lab::PtxSite{TEXT, __FILE__, __LINE__}, \"its operands are not to be "
            "seen\")");
}

TEST(LabTranslate, AssemblyOfTheHostIsLeftAlone) {
  for (const char* text : {"void f() { asm volatile(\"rdtsc\" : \"=a\"(low), \"=d\"(high)); }",
                           "void f() { asm(\"addl %1, %0\" : \"+m\"(x) : \"ir\"(y)); }", "asm(\".globl f\");"})
    EXPECT_EQ(translated(text), text);
}

TEST(LabTranslate, DirectivesWithinAStatementStayOnLinesOfTheirOwn) {
  const std::string result = translated("void f() { asm(\n\"a;\"\n#if X\n\"b;\"\n#endif\n: : \"r\"(x)); }\n");
  EXPECT_NE(result.find("\n#endif\n"), std::string::npos) << result;
}

TEST(LabTranslate, CommentsAndLiteralsAreLeftAlone) {
  for (const char* text :
       {"// k<<<1, 1>>>()\n", "/* k<<<1,\n1>>>() */", "\"k<<<1, 1>>>()\"", "R\"x(k<<<1,1>>>() \" )x\"",
        "char c = '\"'; int n = 1'000; // \"", "x = a << b >> c;", "A<B<C<int>>> d;"})
    EXPECT_EQ(translated(text), text);
}

TEST(LabTranslate, ALibraryIsAnErrorWhereItIsCompiled) {
  EXPECT_EQ(
      translated("#if 0\n#include <thrust/sort.h>\n#endif\n"),
      "#if 0\n#error Thrust (thrust/sort.h) is not emulated: the lab runs the kernels of your own files\n#endif\n");
}

TEST(LabTranslate, ARefusalNamesFileAndLine) {
  EXPECT_EQ(translated("\n\nk<<<1, 1;"), "refused: a.cu:3: '<<<' is not closed by '>>>'");
  EXPECT_EQ(translated("<<<1, 1>>>(x);"), "refused: a.cu:1: '<<<' without a kernel's name before it");
  EXPECT_EQ(translated("k<<<1, 1>>>;"), "refused: a.cu:1: '>>>' must be followed by the kernel's arguments");
}

}  // namespace
}  // namespace ridge::lab
