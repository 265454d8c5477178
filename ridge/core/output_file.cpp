#include <ridge/core/output_file.hpp>
#include <ridge/core/text.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ridge {

namespace fs = std::filesystem;

// ---- temporary files ------------------------------------------------------------------------------------------------

namespace {

constexpr std::string_view prefix = ".ridge-";
constexpr std::size_t name_bytes = prefix.size() + 16;  // within every file system's limit, whatever the target's name

// A name that nobody can guess, so that nobody can create the file first.
std::string random_name() {
  unsigned char bytes[(name_bytes - prefix.size()) / 2] = {};
  while (getrandom(bytes, sizeof bytes, 0) < 0 && errno == EINTR) {}
  std::string name(prefix);
  for (unsigned char byte : bytes) name += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return name;
}

// The files that a signal handler has to remove. It knows of no more files than these at once.
struct Slot {
  enum Use : int { none, being_filled, filled };
  std::atomic<int> use{none};
  int folder = -1;
  char name[name_bytes + 1] = {};
};
static_assert(std::atomic<int>::is_always_lock_free);
Slot slots[64];

int take_slot(int folder, const std::string& name) {
  for (Slot& slot : slots) {
    int free = Slot::none;
    if (!slot.use.compare_exchange_strong(free, Slot::being_filled)) continue;
    slot.folder = folder;
    std::memcpy(slot.name, name.c_str(), name_bytes + 1);
    slot.use = Slot::filled;
    return static_cast<int>(&slot - slots);
  }
  return -1;
}

void free_slot(int& taken) {
  if (taken >= 0) slots[std::exchange(taken, -1)].use = Slot::none;
}

// The target of a link, which need not exist; a cycle of links stays a link.
fs::path behind_links(fs::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && fs::is_symlink(path, error); ++links) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;
  }
  return path;
}

int sync_of(int descriptor) {
  while (fsync(descriptor) != 0) {
    if (errno == EINVAL || errno == ENOTSUP || errno == EROFS) return 0;  // no disk behind the file
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

void OutputFile::remove_unfinished() noexcept {
  for (const Slot& slot : slots)
    if (slot.use == Slot::filled) unlinkat(slot.folder, slot.name, 0);
}

// ---- the file -------------------------------------------------------------------------------------------------------

Status OutputFile::failed(int error) const {
  return Status::error(Code::io,
                       "output file '" + printable(asked_.native()) + "' cannot be written: " + std::strerror(error));
}

// Finds out where the file will be, and what is there now.
Result<OutputFile> OutputFile::find(const fs::path& path) {
  OutputFile file;
  file.asked_ = path;
  if (path.empty()) return file.failed(ENOENT);
  if (path.native().find('\0') != path.native().npos) return file.failed(EINVAL);
  struct stat about {
  }, out{};
  const bool exists = stat(path.c_str(), &about) == 0;
  if (!exists && errno != ENOENT) return file.failed(errno);
  if (exists && S_ISDIR(about.st_mode)) return file.failed(EISDIR);
  // Sharing standard output does not matter where it discards everything, as /dev/null does.
  const bool to_standard_output = exists && fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == about.st_dev &&
                                  out.st_ino == about.st_ino && (!S_ISCHR(out.st_mode) || isatty(STDOUT_FILENO));
  if (to_standard_output || (exists && !S_ISREG(about.st_mode))) {
    file.is_device_ = true;
    file.place_ = {about.st_dev, about.st_ino, "", to_standard_output};
    return file;
  }
  const fs::path target = behind_links(path);  // a link stays a link
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!target.has_filename()) return file.failed(EISDIR);
  file.folder_ = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (file.folder_ < 0 || fstat(file.folder_, &out) != 0) return file.failed(errno);
  if (exists && faccessat(file.folder_, target.filename().c_str(), W_OK, 0) != 0)
    return file.failed(errno);  // a read-only file is not replaced
  if (exists) file.mode_ = about.st_mode & 0777;
  file.place_ = {out.st_dev, out.st_ino, target.filename().native()};
  return file;
}

Status OutputFile::open_device() {
  do
    descriptor_ =
        place_.standard_output ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : open(asked_.c_str(), O_WRONLY | O_CLOEXEC);
  while (descriptor_ < 0 && errno == EINTR);
  return descriptor_ < 0 ? failed(errno) : Status{};
}

Status OutputFile::open_temporary() {
  do {
    free_slot(slot_);
    temporary_ = random_name();
    slot_ = take_slot(folder_, temporary_);  // before the file exists, because a signal may come at any time
    descriptor_ = openat(folder_, temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && (errno == EEXIST || errno == EINTR));
  if (descriptor_ >= 0 && (mode_ == 0 || fchmod(descriptor_, mode_) == 0)) return {};
  const int error = errno;
  if (descriptor_ < 0) temporary_.clear();  // not ours to remove
  return failed(error);
}

Result<OutputFile> OutputFile::create(const fs::path& path) {
  auto file = find(path);
  if (!file) return file;
  RIDGE_TRY(file->is_device_ ? file->open_device() : file->open_temporary());
  return file;
}

Result<OutputFile::Place> OutputFile::check(const fs::path& path) {
  auto file = find(path);
  if (!file) return file.error();
  if (!file->is_device_) {
    RIDGE_TRY(file->open_temporary());  // the destructor removes it
  } else if (!file->place_.standard_output && access(path.c_str(), W_OK) != 0) {
    return file->failed(errno);
  }
  return file->place_;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : asked_(std::move(other.asked_)),
      place_(std::move(other.place_)),
      mode_(other.mode_),
      is_device_(other.is_device_),
      folder_(std::exchange(other.folder_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      temporary_(std::exchange(other.temporary_, {})),
      slot_(std::exchange(other.slot_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlinkat(folder_, temporary_.c_str(), 0);
  free_slot(slot_);
  if (folder_ >= 0) close(folder_);
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

Status OutputFile::finish() {
  if (descriptor_ < 0) return {};
  // Sync the bytes before the rename: after a power loss the name could otherwise refer to an empty file.
  if (const int error = is_device_ ? 0 : sync_of(descriptor_)) return failed(error);
  // Some file systems report a full disk only here.
  return close(std::exchange(descriptor_, -1)) == 0 ? Status{} : failed(errno);
}

Status OutputFile::commit() {
  RIDGE_TRY(finish());
  if (temporary_.empty()) return {};
  if (renameat(folder_, temporary_.c_str(), folder_, place_.name.c_str()) != 0) return failed(errno);
  temporary_.clear();
  free_slot(slot_);
  // Sync the name too. The rename has succeeded, so a failure of this sync is ignored.
  if (const int folder = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    (void)sync_of(folder);
    close(folder);
  }
  return {};
}

}  // namespace ridge
