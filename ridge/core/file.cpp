#include <ridge/core/file.hpp>
#include <ridge/core/output_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ridge {

std::optional<std::string> read_file(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NONBLOCK: opening a pipe must not hang
  if (file < 0) return std::nullopt;
  struct stat about {};
  std::optional<std::string> text;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) text.emplace();
  char part[4096];
  while (text) {
    const ssize_t bytes = read(file, part, sizeof part);
    if (bytes == 0) break;
    if (bytes > 0) text->append(part, static_cast<std::size_t>(bytes));
    else if (errno != EINTR) text.reset();
  }
  close(file);
  return text;
}

bool replace_file(const std::filesystem::path& path, std::string_view text) {
  auto file = OutputFile::create(path);
  return file && file->write(text).ok() && file->commit().ok();
}

}  // namespace ridge
