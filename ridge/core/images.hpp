// Images: tensors of 2 to 8 axes, [n, c, ...] or [n, ..., c], as [n, c, h, w].
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <span>
#include <string_view>

namespace ridge {

// Turns each layout into [n, c, h, w] with strides of its own. Spatial axes are merged as far as all layouts allow; if
// there are fewer than two, h, or h and w, are 1. channels_last: the layouts are [n, ..., c].
// Refuses fewer than two axes, and spatial axes that do not merge into two. Precondition: the layouts have one shape.
Status as_images(std::string_view op, bool channels_last, std::span<Layout> layouts);

// The axes of [n, h, w, c] in the order n, c, h, w; [n, c, h, w] as it is. Precondition: 4 axes.
Layout as_nchw(const Layout&, bool channels_last);

}  // namespace ridge
