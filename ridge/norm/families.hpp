// The families of norm kernels, by Config::algorithm.
#pragma once
#include <ridge/norm/elements.hpp>
#include <ridge/norm/even.hpp>
#include <ridge/norm/fused.hpp>
#include <ridge/norm/resident.hpp>
#include <ridge/norm/short.hpp>
#include <ridge/norm/sm90_ring.hpp>
#include <ridge/norm/sm90_specialized.hpp>
#include <ridge/norm/span.hpp>
#include <ridge/norm/split.hpp>
#include <ridge/norm/streaming.hpp>
#include <ridge/norm/vector.hpp>

#include <iterator>

namespace ridge::norm_detail {

inline constexpr const Family* families[] = {
    &streaming::family,
    &vector::family,
    &split::family,
    &span::family,  // span
    &span::family,  // span_sums
    &elements_of_rows::family,
    &even::family,
    &short_rows::family,  // short_rows
    &short_rows::family,  // short_sums
    &resident::family,
    &fused::family,
    &specialized::family,
    &ring::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

}  // namespace ridge::norm_detail
