#include <ridge/check/fuzz.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>

namespace ridge::check {

namespace {

// ---- a case at random -----------------------------------------------------------------------------------------------

std::int64_t any_size(Draw& d) {
  constexpr std::int64_t primes[] = {2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 131, 257, 509, 1021};
  switch (d.pick<int>({{5, 0}, {15, 1}, {15, 2}, {15, 3}, {30, 4}, {20, 5}})) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 2 + d.below(8);
    case 3: return primes[d.below(std::size(primes))];
    case 4: return std::max<std::int64_t>((std::int64_t{1} << d.below(11)) + d.below(3) - 1, 1);
    default: return d.log_uniform(1, 4096);
  }
}

// A size around the limits of 16, 31, 32 and 63 bits, and of grids.
std::int64_t huge_size(Draw& d) {
  const int bits = d.pick<int>({{20, 16}, {20, 31}, {20, 32}, {10, 33}, {10, 40}, {5, 62}});
  return (std::int64_t{1} << bits) + d.below(5) - 2;
}

const char* any_number(Draw& d) {
  constexpr const char* numbers[] = {"0",
                                     "-0",
                                     "1",
                                     "-1",
                                     "2",
                                     "3",
                                     "0.5",
                                     "-0.25",
                                     "1e-30",
                                     "1e30",
                                     "-1e30",
                                     "1e-320",
                                     "3.5e38",
                                     "nan",
                                     "inf",
                                     "-inf",
                                     "65536",
                                     "2147483647",
                                     "-2147483648",
                                     "4294967297",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "1e400",
                                     "",
                                     "x",
                                     "0x10",
                                     "1,",
                                     "+1",
                                     " 1"};
  return d.chance(60) ? numbers[d.below(7)] : numbers[d.below(std::size(numbers))];
}

// A value for an option, by the operator's description: one of "a|b", a number, or numbers with commas.
std::string any_value(std::string_view description, Draw& d) {
  if (description.find('|') != std::string_view::npos && d.chance(90)) {
    const auto choices = std::ranges::count(description, '|') + 1;
    for (std::int64_t skip = d.below(choices); skip > 0; --skip) description.remove_prefix(description.find('|') + 1);
    return std::string(description.substr(0, description.find('|')));
  }
  std::string value = any_number(d);
  const auto more = description.find(',') != std::string_view::npos ? 1 + d.below(3) : d.chance(5) ? 1 : 0;
  for (std::int64_t i = 0; i < more; ++i) value += std::string(",") + any_number(d);
  return value;
}

// Whether products of a few of the fill's values may leave a type's range.
bool is_far(std::string_view fill) {
  for (const char* far : {"special", "lowest", "greatest", "overflow"})
    if (fill.starts_with(far)) return true;
  const auto number =
      fill.substr(fill.find(',') + 1);  // "constant,-1e25"; without a comma the whole fill, which is not a number
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return std::fabs(value) > 1e9;
}

std::string any_fill(Draw& d, DType dtype) {
  const char* fill = d.pick<const char*>({{20, "normal"},
                                          {6, "uniform"},
                                          {10, "ints"},
                                          {3, "ones"},
                                          {6, "rows"},
                                          {8, "ties"},
                                          {10, "special"},
                                          {5, "lowest"},
                                          {5, "greatest"},
                                          {6, "nan"},
                                          {6, "inf"},
                                          {6, "overflow"},
                                          {6, "denormal"},
                                          {2, "zipf"},
                                          {20, "shifted"},
                                          {8, "constant"},
                                          {5, "alternating"}});
  std::string text = fill;
  if (text != "shifted" && text != "constant" && text != "alternating") return text;
  if (!is_floating(dtype)) return "ints";
  const char* far = d.pick<const char*>({{1, "1e4"},
                                         {1, "-1e4"},
                                         {1, "1e-30"},
                                         {1, "3e4"},
                                         {1, "1e10"},
                                         {1, "-1e20"},
                                         {1, "1e30"},
                                         {1, "-3e38"},
                                         {1, "7"}});
  return text + "," + far;
}

const char* any_place(Draw& d, bool with_shared_elements) {
  if (with_shared_elements && d.chance(15)) return d.chance(50) ? "broadcast" : "windows";
  return d.pick<const char*>({{10, "offset"},
                              {10, "padded"},
                              {10, "packed"},
                              {10, "strided"},
                              {10, "reversed"},
                              {12, "inplace"},
                              {15, "mixed"},
                              {40, "scattered"},
                              {6, "tangled"}});
}

template <class T> const T& any_of(const std::vector<T>& list, Draw& d) {
  return list[static_cast<std::size_t>(d.below(static_cast<std::int64_t>(list.size())))];
}

// ---- the work of a case --------------------------------------------------------------------------------------------

// Whether a run stays within the room; nothing where the case is refused.
std::optional<bool> is_small(const Case& c, const DeviceInfo& device, Room room) {
  const auto r = placed_request(c, device.id);
  if (!r) return std::nullopt;
  if (r->bytes > room.bytes) return false;
  const auto plan = plan_op(*r->op, r->inputs, r->outputs, c.operator_options(), device);
  if (!plan) return std::nullopt;
  const Explanation e = (*plan)->explain();
  const double threads =
      static_cast<double>(e.analysis.blocks) * e.analysis.threads;  // in many rows more than the operations
  return e.cost.all_operations() <= room.operations && threads <= room.operations / 4 &&
         static_cast<double>((*plan)->workspace_bytes()) <= 64 * room.bytes;
}

// ---- the checks ----------------------------------------------------------------------------------------------------

Verdict verdict(Verdict::Kind kind, const Case& c, std::string why) { return {kind, c.text(), std::move(why)}; }

Verdict refusal(const Case& c, std::string_view sentence) {
  const bool named = sentence.find(c.op) != std::string_view::npos;
  return verdict(named ? Verdict::refused : Verdict::sentence, c, std::string(sentence));
}

// The fault in a plan's explanation; empty: none.
std::string fault_of(const OpInfo& op, const Explanation& e, std::string_view device) {
  std::string why;
  const auto number = [&](std::string_view what, double x) {
    if (!std::isfinite(x) || x < 0) why = std::string(what) + " is " + std::to_string(x);
  };
  number("bytes", e.cost.bytes());
  number("operations", e.cost.all_operations());
  number("least_us", e.least_us);
  number("predicted_us", e.predicted_us);
  const auto chosen = std::ranges::find(e.candidates, e.variant, &Candidate::variant);
  if (std::ranges::find(op.variants, e.variant, &VariantInfo::name) == op.variants.end())
    why = "variant '" + e.variant + "' is no row of the table";
  else if (chosen != e.candidates.end() && !chosen->fits()) why = "variant " + e.variant + " does not fit";
  else if (e.text().empty()) why = "the explanation is empty";
  return why.empty() ? why : "on " + std::string(device) + ": " + why;
}

// Plans the case for this device and for every model: each plan must be made and explained, or refused by a sentence.
Verdict plan_everywhere(const Case& c, const DeviceInfo& here, bool& runs_here) {
  std::vector<DeviceInfo> devices{here};
  devices.insert(devices.end(), device_models().begin(), device_models().end());
  Verdict all{Verdict::right, c.text(), {}};
  for (const DeviceInfo& device : devices) {
    const auto r = placed_request(c, device.id);
    if (!r) return refusal(c, r.error().message());
    const auto plan = plan_op(*r->op, r->inputs, r->outputs, c.operator_options(), device);
    if (!plan) {
      const Verdict refused = refusal(c, plan.error().message());
      if (refused.is_finding()) return refused;
      if (all.kind == Verdict::right) all = refused;
      continue;
    }
    if (const std::string why = fault_of(*r->op, (*plan)->explain(), device.name); !why.empty())
      return verdict(Verdict::plan, c, why);
    if (&device == &devices.front()) runs_here = true;
  }
  return all;
}

// Runs the chosen row, and the other rows that stay within the room: a row may need far more threads than the chosen
// one. Many rows with the most threads may together take as long as a hang, so after ten seconds no further row is
// begun.
Verdict run_here(const Case& c, const DeviceInfo& device, Room room) {
  using Clock = std::chrono::steady_clock;
  const auto last_begin = Clock::now() + std::chrono::seconds(10);
  const auto wanted = [&](std::string_view variant) {
    Case of_row = c;
    of_row.options.set("variant", std::string(variant));
    return Clock::now() < last_begin && is_small(of_row, device, room).value_or(true);
  };
  Verdict result{Verdict::planned, c.text(), {}};
  for (const Outcome& outcome : run_case(c, device, true, wanted)) {
    if (outcome.kind == Outcome::failed) return {Verdict::wrong, outcome.case_text, outcome.why};
    if (outcome.kind == Outcome::passed) result.kind = Verdict::right;
    else if (outcome.kind == Outcome::refused && result.kind != Verdict::right) result.kind = Verdict::refused;
  }
  return result;
}

}  // namespace

std::string_view name(Verdict::Kind kind) {
  constexpr std::string_view names[] = {"right", "refused", "planned", "wrong", "sentence",
                                        "plan",  "threw",   "crash",   "hang"};
  return names[kind];
}

Case fuzz_case(const CaseBook& book, Draw& d, const DeviceInfo& device, Room room,
               const std::function<void(const Case&)>& tell) {
  const OpInfo& op = **find_op(book.op);
  const auto of_book = [&] { return *Case::parse(any_of(book.tests, d)); };
  Case c = book.draw && d.chance(15) ? *drawn_case(book, d) : of_book();
  const bool huge = d.chance(12);

  // Sizes: some stay, some are new, some equal another size; optional ones are added and removed.
  for (auto& [key, size] : c.dims)
    if (std::ranges::count(book.optional_keys, key) > 0 && d.chance(80))
      size = of_book().dim(key, size);  // often an enumerated choice
    else if (d.chance(huge ? 40 : 45)) size = huge ? huge_size(d) : any_size(d);
    else if (d.chance(8)) size = any_of(c.dims, d).second;
    else if (d.chance(8)) size += d.below(3) - (size > 0 ? 1 : 0);
  for (const std::string& key : book.optional_keys)
    if (!c.has(key) && d.chance(6)) c.dims.emplace_back(key, of_book().dim(key, any_size(d)));

  if (d.chance(40)) c.dtype = any_of(op.dtypes, d);
  if (d.chance(2)) c.dtype = static_cast<DType>(d.below(dtype_count));

  // Options: some from another case, and some from the operator's descriptions.
  std::vector<std::string> dropped;
  for (const auto& [key, value] : c.options.pairs())
    if (key == "variant" || key == "seed" || d.chance(Case::is_harness_option(key) ? 70 : 15)) dropped.push_back(key);
  for (const std::string& key : dropped) c.options.erase(key);
  if (d.chance(40)) {
    const Case other = of_book();
    for (const auto& [key, value] : other.options.pairs())
      if (key != "variant" && d.chance(60)) c.options.set(key, value);
  }
  while (!op.options.empty() && d.chance(25)) {
    const OptionInfo& option = any_of(op.options, d);
    if (option.name == "checked") continue;  // cases have invalid indices on purpose, which this option refuses
    if (!c.has(option.name)) c.options.set(std::string(option.name), any_value(option.values, d));
  }

  if (d.chance(60)) c.options.set("fill", any_fill(d, c.dtype));
  // A gradient sums up results that the first pass kept apart, so it may leave the range too.
  if ((book.may_leave_range || c.options.has("backward")) && is_floating(c.dtype) && is_far(c.options.text("fill")))
    c.options.erase("fill");
  // A gradient's inputs are results of a first pass: they cannot share elements where the first pass's inputs do not.
  if (d.chance(45)) c.options.set("place", any_place(d, !c.options.has("backward")));
  if (device.is_cpu() && d.chance(8)) c.options.set("warp", "64");
  else if (d.chance(12)) c.options.erase("warp"), c.options.set("via", "c");
  if (d.chance(70)) c.options.set("seed", std::to_string(1 + d.below(1000000)));

  // A run must be short: halves the largest size until it is.
  for (int step = 0; !huge && step < 400 && !c.dims.empty(); ++step) {
    tell(c);
    const auto small = is_small(c, device, room);
    if (!small || *small) break;
    auto largest = std::ranges::max_element(c.dims, {}, [](const auto& dim) { return dim.second; });
    if (largest->second <= 1) break;
    largest->second /= 2;
  }
  return c;
}

Verdict try_case(const Case& c, const DeviceInfo& given, Room room) {
  try {
    const auto again = Case::parse(c.text());
    if (!again || again->text() != c.text()) return verdict(Verdict::sentence, c, "the text does not mean itself");
    DeviceInfo device = given;
    if (device.is_cpu() && c.options.text("warp") == "64") device.warp = 64;
    bool runs_here = false;
    const Verdict planned = plan_everywhere(c, device, runs_here);
    if (planned.is_finding()) return planned;
    const auto small = is_small(c, device, room);
    // The harness checks that outputs with shared elements are refused.
    const bool tangled = c.options.text("place") == "tangled";
    if (!runs_here) return planned;
    if (!small || !*small) return verdict(tangled ? Verdict::refused : Verdict::planned, c, {});
    return run_here(c, device, room);
  } catch (const std::exception& error) {
    return verdict(Verdict::threw, c, error.what());
  }
}

std::vector<Case> simpler_cases(const Case& c) {
  std::vector<Case> simpler;
  for (const auto& [key, value] : c.options.pairs()) {
    if (key == "variant") continue;  // the finding's variant stays
    Case less = c;
    less.options.erase(key);
    simpler.push_back(std::move(less));
  }
  const auto with = [&](std::size_t dim, std::int64_t size) {
    Case less = c;
    less.dims[dim].second = size;
    simpler.push_back(std::move(less));
  };
  for (std::size_t i = 0; i < c.dims.size(); ++i) {
    const std::int64_t size = c.dims[i].second;
    if (size > 1) with(i, 1);
    if (size > 3) with(i, size / 2);
    if (size > 2) with(i, size - 1);
  }
  for (const char* fill : {"ones", "ints", "normal"})
    if (c.options.has("fill") && c.options.text("fill") != fill) {
      if (c.options.text("fill") == "ones" || c.options.text("fill") == "ints") break;
      Case less = c;
      less.options.set("fill", fill);
      simpler.push_back(std::move(less));
    }
  return simpler;
}

}  // namespace ridge::check
