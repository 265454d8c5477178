// Gradients of short sequences on the CPU runtime, which emulates mma.sync: cases of the book.
#include <ridge/attention/gradient_case.hpp>
#include <ridge/attention/sm80_gradient_short.cuh>

namespace ridge::attention_detail {
namespace {

Status launch(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<ShortGradientRows<half>>(call)
                                   : launch_row<ShortGradientRows<bfloat16>>(call);
}
void check(const std::string& variant, const std::string& text, void (*spoil)(Inputs&) = nullptr) {
  check_gradient(variant, text, launch, spoil);
}

constexpr const char *narrow = "short_gradient_64", *longest = "short_gradient_64_long", *wide = "short_gradient_128";

TEST(AttentionGradientsOfShortSequences, SizesAroundTiles) {
  for (const char* size : {"sq=1,sk=1,d=1", "sq=16,sk=16,d=64", "sq=32,sk=33,d=63", "sq=128,sk=128,d=64",
                           "sq=127,sk=17,d=16", "sq=33,sk=96,d=40,dv=64", "sq=64,sk=65,d=8,dv=1", "sq=49,sk=49,d=64"})
    check(narrow, std::string("bf16:b=2,hq=3,hkv=3,") + size);
  for (const char* size : {"sq=128,sk=128,d=128", "sq=29,sk=77,d=72", "sq=31,sk=15,d=96,dv=72", "sq=5,sk=7,d=3,dv=127"})
    check(wide, std::string("f16:b=2,hq=2,hkv=2,") + size);
}
TEST(AttentionGradientsOfShortSequences, LongerOnes) {
  check(longest, "bf16:b=1,hq=2,hkv=2,sq=197,sk=197,d=64:layout=bshd");
  check(longest, "f16:b=1,hq=2,hkv=1,sq=224,sk=208,d=64:causal:fill=nan");
  check(longest, "bf16:b=1,hq=1,hkv=1,sq=130,sk=207,d=40:softcap=2:causal=lower_right");
  check(longest, "bf16:b=1,hq=1,hkv=1,sq=60,sk=150,d=64,mask=1:fill=inf");
}
TEST(AttentionGradientsOfShortSequences, HeadsThatShareKeys) {
  check(narrow, "f16:b=2,hq=6,hkv=2,sq=70,sk=100,d=64:layout=bshd");
  check(wide, "bf16:b=1,hq=4,hkv=1,sq=40,sk=120,d=128:causal:layout=bshd");
  check(narrow, "bf16:b=2,hq=4,hkv=2,sq=20,sk=40,d=32,mask=2,mh=4:fill=nan");
}
TEST(AttentionGradientsOfShortSequences, Masks) {
  for (const char* mask : {":causal", ":causal=lower_right", ":window=20,3", ":window=100,-1", ":window=-1,50",
                           ":window=0,0:align=lower_right"}) {
    check(narrow, std::string("bf16:b=1,hq=1,hkv=1,sq=100,sk=120,d=64") + mask);
    check(wide, std::string("f16:b=1,hq=1,hkv=1,sq=100,sk=75,d=128") + mask);
  }
}
TEST(AttentionGradientsOfShortSequences, MaskTensors) {
  for (const char* mask :
       {",mask=1", ",mask=2", ",mask=3,mq=1", ",mask=3", ",mask=3,mh=2:softcap=2:causal", ",mask=1,mb=2:fill=nan",
        ",mask=1,mb=2,mq=1", ",mask=1:softcap=0.7:window=9,4:fill=nan", ",mask=2:fill=far", ",mask=1:fill=inf"})
    for (const char* row : {narrow, wide}) check(row, std::string("bf16:b=2,hq=2,hkv=1,sq=40,sk=70,d=32") + mask);
  check(narrow, "f16:b=1,hq=2,hkv=2,sq=128,sk=128,d=64,mask=2,mh=2");
  check(wide, "f16:b=1,hq=1,hkv=1,sq=96,sk=128,d=128,mask=3");
}
TEST(AttentionGradientsOfShortSequences, ScoresOfEveryKind) {
  for (const char* more : {":softcap=3:causal", ":softcap=1.5", ":scale=-0.3", ":scale=0", ":scale=-0.2:softcap=1",
                           ":fill=far", ":causal:fill=far", ":scale=-0.3:fill=far"})
    for (const char* row : {narrow, wide})
      for (const char* type : {"f16", "bf16"})
        check(row, std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=100,d=32" + more);
}
TEST(AttentionGradientsOfShortSequences, WhatIsMaskedDoesNotMatter) {
  for (const char* row : {narrow, wide}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=100,sk=120,d=64:causal:fill=nan");
    check(row, "f16:b=1,hq=1,hkv=1,sq=100,sk=128,d=64:window=30,4:fill=nan");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=120,sk=110,d=64:causal=lower_right:fill=inf");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=80,d=32:causal=lower_right", spoil_unmet_queries);
    check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=100,d=32:causal", spoil_a_gradient);
  }
  // Rows that are no vectors, copied element by element.
  check(narrow, "bf16:b=1,hq=1,hkv=1,sq=100,sk=120,d=63:causal:fill=nan");
  check(wide, "f16:b=1,hq=2,hkv=1,sq=40,sk=70,d=99,dv=65,mask=1:fill=nan");
}
TEST(AttentionGradientsOfShortSequences, Fills) {
  for (const char* fill : {"ones", "denormal", "constant,-3", "nan", "inf"})
    for (const char* row : {narrow, wide}) check(row, std::string("f16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
}
TEST(AttentionGradientsOfShortSequences, SequencesOfUnevenLengths) {
  const std::string uneven = ":inputs=do,q,k,v,o,lse,cu_q,cu_k";
  for (const char* mask : {"", ":causal", ":causal=lower_right", ":window=20,5", ":causal:fill=far"})
    check(narrow, "bf16:b=8,hq=2,hkv=1,sq=120,sk=70,d=24" + uneven + ":max_q=120:max_k=70" + mask + ":seed=2");
  check(wide,
        "f16:b=4,hq=2,hkv=1,sq=70,sk=110,d=128,wide=1" + uneven + ":max_q=70:max_k=110:causal=lower_right:fill=nan");
  check(wide, "bf16:b=3,hq=2,hkv=1,sq=70,sk=40,d=100:inputs=do,q,k,v,o,lse,cu_q:max_q=70:causal=lower_right");
  check(narrow, "bf16:b=3,hq=2,hkv=1,sq=40,sk=70,d=40:inputs=do,q,k,v,o,lse,cu_k:max_k=70:fill=inf");
}
TEST(AttentionGradientsOfShortSequences, WhatNobodyShouldGive) {
  const std::string text =
      "bf16:b=3,hq=2,hkv=1,sq=70,sk=90,d=40,wide=1:inputs=do,q,k,v,o,lse,cu_q,cu_k:max_q=70:max_k=90:causal";
  for_each_hostile(text + ":backward", [&](std::size_t input, const check::Hostile* hostile) {
    check_gradient(narrow, text, launch, nullptr, 132, 0, input, hostile);
  });
}
TEST(AttentionGradientsOfShortSequences, Nothing) {
  for (const char* row : {narrow, wide}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=0,sk=4,d=8");
    check(row, "bf16:b=1,hq=2,hkv=2,sq=3,sk=0,d=8");
    check(row, "bf16:b=1,hq=0,hkv=2,sq=3,sk=4,d=8");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=120,sk=20,d=16:causal=lower_right");
  }
}

}  // namespace
}  // namespace ridge::attention_detail
