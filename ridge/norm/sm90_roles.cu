// Launches the rows of Method::fused that have roles.
#include <ridge/norm/launch_arguments.cuh>
#include <ridge/norm/sm90_roles.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::norm_detail {
namespace {

// Rows of the table that differ in their cluster share a kernel.
struct Roles {
  static constexpr Config config = {.method = Method::fused, .threads = 256, .in_registers = 4, .summing = 128};
};
constexpr bool known_kernels() {
  for (const Variant& row : variants) {
    Config one = row.config;
    if (!has_roles(one)) continue;
    if (one.cluster > RoleRows::most_cluster) return false;
    one.cluster = 1;
    if (one != Roles::config) return false;
  }
  return true;
}
static_assert(known_kernels());

}  // namespace

template <class T> Status launch_roles(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Config& c = variants[plan.variant].config;
  const RoleRows shape = role_rows(c, plan.problem, plan.device.smem_optin, plan.grid);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(plan.grid)),
                        .block = dim3(role_threads(c)),
                        .smem = static_cast<std::size_t>(shape.smem),
                        .stream = stream.handle};
  SumsPlan sums;
  sums.fused = true;
  return tile::sm90::launch_clusters(at, c.cluster, norm_role_gradient<Roles, T>,
                                     backward_of<T>({plan, operands, sums, stream}),
                                     static_cast<float*>(operands.workspace), shape);
}
template Status launch_roles<half>(const NormPlan&, const Operands&, Stream);
template Status launch_roles<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
