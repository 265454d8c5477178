// The table of rope's kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/rope/rope.hpp>

namespace ridge::rope_detail {

enum class Method : std::uint8_t {
  pairs,  // a thread per pair, any strides
  units,  // a unit of 16 or 8 bytes of a head, and of its other half, per thread
};

struct Config {
  Method method = Method::pairs;
  int threads = 256;
  int heads = 1;        // of a thread: they share its angles
  int unit_bytes = 16;  // units: of an access
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per pair and its angle; any strides", {}, Role::fallback},
    {"units", "16-byte accesses", {.method = Method::units}},
    {"heads", "one computation of the angles for four heads, whose loads are in flight together", {.method = Method::units, .heads = 4}},
    {"heads_8", "8-byte accesses, for halves that are no multiple of 16 bytes", {.method = Method::units, .heads = 4, .unit_bytes = 8}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

inline constexpr int most_angles = 256;  // of a head: what is handed to the kernel by value
constexpr std::int64_t unit_elements(const Config& c, DType dtype) {
  return c.unit_bytes / static_cast<std::int64_t>(size_of(dtype));
}

constexpr std::int64_t rotary_dim(const RopeOptions& options, std::int64_t d) {
  return options.rotary_dim > 0 ? options.rotary_dim : d;
}
constexpr std::int64_t rotary_dim(const RopeProblem& p) { return rotary_dim(p.options, p.x.shape[3]); }
// Pieces of a head that a thread each takes: pairs or units that are turned, then elements or units that are copied.
constexpr std::int64_t turned(const Config& c, const RopeProblem& p) {
  if (c.method == Method::pairs) return rotary_dim(p) / 2;
  return rotary_dim(p) / unit_elements(c, p.dtype) / (p.options.style == RopeStyle::neox ? 2 : 1);
}
constexpr std::int64_t pieces(const Config& c, const RopeProblem& p) {
  const std::int64_t rest = p.x.shape[3] - rotary_dim(p);
  return turned(c, p) + (c.method == Method::pairs ? rest : rest / unit_elements(c, p.dtype));
}
constexpr std::int64_t items_of(const Config& c, const RopeProblem& p) {
  return p.x.shape[0] * p.x.shape[1] * ceil_div(p.x.shape[2], c.heads) * pieces(c, p);
}

// Registers of a thread, to the unit in which they are handed out: what nvcc 13 makes of the rows for sm_90a.
constexpr int registers(const Config& c) { return c.heads > 1 ? 80 : c.method == Method::units ? 48 : 32; }

}  // namespace ridge::rope_detail
