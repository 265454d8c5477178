// upsample's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/upsample/oracle.hpp>
#include <ridge/upsample/request.hpp>

#include <cmath>
#include <limits>

namespace ridge::upsample_detail {

// h and w are those of x, also of a gradient, whose input is dy.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  Sides sides{c.dim("h"), c.dim("w")};
  if (request->backward) {
    if (!request->size && !request->scale)
      return Status::invalid(c.op, "size", "missing", "given, or else scale: it says what dy is");
    auto outputs = request->outputs(sides);
    if (!outputs) return outputs.error();
    sides = *outputs;
  }
  const std::int64_t n = c.dim("n"), channels = c.dim("c");
  if (request->how.layout == UpsampleLayout::nhwc)
    return std::vector<TensorType>{{c.dtype, {n, sides.h, sides.w, channels}}};
  return std::vector<TensorType>{{c.dtype, {n, channels, sides.h, sides.w}}};
}

// Tolerance, in units of the roundoff u of float32. A weight is a quotient of two numbers and a product with a
// reciprocal (4 u, relative), rounded to a multiple of 2^-24 (u / 2): less than 5 u off. A mean of two has a product
// and a fused multiply-add (2 u of the greater one at most). So a mean of four, all at most `greatest`, is off by
// (5 + 5 + 2) u greatest along one axis, and by as much again along the other. Copies are exact.
inline constexpr double units_of_mean = 24;

// A gradient's term has two such weights, each below 1: 10 u of the term without them, and the products and sums of its
// row and of all rows.
inline constexpr double units_of_weights = 10;

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const Request request = *request_of(c.operator_options());
  const bool bilinear = request.how.mode == Interpolation::bilinear, align = request.how.align_corners;
  const bool exact = request.how.mode == Interpolation::nearest_exact,
             nhwc = request.how.layout == UpsampleLayout::nhwc;
  const Sides x{c.dim("h"), c.dim("w")}, y = *request.outputs(x);
  const std::int64_t n = c.dim("n"), channels = c.dim("c");
  const double u = check::roundoff(f32), least = 0x1p-149;
  const auto index_in = [&](const Sides& sides, std::int64_t image, std::int64_t channel, std::int64_t i,
                            std::int64_t j) {
    return static_cast<std::size_t>(nhwc ? ((image * sides.h + i) * sides.w + j) * channels + channel
                                         : ((image * channels + channel) * sides.h + i) * sides.w + j);
  };
  const Sides out = request.backward ? x : y;
  const auto count = static_cast<std::size_t>(n * channels * out.h * out.w);
  check::Expected e{std::vector<double>(count), std::vector<double>(count)};
  std::vector<double> weighted(count), whole(count);  // sums of terms' magnitudes, with their weights and without
  std::vector<std::int64_t> terms(count);
  for (std::int64_t image = 0; image < n; ++image)
    for (std::int64_t channel = 0; channel < channels; ++channel)
      for (std::int64_t i = 0; i < y.h; ++i)
        for (std::int64_t j = 0; j < y.w; ++j) {
          const std::size_t of_y = index_in(y, image, channel, i, j);
          double greatest = 0;
          for (const Tap& row : taps_of(bilinear, exact, align, x.h, y.h, i))
            for (const Tap& column : taps_of(bilinear, exact, align, x.w, y.w, j)) {
              const std::size_t of_x = index_in(x, image, channel, row.input, column.input);
              const double weight = row.weight * column.weight, value = in[0].values[request.backward ? of_y : of_x];
              const std::size_t to = request.backward ? of_x : of_y;
              e.value[to] += weight * value;
              greatest = std::max(greatest, std::fabs(value));
              weighted[to] += weight * std::fabs(value);
              whole[to] += std::fabs(value);
              ++terms[to];
            }
          if (!request.backward) whole[of_y] = greatest;
        }
  constexpr double most = std::numeric_limits<float>::max();
  for (std::size_t k = 0; k < count; ++k) {
    const double value = e.value[k];
    if (!std::isfinite(value) || (!bilinear && !request.backward)) continue;  // exact
    // Additions: of a row's terms and of the rows, which are no more than all terms; and those of tiny products.
    const auto added = static_cast<double>(terms[k]);
    double off = request.backward ? (added + 4) * u * weighted[k] + (bilinear ? units_of_weights * u * whole[k] : 0)
                                  : units_of_mean * u * whole[k];
    off += bilinear ? 4 * (added + 1) * least : 0;
    // No promise where sums of terms may leave the range.
    if (request.backward && weighted[k] > most) off = std::numeric_limits<double>::infinity();
    e.tolerance[k] = off + check::rounding_error(c.dtype, std::fabs(value) + off);
  }
  return {e};
}

inline check::CaseBook book() {
  const std::string op = "upsample";
  check::CaseBook book{.op = op,
                       .keys = {"n", "c", "h", "w"},
                       .optional_keys = {},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = nullptr,
                       .tests = {},
                       .benches = {}};
  const auto test = [&](const std::string& rest) { book.tests.push_back(op + ":" + rest); };
  const std::vector<std::string> types{"f32", "f16", "bf16"};
  const std::vector<std::string> modes{"", ":mode=nearest_exact", ":mode=bilinear", ":mode=bilinear:align_corners"};
  const std::vector<std::string> directions{"", ":backward"};

  // Twice the size, by rows that are whole vectors or not, one row or column, and rows around a thread's two.
  for (const std::string& mode : modes)
    for (const std::string& direction : directions)
      for (const std::string& type : types) {
        for (const char* size : {"n=2,c=3,h=4,w=8", "n=1,c=2,h=3,w=16", "n=1,c=1,h=1,w=4", "n=1,c=1,h=5,w=1",
                                 "n=1,c=2,h=2,w=7", "n=1,c=1,h=1,w=1", "n=1,c=1,h=7,w=36"})
          test(type + ":" + size + ":scale=2" + mode + direction);
        for (const char* size : {"n=2,c=8,h=3,w=4", "n=1,c=16,h=1,w=5", "n=1,c=48,h=2,w=1", "n=1,c=3,h=4,w=3"})
          test(type + ":" + size + ":scale=2:layout=nhwc" + mode + direction);
      }
  // Other sizes: up and down, by whole factors and any others, to and from one pixel, the same size; more rows than the
  // eight of a thread and columns around vectors.
  for (const std::string& mode : modes)
    for (const std::string& direction : directions) {
      for (const char* rest : {"n=1,c=2,h=3,w=4:scale=3", "n=2,c=1,h=5,w=7:size=9,13", "n=1,c=3,h=9,w=13:size=5,7",
                               "n=1,c=2,h=17,w=3:size=1", "n=1,c=2,h=1,w=1:size=5,6", "n=1,c=1,h=6,w=5:scale=1.5",
                               "n=2,c=2,h=4,w=6:size=4,6", "n=1,c=1,h=9,w=9:size=65", "n=1,c=1,h=10,w=33:scale=0.5,2",
                               "n=1,c=5,h=2,w=16:scale=4,1", "n=1,c=1,h=65,w=66:size=8,9"})
        for (const char* type : {"f32", "bf16"}) test(type + (":" + (rest + mode)) + direction);
      for (const char* rest : {"n=2,c=8,h=5,w=7:size=9,13", "n=1,c=16,h=9,w=6:size=4,5", "n=1,c=40,h=3,w=2:scale=3",
                               "n=1,c=72,h=1,w=3:size=3,1", "n=1,c=5,h=4,w=5:size=7,9", "n=1,c=8,h=3,w=4:scale=1,1.5"})
        for (const char* type : {"f32", "bf16"}) test(type + (":" + (rest + mode)) + ":layout=nhwc" + direction);
    }
  // More than a block: more rows of dx than share one, and rows of dy of more vectors than it has threads.
  for (const std::string& direction : directions) {
    test("f32:n=3,c=7,h=13,w=10:size=20,15:mode=bilinear" + direction);
    test("f32:n=1,c=1,h=2,w=513:size=3,2051:mode=bilinear" + direction);
    test("bf16:n=2,c=2,h=24,w=40:scale=2:mode=bilinear" + direction);
    test("bf16:n=1,c=1,h=3,w=21000:size=1,9000" + direction);
  }
  // Values, and views.
  for (const std::string& direction : directions)
    for (const char* mode : {":mode=nearest", ":mode=bilinear"})
      for (const char* layout : {"", ":layout=nhwc"})
        for (const char* sizes : {":scale=2", ":size=7,17"})
          for (const std::string& type : types) {
            const std::string which = type + ":n=2,c=8,h=5,w=8" + sizes + mode + layout + direction;
            if (direction.empty())
              for (const char* fill : {"overflow", "greatest", "lowest"}) test(which + ":fill=" + fill);
            if (type == "f16") continue;
            for (const char* fill : {"nan", "inf", "denormal", "ones", "ints"}) test(which + ":fill=" + fill);
            for (const char* place : {"offset", "padded", "strided", "reversed"}) test(which + ":place=" + place);
          }
  // Weights of 0: what lies there is not read.
  for (const std::string& direction : directions)
    for (const char* layout : {"", ":layout=nhwc"})
      for (const char* fill : {"nan", "inf"}) {
        test(std::string("f32:n=1,c=4,h=5,w=6:scale=3:mode=bilinear:fill=") + fill + layout + direction);
        test(std::string("f32:n=1,c=4,h=5,w=6:size=9,11:mode=bilinear:align_corners:fill=") + fill + layout +
             direction);
      }
  // Bytes.
  for (const char* type : {"i8", "u8"})
    for (const char* rest :
         {"n=2,c=3,h=4,w=16:scale=2", "n=1,c=1,h=5,w=7:scale=2", "n=1,c=2,h=5,w=9:size=7,33:mode=nearest_exact",
          "n=1,c=32,h=3,w=4:scale=2:layout=nhwc", "n=1,c=16,h=5,w=3:size=4,7:layout=nhwc",
          "n=1,c=3,h=2,w=3:scale=2:layout=nhwc", "n=1,c=1,h=6,w=8:size=3,16:place=offset"})
      test(std::string(type) + ":" + rest);
  test("f32:n=1,c=8,h=6,w=8:scale=2:mode=bilinear:warp=64");
  test("f32:n=1,c=2,h=6,w=8:size=9,16:mode=bilinear:warp=64:backward");
  // Nothing to write, or nothing to read.
  for (const std::string& direction : directions)
    for (const char* rest :
         {"n=0,c=3,h=8,w=8:scale=2", "n=2,c=0,h=8,w=8:scale=2", "n=1,c=2,h=0,w=6:scale=2", "n=1,c=2,h=6,w=0:scale=3",
          "n=1,c=8,h=4,w=5:size=0,3", "n=1,c=8,h=4,w=5:size=3,0", "n=1,c=8,h=1,w=1:scale=0.5"})
      for (const char* how : {"", ":mode=bilinear", ":mode=bilinear:layout=nhwc"})
        test(std::string("f32:") + rest + how + direction);

  // A diffusion model's U-Net and decoder, a detector's neck, a segmentation's logits.
  for (const std::string& direction : directions) {
    for (const char* rest :
         {"bf16:n=2,c=1280,h=16,w=16:scale=2", "bf16:n=2,c=640,h=32,w=32:scale=2",
          "bf16:n=2,c=1280,h=16,w=16:scale=2:layout=nhwc", "bf16:n=1,c=512,h=256,w=256:scale=2",
          "bf16:n=1,c=512,h=256,w=256:scale=2:layout=nhwc", "bf16:n=1,c=512,h=256,w=256:scale=2:mode=bilinear",
          "bf16:n=1,c=512,h=256,w=256:scale=2:mode=bilinear:layout=nhwc",
          "f32:n=1,c=512,h=256,w=256:scale=2:mode=bilinear", "f16:n=32,c=256,h=20,w=20:scale=2",
          "f32:n=32,c=256,h=20,w=20:scale=2", "f32:n=8,c=21,h=65,w=65:size=513:mode=bilinear",
          "bf16:n=8,c=21,h=65,w=65:size=513:mode=bilinear:align_corners",
          "bf16:n=8,c=256,h=33,w=33:size=129:mode=bilinear:layout=nhwc"})
      book.benches.push_back(op + ":" + rest + direction);
  }
  book.benches.push_back(op + ":u8:n=8,c=1,h=513,w=513:size=1024");  // a segmentation's labels
  book.benches.push_back(op + ":f32:n=8,c=3,h=1080,w=1920:size=640:mode=bilinear");
  return book;
}

}  // namespace ridge::upsample_detail
