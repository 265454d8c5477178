#include <ridge/core/overlap.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace ridge {

namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t longest_reach = std::int64_t{1} << 60;  // bytes; sums of a few of them stay within int64
constexpr int most_steps = 10'000;                             // of a search; a step takes about ten nanoseconds

struct Range {
  std::int64_t low = 0, high = 0;  // of the lowest and the highest element, relative to the view's origin
};

// The range of a layout's offsets, times `size`; false: it is longer than any memory.
// Precondition: the layout has elements.
bool reach_of(const Layout& layout, std::int64_t size, Range& range) {
  for (int axis = 0; axis < layout.rank; ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(layout.shape[axis] - 1, layout.stride[axis], &reach) ||
        __builtin_mul_overflow(reach, size, &reach) || reach < -longest_reach || reach > longest_reach)
      return false;
    (reach < 0 ? range.low : range.high) += reach;
    if (range.high - range.low > longest_reach) return false;
  }
  return true;
}

bool is_empty(const Layout& layout) {
  for (int axis = 0; axis < layout.rank; ++axis)
    if (layout.shape[axis] == 0) return true;
  return false;
}

// Insertion sort: there are few elements, and mostly they are already in order.
template <class T, class Before> void sort(T* elements, int count, Before&& before) {
  for (int i = 1; i < count; ++i)
    for (int j = i; j > 0 && before(elements[j], elements[j - 1]); --j) std::swap(elements[j], elements[j - 1]);
}

// The sum of step x over all terms, 0 <= x <= most in each, and the search for a target. The search sets the coarsest
// term first: the reach of the others and their common divisor leave it few values, mostly one.
class Sums {
 public:
  // step > 0, most > 0
  void add(std::int64_t step, std::int64_t most) { terms_[count_++] = {step, most}; }

  // Whether some values reach the target. Returns true when `left` steps of the search are used up.
  bool reach(std::int64_t target, int& left) {
    prepare();
    return reach(0, target, left);
  }

 private:
  struct Term {
    std::int64_t step, most;
    std::int64_t reach = 0;    // the greatest sum of this term and all after it
    std::int64_t divisor = 0;  // the common divisor of their steps
    std::int64_t every = 0;    // distance between values of this term that leave the rest a multiple of its divisor
    std::int64_t inverse = 0;  // the inverse of step / divisor modulo `every`
  };

  void prepare() {
    sort(terms_, count_, [](const Term& a, const Term& b) { return a.step > b.step; });
    int kept = 0;
    for (int i = 0; i < count_; ++i) {
      if (kept && terms_[kept - 1].step == terms_[i].step) terms_[kept - 1].most += terms_[i].most;
      else terms_[kept++] = terms_[i];
    }
    count_ = kept;
    terms_[count_] = {0, 0};
    for (int i = count_ - 1; i >= 0; --i) {
      Term& t = terms_[i];
      const Term& rest = terms_[i + 1];
      t.reach = t.step * t.most + rest.reach;
      t.divisor = std::gcd(t.step, rest.divisor);
      t.every = rest.divisor / t.divisor;
      t.inverse = t.every > 1 ? inverse(t.step / t.divisor, t.every) : 0;
    }
  }

  // The inverse of a modulo m, by Euclid's algorithm. Precondition: they have no common divisor.
  static std::int64_t inverse(std::int64_t a, std::int64_t m) {
    std::int64_t r = m, next_r = a % m, x = 0, next_x = 1;
    while (next_r != 0) {
      const std::int64_t times = r / next_r;
      r = std::exchange(next_r, r - times * next_r);
      x = std::exchange(next_x, x - times * next_x);
    }
    return x < 0 ? x + m : x;
  }

  bool reach(int i, std::int64_t target, int& left) const {
    const Term& t = terms_[i];
    if (target < 0 || target > t.reach) return false;
    if (target == 0) return true;
    if (target % t.divisor != 0) return false;
    if (i == count_ - 1 || left-- <= 0) return true;
    const Term& rest = terms_[i + 1];
    const std::int64_t least = target > rest.reach ? (target - rest.reach + t.step - 1) / t.step : 0;
    const std::int64_t most = std::min(t.most, target / t.step);
    const auto wanted = static_cast<std::int64_t>(static_cast<Wide>(target / t.divisor) * t.inverse % t.every);
    const std::int64_t behind = (least - wanted) % t.every;  // distance from the last possible value to `least`
    for (std::int64_t x = behind == 0 ? least : least + (behind < 0 ? -behind : t.every - behind); x <= most;
         x += t.every)
      if (reach(i + 1, target - t.step * x, left)) return true;
    return false;
  }

  Term terms_[2 * max_rank + 2] = {};  // axes of two layouts, bytes within elements, and an empty term as the end
  int count_ = 0;
};

void add_axes(Sums& sums, const Layout& layout, std::int64_t size) {
  for (int axis = 0; axis < layout.rank; ++axis)
    if (layout.shape[axis] > 1 && layout.stride[axis] != 0)
      sums.add(std::abs(layout.stride[axis]) * size, layout.shape[axis] - 1);
}

}  // namespace

bool share_memory(const TensorView& a, const TensorView& b) {
  if (!a.data || !b.data || a.device != b.device || is_empty(a.layout) || is_empty(b.layout)) return false;
  if (a.data == b.data) return true;
  const auto size_a = static_cast<std::int64_t>(size_of(a.dtype)), size_b = static_cast<std::int64_t>(size_of(b.dtype));
  Range x, y;
  if (!reach_of(a.layout, size_a, x) || !reach_of(b.layout, size_b, y)) return true;
  // The distance from a's first byte to b's.
  const auto apart =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b.data) - reinterpret_cast<std::uintptr_t>(a.data));
  const Wide first_to_first = static_cast<Wide>(apart) + y.low - x.low;
  if (first_to_first >= x.high - x.low + size_a || -first_to_first >= y.high - y.low + size_b) return false;
  if (a.layout.is_contiguous() && b.layout.is_contiguous()) return true;
  // A byte of an element of a has the same address as a byte of an element of b. b's bytes are counted down from its
  // last byte, so that all terms have one sign.
  Sums sums;
  add_axes(sums, a.layout, size_a);
  add_axes(sums, b.layout, size_b);
  if (size_a + size_b > 2) sums.add(1, size_a + size_b - 2);
  int left = most_steps;
  return sums.reach(static_cast<std::int64_t>(first_to_first) + y.high - y.low + size_b - 1, left);
}

bool overlaps_itself(const Layout& layout) {
  if (layout.is_contiguous()) return false;
  Range range;
  if (is_empty(layout)) return false;
  if (!reach_of(layout, 1, range)) return true;
  struct Axis {
    std::int64_t step, most;
  } axes[max_rank];
  int rank = 0;
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (layout.shape[axis] <= 1) continue;
    if (layout.stride[axis] == 0) return true;
    axes[rank++] = {std::abs(layout.stride[axis]), layout.shape[axis] - 1};
  }
  sort(axes, rank, [](const Axis& a, const Axis& b) { return a.step < b.step; });
  // Two elements at one address differ along some axes. Along the coarsest of these they differ by 1 to `most`, and
  // along each finer axis by -most to most, written as 0 to 2 most less `most`.
  int left = most_steps;
  std::int64_t finer = 0;  // the greatest sum of the finer axes
  for (int coarsest = 0; coarsest < rank; ++coarsest) {
    const auto [step, most] = axes[coarsest];
    if (step <= finer) {
      Sums sums;
      if (most > 1) sums.add(step, most - 1);
      for (int axis = 0; axis < coarsest; ++axis) sums.add(axes[axis].step, 2 * axes[axis].most);
      if (sums.reach(finer - step, left)) return true;
    }
    finer += step * most;
  }
  return false;
}

bool same_elements(const TensorView& a, const TensorView& b) {
  if (a.data != b.data || a.dtype != b.dtype || !a.layout.same_shape(b.layout)) return false;
  for (int axis = 0; axis < a.rank(); ++axis)
    if (a.size(axis) > 1 && a.stride(axis) != b.stride(axis)) return false;
  return true;
}

}  // namespace ridge
