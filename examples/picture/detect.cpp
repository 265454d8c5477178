#include "detect.hpp"

#include <ridge/core/memory.hpp>
#include <ridge/elementwise/elementwise.hpp>
#include <ridge/nms/nms.hpp>
#include <ridge/pool/pool.hpp>

#include <algorithm>
#include <cmath>

namespace picture {

namespace {

// ---- tensors on a device --------------------------------------------------------------------------------------------

template <class T> struct Tensor {
  ridge::Buffer buffer;
  ridge::TensorView view;

  Tensor(ridge::Device device, std::initializer_list<std::int64_t> shape) {
    std::size_t bytes = sizeof(T);
    for (std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    auto made = ridge::Buffer::allocate(device, bytes);
    ridge::throw_if(made.error());
    buffer = std::move(*made);
    view = ridge::view(static_cast<T*>(buffer.data()), shape, device);
  }
  Tensor(ridge::Device device, std::initializer_list<std::int64_t> shape, const std::vector<T>& values)
      : Tensor(device, shape) {
    ridge::throw_if(ridge::copy_bytes(buffer.data(), device, values.data(), {}, values.size() * sizeof(T)));
  }
  std::vector<T> values() const {
    std::vector<T> host(static_cast<std::size_t>(view.count()));
    ridge::throw_if(ridge::copy_bytes(host.data(), {}, buffer.data(), view.device, host.size() * sizeof(T)));
    return host;
  }
};

// ---- filters --------------------------------------------------------------------------------------------------------

// The filters of detect() for a plane [1, 1, height, width], made of pooling windows.
class Filters {
 public:
  Filters(const ridge::DeviceInfo& device, int height, int width)
      : device_(device.id),
        height_(height),
        width_(width),
        minus_one_(device.id, {1, 1, height, width},
                   std::vector<float>(static_cast<std::size_t>(height) * static_cast<std::size_t>(width), -1.0f)) {}

  Tensor<float> plane() const { return {device_, {1, 1, height_, width_}}; }

  // The mean of a square around each pixel, without the part outside of the picture: first of rows, then of columns.
  Tensor<float> mean(const Tensor<float>& x, int side) const {
    Tensor<float> rows = plane(), y = plane();
    ridge::avg_pool2d(x.view, rows.view, centred(1, side));
    ridge::avg_pool2d(rows.view, y.view, centred(side, 1));
    return y;
  }

  // At each pixel the mean of a square minus the mean of its surroundings:
  // greatest for a disc that is as wide as `diameter`.
  Tensor<float> contrast(const Tensor<float>& x, int diameter) const {
    const Tensor<float> inner = mean(x, odd(0.9 * diameter)), outer = mean(x, odd(1.4 * diameter));
    Tensor<float> negative = plane(), y = plane();
    ridge::elementwise(ridge::Elementwise::mul, outer.view, minus_one_.view, negative.view);
    ridge::elementwise(ridge::Elementwise::add, inner.view, negative.view, y.view);
    return y;
  }

  // The greatest value of a square around each pixel.
  Tensor<float> greatest(const Tensor<float>& x, int side) const {
    Tensor<float> y = plane();
    ridge::max_pool2d(x.view, y.view, centred(side, side));
    return y;
  }

 private:
  static int odd(double side) { return static_cast<int>(std::lround(side)) | 1; }
  static ridge::PoolWindow centred(int rows, int columns) {
    return {.size = {rows, columns}, .pad = {rows / 2, columns / 2}, .count_include_pad = false};
  }

  ridge::Device device_;
  int height_, width_;
  Tensor<float> minus_one_;
};

// ---- boxes ----------------------------------------------------------------------------------------------------------

constexpr int diameters[] = {20, 24, 28, 32, 36, 40, 45, 50, 56};
constexpr float least_contrast = 20;  // on a scale of 255
constexpr int peak_side = 3;          // a candidate is the greatest in a square of this side, in pixels
constexpr float most_overlap = 0.2f;  // share of two boxes' area

// The indices of the boxes that are kept.
std::vector<int> keep(const std::vector<Box>& boxes, const std::vector<float>& scores, ridge::Device device) {
  const std::int64_t n = static_cast<std::int64_t>(boxes.size());
  std::vector<float> corners;
  for (const Box& box : boxes) corners.insert(corners.end(), box.begin(), box.end());
  const Tensor<float> on_boxes(device, {n, 4}, corners), on_scores(device, {n}, scores);
  const Tensor<std::int64_t> indices(device, {n}), count(device, {1});
  ridge::nms({.boxes = on_boxes.view, .scores = on_scores.view, .indices = indices.view, .count = count.view},
             {.iou = most_overlap});
  std::vector<int> kept;
  for (std::int64_t index : indices.values())
    if (index >= 0) kept.push_back(static_cast<int>(index));
  return kept;
}

void draw_box(Image& image, const Box& box, Color color) {
  const auto inside = [](float at, int size) { return std::clamp(static_cast<int>(std::lround(at)), 0, size - 1); };
  const int x1 = inside(box[0], image.width), x2 = inside(box[2], image.width);
  const int y1 = inside(box[1], image.height), y2 = inside(box[3], image.height);
  for (int x = x1; x <= x2; ++x) image.at(x, y1) = image.at(x, y2) = color;
  for (int y = y1; y <= y2; ++y) image.at(x1, y) = image.at(x2, y) = color;
}

}  // namespace

Found detect(const Image& image, const ridge::DeviceInfo& device) {
  std::vector<float> light;
  for (const Color& c : image.pixels) light.push_back((0.30f * c.red) + (0.59f * c.green) + (0.11f * c.blue));
  const Filters filters(device, image.height, image.width);
  const Tensor<float> seen(device.id, {1, 1, image.height, image.width}, light);
  const Tensor<float> smooth = filters.mean(seen, 3);

  Found found;
  found.response.assign(light.size(), 0.0f);
  for (int diameter : diameters) {
    const Tensor<float> contrast = filters.contrast(smooth, diameter);
    const std::vector<float> values = contrast.values(), peaks = filters.greatest(contrast, peak_side).values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      found.response[i] = std::max(found.response[i], values[i]);
      if (values[i] < least_contrast || values[i] < peaks[i]) continue;
      const float x = static_cast<float>(static_cast<int>(i) % image.width);
      const float y = static_cast<float>(static_cast<int>(i) / image.width), half = static_cast<float>(diameter) / 2;
      found.candidates.push_back({x - half, y - half, x + half, y + half});
      found.scores.push_back(values[i]);
    }
  }
  found.kept = keep(found.candidates, found.scores, device.id);
  return found;
}

Image drawn(const Image& image, const Found& found) {
  constexpr int gap = 4;
  Image both(2 * image.width + gap, image.height);
  Image left = image;
  for (const Box& box : found.candidates) draw_box(left, box, {90, 120, 150});
  for (int number : found.kept) {
    const Box& box = found.candidates[static_cast<std::size_t>(number)];
    draw_box(left, box, kept_color);
    draw_box(left, {box[0] + 1, box[1] + 1, box[2] - 1, box[3] - 1}, kept_color);
  }
  const float most = std::max(1.0f, *std::max_element(found.response.begin(), found.response.end()));
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      both.at(x, y) = left.at(x, y);
      const float response = found.response[static_cast<std::size_t>(y * image.width + x)] / most;
      const auto grey = static_cast<std::uint8_t>(255 * std::max(0.0f, response));
      both.at(image.width + gap + x, y) = {grey, grey, grey};
    }
  return both;
}

}  // namespace picture
