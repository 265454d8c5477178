// rope: rotary position embedding. Pairs of elements of a head are rotated by angles that grow with the position.
// rope_cache, which also writes keys and values into the caches that attention reads, is in cache.hpp.
//
//   y1 = x1 cos a - x2 sin a,  y2 = x2 cos a + x1 sin a,  a = position * base^(-2 i / rotary_dim),  i < rotary_dim / 2
//
// Shapes    x and y [b, s, h, d], or [s, h, d]; another order of axes is a view with other strides. Strides are free;
//           heads that are contiguous and start on 16 bytes take the fast path.
// Pairs     neox: elements i and i + rotary_dim / 2 (halves). gptj: elements 2 i and 2 i + 1 (neighbours). Elements
//           from rotary_dim on are copied.
// Types     f32 f16 bf16; y has x's type. Computed in float32, rounded once.
// Positions 0 ... s-1, or given: i32 or i64, [s] or [b, s], of any size and sign.
// Angles    computed in 64-bit fixed point, as fractions of a revolution: as accurate at position 2^36 as at 1. Or
//           given as tables cos and sin, [positions, rotary_dim / 2], f32 or of x's type; a position outside of them
//           gives NaN, and a checked plan refuses it.
// Aliasing  y may be x itself (the same elements); any other overlap is refused.
// Empty     nothing is launched.
// Repeats   bitwise identical.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

#include <optional>

namespace ridge {

enum class RopeStyle : std::uint8_t { neox, gptj };

struct RopeOptions {
  RopeStyle style = RopeStyle::neox;
  std::int64_t rotary_dim = 0;  // even, at most d and 512; 0: d
  double base = 10000;          // finite, 1 or more
  bool operator==(const RopeOptions&) const = default;
};

struct RopeTensors {
  TensorView x = {}, y = {};
  std::optional<TensorView> positions = {}, cos = {}, sin = {};
};

struct RopeProblem {
  RopeOptions options = {};
  DType dtype = DType::f32;
  Layout x = {}, y = {};           // [b, s, h, d]
  int align_x = 16, align_y = 16;  // alignment of the address in bytes, at most 16
  bool positions = false, tables = false;
  bool operator==(const RopeProblem&) const = default;

  // Contiguous, aligned tensors; positions 0 ... s-1.
  RIDGE_API static RopeProblem contiguous(DType, std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d,
                                          const RopeOptions& = {});
  // The problem of these views. Refuses shapes or dtypes that do not match, and overlap.
  RIDGE_API static Result<RopeProblem> of(const RopeTensors&, const RopeOptions&);
  RIDGE_API std::string text() const;  // for explain()
};

class RopePlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const RopeTensors&, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  RopeProblem problem;
  DeviceInfo device;
  int variant = 0;        // row of the table in variants.hpp
  std::int64_t grid = 0;  // blocks
  bool checked = false;   // refuses positions outside of the tables
};

RIDGE_API Result<RopePlan> plan_rope(const RopeProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void rope(const RopeTensors&, const RopeOptions& = {}, Stream = {});

}  // namespace ridge
