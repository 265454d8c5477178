// Which strided views have a byte in common, and which have two elements in one place.
//
// Both are asked of sums: whether integers 0 <= x[i] <= most[i] exist with step[0] x[0] + step[1] x[1] + ... = target.
// The answers are exact, for any strides, signs and element sizes. The question is hard for strides chosen to make it
// so: past a bound on the work (some hundred microseconds) the answer is that the views may overlap, which is yes.
// So it is where elements lie further apart than 2^60 bytes, as those of no memory do.
#pragma once
#include <ridge/core/tensor.hpp>

namespace ridge {

// Whether two views have a byte in common. Views without data or elements, and those of different devices, do not.
RIDGE_API bool share_memory(const TensorView&, const TensorView&);

// Whether two elements of a layout lie in one place.
RIDGE_API bool overlaps_itself(const Layout&);

// Whether two views are the same elements in the same places.
RIDGE_API bool same_elements(const TensorView&, const TensorView&);

}  // namespace ridge
