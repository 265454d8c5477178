#include <ridge/core/images.hpp>

#include <string>
#include <vector>

namespace ridge {

Status as_images(std::string_view op, bool channels_last, std::span<Layout> layouts) {
  std::vector<Layout> space(layouts.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Layout& t = layouts[i];
    if (t.rank < 2) return Status::invalid(op, "x.shape", t.text(), "of 2 axes or more");
    space[i].rank = t.rank - 2;
    for (int axis = 0; axis + 2 < t.rank; ++axis) {
      space[i].shape[axis] = t.shape[axis + (channels_last ? 1 : 2)];
      space[i].stride[axis] = t.stride[axis + (channels_last ? 1 : 2)];
    }
  }
  collapse(space);
  if (space[0].rank > 2) {
    std::string texts;
    for (const Layout& t : layouts) texts += (texts.empty() ? "" : " and ") + t.text();
    return Status::invalid(op, "strides", texts, "such that spatial axes merge into two");
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Layout t = layouts[i];
    const int channel = channels_last ? t.rank - 1 : 1;
    Layout& four = layouts[i] = {};
    four.rank = 4;
    four.shape = {t.shape[0], t.shape[channel], 1, 1};
    four.stride = {t.stride[0], t.stride[channel], 1, 1};
    for (int axis = 0; axis < space[i].rank; ++axis) {
      const int to = 4 - space[i].rank + axis;
      four.shape[to] = space[i].shape[axis];
      four.stride[to] = space[i].stride[axis];
    }
  }
  return {};
}

Layout as_nchw(const Layout& given, bool channels_last) {
  if (!channels_last) return given;
  Layout t = given;
  constexpr int from[] = {0, 3, 1, 2};
  for (int axis = 0; axis < 4; ++axis) {
    t.shape[axis] = given.shape[from[axis]];
    t.stride[axis] = given.stride[from[axis]];
  }
  return t;
}

}  // namespace ridge
