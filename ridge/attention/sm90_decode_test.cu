// Decoding on Hopper on the CPU runtime, which emulates TMA, mbarrier and mma.sync: runs cases of the book as on a GPU,
// and checks them with the book's tolerances.
#include <ridge/attention/sm90_case.hpp>
#include <ridge/attention/sm90_decode.cuh>
#include <ridge/attention/sm90_decode_one.cuh>

namespace ridge::attention_detail {
namespace {

template <template <class> class Rows> Status launch_of(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<Rows<half>>(call) : launch_row<Rows<bfloat16>>(call);
}
template <template <class> class Rows>
void check_rows(const std::string& variant, const std::string& text, int splits) {
  check_on_hopper(variant, text, launch_of<Rows>, splits);
}
void check(const std::string& variant, const std::string& text, int splits = 0) {
  check_rows<DecodeRows>(variant, text, splits);
}
void check_one(const std::string& variant, const std::string& text, int splits = 0) {
  check_rows<DecodeOneRows>(variant, text, splits);
}

constexpr const char *narrow = "decode_64", *wide = "decode_128", *widest = "decode_256";

TEST(DecodingOnHopper, OneQueryOfSharedHeads) {
  check(narrow, "bf16:b=2,hq=4,hkv=2,sq=1,sk=200,d=64:lse");
  check(wide, "f16:b=1,hq=2,hkv=1,sq=1,sk=530,d=128:lse", 1);  // a warp has more tiles than stages
  check(wide, "bf16:b=1,hq=8,hkv=2,sq=1,sk=150,d=128", 3);
  check(widest, "bf16:b=1,hq=4,hkv=1,sq=1,sk=100,d=256:lse", 2);
}
TEST(DecodingOnHopper, ManyParts) { check(narrow, "f16:b=1,hq=2,hkv=1,sq=1,sk=700,d=8:lse", 35); }
TEST(DecodingOnHopper, FewKeys) {
  for (const std::string sk : {"1", "31", "33", "65", "129"}) {
    check(narrow, "f16:b=1,hq=2,hkv=1,sq=1,d=64,sk=" + sk + ":lse", 2);
    check(wide, "bf16:b=1,hq=1,hkv=1,sq=1,d=128,sk=" + sk + ":lse", 1);
  }
}
TEST(DecodingOnHopper, NarrowerHeadsAndOtherLayouts) {
  check(narrow, "f16:b=2,hq=6,hkv=2,sq=1,sk=200,d=40,dv=56:layout=bshd:lse", 3);
  check(wide, "bf16:b=2,hq=4,hkv=2,sq=2,sk=130,d=64,dv=104:layout=bshd:lse", 2);
  check(wide, "bf16:b=1,hq=4,hkv=2,sq=2,sk=130,d=120,dv=8:scale=-0.3");
}
TEST(DecodingOnHopper, SeveralQueriesAndTilesOfRows) {
  for (const std::string mask :
       {"", ":causal=lower_right", ":causal", ":window=40,3:align=lower_right", ":window=7,-1"})
    check(narrow, "bf16:b=1,hq=4,hkv=1,sq=4,sk=150,d=64:lse" + mask, 2);
  check(narrow, "f16:b=1,hq=6,hkv=1,sq=7,sk=80,d=64:lse:causal=lower_right", 2);  // 42 rows
  check(wide, "f16:b=1,hq=20,hkv=1,sq=1,sk=70,d=128:lse", 1);
}
TEST(DecodingOnHopper, ScoresOfEveryKind) {
  for (const char* more : {":softcap=3:causal=lower_right", ":scale=0", ":scale=-0.2:softcap=1"})
    check(wide, std::string("bf16:b=1,hq=4,hkv=1,sq=2,sk=150,d=128:lse") + more, 2);
}
TEST(DecodingOnHopper, ScoresFarFromZero) {
  for (const char* type : {"bf16", "f16"})
    for (const int splits : {1, 3}) {
      check(narrow, std::string(type) + ":b=1,hq=4,hkv=2,sq=4,sk=300,d=64:lse:fill=far", splits);
      check(wide, std::string(type) + ":b=1,hq=2,hkv=1,sq=5,sk=200,d=128:causal=lower_right:lse:fill=far", splits);
    }
}
TEST(DecodingOnHopper, WhatIsMaskedDoesNotMatter) {
  for (const char* fill : {"nan", "inf"})
    for (const char* mask : {":causal=lower_right", ":window=30,4", ""}) {
      check(narrow, std::string("bf16:b=1,hq=2,hkv=1,sq=8,sk=150,d=64:lse") + mask + ":fill=" + fill, 2);
      check(wide, std::string("f16:b=1,hq=2,hkv=1,sq=5,sk=50,d=128:lse") + mask + ":fill=" + fill, 1);
    }
}
TEST(DecodingOnHopper, QueriesWithoutKeys) {
  check(wide, "f16:b=1,hq=4,hkv=1,sq=30,sk=20,d=128:causal=lower_right:lse", 2);
  check(wide, "f16:b=1,hq=4,hkv=1,sq=3,sk=100,d=128:window=2,3:lse", 5);  // splits without keys
}
TEST(DecodingOnHopper, UnevenLengths) {
  for (const std::string kind : {"cu_q,cu_k", "lengths", "cu_k", "cu_q,lengths"}) {
    check(narrow, "bf16:b=4,hq=4,hkv=2,sq=3,sk=100,d=64:lse:inputs=q,k,v," + kind + ":causal=lower_right", 2);
    check(narrow, "f16:b=3,hq=2,hkv=1,sq=3,sk=100,d=32:inputs=q,k,v," + kind + ":window=50,0:fill=nan", 1);
  }
}
TEST(DecodingOnHopper, Pages) {
  for (const std::string page : {"16", "32", "128"}) {
    check(narrow,
          "bf16:b=3,hq=2,hkv=1,sq=2,sk=200,d=64,paged=" + page +
              ":lse:inputs=q,k,v,lengths,block_table:window=150,0:align=lower_right",
          2);
    check(wide,
          "f16:b=3,hq=2,hkv=1,sq=2,sk=100,d=96,paged=" + page +
              ":inputs=q,k,v,cu_q,lengths,block_table:causal=lower_right:fill=nan",
          1);
  }
  check(narrow, "bf16:b=1,hq=2,hkv=1,sq=1,sk=1100,d=16,paged=16:inputs=q,k,v,lengths,block_table", 1);
}

TEST(DecodingOnHopper, WhatNobodyShouldGive) {
  const auto untrusted = [](const std::string& variant, const std::string& text, int splits) {
    check_untrusted_on_hopper(variant, text, launch_of<DecodeRows>, splits);
  };
  for (const std::string kind : {"cu_q,cu_k", "cu_q,lengths", "cu_q,cu_k:causal=lower_right"})
    untrusted(narrow, "bf16:b=3,hq=2,hkv=1,sq=3,sk=100,d=64,wide=1:lse:inputs=q,k,v," + kind, 2);
  untrusted(narrow, "bf16:b=3,hq=2,hkv=1,sq=2,sk=100,d=64,paged=16:lse:inputs=q,k,v,cu_q,lengths,block_table", 2);
  untrusted(wide, "f16:b=2,hq=2,hkv=1,sq=2,sk=70,d=96,paged=32,wide=1:inputs=q,k,v,lengths,block_table", 1);
}

constexpr const char *one_narrow = "decode_one_64", *one_wide = "decode_one_128", *one_widest = "decode_one_256";

TEST(OneQueryOnHopper, SharedHeads) {
  check_one(one_narrow, "bf16:b=2,hq=4,hkv=2,sq=1,sk=200,d=64:lse");
  check_one(one_narrow, "f16:b=1,hq=8,hkv=1,sq=1,sk=300,d=64", 2);
  check_one(one_wide, "f16:b=1,hq=2,hkv=1,sq=1,sk=700,d=128:lse", 1);  // more tiles than the circular buffer has
  check_one(one_wide, "bf16:b=2,hq=8,hkv=2,sq=1,sk=600,d=128:lse", 3);
  check_one(one_wide, "bf16:b=1,hq=7,hkv=1,sq=1,sk=90,d=128:layout=bshd", 2);
  check_one(one_wide, "f16:b=3,hq=2,hkv=2,sq=1,sk=64,d=128:lse:layout=bshd");
}
TEST(OneQueryOnHopper, ManyPartsAndPartsWithoutKeys) {
  check_one(one_narrow, "f16:b=1,hq=2,hkv=1,sq=1,sk=1500,d=64:lse", 24);
  check_one(one_wide, "bf16:b=1,hq=8,hkv=1,sq=1,sk=1440,d=128:lse", 45);  // decode_most_parts()
  check_one(one_wide, "bf16:b=1,hq=4,hkv=1,sq=1,sk=33,d=128:lse", 5);
}
TEST(OneQueryOnHopper, FewKeys) {
  for (const std::string sk : {"1", "15", "16", "31", "32", "33", "127", "129"}) {
    check_one(one_narrow, "bf16:b=1,hq=2,hkv=1,sq=1,d=64,sk=" + sk + ":lse", 2);
    check_one(one_wide, "f16:b=1,hq=2,hkv=1,sq=1,d=128,sk=" + sk + ":lse", 1);
  }
}
// More blocks than multiprocessors: their circular buffers are as small as the keys allow, or filled again.
TEST(OneQueryOnHopper, BlocksShareAMultiprocessor) {
  const auto ring = [](const char* row, std::int64_t b, std::int64_t sk, std::int64_t d) {
    const AttentionProblem p{.b = b, .hq = 8, .hkv = 8, .sq = 1, .sk = sk, .d = d, .dtype = bf16};
    for (const Variant& v : variants)
      if (v.name == row) return decode_one::ring_tiles(v.config, p, *device_model("H200"), 1);
    return 0;
  };
  EXPECT_EQ(ring(one_narrow, 1, 5, 64), 1);
  EXPECT_EQ(ring(one_narrow, 1, 5000, 64), 12);
  EXPECT_EQ(ring(one_narrow, 100, 5, 64), 1);
  EXPECT_EQ(ring(one_narrow, 30, 384, 64), 6);  // two blocks
  EXPECT_EQ(ring(one_wide, 100, 5000, 128), 4);
  EXPECT_EQ(ring(one_widest, 100, 40, 256), 3);
  check_one(one_narrow, "bf16:b=35,hq=8,hkv=4,sq=1,sk=5,d=64:lse");
  check_one(one_narrow, "f16:b=34,hq=4,hkv=4,sq=1,sk=500,d=64");
  check_one(one_wide, "f16:b=34,hq=8,hkv=4,sq=1,sk=290,d=128:lse");
  check_one(one_widest, "bf16:b=27,hq=10,hkv=5,sq=1,sk=150,d=256,uneven=2:inputs=q,k,v,lengths");
}
TEST(OneQueryOnHopper, MasksAreRangesOfKeys) {
  for (const std::string mask : {":causal=lower_right", ":causal", ":window=40,3:align=lower_right", ":window=7,50",
                                 ":window=70,-1:align=lower_right", ":window=0,0:align=lower_right"})
    for (const char* fill : {"", ":fill=nan", ":fill=inf"}) {
      check_one(one_narrow, "bf16:b=2,hq=4,hkv=2,sq=1,sk=150,d=64:lse" + mask + fill, 2);
      check_one(one_wide, "f16:b=1,hq=4,hkv=1,sq=1,sk=150,d=128:lse" + mask + fill, 1);
    }
}
TEST(OneQueryOnHopper, FewerColumnsThanTheRowHas) {
  for (const std::string d : {"8", "40", "56", "64"})
    check_one(one_narrow, "bf16:b=2,hq=4,hkv=2,sq=1,sk=150,d=" + d + ":lse:fill=nan", 2);
  for (const std::string d : {"72", "80", "96", "120"})
    check_one(one_wide, "f16:b=1,hq=2,hkv=1,sq=1,sk=100,d=" + d + ":lse:layout=bshd", 1);
  check_one(one_wide, "bf16:b=1,hq=2,hkv=1,sq=1,sk=100,d=80,dv=104:lse", 2);
  for (const std::string d : {"144", "216", "256"})
    check_one(one_widest, "bf16:b=1,hq=2,hkv=1,sq=1,sk=150,d=" + d + ":lse:layout=bshd", 2);
}
TEST(OneQueryOnHopper, MoreHeadsThanABlockHas) {
  check_one(one_narrow, "bf16:b=2,hq=18,hkv=2,sq=1,sk=200,d=64:lse");
  check_one(one_wide, "f16:b=1,hq=32,hkv=1,sq=1,sk=300,d=96:lse", 3);
  check_one(one_widest, "bf16:b=1,hq=17,hkv=1,sq=1,sk=60,d=256:lse", 1);
}
TEST(OneQueryOnHopper, UnevenLengths) {
  for (const char* fill : {"", ":fill=nan", ":fill=inf"}) {
    check_one(one_narrow, std::string("bf16:b=5,hq=4,hkv=2,sq=1,sk=200,d=64,uneven=2:inputs=q,k,v,lengths:lse") + fill,
              2);
    check_one(one_wide,
              std::string("f16:b=4,hq=10,hkv=1,sq=1,sk=100,d=72:inputs=q,k,v,lengths:lse:causal=lower_right") + fill);
  }
}
TEST(OneQueryOnHopper, WhatNobodyShouldGive) {
  for (const char* more : {":inputs=q,k,v,lengths:lse", ",wide=1:inputs=q,k,v,lengths"})
    check_untrusted_on_hopper(one_narrow, std::string("bf16:b=3,hq=4,hkv=2,sq=1,sk=100,d=64") + more,
                              launch_of<DecodeOneRows>, 2);
}
TEST(OneQueryOnHopper, ScalesAndScoresOfAnySize) {
  for (const std::string more :
       {":scale=2", ":scale=0.001", ":fill=constant,-3", ":fill=denormal", ":fill=nan", ":fill=inf", ":fill=far"})
    for (const int splits : {1, 3}) check_one(one_wide, "bf16:b=1,hq=4,hkv=1,sq=1,sk=400,d=128:lse" + more, splits);
}

}  // namespace
}  // namespace ridge::attention_detail
