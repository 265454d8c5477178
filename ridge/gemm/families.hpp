// The families of GEMM kernels, by Config::family.
#pragma once
#include <ridge/gemm/sliced.hpp>
#include <ridge/gemm/sm80_direct.hpp>
#include <ridge/gemm/sm80_mma.hpp>
#include <ridge/gemm/sm80_stream.hpp>
#include <ridge/gemm/sm80_wmma.hpp>
#include <ridge/gemm/sm90_split.hpp>
#include <ridge/gemm/sm90_thread_tile.hpp>
#include <ridge/gemm/sm90_wgmma.hpp>
#include <ridge/gemm/textbook.hpp>
#include <ridge/gemm/thread_tile.hpp>

#include <iterator>

namespace ridge::gemm_detail {

inline constexpr const KernelFamily* families[] = {
    &naive::family,       &shared::family,     &thread_tile::family, &wmma::family,
    &mma_sync::family,    &mma_stream::family, &mma_direct::family,  &wgmma::family,
    &wgmma_split::family, &tma_tile::family,   &sliced::family,
};
static_assert(std::size(families) == family_count);
inline const KernelFamily& family_of(const Config& c) { return *families[static_cast<int>(c.family)]; }
inline const KernelFamily& family_of(const Variant& row) { return family_of(row.config); }

inline std::string_view lesson_of(const Variant& row) { return family_of(row).lesson(row); }

// Whether a row may use split-K slices.
inline bool has_slices(const Config& c, const GemmProblem& p) { return family_of(c).slices && has_addable_sums(p); }

}  // namespace ridge::gemm_detail
