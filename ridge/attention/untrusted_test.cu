// Invalid offsets, lengths and page tables, for rows on tensor cores on the CPU runtime: one row of each kernel that no
// other test here launches from its table. Any result is accepted if no other memory is written.
#include <ridge/attention/sm80_mma.cuh>
#include <ridge/attention/sm90_case.hpp>
#include <ridge/attention/sm90_wgmma.cuh>

#include <string_view>

namespace ridge::attention_detail {
namespace {

constexpr int row_named(std::string_view name) {
  int row = 0;
  while (variants[row].name != name) ++row;
  return row;
}
constexpr std::string_view mma = "mma_64", split = "split_64", wgmma = "wgmma_64_pair";

template <class Rows, int I> void check(const std::string& text, int splits = 0) {
  check_untrusted_on_hopper(
      std::string(variants[I].name), text, [](const Call& call) { return Rows::template launch<I>(call); }, splits);
}

TEST(UntrustedSequences, OfTilesOfWarps) {
  for (const char* kind : {"cu_q,cu_k", "cu_q,lengths"})
    check<MmaRows<half>, row_named(mma)>(std::string("f16:b=3,hq=2,hkv=1,sq=130,sk=70,d=40:causal:lse:inputs=q,k,v,") +
                                         kind);
}
TEST(UntrustedSequences, OfPartsOfKeysAndPages) {
  check<MmaRows<half>, row_named(split)>(
      "f16:b=3,hq=4,hkv=2,sq=3,sk=150,d=64,wide=1:lse:inputs=q,k,v,cu_q,cu_k:causal=lower_right", 2);
  for (const char* page : {"16", "128"})
    check<MmaRows<half>, row_named(split)>(
        std::string("f16:b=3,hq=4,hkv=2,sq=3,sk=150,d=64,paged=") + page + ":lse:inputs=q,k,v,cu_q,lengths,block_table",
        2);
}
TEST(UntrustedSequences, OfHoppersTiles) {
  for (const char* kind : {"cu_q,cu_k", "lengths", "cu_q,lengths"})
    check<WgmmaRows<half>, row_named(wgmma)>(
        std::string("f16:b=3,hq=2,hkv=1,sq=130,sk=150,d=64,wide=1:causal:lse:inputs=q,k,v,") + kind);
}

}  // namespace
}  // namespace ridge::attention_detail
