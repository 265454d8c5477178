// The families of group norm's kernels, by Config::algorithm.
#pragma once
#include <ridge/group_norm/element.hpp>
#include <ridge/group_norm/resident.hpp>
#include <ridge/group_norm/split.hpp>

#include <iterator>

namespace ridge::group_norm_detail {

inline constexpr const Family* families[] = {
    &element::family,
    &resident::family,
    &split::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

}  // namespace ridge::group_norm_detail
