// Hopper's gradients on the CPU runtime, which emulates TMA, bulk copies, mbarrier and wgmma: cases of the book, launched as
// on a GPU and held to the book's tolerances.
#include <ridge/attention/cases.hpp>
#include <ridge/attention/sm90_gradient_launch.cuh>
#include <ridge/check/harness.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace ridge::attention_detail {
namespace {

// Bytes on 256, as a device's allocations are, with a line behind them that nobody may write.
class Bytes {
 public:
  static constexpr std::size_t canary = 128;
  explicit Bytes(std::size_t size, int fill = 0x5b) : size_(size), data_(size + canary + 256, std::byte(fill)) {
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

using Inputs = std::vector<check::HostTensor>;  // do, q, k, v, o, lse

// spoil: changes inputs.
void check(const std::string& variant, const std::string& text, void (*spoil)(Inputs&) = nullptr) {
  SCOPED_TRACE(text);
  const auto parsed = check::Case::parse("attention:" + text + ":backward");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  const check::Case& c = *parsed;
  const auto book = check::find_case_book("attention");
  ASSERT_TRUE(book.ok());
  auto inputs = check::fill_inputs(**book, c);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message();
  if (spoil) spoil(*inputs);
  auto expected = (*book)->oracle(c, *inputs);
  (*book)->tolerances(c, *inputs, variant, expected);

  std::vector<Bytes> data;
  data.reserve(inputs->size() + 3);
  const auto view_of = [&](const TensorType& type, const std::vector<double>* values) {
    std::int64_t count = 1;
    for (std::int64_t size : type.shape) count *= size;
    data.emplace_back(static_cast<std::size_t>(count * size_of(type.dtype)), 0xff);  // poison: NaN
    if (values) {
      const auto bytes = check::encode(type.dtype, *values);
      std::copy(bytes.begin(), bytes.end(), data.back().get());
    }
    TensorView v{data.back().get(), type.dtype, Layout::contiguous(type.shape), ridge::cpu().id};
    return request_of(c.operator_options())->rows_first && v.rank() == 4 ? heads_first(v) : v;
  };
  std::vector<TensorView> in;
  for (const auto& tensor : *inputs) in.push_back(view_of(tensor.type, &tensor.values));
  AttentionGradientTensors t{.q = in[1], .k = in[2], .v = in[3], .o = in[4], .lse = in[5], .grad_o = in[0]};
  t.grad_q = view_of((*inputs)[1].type, nullptr);
  t.grad_k = view_of((*inputs)[2].type, nullptr);
  t.grad_v = view_of((*inputs)[3].type, nullptr);

  const auto problem = AttentionProblem::of_gradient(t, request_of(c.operator_options())->rule);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  const auto plan = plan_attention(*problem, *device_model("H200"), {.variant = variant});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  Bytes workspace(plan->workspace_bytes());
  const AttentionTensors forward{.q = t.q, .k = t.k, .v = t.v, .o = t.o, .lse = t.lse};
  const Call call{*plan, *problem, forward, {workspace.get(), plan->workspace_bytes()}, {}, &t};
  std::vector<std::byte> before;
  for (int run = 0; run < 2; ++run) {  // what one leaves in the workspace does not matter to the next
    const Status status = c.dtype == f16 ? launch_wgmma_gradient<half>(call) : launch_wgmma_gradient<bfloat16>(call);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::byte> now;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto bytes = expected[i].value.size() * 2;
      now.insert(now.end(), data[in.size() + i].get(), data[in.size() + i].get() + bytes);
    }
    if (run == 1) {
      EXPECT_TRUE(now == before) << "another result from run to run";
    }
    before = std::move(now);
  }
  EXPECT_TRUE(workspace.intact());
  const char* names[] = {"dq", "dk", "dv"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(data[in.size() + i].intact()) << names[i];
    const auto got =
        check::decode(c.dtype, data[in.size() + i].get(), static_cast<std::int64_t>(expected[i].value.size()));
    double worst = 0;
    for (std::size_t n = 0; n < got.size(); ++n) {
      const double want = expected[i].value[n], tolerance = expected[i].tolerance[n];
      const bool right = std::isnan(want)   ? std::isnan(got[n])
                         : std::isinf(want) ? got[n] == want
                                            : std::fabs(got[n] - want) <= tolerance;
      ASSERT_TRUE(right) << names[i] << " " << n << ": " << got[n] << ", not " << want << " within " << tolerance;
      if (tolerance > 0) worst = std::max(worst, std::fabs(got[n] - want) / tolerance);
    }
    testing::Test::RecordProperty(std::string("worst_") + names[i], std::to_string(worst));
  }
}

constexpr const char *narrow = "wgmma_gradient_64", *wide = "wgmma_gradient_128";

TEST(AttentionGradientsOnHopper, OneTile) {
  check(narrow, "bf16:b=1,hq=1,hkv=1,sq=128,sk=128,d=64");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=64,sk=128,d=128");
}
TEST(AttentionGradientsOnHopper, WholeTilesAndSharedHeads) {
  check(narrow, "f16:b=1,hq=2,hkv=1,sq=256,sk=256,d=64");
  check(wide, "f16:b=2,hq=2,hkv=1,sq=128,sk=256,d=128");
}
TEST(AttentionGradientsOnHopper, PartsOfTiles) {
  check(narrow, "bf16:b=1,hq=2,hkv=2,sq=130,sk=129,d=40,dv=64");
  check(narrow, "f16:b=1,hq=1,hkv=1,sq=1,sk=300,d=8");
  check(wide, "f16:b=1,hq=4,hkv=2,sq=130,sk=129,d=96,dv=72:causal:layout=bshd");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=65,sk=64,d=128,dv=8");
}
TEST(AttentionGradientsOnHopper, Masks) {
  for (const char* mask : {":causal", ":causal=lower_right", ":window=40,3", ":window=200,-1", ":window=-1,150",
                           ":window=0,0:align=lower_right"}) {
    check(narrow, std::string("bf16:b=1,hq=1,hkv=1,sq=200,sk=300,d=64") + mask);
    check(wide, std::string("bf16:b=1,hq=1,hkv=1,sq=200,sk=150,d=128") + mask);
  }
}
TEST(AttentionGradientsOnHopper, ScoresOfEveryKind) {
  for (const char* more : {":softcap=3:causal", ":softcap=1.5", ":scale=-0.3", ":scale=0", ":scale=-0.2:softcap=1"})
    for (const char* row : {narrow, wide}) check(row, std::string("bf16:b=1,hq=1,hkv=1,sq=70,sk=150,d=32") + more);
}
TEST(AttentionGradientsOnHopper, WhatIsMaskedDoesNotMatter) {
  for (const char* row : {narrow, wide}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=200,sk=300,d=64:causal:fill=nan");
    check(row, "f16:b=1,hq=1,hkv=1,sq=200,sk=200,d=64:window=30,4:fill=nan");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=150,sk=140,d=64:causal=lower_right:fill=inf");
  }
}
// Of one head with 32 columns.
TEST(AttentionGradientsOnHopper, QueriesThatNobodyMeets) {
  const auto spoil = [](Inputs& in) {  // the first 20, of 100 with 80 keys from the lower right
    for (int t : {0, 1, 4})
      for (int n = 0; n < 20 * 32; ++n) in[t].values[n] = n % 3 ? NAN : INFINITY;
  };
  for (const char* row : {narrow, wide}) check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=80,d=32:causal=lower_right", spoil);
}
TEST(AttentionGradientsOnHopper, AnInfiniteGradientStaysWithItsKeys) {
  const auto spoil = [](Inputs& in) { in[0].values[50 * 32 + 3] = INFINITY; };
  for (const char* row : {narrow, wide}) check(row, "bf16:b=1,hq=1,hkv=1,sq=100,sk=100,d=32:causal", spoil);
}
TEST(AttentionGradientsOnHopper, Fills) {
  for (const char* fill : {"ones", "denormal", "constant,-3"}) {
    check(narrow, std::string("f16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
    check(wide, std::string("bf16:b=1,hq=1,hkv=1,sq=20,sk=70,d=32:fill=") + fill);
  }
}
TEST(AttentionGradientsOnHopper, AnyOrderOfTwo) {
  check(narrow, "f16:b=1,hq=4,hkv=2,sq=200,sk=256,d=64:nondeterministic");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=70,sk=200,d=128:nondeterministic:causal=lower_right");
}
TEST(AttentionGradientsOnHopper, ManyBlocksKeepAnOrder) {
  check(narrow, "bf16:b=1,hq=2,hkv=1,sq=300,sk=1000,d=64");
  check(wide, "bf16:b=1,hq=1,hkv=1,sq=300,sk=700,d=128:window=100,50");
}
TEST(AttentionGradientsOnHopper, Nothing) {
  for (const char* row : {narrow, wide}) {
    check(row, "bf16:b=1,hq=2,hkv=1,sq=0,sk=4,d=8");
    check(row, "bf16:b=1,hq=2,hkv=2,sq=3,sk=0,d=8");
    check(row, "bf16:b=1,hq=0,hkv=2,sq=3,sk=4,d=8");
    check(row, "bf16:b=1,hq=1,hkv=1,sq=300,sk=70,d=16:causal=lower_right");
  }
}

}  // namespace
}  // namespace ridge::attention_detail
