// What a user says on the command line, turned into what the library takes. Shared by the commands.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/core/device.hpp>
#include <ridge/core/op.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

// Takes the value out of a Result, or leaves the calling function with its error.
#define RIDGE_CLI_TAKE(variable, expression)                \
  auto variable##_result = (expression);                    \
  if (!variable##_result) return variable##_result.error(); \
  auto& variable = *variable##_result

// `text` as --device takes it; empty is the GPU where there is one, otherwise the CPU runtime.
Result<DeviceInfo> choose_device(const std::string& text);

// The device that a case asks for: the CPU runtime with the case's warp, where it names one.
Result<DeviceInfo> device_of(const check::Case&, const DeviceInfo&);

// "k=v" each, as --opt takes them.
Result<Options> parse_options(std::string_view op, const std::vector<std::string>& pairs);

// Whether the operator's table has a row of this name; a sentence with the rows where not.
Status check_variant(const OpInfo&, std::string_view variant);

// A case text with its operator, its book and its options looked up.
struct KnownCase {
  check::Case c;
  const OpInfo* op = nullptr;
  const check::CaseBook* book = nullptr;
  std::vector<TensorType> inputs;
  bool given = false;  // by the user, who is told in so many words where it cannot be run
};
Result<KnownCase> find_case(std::string_view text);

// The cases that arguments of CASE or OP name: a case itself, or all cases of the book of an operator, or of a family's
// operators. No argument is every book. `list` is CaseBook::tests or CaseBook::benches.
Result<std::vector<KnownCase>> select_cases(const std::vector<std::string>& arguments,
                                            std::vector<std::string> check::CaseBook::*list);

// What the plan of a case says of itself on a device, which need not be here. Where it is a GPU that is, the registers
// and shared memory are those of the kernel that would be launched.
Result<Explanation> explain_case(const KnownCase&, const DeviceInfo&, bool is_here = false);

// Bytes of a contiguous tensor; refused where 63 bits cannot count them.
Result<std::size_t> bytes_of(std::string_view op, std::string_view argument, const TensorType&);

// Views without data, contiguous: what planning needs.
std::vector<TensorView> planning_views(const std::vector<TensorType>&, Device);

std::string shape_text(const std::vector<std::int64_t>&);  // "8192x1024", "scalar"
std::string dtype_list(const std::vector<DType>&);         // "f32 f16"
std::string time_text(double us);                          // "12.3 us", "4.56 ms", "1.20 s"

}  // namespace ridge::cli
