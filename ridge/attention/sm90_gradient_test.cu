// Hopper's gradients on the CPU runtime, which emulates TMA, bulk copies, mbarrier and wgmma: runs cases of the book as
// on a GPU, and checks them with the book's tolerances.
#include <ridge/attention/gradient_case.hpp>
#include <ridge/attention/sm90_gradient.cuh>

#include <utility>

namespace ridge::attention_detail {
namespace {

// parts: of a group of heads; 0: as planned.
void check(const std::string& variant, const std::string& text, void (*spoil)(Inputs&) = nullptr, int sms = 132,
           int parts = 0) {
  const auto launch = [](const Call& call) {
    return call.problem.dtype == f16 ? launch_row<WgmmaGradientRows<half>>(call)
                                     : launch_row<WgmmaGradientRows<bfloat16>>(call);
  };
  check_gradient(variant, text, launch, spoil, sms, parts);
}

constexpr const char *narrow = "wgmma_gradient_64", *between = "wgmma_gradient_96", *wide = "wgmma_gradient_128",
                     *widest = "wgmma_gradient_256";

TEST(AttentionGradientsOnHopper, OneTile) {
  check(narrow, "bf16:b=1,hq=1,hkv=1,sq=128,sk=128,d=64");
  check(between, "bf16:b=1,hq=1,hkv=1,sq=64,sk=128,d=96");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=64,sk=128,d=128");
  check(widest, "bf16:b=1,hq=1,hkv=1,sq=64,sk=64,d=256");
}
TEST(AttentionGradientsOnHopper, WholeTilesAndSharedHeads) {
  check(narrow, "f16:b=1,hq=2,hkv=1,sq=256,sk=256,d=64");
  check(between, "f16:b=2,hq=2,hkv=1,sq=128,sk=256,d=96");
  check(wide, "f16:b=2,hq=2,hkv=1,sq=128,sk=256,d=128");
  check(widest, "f16:b=2,hq=2,hkv=1,sq=128,sk=128,d=256");
}
TEST(AttentionGradientsOnHopper, PartsOfTiles) {
  check(narrow, "bf16:b=1,hq=2,hkv=2,sq=130,sk=129,d=40,dv=64");
  check(narrow, "f16:b=1,hq=1,hkv=1,sq=1,sk=300,d=8");
  check(between, "f16:b=1,hq=4,hkv=2,sq=130,sk=129,d=96,dv=72:causal:layout=bshd");
  check(between, "bf16:b=1,hq=2,hkv=1,sq=65,sk=64,d=72,dv=96");
  check(between, "f16:b=1,hq=1,hkv=1,sq=70,sk=150,d=80:layout=bshd");
  check(wide, "f16:b=1,hq=4,hkv=2,sq=130,sk=129,d=96,dv=72:causal:layout=bshd");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=65,sk=64,d=128,dv=8");
  check(widest, "f16:b=1,hq=4,hkv=2,sq=70,sk=65,d=192,dv=128:causal:layout=bshd");
  check(widest, "bf16:b=1,hq=1,hkv=1,sq=65,sk=63,d=136,dv=256");
  check(widest, "bf16:b=1,hq=1,hkv=1,sq=1,sk=130,d=256,dv=8");
  check(widest, "f16:b=1,hq=1,hkv=1,sq=192,sk=64,d=136");  // an odd number of steps, the last without masked pairs
}
TEST(AttentionGradientsOnHopper, Masks) {
  for (const char* mask : {":causal", ":causal=lower_right", ":window=40,3", ":window=200,-1", ":window=-1,150",
                           ":window=0,0:align=lower_right"}) {
    check(narrow, std::string("bf16:b=1,hq=1,hkv=1,sq=200,sk=300,d=64") + mask);
    check(between, std::string("bf16:b=1,hq=1,hkv=1,sq=200,sk=150,d=88") + mask);
    check(wide, std::string("bf16:b=1,hq=1,hkv=1,sq=200,sk=150,d=128") + mask);
    check(widest, std::string("bf16:b=1,hq=1,hkv=1,sq=200,sk=150,d=136") + mask);
  }
}
TEST(AttentionGradientsOnHopper, ScoresOfEveryKind) {
  for (const char* more : {":softcap=3:causal", ":softcap=1.5", ":scale=-0.3", ":scale=0", ":scale=-0.2:softcap=1"})
    for (const char* row : {narrow, between, wide, widest})
      check(row, std::string("bf16:b=1,hq=1,hkv=1,sq=70,sk=150,d=32") + more);
}
TEST(AttentionGradientsOnHopper, WhatIsMaskedDoesNotMatter) {
  for (const char* row : {narrow, between, wide, widest}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=200,sk=300,d=64:causal:fill=nan");
    check(row, "f16:b=1,hq=1,hkv=1,sq=200,sk=200,d=64:window=30,4:fill=nan");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=150,sk=140,d=64:causal=lower_right:fill=inf");
  }
}
TEST(AttentionGradientsOnHopper, QueriesThatNobodyMeets) {
  for (const char* row : {narrow, between, wide, widest})
    check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=80,d=32:causal=lower_right", spoil_unmet_queries);
}
TEST(AttentionGradientsOnHopper, AnInfiniteGradientStaysWithItsKeys) {
  for (const char* row : {narrow, between, wide, widest})
    check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=100,d=32:causal", spoil_a_gradient);
}
TEST(AttentionGradientsOnHopper, Fills) {
  for (const char* fill : {"ones", "denormal", "constant,-3"}) {
    check(narrow, std::string("f16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
    check(wide, std::string("bf16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
    check(widest, std::string("f16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
  }
}
TEST(AttentionGradientsOnHopper, ScoresFarFromZero) {
  for (const char* row : {narrow, between, wide, widest})
    for (const char* more : {":fill=far", ":causal:fill=far", ":scale=-0.3:fill=far"})
      for (const char* type : {"f16", "bf16"})
        check(row, std::string(type) + ":b=1,hq=2,hkv=1,sq=140,sk=200,d=32" + more);
}
TEST(AttentionGradientsOnHopper, AnyOrderOfTwo) {
  check(narrow, "f16:b=1,hq=4,hkv=2,sq=200,sk=256,d=64:nondeterministic");
  check(between, "f16:b=1,hq=2,hkv=1,sq=130,sk=256,d=80:nondeterministic");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=70,sk=200,d=128:nondeterministic:causal=lower_right");
  check(widest, "bf16:b=1,hq=2,hkv=1,sq=130,sk=128,d=256:nondeterministic");
}
TEST(AttentionGradientsOnHopper, ManyBlocksKeepAnOrder) {
  check(narrow, "bf16:b=1,hq=2,hkv=1,sq=300,sk=1000,d=64");
  check(between, "f16:b=1,hq=1,hkv=1,sq=300,sk=700,d=72");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=300,sk=700,d=128:window=100,50");
  check(widest, "bf16:b=1,hq=2,hkv=1,sq=400,sk=450,d=136");
  check(widest, "f16:b=1,hq=4,hkv=2,sq=333,sk=390,d=192,dv=136:causal");
}
// each: numbers of parts
void check_parts(const std::string& variant, const std::string& text, std::initializer_list<int> each, int sms = 132) {
  for (const int parts : each) check(variant, text, nullptr, sms, parts);
}
// Few queries and many keys.
TEST(AttentionGradientsOnHopper, FewQueriesOfManyKeys) {
  check(narrow, "bf16:b=1,hq=2,hkv=1,sq=130,sk=1000,d=64");
  check(narrow, "f16:b=2,hq=2,hkv=2,sq=20,sk=300,d=40:fill=nan");
  check(between, "f16:b=1,hq=1,hkv=1,sq=60,sk=700,d=72:fill=far");
  check(wide, "bf16:b=1,hq=2,hkv=2,sq=70,sk=400,d=128:softcap=3");
  check(widest, "bf16:b=2,hq=2,hkv=1,sq=48,sk=450,d=240");
  check_parts(widest, "f16:b=1,hq=2,hkv=1,sq=100,sk=200,d=136", {1, 2, 4});
  check("wgmma_gradient_128_mask", "bf16:b=2,hq=2,hkv=1,sq=40,sk=400,d=64,mask=2:fill=nan");
  check("wgmma_gradient_256_mask", "bf16:b=1,hq=2,hkv=1,sq=40,sk=200,d=64,mask=3:fill=nan");
}
TEST(AttentionGradientsOnHopper, LastHeadsFall) {
  EXPECT_EQ(falling_heads(8, 32, 132), 4);  // 128 blocks
  EXPECT_EQ(falling_heads(8, 16, 132), 0);  // one block per multiprocessor
  EXPECT_EQ(falling_heads(1, 500, 132), 0);
  EXPECT_EQ(falling_heads(4, 3, 2), 1);  // as below
  for (const auto& [row, text] : {std::pair(narrow, "bf16:b=2,hq=4,hkv=2,sq=260,sk=260,d=64:causal"),
                                  {wide, "f16:b=1,hq=6,hkv=3,sq=200,sk=300,d=128:causal=lower_right"},
                                  {between, "bf16:b=3,hq=1,hkv=1,sq=300,sk=140,d=96:causal:fill=nan"},
                                  {widest, "bf16:b=2,hq=2,hkv=1,sq=200,sk=150,d=136:causal"}})
    for (const int sms : {2, 4, 7}) check(row, text, nullptr, sms);
}
TEST(AttentionGradientsOnHopper, GroupsInParts) {
  check_parts(narrow, "bf16:b=1,hq=2,hkv=1,sq=256,sk=256,d=64", {1, 2});
  check_parts(narrow, "f16:b=2,hq=12,hkv=2,sq=100,sk=201,d=40,dv=64:causal", {1, 2, 3, 6});
  check_parts(narrow, "bf16:b=1,hq=4,hkv=1,sq=150,sk=131,d=64,dv=8:window=40,3:layout=bshd", {1, 2, 4});
  check_parts(between, "bf16:b=1,hq=6,hkv=2,sq=130,sk=129,d=96,dv=72:causal:layout=bshd", {1, 3});
  check_parts(wide, "f16:b=2,hq=4,hkv=1,sq=70,sk=139,d=128", {1, 2, 4});
  check_parts(widest, "bf16:b=2,hq=4,hkv=2,sq=70,sk=65,d=256:causal", {1, 2});
  check_parts(widest, "f16:b=1,hq=6,hkv=1,sq=100,sk=131,d=192,dv=136:causal=lower_right", {1, 2, 3, 6});
  check_parts(widest, "bf16:b=1,hq=3,hkv=1,sq=70,sk=67,d=136,dv=256:window=30,4", {1, 3});
}
TEST(AttentionGradientsOnHopper, QueriesInParts) {
  check_parts(narrow, "bf16:b=1,hq=1,hkv=1,sq=512,sk=77,d=64", {1, 2, 3, 4});  // the last of three has one tile
  check_parts(narrow, "f16:b=2,hq=4,hkv=2,sq=300,sk=201,d=40,dv=64:layout=bshd", {4, 6});
  check_parts(narrow, "bf16:b=1,hq=2,hkv=2,sq=300,sk=300,d=64:causal", {2, 3});  // parts without tiles
  check_parts(between, "bf16:b=1,hq=2,hkv=1,sq=200,sk=131,d=80:window=40,3", {4, 8});
  check_parts(wide, "f16:b=2,hq=2,hkv=2,sq=200,sk=139,d=128:fill=nan:causal=lower_right", {2, 4});
  check_parts(widest, "bf16:b=1,hq=2,hkv=1,sq=200,sk=65,d=192,dv=136", {4, 6});
  check_parts(widest, "f16:b=1,hq=1,hkv=1,sq=260,sk=131,d=136:causal:nondeterministic", {5});
  for (const int sms : {2, 7})
    check_parts(narrow, "bf16:b=2,hq=2,hkv=2,sq=390,sk=390,d=64:causal", {2, 3}, sms);  // heads that fall
}
TEST(AttentionGradientsOnHopper, PartsMeetWhatGroupsDo) {
  const struct {
    const char *type, *more;
  } cases[] = {{"f16", ":softcap=3:causal"},       {"bf16", ":scale=-0.3"}, {"f16", ":causal:fill=nan"},
               {"bf16", ":window=30,4:fill=inf"},  {"f16", ":fill=far"},    {"bf16", ":causal:fill=far"},
               {"f16", ":nondeterministic:causal"}};
  for (const char* row : {narrow, between, wide, widest}) {
    for (const auto& [type, more] : cases)
      check_parts(row, std::string(type) + ":b=1,hq=4,hkv=2,sq=72,sk=133,d=32" + more, {1, 2});
    check_parts(row, "bf16:b=1,hq=2,hkv=1,sq=300,sk=70,d=16:causal=lower_right", {2});  // blocks without queries
  }
}
TEST(AttentionGradientsOnHopper, PartsKeepAnOrder) {
  for (const int sms : {2, 7}) check_parts(narrow, "bf16:b=2,hq=4,hkv=2,sq=260,sk=260,d=64:causal", {2}, sms);
  for (const int sms : {2, 7}) check_parts(wide, "f16:b=1,hq=6,hkv=2,sq=200,sk=300,d=128:causal=lower_right", {3}, sms);
  for (const int sms : {2, 7}) check_parts(widest, "bf16:b=1,hq=4,hkv=1,sq=200,sk=150,d=136:causal", {2, 4}, sms);
}
// Masks loaded directly; copied: boolean ones, rows not aligned to 16 bytes, and rows that all queries share; and those
// of float32, which threads read with specialized consumers.
TEST(AttentionGradientsOnHopper, MaskTensors) {
  const struct {
    const char *row, *d, *size;
  } rows[] = {{"wgmma_gradient_64_mask", "48", "hq=2,hkv=1,sq=140,sk=136"},
              {"wgmma_gradient_128_mask", "104", "hq=2,hkv=1,sq=70,sk=136"},
              {"wgmma_gradient_256_mask", "136", "hq=2,hkv=1,sq=70,sk=72"}};
  for (const auto& [row, d, size] : rows) {
    const auto text = [&, size = size, d = d](const char* type, int batch, const char* mask, const char* more = "") {
      return std::string(type) + ":b=" + std::to_string(batch) + "," + size + ",d=" + d + "," + mask + more;
    };
    for (const char* mask : {"mask=2", "mask=2,mh=2,mb=2", "mask=1,mh=2", "mask=1,mb=2,mq=1", "mask=2,mq=1"})
      check(row, text("bf16", 2, mask));
    check(row, text("f16", 2, "mask=2,mb=2"));
    check(row, text("f16", 2, "mask=3,mh=2,mb=2"));
    for (const char* more : {"", ":causal", ":window=40,3:fill=nan", ":fill=inf", ":fill=far", ":scale=-0.3"})
      check(row, text("bf16", 1, "mask=3", more));
    for (const char* more : {":causal:fill=far", ":softcap=3:fill=nan", ":scale=-0.3"})
      check(row, text("f16", 1, "mask=3,mq=1", more));
    for (const char* more : {":causal", ":softcap=3:causal", ":scale=-0.3", ":window=40,3:fill=nan"})
      check(row, text("bf16", 1, "mask=2", more));
    for (const char* mask : {"mask=2", "mask=2,mq=1", "mask=1"}) {
      check(row, text("bf16", 1, mask, ":fill=far"));
      check(row, text("f16", 1, mask, ":fill=far"));
    }
    for (const char* more : {":scale=0", ":fill=nan", ":fill=inf", ":softcap=1.5", ":fill=denormal"})
      check(row, text("f16", 1, "mask=1", more));
    for (const char* more : {"", ":causal", ":window=40,3:fill=nan", ":fill=far", ":nondeterministic"}) {
      check_parts(row, text("bf16", 2, "mask=2", more), {1, 2});
      check_parts(row, text("f16", 1, "mask=1,mh=2", more), {1, 2});
    }
    check_parts(row, text("bf16", 1, "mask=3,mh=2", ":window=40,3:fill=nan"), {2, 4});
    const std::string heads = std::string(":b=1,hq=1,hkv=1,"), columns = std::string(",d=") + d;
    for (const char* size_of : {"sq=1,sk=1", "sq=1,sk=300", "sq=129,sk=1", "sq=65,sk=63", "sq=63,sk=129"})
      for (const char* mask : {",mask=1", ",mask=3", ",mask=3,mq=1"})
        check(row, "f16" + heads + size_of + columns + mask);
    check(row, "bf16" + heads + "sq=70,sk=100" + columns + ",mask=2:nondeterministic");
    check(row, "bf16" + heads + "sq=100,sk=100,d=32,mask=1", spoil_a_gradient);
    check(row, "bf16" + heads + "sq=100,sk=104,d=32,mask=2", spoil_a_gradient);
    check(row, "bf16:b=1,hq=2,hkv=1,sq=0,sk=4,d=8,mask=1");
    check(row, "bf16:b=1,hq=2,hkv=2,sq=3,sk=0,d=8,mask=2");
    check(row, "bf16:b=1,hq=0,hkv=2,sq=3,sk=4,d=8,mask=1");
  }
}
TEST(AttentionGradientsOnHopper, Nothing) {
  for (const char* row : {narrow, between, wide, widest}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=0,sk=4,d=8");
    check(row, "bf16:b=1,hq=2,hkv=2,sq=3,sk=0,d=8");
    check(row, "bf16:b=1,hq=0,hkv=2,sq=3,sk=4,d=8");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=300,sk=70,d=16:causal=lower_right");
  }
}

}  // namespace
}  // namespace ridge::attention_detail
