// The pieces of which pages are made, and the page of a trace, without a trace.
#include "page.hpp"
#include "../page/document.hpp"
#include "../page/launches.hpp"
#include "../page/roofs.hpp"
#include "../page/source.hpp"
#include "../plots.hpp"
#include "../trace_page.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ridge::cli {
namespace {

namespace trace = simt::trace;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

DeviceInfo h100() { return *device_model("h100"); }

// A launch of one block of which two lines access memory: the first wastes sectors, the second meets in a bank.
trace::Launch launch_in(const std::string& file) {
  trace::Launch launch;
  launch.kernel = "void ridge::detail::copy<float, (int)4>(float const*)";
  launch.grid = {4, 2, 1}, launch.block = {128, 1, 1};
  trace::Access global, shared;
  global.at = {.file = file, .number = 2, .text = "y[i] = x[i];"};
  global.requests = 8, global.lanes = 256, global.sectors = 256, global.least_sectors = 32, global.bytes = 4;
  shared.at = {.file = file, .number = 3, .text = "s[i] = 0;"};
  shared.space = trace::Space::shared, shared.kind = trace::Kind::store;
  shared.requests = 8, shared.lanes = 256, shared.wavefronts = 16, shared.least_wavefronts = 8, shared.bytes = 4;
  launch.accesses = {global, shared};
  launch.branches = {{.at = shared.at, .executed = 8, .divergent = 3}};
  launch.footprint = {.blocks = 8, .read_sectors = 1000, .written_sectors = 24};
  return launch;
}

TracedOnModel traced(const std::string& file, const std::string& variant, double operations) {
  TracedOnModel t;
  t.traced = {.case_text = "copy:f32:n=1",
              .variant = variant,
              .step = "a < b",
              .refused = {},
              .error = {},
              .report = {.launches = {launch_in(file)}}};
  Explanation e;
  e.bound = "memory";
  e.predicted_us = 4;
  e.cost.on(Unit::fp32) = operations;
  e.analysis.unit = operations > 0 ? "fp32" : "";
  t.planned = e;
  return t;
}

class Page : public testing::Test {
 protected:
  const TemporaryFolder folder;
  const std::string file = folder.write("a<b>&\"c.cu", "// <script> & \"quotes\"\n\ty[i] = x[i];\r\ns[i] = 0;\n");
};

TEST_F(Page, OfATraceIsWholeAndEscaped) {
  const std::string html = trace_page("copy:f32:n=<1>&\"2\"", {traced(file, "vec4", 2048)}, h100());
  EXPECT_EQ(page_fault(html), "") << html;
  for (const char* part :
       {"<title>copy:f32:n=&lt;1&gt;&amp;&quot;2&quot;</title>", "// &lt;script&gt; &amp; &quot;quotes&quot;",
        "a&lt;b&gt;&amp;&quot;c.cu", "<p>a &lt; b</p>", "        y[i] = x[i];</td>"})
    EXPECT_TRUE(contains(html, part)) << part << "\n" << html;
}

TEST_F(Page, HasSectorsWavefrontsAndDivergenceBesideTheirLines) {
  const std::string html = trace_page("copy", {traced(file, "vec4", 2048)}, h100());
  EXPECT_TRUE(contains(html, "<tr id=\"a_b___c.cu-2\" class=\"hot\"><td class=\"n\"><a href=\"#a_b___c.cu-2\">2</a>"));
  for (const char* part : {"data-of=\"sectors (least)\">32.00 (4.00)</td>", "data-of=\"requests\">8</td>",
                           "data-of=\"wavefronts (least)\">2.00 (1.00)</td>", "data-of=\"divergent\">3 of 8</td>",
                           "<td class=\"c\">uncoalesced</td>"})
    EXPECT_TRUE(contains(html, part)) << part << "\n" << html;
}

TEST_F(Page, LaunchesSayWhatTheyMoveAndHowTheyFillTheDevice) {
  const std::string html = trace_page("copy", {traced(file, "vec4", 2048)}, h100());
  for (const char* part : {"<td class=\"l\">copy</td>", "<td>(4,2)</td>", "<td>(128)</td>", "<td>256 (32)</td>",
                           "<td>16 (8)</td>", "<td>32.8 KB</td>", "<td class=\"l\">0.379 % (the grid)</td>"})
    EXPECT_TRUE(contains(html, part)) << part << "\n" << html;
}

TEST_F(Page, APointOfTheRooflineIsWhatWasCounted) {
  const std::string html = trace_page("copy", {traced(file, "vec4", 65536)}, h100());
  // 65536 operations, 1024 sectors of 32 bytes, 4 us
  for (const char* part : {"<svg viewBox", "operations per byte of memory", "1e12 operations/s", "DRAM 3.35 TB/s",
                           "fp32 67 T/s", ">1 vec4</text>", "<td>65536 fp32</td><td>2</td><td>0.0164</td>"})
    EXPECT_TRUE(contains(html, part)) << part << "\n" << html;
}

TEST_F(Page, WithoutOperationsThereIsALineAndNoNumberIsMadeUp) {
  const std::string html = trace_page("copy", {traced(file, "vec4", 0)}, h100());
  EXPECT_TRUE(contains(html, "The operator computes nothing")) << html;
  EXPECT_FALSE(contains(html, "<th>operations</th>")) << html;
  EXPECT_TRUE(contains(html, "stroke-dasharray=\"1 4\"") && contains(html, "<td>8.19</td>")) << html;  // GB/s
}

TEST_F(Page, OfSeveralVariantsHasAnchorsOfEach) {
  TracedOnModel refused = traced(file, "wide", 1), failed = traced(file, "wrong", 1), unknown = traced(file, "new", 1);
  refused.traced.report = failed.traced.report = {};
  refused.traced.refused = "n not a multiple of <8>";
  failed.traced.error = "block (0,0,0): divergent";
  unknown.planned.reset();
  unknown.not_planned = "another device";
  const std::string html =
      trace_page("copy", {traced(file, "scalar", 2048), traced(file, "vec4", 2048), refused, failed, unknown}, h100());
  EXPECT_EQ(page_fault(html), "") << html;
  for (const char* part :
       {"<tr id=\"scalar.a_b___c.cu-2\"", "<tr id=\"vec4.a_b___c.cu-2\"", "n not a multiple of &lt;8&gt;",
        "Failed: block (0,0,0)", "another device", "<details><summary>source</summary>"})
    EXPECT_TRUE(contains(html, part)) << part << "\n" << html;
}

// Where a package has no sources, the lines with figures are those that the trace brought along.
TEST_F(Page, LinesOfAFileThatCannotBeReadAreTheTracesOwn) {
  const std::string html = trace_page("copy", {traced("/nowhere/a.cuh", "vec4", 1)}, h100());
  EXPECT_EQ(page_fault(html), "") << html;
  EXPECT_TRUE(contains(html, "<td class=\"c\">y[i] = x[i];</td>")) << html;
  EXPECT_FALSE(contains(html, "/nowhere/")) << html;
}

TEST_F(Page, LinesFarFromFiguresAreLeftOutOfALibrarysFile) {
  std::string text;
  for (int line = 1; line <= 100; ++line) text += "line of text " + std::to_string(line) + "\n";
  const std::string many = folder.write("many.cuh", text);
  page::Gutters gutters;
  gutters[{many, 50}].sectors = {.requests = 1, .units = 4, .least = 4};
  const page::Sources sources(gutters);
  const std::string near = sources.html(page::Lines::near_figures), all = sources.html(page::Lines::all);
  EXPECT_EQ(sources.link(many, 50), "#many.cuh-50");
  EXPECT_EQ(sources.link(many + "x", 50), "");
  for (const char* part : {"lines 1 to 45<", "line of text 46<", "line of text 54<", "lines 55 to 100<"})
    EXPECT_TRUE(contains(near, part)) << part << "\n" << near;
  EXPECT_FALSE(contains(near, "line of text 45<"));
  EXPECT_TRUE(contains(all, "line of text 1<") && contains(all, "line of text 100<"));
}

TEST_F(Page, FilesOfOneNameHaveAnchorsOfTheirOwn) {
  page::Gutters gutters;
  gutters[{"/x/a.cuh", 1}].text = "one";
  gutters[{"/y/a.cuh", 1}].text = "two";
  const page::Sources sources(gutters);
  EXPECT_NE(sources.link("/x/a.cuh", 1), sources.link("/y/a.cuh", 1));
}

TEST(PageLaunches, AColumnThatNoLaunchKnowsIsLeftOut) {
  const std::string predicted = page::launches_table({{.kernel = "copy", .us = "3.2 us"}});
  EXPECT_TRUE(contains(predicted, "3.2 us"));
  EXPECT_FALSE(contains(predicted, "measured"));
  const std::string both = page::launches_table({{.kernel = "copy", .us = "3.2 us", .measured = "3.4 us"}});
  EXPECT_TRUE(contains(both, "measured") && contains(both, "3.4 us"));
}

TEST(PageNames, AKernelIsCalledWhatItsAuthorCalledIt) {
  EXPECT_EQ(page::short_name("void ridge::softmax_detail::naive<ridge::Row<0>, float>(float const*, int)"), "naive");
  EXPECT_EQ(page::short_name("void (anonymous namespace)::k<4>((anonymous namespace)::S)"), "k");
  EXPECT_EQ(page::short_name("(anonymous namespace)::k(float*)"), "k");
  EXPECT_EQ(page::short_name("saxpy"), "saxpy");
}

// However many points there are at one place, no word is written over another: what has no room is in the table.
TEST(Plots, LabelsOfAPhoneStandApart) {
  std::vector<RoofPoint> points;
  for (int i = 0; i < 40; ++i) points.push_back({.label = "#" + std::to_string(i), .intensity = 1, .tera = 0.1});
  const std::string svg = roofline_svg(h100(), {Unit::fp32}, points, "t", PlotSize::phone);
  std::vector<std::pair<double, double>> places;
  for (std::size_t at = 0; (at = svg.find("<text x=\"", at)) != svg.npos; ++at) {
    if (!svg.substr(svg.find('>', at), 3).starts_with(">#")) continue;
    const double x = std::stod(svg.substr(at + 9)), y = std::stod(svg.substr(svg.find(" y=\"", at) + 4));
    for (const auto& [x2, y2] : places) EXPECT_GT(std::max(std::abs(x - x2), std::abs(y - y2)), 9);
    places.emplace_back(x, y);
  }
  EXPECT_GT(places.size(), 5u);
  EXPECT_LT(places.size(), 40u);
}

}  // namespace
}  // namespace ridge::cli
