// The families of softmax kernels, by Config::algorithm.
#pragma once
#include <ridge/softmax/columns.hpp>
#include <ridge/softmax/elements.hpp>
#include <ridge/softmax/resident.hpp>
#include <ridge/softmax/short.hpp>
#include <ridge/softmax/sm90_ring.hpp>
#include <ridge/softmax/span.hpp>
#include <ridge/softmax/split.hpp>
#include <ridge/softmax/streaming.hpp>
#include <ridge/softmax/two_float.hpp>
#include <ridge/softmax/vector.hpp>

#include <iterator>

namespace ridge::softmax_detail {

inline constexpr const Family* families[] = {
    &streaming::family,  // naive
    &streaming::family,  // three_pass
    &streaming::family,  // online
    &streaming::family,  // strided
    &vector::family,    &span::family, &split::family,   &short_rows::family, &elements_of_rows::family,
    &resident::family,  &ring::family, &columns::family, &two_float::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

// Why the row cannot run the problem on this device; empty: it can.
inline std::string refusal(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  if (const bool offers = row.config.algorithm == Algorithm::two_float; offers != is_two_float(p))
    return offers ? "its sums are in two floats, which was not asked for" : "it has no sums in two floats";
  return family_of(row).fits(row, p, device);
}

}  // namespace ridge::softmax_detail
