// Whether two strided views share a byte, and whether two elements of one layout share an address.
//
// Both reduce to sums: do integers 0 <= x[i] <= most[i] exist with step[0] x[0] + step[1] x[1] + ... = target? The
// answers are exact, for any strides, signs and element sizes. Strides can be chosen so that the search is long: past a
// bound on the work (some hundred microseconds) the answer is that the views may overlap, which is yes. It is also yes
// where elements are further apart than 2^60 bytes, as in no memory.
#pragma once
#include <ridge/core/tensor.hpp>

namespace ridge {

// Whether two views share a byte. Views without data or elements, and views on different devices, do not.
RIDGE_API bool share_memory(const TensorView&, const TensorView&);

// Whether two elements of a layout share an address.
RIDGE_API bool overlaps_itself(const Layout&);

// Whether two views are the same elements at the same addresses.
RIDGE_API bool same_elements(const TensorView&, const TensorView&);

}  // namespace ridge
