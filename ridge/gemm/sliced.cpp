#include <ridge/gemm/families.hpp>
#include <ridge/gemm/sliced.hpp>
#include <ridge/gemm/validate.hpp>

namespace ridge::gemm_detail::sliced {

namespace {

constexpr std::int64_t shortest = 1024;  // of a slice: shorter ones are not worth their sums
constexpr int most = 64;                 // slices
// What batches of long matrices take beyond their prediction: 48 x 1920 x 5120, 4096 x 14336 of few rows, on an H200.
constexpr double slower = 1.2;

// Whether k can be cut into so many slices: equal ones, as a batch has, that start on 16 bytes along k.
bool cuts(const GemmProblem& p, int slices) {
  const std::int64_t each = p.k / slices;
  return p.k % slices == 0 && each >= shortest && each * static_cast<std::int64_t>(size_of(p.dtype)) % 16 == 0;
}

// The least predicted row of the batch, and the whole time.
Prediction predict(const GemmProblem& p, const DeviceInfo& device, int slices) {
  const GemmProblem batch = batch_of(p, slices);
  Prediction best;
  for (const Variant& row : variants) {
    if (row.role != Role::general || !family_of(row).fits(row, batch, device).empty()) continue;
    const Prediction r = family_of(row).model(row, batch, device);
    if (best.us == 0 || r.us < best.us) best = r;
  }
  best.slices_us = (slower - 1) * best.us + device.launch_us +
                   add_slices_us(static_cast<std::int64_t>(gemm_detail::slice_bytes(p, slices)), slices, device);
  best.us += best.slices_us;
  return best;
}

}  // namespace

GemmProblem batch_of(const GemmProblem& p, int slices) {
  GemmProblem q{.m = p.m, .n = p.n, .k = p.k / slices, .batch = slices, .dtype = p.dtype, .out = f32};
  q.layout = p.layout;
  q.scalars.math = p.scalars.math;
  q.a = *p.a, q.b = *p.b;
  q.a->batch_stride = q.k * p.a->col_stride;
  q.b->batch_stride = q.k * p.b->row_stride;
  const std::int64_t pitch = gemm_kernels::slice_pitch(p.n);
  q.d = GemmOperand{.dtype = f32, .row_stride = pitch, .col_stride = 1, .batch_stride = p.m * pitch};
  return with_operands(q);
}

std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (p.batch != 1 || p.gate) return "it multiplies one matrix, by one operand B";
  if (products(p) == 0) return "there are no products";
  constexpr std::int64_t tile = 64;
  // Plans for the CPU should be the same on every machine.
  const int sms = device.is_cpu() ? 64 : device.sms;
  const std::int64_t tiles = ceil_div(p.m, tile) * ceil_div(p.n, tile);
  if (2 * tiles > sms)
    return "D has " + std::to_string(tiles) + " tiles of 64 x 64, half as many as multiprocessors or more";
  for (int slices = 2; slices <= most; ++slices)
    if (cuts(p, slices)) return {};
  return "k is " + std::to_string(p.k) + ", which is not two to 64 whole slices of 1024 or more";
}

Arrangement arrange(const Variant&, const GemmProblem& p, const DeviceInfo& device) {
  Arrangement best;
  double least = 0;
  // Of every power of two of slices, the next number that cuts k.
  for (int wanted = 2; wanted <= most; wanted *= 2)
    for (int slices = wanted; slices < std::min(2 * wanted, most + 1); ++slices) {
      if (!cuts(p, slices)) continue;
      if (const double us = predict(p, device, slices).us; least == 0 || us < least) least = us, best.split = slices;
      break;
    }
  return best;
}

Prediction model(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  return predict(p, device, arrange(row, p, device).split);
}

Footprint footprint(const Variant&, const GemmProblem& p, const DeviceInfo& device, const Arrangement& way) {
  const auto batch = plan_gemm(batch_of(p, way.split), device);
  if (!batch) return {};
  const Variant& row = variants[batch->variant];
  Footprint f = family_of(row).footprint(row, batch->problem, device, {batch->split, batch->swap_ab});
  f.launch.workspace += gemm_detail::slice_bytes(p, way.split);
  return f;
}

}  // namespace ridge::gemm_detail::sliced
