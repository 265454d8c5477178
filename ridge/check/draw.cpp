#include <ridge/check/draw.hpp>

#include <algorithm>
#include <bit>

namespace ridge::check {

// splitmix64: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
std::uint64_t Draw::bits() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::int64_t Draw::below(std::int64_t n) {
  const auto count = static_cast<std::uint64_t>(n);
  const std::uint64_t uneven = -count % count;  // 2^64 % n: this many numbers are rejected, for a uniform result
  for (;;)
    if (const std::uint64_t x = bits(); x >= uneven) return static_cast<std::int64_t>(x % count);
}

// Draws an octave, then a number in it, and keeps the number with probability (first number of its octave) / number.
std::int64_t Draw::log_uniform(std::int64_t least, std::int64_t most) {
  const auto octave_of = [](std::int64_t x) { return std::bit_width(static_cast<std::uint64_t>(x)) - 1; };
  const int first = octave_of(least), last = octave_of(most);
  for (;;) {
    const std::int64_t octave = std::int64_t{1} << (first + below(last - first + 1)), x = octave + below(octave);
    if (x >= least && x <= most && below(x) < octave) return x;
  }
}

std::int64_t Draw::size(std::int64_t least, std::int64_t most) {
  const std::int64_t x = log_uniform(least, most);
  const auto rounded = [&](std::int64_t step) { return std::max((x + step / 2) / step, std::int64_t{1}) * step; };
  const std::int64_t step = pick<std::int64_t>({{45, 128}, {30, 64}, {17, 8}, {5, 2}, {3, 1}});
  const std::int64_t wanted = step == 2 ? x | 1 : rounded(x < 64 ? std::min<std::int64_t>(step, x < 8 ? 1 : 8) : step);
  return wanted < least || wanted > most ? x : wanted;
}

std::int64_t Draw::halved(std::int64_t size, std::int64_t step) {
  const std::int64_t left = size / step / 2 * step + size % step;
  return left > 0 ? left : std::min(size, step);
}

}  // namespace ridge::check
