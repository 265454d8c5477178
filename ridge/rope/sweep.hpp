// The distribution of rope and rope_cache in models, from which `ridge bench --sweep` draws: queries or keys of
// prompts, and of one token for each of many sequences.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <algorithm>
#include <string>

namespace ridge::rope_detail {

using check::Draw;

inline std::string draw(Draw& d) {
  const bool decoding = d.chance(40);
  std::int64_t b = d.log_uniform(1, decoding ? 512 : 16), s = decoding ? 1 : d.size(16, 16384);
  std::int64_t h = d.pick<std::int64_t>({{10, 1}, {15, 2}, {25, 8}, {15, 16}, {25, 32}, {10, 64}});  // keys have few
  const std::int64_t columns =
      d.chance(70) ? d.pick<std::int64_t>({{3, 64}, {6, 128}, {1, 256}}) : 8 * (4 + d.below(29));
  const DType dtype = d.pick<DType>({{75, bf16}, {15, f16}, {10, f32}});
  const char* place = d.pick<const char*>({{65, ""}, {20, "packed"}, {11, "inplace"}, {2, "offset"}, {2, "padded"}});
  // Angles from tables, with as many positions as a model supports.
  const bool tables = d.chance(50);
  std::int64_t more =
      tables ? std::max(d.pick<std::int64_t>({{1, 2048}, {2, 4096}, {2, 8192}}) - s, std::int64_t{0}) : 0;
  const auto fits = [&] {
    const double elements = static_cast<double>(b * s * h * columns);
    const double of_tables = tables ? 4 * static_cast<double>((s + more) * columns) : 0;
    return d.fits(
        elements * static_cast<double>(size_of(dtype)) * (place == std::string_view("packed") ? 4 : 2) + of_tables, 0);
  };
  d.shrink({&b, &h}, 1, fits);
  d.shrink({&s, &more}, 64, fits);

  check::Case c{.op = {}, .dtype = dtype, .dims = {{"b", b}, {"s", s}, {"h", h}, {"d", columns}}, .options = {}};
  // A token's position is its index in the sequence, or given: one row for all sequences, or one for each.
  const std::int64_t positions = decoding ? 2 : d.pick<std::int64_t>({{60, 0}, {15, 1}, {25, 2}});
  if (positions) c.dims.emplace_back("positions", positions);
  if (tables) c.dims.emplace_back("tables", s + more);
  if (tables && d.chance(30)) c.dims.emplace_back("narrow", 1);
  if (d.chance(20)) c.options.set("style", "gptj");
  if (d.chance(15)) c.options.set("rotary_dim", std::to_string(std::max<std::int64_t>(columns / 4 / 2 * 2, 2)));
  if (!tables && d.chance(40)) c.options.set("base", d.chance(70) ? "500000" : "1000000");
  if (*place) c.options.set("place", place);
  return c.text();
}

// One token of each of many sequences, whose caches have room for more, or prompts that fill their caches.
inline std::string draw_cache(Draw& d) {
  const bool decoding = d.chance(70), paged = d.chance(50);
  std::int64_t b = d.log_uniform(1, decoding ? 256 : 8), s = decoding ? 1 : d.size(16, 8192);
  std::int64_t hkv = d.pick<std::int64_t>({{15, 1}, {15, 2}, {15, 4}, {40, 8}, {15, 32}});
  const std::int64_t share = d.pick<std::int64_t>({{25, 1}, {15, 3}, {35, 4}, {25, 8}});  // heads of q per head of k
  const std::int64_t columns =
      d.chance(70) ? d.pick<std::int64_t>({{3, 64}, {6, 128}, {1, 256}}) : 8 * (4 + d.below(29));
  const std::int64_t page = d.pick<std::int64_t>({{60, 16}, {20, 64}, {20, 256}});
  std::int64_t rows = d.log_uniform(16, 4096);  // of a cache that receives a token
  const DType dtype = d.pick<DType>({{75, bf16}, {15, f16}, {10, f32}});
  const char* place = d.pick<const char*>({{45, ""}, {40, "packed"}, {11, "inplace"}, {2, "offset"}, {2, "padded"}});
  const auto fits = [&] {
    const double tokens = static_cast<double>(b * s * hkv * (share + 2) * columns);
    // A benchmark cycles through up to 64 sets of small inputs, each with its own caches.
    const double caches = decoding ? 64 * static_cast<double>(2 * b * hkv * (rows + page) * columns) : 0;
    return d.fits((4 * tokens + caches) * static_cast<double>(size_of(dtype)), 0);
  };
  d.shrink({&b, &hkv}, 1, fits);
  d.shrink({&rows}, 1, fits);
  d.shrink({&s}, 64, fits);

  check::Case c{.op = {},
                .dtype = dtype,
                .dims = {{"b", b}, {"s", s}, {"hq", hkv * share}, {"hkv", hkv}, {"d", columns}},
                .options = {}};
  if (!decoding) rows = s;
  if (paged) {
    const std::int64_t pages = (rows + page - 1) / page;  // per sequence
    c.dims.insert(c.dims.end(), {{"table", pages}, {"page", page}, {"pages", b * pages}});
    rows = pages * page;
  } else {
    if (decoding) c.dims.emplace_back("rows", rows);
    if (d.chance(50)) c.options.set("layout", "bshd");
  }
  if (decoding || d.chance(40)) c.dims.emplace_back("positions", 2);
  if (d.chance(50)) c.dims.emplace_back("tables", rows);
  if (d.chance(20)) c.options.set("style", "gptj");
  if (d.chance(15)) c.options.set("rotary_dim", std::to_string(std::max<std::int64_t>(columns / 4 / 2 * 2, 2)));
  if (!c.has("tables") && d.chance(40)) c.options.set("base", d.chance(70) ? "500000" : "1000000");
  if (*place) c.options.set("place", place);
  return c.text();
}

}  // namespace ridge::rope_detail
