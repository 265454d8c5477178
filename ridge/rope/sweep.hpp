// rope as models have it: what `ridge bench --sweep` draws. Queries or keys of prompts, and of one token for each of
// many sequences.
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
  std::int64_t h = d.pick<std::int64_t>({{10, 1}, {15, 2}, {25, 8}, {15, 16}, {25, 32}, {10, 64}});  // of keys: few
  const std::int64_t columns =
      d.chance(70) ? d.pick<std::int64_t>({{3, 64}, {6, 128}, {1, 256}}) : 8 * (4 + d.below(29));
  const DType dtype = d.pick<DType>({{75, bf16}, {15, f16}, {10, f32}});
  const char* place = d.pick<const char*>({{65, ""}, {20, "packed"}, {11, "inplace"}, {2, "offset"}, {2, "padded"}});
  // Angles by tables, of as many places as a model takes.
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
  // A token's place is that in its row, or as it is told: for each place of all sequences, or of each sequence.
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

}  // namespace ridge::rope_detail
