// attention's cases: what tests, benchmarks and the command line run.
//
// Further keys: dv; mask=1 (bool), 2 (additive, of q's type) or 3 (additive, f32), with the axes mb, mh, mq and sk,
// which default to 1, 1 and sq. Where inputs= names cu_q, cu_k or lengths, sequence lengths are drawn from the seed,
// the first one having sq queries and sk keys: around the edges of tiles, or with uneven=2 from half of these on.
// paged: keys per page, 16 by default. wide=1: cu_q and the others are int64.
#pragma once
#include <ridge/attention/oracle_of_case.hpp>
#include <ridge/attention/sweep.hpp>

namespace ridge::attention_detail {

inline check::CaseBook book() {
  check::CaseBook book{.op = "attention",
                       .keys = {"b", "hq", "hkv", "sq", "sk", "d"},
                       .optional_keys = {"dv", "mask", "mb", "mh", "mq", "uneven", "paged", "wide"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = as_inputs,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {},
                       .adjusts_small = true,
                       .draw = draw};
  const auto test = [&](std::string rest) { book.tests.push_back("attention:" + rest); };
  // Empty, one, and around the tiles' edges: 16, 64 and 128 queries, 16 and 64 keys; columns around 16, 64, 128, 256.
  for (const char* size : {"b=0,hq=2,hkv=1,sq=3,sk=4,d=8",         "b=2,hq=2,hkv=1,sq=0,sk=4,d=8",
                           "b=1,hq=2,hkv=2,sq=3,sk=0,d=8",         "b=1,hq=1,hkv=1,sq=1,sk=1,d=1",
                           "b=1,hq=1,hkv=1,sq=1,sk=17,d=3",        "b=1,hq=2,hkv=1,sq=15,sk=17,d=15",
                           "b=1,hq=1,hkv=1,sq=16,sk=16,d=16",      "b=2,hq=12,hkv=3,sq=16,sk=16,d=8",
                           "b=1,hq=1,hkv=1,sq=17,sk=63,d=17",      "b=1,hq=1,hkv=1,sq=63,sk=64,d=40",
                           "b=1,hq=1,hkv=1,sq=64,sk=65,d=63",      "b=1,hq=1,hkv=1,sq=65,sk=128,d=64",
                           "b=1,hq=1,hkv=1,sq=127,sk=129,d=65",    "b=1,hq=1,hkv=1,sq=128,sk=127,d=32",
                           "b=1,hq=1,hkv=1,sq=129,sk=200,d=127",   "b=1,hq=2,hkv=2,sq=33,sk=80,d=128",
                           "b=1,hq=1,hkv=1,sq=20,sk=70,d=129",     "b=1,hq=1,hkv=1,sq=66,sk=67,d=255",
                           "b=1,hq=1,hkv=1,sq=9,sk=130,d=256",     "b=1,hq=2,hkv=1,sq=33,sk=40,d=192,dv=128",
                           "b=1,hq=1,hkv=1,sq=20,sk=70,d=8,dv=72", "b=1,hq=1,hkv=1,sq=70,sk=30,d=40,dv=1",
                           "b=1,hq=1,hkv=1,sq=3,sk=70,d=4,dv=256", "b=1,hq=1,hkv=1,sq=17,sk=33,d=257",
                           "b=1,hq=2,hkv=1,sq=9,sk=40,d=512",      "b=1,hq=1,hkv=1,sq=5,sk=20,d=24,dv=511"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size + ":lse");
  test("f16:b=2,hq=4,hkv=2,sq=70,sk=130,d=64:lse");
  test("f16:b=1,hq=2,hkv=1,sq=40,sk=70,d=100:causal");
  test("f16:b=1,hq=2,hkv=1,sq=40,sk=70,d=320:causal:lse:fill=nan");
  test("bf16:b=1,hq=2,hkv=1,sq=20,sk=40,d=512,mask=3:lse:place=offset:warp=64");
  // Masks, in the middle of tiles and at their edges; rows with nothing to attend to; NaN and infinities behind masks.
  const char* masks[] = {
      ":causal",      ":causal=lower_right",           ":window=5,3",         ":window=-1,9",
      ":window=9,-1", ":window=0,0:align=lower_right", ":window=70,1:causal", ":window=20,0:causal=lower_right"};
  for (const char* type : {"f32", "bf16"})
    for (const char* mask : masks) {
      test(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=70,d=16" + mask + ":lse");
      test(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=150,d=24" + mask + ":lse:fill=nan");
      test(std::string(type) + ":b=1,hq=1,hkv=1,sq=150,sk=40,d=24" + mask + ":lse:fill=inf");
    }
  // Scores far from 0, which are scores like others.
  for (const char* type : {"f32", "f16", "bf16"}) {
    for (const char* more :
         {"", ",mask=2", ",mask=3", ",mask=3,mq=1", ",mask=1", ":causal", ":scale=-0.3", ":window=40,-1"})
      test(std::string(type) + ":b=1,hq=2,hkv=1,sq=40,sk=150,d=64" + more + ":lse:fill=far");
    for (const char* size :
         {"sq=9,sk=700,d=128,mask=3", "sq=1,sk=2100,d=64", "sq=1,sk=700,d=128", "sq=1,sk=300,d=256,mask=3"})
      test(std::string(type) + ":b=2,hq=4,hkv=2," + size + ":lse:fill=far");
    test(std::string(type) + ":b=3,hq=2,hkv=1,sq=70,sk=150,d=24,uneven=1:inputs=q,k,v,cu_q,cu_k:causal:lse:fill=far");
  }
  test("f32:b=1,hq=1,hkv=1,sq=2,sk=1,d=32:fill=overflow");
  test("bf16:b=3,hq=1,hkv=1,sq=2,sk=4,d=1,dv=3:fill=special");  // a score beyond float32 belongs to no key
  // One query with heads that fill their rows, and masks that are ranges of keys.
  for (const char* type : {"bf16", "f16"})
    for (const char* sizes :
         {"hq=8,hkv=2,sq=1,sk=1000,d=64", "hq=8,hkv=1,sq=1,sk=2100,d=128", "hq=3,hkv=3,sq=1,sk=33,d=128"})
      for (const char* more :
           {"", ":layout=bshd", ":window=300,0:align=lower_right:fill=nan", ":causal:fill=inf", ":scale=3"})
        test(std::string(type) + ":b=2," + sizes + more + ":lse");
  test("f32:b=1,hq=1,hkv=1,sq=200,sk=200,d=80:causal:fill=nan:lse");
  test("f16:b=1,hq=1,hkv=1,sq=200,sk=200,d=72:causal:fill=nan:lse");
  test("bf16:b=1,hq=1,hkv=1,sq=200,sk=200,d=136:causal:fill=inf");
  for (const char* type : {"f32", "bf16"})
    for (const char* mask : {"mask=1", "mask=2", "mask=3,mb=2,mh=2", "mask=1,mh=2,mq=1", "mask=2,mb=2,mq=1"})
      for (const char* more : {"", ":causal", ":fill=nan", ":softcap=5:window=40,-1"})
        test(std::string(type) + ":b=2,hq=2,hkv=1,sq=19,sk=70,d=24," + mask + more + ":lse");
  // Whole tiles of a mask's keys, which start at an odd key with a window.
  for (const char* mask : {"mask=1", "mask=2", "mask=3"})
    for (const char* more : {"", ":window=5,-1", ":window=40,40:align=lower_right"})
      test(std::string("bf16:b=1,hq=2,hkv=1,sq=260,sk=331,d=64,") + mask + more);
  // Scores: softcap, scales of either sign and none.
  for (const char* type : {"f32", "bf16"})
    for (const char* more : {":softcap=2", ":softcap=30:causal", ":scale=0.5", ":scale=-0.7", ":scale=-0.2:softcap=1",
                             ":scale=0", ":scale=3:causal"})
      test(std::string(type) + ":b=1,hq=2,hkv=1,sq=40,sk=70,d=32" + more + ":lse");
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* fill : {"ones", "denormal", "uniform", "constant,-3"})
      test(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=" + fill + ":lse");
  // Placement, layout, the width of warps.
  for (const char* type : {"f32", "bf16"})
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      for (const char* layout : {"bhsd", "bshd"})
        test(std::string(type) + ":b=2,hq=4,hkv=2,sq=20,sk=70,d=40,dv=24,mask=1:causal:lse:layout=" + layout +
             ":place=" + place);
  for (const char* type : {"f32", "bf16"}) {
    test(std::string(type) + ":b=2,hq=4,hkv=2,sq=70,sk=70,d=64:causal:layout=bshd:lse");
    test(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=90,d=64:causal:lse:warp=64");
    test(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=90,d=100:lse:warp=64");
    test(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=90,d=200:lse:warp=64");
  }
  // float32 that may be emulated.
  for (const char* size : {"sq=65,sk=63,d=64", "sq=129,sk=70,d=128", "sq=3,sk=330,d=40,dv=24"})
    for (const char* more : {"", ":causal=lower_right:fill=nan"})
      test(std::string("f32:b=1,hq=2,hkv=1,") + size + more + ":lse:math=bf16x6");
  test("f32:b=3,hq=2,hkv=1,sq=70,sk=90,d=64:inputs=q,k,v,cu_q,cu_k:causal=lower_right:lse:math=bf16x6");
  // In double-float arithmetic: tiles of 16 and 32, masks, lengths, pages and strides.
  for (const char* rest :
       {"b=1,hq=2,hkv=2,sq=3,sk=0,d=8", "b=2,hq=2,hkv=1,sq=0,sk=4,d=8", "b=1,hq=1,hkv=1,sq=1,sk=1,d=1",
        "b=1,hq=2,hkv=1,sq=33,sk=65,d=64", "b=1,hq=1,hkv=1,sq=31,sk=32,d=128", "b=1,hq=1,hkv=1,sq=5,sk=20,d=24,dv=511",
        "b=1,hq=2,hkv=1,sq=40,sk=70,d=20:causal=lower_right:fill=nan",
        "b=1,hq=1,hkv=1,sq=70,sk=40,d=24:window=5,3:fill=inf", "b=2,hq=2,hkv=1,sq=19,sk=70,d=24,mask=1:fill=nan",
        "b=2,hq=2,hkv=1,sq=19,sk=70,d=24,mask=3,mq=1:causal", "b=1,hq=2,hkv=1,sq=40,sk=150,d=64,mask=2:fill=far",
        "b=1,hq=1,hkv=1,sq=9,sk=70,d=32:scale=-0.7", "b=1,hq=1,hkv=1,sq=9,sk=70,d=32:scale=0",
        "b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=denormal", "b=1,hq=1,hkv=1,sq=2,sk=40,d=32:fill=overflow",
        "b=3,hq=1,hkv=1,sq=2,sk=4,d=1,dv=3:fill=special",
        "b=2,hq=4,hkv=2,sq=20,sk=40,d=40,dv=24,mask=1:place=strided:layout=bshd",
        "b=2,hq=4,hkv=2,sq=20,sk=40,d=40,dv=24:place=reversed", "b=1,hq=2,hkv=1,sq=40,sk=70,d=64:warp=64"})
    test(std::string("f32:") + rest + ":lse:accumulate=two_float");
  for (const char* scale : {"1e3", "1e4", "1e5"})  // scores whose low part is a score's size itself
    for (const char* size :
         {"b=1,hq=2,hkv=1,sq=40,sk=70,d=64", "b=1,hq=1,hkv=1,sq=3,sk=1,d=24", "b=1,hq=1,hkv=1,sq=9,sk=40,d=130"})
      test(std::string("f32:") + size + ":fill=scaled," + scale + ":lse:accumulate=two_float");
  for (const char* kind :
       {":inputs=q,k,v,cu_q,cu_k:causal", ":inputs=q,k,v,lengths,block_table", ":inputs=q,k,v,lengths"})
    test(std::string("f32:b=4,hq=4,hkv=2,sq=40,sk=90,d=40,dv=24") + kind + ":lse:accumulate=two_float");
  // Many blocks, many tiles.
  test("bf16:b=2,hq=4,hkv=2,sq=70,sk=140,d=64:causal=lower_right");
  test("f32:b=1,hq=1,hkv=1,sq=3,sk=700,d=64:lse");
  for (const char* more : {":causal=lower_right", ":window=90,40:align=lower_right", ":causal=lower_right:fill=nan"})
    for (const char* size : {"b=1,hq=1,hkv=1,sq=40,sk=300,d=63,dv=31", "b=1,hq=2,hkv=1,sq=33,sk=290,d=128"})
      test(std::string("f32:") + size + ":lse" + more);                 // split-KV
  test("bf16:b=1,hq=8,hkv=2,sq=3,sk=700,d=64:lse:causal=lower_right");  // split-KV, heads together

  // Variable-length sequences: packed queries, keys or both, or keys of a cache.
  const std::string packed = ":inputs=q,k,v,cu_q,cu_k", cached = ":inputs=q,k,v,lengths",
                    paged = ":inputs=q,k,v,lengths,block_table", paged_too = ":inputs=q,k,v,cu_q,lengths,block_table";
  for (const std::string type : {"f32:", "bf16:"}) {
    for (const char* mask : {"", ":causal", ":causal=lower_right", ":window=20,5", ":window=7,0:align=lower_right"})
      for (const char* seed : {"1", "2", "3"})
        test(type + "b=8,hq=2,hkv=1,sq=130,sk=140,d=24" + packed + mask + ":lse:seed=" + seed);
    for (const std::string& kind : {packed, cached, paged, paged_too}) {
      test(type + "b=0,hq=2,hkv=1,sq=3,sk=4,d=8" + kind + ":lse");
      test(type + "b=3,hq=2,hkv=1,sq=0,sk=4,d=8" + kind + ":lse");
      test(type + "b=3,hq=2,hkv=2,sq=3,sk=0,d=8" + kind + ":lse");
      test(type + "b=4,hq=4,hkv=2,sq=5,sk=150,d=40,dv=24,wide=1" + kind + ":causal=lower_right:lse:max_k=170");
      for (const char* fill : {"nan", "inf"})
        test(type + "b=4,hq=2,hkv=1,sq=70,sk=150,d=24" + kind + ":causal=lower_right:lse:fill=" + fill);
      for (const char* place : {"offset", "padded", "strided", "reversed"})
        test(type + "b=3,hq=4,hkv=2,sq=20,sk=70,d=40,dv=24" + kind + ":causal:lse:place=" + place);
      test(type + "b=3,hq=4,hkv=2,sq=20,sk=70,d=40,dv=24" + kind + ":layout=bshd:lse");
      test(type + "b=3,hq=2,hkv=1,sq=70,sk=90,d=64" + kind + ":causal:lse:warp=64");
      test(type + "b=2,hq=1,hkv=1,sq=33,sk=70,d=136" + kind + ":softcap=5:lse");
      test(type + "b=2,hq=1,hkv=1,sq=33,sk=70,d=100" + kind);
    }
    for (const char* kind : {":inputs=q,k,v,cu_q", ":inputs=q,k,v,cu_k", ":inputs=q,k,v,cu_q,lengths"})
      test(type + "b=4,hq=2,hkv=1,sq=70,sk=150,d=24" + kind + ":causal=lower_right:lse");
    test(type + "b=6,hq=6,hkv=2,sq=130,sk=140,d=64" + packed + ":causal:lse:max_q=130:max_k=140");
    for (const char* page : {"16", "32", "64", "256"})
      test(type + "b=3,hq=8,hkv=2,sq=3,sk=700,d=64,paged=" + page + paged_too + ":causal=lower_right:lse:max_q=3");
    test(type + "b=3,hq=8,hkv=2,sq=1,sk=700,d=64,paged=16" + paged + ":window=300,0:align=lower_right:lse");
    test(type + "b=3,hq=8,hkv=2,sq=1,sk=700,d=64" + packed + ":causal=lower_right:lse:max_q=1");  // split-KV
  }
  test("f16:b=5,hq=2,hkv=1,sq=130,sk=140,d=64" + packed + ":causal:lse");

  // Gradients: the same edges, with tiles of 32 and 64 rows on both sides and of 64, 128 and 256 columns.
  const auto backward = [&](std::string rest) { test(rest + ":backward"); };
  for (const char* size :
       {"b=0,hq=2,hkv=1,sq=3,sk=4,d=8", "b=2,hq=2,hkv=1,sq=0,sk=4,d=8", "b=1,hq=2,hkv=2,sq=3,sk=0,d=8",
        "b=1,hq=0,hkv=2,sq=3,sk=4,d=8", "b=1,hq=1,hkv=1,sq=1,sk=1,d=1", "b=1,hq=1,hkv=1,sq=1,sk=17,d=3",
        "b=2,hq=6,hkv=3,sq=16,sk=15,d=8", "b=1,hq=1,hkv=1,sq=63,sk=64,d=40", "b=1,hq=1,hkv=1,sq=64,sk=65,d=63",
        "b=1,hq=2,hkv=1,sq=65,sk=63,d=64", "b=1,hq=1,hkv=1,sq=33,sk=70,d=65", "b=1,hq=1,hkv=1,sq=66,sk=31,d=127",
        "b=1,hq=1,hkv=1,sq=31,sk=33,d=129", "b=1,hq=1,hkv=1,sq=34,sk=32,d=256", "b=1,hq=2,hkv=1,sq=9,sk=12,d=512",
        "b=1,hq=1,hkv=1,sq=7,sk=5,d=260,dv=40", "b=1,hq=2,hkv=1,sq=20,sk=30,d=192,dv=128",
        "b=1,hq=1,hkv=1,sq=20,sk=70,d=8,dv=72", "b=1,hq=1,hkv=1,sq=70,sk=30,d=40,dv=1"})
    for (const char* type : {"f32", "bf16"}) backward(std::string(type) + ":" + size);
  backward("f16:b=1,hq=4,hkv=2,sq=70,sk=40,d=64:causal");
  for (const char* type : {"f32", "bf16"}) {
    for (const char* mask : masks) {
      backward(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=70,d=16" + mask);
      backward(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=90,d=24" + mask + ":fill=nan");
      backward(std::string(type) + ":b=1,hq=1,hkv=1,sq=90,sk=40,d=24" + mask + ":fill=inf");
    }
    for (const char* more : {",mask=1", ",mask=2", ",mask=3,mq=1", ",mask=3,mh=2:softcap=2:causal", ":softcap=1.5",
                             ":scale=-0.3", ":scale=0", ",mask=1:softcap=0.7:window=9,4:fill=nan"})
      backward(std::string(type) + ":b=1,hq=2,hkv=1,sq=40,sk=70,d=32" + more);
    for (const char* far : {"d=32", "d=64,mask=2", "d=64,mask=3", "d=128,mask=3,mh=2", "d=200,mask=3", "d=64,mask=1"})
      backward(std::string(type) + ":b=1,hq=2,hkv=1,sq=40,sk=70," + far + ":fill=far");
    backward(std::string(type) +
             ":b=3,hq=2,hkv=1,sq=70,sk=90,d=24,uneven=1:inputs=do,q,k,v,o,lse,cu_q,cu_k:causal:fill=far");
    for (const char* fill : {"ones", "denormal", "constant,-3"})
      backward(std::string(type) + ":b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=" + fill);
    for (const char* far : {"d=1:fill=shifted,1e4", "d=2,dv=1:fill=alternating,3e4"})
      backward(std::string(type) + ":b=1,hq=1,hkv=1,sq=1,sk=1," + far);
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      for (const char* layout : {"bhsd", "bshd"})
        backward(std::string(type) + ":b=2,hq=4,hkv=2,sq=20,sk=30,d=40,dv=24,mask=1:causal:layout=" + layout +
                 ":place=" + place);
    backward(std::string(type) + ":b=2,hq=4,hkv=2,sq=70,sk=70,d=64:causal:layout=bshd");
    backward(std::string(type) + ":b=1,hq=2,hkv=1,sq=70,sk=90,d=64:causal:warp=64");
  }
  for (const std::string type : {"f32:", "bf16:"}) {
    const std::string uneven = ":inputs=do,q,k,v,o,lse,cu_q,cu_k";
    for (const char* mask : {"", ":causal", ":causal=lower_right", ":window=20,5"})
      for (const char* seed : {"1", "2"})
        backward(type + "b=8,hq=2,hkv=1,sq=130,sk=70,d=24" + uneven + mask + ":seed=" + seed);
    backward(type + "b=0,hq=2,hkv=1,sq=3,sk=4,d=8" + uneven);
    backward(type + "b=3,hq=2,hkv=1,sq=0,sk=4,d=8" + uneven);
    backward(type + "b=3,hq=2,hkv=1,sq=4,sk=0,d=8" + uneven);
    for (const char* fill : {"nan", "inf"})
      backward(type + "b=4,hq=2,hkv=1,sq=70,sk=90,d=24" + uneven + ":causal=lower_right:fill=" + fill);
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      backward(type + "b=3,hq=4,hkv=2,sq=20,sk=30,d=40,dv=24,wide=1" + uneven + ":causal:place=" + place);
    backward(type + "b=3,hq=2,hkv=1,sq=70,sk=90,d=100" + uneven + ":causal:max_q=70:max_k=90:warp=64");
    for (const char* kind : {"cu_q", "cu_k"})
      backward(type + "b=3,hq=2,hkv=1,sq=70,sk=40,d=136:inputs=do,q,k,v,o,lse," + kind + ":causal=lower_right");
  }

  // Several tiles of 64 and 128 keys and of 64 and 128 queries, with heads that share keys; two summands need no
  // order.
  for (const char* more :
       {"", ":causal", ":causal=lower_right", ":window=40,3", ":softcap=3:causal", ":causal:fill=nan"})
    for (const char* d : {"64", "128", "256"}) backward(std::string("bf16:b=1,hq=2,hkv=1,sq=200,sk=300,d=") + d + more);
  backward("f16:b=2,hq=4,hkv=2,sq=130,sk=129,d=96,dv=72:causal:layout=bshd");
  backward("f16:b=2,hq=4,hkv=2,sq=130,sk=65,d=192,dv=128:causal:layout=bshd");
  backward("bf16:b=1,hq=2,hkv=1,sq=64,sk=129,d=136,dv=208:window=30,4:nondeterministic");
  backward("f16:b=1,hq=4,hkv=2,sq=200,sk=256,d=64:nondeterministic");

  const auto bench = [&](std::string rest) { book.benches.push_back("attention:" + rest); };
  for (const char* d : {"64", "128", "256"})
    for (const char* s :
         {"b=16,hq=H,hkv=H,sq=1024,sk=1024", "b=4,hq=H,hkv=H,sq=4096,sk=4096", "b=1,hq=H,hkv=H,sq=16384,sk=16384"})
      for (const char* more : {"", ":causal"}) {
        std::string text = s;  // 2,048 columns of all heads together
        for (std::size_t at; (at = text.find('H')) != std::string::npos;)
          text.replace(at, 1, std::to_string(2048 / std::stoi(d)));
        bench("bf16:" + text + ",d=" + d + more);
      }
  bench("bf16:b=4,hq=32,hkv=8,sq=4096,sk=4096,d=128:causal");
  bench("bf16:b=2,hq=32,hkv=8,sq=8192,sk=8192,d=128:causal");
  for (const char* heads : {"hq=32,hkv=32,sq=16384,sk=16384,d=64", "hq=16,hkv=16,sq=16384,sk=16384,d=128"})
    bench(std::string("bf16:b=1,") + heads + ":window=1024,0");
  for (const char* size : {"b=1,hq=32,hkv=8,sq=1,sk=8192", "b=16,hq=32,hkv=8,sq=1,sk=8192",
                           "b=64,hq=32,hkv=8,sq=1,sk=4096", "b=1,hq=32,hkv=8,sq=1,sk=65536"})
    bench(std::string("bf16:") + size + ",d=128");
  bench("bf16:b=16,hq=16,hkv=16,sq=2048,sk=2048,d=128,uneven=2" + packed + ":causal:max_q=2048:max_k=2048");
  for (const char* size : {"b=16,hq=32,hkv=8,sq=1,sk=8192", "b=64,hq=32,hkv=8,sq=1,sk=4096"})
    for (const char* page : {"16", "256"}) bench(std::string("bf16:") + size + ",d=128,uneven=2,paged=" + page + paged);
  for (const char* more : {"", ":causal"}) bench(std::string("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64") + more);
  bench("f32:b=4,hq=8,hkv=8,sq=2048,sk=2048,d=128:causal");
  bench("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64:accumulate=two_float");
  for (const char* heads : {"hq=32,hkv=32,sq=4096,sk=4096,d=64", "hq=16,hkv=16,sq=4096,sk=4096,d=128"})
    for (const char* more : {"", ":causal", ":nondeterministic", ":causal:nondeterministic"})
      bench(std::string("bf16:b=4,") + heads + more + ":backward");
  for (const char* more : {"", ":causal"})
    bench(std::string("bf16:b=4,hq=8,hkv=8,sq=4096,sk=4096,d=256") + more + ":backward");
  bench("f32:b=4,hq=16,hkv=16,sq=2048,sk=2048,d=64:causal:backward");
  return book;
}

}  // namespace ridge::attention_detail
