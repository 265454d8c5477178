// Split-KV on Hopper's tensor cores on the CPU runtime, which emulates TMA, mbarrier and wgmma: runs cases of the book
// as on a GPU, and checks them with the book's tolerances.
#include <ridge/attention/sm90_case.hpp>
#include <ridge/attention/sm90_wgmma.cuh>

namespace ridge::attention_detail {
namespace {

template <class T> struct SplitRows : WgmmaRows<T> {
  static constexpr bool has(const Variant& row) { return WgmmaRows<T>::has(row) && row.config.split; }
};

void check(const std::string& variant, const std::string& text, int splits = 0) {
  check_on_hopper(
      variant, text,
      [](const Call& call) {
        return call.problem.dtype == f16 ? launch_row<SplitRows<half>>(call) : launch_row<SplitRows<bfloat16>>(call);
      },
      splits);
}

constexpr const char *narrow = "wgmma_split_64", *wide = "wgmma_split_128", *widest = "wgmma_split_256";

TEST(SplitOnHopper, TilesOfQueriesAndParts) {
  check(narrow, "bf16:b=1,hq=1,hkv=1,sq=200,sk=700,d=64:lse", 2);
  check(wide, "f16:b=1,hq=2,hkv=1,sq=70,sk=600,d=128:lse", 3);
  check(widest, "bf16:b=1,hq=1,hkv=1,sq=130,sk=330,d=256:lse", 2);
  check(wide, "bf16:b=2,hq=1,hkv=1,sq=10,sk=513,d=128");  // as planned
}
TEST(SplitOnHopper, MorePartsThanTiles) { check(narrow, "bf16:b=1,hq=1,hkv=1,sq=5,sk=513,d=64:lse", 7); }
TEST(SplitOnHopper, NarrowerHeadsAndOtherLayouts) {
  check(narrow, "f16:b=2,hq=4,hkv=2,sq=20,sk=520,d=40,dv=56:layout=bshd:lse", 2);
  check(wide, "bf16:b=1,hq=2,hkv=2,sq=20,sk=520,d=72,dv=8:layout=bshd:scale=0.3", 2);
  check(widest, "bf16:b=1,hq=2,hkv=1,sq=9,sk=300,d=136,dv=200:lse", 3);
}
TEST(SplitOnHopper, RulesLeavePartsWithoutKeys) {
  for (const std::string mask :
       {":causal=lower_right", ":causal", ":window=40,3:align=lower_right", ":window=7,-1", ":window=200,60"})
    for (const char* variant : {narrow, widest}) check(variant, "bf16:b=1,hq=1,hkv=1,sq=150,sk=530,d=64:lse" + mask, 3);
}
TEST(SplitOnHopper, ValuesThatAreNotAttendedTo) {
  for (const char* fill : {"nan", "inf", "far"})
    for (const char* variant : {narrow, widest})
      check(variant, std::string("bf16:b=1,hq=2,hkv=1,sq=70,sk=530,d=64:causal=lower_right:lse:fill=") + fill, 3);
}
TEST(SplitOnHopper, RefusesWhatFillsTheDevice) {
  const auto refusal = [](AttentionProblem p) {
    const auto plan = plan_attention(p, *device_model("H200"), {.variant = "wgmma_split_64"});
    return plan ? std::string() : plan.error().message();
  };
  AttentionProblem p{.b = 1, .hq = 12, .hkv = 12, .sq = 304, .sk = 2864, .d = 64, .dv = 64, .dtype = bf16};
  EXPECT_EQ(refusal(p), "");
  p.b = 8;
  EXPECT_NE(refusal(p).find("fill the device"), std::string::npos) << refusal(p);
  p.b = 1, p.sk = 384;
  EXPECT_NE(refusal(p).find("no two parts"), std::string::npos) << refusal(p);
}

}  // namespace
}  // namespace ridge::attention_detail
