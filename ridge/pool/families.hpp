// The families of pooling kernels, by Config::algorithm.
#pragma once
#include <ridge/pool/adaptive.hpp>
#include <ridge/pool/channels.hpp>
#include <ridge/pool/column.hpp>
#include <ridge/pool/global_channels.hpp>
#include <ridge/pool/global_planes.hpp>
#include <ridge/pool/gradient_pixels.hpp>
#include <ridge/pool/gradient_rows.hpp>
#include <ridge/pool/gradient_tiles.hpp>
#include <ridge/pool/naive.hpp>
#include <ridge/pool/shared.hpp>
#include <ridge/pool/tile.hpp>

#include <iterator>

namespace ridge::pool_detail {

inline constexpr const Family* families[] = {
    &naive::family,           &shared::family,        &column::family,         &tiled::family,
    &channels::family,        &adaptive::family,      &global_planes::family,  &global_channels::family,
    &gradient_pixels::family, &gradient_rows::family, &gradient_tiles::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

}  // namespace ridge::pool_detail
