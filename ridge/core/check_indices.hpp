// Checks of the numbers in device memory that say where kernels read and write: offsets, lengths, page tables, indices.
//
// These numbers are not trusted (docs/reliability.md): kernels clamp each to the range that stays inside of the
// tensors. These checks are for runs that are `checked`, before anything is launched: they say which number is wrong,
// and why.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/core/stream.hpp>
#include <ridge/core/tensor.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

// The numbers of an i32 or i64 tensor of any strides, in row-major order, once all work queued on the stream is done.
// On a GPU this waits and copies, and is refused while the stream is captured into a graph.
RIDGE_API Result<std::vector<std::int64_t>> read_indices(std::string_view op, std::string_view argument,
                                                         const TensorView&, Stream = {});

// Checks one number: "attention: lengths[2] is 65; it must be from 0 to 64, the rows of k".
//   place: the number's name, "lengths[2]";  of: the things that `most` counts, "the rows of k"
RIDGE_API Status check_index(std::string_view op, std::string place, std::int64_t number, std::int64_t least,
                             std::int64_t most, std::string_view of);

// Checks all numbers of a tensor: each is an index below `count`. `of` names what it indexes: "a row of table".
RIDGE_API Status check_indices(std::string_view op, std::string_view argument, const TensorView&, std::int64_t count,
                               std::string_view of, Stream = {});

// Checks offsets, where number i + 1 is the end of sequence i: they rise from 0 or more to at most `rows`, "the rows of
// q".
RIDGE_API Status check_offsets(std::string_view op, std::string_view argument, const TensorView&, std::int64_t rows,
                               std::string_view of, Stream = {});

}  // namespace ridge
