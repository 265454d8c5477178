// Where a launch, kernel<<<grid, block>>>(arguments), begins and ends among the tokens of a text.
#pragma once
#include <ridge/lab/source_text.hpp>

#include <string>
#include <vector>

namespace ridge::lab {

struct LaunchText {
  std::size_t kernel;  // tokens: the first of the kernel's,
  std::size_t open;    // "<<<",
  std::size_t close;   // ">>>", which "(" follows,
  std::size_t end;     // and the ")" after the arguments
  std::string called;  // the kernel, as it is written
};

// The launch whose "<<<" is at `open`; a refusal with file and line where it is none.
Result<LaunchText> launch_at(const SourceText&, std::size_t open);

// The kernel's name as a literal, for messages and reports. What a macro pastes together only the preprocessor knows.
std::string literal_of(const std::string& called);

struct LaunchArgument {
  std::size_t begin, end;  // tokens
};
std::vector<LaunchArgument> arguments_of(const SourceText&, const LaunchText&);

// Whether a word begins or goes on with a statement, so that what follows it is an expression.
bool is_keyword(const Token&);

}  // namespace ridge::lab
