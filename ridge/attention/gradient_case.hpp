// Runs a case of the book with a gradient that the library does not offer on the CPU: launches it as on a GPU and
// checks it with the book's tolerances. For tests.
#pragma once
#include <ridge/attention/cases.hpp>
#include <ridge/attention/launch.hpp>
#include <ridge/attention/sm90_case.hpp>
#include <ridge/check/harness.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ridge::attention_detail {

using Inputs = std::vector<check::HostTensor>;  // do, q, k, v, o, lse and optional ones

// With one head of 32 columns: changes the first 20 queries, their O and its gradient; or an element of the 51st's
// gradient.
inline void spoil_unmet_queries(Inputs& in) {
  for (int t : {0, 1, 4})
    for (int n = 0; n < 20 * 32; ++n) in[t].values[n] = n % 3 ? NAN : INFINITY;
}
inline void spoil_a_gradient(Inputs& in) { in[0].values[50 * 32 + 3] = INFINITY; }

// A case's inputs and its gradients as `variant` may round them. Tests ask for one case several times in succession,
// and most of their time is the oracle's: the last one is kept.
struct PreparedGradient {
  Inputs inputs;
  std::vector<check::Expected> expected;

  static Result<PreparedGradient> of(const check::Case& c, const std::string& variant, void (*spoil)(Inputs&)) {
    static std::string last_text, last_variant;
    static void (*last_spoil)(Inputs&) = nullptr;
    static PreparedGradient last;
    if (c.text() == last_text && variant == last_variant && spoil == last_spoil) return last;
    const auto book = check::find_case_book("attention");
    if (!book) return book.error();
    auto inputs = check::fill_inputs(**book, c);
    if (!inputs) return inputs.error();
    if (spoil) spoil(*inputs);
    PreparedGradient prepared{std::move(*inputs), {}};
    // What those on tensor cores may differ by includes what all may.
    if (is_gradient_by_tensor_cores(variant)) case_tolerances(c, prepared.inputs, variant, prepared.expected);
    else prepared.expected = case_oracle(c, prepared.inputs);
    last_text = c.text(), last_variant = variant, last_spoil = spoil;
    last = std::move(prepared);
    return last;
  }
};

// launch(call): by the table that has the variant. spoil: changes inputs. sms: the device's multiprocessors. splits:
// instead of the plan's; 0: as planned. hostile: replaces input number `spoiled`; then any result is accepted if no
// other memory is written.
template <class Launch>
void check_gradient(const std::string& variant, const std::string& text, Launch launch,
                    void (*spoil)(Inputs&) = nullptr, int sms = 132, int splits = 0, std::size_t spoiled = 0,
                    const check::Hostile* hostile = nullptr) {
  SCOPED_TRACE(text + ", splits " + std::to_string(splits));
  const auto parsed = check::Case::parse("attention:" + text + ":backward");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  const check::Case& c = *parsed;
  auto prepared = PreparedGradient::of(c, variant, spoil);
  ASSERT_TRUE(prepared.ok()) << prepared.error().message();
  Inputs& inputs = prepared->inputs;
  const std::vector<check::Expected>& expected = prepared->expected;
  if (hostile) inputs[spoiled].values = hostile->values;

  std::vector<Bytes> data;
  data.reserve(inputs.size() + 3);  // keeps views valid
  const auto view_of = [&](const TensorType& type, const std::vector<double>* values) {
    std::int64_t count = 1;
    for (std::int64_t size : type.shape) count *= size;
    data.emplace_back(static_cast<std::size_t>(count * size_of(type.dtype)), 0xff);  // poison: NaN
    if (values) {
      const auto bytes = check::encode(type.dtype, *values);
      std::copy(bytes.begin(), bytes.end(), data.back().get());
    }
    return TensorView{data.back().get(), type.dtype, Layout::contiguous(type.shape), ridge::cpu().id};
  };
  const Request request = *request_of(c.operator_options());
  const auto as_bhsd = [&](const TensorView& v) { return request.rows_first && v.rank() == 4 ? heads_first(v) : v; };
  std::vector<TensorView> in;
  for (const auto& tensor : inputs) in.push_back(view_of(tensor.type, &tensor.values));
  AttentionGradientTensors t{.q = as_bhsd(in[1]),
                             .k = as_bhsd(in[2]),
                             .v = as_bhsd(in[3]),
                             .o = as_bhsd(in[4]),
                             .lse = in[5],
                             .grad_o = as_bhsd(in[0]),
                             .grad_q = as_bhsd(view_of(inputs[1].type, nullptr)),
                             .grad_k = as_bhsd(view_of(inputs[2].type, nullptr)),
                             .grad_v = as_bhsd(view_of(inputs[3].type, nullptr)),
                             .max_q = request.max_q,
                             .max_k = request.max_k};
  auto further = in.begin() + 6;
  if (Sizes(c).mask) t.mask = *further++;
  const CaseSequences sequences(c);
  if (sequences.packed_q) t.cu_q = *further++;
  if (sequences.packed_k) t.cu_k = *further++;

  const auto problem = AttentionProblem::of_gradient(t, request.rule);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  DeviceInfo device = *device_model("H200");
  device.sms = sms;
  auto plan = plan_attention(*problem, device, {.variant = variant});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  if (splits > 0) plan->splits = splits;
  Bytes workspace(plan->workspace_bytes(), 0x5b);
  const AttentionTensors forward{
      .q = t.q, .k = t.k, .v = t.v, .o = t.o, .mask = t.mask, .lse = t.lse, .cu_q = t.cu_q, .cu_k = t.cu_k};
  const Call call{*plan, *problem, forward, {workspace.get(), plan->workspace_bytes()}, {}, &t};
  std::vector<std::byte> before;
  for (int run = 0; run < 2; ++run) {  // leftovers in the workspace must not matter to the next run
    const Status status = launch(call);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::byte> now;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto bytes = expected[i].value.size() * 2;
      now.insert(now.end(), data[in.size() + i].get(), data[in.size() + i].get() + bytes);
    }
    if (run == 1 && !hostile) {
      EXPECT_TRUE(now == before) << "another result from run to run";
    }
    before = std::move(now);
  }
  EXPECT_TRUE(workspace.intact());
  for (Bytes& bytes : data) EXPECT_TRUE(bytes.intact());
  if (hostile) return;
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

}  // namespace ridge::attention_detail
