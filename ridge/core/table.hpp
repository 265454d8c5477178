// Dispatch from the index of a table's row, known at run time, to the code compiled for that row.
#pragma once
#include <ridge/core/status.hpp>

#include <utility>

namespace ridge {

namespace detail {
template <int Row, class Launch> Status launch_of_row(const Launch& launch) {
  return launch.template operator()<Row>();
}
template <class Launch, int... Row>
Status visit_row(int row, const Launch& launch, std::integer_sequence<int, Row...>) {
  static constexpr Status (*launchers[])(const Launch&) = {launch_of_row<Row, Launch>...};
  return launchers[row](launch);
}
}  // namespace detail

// Calls launch.operator()<row>(), which is compiled for each of the table's `Rows` rows; what a row is not compiled
// for, its operator's fits() refuses, and launch returns an error. Precondition: 0 <= row < Rows.
template <int Rows, class Launch> [[nodiscard]] Status visit_row(int row, const Launch& launch) {
  return detail::visit_row(row, launch, std::make_integer_sequence<int, Rows>{});
}

}  // namespace ridge
