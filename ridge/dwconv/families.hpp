// The families of dwconv's kernels, by Config::algorithm.
#pragma once
#include <ridge/dwconv/element.hpp>
#include <ridge/dwconv/ring.hpp>
#include <ridge/dwconv/sm80_toeplitz.hpp>
#include <ridge/dwconv/sm90_toeplitz.hpp>
#include <ridge/dwconv/spectral.hpp>
#include <ridge/dwconv/tiled.hpp>

#include <iterator>

namespace ridge::dwconv_detail {

inline constexpr const Family* families[] = {
    &element::family, &tiled::family, &spectral::family, &ring::family, &tensor::family, &whole::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

}  // namespace ridge::dwconv_detail
