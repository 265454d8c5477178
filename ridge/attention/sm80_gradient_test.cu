// Gradients by mma.sync on the CPU runtime, which emulates it: cases of the book.
#include <ridge/attention/gradient_case.hpp>
#include <ridge/attention/sm80_gradient.cuh>

namespace ridge::attention_detail {
namespace {

Status launch(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<MmaGradientRows<half>>(call)
                                   : launch_row<MmaGradientRows<bfloat16>>(call);
}
void check(const std::string& variant, const std::string& text, void (*spoil)(Inputs&) = nullptr) {
  check_gradient(variant, text, launch, spoil);
}

constexpr const char *narrow = "mma_gradient_64", *wide = "mma_gradient_128", *widest = "mma_gradient_256";

TEST(AttentionGradientsOfWarps, SizesAroundNarrowTiles) {
  for (const char* size : {"sq=1,sk=1,d=1", "sq=31,sk=33,d=64", "sq=128,sk=32,d=63", "sq=129,sk=127,d=16",
                           "sq=33,sk=130,d=40,dv=64", "sq=64,sk=65,d=8,dv=1"})
    check(narrow, std::string("bf16:b=1,hq=2,hkv=1,") + size);
}
TEST(AttentionGradientsOfWarps, SizesAroundWideTiles) {
  for (const char* size :
       {"sq=130,sk=129,d=128", "sq=20,sk=40,d=65", "sq=32,sk=128,d=96,dv=72", "sq=5,sk=7,d=3,dv=127"})
    check(wide, std::string("f16:b=2,hq=2,hkv=2,") + size);
}
TEST(AttentionGradientsOfWarps, SizesAroundTheWidestTiles) {
  for (const char* size : {"sq=65,sk=63,d=256", "sq=20,sk=64,d=192,dv=128", "sq=64,sk=33,d=129,dv=255"})
    check(widest, std::string("bf16:b=1,hq=1,hkv=1,") + size);
}
TEST(AttentionGradientsOfWarps, HeadsThatShareKeys) {
  check(narrow, "f16:b=2,hq=6,hkv=2,sq=70,sk=100,d=64:layout=bshd");
  check(wide, "bf16:b=1,hq=4,hkv=1,sq=40,sk=140,d=128:causal:layout=bshd");
}
TEST(AttentionGradientsOfWarps, WhatNobodyShouldGive) {
  const std::string text = "bf16:b=3,hq=2,hkv=1,sq=70,sk=90,d=40,wide=1:inputs=do,q,k,v,o,lse,cu_q,cu_k:causal";
  for_each_hostile(text + ":backward", [&](std::size_t input, const check::Hostile* hostile) {
    check_gradient(narrow, text, launch, nullptr, 132, 0, input, hostile);
  });
}
TEST(AttentionGradientsOfWarps, Masks) {
  for (const char* mask : {":causal", ":causal=lower_right", ":window=40,3", ":window=200,-1", ":window=-1,150",
                           ":window=0,0:align=lower_right"}) {
    check(narrow, std::string("bf16:b=1,hq=1,hkv=1,sq=200,sk=300,d=64") + mask);
    check(wide, std::string("f16:b=1,hq=1,hkv=1,sq=200,sk=150,d=128") + mask);
    check(widest, std::string("bf16:b=1,hq=1,hkv=1,sq=70,sk=90,d=200") + mask);
  }
}
TEST(AttentionGradientsOfWarps, MaskTensors) {
  for (const char* mask : {",mask=1", ",mask=2", ",mask=3,mq=1", ",mask=3,mh=2:softcap=2:causal",
                           ",mask=1,mb=2:fill=nan", ",mask=1:softcap=0.7:window=9,4:fill=nan"})
    for (const char* row : {narrow, wide, widest})
      check(row, std::string("bf16:b=2,hq=2,hkv=1,sq=40,sk=70,d=32") + mask);
}
TEST(AttentionGradientsOfWarps, ScoresOfEveryKind) {
  for (const char* more : {":softcap=3:causal", ":softcap=1.5", ":scale=-0.3", ":scale=0", ":scale=-0.2:softcap=1"})
    for (const char* row : {narrow, widest}) check(row, std::string("bf16:b=1,hq=1,hkv=1,sq=70,sk=150,d=32") + more);
}
TEST(AttentionGradientsOfWarps, WhatIsMaskedDoesNotMatter) {
  for (const char* row : {narrow, wide, widest}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=200,sk=150,d=64:causal:fill=nan");
    check(row, "f16:b=1,hq=1,hkv=1,sq=100,sk=200,d=64:window=30,4:fill=nan");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=150,sk=140,d=64:causal=lower_right:fill=inf");
  }
}
TEST(AttentionGradientsOfWarps, QueriesThatNobodyMeets) {
  for (const char* row : {narrow, wide})
    check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=80,d=32:causal=lower_right", spoil_unmet_queries);
}
TEST(AttentionGradientsOfWarps, AnInfiniteGradientStaysWithItsKeys) {
  for (const char* row : {narrow, wide}) check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=100,d=32:causal", spoil_a_gradient);
}
TEST(AttentionGradientsOfWarps, Fills) {
  for (const char* fill : {"ones", "denormal", "constant,-3"}) {
    check(narrow, std::string("f16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
    check(widest, std::string("bf16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
  }
}
TEST(AttentionGradientsOfWarps, SequencesOfUnevenLengths) {
  const std::string uneven = ":inputs=do,q,k,v,o,lse,cu_q,cu_k";
  for (const char* mask : {"", ":causal", ":causal=lower_right", ":window=20,5"})
    check(narrow, "bf16:b=8,hq=2,hkv=1,sq=130,sk=70,d=24" + uneven + mask + ":seed=2");
  check(wide, "f16:b=4,hq=2,hkv=1,sq=70,sk=190,d=128,wide=1" + uneven + ":causal=lower_right:fill=nan");
  check(widest, "bf16:b=3,hq=2,hkv=1,sq=70,sk=40,d=136:inputs=do,q,k,v,o,lse,cu_q:causal=lower_right");
  check(narrow, "bf16:b=3,hq=2,hkv=1,sq=40,sk=70,d=40:inputs=do,q,k,v,o,lse,cu_k:fill=inf");
}
TEST(AttentionGradientsOfWarps, Nothing) {
  for (const char* row : {narrow, widest}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=0,sk=4,d=8");
    check(row, "bf16:b=1,hq=2,hkv=2,sq=3,sk=0,d=8");
    check(row, "bf16:b=1,hq=0,hkv=2,sq=3,sk=4,d=8");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=300,sk=70,d=16:causal=lower_right");
  }
}

}  // namespace
}  // namespace ridge::attention_detail
