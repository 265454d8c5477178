// What every page must be: whole, safe and of one file.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

// The values of an attribute, in order.
inline std::vector<std::string> attributes(const std::string& html, const std::string& name) {
  const std::string key = " " + name + "=\"";
  std::vector<std::string> values;
  for (std::size_t at = 0; (at = html.find(key, at)) != html.npos;) {
    at += key.size();
    values.push_back(html.substr(at, html.find('"', at) - at));
  }
  return values;
}

// The first tag that ends another than the last one begun, or that has no end; empty: well-formed, as XML is.
inline std::string unbalanced_tag(std::string_view html) {
  std::vector<std::string_view> open;
  for (std::size_t at = 0; (at = html.find('<', at)) != html.npos;) {
    const std::size_t end = html.find('>', at);
    if (end == html.npos) return std::string(html.substr(at, 40));
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    at = end;
    if (tag.starts_with('!') || tag.ends_with('/')) continue;
    const std::string_view name = tag.substr(0, tag.find_first_of(" \n"));
    if (!name.starts_with('/')) open.push_back(name);
    else if (open.empty() || open.back() != name.substr(1)) return std::string(tag);
    else open.pop_back();
  }
  return open.empty() ? "" : std::string(open.back());
}

// What is wrong with a page, in a sentence; empty: nothing.
inline std::string page_fault(const std::string& html) {
  for (const char* part : {"<!doctype html>\n", "<title>", "<meta name=\"viewport\" content=\"width=device-width",
                           "prefers-color-scheme: dark", "</body></html>\n"})
    if (html.find(part) == html.npos) return std::string("it lacks ") + part;
  for (const char* part : {"http:", "https:", "<script", "<link", " src=", "url(", "@import"})
    if (html.find(part) != html.npos) return std::string("it has ") + part;
  if (const std::string tag = unbalanced_tag(html); !tag.empty()) return "its tags are not balanced: " + tag;
  const std::vector<std::string> list = attributes(html, "id");
  const std::set<std::string> ids(list.begin(), list.end());
  if (ids.size() != list.size()) return "two of its anchors have one name";
  for (const std::string& href : attributes(html, "href"))
    if (!href.starts_with('#') || !ids.contains(href.substr(1))) return "its link leads nowhere: " + href;
  return {};
}

}  // namespace ridge
