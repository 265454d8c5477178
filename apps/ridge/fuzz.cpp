// ridge fuzz: operators against cases at random, each finding as the simplest case that shows it.
#include "commands.hpp"
#include "progress.hpp"
#include "request.hpp"

#include <ridge/check/fuzz.hpp>
#include <ridge/check/isolated.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

using check::Board;
using check::Case;
using check::CaseBook;
using check::Verdict;

struct Request {
  std::vector<std::string> operators;
  std::string device = "cpu";
  std::uint64_t seed = 1, first = 0, cases = 0;
  double seconds = 0;
  bool list = false;
};

// A device is looked up where its work is done: what a GPU's driver has begun does not outlive a fork.
bool is_cpu(const Request& request) { return request.device == "cpu"; }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constexpr double seconds_of_a_case = 60, seconds_to_simplify = 20;

std::size_t memory_of_child(const Request& request) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return request.list ? 0 : 0;  // a sanitizer maps all there is
#else
  return is_cpu(request) ? std::size_t{8} << 30 : 0;  // so does a GPU's driver
#endif
}

Result<std::vector<const CaseBook*>> books_of(const Request& request) {
  if (request.operators.empty()) return check::case_books();
  std::vector<const CaseBook*> books;
  for (const std::string& name : request.operators) {
    RIDGE_CLI_TAKE(book, check::find_case_book(name));
    books.push_back(book);
  }
  return books;
}

// Whether two findings are the same but for numbers.
std::string kind_of(const Verdict& verdict) {
  std::string text(verdict.case_text.substr(0, verdict.case_text.find(':')));
  text += std::string(" ") + std::string(name(verdict.kind)) + " ";
  for (char c : verdict.why.substr(0, 200))
    if (std::string_view("0123456789+-.einfa").find(c) == std::string_view::npos) text += c;
  return text;
}

class Campaign {
 public:
  Campaign(const Request& request, std::vector<const CaseBook*> books) : request_(request), books_(std::move(books)) {}

  Result<int> run() {
    Progress progress("fuzzing");
    for (std::uint64_t i = 0; i < request_.first; ++i) board_.count_begun();
    while (!is_over()) {
      const Verdict found = board_.run([&] { try_on(); }, seconds_of_a_case, memory_of_child(request_));
      if (found.case_text.empty() && !found.why.empty()) return Status::error(Code::no_device, found.why);
      if (!found.is_finding()) continue;
      // The first of a kind is made simple. Others are counted.
      if (auto [known, is_new] = seen_.try_emplace(kind_of(found), 0); is_new) {
        const Verdict simple = simplified(found);
        const bool is_known = kind_of(simple) != known->first && !seen_.try_emplace(kind_of(simple), 1).second;
        ++known->second;
        progress.erase();
        if (!is_known) print(simple);
      } else {
        ++known->second;
      }
    }
    progress.erase();
    return summary();
  }

 private:
  bool is_over() const {
    const std::uint64_t begun = board_.begun() - request_.first;
    return (request_.cases > 0 && begun >= request_.cases) ||
           (request_.seconds > 0 && seconds_since(begin_) >= request_.seconds);
  }

  // In the child: case after case, to the first finding.
  void try_on() {
    const auto device = find_device(request_.device);
    if (!device) return board_.report({Verdict::crashed, {}, std::string(device.error().message())});
    while (!is_over()) {
      const std::uint64_t at = board_.begun();
      board_.count_begun();
      check::Draw draw(request_.seed, at, check::room_of_fuzzing);
      const CaseBook& book = *books_[at % books_.size()];
      Case c;
      Verdict verdict;
      try {
        c = check::fuzz_case(book, draw, *device, check::room_of_fuzzing,
                             [&](const Case& so_far) { board_.begin(so_far); });
        board_.begin(c);
        if (request_.list) {
          fmt::print("{}\n", c.text());
          continue;
        }
        verdict = check::try_case(c, *device, check::room_of_fuzzing);
      } catch (const std::exception& error) {
        verdict = {Verdict::threw, c.text(), error.what()};
      }
      board_.count_ended(verdict.kind);
      if (verdict.is_finding()) return board_.report(verdict);
    }
  }

  Verdict tried_alone(const Case& c) const {
    Board board;
    return board.run(
        [&] {
          board.begin(c);
          if (const auto device = find_device(request_.device))
            board.report(check::try_case(c, *device, check::room_of_fuzzing));
        },
        seconds_of_a_case, memory_of_child(request_));
  }

  // The last of a chain of simpler cases of which each shows the same kind of finding.
  Verdict simplified(Verdict found) const {
    const auto begin = std::chrono::steady_clock::now();
    for (bool simpler = true; simpler;) {
      simpler = false;
      const auto c = Case::parse(found.case_text);
      if (!c) return found;
      for (const Case& less : check::simpler_cases(*c)) {
        if (seconds_since(begin) > seconds_to_simplify) return found;
        Verdict again = tried_alone(less);
        if (again.kind != found.kind) continue;
        found = std::move(again);
        simpler = true;
        break;
      }
    }
    return found;
  }

  static void print(const Verdict& finding) {
    fmt::print("{:<9} {}\n          {}\n", name(finding.kind), finding.case_text, finding.why);
    std::fflush(stdout);
  }

  int summary() const {
    std::uint64_t found = 0;
    for (const auto& [kind, times] : seen_) found += times;
    const std::uint64_t begun = board_.begun() - request_.first;
    if (request_.list) return exit_done;
    fmt::print("seed {}: {} cases in {:.0f} s on {}: {} right, {} refused, {} planned alone, {} findings of {} kinds\n",
               request_.seed, begun, seconds_since(begin_), request_.device, board_.ended(Verdict::right),
               board_.ended(Verdict::refused), board_.ended(Verdict::planned), found, seen_.size());
    return found > 0 ? exit_check_failed : exit_done;
  }

  const Request& request_;
  std::vector<const CaseBook*> books_;
  Board board_;
  std::map<std::string, std::uint64_t> seen_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Result<int> fuzz(const Request& given) {
  Request request = given;
  if (request.seconds == 0 && request.cases == 0) request.seconds = 60;
  RIDGE_CLI_TAKE(books, books_of(request));
  return Campaign(request, std::move(books)).run();
}

}  // namespace

void add_fuzz(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("fuzz", "Cases at random, at and beyond every limit, against the oracle; exit 1 on a finding");
  command->add_option("OP", request->operators, "Operators (default: all)");
  command->add_option("--seed", request->seed, "Of the random numbers: a seed has its cases (default: 1)");
  command->add_option("--seconds", request->seconds, "So long (default: 60, where --cases is not given)");
  command->add_option("--cases", request->cases, "So many cases");
  command->add_option("--first", request->first, "From this case of the seed on (default: 0)");
  command->add_option("--device,--on", request->device, "cpu, cuda or cuda:N (default: cpu)");
  command->add_flag("--list", request->list, "Print the cases instead of trying them");
  command->callback([request, &action] { action = [request] { return fuzz(*request); }; });
}

}  // namespace ridge::cli
