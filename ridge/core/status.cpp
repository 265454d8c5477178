#include <ridge/core/status.hpp>

#include <atomic>

namespace ridge {

struct Status::Detail {
  Code code;
  std::string op, argument, value, constraint, sentence;
  mutable std::atomic<unsigned> owners{1};
};

std::string_view name(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid_argument";
    case Code::unsupported: return "unsupported";
    case Code::no_device: return "no_device";
    case Code::out_of_memory: return "out_of_memory";
    case Code::kernel_fault: return "kernel_fault";
    case Code::device_error: return "device_error";
    case Code::io: return "io";
    case Code::interrupted: return "interrupted";
  }
  return "unknown";
}

Status Status::error(Code code, std::string sentence) {
  return Status(new Detail{code, {}, {}, {}, {}, std::move(sentence)});
}
Status Status::invalid(std::string_view op, std::string argument, std::string value, std::string constraint) {
  return refuse(Code::invalid_argument, op, std::move(argument), std::move(value), std::move(constraint));
}
Status Status::refuse(Code code, std::string_view op, std::string argument, std::string value, std::string constraint) {
  std::string sentence = std::string(op) + ": " + argument + " is " + value + "; it must be " + constraint;
  return Status(new Detail{code, std::string(op), std::move(argument), std::move(value), std::move(constraint),
                           std::move(sentence)});
}

const Status::Detail* Status::share(const Detail* detail) noexcept {
  if (detail) detail->owners.fetch_add(1, std::memory_order_relaxed);
  return detail;
}
void Status::release(const Detail* detail) noexcept {
  if (detail->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete detail;
}

Code Status::code() const { return detail_ ? detail_->code : Code::ok; }
std::string_view Status::message() const { return detail_ ? std::string_view(detail_->sentence) : "ok"; }
std::string_view Status::op() const { return detail_ ? std::string_view(detail_->op) : ""; }
std::string_view Status::argument() const { return detail_ ? std::string_view(detail_->argument) : ""; }
std::string_view Status::value() const { return detail_ ? std::string_view(detail_->value) : ""; }
std::string_view Status::constraint() const { return detail_ ? std::string_view(detail_->constraint) : ""; }

}  // namespace ridge
