// Numbers that lie on the device and say where kernels read and write: offsets, lengths, page tables, indices.
//
// They are not trusted (docs/reliability.md): kernels take each into the range that keeps them inside of the tensors.
// What is here is for runs that are `checked`, before anything is launched: it says which number was wrong, and why.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/core/stream.hpp>
#include <ridge/core/tensor.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

// The numbers of an i32 or i64 tensor of any strides, row-major, as they are once all is done that is queued on the
// stream. Those on a GPU are waited for and copied, which is refused while the stream is captured into a graph.
RIDGE_API Result<std::vector<std::int64_t>> read_indices(std::string_view op, std::string_view argument,
                                                         const TensorView&, Stream = {});

// One number: "attention: lengths[2] is 65; it must be from 0 to 64, the rows of k".
//   place: where it stands, "lengths[2]";  of: what there are as many of, "the rows of k"
RIDGE_API Status check_index(std::string_view op, std::string place, std::int64_t number, std::int64_t least,
                             std::int64_t most, std::string_view of);

// All numbers of a tensor: each is one of `count` things, from 0 on. `of` names them: "a row of table".
RIDGE_API Status check_indices(std::string_view op, std::string_view argument, const TensorView&, std::int64_t count,
                               std::string_view of, Stream = {});

// Offsets, of which number i + 1 is where sequence i ends: they rise from 0 or more to at most `rows`, "the rows of q".
RIDGE_API Status check_offsets(std::string_view op, std::string_view argument, const TensorView&, std::int64_t rows,
                               std::string_view of, Stream = {});

}  // namespace ridge
