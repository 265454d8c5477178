// Lists of products: validation, the choice between two kernels, and the launch.
#include <ridge/core/on_backend.hpp>
#include <ridge/core/text.hpp>
#include <ridge/gemm/list_launch.hpp>
#include <ridge/gemm/validate.hpp>

namespace ridge {

using namespace gemm_detail;

namespace {

constexpr std::string_view by_multiply_adds = "list_8x8", by_tensor_cores = "list_mma";

// Why tensor cores cannot serve; empty: they can.
std::string refusal_of_mma(const GemmListProblem& p, const DeviceInfo& device) {
  if (p.dtype != f16 && p.dtype != bf16) return "not instantiated for " + std::string(name(p.dtype));
  if (p.layout != GemmLayout::nn && p.layout != GemmLayout::nt) return "it takes layouts nn and nt";
  if (device.cc < 80)
    return "tensor cores' instructions of compute capability 8.0 and later, and " + device.name + " is another device";
  return {};
}

Status renamed(const Status& status) {
  if (status.op() != "gemm") return status;
  return Status::refuse(status.code(), "gemm_list", std::string(status.argument()), std::string(status.value()),
                        std::string(status.constraint()));
}

}  // namespace

Result<GemmListPlan> plan_gemm_list(const GemmListProblem& problem, const DeviceInfo& device,
                                    const PlanOptions& options) {
  GemmListPlan plan{problem, device};
  GemmListProblem& p = plan.problem;
  if (p.count < 0) return Status::invalid("gemm_list", "count", std::to_string(p.count), "0 or more");
  if (!p.out) p.out = gemm_default_out(p.dtype);
  if (p.dtype != f64 && p.dtype != f32 && p.dtype != f16 && p.dtype != bf16)
    return Status::invalid("gemm_list", "dtype", std::string(name(p.dtype)), "one of f64 f32 f16 bf16");
  if (p.scalars.accumulate != Accumulate::plain)
    return Status::invalid("gemm_list", "accumulate", "two_float", "left out: lists have sums in one float");
  // gemm checks types and scalars, for a product of any size.
  RIDGE_TRY(renamed(validate(with_operands(
      {.m = 1, .n = 1, .k = 1, .dtype = p.dtype, .out = p.out, .layout = p.layout, .scalars = p.scalars}))));
  const std::string why = refusal_of_mma(p, device);
  if (!options.variant.empty() && options.variant != by_multiply_adds && options.variant != by_tensor_cores)
    return Status::invalid("gemm_list", "variant", options.variant, "one of list_8x8 list_mma");
  if (options.variant == by_tensor_cores && !why.empty())
    return Status::invalid("gemm_list", "variant", options.variant, "another one here: " + why);
  plan.tensor_cores = why.empty() && options.variant != by_multiply_adds;
  return plan;
}

std::string_view GemmListPlan::variant_name() const { return tensor_cores ? by_tensor_cores : by_multiply_adds; }

Status GemmListPlan::run(const GemmListItem* items, Stream stream) const {
  if (problem.count == 0) return {};
  if (!items) return Status::invalid("gemm_list", "items", "null", "an array of " + count_text(problem.count, "item"));
  const ListArguments args{*this, items, stream};
  return on_backend(device.id, [&](auto backend) {
    using B = decltype(backend);
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      if (tensor_cores) return launch_list_mma(args);
    }
    return launch_list<B>(args);
  });
}

}  // namespace ridge
