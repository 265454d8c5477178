// The example finds every coin of its picture once and nothing else, and draws the coins.
#include "detect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

namespace picture {
namespace {

struct Coin {
  float x, y, radius;
};
// The same list as in draw.py.
constexpr Coin coins[] = {{46, 52, 20},   {110, 40, 14},  {172, 60, 25},  {250, 44, 20},
                          {292, 110, 14}, {60, 130, 25},  {128, 118, 20}, {214, 140, 20},
                          {40, 206, 14},  {112, 192, 25}, {176, 200, 14}, {262, 196, 25}};

float overlap(const Box& a, const Box& b) {  // intersection over union
  const float w = std::min(a[2], b[2]) - std::max(a[0], b[0]), h = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (w <= 0 || h <= 0) return 0;
  const auto area = [](const Box& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  return w * h / (area(a) + area(b) - w * h);
}

Image coins_picture() { return read_png(RIDGE_SOURCE_DIR "/examples/picture/coins.png"); }

TEST(Picture, EveryCoinIsKeptOnceAndNothingElse) {
  const Found found = detect(coins_picture(), ridge::cpu());
  EXPECT_GT(found.candidates.size(), std::size(coins));  // nms had something to do
  EXPECT_EQ(found.kept.size(), std::size(coins));
  for (const Coin& coin : coins) {
    const Box box{coin.x - coin.radius, coin.y - coin.radius, coin.x + coin.radius, coin.y + coin.radius};
    const auto here = std::count_if(found.kept.begin(), found.kept.end(), [&](int number) {
      return overlap(found.candidates[static_cast<std::size_t>(number)], box) > 0.6f;
    });
    EXPECT_EQ(here, 1) << "the coin at " << coin.x << ", " << coin.y;
  }
  for (std::size_t i = 1; i < found.kept.size(); ++i)
    EXPECT_GE(found.scores[static_cast<std::size_t>(found.kept[i - 1])],
              found.scores[static_cast<std::size_t>(found.kept[i])]);
}

TEST(Picture, NothingIsFoundOnAnEmptyCloth) {
  Image cloth(120, 90);
  for (int y = 0; y < cloth.height; ++y)
    for (int x = 0; x < cloth.width; ++x) {
      const auto grey = static_cast<std::uint8_t>(60 + x / 4 + y / 6);
      cloth.at(x, y) = {grey, grey, grey};
    }
  const Found found = detect(cloth, ridge::cpu());
  EXPECT_TRUE(found.candidates.empty());
  EXPECT_TRUE(found.kept.empty());
}

TEST(Picture, AFileHoldsWhatWasDrawn) {
  const Image image = coins_picture();
  const Found found = detect(image, ridge::cpu());
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "ridge_picture_test.png";
  write_png(file, drawn(image, found));
  const Image back = read_png(file);
  std::filesystem::remove(file);
  ASSERT_EQ(back.width, 2 * image.width + 4);
  ASSERT_EQ(back.height, image.height);
  for (int number : found.kept) {  // the middles of a box's sides are red, and its inside is unchanged
    const Box& box = found.candidates[static_cast<std::size_t>(number)];
    const int x = static_cast<int>((box[0] + box[2]) / 2), y = static_cast<int>((box[1] + box[3]) / 2);
    EXPECT_EQ(back.at(x, std::max(0, static_cast<int>(std::lround(box[1])))), kept_color);
    EXPECT_EQ(back.at(std::max(0, static_cast<int>(std::lround(box[0]))), y), kept_color);
    // In the picture of the response a coin's centre is bright.
    EXPECT_GT(back.at(image.width + 4 + x, y).red, 90);
  }
  EXPECT_EQ(back.at(2, 2), image.at(2, 2));
}

TEST(Picture, WhatIsNoPngIsRefused) {
  EXPECT_THROW(read_png(RIDGE_SOURCE_DIR "/examples/picture/CMakeLists.txt"), std::runtime_error);
  EXPECT_THROW(read_png("there/is/no/such.png"), std::runtime_error);
}

}  // namespace
}  // namespace picture
