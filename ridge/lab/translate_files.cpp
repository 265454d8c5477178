// A file and those that it includes, each translated into a folder.
#include <ridge/core/file.hpp>
#include <ridge/lab/translate.hpp>

#include <map>
#include <optional>
#include <utility>

namespace ridge::lab {
namespace {

namespace fs = std::filesystem;

std::string line_directive(const std::string& file) {
  std::string name;
  for (const char c : file) {
    if (c == '"' || c == '\\') name += '\\';
    if (c == '\n') name += "\\n";
    else name += c;
  }
  return "#line 1 \"" + name + "\"\n";
}

// Files are translated once, whoever includes them.
class Tree {
 public:
  Tree(const std::vector<fs::path>& folders, fs::path to, Translation& translation)
      : folders_(folders), to_(std::move(to)), translation_(translation) {}

  Result<fs::path> add(const fs::path& file) {
    std::error_code error;
    const fs::path key = fs::weakly_canonical(file, error);
    if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
    std::optional<std::string> text = read_file(file);
    if (text && text->starts_with("\xEF\xBB\xBF")) text->erase(0, 3);  // a byte order mark
    if (!text) return Status::error(Code::io, file.string() + " cannot be read");
    const fs::path copy = to_ / (std::to_string(copies_.size()) + "_" + file.filename().string());
    copies_[key] = copy;
    files.push_back({file, copy});
    Status failed;
    const auto find_include = [&](std::string_view name) -> std::optional<std::string> {
      const std::optional<fs::path> found = find(name, file.parent_path());
      if (!found) return std::nullopt;
      Result<fs::path> included = add(*found);
      if (included) return included->string();
      failed = included.error();
      return std::nullopt;
    };
    const Result<std::string> translated = translation_(*text, file.string(), find_include);
    if (!failed.ok()) return failed;
    if (!translated) return translated.error();
    if (!replace_file(copy, line_directive(file.string()) + *translated))
      return Status::error(Code::io, copy.string() + " cannot be written");
    return copy;
  }

  std::vector<Translated::File> files;

 private:
  std::optional<fs::path> find(std::string_view name, const fs::path& beside) const {
    std::error_code error;
    if (fs::is_regular_file(beside / name, error)) return beside / name;
    for (const fs::path& folder : folders_)
      if (fs::is_regular_file(folder / name, error)) return folder / name;
    return std::nullopt;
  }

  const std::vector<fs::path>& folders_;
  fs::path to_;
  Translation& translation_;
  std::map<fs::path, fs::path> copies_;
};

}  // namespace

Result<Translated> translate_files(const fs::path& file, const std::vector<fs::path>& folders, const fs::path& to,
                                   Translation& translation) {
  Tree tree(folders, to, translation);
  Result<fs::path> main = tree.add(file);
  if (!main) return main.error();
  return Translated{std::move(tree.files)};
}

}  // namespace ridge::lab
