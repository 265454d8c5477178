// Declarations of shared memory, as g++ is to read them (translate.hpp).
#pragma once
#include <ridge/lab/scopes.hpp>
#include <ridge/lab/source_text.hpp>

#include <string_view>
#include <vector>

namespace ridge::lab {

// Told of all tokens in their order.
class SharedText {
 public:
  SharedText(SourceText& source, const Scopes& scopes) : source_(source), tokens_(source.tokens()), scopes_(scopes) {}

  void begin_function() { shared_.clear(); }
  void follow_condition(const Token& directive);  // #if, #else, #endif
  void follow_scopes();
  void declaration(std::size_t first);  // that begins by extern or __shared__

 private:
  void static_shared(std::size_t first);
  void limit_shared(std::size_t first);

  struct Shared {
    std::string_view name;
    std::size_t scopes;  // how many were open
  };
  SourceText& source_;
  const std::vector<Token>& tokens_;
  const Scopes& scopes_;
  std::vector<Shared> shared_;           // static, and to be seen here
  std::vector<std::size_t> conditions_;  // for each open #if, how many there were before it
  std::size_t shared_until_ = 0;
};

}  // namespace ridge::lab
