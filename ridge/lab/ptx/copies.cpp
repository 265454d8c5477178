// cp.async and its groups: a thread's queue (ridge/lab/copies.hpp).
#include <ridge/lab/ptx/program.hpp>

#include <ridge/lab/copies.hpp>
#include <ridge/lab/ptx/shared.hpp>

#include <iterator>

namespace ridge::lab::isa {
namespace {

// cp.async [to], [from], bytes{, bytes of the source or whether to ignore it}{, cache policy}
PtxAction run_copy(PtxFrame& f, const Step& s) {
  const std::uint64_t bytes = bits(f, s[2]);
  if (bytes != 16 && (s.detail || (bytes != 4 && bytes != 8)))
    throw std::runtime_error("PTX: " + s.spelled + ": cp.async.cg copies 16 bytes, cp.async.ca 4, 8 or 16");
  std::uint64_t copied = bytes;
  if (s.arguments.size() > 3) copied = s[3].is_predicate ? (bits(f, s[3]) ? 0 : bytes) : bits(f, s[3]);
  if (copied > bytes) throw std::runtime_error("PTX: " + s.spelled + ": the source has more bytes than are copied");
  void* to = shared_pointer(bits(f, s[0]));
  const auto* from = reinterpret_cast<const void*>(bits(f, s[1]));
  for (const void* p : {static_cast<const void*>(to), from})
    if (reinterpret_cast<std::uintptr_t>(p) % bytes != 0) simt::detail::misaligned(p, bytes, f.site->at);
  queue_copy({to, from, copied, bytes - copied});
  return PtxAction::done;
}
PtxAction run_commit(PtxFrame&, const Step&) {
  commit_copies();
  return PtxAction::done;
}
PtxAction run_wait(PtxFrame& f, const Step& s) {
  f.prior = static_cast<unsigned>(bits(f, s[0]));
  return PtxAction::wait;
}
PtxAction run_wait_all(PtxFrame& f, const Step&) {
  commit_copies();
  f.prior = 0;
  return PtxAction::wait;
}

bool build_copy(Parts& parts, Step& s) {
  if (!parts.take("async")) return false;
  if (parts.take("commit_group")) {
    s.run = run_commit;
    return s.is({});
  }
  if (parts.take("wait_group")) {
    s.run = run_wait;
    return s.is({1});
  }
  if (parts.take("wait_all")) {
    s.run = run_wait_all;
    return s.is({});
  }
  s.detail = parts.take("cg");
  if (!s.detail && !parts.take("ca")) return false;
  const bool has_policy = parts.take("L2::cache_hint");
  while (parts.take_beginning("L2::")) {}
  if (!parts.take_any("shared", "shared::cta") || !parts.take("global") || s.arguments.size() != s.groups.size())
    return false;
  if (has_policy && !s.arguments.empty()) s.arguments.pop_back();
  s.run = run_copy;
  const auto is_address = [&](std::size_t i) { return s[i].kind == Argument::Kind::address; };
  return (s.arguments.size() == 3 || s.arguments.size() == 4) && is_address(0) && is_address(1);
}

constexpr Opcode all[] = {{"cp", build_copy}};

}  // namespace

Opcodes copy_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
