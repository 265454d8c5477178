// Source with a gutter: beside each line what it does to memory, and below it what is to be said of it.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ridge::cli::page {

// Sectors of global memory or wavefronts of shared memory, and the least that would have done.
struct Units {
  double requests = 0, units = 0, least = 0;
  double excess() const { return least > 0 ? units / least : 1; }
};

struct Gutter {
  Units sectors, wavefronts;
  std::int64_t divergent = 0, branches = 0;  // by warps
  std::set<std::string> notes;
  std::string text = {};  // the line, for where its file cannot be read

  Units& of(bool is_global) { return is_global ? sectors : wavefronts; }
};
// By file and line.
using Gutters = std::map<std::pair<std::string, int>, Gutter>;

// Lines far from any figure are left out of a library's files, and none of a user's own.
enum class Lines { all, near_figures };

class Sources {
 public:
  // `prefix` tells the anchors of one page's sources apart.
  Sources(Gutters, std::string prefix = {});

  // "#transpose.cu-8"; empty where the page does not show the line's file.
  std::string link(const std::string& file, int line) const;
  bool empty() const { return names_.empty(); }
  // Each file that has figures.
  std::string html(Lines) const;

 private:
  std::string file_html(const std::string& file, Lines) const;

  Gutters gutters_;
  std::string prefix_;
  std::map<std::string, std::string> names_;  // by file, as anchors spell it
};

}  // namespace ridge::cli::page
