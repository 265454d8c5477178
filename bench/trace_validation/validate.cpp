// trace_validation: the same launches for a GPU, where Nsight Compute counts them, and for the CPU runtime, which
// traces them and prints what it counted as CSV. run.sh runs both; compare.py compares.
#include "small.hpp"

#include <ridge/check/harness.hpp>
#include <ridge/core/device.hpp>
#include <ridge/core/op.hpp>
#include <ridge/simt/trace.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace ridge::trace_validation {
namespace {

namespace trace = simt::trace;

// The library's own kernels: the ladders, each variant that is a textbook's step or the last of it.
std::vector<std::string> library_cases() {
  std::vector<std::string> cases;
  const auto add = [&](const char* text, std::initializer_list<const char*> variants) {
    for (const char* variant : variants) cases.push_back(std::string(text) + ":variant=" + variant);
  };
  add("relu:f32:n=65536", {"scalar", "vec4", "vec4x2"});
  add("add:bf16:n=65536", {"scalar", "vec4"});
  add("sum:f32:n=65536", {"tree_interleaved", "tree_sequential", "warp_shuffle", "vec4", "best", "atomic"});
  add("sum:f32:rows=64,cols=4096:axis=1", {"row_lanes", "row_warp", "row_block"});
  add("histogram:f32:n=65536:range=-2,2", {"global_atomic", "shared_private", "vec4"});
  add("histogram:u8:n=65536", {"global_atomic", "shared_private", "vec4", "best"});
  add("softmax:f32:rows=256,cols=1024", {"naive", "block_reduce", "online", "vec4", "warp_256", "block_512"});
  add("softmax:bf16:rows=256,cols=2048", {"online", "vec4", "block_512"});
  return cases;
}

// A case's tensors on a device.
struct Set {
  std::vector<Buffer> buffers;
  std::vector<TensorView> in, out;

  Status add(std::vector<TensorView>& views, const TensorType& type, Device device) {
    TensorView view{nullptr, type.dtype, Layout::contiguous(type.shape), device};
    auto buffer = Buffer::allocate(device, static_cast<std::size_t>(view.count()) * size_of(view.dtype));
    if (!buffer) return buffer.error();
    view.data = buffer->data();
    views.push_back(view);
    buffers.push_back(std::move(*buffer));
    return {};
  }
};

// Runs one case of the library once.
Status run_library(const std::string& text, const DeviceInfo& device) {
  auto c = check::Case::parse(text);
  if (!c) return c.error();
  auto op = find_op(c->op);
  auto book = check::find_case_book(c->op);
  if (!op || !book) return op ? book.error() : op.error();
  auto host = check::fill_inputs(**book, *c);
  if (!host) return host.error();
  Set set;
  for (const check::HostTensor& tensor : *host) {
    RIDGE_TRY(set.add(set.in, tensor.type, device.id));
    const auto bytes = check::encode(tensor.type.dtype, tensor.values);
    RIDGE_TRY(copy_bytes(set.in.back().data, device.id, bytes.data(), {}, bytes.size()));
  }
  auto types = infer_op(**op, set.in, c->operator_options());
  if (!types) return types.error();
  for (const TensorType& type : *types) RIDGE_TRY(set.add(set.out, type, device.id));
  auto plan = plan_op(**op, set.in, set.out, c->operator_options(), device);
  if (!plan) return plan.error();
  auto workspace = Buffer::allocate(device.id, (*plan)->workspace_bytes());
  if (!workspace) return workspace.error();
  RIDGE_TRY((*plan)->run(set.in, set.out, workspace->workspace(), {}));
  return synchronize(device.id);
}

Status run_small(int number, const DeviceInfo& device) {
  Buffer buffers[3];
  for (Buffer& buffer : buffers) {
    auto made = Buffer::allocate(device.id, Tensors::elements * sizeof(float));
    if (!made) return made.error();
    buffer = std::move(*made);
    RIDGE_TRY(fill_bytes(buffer.data(), device.id, 0, buffer.bytes()));
  }
  const auto floats = [](Buffer& b) { return static_cast<float*>(b.data()); };
  RIDGE_TRY(launch_small(number, {floats(buffers[0]), floats(buffers[1]), floats(buffers[2])}));
  return synchronize(device.id);
}

void print_csv(const std::string& name, const trace::Launch& launch) {
  const auto cell = [](const std::string& text) { std::printf("\"%s\",", text.c_str()); };
  cell(name);
  cell(launch.kernel);
  std::printf("%u,%u", launch.grid.x * launch.grid.y * launch.grid.z, launch.block.x * launch.block.y * launch.block.z);
  using trace::Kind, trace::Space;
  for (const Kind kind : {Kind::load, Kind::store, Kind::atomic}) {
    const trace::Counts sum = launch.total(Space::global, kind);
    std::printf(",%lld,%lld", static_cast<long long>(sum.requests), static_cast<long long>(sum.sectors));
  }
  for (const Kind kind : {Kind::load, Kind::store, Kind::atomic}) {
    long long requests = 0, wavefronts = 0, widened_requests = 0, widened = 0;
    for (const trace::Access& a : launch.accesses) {
      if (a.space != Space::shared || a.kind != kind) continue;
      requests += a.requests;
      wavefronts += a.wavefronts;
      widened_requests += kind == Kind::atomic ? a.requests : a.widened_requests;
      widened += kind == Kind::atomic ? a.wavefronts : a.widened_wavefronts;
    }
    std::printf(",%lld,%lld,%lld,%lld", requests, wavefronts, widened_requests, widened);
  }
  std::puts("");
}

void print_titles() {
  std::printf("case,kernel,blocks,threads");
  for (const char* kind : {"load", "store", "atomic"}) std::printf(",global_%s_requests,global_%s_sectors", kind, kind);
  for (const char* kind : {"load", "store", "atomic"})
    std::printf(",shared_%s_requests,shared_%s_wavefronts,shared_%s_requests_widened,shared_%s_wavefronts_widened",
                kind, kind, kind, kind);
  std::puts("");
}

int run() {
  const bool tracing = trace::available();
  // The plan that the H200 would get, run here: its grids follow from the number of multiprocessors.
  Result<DeviceInfo> device = tracing ? device_model("H200") : ridge::device(0);
  if (device && tracing) device->id = cpu().id;
  if (!device) {
    std::fprintf(stderr, "trace_validation: %s\n", std::string(device.error().message()).c_str());
    return 2;
  }
  int failed = 0;
  const auto each = [&](const std::string& name, const std::function<Status()>& work) {
    Status status;
    if (tracing) {
      auto report = trace::record(work);
      if (report)
        for (const trace::Launch& launch : report->launches) print_csv(name, launch);
      else status = report.error();
    } else {
      status = work();
    }
    if (status.ok()) return;
    std::fprintf(stderr, "trace_validation: %s: %s\n", name.c_str(), std::string(status.message()).c_str());
    ++failed;
  };
  if (tracing) print_titles();
  for (int i = 0; i < small_count(); ++i) each(small_name(i), [&] { return run_small(i, *device); });
  for (const std::string& text : library_cases()) each(text, [&] { return run_library(text, *device); });
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace ridge::trace_validation

int main() { return ridge::trace_validation::run(); }
