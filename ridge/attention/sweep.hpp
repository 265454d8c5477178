// Attention as in models, for `ridge bench --sweep`: decoding over a cache, prompts and causal training, encoders of
// text, images and sound, cross-attention, and scores with an additive bias.
#pragma once
#include <ridge/check/case.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/core/dtype.hpp>

#include <algorithm>
#include <string>

namespace ridge::attention_detail {

using check::Draw;

enum class Use { decoding, causal, encoder, cross, biased };

struct Shape {
  Use use;
  std::int64_t b, hkv, per_kv, sq, more, d;  // per_kv: query heads per key head; more: keys, beside `own`
  bool own;                                  // self-attention: as many keys as queries, and `more` before them
  std::int64_t hq() const { return hkv * per_kv; }
  std::int64_t sk() const { return (own ? sq : 0) + more; }
};

// Head widths: common ones, or any multiple of 8.
inline std::int64_t drawn_columns(Draw& d) {
  if (d.chance(35)) return 8 * (4 + d.below(29));  // 32 to 256
  return d.pick<std::int64_t>({{30, 64}, {40, 128}, {6, 32}, {7, 80}, {7, 96}, {10, 256}});
}

// Patches of an image and one more, 30 seconds of sound, usual limits of text; or any length.
inline std::int64_t drawn_length(Draw& d) {
  if (d.chance(50)) return d.size(128, 4096);
  return d.pick<std::int64_t>({{20, 197}, {15, 257}, {10, 577}, {15, 1500}, {10, 384}, {20, 512}, {10, 1024}});
}

inline Shape drawn_shape(Draw& d) {
  const Use use =
      d.pick<Use>({{30, Use::decoding}, {30, Use::causal}, {20, Use::encoder}, {10, Use::cross}, {10, Use::biased}});
  Shape s{.use = use, .b = 1, .hkv = 1, .per_kv = 1, .sq = 1, .more = 0, .d = drawn_columns(d), .own = true};
  const std::int64_t heads = d.pick<std::int64_t>({{10, 4}, {15, 8}, {20, 12}, {20, 16}, {25, 32}, {5, 40}, {5, 64}});
  const bool shares = use == Use::decoding || use == Use::causal;
  s.per_kv = shares ? d.pick<std::int64_t>({{40, 1}, {12, 2}, {25, 4}, {12, 8}, {11, heads}}) : 1;
  s.hkv = std::max<std::int64_t>(heads / s.per_kv, 1);
  switch (use) {
    case Use::decoding:
      s.b = d.log_uniform(1, 128);
      s.sq = d.chance(75) ? 1 : 1 + d.below(16);  // speculative tokens, verified together
      s.more = d.log_uniform(1, 16384) - 1;
      break;
    case Use::causal:
      s.b = d.log_uniform(1, 16);
      s.sq = d.chance(85) ? d.size(128, 16384) : d.log_uniform(1, 16384);
      if (d.chance(20)) s.more = d.size(128, 16384);  // chunks of a prompt that were read before
      break;
    case Use::encoder:
      s.b = d.log_uniform(1, 256);
      s.sq = drawn_length(d);
      break;
    case Use::cross:
      s.b = d.log_uniform(1, 64);
      s.sq = d.size(16, 4096);
      s.more = d.chance(30) ? 77 : drawn_length(d);
      s.own = false;
      break;
    case Use::biased:
      s.b = d.log_uniform(1, 256);
      s.sq = d.chance(30) ? 49 : d.size(64, 1024);
      break;
  }
  return s;
}

// Shrinks the shape to the available room: fewer heads and sequences, or shorter ones.
inline void fit_shape(Draw& d, Shape& s, DType dtype, bool backward, double spread, std::int64_t page) {
  const auto fits = [&] {
    const std::int64_t kept = (s.sk() + page - 1) / page * page;
    const double queries = static_cast<double>(s.b * s.hq() * s.sq), keys = static_cast<double>(s.b * s.hkv * kept),
                 columns = static_cast<double>(s.d), size = static_cast<double>(size_of(dtype)) * spread;
    const double mask = s.use == Use::biased ? queries * static_cast<double>(s.sk()) * 4 : 0;
    const double scores = queries * static_cast<double>(s.sk());
    return d.fits(2 * (queries + keys) * columns * size * (backward ? 2 : 1) + mask,
                  4 * scores * columns * (backward ? 2.5 : 1), dtype != f32);
  };
  if (d.chance(50)) d.shrink({&s.b, &s.hkv}, 1, fits);
  d.shrink({&s.sq, &s.more}, 64, fits);
  d.shrink({&s.b, &s.hkv}, 1, fits);
  d.shrink({&s.per_kv}, 1, fits);
}

inline std::string drawn_window(Draw& d, std::int64_t keys) {
  const std::int64_t window = d.pick<std::int64_t>({{20, 128}, {20, 512}, {30, 1024}, {30, 4096}});
  return std::to_string(std::min(window, std::max<std::int64_t>(keys / 2, 1)));
}

inline std::string draw(Draw& d) {
  Shape s = drawn_shape(d);
  const DType dtype = d.pick<DType>({{72, bf16}, {18, f16}, {10, f32}});
  const bool decoding = s.use == Use::decoding, causal = s.use == Use::causal;
  const bool backward = !decoding && s.sq >= 16 && d.chance(35), rows_first = d.chance(50);
  // Sequences fill a part of a cache, in pages or not; those of a batch may be packed.
  enum Sequences { even, cached, paged, in_a_row };
  const Sequences sequences = decoding ? d.pick<Sequences>({{60, even}, {20, cached}, {20, paged}})
                              : causal ? d.pick<Sequences>({{80, even}, {20, in_a_row}})
                                       : even;
  enum Mask { none, of_padding, of_scores };
  const Mask mask = s.use == Use::biased ? of_scores : s.use == Use::encoder && d.chance(25) ? of_padding : none;
  const bool packed = rows_first && !backward && sequences == even && mask == none && s.own && d.chance(25);
  if (sequences == in_a_row) s.more = 0;
  const std::int64_t page = sequences == paged ? d.pick<std::int64_t>({{50, 16}, {25, 64}, {25, 256}}) : 1;
  fit_shape(d, s, dtype, backward, packed ? 3 : 1, page);

  check::Case c{.op = {},
                .dtype = dtype,
                .dims = {{"b", s.b}, {"hq", s.hq()}, {"hkv", s.hkv}, {"sq", s.sq}, {"sk", s.sk()}, {"d", s.d}},
                .options = {}};
  if (d.chance(3)) c.dims.emplace_back("dv", s.d == 192 ? 128 : drawn_columns(d));
  if (mask == of_padding) c.dims.insert(c.dims.end(), {{"mask", 1}, {"mb", s.b}, {"mq", 1}});
  if (mask == of_scores) {  // a bias per pair, shared by heads or not; now and then per sequence
    c.dims.emplace_back("mask", d.chance(20) ? 1 : d.chance(70) ? 2 : 3);
    if (d.chance(80)) c.dims.emplace_back("mh", s.hq());
    if (d.chance(25)) c.dims.emplace_back("mb", s.b);
  }
  if (sequences != even) c.dims.emplace_back("uneven", 2);
  if (sequences == paged) c.dims.emplace_back("paged", page);

  const std::string rest = backward ? ",o,lse" : "", first = backward ? "do," : "";
  if (sequences == cached) c.options.set("inputs", "q,k,v,lengths");
  if (sequences == paged) c.options.set("inputs", "q,k,v,lengths,block_table");
  if (sequences == in_a_row) {
    c.options.set("inputs", first + "q,k,v" + rest + ",cu_q,cu_k");
    c.options.set("max_q", std::to_string(s.sq));
    c.options.set("max_k", std::to_string(s.sk()));
  }
  if (causal && s.more == 0) c.options.set("causal", "1");
  if ((causal && s.more > 0) || (decoding && s.sq > 1)) c.options.set("causal", "lower_right");
  if ((causal || decoding) && d.chance(15)) {
    c.options.set("window", drawn_window(d, s.sk()) + ",0");
    if (!causal || s.more > 0) c.options.set("align", "lower_right");
  }
  if ((causal || decoding) && d.chance(8)) c.options.set("softcap", d.chance(50) ? "50" : "30");
  if (d.chance(5)) c.options.set("scale", "0.0625");
  if (dtype == f32 && !backward && d.chance(30)) c.options.set("math", "bf16x6");
  if (rows_first) c.options.set("layout", "bshd");
  if (backward) c.options.set("backward", "1");
  else if (d.chance(15)) c.options.set("lse", "1");
  if (backward && d.chance(20)) c.options.set("nondeterministic", "1");
  if (packed) c.options.set("place", "packed");
  return c.text();
}

}  // namespace ridge::attention_detail
