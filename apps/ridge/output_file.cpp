#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace ridge::cli {

namespace fs = std::filesystem;

Status OutputFile::failed(int error) const {
  return Status::error(Code::io, "output file '" + asked_.string() + "' cannot be written: " + std::strerror(error));
}

Result<OutputFile> OutputFile::create(const fs::path& path) {
  OutputFile file;
  file.asked_ = path;
  if (path.empty()) return file.failed(ENOENT);
  std::error_code error;
  file.target_ = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;  // a link stays a link
  struct stat about {};
  const bool exists = stat(file.target_.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) return file.failed(EISDIR);
  if (exists && !S_ISREG(about.st_mode)) {  // a device: nothing to rename
    file.descriptor_ = open(file.target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor_ < 0) return file.failed(errno);
    return file;
  }
  if (exists && access(file.target_.c_str(), W_OK) != 0) return file.failed(errno);  // read-only stays as it is
  const mode_t mode = exists ? about.st_mode & 0777 : 0666;
  for (int attempt = 0; file.descriptor_ < 0; ++attempt) {
    file.temporary_ = file.target_;
    file.temporary_ += ".ridge-" + std::to_string(getpid()) + "-" + std::to_string(attempt) + ".tmp";
    file.descriptor_ = open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file.descriptor_ < 0 && errno != EEXIST) {
      const int reason = errno;
      file.temporary_.clear();  // not ours to remove
      return file.failed(reason);
    }
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : asked_(std::move(other.asked_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::write(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t put = ::write(descriptor_, at, std::min<std::size_t>(count, 1u << 30));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed(errno);
    at += put;
    count -= static_cast<std::size_t>(put);
  }
  return {};
}

Status OutputFile::commit() {
  // Some file systems report a full disk only here.
  if (close(std::exchange(descriptor_, -1)) != 0) return failed(errno);
  if (!temporary_.empty() && rename(temporary_.c_str(), target_.c_str()) != 0) return failed(errno);
  temporary_.clear();
  return {};
}

}  // namespace ridge::cli
