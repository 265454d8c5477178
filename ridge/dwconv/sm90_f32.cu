// f32 with whole rows in shared memory, by wgmma, on Hopper.
#include <ridge/core/table.hpp>
#include <ridge/dwconv/arguments.cuh>
#include <ridge/dwconv/sm90_lags.cuh>
#include <ridge/dwconv/sm90_toeplitz.cuh>

namespace ridge::dwconv_detail {
namespace {

template <int I> struct WholePolicy { static constexpr Config config = variants[I].config; };

bool is_vector_aligned(const Signal<const float>& s, const Arguments& args) {
  constexpr std::int64_t vector = 16 / sizeof(float);
  if (s.step != 1 && s.step != -1) return false;
  return args.plan.problem.alignment >= 16 && s.batch % vector == 0 && s.channel % vector == 0 &&
         (s.step == 1 || s.size % vector == 0);
}

template <int I> Status launch_rows(const Arguments& args, const Sum<float>& sum) {
  constexpr Config c = variants[I].config;
  const DwconvProblem& p = args.plan.problem;
  const int chunks = static_cast<int>(whole_chunks(p));
  const std::int64_t items = whole_items(p.batch, p.channels);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(whole_grid(c, p, args.plan.device.sms))),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(whole_smem_bytes(chunks)),
                        .stream = args.stream.handle};
  return simt::launch(at, dwconv_whole_rows<WholePolicy<I>>, sum, chunks, static_cast<unsigned>(items),
                      is_vector_aligned(sum.p, args));
}

Status launch_lags(const Arguments& args, const Sum<float>& sum) {
  const DwconvProblem& p = args.plan.problem;
  const int chunks = static_cast<int>(whole_chunks(p));
  const simt::Config at{.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(p.channels, args.plan.device.sms))),
                        .block = dim3(whole_lags_threads),
                        .smem = static_cast<std::size_t>(whole_lags_smem_bytes(chunks)),
                        .stream = args.stream.handle};
  return simt::launch(at, dwconv_whole_lags<float>, sum, chunks, static_cast<int>(lags(p)),
                      is_vector_aligned(sum.p, args), is_vector_aligned(sum.q, args));
}

template <int I> Status launch_row(const Arguments& args) {
  if constexpr (variants[I].config.method != Method::whole) {
    return Status::error(Code::unsupported, "dwconv: this variant is launched elsewhere");
  } else {
    return launch_sums<float>(args, [&](const Sum<float>& sum, auto summed) {
      if constexpr (!decltype(summed)::value) return launch_rows<I>(args, sum);
      else return whole_chunks(args.plan.problem) <= most_whole_chunks ? launch_lags(args, sum) : launch_lags_f32(args);
    });
  }
}

}  // namespace

Status launch_whole_f32(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_row<I>(args); });
}

}  // namespace ridge::dwconv_detail
