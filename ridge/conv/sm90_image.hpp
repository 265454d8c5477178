// A problem as the rows for Hopper's tensor cores see it: pixels of `channels` contiguous elements, gathered by TMA in
// im2col mode, tap by tap. x and w are read in place, or from copies in the workspace. Plain arithmetic.
//
// A copy is the image, or the padded image as far as windows reach, [n, rows, columns, channels], with zero channels
// that align each pixel, or each window's first pixel, to 16 bytes. With few channels, a window's row becomes a pixel:
// with a stride of 2 and 3 channels copied as 4, the 7 neighbours that a row of a 7x7 filter meets are 28 elements, and
// the next window begins 8 elements further. The columns then overlap,
// and a filter has 7 taps of 28 channels in place of 49 of 3.
//
// Patches, windows that follow each other down the image without a gap, are read in place in this way, whatever their
// stride: the window rows of all images are one axis, and the rows of a window, its taps, are another, in place of the
// image axis. A 16x16 patch of 3 channels is 16 taps of 48 channels.
//
// Volumes are read in place alone, by an axis more.
#pragma once
#include <ridge/conv/problem.hpp>
#include <ridge/tile/sm90/image_map.hpp>

namespace ridge::conv_detail {

// [n, rows, columns, channels] in elements: an image, or filters [k, taps_h, taps_w, channels].
struct CopyShape {
  std::int64_t n = 0, rows = 0, columns = 0, channels = 0;
  std::int64_t row_pitch = 0;  // elements, whole vectors
  constexpr std::int64_t elements() const { return n * rows * row_pitch; }
};

// One axis of window positions, as TMA's im2col mode walks it.
struct Walk {
  std::int64_t pixels = 1, pitch = 0;  // along the axis; elements from pixel to pixel
  std::int64_t first = 0, beyond = 0;  // im2col's lower corner: the first window's first tap; upper: the last window's
  std::int64_t step = 1;               // from window to window
  std::int64_t taps = 1, tap = 1;      // number of taps; pixels from tap to tap
};

// The filters' tap for the walk's first, the distance to the next tap of a row, and the additional distance from a
// row's end to the next row.
struct TapOrder {
  int first = 0, across = 1, down = 0;
};

struct Gathering {
  bool copies_image = false, copies_filters = false;
  bool windows = false;     // a copied pixel is a row of a window
  bool transposed = false;  // the copy has x's own pixels, channels innermost, and no padding
  bool patches = false;     // the window rows of all images are h, and `images` are the rows of a window
  int element_bytes = 2;
  std::int64_t channels = 0;
  Walk h = {}, w = {}, d = {};  // d: of volumes
  bool volume = false;
  std::int64_t images = 0, image_pitch = 0;      // elements from image to image
  std::int64_t filter_pitch = 0, tap_pitch = 0;  // of the filters as they are read; across: from channel to channel
  CopyShape image = {}, filters = {};            // of the copies
  TapOrder order = {};
  int next_slice = 0;            // of a volume's taps: the additional distance from a slice's end to the next slice
  bool filters_across = false;   // the filters of a tap and a channel are contiguous: for multiply-adds by threads
  std::int64_t filter_taps = 0;  // taps of the filters as they are read; 0: the walked taps
  bool is_empty = false;         // there is no tap: one tap of zeros is read

  constexpr std::int64_t taps() const { return h.taps * w.taps * d.taps; }
  // Steps along k of `step` channels each; one if there is no tap.
  constexpr std::int64_t steps(int step) const { return is_empty ? 1 : taps() * ceil_div(channels, step); }
  constexpr std::int64_t filters_at() const {  // bytes from the workspace's start
    return copies_image ? ceil_div(image.elements() * element_bytes, 128) * 128 : 0;
  }
  constexpr std::int64_t bytes() const {
    return filters_at() + (copies_filters ? filters.elements() * element_bytes : 0);
  }
};

constexpr std::int64_t to_vectors(std::int64_t n, DType dtype) {
  return ceil_div(n, vector_elements(dtype)) * vector_elements(dtype);
}

// Whether an axis can be walked: its pixels are vector-aligned, if there are several.
constexpr bool is_regular(std::int64_t size, std::int64_t stride, DType dtype) {
  return size <= 1 || (stride > 0 && stride % vector_elements(dtype) == 0);
}

// For [n, h, w, channels], or [n, d, h, w, channels], as a matrix of pixels with vector-aligned rows: elements from
// pixel to pixel, and whether it is such a matrix.
constexpr std::int64_t pixel_pitch(const Layout& y) {
  for (const int axis : {3, 2})
    if (y.shape[axis] > 1) return y.stride[axis];
  return y.stride[depth_of(y) > 1 ? 4 : 0];
}
constexpr bool is_matrix(const ConvProblem& p, const Layout& y) {
  const std::int64_t pitch = pixel_pitch(y);
  const auto follows = [&](int axis, std::int64_t wanted) { return y.shape[axis] <= 1 || y.stride[axis] == wanted; };
  return p.alignment >= 16 && y.stride[1] == 1 && y.shape[1] % vector_elements(p.dtype) == 0 &&
         is_regular(pixels_of(y), pitch, p.dtype) && follows(2, y.shape[3] * pitch) &&
         follows(4, y.shape[2] * y.shape[3] * pitch) && follows(0, depth_of(y) * y.shape[2] * y.shape[3] * pitch);
}

// Elements from tap to tap of a volume's filters that can be read in place, as [k, taps, channels]: the greatest number
// that steps along all axes are multiples of, so that they may be every second tap of others. 0: they cannot.
constexpr std::int64_t volume_tap_pitch(const ConvProblem& p) {
  const Layout& w = p.w;
  std::int64_t pitch = 0, last = 0;
  for (const int axis : {2, 3, 4}) {
    if (w.shape[axis] == 1) continue;
    if (w.stride[axis] <= 0) return 0;
    pitch = std::gcd(pitch, w.stride[axis]);
    last += (w.shape[axis] - 1) * w.stride[axis];
  }
  if (pitch == 0) pitch = to_vectors(w.shape[1], p.dtype);  // one tap
  const bool suits = p.alignment >= 16 && (w.shape[1] == 1 || w.stride[1] == 1) && is_regular(2, pitch, p.dtype) &&
                     is_regular(w.shape[0], w.stride[0], p.dtype);
  return suits && last / pitch < max_grid ? pitch : 0;
}

// Whether filters can be read in place, as [k, taps, channels].
constexpr bool are_filters_regular(const ConvProblem& p) {
  const Layout& w = p.w;
  if (is_volume(p)) return volume_tap_pitch(p) > 0;
  const bool one_pitch = w.shape[2] == 1 || w.shape[3] == 1 || w.stride[2] == w.shape[3] * w.stride[3];
  return p.alignment >= 16 && (w.shape[1] == 1 || w.stride[1] == 1) && one_pitch &&
         is_regular(w.shape[0], w.stride[0], p.dtype) && is_regular(w.shape[2], w.stride[2], p.dtype) &&
         is_regular(w.shape[3], w.stride[3], p.dtype);
}

// Filters with `channels` channels for each tap; across: transposed, so that the filters of a channel are contiguous,
// for rows of multiply-adds, not of tensor cores.
constexpr void set_filters(Gathering& g, const ConvProblem& p, std::int64_t channels, bool across) {
  const Layout& w = p.w;
  g.element_bytes = static_cast<int>(size_of(p.dtype));
  g.filters_across = across;
  if (across) {
    g.copies_filters = true;
    g.filters = {.n = depth_of(w) * w.shape[2],
                 .rows = w.shape[3],
                 .columns = channels,
                 .channels = to_vectors(w.shape[0], p.dtype)};
    g.filters.row_pitch = channels * g.filters.channels;
    g.filter_pitch = g.filters.channels;
    g.tap_pitch = g.filters.row_pitch * (g.windows ? w.shape[3] : 1);
    return;
  }
  g.copies_filters = channels != w.shape[1] || g.windows || !are_filters_regular(p);
  g.filters = {.n = w.shape[0], .rows = depth_of(w) * w.shape[2], .columns = w.shape[3], .channels = channels};
  g.filters.row_pitch = to_vectors(w.shape[3] * channels, p.dtype);
  g.tap_pitch = g.windows ? g.filters.row_pitch : channels;
  g.filter_pitch = g.filters.rows * g.filters.row_pitch;
  if (g.copies_filters) return;
  g.filter_pitch = w.stride[0];
  g.tap_pitch = w.shape[3] > 1 ? w.stride[3] : w.stride[2];
  if (!is_volume(p)) return;
  g.tap_pitch = volume_tap_pitch(p);
  const auto step = [&](int axis) { return w.shape[axis] > 1 ? w.stride[axis] / g.tap_pitch : 0; };
  const std::int64_t row = w.shape[3] * step(3), slice = w.shape[2] * step(2);
  g.order = {.first = 0, .across = static_cast<int>(step(3)), .down = static_cast<int>(step(2) - row)};
  g.next_slice = static_cast<int>(step(4) - slice);
  g.filter_taps = 1 + (w.shape[2] - 1) * step(2) + (w.shape[3] - 1) * step(3) + (w.shape[4] - 1) * step(4);
}

// The walk along an axis of x's own pixels: TMA fills in zeros outside of them.
constexpr Walk walk_of(const Axis& a, std::int64_t after, std::int64_t pitch) {
  return {.pixels = a.inputs,
          .pitch = pitch,
          .first = -a.pad,
          .beyond = after - (a.taps - 1) * a.dilation,
          .step = a.stride,
          .taps = a.taps,
          .tap = a.dilation};
}

// Gathers from x in place, if it can.
constexpr bool gather_in_place(Gathering& g, const ConvProblem& p, bool across = false) {
  const Layout& x = p.x;
  if (p.alignment < 16 || x.count() == 0 || x.shape[1] % vector_elements(p.dtype) != 0 ||
      (x.shape[1] > 1 && x.stride[1] != 1))
    return false;
  for (const int axis : {0, 2, 3, 4})
    if (!is_regular(x.shape[axis], x.stride[axis], p.dtype)) return false;
  g = {.channels = x.shape[1],
       .h = walk_of(axis_h(p), p.geometry.pad.bottom, x.stride[2]),
       .w = walk_of(axis_w(p), p.geometry.pad.right, x.stride[3]),
       .d = walk_of(axis_d(p), p.geometry.depth.back, x.stride[4]),
       .volume = is_volume(p),
       .images = x.shape[0],
       .image_pitch = x.stride[0]};
  set_filters(g, p, g.channels, across);
  return true;
}

// Elements from window row to window row, where these follow each other down the images without a gap.
constexpr std::int64_t patches_pitch(const ConvProblem& p) {
  const Axis h = axis_h(p);
  return h.outputs > 1 ? h.stride * p.x.stride[2] : p.x.stride[0];
}
// Whether the windows are patches that can be read in place.
constexpr bool are_patches(const ConvProblem& p) {
  const Layout& x = p.x;
  const Axis h = axis_h(p), w = axis_w(p);
  const ConvPad& pad = p.geometry.pad;
  const std::int64_t channels = x.shape[1], pitch = patches_pitch(p);
  if (is_volume(p) || p.alignment < 16 || x.count() == 0 || pad.top + pad.left + pad.bottom + pad.right > 0 ||
      h.stride != h.taps || h.dilation != 1 || w.dilation != 1)
    return false;
  // A window's row is contiguous, and all images' window rows have one pitch.
  if ((channels > 1 && x.stride[1] != 1) || (x.shape[3] > 1 && x.stride[3] != channels) ||
      (x.shape[0] > 1 && h.outputs > 1 && x.stride[0] != h.outputs * pitch))
    return false;
  return is_regular(w.outputs, w.stride * channels, p.dtype) && is_regular(h.taps, x.stride[2], p.dtype) &&
         is_regular(x.shape[0] * h.outputs, pitch, p.dtype);
}
// Precondition: are_patches().
constexpr Gathering gather_patches(const ConvProblem& p) {
  const Layout &x = p.x, &w = p.w;
  const Axis h = axis_h(p), across = axis_w(p);
  const std::int64_t channels = x.shape[1];
  Gathering g{.windows = true, .patches = true, .channels = across.taps * channels};
  g.h = {.pixels = x.shape[0] * h.outputs, .pitch = patches_pitch(p), .taps = h.taps, .tap = 0};
  g.w = {.pixels = across.outputs, .pitch = across.stride * channels};
  g.images = h.taps;
  g.image_pitch = x.stride[2];
  set_filters(g, p, channels, false);
  // Filter rows may be contiguous too: then they are not copied, unlike those of other windows.
  if ((channels == 1 || w.stride[1] == 1) && (across.taps == 1 || w.stride[3] == channels) &&
      is_regular(w.shape[0], w.stride[0], p.dtype) && is_regular(h.taps, w.stride[2], p.dtype)) {
    g.copies_filters = false;
    g.tap_pitch = w.stride[2];
    g.filter_pitch = w.stride[0];
  }
  return g;
}

// Gathers from a copy of x's pixels, channels innermost.
inline bool gather_transposed(Gathering& g, const ConvProblem& p, bool across) {
  const Layout& x = p.x;
  if (x.count() == 0) return false;
  const std::int64_t channels = to_vectors(x.shape[1], p.dtype);
  g = {.copies_image = true, .transposed = true, .channels = channels, .images = x.shape[0]};
  g.image = {.n = x.shape[0], .rows = x.shape[2], .columns = x.shape[3], .channels = channels};
  g.image.row_pitch = x.shape[3] * channels;
  g.image_pitch = g.image.rows * g.image.row_pitch;
  g.h = walk_of(axis_h(p), p.geometry.pad.bottom, g.image.row_pitch);
  g.w = walk_of(axis_w(p), p.geometry.pad.right, channels);
  set_filters(g, p, channels, across);
  return true;
}

// Gathers from a copy of the padded image, by pixels or by windows' rows.
constexpr bool gather_copy(Gathering& g, const ConvProblem& p, bool windows, bool across) {
  const Axis h = axis_h(p), w = axis_w(p);
  if (windows && w.dilation != 1) return false;
  std::int64_t channels = p.x.shape[1];
  while ((windows ? w.stride * channels : channels) % vector_elements(p.dtype) != 0) ++channels;
  const auto reach = [](const Axis& a) { return (a.outputs - 1) * a.stride + (a.taps - 1) * a.dilation + 1; };
  g = {.copies_image = true,
       .windows = windows,
       .channels = windows ? w.taps * channels : channels,
       .images = p.x.shape[0]};
  g.image = {.n = p.x.shape[0], .rows = reach(h), .columns = reach(w), .channels = channels};
  g.image.row_pitch = to_vectors(g.image.columns * channels, p.dtype);
  g.image_pitch = g.image.rows * g.image.row_pitch;
  g.h = {.pixels = g.image.rows,
         .pitch = g.image.row_pitch,
         .beyond = -(h.taps - 1) * h.dilation,
         .step = h.stride,
         .taps = h.taps,
         .tap = h.dilation};
  if (windows) g.w = {.pixels = w.outputs, .pitch = w.stride * channels};
  else
    g.w = {.pixels = g.image.columns,
           .pitch = channels,
           .beyond = -(w.taps - 1) * w.dilation,
           .step = w.stride,
           .taps = w.taps,
           .tap = w.dilation};
  set_filters(g, p, channels, across);
  return true;
}

// Whether TMA's im2col mode can walk an axis, of images or of volumes.
constexpr bool is_walkable(const Walk& walk, bool volume = false) {
  namespace sm90 = tile::sm90;
  const int least = volume ? sm90::least_volume_corner : sm90::least_image_corner;
  const int most = volume ? sm90::most_volume_corner : sm90::most_image_corner;
  return walk.step <= sm90::most_image_step && walk.first >= least && walk.beyond >= least && walk.beyond <= most &&
         (walk.taps - 1) * walk.tap <= (volume ? sm90::most_volume_tap : sm90::most_image_tap);
}
constexpr bool is_walkable(const Gathering& g) {
  return is_walkable(g.h, g.volume) && is_walkable(g.w, g.volume) && is_walkable(g.d, g.volume);
}

// The gathering that takes the least time for its products and for the bytes copied before them.
//   products_of_byte   multiply-adds in the time of one byte of memory traffic, roughly, at the rates that both reach
//   copy_start         bytes in the time of another kernel's launch
// Preconditions: there are outputs and terms; refuse_large_copies() is empty; volumes can be gathered in place; images'
// windows are patches, or strides are at most most_image_step and no tap is further than most_image_corner from the
// first, as copies require. step: channels that a row takes at a time; across: how it reads filters.
inline Gathering gathering_of(const ConvProblem& p, int step, bool across) {
  constexpr double products_of_byte = 100, copy_start = 8e6;
  Gathering best;
  double best_score = 0;
  const auto consider = [&](const Gathering& g) {
    if (!is_walkable(g) || real(g.image.elements()) >= int_range) return;
    const double products = static_cast<double>(pixels_of(p)) * static_cast<double>(ceil_div(p.w.shape[0], 64) * 64) *
                            static_cast<double>(g.steps(step) * step);
    const double copied = g.bytes() > 0 ? copy_start + 2 * static_cast<double>(g.bytes()) : 0;
    const double score = products / products_of_byte + copied;
    if (best.channels == 0 || score < best_score) best = g, best_score = score;
  };
  Gathering g;
  if (gather_in_place(g, p, across)) consider(g);
  if (is_volume(p)) return best;
  if (!across && are_patches(p)) consider(gather_patches(p));
  if (gather_transposed(g, p, across)) consider(g);
  for (const bool windows : {false, true})
    if (gather_copy(g, p, windows, across)) consider(g);
  return best;
}

}  // namespace ridge::conv_detail
