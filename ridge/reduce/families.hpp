// The families of reduction kernels, by Config::algorithm.
#pragma once
#include <ridge/reduce/columns.hpp>
#include <ridge/reduce/rows.hpp>
#include <ridge/reduce/shifted.hpp>
#include <ridge/reduce/slices.hpp>
#include <ridge/reduce/sm90_cluster.hpp>
#include <ridge/reduce/spans.hpp>
#include <ridge/reduce/textbook.hpp>

#include <iterator>

namespace ridge::reduce_detail {

inline constexpr const Family* families[] = {
    &textbook::family,  // atomic
    &textbook::family,  // block_serial
    &textbook::family,  // tree_interleaved
    &textbook::family,  // tree_strided
    &textbook::family,  // tree_sequential
    &textbook::family,  // shuffle
    &textbook::family,  // block_atomic
    &slices::family,   &rows::family, &spans::family, &columns::family, &shifted::family, &cluster::family,
};
static_assert(std::size(families) == algorithm_count);
inline const Family& family_of(const Variant& row) { return *families[static_cast<int>(row.config.algorithm)]; }

// How each family divides rows, in the same order.
inline constexpr const Partition* partitions[] = {
    &textbook::partition, &textbook::partition, &textbook::partition, &textbook::partition, &textbook::partition,
    &textbook::partition, &textbook::partition, &slices::partition,   &rows::partition,     &spans::partition,
    &columns::partition,  &shifted::partition,  &cluster::partition,
};
static_assert(std::size(partitions) == algorithm_count);
inline const Partition& partition_of(const Config& c) { return *partitions[static_cast<int>(c.algorithm)]; }

}  // namespace ridge::reduce_detail
