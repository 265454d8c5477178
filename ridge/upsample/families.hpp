// The families of resizing kernels, by Config::algorithm.
#pragma once
#include <ridge/upsample/channels.hpp>
#include <ridge/upsample/channels_x2.hpp>
#include <ridge/upsample/gradient_channels.hpp>
#include <ridge/upsample/gradient_channels_x2.hpp>
#include <ridge/upsample/gradient_rows.hpp>
#include <ridge/upsample/gradient_rows_x2.hpp>
#include <ridge/upsample/naive.hpp>
#include <ridge/upsample/rows.hpp>
#include <ridge/upsample/rows_x2.hpp>

#include <iterator>

namespace ridge::upsample_detail {

inline constexpr const Family* families[] = {
    &naive::family,
    &rows::family,
    &rows_x2::family,
    &channels::family,
    &channels_x2::family,
    &gradient_rows::family,
    &gradient_rows_x2::family,
    &gradient_channels::family,
    &gradient_channels_x2::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

}  // namespace ridge::upsample_detail
