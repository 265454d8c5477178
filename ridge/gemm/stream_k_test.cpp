// The cut of shared tiles into ranges.
#include <ridge/gemm/stream_k.hpp>

#include <gtest/gtest.h>

namespace ridge::gemm_kernels {
namespace {

TEST(GemmStreamK, RangesCoverEachTileOnceInPartsOfSomeSteps) {
  for (const unsigned tiles : {1u, 2u, 3u, 7u, 64u, 96u, 131u, 133u, 200u, 263u, 448u, 1000u})
    for (const unsigned steps : {8u, 9u, 16u, 31u, 64u, 224u})
      for (const int sms : {3, 78, 132}) {
        const unsigned blocks = stream_k_blocks(tiles, steps, sms);
        const StreamK cut(tiles, steps, blocks);
        const auto name = ::testing::Message() << tiles << " tiles of " << steps << " steps on " << sms;
        EXPECT_LE(blocks, static_cast<unsigned>(sms)) << name;
        EXPECT_EQ(cut.whole + cut.shared, tiles) << name;
        EXPECT_EQ(cut.whole % blocks, 0u) << name;
        EXPECT_LT(cut.shared, 2 * blocks) << name;
        EXPECT_EQ(cut.begin(0), 0u) << name;
        EXPECT_EQ(cut.begin(blocks), cut.shared * steps) << name;
        for (unsigned range = 0; range < blocks; ++range) {
          const unsigned begin = cut.begin(range), end = cut.begin(range + 1);
          EXPECT_LE(begin, end) << name;
          EXPECT_TRUE(begin % steps == 0 || (begin % steps >= least_part && steps - begin % steps >= least_part))
              << name;
          EXPECT_LE(end - begin, 2 * steps + 2 * least_part) << name;
        }
      }
}

TEST(GemmStreamK, CountsIn32Bits) {
  EXPECT_TRUE(stream_k_counts(448, 224, 132));
  EXPECT_TRUE(stream_k_counts(1, 1 << 24, 132));
  EXPECT_FALSE(stream_k_counts(264, 1 << 24, 132));
}

}  // namespace
}  // namespace ridge::gemm_kernels
