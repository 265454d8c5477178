// nms's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/nms/oracle.hpp>

#include <cmath>

namespace ridge::nms_detail {

// classes: number of classes, i64 with wide=1; without it no classes.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  std::vector<TensorType> types{{c.dtype, {c.dim("n"), 4}}, {c.dtype, {c.dim("n")}}};
  if (c.has("classes")) types.push_back({c.dim("wide", 0) ? i64 : i32, {c.dim("n")}});
  return types;
}

// Corners on whole pixels, sides of 1 to 32, dense enough that some boxes overlap many others; some boxes without an
// area, or inverted. Values that are not finite stay. With ties, scores are one of 1 + n / 8 numbers.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  const std::int64_t n = c.dim("n"), field = 32 + static_cast<std::int64_t>(4 * std::sqrt(static_cast<double>(n)));
  std::uint64_t state = 1;
  const auto random = [&](std::int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<std::int64_t>(state >> 33) % below);
  };
  const std::string_view fill = c.options.text("fill", "normal");
  for (std::int64_t i = 0; i < n; ++i) {
    double* box = in[0].values.data() + 4 * i;
    const double x = random(field), y = random(field), w = 1 + random(32), h = 1 + random(32);
    const double inverted = i % 13 == 5 ? -1 : 1, flat = i % 17 == 3 ? 0 : 1;
    const double made[] = {x, y, x + w * inverted, y + h * flat};
    for (int k = 0; k < 4; ++k) {
      if (fill == "overflow" || fill == "denormal")
        box[k] = check::round_to(c.dtype, std::ldexp(made[k], fill[0] == 'o' ? 60 : -90));
      else if (std::isfinite(box[k])) box[k] = made[k];
    }
    double& score = in[1].values[i];
    if (c.dim("ties", 0) && std::isfinite(score)) score = random(1 + n / 8) - static_cast<double>(n / 16);
    if (c.dim("ties", 0) && score == 0 && i % 2) score = -0.0;
    if (in.size() > 2)
      in[2].values[i] = random(std::max<std::int64_t>(c.dim("classes"), 1)) * (c.dim("wide", 0) ? 0x1p33 : 1) - 1;
  }
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const auto kept = nms_oracle(in[0].values, in[1].values, in.size() > 2 ? in[2].values : std::vector<double>{},
                               *c.options.real("nms", "iou", 0.5), *c.options.flag("nms", "legacy"));
  check::Expected indices, count;
  indices.value.assign(static_cast<std::size_t>(c.dim("n")), -1);
  std::copy(kept.begin(), kept.end(), indices.value.begin());
  indices.tolerance.assign(indices.value.size(), 0);
  count.value = {static_cast<double>(kept.size())};
  count.tolerance = {0};
  return {indices, count};
}

inline check::CaseBook book() {
  const std::string op = "nms";
  check::CaseBook book{.op = op,
                       .keys = {"n"},
                       .optional_keys = {"classes", "wide", "ties"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tests = {},
                       .benches = {}};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  for (const char* type : {"f32", "f16"}) {
    const auto each = [&](const std::string& rest) { test(std::string(type) + ":" + rest); };
    // Around words of 64, blocks of 256 rows and sorted tiles of 1,024.
    for (const char* n : {"0", "1", "2", "63", "64", "65", "128", "255", "257", "1000", "1024", "1025"})
      each("n=" + std::string(n));
    for (const char* size : {"n=300,ties=1", "n=1100,ties=1", "n=300,classes=3", "n=300,classes=2,wide=1",
                             "n=90,classes=1", "n=1500,classes=5,ties=1"})
      each(size);
    for (const char* iou : {"0", "0.1", "0.7", "1"}) each("n=200:iou=" + std::string(iou));
    each("n=200:legacy");
    each("n=200,classes=2:legacy:iou=0.3");
    for (const char* fill : {"nan", "inf"}) {
      each("n=200:fill=" + std::string(fill));
      each("n=1100,ties=1:fill=" + std::string(fill));
    }
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      each("n=150,classes=2:place=" + std::string(place));
    each("n=200:warp=64");
    each("n=1100,classes=2:warp=64");
  }
  for (const char* fill : {"overflow", "denormal"}) test("f32:n=200:fill=" + std::string(fill));
  for (const char* n : {"n=1000", "n=10000", "n=50000", "n=10000,classes=80"})
    for (const char* type : {"f32", "f16"}) book.benches.push_back(op + ":" + type + ":" + n);
  return book;
}

}  // namespace ridge::nms_detail
