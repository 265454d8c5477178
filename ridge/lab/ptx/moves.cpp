// mov, and the special registers that it reads.
#include <ridge/lab/ptx/program.hpp>

#include <ridge/simt/tile.hpp>

#include <array>
#include <chrono>

namespace ridge::lab::isa {
namespace {

using std::uint64_t;

uint64_t nanoseconds() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }
unsigned lane() { return static_cast<unsigned>(simt::thread_rank()) % 32; }
unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }
uint64_t block() {
  return blockIdx.x + std::uint64_t(gridDim.x) * (blockIdx.y + std::uint64_t(gridDim.y) * blockIdx.z);
}

// Multiprocessors of an A100; blocks go to them in turn.
constexpr unsigned multiprocessors = 108;

struct Special {
  std::string_view name;
  uint64_t (*read)();
};
// clang-format off
constexpr std::array<Special, 35> specials{{
    {"%tid.x", [] { return uint64_t{threadIdx.x}; }},
    {"%tid.y", [] { return uint64_t{threadIdx.y}; }},
    {"%tid.z", [] { return uint64_t{threadIdx.z}; }},
    {"%ntid.x", [] { return uint64_t{blockDim.x}; }},
    {"%ntid.y", [] { return uint64_t{blockDim.y}; }},
    {"%ntid.z", [] { return uint64_t{blockDim.z}; }},
    {"%ctaid.x", [] { return uint64_t{blockIdx.x}; }},
    {"%ctaid.y", [] { return uint64_t{blockIdx.y}; }},
    {"%ctaid.z", [] { return uint64_t{blockIdx.z}; }},
    {"%nctaid.x", [] { return uint64_t{gridDim.x}; }},
    {"%nctaid.y", [] { return uint64_t{gridDim.y}; }},
    {"%nctaid.z", [] { return uint64_t{gridDim.z}; }},
    {"%laneid", [] { return uint64_t{lane()}; }},
    {"%warpid", [] { return static_cast<uint64_t>(simt::thread_rank()) / 32; }},
    {"%nwarpid", [] { return uint64_t{(threads() + 31) / 32}; }},
    {"%smid", [] { return block() % multiprocessors; }},
    {"%nsmid", [] { return uint64_t{multiprocessors}; }},
    {"%gridid", [] { return uint64_t{0}; }},
    {"%clock", [] { return nanoseconds() & 0xffffffff; }},
    {"%clock_hi", [] { return nanoseconds() >> 32; }},
    {"%clock64", nanoseconds},
    {"%globaltimer", nanoseconds},
    {"%globaltimer_lo", [] { return nanoseconds() & 0xffffffff; }},
    {"%globaltimer_hi", [] { return nanoseconds() >> 32; }},
    {"%lanemask_eq", [] { return uint64_t{1u << lane()}; }},
    {"%lanemask_lt", [] { return uint64_t{(1u << lane()) - 1}; }},
    {"%lanemask_le", [] { return uint64_t{(2u << lane()) - 1}; }},
    {"%lanemask_gt", [] { return uint64_t{~((2u << lane()) - 1)}; }},
    {"%lanemask_ge", [] { return uint64_t{~((1u << lane()) - 1)}; }},
    // A block is a cluster of its own.
    {"%cluster_ctarank", [] { return uint64_t{0}; }},
    {"%cluster_nctarank", [] { return uint64_t{1}; }},
    {"%cluster_ctaid.x", [] { return uint64_t{0}; }},
    {"%cluster_nctaid.x", [] { return uint64_t{1}; }},
    {"%clusterid.x", [] { return uint64_t{blockIdx.x}; }},
    {"%nclusterid.x", [] { return uint64_t{gridDim.x}; }},
}};
// clang-format on

PtxAction copy(PtxFrame& f, const Step& s) {
  put(f, s[0], bits(f, s[1]));
  return PtxAction::done;
}
// One register of several neighbours, the first lowest; s.detail is the width of each.
PtxAction pack(PtxFrame& f, const Step& s) {
  uint64_t word = 0;
  for (unsigned i = 0; i < s.width; ++i) word |= (bits(f, s[1 + i]) & ~(~uint64_t(0) << s.detail)) << i * s.detail;
  put(f, s[0], word);
  return PtxAction::done;
}
PtxAction unpack(PtxFrame& f, const Step& s) {
  const uint64_t word = bits(f, s[s.width]);
  for (unsigned i = 0; i < s.width; ++i) put(f, s[i], word >> i * s.detail & ~(~uint64_t(0) << s.detail));
  return PtxAction::done;
}

template <class T> PtxAction copy_as(PtxFrame& f, const Step& s) {
  set<T>(f, s, get<T>(f, s, 1));
  return PtxAction::done;
}

bool build_move(Parts& parts, Step& s) {
  if (!take_only_type(parts, s) || s.groups.size() != 2) return false;
  const int to = s.groups[0], from = s.groups[1];
  if (to == 1 && from == 1) {
    s.run = copy;
    with_integer(s.type, [&]<class T>() { s.run = copy_as<T>; });
    return true;
  }
  const int count = to == 1 ? from : to;
  if ((to != 1 && from != 1) || (count != 2 && count != 4) || bits_of(s.type) > 64) return false;
  s.width = static_cast<unsigned char>(count);
  s.detail = static_cast<unsigned char>(bits_of(s.type) / static_cast<unsigned>(count));
  s.run = to == 1 ? pack : unpack;
  return true;
}

constexpr Opcode all[] = {{"mov", build_move}};

}  // namespace

Opcodes move_opcodes() { return {all, std::size(all)}; }

uint64_t special_register(unsigned number) { return specials[number].read(); }
int special_named(std::string_view name) {
  for (std::size_t i = 0; i < specials.size(); ++i)
    if (specials[i].name == name) return static_cast<int>(i);
  return -1;
}

}  // namespace ridge::lab::isa
