// The program around its commands: help, man, completion, what reaches the terminal.
#include "cli.hpp"
#include "results_files.hpp"

#include <ridge/core/text.hpp>

namespace ridge {
namespace {

void expect_printable(const Finished& finished) {
  for (const std::string* text : {&finished.out, &finished.err}) EXPECT_EQ(*text, printable(*text, "\n"));
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

TEST_F(Cli, HelpIsNoError) {
  for (const Arguments& arguments : {Arguments{"--help"}, {"run", "--help"}, {"--version"}}) {
    const auto done = ridge_program(arguments);
    expect_done(done);
    EXPECT_NE(done.out, "");
  }
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

TEST_F(Cli, AFullStandardOutputIsReported) {
  const auto done = run_program(RIDGE_PROGRAM, {"ops"}, "/dev/full");
  EXPECT_EQ(done.code, 2);
  EXPECT_TRUE(contains(done.err, "standard output cannot be written")) << done.err;
}

}  // namespace
}  // namespace ridge
