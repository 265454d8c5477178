// A picture in memory and as a PNG file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace picture {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Color&) const = default;
};

struct Image {
  int width = 0, height = 0;
  std::vector<Color> pixels;  // row by row, from the top
  Image(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
  Color& at(int x, int y) {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
  }
  const Color& at(int x, int y) const { return const_cast<Image*>(this)->at(x, y); }
};

// 8 bits each of red, green and blue; other kinds of PNG are converted. Both functions throw std::runtime_error.
Image read_png(const std::filesystem::path&);
void write_png(const std::filesystem::path&, const Image&);

}  // namespace picture
