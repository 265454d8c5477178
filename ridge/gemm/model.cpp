// The account of a prediction: its parts, and a sentence for each.
#include <ridge/core/text.hpp>
#include <ridge/gemm/model.hpp>

namespace ridge::gemm_detail {

std::vector<Analysis::Term> terms_of(const GemmProblem& p, const DeviceInfo& device, const Prediction& r, double full) {
  const Clocks& clocks = r.clocks;
  const auto us = [&](double of) { return of / device.clock_ghz * 1e-3; };
  const double gbs = device.memory_gbs, bytes = cost(p).bytes();
  std::vector<Analysis::Term> terms;
  double sum = 0;
  const auto add = [&](const char* name, double term_us, std::string why) {
    if (term_us > 1e-9 * r.us) terms.push_back({name, term_us, std::move(why)}), sum += term_us;
  };
  add("launch", device.launch_us, format("1 x %.2f us", device.launch_us));
  add("copies", r.copies_us, format("%.4g MB of operands, copied first", r.copied_bytes * 1e-6));
  add("slices", r.slices_us, "sums of slices of k, written to the workspace and added up by a second kernel");
  add("products", us(clocks.products),
      format("all multiply-adds, at the rate of %s on every multiprocessor",
             clocks.tensor_cores ? "tensor cores" : "multiply-add units"));
  add("waves", us(clocks.waves),
      format("%.4g tiles for each multiprocessor, the fullest has %.4g; tiles are %.0f %% full", clocks.mean_tiles,
             clocks.tiles, 100 * full));
  const std::size_t here = terms.size();
  add("start", us(clocks.start),
      clocks.finish > 0 ? "of blocks, and their first loads" : "of blocks, their first loads and their epilogues");
  add("epilogue", us(clocks.finish), "ends of tiles that no products hide");
  add("cache", r.cache_us,
      format("operands of all tiles at the %.0f GB/s of the L2 cache, beyond the above", device.l2_gbs));
  add("memory", us(clocks.memory) + r.memory_us,
      format("%.4g MB at %.0f GB/s are %.2f us; what the above does not hide", bytes * 1e-6, gbs, bytes / gbs * 1e-3));
  add("clock", us(clocks.total) * r.slower,
      format("falls by %.0f %% for the power of products at full rate", 100 * r.slower / (1 + r.slower)));
  // The rest: how much longer steps take than their products.
  if (const double rest = r.us - sum; rest > 1e-9 * r.us)
    terms.insert(terms.begin() + static_cast<std::ptrdiff_t>(here),
                 {"operands", rest,
                  format("a step of %d takes %.0f clocks because of %s; its products %.0f", clocks.step_k,
                         clocks.step.clocks, std::string(clocks.step.limit).c_str(), clocks.step_products)});
  return terms;
}

}  // namespace ridge::gemm_detail
