// float32 on Hopper's tensor cores, each number split into three bf16 components, where it is asked for.
#pragma once
#include <ridge/attention/scores.hpp>

namespace ridge::attention_kernels {

// Tiles of bf16, three per tile of float32: wide Q [bm][d] (narrow Q is in registers); and a circular buffer of
// `stages` panels [bn][64], those of a tile of K and then those of V. Two barriers and a flag per panel of the buffer.

inline constexpr int components = 3;  // of 8 bits each, for the 24 bits of float32
constexpr int terms_tile_bytes(int rows, int columns) { return components * mma_tile_bytes(rows, columns); }
constexpr bool terms_keep_q(const Config& c) { return c.d <= panel; }  // in registers
constexpr int terms_q_bytes(const Config& c) { return terms_keep_q(c) ? 0 : terms_tile_bytes(c.bm, c.d); }
constexpr int terms_stage_bytes(const Config& c) { return terms_tile_bytes(c.bn, panel); }
constexpr int terms_bytes(const Config& c) {
  return terms_q_bytes(c) + c.stages * (terms_stage_bytes(c) + 2 * 8 + 4) + c.stages % 2 * 4;
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::wgmma_terms {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (p.rule.math != AttentionMath::bf16x6) return "it emulates float32, which has to be asked for: math=bf16x6";
  if (std::string why = refuse_other_than_hopper(device, "tensor cores' instructions"); !why.empty()) return why;
  if (p.d % 4 != 0 || p.dv % 4 != 0)
    return "rows are read by 4 elements, and d is " + std::to_string(p.d) + ", dv " + std::to_string(p.dv);
  if (std::string why = refuse_without_vectors({&p.q, &p.k, &p.v, &p.o}, p, "it reads"); !why.empty()) return why;
  if (std::string why = refuse_masks(p); !why.empty()) return why;
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(terms_bytes(c), device);
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  return footprint_of(row.config, blocks_of(row.config, p), terms_bytes(row.config));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  constexpr double emulation = 6;  // bf16 products per float32 product
  // Efficiencies include the edge of a causal mask; a window has another one.
  const Products products{.rows = c.bm,
                          .columns = multiply_adds(p, c.d, c.dv),
                          .tflops = device.fp16_tflops / emulation,
                          .edge_keys = has_far_edge(p) ? c.bn : 0};
  return kernel_of(row, p, footprint(row, p, device), products, device);
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}};

}  // namespace ridge::attention_detail::wgmma_terms
