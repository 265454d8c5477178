// Decoding on Hopper on the CPU runtime, which emulates TMA, mbarrier and mma.sync: cases of the book, launched as on a GPU
// and held to the book's tolerances.
#include <ridge/attention/cases.hpp>
#include <ridge/attention/sm90_decode_launch.cuh>
#include <ridge/check/harness.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace ridge::attention_detail {
namespace {

// Bytes on 256, as a device's allocations are, with a line behind them that nobody may write.
class Bytes {
 public:
  static constexpr std::size_t canary = 128;
  explicit Bytes(std::size_t size, int fill) : size_(size), data_(size + canary + 256, std::byte(fill)) {
    std::memset(get() + size, 0x77, canary);
  }
  std::byte* get() { return data_.data() + (256 - reinterpret_cast<std::uintptr_t>(data_.data()) % 256) % 256; }
  bool intact() {
    for (std::size_t i = 0; i < canary; ++i)
      if (get()[size_ + i] != std::byte(0x77)) return false;
    return true;
  }

 private:
  std::size_t size_;
  std::vector<std::byte> data_;
};

// splits: parts of the keys; 0: as many as the plan says.
void check(const std::string& variant, const std::string& text, int splits = 0) {
  SCOPED_TRACE(text + ", splits " + std::to_string(splits));
  const auto parsed = check::Case::parse("attention:" + text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  const check::Case& c = *parsed;
  const auto book = check::find_case_book("attention");
  ASSERT_TRUE(book.ok());
  const auto inputs = check::fill_inputs(**book, c);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message();
  auto expected = (*book)->oracle(c, *inputs);
  (*book)->tolerances(c, *inputs, variant, expected);

  const Options options = c.operator_options();
  const auto op = find_op("attention");
  ASSERT_TRUE(op.ok());
  const auto names = input_names(**op, options, inputs->size());
  ASSERT_TRUE(names.ok()) << names.error().message();
  const Request request = *request_of(options);
  const bool paged = std::find(names->begin(), names->end(), "block_table") != names->end();

  std::vector<Bytes> data;
  data.reserve(inputs->size() + 2);
  std::vector<TensorView> in, out;
  for (const auto& tensor : *inputs) {
    const auto bytes = check::encode(tensor.type.dtype, tensor.values);
    data.emplace_back(bytes.size(), 0);
    std::copy(bytes.begin(), bytes.end(), data.back().get());
    in.push_back({data.back().get(), tensor.type.dtype, Layout::contiguous(tensor.type.shape), ridge::cpu().id});
  }
  const auto types = (*op)->infer(in, options);
  ASSERT_TRUE(types.ok()) << types.error().message();
  for (const TensorType& type : *types) {
    std::int64_t count = 1;
    for (std::int64_t size : type.shape) count *= size;
    data.emplace_back(static_cast<std::size_t>(count * size_of(type.dtype)), 0xff);  // poison: NaN
    out.push_back({data.back().get(), type.dtype, Layout::contiguous(type.shape), ridge::cpu().id});
  }
  const auto lies = [&](const TensorView& v, bool of_pages) {
    return request.rows_first && v.rank() == 4 && !of_pages ? heads_first(v) : v;
  };
  const auto given = [&](std::string_view name) {
    const TensorView* found = find_view(in, *names, name);
    return found ? std::optional(*found) : std::nullopt;
  };
  AttentionTensors t{.q = lies(in[0], false),
                     .k = lies(in[1], paged),
                     .v = lies(in[2], paged),
                     .o = lies(out[0], false),
                     .cu_q = given("cu_q"),
                     .cu_k = given("cu_k"),
                     .lengths = given("lengths"),
                     .block_table = given("block_table"),
                     .max_q = request.max_q,
                     .max_k = request.max_k};
  if (out.size() == 2) t.lse = out[1];

  const auto problem = AttentionProblem::of(t, request.rule);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  auto plan = plan_attention(*problem, *device_model("H200"), {.variant = variant});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  if (splits > 0) plan->splits = splits;
  Bytes workspace(plan->workspace_bytes(), 0xff);
  const Call call{*plan, *problem, t, {workspace.get(), plan->workspace_bytes()}, {}};
  std::vector<std::byte> before;
  for (int run = 0; run < 2; ++run) {
    const auto all = std::make_integer_sequence<int, variant_count>{};
    const Status status =
        c.dtype == f16 ? launch_decode_table<half>(call, all) : launch_decode_table<bfloat16>(call, all);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::byte> now;
    for (std::size_t i = 0; i < out.size(); ++i) {
      Bytes& bytes = data[in.size() + i];
      now.insert(now.end(), bytes.get(), bytes.get() + expected[i].value.size() * size_of(out[i].dtype));
    }
    if (run == 1) {
      EXPECT_TRUE(now == before) << "another result from run to run";
    }
    before = std::move(now);
  }
  EXPECT_TRUE(workspace.intact());
  const char* outputs[] = {"o", "lse"};
  for (std::size_t i = 0; i < out.size(); ++i) {
    Bytes& bytes = data[in.size() + i];
    EXPECT_TRUE(bytes.intact()) << outputs[i];
    const auto got = check::decode(out[i].dtype, bytes.get(), static_cast<std::int64_t>(expected[i].value.size()));
    for (std::size_t n = 0; n < got.size(); ++n) {
      const double want = expected[i].value[n], tolerance = expected[i].tolerance[n];
      const bool right = std::isnan(want)   ? std::isnan(got[n])
                         : std::isinf(want) ? got[n] == want
                                            : std::fabs(got[n] - want) <= tolerance;
      ASSERT_TRUE(right) << outputs[i] << " " << n << ": " << got[n] << ", not " << want << " within " << tolerance;
    }
  }
}

constexpr const char *narrow = "decode_64", *wide = "decode_128", *widest = "decode_256";

TEST(DecodingOnHopper, OneQueryOfSharedHeads) {
  check(narrow, "bf16:b=2,hq=4,hkv=2,sq=1,sk=200,d=64:lse");
  check(wide, "f16:b=1,hq=2,hkv=1,sq=1,sk=530,d=128:lse", 1);  // more tiles of a warp than it has stages
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
TEST(DecodingOnHopper, WhatIsMaskedDoesNotMatter) {
  for (const char* fill : {"nan", "inf"})
    for (const char* mask : {":causal=lower_right", ":window=30,4", ""}) {
      check(narrow, std::string("bf16:b=1,hq=2,hkv=1,sq=8,sk=150,d=64:lse") + mask + ":fill=" + fill, 2);
      check(wide, std::string("f16:b=1,hq=2,hkv=1,sq=5,sk=50,d=128:lse") + mask + ":fill=" + fill, 1);
    }
}
TEST(DecodingOnHopper, QueriesWithoutKeys) {
  check(wide, "f16:b=1,hq=4,hkv=1,sq=30,sk=20,d=128:causal=lower_right:lse", 2);
  check(wide, "f16:b=1,hq=4,hkv=1,sq=3,sk=100,d=128:window=2,3:lse", 5);  // parts without keys
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

}  // namespace
}  // namespace ridge::attention_detail
