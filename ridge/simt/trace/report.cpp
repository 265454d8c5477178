// The text of a report, and its queries.
#include <ridge/core/text.hpp>
#include <ridge/simt/trace.hpp>

#include <algorithm>

namespace ridge::simt::trace {

Counts& Counts::operator+=(const Counts& other) {
  requests += other.requests;
  lanes += other.lanes;
  sectors += other.sectors;
  least_sectors += other.least_sectors;
  wavefronts += other.wavefronts;
  least_wavefronts += other.least_wavefronts;
  return *this;
}

Counts Launch::total(Space space, Kind kind) const {
  Counts sum;
  for (const Access& access : accesses)
    if (access.space == space && access.kind == kind) sum += access;
  return sum;
}

bool Launch::coalesced() const {
  return std::ranges::all_of(accesses, [](const Access& a) { return a.sectors == a.least_sectors; });
}
bool Launch::without_conflicts() const { return std::ranges::none_of(accesses, &Access::conflicts); }
std::int64_t Launch::unset_reads() const {
  std::int64_t sum = 0;
  for (const Access& access : accesses) sum += access.unset;
  return sum;
}

std::string Line::spelled() const {
  const std::string name = file.substr(file.find_last_of('/') + 1);
  return number > 0 ? name + ":" + std::to_string(number) : name;
}

static double each(std::int64_t sum, std::int64_t requests) {
  return requests ? static_cast<double>(sum) / static_cast<double>(requests) : 0;
}

std::string Access::note(int warp) const {
  std::string text;
  const auto say = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  // A contiguous range that does not begin on a sector touches one sector more.
  if (sectors > least_sectors + requests) say("uncoalesced");
  else if (sectors > least_sectors) say("misaligned");
  if (conflicts()) say(kind == Kind::atomic ? "lanes meet in a bank or a word" : "bank conflicts");
  if (unset > 0) say("UNSET: " + std::to_string(unset) + " reads of what no thread of the block wrote");
  if (lanes < requests * warp) say(format("%.3g", each(lanes, requests)) + " of " + std::to_string(warp) + " lanes");
  if (neighbours())
    say("neighbours: " + std::to_string(widened_requests) + " requests, " + std::to_string(widened_wavefronts) +
        " wavefronts where nvcc widens them");
  return text;
}

// ---- the table ---------------------------------------------------------------------------------------------------

static std::string spell(Dim d) {
  std::string text = "(" + std::to_string(d.x);
  if (d.y > 1 || d.z > 1) text += "," + std::to_string(d.y);
  if (d.z > 1) text += "," + std::to_string(d.z);
  return text + ")";
}

static std::string spell(Space space, Kind kind) {
  static constexpr const char* kinds[] = {"load", "store", "atomic"};
  return std::string(space == Space::global ? "global " : "shared ") + kinds[static_cast<int>(kind)];
}
static std::string spell(const Access& a) { return spell(a.space, a.kind) + " " + std::to_string(a.bytes) + " B"; }

static std::string quoted(const Line& line) {
  constexpr std::size_t widest = 100;
  return line.text.size() > widest ? line.text.substr(0, widest - 3) + "..." : line.text;
}

static std::string pad(std::string text, std::size_t width, bool right = false) {
  if (text.size() < width) text.insert(right ? 0 : text.size(), width - text.size(), ' ');
  return text;
}

static std::string row(const std::string& line, std::size_t line_width, const std::string& access,
                       const std::string& requests, const std::string& sectors, const std::string& wavefronts,
                       const std::string& note) {
  std::string text = "  " + pad(line, line_width) + "  " + pad(access, 18) + pad(requests, 10, true) +
                     pad(sectors, 17, true) + pad(wavefronts, 17, true) + "  " + note;
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

static std::string measured(std::int64_t sum, std::int64_t least, std::int64_t requests) {
  return format("%.2f", each(sum, requests)) + " (" + format("%.2f", each(least, requests)) + ")";
}

static std::string text_of(const Launch& launch) {
  std::string text = launch.kernel + "\n  grid " + spell(launch.grid) + ", block " + spell(launch.block);
  if (launch.smem) text += ", " + std::to_string(launch.smem) + " bytes of dynamic shared memory";
  if (launch.warp != 32) text += ", warps of " + std::to_string(launch.warp);
  text += "\n";
  if (launch.accesses.empty()) return text + "  not traced: the kernel accesses no memory, or was compiled without\n";

  std::size_t width = 4;
  for (const Access& a : launch.accesses) width = std::max(width, a.at.spelled().size());
  text += row("line", width, "access", "requests", "sectors (least)", "wavefr. (least)", "");
  const Line* former = nullptr;
  for (const Access& a : launch.accesses) {
    if (!former || former->file != a.at.file || former->number != a.at.number)
      if (const std::string source = quoted(a.at); !source.empty()) text += "  | " + source + "\n";
    former = &a.at;
    const bool global = a.space == Space::global;
    text += row(a.at.spelled(), width, spell(a), std::to_string(a.requests),
                global ? measured(a.sectors, a.least_sectors, a.requests) : "",
                global ? "" : measured(a.wavefronts, a.least_wavefronts, a.requests), a.note(launch.warp));
  }
  for (const Space space : {Space::global, Space::shared})
    for (const Kind kind : {Kind::load, Kind::store, Kind::atomic}) {
      const Counts sum = launch.total(space, kind);
      if (sum.requests == 0) continue;
      const std::string name = spell(space, kind);
      const bool global = space == Space::global;
      const auto both = [](std::int64_t n, std::int64_t least) {
        return std::to_string(n) + " (" + std::to_string(least) + ")";
      };
      text += row("all", width, name, std::to_string(sum.requests), global ? both(sum.sectors, sum.least_sectors) : "",
                  global ? "" : both(sum.wavefronts, sum.least_wavefronts), "");
    }
  for (const Branch& b : launch.branches)
    text += "  DIVERGENT " + b.at.spelled() + ": lanes part at " + std::to_string(b.divergent) + " of " +
            std::to_string(b.executed) + " branches\n" + (b.at.text.empty() ? "" : "  | " + quoted(b.at) + "\n");
  for (const Race& r : launch.races)
    text += "  RACE between blocks: " + r.at.spelled() + " against " + r.against.spelled() + ", " +
            std::to_string(r.accesses) + " accesses\n" + (r.at.text.empty() ? "" : "  | " + quoted(r.at) + "\n") +
            (r.against.text.empty() || r.against.spelled() == r.at.spelled() ? "" : "  | " + quoted(r.against) + "\n");
  return text;
}

std::string Report::text() const {
  std::string text;
  for (const Launch& launch : launches) text += (text.empty() ? "" : "\n") + text_of(launch);
  return text.empty() ? "no kernel was launched\n" : text;
}

}  // namespace ridge::simt::trace
