#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace ridge {

Status check_like(std::string_view op, std::string_view argument, const TensorView& view,
                  std::string_view other_argument, const TensorView& other) {
  const auto refused = [&](const char* property, std::string value, const std::string& wanted) {
    return Status::invalid(op, std::string(argument) + property, std::move(value),
                           "that of " + std::string(other_argument) + ", " + wanted);
  };
  if (view.dtype != other.dtype)
    return refused(".dtype", std::string(name(view.dtype)), std::string(name(other.dtype)));
  if (!view.layout.same_shape(other.layout)) return refused(".shape", view.layout.text(), other.layout.text());
  return check_same_device(op, argument, view.device, other_argument, other.device);
}

Status check_same_device(std::string_view op, std::string_view argument, Device device, std::string_view other_argument,
                         Device other) {
  if (device == other) return {};
  return Status::invalid(op, std::string(argument) + ".device", device_text(device),
                         "that of " + std::string(other_argument) + ", " + device_text(other));
}

Status check_no_overlap(std::string_view op, std::string_view output, const TensorView& out, std::string_view input,
                        const TensorView& in) {
  if (!share_memory(in, out)) return {};
  return Status::invalid(op, std::string(output), "overlapping " + std::string(input), "apart from it");
}

Status check_no_partial_overlap(std::string_view op, std::string_view output, const TensorView& out,
                                std::string_view input, const TensorView& in) {
  if (!share_memory(in, out) || same_elements(in, out)) return {};
  return Status::invalid(op, std::string(output), "overlapping " + std::string(input),
                         "apart from it, or the same elements");
}

Status check_eps(std::string_view op, double eps, DType dtype) {
  const double greatest = dtype == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  if (eps >= 0 && eps <= greatest) return {};
  const bool beyond = eps >= 0 && std::isfinite(eps);
  return Status::invalid(op, "eps", number_text(eps), beyond ? "in float32's range" : "finite and not negative");
}

Status not_as_planned(std::string_view op, const std::string& given, const std::string& planned) {
  return Status::invalid(op, "the request", given == planned ? "of other strides or alignment" : given,
                         "as planned, " + planned);
}

Status check_device(std::string_view op, Device given, const DeviceInfo& planned) {
  if (given == planned.id) return {};
  return Status::invalid(op, "device", device_text(given), "the plan's, " + planned.id_text());
}

Status check_workspace(std::string_view op, const Workspace& given, std::size_t bytes) {
  if (given.bytes >= bytes) return {};
  return Status::invalid(op, "workspace", std::to_string(given.bytes) + " bytes", "at least " + std::to_string(bytes));
}

}  // namespace ridge
