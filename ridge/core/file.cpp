#include <ridge/core/file.hpp>

#include <unistd.h>

#include <cstdio>
#include <memory>

namespace ridge {

std::optional<std::string> read_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  for (std::size_t read; (read = std::fread(part, 1, sizeof part, file.get())) > 0;) text.append(part, read);
  if (std::ferror(file.get())) return std::nullopt;  // a folder opens, and cannot be read
  return text;
}

bool replace_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path whole = path;
  whole += "." + std::to_string(getpid());
  std::FILE* file = std::fopen(whole.c_str(), "wb");
  if (!file) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  std::error_code error;
  if (std::fclose(file) == 0 && written) std::filesystem::rename(whole, path, error);
  else error = std::make_error_code(std::errc::io_error);
  if (!error) return true;
  std::filesystem::remove(whole, error);
  return false;
}

}  // namespace ridge
