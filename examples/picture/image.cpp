#include "image.hpp"

#include <png.h>

#include <stdexcept>
#include <string>

namespace picture {

// libpng's simplified interface, which frees its memory when a call fails.
static png_image started() {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  return png;
}

static void check(int done, const png_image& png, const std::filesystem::path& path) {
  if (!done) throw std::runtime_error(path.string() + ": " + png.message);
}

Image read_png(const std::filesystem::path& path) {
  png_image png = started();
  check(png_image_begin_read_from_file(&png, path.c_str()), png, path);
  png.format = PNG_FORMAT_RGB;
  constexpr png_uint_32 most_pixels = 1u << 26;
  if (png.height == 0 || png.width > most_pixels / png.height) {
    png_image_free(&png);
    throw std::runtime_error(path.string() + ": more than 2^26 pixels");
  }
  Image image(static_cast<int>(png.width), static_cast<int>(png.height));
  const png_color black{};  // the background of transparent pixels
  check(png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr), png, path);
  return image;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  png_image png = started();
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  check(png_image_write_to_file(&png, path.c_str(), 0, image.pixels.data(), 0, nullptr), png, path);
}

}  // namespace picture
