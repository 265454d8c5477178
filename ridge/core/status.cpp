#include <ridge/core/status.hpp>

namespace ridge {

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
  }
  return "unknown";
}

Status Status::refuse(Code code, std::string_view op, std::string argument, std::string value, std::string constraint) {
  std::string sentence = std::string(op) + ": " + argument + " is " + value + "; it must be " + constraint;
  return Status(code, std::string(op), std::move(argument), std::move(value), std::move(constraint),
                std::move(sentence));
}

}  // namespace ridge
