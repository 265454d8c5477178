// Hopper's kernels on the CPU runtime, which emulates wgmma, against sums in double.
#include <ridge/dwconv/oracle.hpp>
#include <ridge/dwconv/sm90_lags.cuh>
#include <ridge/dwconv/sm90_toeplitz.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ridge::dwconv_detail {
namespace {

template <int Threads, int Blocks> struct RowOf {
  static constexpr Config config{.algorithm = Algorithm::whole, .threads = Threads, .blocks_per_sm = Blocks};
};
using Whole32 = RowOf<256, 2>;

enum class Fill { normal, ints, special, spread };

struct Case {
  std::int64_t b, c, t, l;
  Fill fill = Fill::normal;
  int offset = 0, padding = 0, step = 1;  // of rows, in elements
};

// [batch, channels, size], with a case's alignment offset, padding after a row, and step.
struct Tensor {
  std::int64_t channels, size, step, pitch, first;
  std::vector<float> data;
  Tensor(const Case& of, std::int64_t batch, std::int64_t size_)
      : channels(of.c),
        size(size_),
        step(of.step),
        pitch((size_ + of.padding) * of.step),
        first(of.offset),
        data(static_cast<std::size_t>(of.offset + batch * of.c * pitch + 4), 7.0f) {}
  float& at(std::int64_t b, std::int64_t c, std::int64_t i) {
    return data[static_cast<std::size_t>(first + (b * channels + c) * pitch + i * step)];
  }
  std::vector<double> row(std::int64_t b, std::int64_t c) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < size; ++i) x.push_back(at(b, c, i));
    return x;
  }
  template <class T> Signal<T> signal(bool filter = false) {
    return {data.data() + first, filter ? 0 : channels * pitch, pitch, step, size};
  }
  template <class T> Signal<T> reversed(bool filter = false) {
    Signal<T> s = signal<T>(filter);
    if (size > 0) s.data += (size - 1) * step;
    s.step = -step;
    return s;
  }
  bool is_aligned() const {
    return step == 1 && reinterpret_cast<std::uintptr_t>(data.data() + first) % 16 == 0 && pitch % 4 == 0 &&
           size % 4 == 0;
  }
};

void fill(Tensor& x, std::int64_t batch, Fill how, int seed) {
  std::mt19937 bits(static_cast<unsigned>(seed));
  std::normal_distribution<float> normal;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t c = 0; c < x.channels; ++c)
      for (std::int64_t i = 0; i < x.size; ++i)
        x.at(b, c, i) = how == Fill::ints ? static_cast<float>(static_cast<int>(bits() % 17) - 8) : normal(bits);
  if (how == Fill::special && batch > 1 && x.size > 2) {
    x.at(1, 0, x.size / 2) = NAN;
    x.at(0, x.channels - 1, 1) = INFINITY;
  }
  if (how == Fill::spread && batch > 1 && x.size > 2) {  // no common scale; and one leaves float32's range
    x.at(1, 0, 1) = 1e-30f;
    x.at(0, x.channels - 1, 1) = 1e19f;
  }
}

void expect_sum(const Term& want, float got, Fill how, const char* what, std::int64_t b, std::int64_t c,
                std::int64_t i) {
  if (std::isnan(want.sum)) {
    EXPECT_TRUE(std::isnan(got)) << what << " " << b << " " << c << " " << i;
  } else if (std::isinf(want.sum) || how == Fill::ints) {
    EXPECT_EQ(got, want.sum) << what << " " << b << " " << c << " " << i;
  } else {  // derived in the case book
    const double tolerance = (static_cast<double>(want.terms) + 26) * 0x1p-24 * want.size;
    EXPECT_LE(std::fabs(got - want.sum), tolerance) << what << " " << b << " " << c << " " << i;
  }
}

template <class R> void check(const Case& of) {
  SCOPED_TRACE(testing::Message() << "b=" << of.b << ",c=" << of.c << ",t=" << of.t << ",l=" << of.l);
  Tensor k(of, of.b, of.t), dy(of, of.b, of.t), w(of, 1, of.l), y(of, of.b, of.t), dk(of, of.b, of.t), dw(of, 1, of.l);
  fill(k, of.b, of.fill, 1);
  fill(dy, of.b, of.fill, 2);
  fill(w, 1, of.fill == Fill::ints ? Fill::ints : Fill::normal, 3);
  const int chunks = static_cast<int>(ceil_div(of.t, chunk)), lags = static_cast<int>(std::min(of.l, of.t));
  const unsigned items = static_cast<unsigned>(whole_items(of.b, of.c));
  const simt::Config at{.grid = dim3(std::min(items, 2u)),  // fewer blocks than items
                        .block = dim3(R::config.threads),
                        .smem = static_cast<std::size_t>(whole_smem_bytes(chunks)),
                        .warp = 32};
  const Sum<float> output{
      k.signal<const float>(), w.signal<const float>(true), y.signal<float>(), of.l - 1, of.b, of.c, 0};
  Status status = simt::launch(at, dwconv_whole_rows<R>, output, chunks, items, k.is_aligned());
  ASSERT_TRUE(status.ok()) << status.message();
  const Sum<float> gradient{
      dy.reversed<const float>(), w.signal<const float>(true), dk.reversed<float>(), of.l - 1, of.b, of.c, 0};
  status = simt::launch(at, dwconv_whole_rows<R>, gradient, chunks, items, dy.is_aligned());
  ASSERT_TRUE(status.ok()) << status.message();
  if (chunks <= most_whole_chunks) {
    const Sum<float> of_w{
        dy.signal<const float>(), k.signal<const float>(), dw.reversed<float>(true), 0, of.b, of.c, 0};
    status = simt::launch({.grid = dim3(std::min(static_cast<unsigned>(of.c), 2u)),
                           .block = dim3(whole_lags_threads),
                           .smem = static_cast<std::size_t>(whole_lags_smem_bytes(chunks)),
                           .warp = 32},
                          dwconv_whole_lags<float>, of_w, chunks, lags, dy.is_aligned(), k.is_aligned());
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (std::int64_t c = 0; c < of.c; ++c) {
    const auto filter = w.row(0, c);
    for (std::int64_t b = 0; b < of.b; ++b) {
      const auto of_k = k.row(b, c), of_dy = dy.row(b, c);
      for (std::int64_t t = 0; t < of.t; ++t) {
        expect_sum(output_oracle(of_k.data(), filter.data(), of.l, t), y.at(b, c, t), of.fill, "y", b, c, t);
        expect_sum(k_gradient_oracle(of_dy.data(), filter.data(), of.t, of.l, t), dk.at(b, c, t), of.fill, "dk", b, c,
                   t);
      }
    }
    for (std::int64_t d = 0; d < of.l && chunks <= most_whole_chunks; ++d) {
      Term sum;
      for (std::int64_t b = 0; b < of.b; ++b)
        add_w_gradient_oracle(sum, dy.row(b, c).data(), k.row(b, c).data(), of.t, d);
      expect_sum(sum, dw.at(0, c, of.l - 1 - d), of.fill, "dw", 0, c, d);
    }
  }
}

TEST(DwconvOnHopper, OneStep) { check<Whole32>({.b = 1, .c = 1, .t = 1, .l = 1}); }

TEST(DwconvOnHopper, AroundAChunk) {
  for (std::int64_t t : {63, 64, 65}) check<Whole32>({.b = 2, .c = 2, .t = t, .l = t});
}
TEST(DwconvOnHopper, AroundABatch) {
  for (std::int64_t b : {31, 32, 33}) check<Whole32>({.b = b, .c = 1, .t = 70, .l = 70});
}
TEST(DwconvOnHopper, BlocksGoFromItemToItem) { check<Whole32>({.b = 34, .c = 5, .t = 200, .l = 200}); }

TEST(DwconvOnHopper, FiltersOfOtherLengths) {
  check<Whole32>({.b = 3, .c = 2, .t = 257, .l = 40});
  check<Whole32>({.b = 3, .c = 2, .t = 200, .l = 129});
  check<Whole32>({.b = 2, .c = 1, .t = 100, .l = 130});
  check<Whole32>({.b = 2, .c = 1, .t = 300, .l = 1});
}
TEST(DwconvOnHopper, IntegersAreExact) { check<Whole32>({.b = 33, .c = 1, .t = 260, .l = 260, .fill = Fill::ints}); }

TEST(DwconvOnHopper, TheLongestRows) {
  check<Whole32>({.b = 2, .c = 1, .t = 768, .l = 768});
  check<Whole32>({.b = 1, .c = 1, .t = 1030, .l = 1030});
}
TEST(DwconvOnHopper, RowsAnywhere) {
  check<Whole32>({.b = 3, .c = 2, .t = 132, .l = 132, .offset = 1});
  check<Whole32>({.b = 3, .c = 2, .t = 132, .l = 132, .padding = 3});
  check<Whole32>({.b = 3, .c = 2, .t = 132, .l = 132, .step = 2});
}
TEST(DwconvOnHopper, WhatNoScaleServes) {
  check<Whole32>({.b = 3, .c = 2, .t = 130, .l = 9, .fill = Fill::special});
  check<Whole32>({.b = 33, .c = 2, .t = 130, .l = 130, .fill = Fill::spread});
}

}  // namespace
}  // namespace ridge::dwconv_detail
