// What a user's program reads as standard input, which is the same in each of its runs. A file is read from where it
// was at the first one. What comes through a pipe is taken as a run asks for it, and kept for the next ones: nobody
// waits for the end of an input that no run reads. A terminal is every run's own.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <string>

namespace ridge::cli::lab {

class StandardInput {
 public:
  StandardInput();

  // The descriptor that a run is to have as its standard input, until it has been started.
  int begin_run();
  void has_started(int descriptor);
  void end_run() { close_pipe(); }

  bool is_fed() const { return to_run_ >= 0; }
  // Waits until the run takes something or there is more to give, but not long.
  void feed(int milliseconds);

 private:
  void take();
  void give();
  void close_pipe();

  off_t begin_ = -1;  // in a file
  bool is_pipe_ = false, has_ended_ = false;
  std::string kept_;       // all that came through the pipe
  std::size_t given_ = 0;  // of it to this run
  int to_run_ = -1;
};

}  // namespace ridge::cli::lab
