// The table of rope's kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/rope/rope.hpp>

namespace ridge::rope_detail {

enum class Method : std::uint8_t {
  pairs,    // a thread per pair, any strides
  vectors,  // a vector of 16 or 8 bytes of a head, and of its other half, per thread
};

struct Config {
  Method method = Method::pairs;
  int threads = 256;
  int heads = 1;          // heads per thread, which share its angles
  int vector_bytes = 16;  // vectors: bytes of an access
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
    {"units", "16-byte accesses", {.method = Method::vectors}},
    {"heads", "one computation of the angles for four heads, whose loads are in flight together", {.method = Method::vectors, .heads = 4}},
    {"heads_8", "8-byte accesses, for halves that are no multiple of 16 bytes", {.method = Method::vectors, .heads = 4, .vector_bytes = 8}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

inline constexpr int most_angles = 256;  // angles of a head; passed to the kernel by value
constexpr std::int64_t vector_elements(const Config& c, DType dtype) {
  return c.vector_bytes / static_cast<std::int64_t>(size_of(dtype));
}

constexpr std::int64_t rotary_dim(const RopeOptions& options, std::int64_t d) {
  return options.rotary_dim > 0 ? options.rotary_dim : d;
}
constexpr std::int64_t rotary_dim(const RopeProblem& p) { return rotary_dim(p.options, p.x.shape[3]); }
// Pieces of a head, one per thread: first pairs or vectors that are rotated, then elements or vectors that are copied.
constexpr std::int64_t rotated_pieces(const Config& c, const RopeProblem& p) {
  if (c.method == Method::pairs) return rotary_dim(p) / 2;
  return rotary_dim(p) / vector_elements(c, p.dtype) / (p.options.style == RopeStyle::neox ? 2 : 1);
}
constexpr std::int64_t pieces(const Config& c, const RopeProblem& p) {
  const std::int64_t rest = p.x.shape[3] - rotary_dim(p);
  return rotated_pieces(c, p) + (c.method == Method::pairs ? rest : rest / vector_elements(c, p.dtype));
}
constexpr std::int64_t items_of(const Config& c, const RopeProblem& p) {
  return p.x.shape[0] * p.x.shape[1] * ceil_div(p.x.shape[2], c.heads) * pieces(c, p);
}

// Registers per thread, rounded to the allocation unit: those of nvcc 13 for sm_90a.
constexpr int registers(const Config& c) { return c.heads > 1 ? 80 : c.method == Method::vectors ? 48 : 32; }

}  // namespace ridge::rope_detail
