// Gradients of f16 and bf16 on Hopper's tensor cores: a block owns bm keys, and dQ is added to.
#pragma once
#include <ridge/attention/gradient.hpp>

namespace ridge::attention_kernels {

// K [bm][d] and V [bm][dv]; stages of Q [bn][d], dO [bn][dv] and dX [bm][bn], all in panels, and of two floats of each
// query; of dQ [bn][d] in float32; a tile of the mask. Where multipliers have roles (sm90_gradient_wide.cuh) dQ leaves
// from registers, and dX, in whose place weights were, has more stages.

// One tile of sums is added to dQ while the other is filled; the place of the second one is a mask's.
constexpr int gradient_sums_stages(const Config& c) { return c.masks ? 1 : 2; }
// Where there are roles: a block that waits for its turn goes on so long. The last one's place is a mask's.
constexpr int gradient_x_stages(const Config& c) { return c.masks ? 3 : 4; }
constexpr bool has_gradient_roles(const Config& c) { return c.bm == 64; }
// Parts of a tile of dQ that blocks add to one after another: the next block begins when the first part is there.
constexpr int gradient_turns_of_tile(const Config& c) { return has_gradient_roles(c) ? 2 : 1; }
inline constexpr int mask_copy_unit = 8;  // elements of 16 bytes, on which rows of a mask's copy begin
constexpr int wgmma_gradient_barrier_bytes(const Config& c) {
  return has_gradient_roles(c) ? (5 + c.stages * 4) * 8 + 6 * 4 : 3 * 8 + c.stages * (6 * 8 + 4) + 2 * 4;
}
// A tile of the mask tensor, [bn][bm] of the 16-bit type.
constexpr int gradient_mask_bytes(const Config& c) { return c.masks ? mma_tile_bytes(c.bn, c.bm) : 0; }
constexpr int wgmma_gradient_bytes(const Config& c) {
  const int x_stages = has_gradient_roles(c) ? gradient_x_stages(c) : c.stages;
  const int sums_stages = has_gradient_roles(c) ? 0 : gradient_sums_stages(c);
  return mma_tile_bytes(c.bm, c.d) + mma_tile_bytes(c.bm, c.dv) +
         c.stages * (mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv) + c.bn * 8) +
         x_stages * mma_tile_bytes(c.bm, c.bn) + sums_stages * c.bn * c.d * 4 + gradient_mask_bytes(c) +
         wgmma_gradient_barrier_bytes(c);
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::wgmma_gradient {

// The mask tensor as the kernel reads it. One that TMA cannot bring as it lies, or of which all queries have one row,
// is copied before: boolean elements as 0 and -inf, repeated axes once, the row that all queries share as often as a
// tile has queries.
struct MaskShape {
  bool is_copied;
  std::int64_t batch, heads, rows, columns;  // of the copy
  constexpr std::int64_t elements() const { return is_copied ? batch * heads * rows * columns : 0; }
};
constexpr MaskShape mask_shape(const Config& c, const AttentionProblem& p) {
  if (p.mask == AttentionMask::none) return {};
  const AttentionOperand& m = *p.mask_lies;
  const bool is_copied = p.mask_dtype != p.dtype || m.row == 0 || !has_vectors(m, p.mask_dtype);
  return {is_copied, m.batch != 0 ? p.b : 1, m.head != 0 ? p.hq : 1, m.row != 0 ? p.sq : c.bn,
          ceil_div(p.sk, mask_copy_unit) * mask_copy_unit};
}

// The workspace, in the order of its parts' bytes: dQ in float32, facts and bases of queries, by whole tiles of these;
// the copy of a mask; a word of each tile, and one.
struct WorkspaceParts {
  std::int64_t tiles, sums, facts, bases, mask, words;  // tiles: of bn queries
  std::int64_t bytes() const { return sums + facts + bases + mask + words; }
};
constexpr WorkspaceParts workspace_parts(const Config& c, const AttentionProblem& p) {
  const std::int64_t tiles = ceil_div(p.sq, c.bn), all = p.b * p.hq * tiles;
  return {.tiles = tiles,
          .sums = all * c.bn * c.d * 4,
          .facts = all * c.bn * 8,
          .bases = all * c.bn * 4,
          .mask = mask_shape(c, p).elements() * 2,
          .words = (all * gradient_turns_of_tile(c) + 1) * 4};
}

inline std::string refuse_mask(const Config& c, const AttentionProblem& p) {
  if (!c.masks) return {};
  if (p.mask == AttentionMask::none) return "it is for mask tensors";
  if (p.mask_dtype == f32)
    return "masks that it takes are boolean, or of the tensors' type, and this one is of float32";
  return {};
}

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::gradients); !why.empty()) return why;
  if (std::string why = refuse_mask(c, p); !why.empty()) return why;
  if (std::string why = refuse_other_than_hopper(device, "tensor cores' instructions"); !why.empty()) return why;
  if (p.d % 8 != 0 || p.dv % 8 != 0)
    return "TMA stores rows whose bytes are a multiple of 16, and d is " + std::to_string(p.d) + ", dv " +
           std::to_string(p.dv);
  if (std::string why =
          refuse_without_vectors({&p.q, &p.k, &p.v, &p.o, &p.grad_o, &p.grad_q, &p.grad_k, &p.grad_v}, p, "TMA takes");
      !why.empty())
    return why;
  if (std::string why = c.masks ? "" : refuse_masks(p); !why.empty()) return why;
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_lengths(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(wgmma_gradient_bytes(c), device);
}

inline std::size_t workspace(const Variant& row, const AttentionProblem& p, int) {
  return static_cast<std::size_t>(workspace_parts(row.config, p).bytes());
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  return footprint_of(row.config, gradient_blocks(row.config, p), wgmma_gradient_bytes(row.config),
                      workspace(row, p, 1));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Products products{.rows = c.bm, .columns = multiply_adds(p, c.d, c.dv), .tflops = device.fp16_tflops};
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device);
  k.launches = c.masks && mask_shape(c, p).is_copied ? 4 : 3;  // a start, the sums, an end; before, a copy
  add_code(k, has_gradient_roles(c) ? 12 : 7);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, one_part, workspace};

}  // namespace ridge::attention_detail::wgmma_gradient
