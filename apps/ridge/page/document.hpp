// Document: a page of one file, which needs no network and no script, from its title to its end.
#pragma once
#include "html.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::page {

class Document {
 public:
  explicit Document(std::string_view title);

  void heading(std::string_view text);
  void paragraph(std::string_view text, std::string_view of_class = {});
  void table(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows);
  // What is HTML already.
  void add(std::string_view html) { html_ += html; }

  std::string str() const { return html_ + "</body></html>\n"; }

 private:
  std::string html_;
};

}  // namespace ridge::cli::page
