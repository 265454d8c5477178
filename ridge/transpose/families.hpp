// The families of transpose kernels, by Config::algorithm.
#pragma once
#include <ridge/transpose/copy.hpp>
#include <ridge/transpose/narrow.hpp>
#include <ridge/transpose/runs.hpp>
#include <ridge/transpose/shifted.hpp>
#include <ridge/transpose/span.hpp>
#include <ridge/transpose/strided.hpp>
#include <ridge/transpose/textbook.hpp>
#include <ridge/transpose/thin.hpp>
#include <ridge/transpose/tile.hpp>

#include <iterator>

namespace ridge::transpose_detail {

inline constexpr const Family* families[] = {
    &textbook::family,  // naive
    &textbook::family,  // square
    &tiled::family,    &shifted::family, &thin::family, &narrow_in::family, &narrow_out::family,
    &span::family,     &runs::family,    &copy::family, &strided::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

// Form::swizzle_shift for this row: computed once per plan.
inline int swizzle_of(const Variant& row, const Form& f) {
  return row.config.algorithm == Algorithm::span ? span::best_swizzle(f) : f.swizzle_shift;
}

}  // namespace ridge::transpose_detail
