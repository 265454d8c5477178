// ridge report, and what its files may hold.
#include "cli.hpp"
#include "page.hpp"
#include "results_files.hpp"

#include <filesystem>

namespace ridge {
namespace {

TEST_F(Cli, ReportOfResults) {
  const std::string results = folder.write("r.json", results_text("NVIDIA H200")), page = folder / "page";
  const auto told = ridge_program({"report", results, "-o", page});
  expect_done(told);
  EXPECT_TRUE(contains(told.out, "median error of the prediction")) << told.out;
  const std::string html = file_bytes(page + "/index.html");
  for (const char* part : {"<h2>Roofline</h2>", "Measured on H200", "elementwise on H200", "cudaMemcpy", "2.00x",
                           "relu:f32:n=268435456", "median error"})
    EXPECT_TRUE(contains(html, part)) << part;
  EXPECT_EQ(page_fault(html), "") << html;
  for (const char* drawing : {"/roofline.svg", "/bandwidth-elementwise.svg"})
    EXPECT_TRUE(file_bytes(page + drawing).starts_with("<svg xmlns=")) << drawing;
  expect_refused(ridge_program({"report", results, folder.write("o.json", results_text("NVIDIA A100")), "-o", page}),
                 "that of the first file");
  expect_refused(ridge_program({"report", folder.write("t.json", results_text("NVIDIA P40")), "-o", page}), "nearest");
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
        {one_result("peers", 7), "measurement 0 has 'peers' that are not a list"},
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
        {"", "it is not JSON"},
        {R"({"device": 1e999})", "it is not JSON"},
        {"{\"device\": \"\xff\"}", "it is not JSON"},
        {std::string(100000, '['), "it is not JSON"}}) {
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

}  // namespace
}  // namespace ridge
