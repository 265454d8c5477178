#include <ridge/check/isolated.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

namespace ridge::check {

namespace {
constexpr std::size_t longest_text = 8192;

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void put(char* to, std::string_view text) {
  const std::size_t size = std::min(text.size(), longest_text - 1);
  std::memcpy(to, text.data(), size);
  to[size] = 0;
}
}  // namespace

struct Board::Shared {
  char text[longest_text] = {}, why[longest_text] = {};
  Verdict::Kind kind = Verdict::right;  // of the report
  std::atomic<std::int64_t> began_ms{0};
  std::atomic<std::uint64_t> begun{0}, ended[Verdict::hung + 1] = {};
};

Board::Board() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared;
}
Board::~Board() { munmap(shared_, sizeof(Shared)); }

void Board::begin(const Case& c) {
  put(shared_->text, c.text());
  shared_->began_ms = now_ms();
}
void Board::report(const Verdict& verdict) {
  put(shared_->text, verdict.case_text);
  put(shared_->why, verdict.why);
  shared_->kind = verdict.kind;
}

std::uint64_t Board::begun() const { return shared_->begun; }
void Board::count_begun() { ++shared_->begun; }
std::uint64_t Board::ended(Verdict::Kind kind) const { return shared_->ended[kind]; }
void Board::count_ended(Verdict::Kind kind) { ++shared_->ended[kind]; }

Verdict Board::run(const std::function<void()>& work, double seconds_of_a_case, std::size_t bytes) {
  shared_->kind = Verdict::right;
  put(shared_->text, "");
  put(shared_->why, "");
  shared_->began_ms = now_ms();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return {Verdict::crashed, {}, "a process could not be made: " + std::string(std::strerror(errno))};
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit none{0, 0}, memory{bytes, bytes};
    setrlimit(RLIMIT_CORE, &none);
    if (bytes > 0) setrlimit(RLIMIT_AS, &memory);
    work();
    std::fflush(nullptr);
    _exit(0);  // without the runtime's cleanup, whose resources are the parent's as well
  }
  int status = 0;
  bool killed = false;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (static_cast<double>(now_ms() - shared_->began_ms) > 1000 * seconds_of_a_case) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      killed = true;
      break;
    }
    usleep(1000);
  }
  const auto finding = [&](Verdict::Kind kind, std::string why) {
    ++shared_->ended[kind];
    return Verdict{kind, shared_->text, std::move(why)};
  };
  if (killed)
    return finding(Verdict::hung,
                   "it was not done after " + std::to_string(static_cast<int>(seconds_of_a_case)) + " s");
  if (WIFSIGNALED(status)) return finding(Verdict::crashed, std::string("it died of ") + strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return finding(Verdict::crashed, "the process ended with exit code " + std::to_string(WEXITSTATUS(status)));
  return {shared_->kind, shared_->text, shared_->why};
}

}  // namespace ridge::check
