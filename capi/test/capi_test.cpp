// ridge.h: every form of tensor that it accepts, every sentence of its refusals, a run's cost, and shared plans.
#include "allocations.hpp"
#include "probe_op.hpp"

#include <ridge.h>
#include <ridge/core/json.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

using ridge::DeviceKind;
using ridge::Layout;

constexpr DLDataType f32_type{kDLFloat, 32, 1}, f64_type{kDLFloat, 64, 1};
constexpr DLDevice cpu_device{kDLCPU, 0};

struct Tensor : DLTensor {
  explicit Tensor(void* memory, std::vector<std::int64_t> all_sizes, DLDataType type = f32_type,
                  DLDevice where = cpu_device)
      : DLTensor{}, sizes(std::move(all_sizes)) {
    data = memory;
    device = where;
    dtype = type;
    ndim = static_cast<std::int32_t>(sizes.size());
    shape = sizes.data();
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  void set_strides(std::vector<std::int64_t> values) {
    steps = std::move(values);
    strides = steps.data();
  }
  std::vector<std::int64_t> sizes, steps;
};

// a, b and y of 2x3 and the scalar s, in memory of their own; each test changes what it tests.
struct Request {
  alignas(16) std::array<float, 24> memory_a{}, memory_b{}, memory_y{};
  double memory_s = 0;
  Tensor a{memory_a.data(), {2, 3}}, b{memory_b.data(), {2, 3}}, y{memory_y.data(), {2, 3}};
  Tensor s{&memory_s, {}, f64_type};
  std::string op = "capi_probe";
  std::vector<const DLTensor*> inputs{&a, &b}, outputs{&y, &s};
  std::vector<ridge_option> options;
  const char* device = nullptr;

  Request() {
    for (int i = 0; i < 24; ++i) {
      memory_a[i] = static_cast<float>(i);
      memory_b[i] = static_cast<float>(100 * i);
    }
  }
  ridge_status create(ridge_plan** plan) const {
    return ridge_plan_create(op.c_str(), inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
                             static_cast<int>(outputs.size()), options.data(), static_cast<int>(options.size()), device,
                             plan);
  }
  ridge_status infer(ridge_tensor_type* types, std::int32_t* n) const {
    return ridge_infer(op.c_str(), inputs.data(), static_cast<int>(inputs.size()), options.data(),
                       static_cast<int>(options.size()), types, n);
  }
  ridge_status run(const ridge_plan* plan, void* workspace = nullptr, std::size_t bytes = 0) const {
    return ridge_plan_run(plan, inputs.data(), outputs.data(), workspace, bytes, nullptr);
  }
};

using Plan = std::unique_ptr<ridge_plan, decltype(&ridge_plan_destroy)>;

Plan plan_of(const Request& request) {
  ridge_plan* plan = nullptr;
  EXPECT_EQ(request.create(&plan), RIDGE_OK) << ridge_last_error();
  return {plan, ridge_plan_destroy};
}

void expect_refused(const Request& request, ridge_status status, const std::string& sentence) {
  ridge_plan* plan = reinterpret_cast<ridge_plan*>(16);
  EXPECT_EQ(request.create(&plan), status);
  EXPECT_EQ(ridge_last_error(), sentence);
  EXPECT_EQ(plan, nullptr);
}

TEST(Capi, SaysWhatIsHere) {
  EXPECT_STREQ(ridge_version(), RIDGE_VERSION);
  EXPECT_EQ(ridge_has_cuda(), RIDGE_HAS_CUDA);
  EXPECT_EQ(ridge_device_count(), ridge::device_count());
}

TEST(Capi, NamesEveryStatus) {
  for (int i = 0; i <= RIDGE_IO; ++i)
    EXPECT_EQ(ridge_status_name(static_cast<ridge_status>(i)), ridge::name(static_cast<ridge::Code>(i)));
  EXPECT_STREQ(ridge_status_name(RIDGE_INTERNAL_ERROR), "internal_error");
  EXPECT_STREQ(ridge_status_name(RIDGE_INTERRUPTED), "interrupted");
  EXPECT_STREQ(ridge_status_name(static_cast<ridge_status>(15)), "unknown");
}

TEST(Capi, SetsTuning) {
  for (const char* mode : {"read", "0"}) EXPECT_EQ(ridge_set_tuning(mode), RIDGE_OK);
  EXPECT_EQ(ridge_set_tuning("yes"), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(), "ridge_set_tuning: mode is 'yes'; it must be 0, 1 or read");
  EXPECT_EQ(ridge_set_tuning(nullptr), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(), "ridge_set_tuning: mode is NULL; it must be given");
}

TEST(Capi, ListsOperatorsAsJson) {
  const auto list = nlohmann::json::parse(ridge_ops_json()).at("operators");
  EXPECT_EQ(list.size(), ridge::ops().size());
  const auto probe = std::ranges::find_if(list, [](auto& op) { return op.at("name") == "capi_probe"; });
  ASSERT_NE(probe, list.end());
  EXPECT_EQ(probe->at("inputs"), (nlohmann::json{"a", "b"}));
  EXPECT_EQ(probe->at("optional_inputs"), nlohmann::json::array());
  EXPECT_EQ(probe->at("outputs"), (nlohmann::json{"y", "s"}));
  EXPECT_EQ(probe->at("optional_outputs"), nlohmann::json::array());
  EXPECT_EQ(probe->at("dtypes").size(), static_cast<std::size_t>(ridge::dtype_count));
  const auto bytes = probe->at("options").at(0), thrown = probe->at("options").at(1);
  EXPECT_EQ(bytes.at("name"), "bytes");
  EXPECT_EQ(bytes.at("help"), "workspace; default 0");
  EXPECT_EQ(bytes.at("default"), "0");
  EXPECT_EQ(bytes.at("required"), false);
  EXPECT_EQ(thrown.at("help"), "what is thrown");
  EXPECT_TRUE(thrown.at("default").is_null());
  EXPECT_EQ(probe->at("variants").at(0).at("name"), "only \"one\"");
  EXPECT_EQ(ridge_ops_json(), ridge_ops_json()) << "the same text for as long as the process lives";
}

// ---- a request that is right ----------------------------------------------------------------------------------------

TEST(Capi, InfersOutputs) {
  Request r;
  ridge_tensor_type types[RIDGE_MAX_TENSORS];
  std::int32_t n = -1;
  ASSERT_EQ(r.infer(types, &n), RIDGE_OK) << ridge_last_error();
  ASSERT_EQ(n, 2);
  EXPECT_EQ(types[0].ndim, 2);
  EXPECT_EQ(types[0].shape[0], 2);
  EXPECT_EQ(types[0].shape[1], 3);
  EXPECT_EQ(types[0].dtype.code, kDLFloat);
  EXPECT_EQ(types[0].dtype.bits, 32);
  EXPECT_EQ(types[1].ndim, 0);
  EXPECT_EQ(types[1].dtype.bits, 64);
}

TEST(Capi, PlansAndRuns) {
  Request r;
  const Plan plan = plan_of(r);
  ASSERT_TRUE(plan);
  EXPECT_EQ(ridge_plan_workspace_bytes(plan.get()), 0u);
  ASSERT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(r.memory_y[i], 101.f * static_cast<float>(i));
  EXPECT_EQ(r.memory_y[6], 0.f);
  EXPECT_EQ(r.memory_s, 101 * 15);
}

TEST(Capi, ExplainsInTextAndJson) {
  Request r;
  const Plan plan = plan_of(r);
  EXPECT_NE(std::string(ridge_plan_explain(plan.get())).find("never"), std::string::npos);
  const auto json = nlohmann::json::parse(ridge_plan_explain_json(plan.get()));
  EXPECT_EQ(json.at("operator"), "capi_probe");
  EXPECT_EQ(json.at("problem"), "2x3");
  EXPECT_EQ(json.at("variant"), "only \"one\"");
  EXPECT_EQ(json.at("least_us"), 0.5);
  EXPECT_EQ(json.at("candidates").at(0).at("fits"), true);
  EXPECT_EQ(json.at("candidates").at(1).at("reason"), "never\nfits");
  EXPECT_TRUE(json.at("candidates").at(1).at("predicted_us").is_null());
  EXPECT_EQ(ridge_plan_explain(plan.get()), ridge_plan_explain(plan.get())) << "it lives as long as the plan";
  EXPECT_EQ(ridge_plan_explain(nullptr), nullptr);
  EXPECT_EQ(ridge_plan_explain_json(nullptr), nullptr);
}

TEST(Capi, PlansForAModelThatIsNotHereAndDoesNotRunIt) {
  Request r;
  r.device = "h200";
  const Plan plan = plan_of(r);
  EXPECT_EQ(nlohmann::json::parse(ridge_plan_explain_json(plan.get())).at("device"), "H200");
  EXPECT_EQ(r.run(plan.get()), RIDGE_UNSUPPORTED);
  EXPECT_STREQ(
      ridge_last_error(),
      "capi_probe: the plan is for a device model, H200, and only explains; to run, plan for a device of this machine");
  r.device = "H2000";
  expect_refused(r, RIDGE_INVALID_ARGUMENT,
                 std::string(ridge::device_model("H2000").error().message()) + ", or cpu, cuda, cuda:N");
}

TEST(Capi, DestroysNothing) { ridge_plan_destroy(nullptr); }

// ---- forms of tensors -----------------------------------------------------------------------------------------------

TEST(Capi, CountsByteOffset) {
  Request r;
  r.a.byte_offset = 2 * sizeof(float);
  const Plan plan = plan_of(r);
  EXPECT_EQ(probe::planned[0].data, r.memory_a.data() + 2);
  ASSERT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(r.memory_y[0], 2.f);
  EXPECT_EQ(r.memory_y[5], 507.f);
}

TEST(Capi, TakesStridesOfAnyKind) {
  Request r;
  r.a.data = r.memory_a.data() + 20;
  r.a.set_strides({-10, -2});  // reversed
  r.b.set_strides({0, 1});     // repeated
  r.y.set_strides({8, 2});     // with gaps
  const Plan plan = plan_of(r);
  ASSERT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(r.memory_y[0], 20.f);
  EXPECT_EQ(r.memory_y[4], 216.f);
  EXPECT_EQ(r.memory_y[8], 10.f);
  EXPECT_EQ(r.memory_y[1], 0.f);
}

TEST(Capi, StridesOfOneElementSayNothing) {
  Request r;
  r.a.sizes = r.b.sizes = r.y.sizes = {1, 3};
  r.a.set_strides({1, 1});
  const Plan plan = plan_of(r);
  EXPECT_EQ(probe::planned[0].layout, Layout::contiguous({1, 3}));
  r.a.set_strides({INT64_MIN, 1});
  EXPECT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  r.a.strides = nullptr;
  EXPECT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
}

TEST(Capi, TakesScalars) {
  Request r;
  for (Tensor* t : {&r.a, &r.b, &r.y}) {
    t->ndim = 0;
    t->shape = nullptr;
  }
  r.a.byte_offset = 4;
  const Plan plan = plan_of(r);
  ASSERT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(r.memory_y[0], 1.f);
}

TEST(Capi, TakesTensorsWithoutElements) {
  Request r;
  r.a.sizes = r.b.sizes = r.y.sizes = {0, 3};
  r.a.data = r.b.data = r.y.data = nullptr;
  r.a.set_strides({INT64_MIN, INT64_MAX});
  const Plan plan = plan_of(r);
  EXPECT_EQ(probe::planned[0].layout, Layout::contiguous({0, 3}));
  r.memory_s = 5;
  ASSERT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(r.memory_s, 0);
}

TEST(Capi, TakesEightAxes) {
  Request r;
  r.a.sizes = r.b.sizes = r.y.sizes = {1, 1, 2, 1, 1, 1, 3, 1};
  for (Tensor* t : {&r.a, &r.b, &r.y}) {
    t->shape = t->sizes.data();
    t->ndim = 8;
  }
  const Plan plan = plan_of(r);
  ASSERT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(r.memory_y[5], 505.f);
}

TEST(Capi, PlansBeforeThereAreTensors) {
  Request r;
  r.a.data = r.y.data = nullptr;
  r.a.byte_offset = 2;  // ignored without data
  const Plan plan = plan_of(r);
  EXPECT_EQ(probe::planned[0].data, nullptr);
  r.a.byte_offset = 0;
  EXPECT_EQ(r.run(plan.get()), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(), "capi_probe: a.data is NULL; it must be a pointer to its elements");
  r.a.data = r.memory_a.data();
  r.y.data = r.memory_y.data();
  EXPECT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
}

TEST(Capi, KnowsEveryElementTypeOfRidge) {
  const DLDataType known[] = {{2, 64, 1}, {2, 32, 1}, {2, 16, 1}, {4, 16, 1}, {10, 8, 1}, {12, 8, 1},
                              {0, 64, 1}, {0, 32, 1}, {0, 8, 1},  {1, 8, 1},  {6, 8, 1}};
  Request r;
  for (int i = 0; i < ridge::dtype_count; ++i) {
    r.a.dtype = r.b.dtype = known[i];
    r.y.dtype = known[i];
    ridge_tensor_type types[RIDGE_MAX_TENSORS];
    std::int32_t n = 0;
    ASSERT_EQ(r.infer(types, &n), RIDGE_OK) << ridge_last_error();
    EXPECT_EQ(types[0].dtype.code, known[i].code);
    EXPECT_EQ(types[0].dtype.bits, known[i].bits);
    EXPECT_EQ(types[0].dtype.lanes, 1);
    const Plan plan = plan_of(r);
    EXPECT_EQ(probe::planned[0].dtype, static_cast<ridge::DType>(i));
  }
}

TEST(Capi, HostMemoryThatAGpuReachesGoesWithTheOthers) {
  Request r;
  r.a.device = {kDLCUDAHost, 0};
  r.b.device = {kDLCUDAManaged, 0};
  const Plan plan = plan_of(r);
  EXPECT_EQ(probe::planned[0].device.kind, DeviceKind::cpu);
  EXPECT_EQ(probe::planned[1].device.kind, DeviceKind::cpu);
  ASSERT_EQ(r.run(plan.get()), RIDGE_OK) << ridge_last_error();
  for (Tensor* t : {&r.a, &r.b, &r.y, &r.s}) t->device = {kDLCUDAHost, 0};
  const Plan pinned = plan_of(r);  // alone, it counts as the CPU's
  EXPECT_EQ(probe::planned[0].device.kind, DeviceKind::cpu);
  EXPECT_EQ(r.run(plan.get()), RIDGE_OK) << "pinned memory serves where the CPU's was planned";
}

TEST(Capi, ManagedMemoryAloneIsTheGpus) {
  Request r;
  for (Tensor* t : {&r.a, &r.b, &r.y, &r.s}) t->device = {kDLCUDAManaged, 0};
  ridge_plan* plan = nullptr;
  const ridge_status status = r.create(&plan);
  EXPECT_EQ(status, ridge_device_count() > 0 ? RIDGE_OK : RIDGE_NO_DEVICE);
  ridge_plan_destroy(plan);
  r.device = "cpu";
  const Plan on_cpu = plan_of(r);
  EXPECT_EQ(r.run(on_cpu.get()), RIDGE_OK) << ridge_last_error();
}

// ---- requests that are wrong ----------------------------------------------------------------------------------------

struct Wrong {
  const char* name;
  std::function<void(Request&)> change;
  ridge_status status;
  const char* sentence;
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.name; }

std::vector<Wrong> wrong_requests() {
  const auto invalid = RIDGE_INVALID_ARGUMENT;
  return {
      {"Rank9",
       [](Request& r) {
         r.a.sizes.assign(9, 1);
         r.a.shape = r.a.sizes.data();
         r.a.ndim = 9;
       },
       invalid, "capi_probe: a.ndim is 9; it must be from 0 to 8"},
      {"NegativeRank", [](Request& r) { r.b.ndim = -1; }, invalid, "capi_probe: b.ndim is -1; it must be from 0 to 8"},
      {"Lanes", [](Request& r) { r.a.dtype.lanes = 4; }, invalid, "capi_probe: a.dtype.lanes is 4; it must be 1"},
      {"NoLanes", [](Request& r) { r.a.dtype.lanes = 0; }, invalid, "capi_probe: a.dtype.lanes is 0; it must be 1"},
      {"UnknownType",
       [](Request& r) {
         r.a.dtype = {kDLComplex, 64, 1};
       },
       invalid,
       "capi_probe: a.dtype is DLPack's code 5 of 64 bits; it must be one of f64 f32 f16 (code 2) bf16 (4) f8e4m3 "
       "(10) f8e5m2 (12) i64 i32 i8 (0) u8 (1) bool (6)"},
      {"UnknownWidth",
       [](Request& r) {
         r.y.dtype = {kDLInt, 16, 1};
       },
       invalid,
       "capi_probe: y.dtype is DLPack's code 0 of 16 bits; it must be one of f64 f32 f16 (code 2) bf16 (4) f8e4m3 "
       "(10) f8e5m2 (12) i64 i32 i8 (0) u8 (1) bool (6)"},
      {"NoShape", [](Request& r) { r.a.shape = nullptr; }, invalid,
       "capi_probe: a.shape is NULL; it must be an array of ndim sizes"},
      {"NegativeSize",
       [](Request& r) {
         r.a.sizes = {2, -3};
       },
       invalid, "capi_probe: a.shape is 2x-3; it must be of sizes that are not negative"},
      {"TooManyBytes",
       [](Request& r) {
         r.a.sizes = {1ll << 40, 1ll << 21};
       },
       invalid, "capi_probe: a.shape is 1099511627776x2097152; it must be of fewer than 2^63 bytes"},
      {"TooManyBytesBesideZero",
       [](Request& r) {
         r.a.sizes = {0, 1ll << 62};
       },
       invalid, "capi_probe: a.shape is 0x4611686018427387904; it must be of fewer than 2^63 bytes"},
      {"StridesTooFar",
       [](Request& r) {
         r.a.set_strides({INT64_MIN, 1});
       },
       invalid, "capi_probe: a.strides is -9223372036854775808,1; it must be such that elements lie within 2^63 bytes"},
      {"StridesTooFarTogether",
       [](Request& r) {
         r.a.set_strides({1ll << 60, -(1ll << 59)});
       },
       invalid,
       "capi_probe: a.strides is 1152921504606846976,-576460752303423488; it must be such that elements lie within "
       "2^63 bytes"},
      {"Misaligned", [](Request& r) { r.a.byte_offset = 2; }, invalid,
       "capi_probe: a.data is at an address that is not a multiple of 4; it must be aligned to its elements, f32"},
      {"OffsetPastTheEnd", [](Request& r) { r.a.byte_offset = UINT64_MAX - 3; }, invalid,
       "capi_probe: a.data is at an address from which elements lie beyond the address space; it must be such that "
       "elements lie in memory, byte_offset and strides counted"},
      {"StridesPastTheStart",
       [](Request& r) {
         r.y.set_strides({-(1ll << 60), 1});
       },
       invalid,
       "capi_probe: y.data is at an address from which elements lie beyond the address space; it must be such that "
       "elements lie in memory, byte_offset and strides counted"},
      {"Vulkan",
       [](Request& r) {
         r.y.device = {kDLVulkan, 0};
       },
       invalid,
       "capi_probe: y.device.device_type is 7; it must be kDLCPU (1), kDLCUDA (2), kDLCUDAHost (3) or "
       "kDLCUDAManaged (13)"},
      {"NegativeGpu",
       [](Request& r) {
         r.y.device = {kDLCUDA, -1};
       },
       invalid, "capi_probe: y.device.device_id is -1; it must be 0 or more"},
      {"TwoDevices",
       [](Request& r) {
         r.y.device = {kDLCUDA, 1};
       },
       invalid, "capi_probe: y.device is cuda:1; it must be that of a, cpu"},
      {"NullInput", [](Request& r) { r.inputs[1] = nullptr; }, invalid,
       "capi_probe: b is NULL; it must be a pointer to a tensor"},
      {"NullOutput", [](Request& r) { r.outputs[0] = nullptr; }, invalid,
       "capi_probe: y is NULL; it must be a pointer to a tensor"},
      {"TooFewInputs", [](Request& r) { r.inputs.pop_back(); }, invalid,
       "capi_probe: the number of inputs is 1; it must be 2 (a, b)"},
      {"NoInputs", [](Request& r) { r.inputs.clear(); }, invalid,
       "capi_probe: the number of inputs is 0; it must be 2 (a, b)"},
      {"TooManyInputs", [](Request& r) { r.inputs.assign(17, &r.a); }, invalid,
       "ridge_plan_create: n_inputs is 17; it must be from 0 to 16"},
      {"TooFewOutputs", [](Request& r) { r.outputs.pop_back(); }, invalid,
       "capi_probe: outputs is 1 tensor; it must be 2 tensors"},
      {"MoreOutputsThanNames", [](Request& r) { r.outputs.push_back(&r.s); }, invalid,
       "capi_probe: outputs is 3 tensors; it must be 2 tensors"},
      {"OutputType", [](Request& r) { r.y.dtype = f64_type; }, invalid, "capi_probe: y.dtype is f64; it must be f32"},
      {"OutputShape",
       [](Request& r) {
         r.y.sizes = {3, 2};
       },
       invalid, "capi_probe: y.shape is 3x2; it must be 2x3"},
      {"UnknownOption",
       [](Request& r) {
         r.options = {{"byte", "1"}};
       },
       invalid, "capi_probe: option is 'byte'; it must be one of variant bytes throw"},
      {"OptionValue",
       [](Request& r) {
         r.options = {{"bytes", "many"}};
       },
       invalid, "capi_probe: bytes is 'many'; it must be a whole number"},
      {"OptionWithoutKey",
       [](Request& r) {
         r.options = {{nullptr, "1"}};
       },
       invalid, "capi_probe: an option's key is NULL; it must be given"},
      {"OptionWithoutValue",
       [](Request& r) {
         r.options = {{"bytes", nullptr}};
       },
       invalid, "capi_probe: an option's value is NULL; it must be given"},
      {"DeviceText", [](Request& r) { r.device = "cuda:x"; }, invalid,
       "device is 'cuda:x'; it must be cpu, cuda or cuda:N"},
      {"OutOfMemory",
       [](Request& r) {
         r.options = {{"throw", "bad_alloc"}};
       },
       RIDGE_OUT_OF_MEMORY, "Ridge has run out of memory"},
      {"Exception",
       [](Request& r) {
         r.options = {{"throw", "logic_error"}};
       },
       RIDGE_INTERNAL_ERROR, "a fault on purpose"},
      {"ExceptionOfNoKind",
       [](Request& r) {
         r.options = {{"throw", "number"}};
       },
       RIDGE_INTERNAL_ERROR, "an exception of an unknown kind was thrown"},
  };
}

class CapiRefuses : public testing::TestWithParam<Wrong> {};
TEST_P(CapiRefuses, WithASentence) {
  Request r;
  GetParam().change(r);
  r.a.shape = r.a.shape ? r.a.sizes.data() : nullptr;
  r.y.shape = r.y.sizes.data();
  expect_refused(r, GetParam().status, GetParam().sentence);
}
INSTANTIATE_TEST_SUITE_P(Requests, CapiRefuses, testing::ValuesIn(wrong_requests()),
                         [](const auto& request) { return std::string(request.param.name); });

TEST(Capi, RefusesUnknownOperators) {
  Request r;
  r.op = "capi_probes";
  ridge_plan* plan = nullptr;
  EXPECT_EQ(r.create(&plan), RIDGE_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(ridge_last_error()).rfind("there is no operator 'capi_probes'; the nearest are capi_probe", 0),
            0u)
      << ridge_last_error();
}

TEST(Capi, RefusesMissingArguments) {
  Request r;
  ridge_plan* plan = nullptr;
  ridge_tensor_type types[RIDGE_MAX_TENSORS];
  std::int32_t n = 0;
  const auto says = [](ridge_status status, const char* sentence) {
    EXPECT_EQ(status, RIDGE_INVALID_ARGUMENT);
    EXPECT_STREQ(ridge_last_error(), sentence);
  };
  says(ridge_plan_create(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, &plan),
       "ridge_plan_create: op is NULL; it must be given");
  says(r.create(nullptr), "ridge_plan_create: plan is NULL; it must be given");
  says(ridge_plan_create("capi_probe", nullptr, 2, nullptr, 0, nullptr, 0, nullptr, &plan),
       "ridge_plan_create: inputs is NULL; it must be given");
  says(ridge_plan_create("capi_probe", r.inputs.data(), 2, nullptr, 2, nullptr, 0, nullptr, &plan),
       "ridge_plan_create: outputs is NULL; it must be given");
  says(ridge_plan_create("capi_probe", r.inputs.data(), 2, r.outputs.data(), -2, nullptr, 0, nullptr, &plan),
       "ridge_plan_create: n_outputs is -2; it must be from 0 to 16");
  says(ridge_plan_create("capi_probe", r.inputs.data(), 2, r.outputs.data(), 2, nullptr, 1, nullptr, &plan),
       "ridge_plan_create: options is NULL; it must be given");
  says(ridge_infer("capi_probe", r.inputs.data(), 2, nullptr, 0, nullptr, &n),
       "ridge_infer: types is NULL; it must be given");
  says(ridge_infer("capi_probe", r.inputs.data(), 2, nullptr, 0, types, nullptr),
       "ridge_infer: n_types is NULL; it must be given");
  says(ridge_plan_run(nullptr, r.inputs.data(), r.outputs.data(), nullptr, 0, nullptr),
       "ridge_plan_run: plan is NULL; it must be given");
  const Plan made = plan_of(r);
  says(ridge_plan_run(made.get(), nullptr, r.outputs.data(), nullptr, 0, nullptr),
       "ridge_plan_run: inputs is NULL; it must be given");
  says(ridge_plan_run(made.get(), r.inputs.data(), nullptr, nullptr, 0, nullptr),
       "ridge_plan_run: outputs is NULL; it must be given");
}

TEST(Capi, AGpuThatIsNotHereIsNoDevice) {
  Request r;
  const DLDevice beyond{kDLCUDA, ridge_device_count()};
  for (Tensor* t : {&r.a, &r.b, &r.y, &r.s}) t->device = beyond;
  ridge_plan* plan = nullptr;
  EXPECT_EQ(r.create(&plan), RIDGE_NO_DEVICE);
  EXPECT_NE(std::string(ridge_last_error()).find("was asked for"), std::string::npos) << ridge_last_error();
}

TEST(Capi, TensorsHaveToBeOnTheDeviceNamed) {
  Request r;
  for (Tensor* t : {&r.a, &r.b, &r.y, &r.s}) t->device = {kDLCUDA, 0};
  r.device = "cpu";
  expect_refused(r, RIDGE_INVALID_ARGUMENT, "capi_probe: a.device is cuda:0; it must be that of the plan, cpu");
}

TEST(Capi, TheLastErrorStaysWhenCallsSucceedAndIsTheThreadsOwn) {
  Request r;
  r.options = {{"throw", "logic_error"}};
  expect_refused(r, RIDGE_INTERNAL_ERROR, "a fault on purpose");
  r.options.clear();
  const Plan plan = plan_of(r);
  EXPECT_STREQ(ridge_last_error(), "a fault on purpose");
  std::string other = "unset";
  std::thread([&] { other = ridge_last_error(); }).join();
  EXPECT_EQ(other, "");
}

// ---- runs -----------------------------------------------------------------------------------------------------------

// Each wrong tensor is refused with this sentence, and y stays unchanged.
TEST(Capi, RunsOnlyWhatWasPlanned) {
  Request planned;
  const Plan plan = plan_of(planned);
  const auto refused = [&](const char* sentence, const std::function<void(Request&)>& change) {
    Request r;
    change(r);
    EXPECT_EQ(r.run(plan.get()), RIDGE_INVALID_ARGUMENT) << sentence;
    EXPECT_STREQ(ridge_last_error(), sentence);
    EXPECT_TRUE(std::ranges::all_of(r.memory_y, [](float v) { return v == 0; })) << sentence;
  };
  refused("capi_probe: a is f32 3x2 on cpu; it must be as planned, f32 2x3 on cpu",
          [](Request& r) { std::swap(r.a.sizes[0], r.a.sizes[1]); });
  refused("capi_probe: y is f32 2 on cpu; it must be as planned, f32 2x3 on cpu", [](Request& r) { r.y.ndim = 1; });
  refused("capi_probe: b is f32 2x3 strides 1,2 on cpu; it must be as planned, f32 2x3 on cpu", [](Request& r) {
    r.b.set_strides({1, 2});
  });
  refused("capi_probe: b is i32 2x3 on cpu; it must be as planned, f32 2x3 on cpu",
          [](Request& r) { r.b.dtype.code = kDLInt; });
  refused("capi_probe: b.dtype.lanes is 2; it must be 1", [](Request& r) { r.b.dtype.lanes = 2; });
  refused("capi_probe: y is f32 2x3 on cuda:0; it must be as planned, f32 2x3 on cpu", [](Request& r) {
    r.y.device = {kDLCUDA, 0};
  });
  refused(
      "capi_probe: y.device.device_type is 8; it must be kDLCPU (1), kDLCUDA (2), kDLCUDAHost (3) or "
      "kDLCUDAManaged (13)",
      [](Request& r) { r.y.device.device_type = kDLMetal; });
  refused("capi_probe: a.shape is NULL; it must be an array of ndim sizes", [](Request& r) { r.a.shape = nullptr; });
  refused("capi_probe: s.data is NULL; it must be a pointer to its elements", [](Request& r) { r.s.data = nullptr; });
  refused("capi_probe: b is NULL; it must be a pointer to a tensor", [](Request& r) { r.inputs[1] = nullptr; });
  refused("capi_probe: b.data is at an address that is not a multiple of 4; it must be aligned to its elements, f32",
          [](Request& r) { r.b.byte_offset = 1; });
  refused(
      "capi_probe: b.data is at an address from which elements lie beyond the address space; it must be such that "
      "elements lie in memory, byte_offset and strides counted",
      [](Request& r) { r.b.byte_offset = UINT64_MAX - 7; });
  refused("capi_probe: a.shape is 2x-3; it must be of sizes that are not negative",
          [](Request& r) { r.a.sizes[1] = -3; });
  refused("capi_probe: a.ndim is -1; it must be from 0 to 8", [](Request& r) { r.a.ndim = -1; });
}

TEST(Capi, ChecksTheWorkspace) {
  Request r;
  r.options = {{"bytes", "100"}};
  const Plan plan = plan_of(r);
  EXPECT_EQ(ridge_plan_workspace_bytes(plan.get()), 100u);
  EXPECT_EQ(ridge_plan_workspace_bytes(nullptr), 0u);
  alignas(256) char workspace[512];
  EXPECT_EQ(r.run(plan.get(), workspace, 99), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(), "capi_probe: workspace_bytes is 99; it must be at least 100");
  EXPECT_EQ(r.run(plan.get(), nullptr, 100), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(), "capi_probe: workspace is NULL; it must be memory on cpu");
  EXPECT_EQ(r.run(plan.get(), workspace + 128, 100), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(),
               "capi_probe: workspace is at an address that is not a multiple of 256; it must be aligned to 256 bytes");
  EXPECT_EQ(r.run(plan.get(), workspace, 100), RIDGE_OK) << ridge_last_error();

  // The plan uses the first 100 bytes; tensors may be in the rest.
  r.y.data = workspace + 100;
  EXPECT_EQ(r.run(plan.get(), workspace, 512), RIDGE_OK) << ridge_last_error();
  r.y.data = workspace + 96;
  EXPECT_EQ(r.run(plan.get(), workspace, 512), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(),
               "capi_probe: workspace is memory that overlaps y; it must be memory that no tensor uses");
  r.y.data = r.memory_y.data();
  r.a.data = workspace;
  EXPECT_EQ(r.run(plan.get(), workspace, 512), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(),
               "capi_probe: workspace is memory that overlaps a; it must be memory that no tensor uses");
}

// A view with negative strides extends below its first element.
TEST(Capi, TheWorkspaceIsApartFromViewsWalkedBackwards) {
  Request r;
  r.options = {{"bytes", "256"}};
  r.a.set_strides({-3, -1});
  alignas(256) char workspace[512] = {};
  r.a.data = workspace + 256 + 20;
  const Plan plan = plan_of(r);
  EXPECT_EQ(r.run(plan.get(), workspace, 256), RIDGE_OK) << ridge_last_error();
  r.a.data = workspace + 256 + 16;
  EXPECT_EQ(r.run(plan.get(), workspace, 256), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(),
               "capi_probe: workspace is memory that overlaps a; it must be memory that no tensor uses");
}

TEST(Capi, ARunAllocatesNothing) {
  Request r;
  r.b.set_strides({3, 1});
  const Plan plan = plan_of(r);
  const long before = allocations;
  const ridge_status status = r.run(plan.get());
  const long after = allocations;
  EXPECT_EQ(status, RIDGE_OK);
  EXPECT_EQ(after, before);
  (void)plan_of(r);
  EXPECT_GT(allocations, after) << "allocations are counted";
}

TEST(Capi, ThreadsShareAPlan) {
  Request planned;
  const Plan plan = plan_of(planned);
  const auto work = [&plan](int seed, bool* right, const char** text) {
    Request r;
    *right = true;
    *text = ridge_plan_explain(plan.get());
    for (int i = 0; i < 200; ++i) {
      r.memory_a.fill(static_cast<float>(seed + i));
      r.memory_y.fill(-1);
      *right = *right && r.run(plan.get()) == RIDGE_OK;
      for (int j = 0; j < 6; ++j) *right = *right && r.memory_y[j] == static_cast<float>(seed + i + 100 * j);
    }
  };
  bool right[2] = {};
  const char* texts[2] = {};
  std::thread first(work, 1, &right[0], &texts[0]), second(work, 1000, &right[1], &texts[1]);
  first.join();
  second.join();
  EXPECT_TRUE(right[0]);
  EXPECT_TRUE(right[1]);
  EXPECT_EQ(texts[0], texts[1]);
}

// ---- tensors with an owner ------------------------------------------------------------------------------------------

struct Owned {
  DLManagedTensorVersioned managed{};
  int deleted = 0;

  Owned() {
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Owned*>(self->manager_ctx)->deleted; };
  }
};

TEST(CapiManaged, GivesTheTensorOfAnyMinorVersion) {
  Owned owned;
  owned.managed.version.minor = 99;
  const DLTensor* tensor = nullptr;
  ASSERT_EQ(ridge_tensor_of_managed(&owned.managed, 1, &tensor), RIDGE_OK) << ridge_last_error();
  EXPECT_EQ(tensor, &owned.managed.dl_tensor);
  EXPECT_EQ(owned.deleted, 0);
}

TEST(CapiManaged, GivesForeignVersionsBack) {
  for (std::uint32_t major : {0u, 2u}) {
    Owned owned;
    owned.managed.version.major = major;
    const DLTensor* tensor = &owned.managed.dl_tensor;
    EXPECT_EQ(ridge_tensor_of_managed(&owned.managed, 0, &tensor), RIDGE_UNSUPPORTED);
    EXPECT_EQ(ridge_last_error(),
              "ridge_tensor_of_managed: managed->version.major is " + std::to_string(major) + "; it must be 1");
    EXPECT_EQ(tensor, nullptr);
    EXPECT_EQ(owned.deleted, 1);
  }
}

TEST(CapiManaged, ReadOnlyTensorsAreInputsOnly) {
  Owned owned;
  owned.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  const DLTensor* tensor = nullptr;
  EXPECT_EQ(ridge_tensor_of_managed(&owned.managed, 0, &tensor), RIDGE_OK);
  EXPECT_EQ(owned.deleted, 0);
  EXPECT_EQ(ridge_tensor_of_managed(&owned.managed, 1, &tensor), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(),
               "ridge_tensor_of_managed: managed is read-only; it must be writable, for it is an "
               "output");
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(owned.deleted, 1);
}

TEST(CapiManaged, RefusesNull) {
  Owned owned;
  const DLTensor* tensor = nullptr;
  EXPECT_EQ(ridge_tensor_of_managed(nullptr, 0, &tensor), RIDGE_INVALID_ARGUMENT);
  EXPECT_STREQ(ridge_last_error(), "ridge_tensor_of_managed: managed is NULL; it must be given");
  EXPECT_EQ(ridge_tensor_of_managed(&owned.managed, 0, nullptr), RIDGE_INVALID_ARGUMENT);
  EXPECT_EQ(owned.deleted, 1);
  owned.managed.version.major = 7;
  owned.managed.deleter = nullptr;
  EXPECT_EQ(ridge_tensor_of_managed(&owned.managed, 0, &tensor), RIDGE_UNSUPPORTED);
}

}  // namespace
