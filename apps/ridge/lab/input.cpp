#include "input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace ridge::cli::lab {

StandardInput::StandardInput() {
  struct stat about {};
  if (fstat(STDIN_FILENO, &about) != 0) return;
  if (S_ISREG(about.st_mode)) begin_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
  is_pipe_ = S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode);
}

int StandardInput::begin_run() {
  if (begin_ >= 0) lseek(STDIN_FILENO, begin_, SEEK_SET);
  given_ = 0;
  int ends[2];
  if (!is_pipe_ || pipe2(ends, O_CLOEXEC) != 0) return STDIN_FILENO;
  to_run_ = ends[1];
  fcntl(to_run_, F_SETFL, O_NONBLOCK);
  return ends[0];
}

void StandardInput::has_started(int descriptor) {
  if (descriptor != STDIN_FILENO) close(descriptor);  // it is the run's alone
}

void StandardInput::feed(int milliseconds) {
  const bool has_more = given_ < kept_.size();
  if (!has_more && has_ended_) return close_pipe();
  std::array<pollfd, 2> wanted{pollfd{to_run_, short(has_more ? POLLOUT : 0), 0},
                               pollfd{has_more ? -1 : STDIN_FILENO, POLLIN, 0}};
  if (poll(wanted.data(), wanted.size(), milliseconds) <= 0) return;
  if (wanted[0].revents & POLLERR) return close_pipe();  // the run reads no more
  if (wanted[0].revents & POLLOUT) give();
  if (wanted[1].revents) take();
}

void StandardInput::take() {
  std::array<char, 1 << 16> part;
  const ssize_t got = read(STDIN_FILENO, part.data(), part.size());
  if (got > 0) kept_.append(part.data(), static_cast<std::size_t>(got));
  else has_ended_ = got == 0 || errno != EINTR;
}

void StandardInput::give() {
  struct sigaction ignore {
  }, former{};
  ignore.sa_handler = SIG_IGN;  // a run may end at any time
  sigaction(SIGPIPE, &ignore, &former);
  const ssize_t took = write(to_run_, kept_.data() + given_, kept_.size() - given_);
  const bool is_closed = took < 0 && errno == EPIPE;
  sigaction(SIGPIPE, &former, nullptr);
  if (took > 0) given_ += static_cast<std::size_t>(took);
  if (is_closed) close_pipe();
}

void StandardInput::close_pipe() {
  if (to_run_ >= 0) close(to_run_);
  to_run_ = -1;
}

}  // namespace ridge::cli::lab
