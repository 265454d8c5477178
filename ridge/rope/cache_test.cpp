// rope_cache: accepted and refused problems, untouched rows of caches, and views that may be interleaved.
#include <ridge/core/op.hpp>
#include <ridge/rope/cache.hpp>
#include <ridge/rope/cache_variants.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace ridge {
namespace {

using rope_detail::cache_variants;

std::string chosen(const RopeCacheProblem& p) {
  auto plan = plan_rope_cache(p, *device_model("H200"));
  return plan ? std::string(cache_variants[plan->variant].name) : std::string(plan.error().message());
}

RopeCacheProblem prompt(DType dtype, std::int64_t d, const RopeOptions& options = {}) {
  return RopeCacheProblem::contiguous(dtype, 8, 4096, 32, 8, d, 4096, options);
}

// Tensors of tokens and caches with their memory. Elements of q, k and v count upward, caches hold `before`.
struct Step {
  static constexpr float before = 7.5f;
  std::int64_t b, s, hq, hkv, d, dv;
  std::vector<float> q, k, v, q_out, k_cache, v_cache;
  std::vector<std::int64_t> positions;
  std::vector<std::int32_t> pages;
  RopeCacheTensors t;

  // A cache of `rows` rows for each sequence, or of `count` pages of `rows` rows.
  Step(std::int64_t batch, std::int64_t tokens, std::int64_t q_heads, std::int64_t heads, std::int64_t rows,
       std::int64_t count = -1)
      : b(batch), s(tokens), hq(q_heads), hkv(heads), d(16), dv(8) {
    const std::int64_t outer = count < 0 ? b : count;
    fill(q, b * s * hq * d, 0.25f);
    fill(k, b * s * hkv * d, 100.25f);
    fill(v, b * s * hkv * dv, 1000.25f);
    q_out.resize(q.size());
    k_cache.assign(static_cast<std::size_t>(outer * hkv * rows * d), before);
    v_cache.assign(static_cast<std::size_t>(outer * hkv * rows * dv), before);
    t = {.q = view(q.data(), {b, s, hq, d}),
         .k = view(k.data(), {b, s, hkv, d}),
         .v = view(v.data(), {b, s, hkv, dv}),
         .q_out = view(q_out.data(), {b, s, hq, d})};
    t.k_cache = count < 0 ? view(k_cache.data(), {b, hkv, rows, d}) : view(k_cache.data(), {count, rows, hkv, d});
    t.v_cache = count < 0 ? view(v_cache.data(), {b, hkv, rows, dv}) : view(v_cache.data(), {count, rows, hkv, dv});
  }
  Step(const Step&) = delete;  // views point into this object

  void at(std::vector<std::int64_t> given) {
    positions = std::move(given);
    t.positions = view(positions.data(), {b, s});
  }
  void in(std::vector<std::int32_t> given) {
    pages = std::move(given);
    t.block_table = view(pages.data(), {b, static_cast<std::int64_t>(pages.size()) / b});
  }
  static void fill(std::vector<float>& x, std::int64_t count, float first) {
    x.resize(static_cast<std::size_t>(count));
    std::iota(x.begin(), x.end(), first);
  }
  // x rotated by rope.
  std::vector<float> rotated(const std::vector<float>& x, std::int64_t heads) const {
    std::vector<float> y(x.size());
    rope({.x = view(x.data(), {b, s, heads, d}), .y = view(y.data(), {b, s, heads, d}), .positions = t.positions});
    return y;
  }
  // Resets outputs and caches, and runs this row of the table.
  Status run(std::string_view variant) {
    std::ranges::fill(q_out, 0.f);
    std::ranges::fill(k_cache, before);
    std::ranges::fill(v_cache, before);
    auto problem = RopeCacheProblem::of(t, {});
    if (!problem) return problem.error();
    auto plan = plan_rope_cache(*problem, cpu(), {.variant = std::string(variant)});
    return plan ? plan->run(t) : plan.error();
  }
  // Expects this head of a token at this place of the caches, counted in heads.
  void expect_row(std::int64_t token, std::int64_t head, std::int64_t place) const {
    const std::vector<float> k_rotated = rotated(k, hkv);
    for (std::int64_t i = 0; i < d; ++i)
      EXPECT_FLOAT_EQ(k_cache[place * d + i], k_rotated[(token * hkv + head) * d + i]) << "token " << token;
    for (std::int64_t i = 0; i < dv; ++i)
      EXPECT_EQ(v_cache[place * dv + i], v[(token * hkv + head) * dv + i]) << "token " << token;
  }
  std::int64_t untouched() const {  // elements of both caches
    return std::ranges::count(k_cache, before) + std::ranges::count(v_cache, before);
  }
};

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();

// ---- plans ----------------------------------------------------------------------------------------------------------

TEST(RopeCachePlan, HeadsShareTheirAngles) {
  EXPECT_EQ(chosen(prompt(bf16, 128)), "heads");
  EXPECT_EQ(chosen(prompt(f32, 64, {.style = RopeStyle::gptj})), "heads");
  EXPECT_EQ(chosen(prompt(bf16, 72)), "heads_8");  // a half is 36 elements, 72 bytes
  EXPECT_EQ(chosen(prompt(bf16, 70)), "naive");    // 35 elements
}

TEST(RopeCachePlan, ExplainsEachRow) {
  RopeCacheProblem p = RopeCacheProblem::contiguous(bf16, 8, 1, 32, 8, 128, 4096);
  p.v.shape[3] = 64;
  EXPECT_EQ(p.text(), "bf16 8x1 tokens, 32/8 heads, d 128/64, neox, 4096 rows");
  p.k_cache.stride = {8 * 4096 * 132, 4096 * 132, 132, 1};
  const auto plan = plan_rope_cache(p, *device_model("H200"));
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  const Explanation e = plan->explain();
  ASSERT_EQ(e.candidates.size(), std::size(cache_variants));
  EXPECT_EQ(e.candidates[1].refusal, "heads do not start on 16 bytes");
  EXPECT_TRUE(e.candidates[0].fits() && e.candidates[3].fits());
}

TEST(RopeCachePlan, ARefusalSaysWhy) {
  EXPECT_EQ(chosen(prompt(f32, 7)), "rope_cache: rotary_dim is 7; it must be even, at most d, 7, and at most 512");
  EXPECT_EQ(chosen(prompt(f32, 8, {.base = 0})), "rope_cache: base is 0; it must be finite, and 1 or more");
  RopeCacheProblem p = prompt(f32, 8);
  p.dtype = f64;
  EXPECT_EQ(chosen(p), "rope_cache: q.dtype is f64; it must be one of f32 f16 bf16");
  p = prompt(f32, 8);
  p.v_cache.stride[2] = 0;
  EXPECT_EQ(chosen(p),
            "rope_cache: v_cache.strides is 0 in an axis of 4096; it must be such that no two elements share memory");
  for (const std::int64_t page : {8, 24, 0}) {
    p = prompt(f32, 8);
    p.paged = true;
    p.k_cache.shape[2] = p.v_cache.shape[2] = page;
    EXPECT_EQ(chosen(p), "rope_cache: the number of rows of a page is " + std::to_string(page) +
                             "; it must be a power of two, at least 16");
  }
}

TEST(RopeCachePlan, ViewsThatDoNotFitTogetherAreRefused) {
  using T = RopeCacheTensors;
  Step step(2, 3, 4, 2, 16), paged(2, 3, 4, 2, 16, 5);
  paged.in({0, 1, 2, 3});
  const auto refusal = [](const T& t) { return std::string(RopeCacheProblem::of(t, {}).error().message()); };
  const auto shaped = [&](T t, TensorView T::*of, std::initializer_list<std::int64_t> shape) {
    (t.*of).layout = Layout::contiguous(shape);
    return refusal(t);
  };
  EXPECT_EQ(refusal(step.t), "ok");
  EXPECT_EQ(refusal(paged.t), "ok");
  EXPECT_EQ(shaped(step.t, &T::q, {6, 64}),
            "rope_cache: q.shape is 6x64; it must be of 3 axes, s h d, or of 4, b s h d");
  EXPECT_EQ(shaped(step.t, &T::v, {6, 2, 8}), "rope_cache: v.shape is 6x2x8; it must be of as many axes as q, 4");
  EXPECT_EQ(shaped(step.t, &T::k, {2, 3, 2, 8}), "rope_cache: k.shape is 2x3x2x8; it must be 2x3x2x16");
  EXPECT_EQ(shaped(step.t, &T::v, {2, 3, 1, 8}), "rope_cache: v.shape is 2x3x1x8; it must be 2x3x2x8");
  EXPECT_EQ(shaped(step.t, &T::q_out, {2, 3, 2, 16}), "rope_cache: q_out.shape is 2x3x2x16; it must be 2x3x4x16");
  EXPECT_EQ(shaped(step.t, &T::k_cache, {64, 16}),
            "rope_cache: k_cache.shape is 64x16; it must be of 4 axes: batch, heads, rows and columns");
  EXPECT_EQ(shaped(step.t, &T::k_cache, {2, 1, 16, 16}),
            "rope_cache: k_cache.shape is 2x1x16x16; it must be 2x2x16x16");
  EXPECT_EQ(shaped(step.t, &T::v_cache, {2, 2, 15, 8}), "rope_cache: v_cache.shape is 2x2x15x8; it must be 2x2x16x8");
  EXPECT_EQ(shaped(paged.t, &T::v_cache, {4, 16, 2, 8}), "rope_cache: v_cache.shape is 4x16x2x8; it must be 5x16x2x8");
  T t = paged.t;
  t.block_table = view(paged.pages.data(), {4, 1});
  EXPECT_EQ(refusal(t), "rope_cache: block_table.shape is 4x1; it must be of 2 rows");
  t.block_table->dtype = u8;
  EXPECT_EQ(refusal(t), "rope_cache: block_table.dtype is u8; it must be i32 or i64");
  t = step.t;
  t.v_cache.dtype = bf16;
  EXPECT_EQ(refusal(t), "rope_cache: v_cache.dtype is bf16; it must be that of q, f32");
  t = step.t;
  t.positions = view(paged.pages.data(), {2});
  EXPECT_EQ(refusal(t), "rope_cache: positions.shape is 2; it must be 3 or 2x3");
  t = step.t;
  t.cos = t.q;
  EXPECT_EQ(refusal(t), "rope_cache: sin is missing; it must be given along with the other table");
}

TEST(RopeCachePlan, ByNameSizesAreSaid) {
  auto info = find_op("rope_cache");
  ASSERT_TRUE(info.ok());
  std::vector<float> x(4096);
  std::vector<std::int32_t> whole(16);
  const TensorView q = view(x.data(), {2, 3, 4, 8}), kv = view(x.data(), {2, 3, 2, 8});
  const TensorView positions = view(whole.data(), {3}), table = view(whole.data(), {2, 2});
  const auto shapes = [&](std::vector<TensorView> in, const Options& options) -> std::string {
    const auto types = infer_op(**info, in, options);
    if (!types) return std::string(types.error().message());
    std::string text;
    for (const TensorType& type : *types) text += (text.empty() ? "" : " ") + Layout::contiguous(type.shape).text();
    return text;
  };
  EXPECT_EQ(shapes({q, kv, kv}, {}), "2x3x4x8 2x2x3x8 2x2x3x8");
  EXPECT_EQ(shapes({q, kv, kv, positions}, {{"rows", "9"}, {"layout", "bshd"}}), "2x3x4x8 2x9x2x8 2x9x2x8");
  const Options paged{{"pages", "5"}, {"page", "16"}};
  EXPECT_EQ(shapes({q, kv, kv, table}, paged), "2x3x4x8 5x16x2x8 5x16x2x8");
  EXPECT_EQ(shapes({q, kv, kv, positions, table}, paged), "2x3x4x8 5x16x2x8 5x16x2x8");
  EXPECT_EQ(shapes({q, kv, kv, table}, {{"page", "16"}}),
            "rope_cache: pages is missing; it must be given along with a block table");
  EXPECT_EQ(shapes({q, kv, kv, table}, {{"inputs", "q,k,v,block_table"}}),
            "rope_cache: pages is missing; it must be given along with a block table");
  EXPECT_EQ(shapes({q, kv, kv}, {{"pages", "5"}}),
            "rope_cache: pages is given without a block table; it must be left out");
  EXPECT_EQ(shapes({q, kv, kv}, {{"rows", "-2"}}), "rope_cache: rows is -2; it must be 0 or more");
  EXPECT_EQ(shapes({q, kv, kv}, {{"layout", "sbhd"}}), "rope_cache: layout is 'sbhd'; it must be bhsd or bshd");
}

// ---- untouched rows -------------------------------------------------------------------------------------------------

TEST(RopeCache, TokensWithoutARowAreNotWritten) {
  Step step(2, 4, 5, 3, 6);
  step.at({2, -1, 6, 0, most, least, 5, 7});
  for (const auto& row : cache_variants) {
    const Status status = step.run(row.name);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::int64_t head = 0; head < step.hkv; ++head) {
      step.expect_row(0, head, (0 * step.hkv + head) * 6 + 2);
      step.expect_row(3, head, (0 * step.hkv + head) * 6 + 0);
      step.expect_row(6, head, (1 * step.hkv + head) * 6 + 5);
    }
    EXPECT_EQ(step.untouched(), (2 * 6 - 3) * step.hkv * (step.d + step.dv)) << row.name;
    const std::vector<float> want = step.rotated(step.q, step.hq);
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_FLOAT_EQ(step.q_out[i], want[i]) << row.name << " " << i;
  }
}

TEST(RopeCache, PagesThatDoNotExistAreNotWritten) {
  Step step(2, 5, 4, 2, 16, 4);
  const std::int32_t most_page = std::numeric_limits<std::int32_t>::max();
  step.in({3, -1, 1, 2, most_page, 4});  // three pages per sequence
  step.at({0, 15, 16, 47, 48, 15, 16, 32, -17, most});
  for (const auto& row : cache_variants) {
    const Status status = step.run(row.name);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::int64_t head = 0; head < step.hkv; ++head) {
      step.expect_row(0, head, (3 * 16 + 0) * step.hkv + head);
      step.expect_row(1, head, (3 * 16 + 15) * step.hkv + head);
      step.expect_row(3, head, (1 * 16 + 15) * step.hkv + head);
      step.expect_row(5, head, (2 * 16 + 15) * step.hkv + head);
    }
    EXPECT_EQ(step.untouched(), (4 * 16 - 4) * step.hkv * (step.d + step.dv)) << row.name;
    const std::vector<float> want = step.rotated(step.q, step.hq);
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_FLOAT_EQ(step.q_out[i], want[i]) << row.name << " " << i;
  }
}

TEST(RopeCache, OneStepAfterAnotherFillsACache) {
  Step step(2, 1, 4, 2, 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    Step::fill(step.v, 2 * 2 * 8, static_cast<float>(100 * i));
    step.at({i, 4 - i});
    rope_cache(step.t);
  }
  EXPECT_EQ(step.untouched(), 0);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 5; ++i) {
      const std::int64_t row = b == 0 ? i : 4 - i;
      EXPECT_EQ(step.v_cache[((b * 2 + 1) * 5 + row) * 8 + 3], static_cast<float>(100 * i + (b * 2 + 1) * 8 + 3));
    }
}

// ---- interleaved views ----------------------------------------------------------------------------------------------

// q, k and v are columns of one product; q is rotated in place.
TEST(RopeCache, QMayBeTurnedInPlaceBetweenKAndV) {
  Step step(2, 3, 4, 2, 3);
  step.dv = step.d;
  const std::int64_t width = (step.hq + 2 * step.hkv) * step.d;
  std::vector<float> product, v_cache(static_cast<std::size_t>(2 * 2 * 3 * step.d));
  Step::fill(product, 2 * 3 * width, 0.5f);
  const std::vector<float> before = product;
  const auto columns = [&](std::int64_t first, std::int64_t heads) {
    TensorView part = view(product.data() + first * step.d, {2, 3, heads, step.d});
    part.layout.stride[1] = width;
    part.layout.stride[0] = 3 * width;
    return part;
  };
  step.t.q = step.t.q_out = columns(0, step.hq);
  step.t.k = columns(step.hq, step.hkv);
  step.t.v = columns(step.hq + step.hkv, step.hkv);
  step.t.v_cache = view(v_cache.data(), {2, 2, 3, step.d});
  rope_cache(step.t);
  std::vector<float> q_in(static_cast<std::size_t>(6 * step.hq * step.d));
  for (std::int64_t token = 0; token < 6; ++token)
    for (std::int64_t i = 0; i < step.hq * step.d; ++i) q_in[token * step.hq * step.d + i] = before[token * width + i];
  const std::vector<float> want = step.rotated(q_in, step.hq);
  for (std::int64_t token = 0; token < 6; ++token)
    for (std::int64_t i = 0; i < width; ++i)
      EXPECT_FLOAT_EQ(product[token * width + i],
                      i < step.hq * step.d ? want[token * step.hq * step.d + i] : before[token * width + i]);
  EXPECT_EQ(v_cache[((1 * 2 + 1) * 3 + 2) * step.d + 5], before[5 * width + (step.hq + step.hkv + 1) * step.d + 5]);
}

// Pages that hold keys and then values: the caches' address ranges interleave, but they share no element.
TEST(RopeCache, CachesMayLieBetweenEachOther) {
  Step step(1, 2, 2, 2, 16, 3);
  step.in({2});
  step.at({0, 1});
  step.dv = step.d;
  std::vector<float> both(static_cast<std::size_t>(3 * 2 * 16 * 2 * 16), Step::before), v(64, 3.f);
  const auto part = [&](std::int64_t which) {
    TensorView pages = view(both.data() + which * 16 * 2 * 16, {3, 16, 2, 16});
    pages.layout.stride[0] = 2 * 16 * 2 * 16;
    return pages;
  };
  step.t.v = view(v.data(), {1, 2, 2, 16});
  step.t.k_cache = part(0);
  step.t.v_cache = part(1);
  rope_cache(step.t);
  EXPECT_EQ(std::ranges::count(both, 3.f), 64);
  EXPECT_EQ(std::ranges::count(both, Step::before), static_cast<std::ptrdiff_t>(both.size()) - 128);
  step.t.v_cache.data = both.data() + 15 * 2 * 16;  // starts at the last row of keys
  EXPECT_EQ(RopeCacheProblem::of(step.t, {}).error().message(),
            "rope_cache: k_cache is overlapping v_cache; it must be apart from it");
}

TEST(RopeCache, OverlapIsRefused) {
  Step step(2, 3, 2, 2, 3);
  step.at({0, 1, 2, 0, 1, 2});
  // The problem with one tensor's data pointer replaced.
  const auto moved = [&](TensorView RopeCacheTensors::*of, void* to) {
    RopeCacheTensors t = step.t;
    (t.*of).data = to;
    return std::string(RopeCacheProblem::of(t, {}).error().message());
  };
  using T = RopeCacheTensors;
  EXPECT_EQ(moved(&T::q_out, step.q.data()), "ok");
  EXPECT_EQ(moved(&T::q_out, step.q.data() + 16),
            "rope_cache: q_out is overlapping q; it must be apart from it, or the same elements");
  EXPECT_EQ(moved(&T::q_out, step.k.data()), "rope_cache: q_out is overlapping k; it must be apart from it");
  EXPECT_EQ(moved(&T::k_cache, step.k.data()), "rope_cache: k_cache is overlapping k; it must be apart from it");
  EXPECT_EQ(moved(&T::v_cache, step.q_out.data()),
            "rope_cache: q_out is overlapping v_cache; it must be apart from it");
  EXPECT_EQ(moved(&T::v_cache, step.k_cache.data()),
            "rope_cache: k_cache is overlapping v_cache; it must be apart from it");
  RopeCacheTensors t = step.t;
  t.positions->data = step.v_cache.data();
  EXPECT_EQ(RopeCacheProblem::of(t, {}).error().message(),
            "rope_cache: v_cache is overlapping positions; it must be apart from it");
}

}  // namespace
}  // namespace ridge
