// What the lanes of a warp do together: shuffles, votes, matches, reductions.
#include <ridge/lab/ptx/program.hpp>

#include <ridge/lab/warp.hpp>
#include <ridge/simt/tile.hpp>

#include <iterator>

namespace ridge::lab::isa {
namespace {

using std::uint32_t;
using std::uint64_t;

uint32_t mask_of(const PtxFrame& f, const Argument& a) { return static_cast<uint32_t>(bits(f, a)); }

// ---- shfl.sync ------------------------------------------------------------------------------------------------------
enum Source : unsigned char { up, down, flip, index };

// The source as PTX has it: c is the last lane of a segment, and above it which bits of a lane are the segment's.
PtxAction run_shuffle(PtxFrame& f, const Step& s) {
  const std::size_t results = s.groups[0];
  const auto a = get<uint32_t>(f, s, results);
  const int b = static_cast<int>(bits(f, s[results + 1]) & 31), c = static_cast<int>(bits(f, s[results + 2]));
  const int lane = simt::thread_rank() % 32, segment = c >> 8 & 31, clamp = c & 31;
  const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  int from = lane;
  switch (s.detail) {
    case up: from = lane - b; break;
    case down: from = lane + b; break;
    case flip: from = lane ^ b; break;
    default: from = first | (b & ~segment);
  }
  const bool within = s.detail == up ? from >= last : from <= last;
  const uint64_t word = simt::detail::shuffle(mask_of(f, s[results + 3]), a, simt::detail::Source::index,
                                              within ? from : lane, 32, f.site->at);
  put(f, s[0], static_cast<uint32_t>(word));
  if (results == 2) put(f, s[1], within);
  return PtxAction::done;
}
bool build_shuffle(Parts& parts, Step& s) {
  if (!parts.take("sync")) throw Refusal{"removed for compute capability 7.0 and later: use shfl.sync"};
  if (parts.take("up")) s.detail = up;
  else if (parts.take("down")) s.detail = down;
  else if (parts.take("bfly")) s.detail = flip;
  else if (parts.take("idx")) s.detail = index;
  else return false;
  s.run = run_shuffle;
  return take_only_type(parts, s) && s.type == Type::b32 && (s.is({1, 1, 1, 1, 1}) || s.is({2, 1, 1, 1, 1}));
}

// ---- vote.sync ------------------------------------------------------------------------------------------------------
enum Vote : unsigned char { all_of, any_of, uniform, ballot };

PtxAction run_vote(PtxFrame& f, const Step& s) {
  const uint32_t mask = mask_of(f, s[2]);
  const bool mine = bits(f, s[1]) != 0;
  const auto yes = [&](bool predicate) { return simt::detail::ballot(mask, predicate, f.site->at); };
  switch (s.detail) {
    case all_of: put(f, s[0], yes(!mine) == 0); break;
    case any_of: put(f, s[0], yes(mine) != 0); break;
    case uniform: {
      const auto set = yes(mine), clear = yes(!mine);
      put(f, s[0], set == 0 || clear == 0);
      break;
    }
    default: put(f, s[0], static_cast<uint32_t>(yes(mine)));
  }
  return PtxAction::done;
}
bool build_vote(Parts& parts, Step& s) {
  if (!parts.take("sync")) throw Refusal{"removed for compute capability 7.0 and later: use vote.sync"};
  if (parts.take("all")) s.detail = all_of;
  else if (parts.take("any")) s.detail = any_of;
  else if (parts.take("uni")) s.detail = uniform;
  else if (parts.take("ballot")) s.detail = ballot;
  else return false;
  s.run = run_vote;
  return take_only_type(parts, s) && s.type == (s.detail == ballot ? Type::b32 : Type::pred) && s.is({1, 1, 1});
}

PtxAction run_active(PtxFrame& f, const Step& s) {
  put(f, s[0], __activemask(f.site->at));
  return PtxAction::done;
}
bool build_active(Parts& parts, Step& s) {
  s.run = run_active;
  return take_only_type(parts, s) && s.type == Type::b32 && s.is({1});
}

// ---- match.sync, redux.sync -----------------------------------------------------------------------------------------
template <class T> PtxAction run_match_any(PtxFrame& f, const Step& s) {
  put(f, s[0], __match_any_sync(mask_of(f, s[2]), get<T>(f, s, 1), f.site->at));
  return PtxAction::done;
}
template <class T> PtxAction run_match_all(PtxFrame& f, const Step& s) {
  const std::size_t results = s.groups[0];
  int equal = 0;
  put(f, s[0], __match_all_sync(mask_of(f, s[results + 1]), get<T>(f, s, results), &equal, f.site->at));
  if (results == 2) put(f, s[1], equal != 0);
  return PtxAction::done;
}
bool build_match(Parts& parts, Step& s) {
  const bool any = parts.take("any");
  if ((!any && !parts.take("all")) || !parts.take("sync") || !take_only_type(parts, s)) return false;
  if (s.type == Type::b32) s.run = any ? run_match_any<uint32_t> : run_match_all<uint32_t>;
  if (s.type == Type::b64) s.run = any ? run_match_any<uint64_t> : run_match_all<uint64_t>;
  return s.is({1, 1, 1}) || (!any && s.is({2, 1, 1}));
}

template <class T, auto reduce> PtxAction run_reduction(PtxFrame& f, const Step& s) {
  set<T>(f, s, reduce(mask_of(f, s[2]), get<T>(f, s, 1), f.site->at));
  return PtxAction::done;
}
template <auto reduce> void choose_reduction(Step& s) {
  if (s.type == Type::s32) s.run = run_reduction<int, reduce>;
  else s.run = run_reduction<unsigned, reduce>;
}
bool build_reduction(Parts& parts, Step& s) {
  if (!parts.take("sync")) return false;
  const std::string_view name = parts.front();
  parts.take_front();
  if (!take_only_type(parts, s) || !s.is({1, 1, 1})) return false;
  const bool is_number = s.type == Type::s32 || s.type == Type::u32;
  if (name == "add" && is_number)
    choose_reduction<[](unsigned m, auto x, where at) { return __reduce_add_sync(m, x, at); }>(s);
  if (name == "min" && is_number)
    choose_reduction<[](unsigned m, auto x, where at) { return __reduce_min_sync(m, x, at); }>(s);
  if (name == "max" && is_number)
    choose_reduction<[](unsigned m, auto x, where at) { return __reduce_max_sync(m, x, at); }>(s);
  if (s.type != Type::b32) return s.run != nullptr;
  if (name == "and") choose_reduction<[](unsigned m, auto x, where at) { return __reduce_and_sync(m, x, at); }>(s);
  if (name == "or") choose_reduction<[](unsigned m, auto x, where at) { return __reduce_or_sync(m, x, at); }>(s);
  if (name == "xor") choose_reduction<[](unsigned m, auto x, where at) { return __reduce_xor_sync(m, x, at); }>(s);
  return s.run != nullptr;
}

constexpr Opcode all[] = {{"shfl", build_shuffle},
                          {"vote", build_vote},
                          {"activemask", build_active},
                          {"match", build_match},
                          {"redux", build_reduction}};

}  // namespace

Opcodes warp_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
