// The table of a page's launches: what was launched, what it moved, how it fills the device.
#pragma once
#include "source.hpp"

#include <ridge/core/device.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::page {

// Texts that are empty are not known; a column that no launch knows is left out.
struct LaunchRow {
  std::string kernel = {}, at = {}, href = {};  // at: the line that launches it; href: where that leads
  std::string grid = {}, block = {}, shared = {}, launches = {};
  Units sectors = {}, wavefronts = {};
  std::string memory = {}, l2 = {};  // bytes
  std::string occupancy = {}, waves = {};
  std::string us = {}, measured = {}, bound = {};  // us: predicted
};
std::string launches_table(const std::vector<LaunchRow>&);

// "softmax_naive" of "void ridge::softmax_detail::softmax_naive<float>(float const*)".
std::string short_name(std::string_view function);

// "75 % (shared memory)": what a block's threads and shared memory allow; registers are known to a device's compiler.
std::string occupancy_text(double share, std::string_view limiter);

}  // namespace ridge::cli::page
