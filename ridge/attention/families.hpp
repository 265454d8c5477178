// The families of attention kernels, by Config::algorithm.
#pragma once
#include <ridge/attention/gradient_tile.hpp>
#include <ridge/attention/naive.hpp>
#include <ridge/attention/register_tile.hpp>
#include <ridge/attention/sm80_gradient.hpp>
#include <ridge/attention/sm80_gradient_short.hpp>
#include <ridge/attention/sm80_mma.hpp>
#include <ridge/attention/sm90_decode.hpp>
#include <ridge/attention/sm90_decode_one.hpp>
#include <ridge/attention/sm90_gradient.hpp>
#include <ridge/attention/sm90_terms.hpp>
#include <ridge/attention/sm90_wgmma.hpp>
#include <ridge/attention/tiled.hpp>
#include <ridge/attention/two_float.hpp>

#include <iterator>

namespace ridge::attention_detail {

inline constexpr const Family* families[] = {
    &naive::family,      &tiled::family,          &register_tile::family, &gradient_tile::family,
    &mma_sync::family,   &mma_gradient::family,   &wgmma::family,         &decode::family,
    &decode_one::family, &wgmma_gradient::family, &wgmma_terms::family,   &short_gradient::family,
    &two_float::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

}  // namespace ridge::attention_detail
