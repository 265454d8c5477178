// cuRAND's functions for kernels (curand_kernel.h), for its generators XORWOW (Marsaglia, "Xorshift RNGs", 2003) and
// Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011). The streams of bits are those
// of cuRAND, sequences and offsets included; numbers of a normal distribution differ in their last digits.
#pragma once
#include <ridge/lab/random_jump.hpp>
#include <ridge/lab/vector_types.hpp>
#include <ridge/simt/cpu/math.hpp>

#include <math.h>

#include <concepts>

// ---- the states: as large as cuRAND's, for programs that count bytes, so flags are int -----------------------------
struct curandStateXORWOW {
  unsigned d;
  ridge::lab::XorwowWords v;
  int has_normal, has_normal_double;  // the second number of a pair, kept for the next call
  float normal;
  double normal_double;
};

struct curandStatePhilox4_32_10 {
  uint4 counter, output;
  uint2 key;
  unsigned used;  // how many words of the output
  int has_normal, has_normal_double;
  float normal;
  double normal_double;
};

static_assert(sizeof(curandStateXORWOW) == 48 && sizeof(curandStatePhilox4_32_10) == 64);

using curandStateXORWOW_t = curandStateXORWOW;
using curandState_t = curandStateXORWOW;
using curandState = curandStateXORWOW;
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

namespace ridge::lab {

template <class State>
concept random_state = std::same_as<State, curandStateXORWOW> || std::same_as<State, curandStatePhilox4_32_10>;

// ---- Philox ------------------------------------------------------------------------------------------------------
inline uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t(0xd2511f53) * counter.x, b = std::uint64_t(0xcd9e8d57) * counter.z;
    counter = {static_cast<unsigned>(b >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(b),
               static_cast<unsigned>(a >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(a)};
    key = {key.x + 0x9e3779b9u, key.y + 0xbb67ae85u};
  }
  return counter;
}

inline void add_to_pair(unsigned& low, unsigned& high, std::uint64_t n) {
  const std::uint64_t sum = (std::uint64_t(high) << 32 | low) + n;
  low = static_cast<unsigned>(sum);
  high = static_cast<unsigned>(sum >> 32);
}

inline void advance(curandStatePhilox4_32_10& s, std::uint64_t blocks) {
  const std::uint64_t former = std::uint64_t(s.counter.y) << 32 | s.counter.x;
  add_to_pair(s.counter.x, s.counter.y, blocks);
  if (former + blocks < former) add_to_pair(s.counter.z, s.counter.w, 1);
  s.output = philox(s.counter, s.key);
}

// ---- from bits to numbers ----------------------------------------------------------------------------------------
constexpr float to_unit = 2.3283064e-10f;  // 2^-32
constexpr double to_unit_53 = 0x1p-53;

inline float unit(unsigned x) { return static_cast<float>(x) * to_unit + to_unit / 2; }
inline double unit_53(unsigned low, unsigned high) {
  return static_cast<double>(low ^ std::uint64_t(high) << 21) * to_unit_53 + to_unit_53 / 2;
}

// Box and Muller's pairs of normal numbers.
inline float2 normal_pair(unsigned x, unsigned y) {
  constexpr float to_turn = to_unit * 6.2831855f;
  const float radius = sqrtf(-2.0f * logf(unit(x))), angle = static_cast<float>(y) * to_turn + to_turn / 2;
  return {radius * sinf(angle), radius * cosf(angle)};
}
inline double2 normal_pair_53(unsigned x_low, unsigned x_high, unsigned y_low, unsigned y_high) {
  const double radius = sqrt(-2.0 * log(unit_53(x_low, x_high)));
  const double angle = 2 * unit_53(y_low, y_high) * 3.14159265358979323846;
  return {radius * sin(angle), radius * cos(angle)};
}

}  // namespace ridge::lab

// ---- starting and jumping ahead ----------------------------------------------------------------------------------
inline void skipahead(unsigned long long n, curandStateXORWOW* state) {
  ridge::lab::XorwowJumps::all().jump(state->v, n, 0);
  state->d += 362437u * static_cast<unsigned>(n);
}
// The 2^67 steps between sequences change d by a multiple of 2^32.
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
  ridge::lab::XorwowJumps::all().jump(state->v, n, ridge::lab::XorwowJumps::sequence);
}
inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                        curandStateXORWOW* state) {
  const unsigned low = 1099087573u * (static_cast<unsigned>(seed) ^ 0xaad26b49u);
  const unsigned high = 2591861531u * (static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu);
  *state = {};
  state->d = 6615241u + high + low;
  state->v = {123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low};
  if (sequence) skipahead_sequence(sequence, state);
  if (offset) skipahead(offset, state);
}

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
  const unsigned used = state->used + static_cast<unsigned>(n & 3);
  state->used = used & 3;
  ridge::lab::advance(*state, n / 4 + used / 4);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
  ridge::lab::add_to_pair(state->counter.z, state->counter.w, n);
  state->output = ridge::lab::philox(state->counter, state->key);
}
inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                        curandStatePhilox4_32_10* state) {
  *state = {};
  state->key = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
}

// ---- bits --------------------------------------------------------------------------------------------------------
inline unsigned curand(curandStateXORWOW* state) {
  ridge::lab::xorwow_step(state->v);
  return state->v.word[4] + (state->d += 362437u);
}
inline unsigned curand(curandStatePhilox4_32_10* state) {
  const unsigned words[4] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned word = words[state->used];
  if (++state->used == 4) {
    state->used = 0;
    ridge::lab::advance(*state, 1);
  }
  return word;
}
inline uint4 curand4(curandStatePhilox4_32_10* state) {
  const unsigned x = curand(state), y = curand(state), z = curand(state);
  return {x, y, z, curand(state)};
}

// ---- uniform: above 0, and up to 1 -------------------------------------------------------------------------------
template <ridge::lab::random_state State> float curand_uniform(State* state) { return ridge::lab::unit(curand(state)); }
inline double curand_uniform_double(curandStateXORWOW* state) {
  const unsigned low = curand(state);
  return ridge::lab::unit_53(low, curand(state));
}
inline double curand_uniform_double(curandStatePhilox4_32_10* state) { return curand(state) * 0x1p-32 + 0x1p-32; }
inline float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return {ridge::lab::unit(x.x), ridge::lab::unit(x.y), ridge::lab::unit(x.z), ridge::lab::unit(x.w)};
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return {ridge::lab::unit_53(x.x, x.y), ridge::lab::unit_53(x.z, x.w)};
}

// ---- normal: mean 0, deviation 1 ---------------------------------------------------------------------------------
template <ridge::lab::random_state State> float2 curand_normal2(State* state) {
  const unsigned x = curand(state);
  return ridge::lab::normal_pair(x, curand(state));
}
template <ridge::lab::random_state State> double2 curand_normal2_double(State* state) {
  const unsigned a = curand(state), b = curand(state), c = curand(state);
  return ridge::lab::normal_pair_53(a, b, c, curand(state));
}
template <ridge::lab::random_state State> float curand_normal(State* state) {
  if (state->has_normal) {
    state->has_normal = 0;
    return state->normal;
  }
  const float2 pair = curand_normal2(state);
  state->has_normal = 1;
  state->normal = pair.y;
  return pair.x;
}
template <ridge::lab::random_state State> double curand_normal_double(State* state) {
  if (state->has_normal_double) {
    state->has_normal_double = 0;
    return state->normal_double;
  }
  const double2 pair = curand_normal2_double(state);
  state->has_normal_double = 1;
  state->normal_double = pair.y;
  return pair.x;
}
inline float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const float2 low = curand_normal2(state), high = curand_normal2(state);
  return {low.x, low.y, high.x, high.y};
}

// ---- log-normal --------------------------------------------------------------------------------------------------
template <ridge::lab::random_state State> float curand_log_normal(State* state, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(state));
}
template <ridge::lab::random_state State> double curand_log_normal_double(State* state, double mean, double deviation) {
  return exp(mean + deviation * curand_normal_double(state));
}
template <ridge::lab::random_state State> float2 curand_log_normal2(State* state, float mean, float deviation) {
  const float2 pair = curand_normal2(state);
  return {expf(mean + deviation * pair.x), expf(mean + deviation * pair.y)};
}
