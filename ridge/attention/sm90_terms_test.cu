// Float32 on Hopper's tensor cores on the CPU runtime, which emulates mbarrier and wgmma: checks cases of the book with
// the tolerances of float32.
#include <ridge/attention/sm90_case.hpp>
#include <ridge/attention/sm90_terms.cuh>

#include <random>

namespace ridge::attention_detail {
namespace {

Status launch(const Call& call) { return launch_row<WgmmaTermsRows>(call); }
void check(const std::string& variant, const std::string& text) {
  check_on_hopper(variant, text + ":math=bf16x6", launch);
}

constexpr const char *narrow = "wgmma_bf16x6_64", *wide = "wgmma_bf16x6_128";

TEST(TermsOfFloat32, AreTheNumberItself) {
  std::mt19937 random(3);
  for (int i = 0; i < 10000; ++i) {
    const auto number = [&] {  // of any magnitude whose last components bf16 represents
      const float x = std::ldexp(std::uniform_real_distribution<float>(1, 2)(random),
                                 std::uniform_int_distribution<int>(-110, 127)(random));
      return random() % 2 ? x : -x;
    };
    const float x = number(), y = number();
    const auto of = attention_kernels::components_of(x, y);
    double sum_x = 0, sum_y = 0;
    for (unsigned word : of.word) {
      sum_x += double{__uint_as_float(word << 16)};
      sum_y += double{__uint_as_float(word & 0xffff0000u)};
    }
    ASSERT_EQ(sum_x, double{x});
    ASSERT_EQ(sum_y, double{y});
  }
}

TEST(Float32OnHopper, EdgesOfTiles) {
  for (const char* size : {"sq=1,sk=1", "sq=64,sk=64", "sq=65,sk=63", "sq=129,sk=65"})
    check(narrow, std::string("f32:b=1,hq=1,hkv=1,d=64,") + size + ":lse");
  for (const char* size : {"sq=3,sk=17", "sq=129,sk=65"})
    check(wide, std::string("f32:b=1,hq=1,hkv=1,d=128,") + size + ":lse");
}
TEST(Float32OnHopper, ManyTilesAndSharedHeads) {
  check(narrow, "f32:b=1,hq=4,hkv=2,sq=130,sk=330,d=64:lse");
  check(narrow, "f32:b=1,hq=1,hkv=1,sq=3,sk=600,d=64:lse");
  check(wide, "f32:b=1,hq=2,hkv=1,sq=20,sk=330,d=128:lse");
}
TEST(Float32OnHopper, NarrowerHeadsAndOtherLayouts) {
  check(narrow, "f32:b=2,hq=4,hkv=2,sq=70,sk=90,d=40,dv=24:layout=bshd:lse:causal");
  check(narrow, "f32:b=1,hq=1,hkv=1,sq=70,sk=30,d=4,dv=64");
  check(wide, "f32:b=1,hq=2,hkv=1,sq=70,sk=70,d=100,dv=68:layout=bshd:lse");
  check(wide, "f32:b=1,hq=1,hkv=1,sq=20,sk=70,d=8,dv=72:lse");
}
TEST(Float32OnHopper, Masks) {
  for (const char* mask : {":causal", ":causal=lower_right", ":window=5,3", ":window=70,1:causal",
                           ":window=20,0:causal=lower_right", ":window=0,0:align=lower_right"}) {
    check(narrow, std::string("f32:b=1,hq=1,hkv=1,sq=140,sk=140,d=16:lse") + mask);
    check(narrow, std::string("f32:b=1,hq=1,hkv=1,sq=20,sk=150,d=24:lse:fill=nan") + mask);
    check(wide, std::string("f32:b=1,hq=1,hkv=1,sq=150,sk=40,d=72:lse:fill=inf") + mask);
  }
}
TEST(Float32OnHopper, ScoresOfEveryKind) {
  for (const char* more :
       {":softcap=2", ":softcap=30:causal", ":scale=-0.7", ":scale=-0.2:softcap=1", ":scale=0", ":scale=3:causal"})
    check(narrow, std::string("f32:b=1,hq=2,hkv=1,sq=40,sk=70,d=32:lse") + more);
}
TEST(Float32OnHopper, ValuesOfEveryKind) {
  for (const char* fill : {"nan", "inf", "denormal", "uniform", "ones", "far"}) {
    check(narrow, std::string("f32:b=1,hq=2,hkv=1,sq=70,sk=70,d=32:lse:fill=") + fill);
    check(wide, std::string("f32:b=1,hq=1,hkv=1,sq=3,sk=66,d=128:lse:fill=") + fill);
  }
}
TEST(Float32OnHopper, UnevenLengths) {
  for (const std::string kind : {"cu_q,cu_k", "lengths", "cu_k", "cu_q,lengths"}) {
    check(narrow, "f32:b=4,hq=2,hkv=1,sq=140,sk=100,d=64:lse:inputs=q,k,v," + kind + ":causal=lower_right");
    check(wide, "f32:b=3,hq=2,hkv=1,sq=30,sk=100,d=72:inputs=q,k,v," + kind + ":window=50,0:fill=nan");
  }
}
TEST(Float32OnHopper, WhatNobodyShouldGive) {
  for (const char* kind : {"cu_q,cu_k", "cu_q,lengths"})
    check_untrusted_on_hopper(
        narrow, std::string("f32:b=3,hq=2,hkv=1,sq=70,sk=90,d=32:causal:lse:math=bf16x6:inputs=q,k,v,") + kind, launch);
}

}  // namespace
}  // namespace ridge::attention_detail
