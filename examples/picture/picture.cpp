// A picture in, a picture out: filters and non-maximum suppression by Ridge's operators.
//
//   1. Brightness is smoothed, and for each of nine sizes compared with its surroundings (avg_pool2d, mul, add).
//   2. Where a filter's response is greatest among its neighbours (max_pool2d), a box of that size is a candidate.
//   3. nms keeps the best of overlapping candidates.
//
//   ridge_picture [IN.png [OUT.png]]     on the GPU, or on the CPU runtime where there is none
#include "detect.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

int main(int argc, char** argv) {
  if (argc > 3 || (argc > 1 && argv[1][0] == '-')) {
    std::fprintf(stderr, "usage: ridge_picture [IN.png [OUT.png]]\n");
    return 2;
  }
  const std::string in = argc > 1 ? argv[1] : RIDGE_SOURCE_DIR "/examples/picture/coins.png";
  const std::string out = argc > 2 ? argv[2] : "picture.png";
  try {
    const auto gpu = ridge::device(0);
    const ridge::DeviceInfo device = gpu ? *gpu : ridge::cpu();
    const picture::Image image = picture::read_png(in);
    const picture::Found found = picture::detect(image, device);
    picture::write_png(out, picture::drawn(image, found));
    std::printf("%dx%d pixels on %s: %zu candidates, %zu kept\n", image.width, image.height, device.name.c_str(),
                found.candidates.size(), found.kept.size());
    for (int number : found.kept) {
      const picture::Box& box = found.candidates[static_cast<std::size_t>(number)];
      std::printf("  %5.1f %5.1f to %5.1f %5.1f  contrast %.0f\n", box[0], box[1], box[2], box[3],
                  found.scores[static_cast<std::size_t>(number)]);
    }
    std::printf("%s\n", std::filesystem::absolute(out).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ridge_picture: %s\n", error.what());
    return 1;
  }
  return 0;
}
