// Loads, stores and atomics: where, how wide, and what becomes of the words. The kernel does the accesses (access.hpp).
#include <ridge/lab/ptx/program.hpp>
#include <ridge/lab/ptx/reals.hpp>

#include <ridge/lab/poll.hpp>
#include <ridge/lab/ptx/shared.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace ridge::lab::isa {
namespace {

using std::uint64_t;

// ---- places ---------------------------------------------------------------------------------------------------------
void* place(const PtxFrame& f, const Step& s, const Argument& a) {
  const uint64_t address = bits(f, a);
  return s.space == Space::shared ? shared_pointer(address) : reinterpret_cast<void*>(address);
}
void aim(PtxFrame& f, const Step& s, std::size_t address, unsigned bytes) {
  f.address = place(f, s, s[address]);
  f.bytes = bytes;
  f.orders = s.orders;
  if (reinterpret_cast<std::uintptr_t>(f.address) % bytes != 0) simt::detail::misaligned(f.address, bytes, f.site->at);
}

enum class Strength : unsigned char { weak, looked_at, strong };

// What is between ld and the type. Caches are not modelled; all scopes are one.
Strength take_qualifiers(Parts& parts, Step& s) {
  if (parts.take_any("shared", "shared::cta")) s.space = Space::shared;
  else if (parts.take("global")) s.space = Space::global;
  else parts.take_any("local", "const");
  Strength strength = Strength::weak;
  if (parts.take("volatile")) strength = Strength::looked_at;
  s.orders = parts.take_any("acquire", "release", "acq_rel");
  if (parts.take("relaxed") || s.orders) strength = Strength::strong;
  parts.take_any("weak", "nc", "cta", "gpu", "sys", "cluster");
  parts.take_any("ca", "cg", "cs", "cv", "lu", "wb", "wt");
  while (parts.take_beginning("L1::") || parts.take_beginning("L2::")) {}
  return strength;
}
bool take_vector(Parts& parts, Step& s) {
  s.width = parts.take("v2") ? 2 : parts.take("v4") ? 4 : parts.take("v8") ? 8 : 1;
  if (!take_only_type(parts, s)) return false;
  const unsigned bits = bits_of(s.type) * s.width;
  if (bits > 128 || s.type == Type::b128) throw Refusal{"an access of more than 16 bytes, or of one 16-byte register"};
  return bits_of(s.type) >= 8;
}
unsigned bytes_of(const Step& s) { return bits_of(s.type) / 8 * s.width; }

// ---- loads and stores -----------------------------------------------------------------------------------------------
template <PtxAction action> PtxAction begin_load(PtxFrame& f, const Step& s) {
  aim(f, s, s.width, bytes_of(s));
  return action;
}
void end_load(PtxFrame& f, const Step& s) {
  const unsigned size = bits_of(s.type) / 8;
  for (unsigned i = 0; i < s.width; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(f.words) + i * size, size);
    with_integer(s.type, [&]<class T>() { word = bits_from(number<T>(word)); });
    put(f, s[i], word);
  }
  if (s.detail) looked();
}
bool build_load(Parts& parts, Step& s) {
  const Strength strength = take_qualifiers(parts, s);
  if (!take_vector(parts, s)) return false;
  const bool is_strong = strength == Strength::strong && s.width == 1;
  s.run = is_strong ? begin_load<PtxAction::load_strong> : begin_load<PtxAction::load>;
  s.finish = end_load;
  s.detail = strength == Strength::looked_at;
  const bool has_address = s.groups.size() >= 2 && s.groups[0] == s.width && s[s.width].kind == Argument::Kind::address;
  return has_address && s.groups.size() <= 3;  // the third is a policy of the caches
}

template <PtxAction action> PtxAction begin_store(PtxFrame& f, const Step& s) {
  aim(f, s, 0, bytes_of(s));
  const unsigned size = bits_of(s.type) / 8;
  for (unsigned i = 0; i < s.width; ++i) {
    const uint64_t word = bits(f, s[i + 1]);
    std::memcpy(reinterpret_cast<char*>(f.words) + i * size, &word, size);
  }
  return action;
}
bool build_store(Parts& parts, Step& s) {
  const Strength strength = take_qualifiers(parts, s);
  if (!take_vector(parts, s)) return false;
  const bool is_strong = strength == Strength::strong && s.width == 1;
  s.run = is_strong ? begin_store<PtxAction::store_strong> : begin_store<PtxAction::store>;
  const bool has_address = s.groups.size() >= 2 && s.groups[1] == s.width && s[0].kind == Argument::Kind::address;
  return has_address && s.groups.size() <= 3;
}

// ---- atomics --------------------------------------------------------------------------------------------------------
enum class Update : unsigned char { add, min, max, exch, cas, bit_and, bit_or, bit_xor, inc, dec };
constexpr std::array<std::pair<std::string_view, Update>, 10> updates{{{"add", Update::add},
                                                                       {"min", Update::min},
                                                                       {"max", Update::max},
                                                                       {"exch", Update::exch},
                                                                       {"cas", Update::cas},
                                                                       {"and", Update::bit_and},
                                                                       {"or", Update::bit_or},
                                                                       {"xor", Update::bit_xor},
                                                                       {"inc", Update::inc},
                                                                       {"dec", Update::dec}}};

// s.width is the number of operands before the address: atom's result, or none.
template <class T> uint64_t updated(PtxFrame& f, const Step& s, uint64_t bits_before) {
  const T old = number<T>(bits_before), x = get<T>(f, s, s.width + 1u);
  switch (static_cast<Update>(s.detail)) {
    case Update::add: return static_cast<uint64_t>(old) + static_cast<uint64_t>(x);
    case Update::min: return bits_from(std::min(old, x));
    case Update::max: return bits_from(std::max(old, x));
    case Update::exch: return bits_from(x);
    case Update::cas: return bits_from(old == x ? get<T>(f, s, s.width + 2u) : old);
    case Update::bit_and: return bits_from(static_cast<T>(old & x));
    case Update::bit_or: return bits_from(static_cast<T>(old | x));
    case Update::bit_xor: return bits_from(static_cast<T>(old ^ x));
    case Update::inc: return old >= x ? 0 : bits_from(static_cast<T>(old + 1));
    case Update::dec: return bits_from(old == 0 || old > x ? x : static_cast<T>(old - 1));
  }
  return bits_before;
}
template <class F> uint64_t added(PtxFrame& f, const Step& s, uint64_t old) {
  const uint64_t given = bits(f, s[s.width + 1u]);
  uint64_t result = 0;
  for (int e = 0; e < F::elements; ++e) {
    const auto a = F::from(old >> e * F::bits), b = F::from(given >> e * F::bits);
    const auto chosen = s.detail == static_cast<unsigned char>(Update::min)   ? std::fmin(a, b)
                        : s.detail == static_cast<unsigned char>(Update::max) ? std::fmax(a, b)
                                                                              : a + b;
    result |= F::to(chosen, Round::nearest) << e * F::bits;
  }
  return result;
}

PtxAction begin_update(PtxFrame& f, const Step& s) {
  aim(f, s, s.width, bits_of(s.type) / 8);
  return PtxAction::update;
}
void end_update(PtxFrame& f, const Step& s) {
  uint64_t old = f.words[0];
  with_integer(s.type, [&]<class T>() { old = bits_from(number<T>(old)); });
  if (s.width) put(f, s[0], old);
}

template <int results> bool build_update(Parts& parts, Step& s) {
  take_qualifiers(parts, s);
  s.width = results;
  bool known = false;
  for (const auto& [name, update] : updates)
    if (!known && parts.take(name)) {
      s.detail = static_cast<unsigned char>(update);
      known = true;
    }
  parts.take("noftz");
  if (!known || !take_only_type(parts, s)) return false;
  s.run = begin_update;
  s.finish = end_update;
  const auto update = static_cast<Update>(s.detail);
  const std::size_t operands = results + (update == Update::cas ? 3u : 2u);
  const bool has_policy = s.groups.size() == operands + 1;  // of the caches
  if ((s.groups.size() != operands && !has_policy) || s.arguments.size() != s.groups.size()) return false;
  if (s[results].kind != Argument::Kind::address) return false;
  if (with_integer(s.type, [&]<class T>() { s.update = updated<T>; })) return bits_of(s.type) >= 16;
  if (update == Update::exch && s.type == Type::f32) s.update = updated<std::uint32_t>;
  else if (update == Update::add || (update <= Update::max && bits_of(s.type) <= 32))
    with_real(s.type, [&]<class F>() { s.update = added<F>; });
  return s.update != nullptr;
}

// ---- spaces ---------------------------------------------------------------------------------------------------------
PtxAction run_same(PtxFrame& f, const Step& s) {
  put(f, s[0], bits(f, s[1]));
  return PtxAction::done;
}
PtxAction run_to_generic(PtxFrame& f, const Step& s) {
  put(f, s[0], reinterpret_cast<std::uintptr_t>(shared_pointer(bits(f, s[1]))));
  return PtxAction::done;
}
// A shared address is the lower half of a pointer, or the whole.
bool build_cvta(Parts& parts, Step& s) {
  const bool to = parts.take("to");
  const bool shared = parts.take_any("shared", "shared::cta");
  if (!shared && !parts.take_any("global", "local", "const", "param")) return false;
  s.run = shared && !to ? run_to_generic : run_same;
  return take_only_type(parts, s) && s.is({1, 1});
}
template <bool shared> PtxAction run_is_in(PtxFrame& f, const Step& s) {
  put(f, s[0], is_shared(reinterpret_cast<const void*>(bits(f, s[1]))) == shared);
  return PtxAction::done;
}
bool build_is_in(Parts& parts, Step& s) {
  const bool shared = parts.take_any("shared", "shared::cta");
  s.run = shared ? run_is_in<true> : run_is_in<false>;
  return (shared || parts.take("global")) && parts.empty() && s.is({1, 1});
}

// ---- hints ----------------------------------------------------------------------------------------------------------
PtxAction run_nothing(PtxFrame&, const Step&) { return PtxAction::done; }
bool build_hint(Parts& parts, Step& s) {
  parts.take_any("global", "local");
  while (parts.take_beginning("L1") || parts.take_beginning("L2")) {}
  s.run = run_nothing;
  return true;
}
PtxAction run_policy(PtxFrame& f, const Step& s) {
  put(f, s[0], 0);
  return PtxAction::done;
}
bool build_policy(Parts& parts, Step& s) {
  if (!parts.take_any("fractional", "range")) return false;
  parts.take("global");
  while (parts.take_beginning("L2::")) {}
  s.run = run_policy;
  s.from = Type::f32;  // of the fraction
  return parts.take("b64") && !s.arguments.empty();
}

// ---- fences ---------------------------------------------------------------------------------------------------------
PtxAction run_fence(PtxFrame&, const Step&) { return PtxAction::fence; }
bool build_fence(Parts& parts, Step& s) {
  s.run = run_fence;
  parts.take_any("sc", "acq_rel", "acquire", "release");
  if (parts.take("proxy")) parts.take_any("alias", "async", "async::generic");
  parts.take_any("global", "shared::cta", "sync_restrict::shared::cta");
  return parts.empty() || parts.take_any("cta", "gl", "gpu", "sys", "cluster");
}

constexpr Opcode all[] = {{"ld", build_load},        {"ldu", build_load},           {"st", build_store},
                          {"atom", build_update<1>}, {"red", build_update<0>},      {"cvta", build_cvta},
                          {"isspacep", build_is_in}, {"prefetch", build_hint},      {"prefetchu", build_hint},
                          {"discard", build_hint},   {"applypriority", build_hint}, {"createpolicy", build_policy},
                          {"membar", build_fence},   {"fence", build_fence}};

}  // namespace

Opcodes memory_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
