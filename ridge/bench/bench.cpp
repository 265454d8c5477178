#include <ridge/bench/bench.hpp>
#include <ridge/check/harness.hpp>
#include <ridge/check/placement.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/tuning/clock.hpp>
#include <ridge/tuning/tuned_plan.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>
#include <span>

namespace ridge::bench {

namespace {

std::deque<Peer>& all_peers() {
  static std::deque<Peer> instance;  // filled by static initialisers
  return instance;
}

Result<std::unique_ptr<tuning::Clock>> make_clock(const DeviceInfo& device) {
  if (device.is_cpu()) return tuning::make_cpu_clock();
  return tuning::make_gpu_clock(device);
}

Timing summarise(std::vector<double> us) {
  std::ranges::sort(us);
  const std::size_t n = us.size();
  Timing t;
  t.us = us[n / 2];
  t.noise = (us[n * 3 / 4] - us[n / 4]) / 2 / t.us;
  return t;
}

// One set of tensors; runs rotate over several sets, so that none is in the cache when it is used.
struct Set {
  std::vector<Buffer> buffers;
  std::vector<TensorView> in, out;

  // Adds a tensor filled with the image's bytes, repeated: its elements in order, where these are contiguous.
  Status add(std::vector<TensorView>& views, const TensorType& type, check::Place place, Device device,
             std::span<const std::byte> image = {}) {
    check::Placing placing{Layout::contiguous(type.shape), 0, 0};
    placing.elements = placing.layout.count();
    // Integer inputs are sizes, offsets and indices, and stay contiguous.
    if (place != check::Place::plain && place != check::Place::inplace && is_floating(type.dtype))
      placing = check::placing_of(type, place);
    const std::size_t size = size_of(type.dtype), first = static_cast<std::size_t>(placing.first) * size;
    auto buffer = Buffer::allocate(device, static_cast<std::size_t>(placing.elements) * size);
    if (!buffer) return buffer.error();
    auto* data = static_cast<std::byte*>(buffer->data());
    const bool whole = placing.layout.is_contiguous();
    const std::size_t end = whole ? first + static_cast<std::size_t>(placing.layout.count()) * size : buffer->bytes();
    for (std::size_t at = whole ? first : 0; at < end && !image.empty(); at += image.size())
      RIDGE_TRY(copy_bytes(data + at, device, image.data(), {}, std::min(image.size(), end - at)));
    views.push_back({data + first, type.dtype, placing.layout, device});
    buffers.push_back(std::move(*buffer));
    return {};
  }
};

// Inputs larger than this are filled by repeating a random block: only the distribution matters, and the host would
// take minutes to make 2^28 normal numbers. The block's length is prime, so that no pattern aligns with a tile.
constexpr std::int64_t unique_elements = 16777213;

// A book that adjusts only small tensors may take minutes for larger ones: a gradient's inputs come from a forward pass
// of the oracle. Times do not depend on them.
constexpr std::int64_t most_adjusted = 1 << 16;

// The content of one input: its bytes, or those of a block that repeats.
struct Image {
  TensorType type;
  std::vector<std::byte> bytes;
};

Result<std::vector<Image>> make_images(const check::CaseBook& book, const check::Case& c) {
  auto types = check::case_inputs(book, c);
  if (!types) return types.error();
  std::int64_t elements = 0;
  for (const TensorType& type : *types) elements = std::max(elements, Layout::contiguous(type.shape).count());
  // The case's own tensors where they are small, a repeated block where they are large.
  std::vector<Image> images;
  const bool slow_to_adjust = book.adjusts_small && !book.elements;  // where errors are measured, values matter
  if (elements <= (slow_to_adjust ? most_adjusted : unique_elements)) {
    auto host = check::fill_inputs(book, c);
    if (!host) return host.error();
    for (const auto& tensor : *host) images.push_back({tensor.type, check::encode(tensor.type.dtype, tensor.values)});
    return images;
  }
  std::vector<check::HostTensor> small(types->size());
  for (std::size_t i = 0; i < types->size() && book.adjusts_small; ++i) {
    small[i].type = (*types)[i];
    const std::int64_t n = small[i].rows() * small[i].cols();
    if (!is_floating(small[i].type.dtype) && n <= unique_elements) small[i].values.resize(static_cast<std::size_t>(n));
  }
  if (book.adjusts_small) book.adjust(c, small);
  for (std::size_t i = 0; i < types->size(); ++i) {
    const TensorType& type = (*types)[i];
    if (!small[i].values.empty()) {
      images.push_back({type, check::encode(type.dtype, small[i].values)});
      continue;
    }
    check::CaseBook line = book;  // the same fill for a vector of the block's length
    line.keys = {"n"};
    line.optional_keys.clear();
    line.inputs = [](const check::Case& k) -> Result<std::vector<TensorType>> {
      return std::vector<TensorType>{{k.dtype, {k.dim("n")}}};
    };
    line.adjust = nullptr;
    check::Case block = c;
    block.dims = {{"n", unique_elements}};
    block.dtype = type.dtype;
    block.options.set("seed", std::to_string(i + 1));
    auto host = check::fill_inputs(line, block);
    if (!host) return host.error();
    images.push_back({type, check::encode(block.dtype, (*host)[0].values)});
  }
  return images;
}

Result<std::vector<Set>> make_sets(const check::Case& c, const DeviceInfo& device, const OpInfo& op,
                                   const std::vector<Image>& images) {
  // Enough sets for one rotation to be four times the last-level cache.
  std::int64_t bytes = 0;
  for (const Image& image : images)
    bytes += Layout::contiguous(image.type.shape).count() * static_cast<std::int64_t>(size_of(image.type.dtype));
  const std::int64_t cache = std::max<std::int64_t>(device.l2_bytes, 1 << 20);
  const int count =
      device.is_cpu()
          ? 1
          : static_cast<int>(std::clamp<std::int64_t>(4 * cache / std::max<std::int64_t>(bytes, 1) + 1, 1, 64));
  std::vector<Set> sets(static_cast<std::size_t>(count));
  auto place = check::place_of(c);
  if (!place) return place.error();
  for (Set& set : sets) {
    for (const Image& image : images) RIDGE_TRY(set.add(set.in, image.type, *place, device.id, image.bytes));
    auto outputs = infer_op(op, set.in, c.operator_options());
    if (!outputs) return outputs.error();
    for (const TensorType& type : *outputs)
      if (*place == check::Place::inplace && set.out.empty()) set.out.push_back(set.in[0]);
      else RIDGE_TRY(set.add(set.out, type, check::place_of_outputs(*place), device.id));
  }
  return sets;
}

std::optional<Sample> make_sample(const check::CaseBook& book, const check::Case& c, const std::vector<Image>& images,
                                  const std::vector<TensorView>& outputs) {
  if (!book.elements || outputs.empty()) return {};
  std::vector<check::HostTensor> inputs;
  for (const Image& image : images) {
    const auto count = static_cast<std::int64_t>(image.bytes.size() / size_of(image.type.dtype));
    inputs.push_back({image.type, check::decode(image.type.dtype, image.bytes.data(), count)});
  }
  return Sample::make(book, c, inputs, outputs[0]);
}

// A 1 GiB copy, measured between the other contenders.
struct CopyCeiling {
  static constexpr std::size_t bytes = std::size_t{1} << 30;
  Buffer from, to;
  static Result<CopyCeiling> make(Device device) {
    auto from = Buffer::allocate(device, bytes);
    if (!from) return from.error();
    auto to = Buffer::allocate(device, bytes);
    if (!to) return to.error();
    RIDGE_TRY(fill_bytes(from->data(), device, 0x5a, bytes));
    return CopyCeiling{std::move(*from), std::move(*to)};
  }
  double gbs(double us) const { return 2.0 * static_cast<double>(bytes) / us * 1e-3; }
};

struct Contender {
  std::function<Result<double>()> measure;
  std::function<Status(int)> work;  // queues run i
  std::vector<double> us;
  std::optional<Accuracy> accuracy;
  std::unique_ptr<OpPlan> plan;  // null: a peer
  std::vector<Buffer> workspaces;
  std::string name;
  double plan_us = 0;
};

Measurement failed(const check::Case& c, const DeviceInfo& device, const Status& why) {
  Measurement m;
  m.case_text = c.text();
  m.device = device.name;
  m.error = why.message();
  return m;
}

// Short runs are timed in groups: a measurement takes at least this long, so that an event's half microsecond is small.
constexpr double group_us = 300;

}  // namespace

RegisterPeer::RegisterPeer(Peer peer) { all_peers().push_back(std::move(peer)); }

std::vector<const Peer*> peers_of(std::string_view op) {
  std::vector<const Peer*> found;
  for (const Peer& peer : all_peers())
    if (peer.op == op) found.push_back(&peer);
  return found;
}

std::vector<Measurement> measure(const check::Case& c, const DeviceInfo& device, const Settings& settings) {
  auto op = find_op(c.op);
  if (!op) return {failed(c, device, op.error())};
  auto book = check::find_case_book(c.op);
  if (!book) return {failed(c, device, book.error())};
  auto images = make_images(**book, c);
  if (!images) return {failed(c, device, images.error())};
  auto sets = make_sets(c, device, **op, *images);
  if (!sets) return {failed(c, device, sets.error())};
  auto clock = make_clock(device);
  if (!clock) return {failed(c, device, clock.error())};
  const Stream stream = (*clock)->stream();
  const int rotation = static_cast<int>(sets->size());
  const auto& first = sets->front();

  std::vector<Contender> contenders;
  std::vector<Measurement> results;
  std::string chosen;
  const auto contend = [&](Contender contender, std::function<Status(int)> work, double estimate_us,
                           bool queued = false) -> Status {
    const int runs =
        device.is_cpu() ? 1 : static_cast<int>(std::clamp(group_us / std::max(estimate_us, 1.0), 1.0, 64.0));
    const int grouped = settings.chain > 0 && !device.is_cpu() ? settings.chain : std::max(runs, std::min(rotation, 8));
    auto measured = (*clock)->prepare(queued ? 1 : grouped, work, queued);
    if (!measured) return measured.error();
    contender.work = std::move(work);
    contender.measure = std::move(*measured);
    contenders.push_back(std::move(contender));
    return {};
  };

  // Ours: the chosen variant, those near it, or every one that fits.
  std::vector<std::string> near;
  if (settings.near_variants) {
    auto plan = plan_op(**op, first.in, first.out, c.operator_options(), device);
    if (!plan) return {failed(c, device, plan.error())};
    near = near_variants((*plan)->explain());
    chosen = near.front();
  }
  const bool several = settings.all_variants || settings.near_variants;
  for (const VariantInfo& row : (*op)->variants) {
    Options options = c.operator_options();
    if (options.has("variant") && options.text("variant") != row.name) continue;
    if (settings.near_variants && std::ranges::find(near, row.name) == near.end()) continue;
    if (!options.has("variant") && !several) {
      if (!chosen.empty()) break;
    } else {
      options.set("variant", std::string(row.name));
    }
    Contender contender;
    const auto start = std::chrono::steady_clock::now();
    auto plan = plan_op(**op, first.in, first.out, options, device);
    contender.plan_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (!plan) {
      if (several && plan.error().code() == Code::unsupported) continue;
      return {failed(c, device, plan.error())};
    }
    contender.name = (*plan)->explain().variant;
    if (chosen.empty() && !several) chosen = contender.name;
    contender.plan = std::move(*plan);
    // The runs of a graph follow one another, so that they share one workspace.
    auto workspace = Buffer::allocate(device.id, contender.plan->workspace_bytes());
    if (!workspace) return {failed(c, device, workspace.error())};
    contender.workspaces.push_back(std::move(*workspace));
    const OpPlan* run = contender.plan.get();
    const Workspace lent = contender.workspaces[0].workspace();
    const double estimate = run->explain().predicted_us;
    const std::string name = contender.name;
    if (Status s = contend(
            std::move(contender),
            [&sets, run, lent, stream, rotation](int i) {
              const Set& set = (*sets)[static_cast<std::size_t>(i % rotation)];
              return run->run(set.in, set.out, lent, stream);
            },
            estimate);
        !s.ok())
      return {failed(c, device, s)};
  }
  if (settings.all_variants) {
    auto plan = plan_op(**op, first.in, first.out, c.operator_options(), device);
    if (plan) chosen = (*plan)->explain().variant;
  }
  const std::size_t ours = contenders.size();

  const auto is_contiguous = [](const TensorView& view) { return view.layout.is_contiguous(); };
  const bool contiguous = std::ranges::all_of(first.in, is_contiguous) && std::ranges::all_of(first.out, is_contiguous);
  if (settings.peers)
    for (const Peer* peer : peers_of(c.op)) {
      if (device.is_cpu() && !peer->takes_host) continue;
      if (!peer->takes_strides && !contiguous) continue;
      std::vector<std::function<Status(Stream)>> per_set;
      Status refused;
      for (const Set& set : *sets) {
        auto work = peer->make(c, set.in, set.out);
        if (!work) {
          refused = work.error();
          break;
        }
        per_set.push_back(std::move(*work));
      }
      if (!refused.ok()) continue;  // the peer does not do this case
      Contender contender;
      contender.name = peer->name;
      const double estimate = contenders.empty() ? 100 : contenders[0].plan->explain().predicted_us;
      (void)contend(
          std::move(contender),
          [per_set = std::move(per_set), stream, rotation](int i) {
            return per_set[static_cast<std::size_t>(i % rotation)](stream);
          },
          estimate);
    }
  const std::size_t ours_and_peers = contenders.size();

  if (settings.chain > 0 && !device.is_cpu()) {
    Contender contender;
    contender.name = "an empty kernel";
    (void)contend(
        std::move(contender), [&clock](int) { return (*clock)->nothing(); }, 1);
  }

  std::optional<CopyCeiling> ceiling;
  if (!device.is_cpu()) {
    auto made = CopyCeiling::make(device.id);
    if (made) {
      ceiling = std::move(*made);
      Contender contender;
      contender.name = "copy";
      void *to = ceiling->to.data(), *from = ceiling->from.data();
      (void)contend(
          std::move(contender),
          [to, from, device, stream](int) {
            return gpu::copy_on(device.id.index, to, from, CopyCeiling::bytes, stream);
          },
          500, true);
    }
  }

  // Interleaved: every contender runs once per round, so that a change of clocks affects all of them. Each round has an
  // order of its own at random: a run after the copy finds translation buffers with no entry but the copy's.
  const int repeats = device.is_cpu() ? std::min(settings.repeats, 5) : settings.repeats;
  const int rounds = repeats + 2;  // the first two warm up
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (std::size_t i = 0; i < order.size(); ++i) {
      Contender& contender = contenders[order[i]];
      if (settings.on_turn)
        settings.on_turn({.round = static_cast<std::size_t>(round),
                          .rounds = static_cast<std::size_t>(rounds),
                          .contender = i,
                          .contenders = contenders.size(),
                          .name = contender.name});
      auto us = contender.measure();
      if (!us) return {failed(c, device, us.error())};
      if (round >= 2) contender.us.push_back(*us);
    }
  }

  // Runs each once more, into an output filled with NaN of every float type, so that a contender that writes nothing
  // does not pass. Not for strided tensors, where the images do not give the order of elements, and not in place, where
  // the input was overwritten.
  const bool sampled = settings.peers && contiguous && !(first.out.size() && first.out[0].data == first.in[0].data);
  if (const auto sample = sampled ? make_sample(**book, c, *images, first.out) : std::nullopt)
    for (std::size_t i = 0; i < ours_and_peers; ++i) {
      const TensorView& out = first.out[0];
      Status ran =
          fill_bytes(out.data, device.id, 0xff, static_cast<std::size_t>(out.count()) * size_of(out.dtype), stream);
      if (ran.ok()) ran = contenders[i].work(0);
      if (ran.ok()) ran = synchronize(device.id, stream);
      if (!ran.ok()) return {failed(c, device, ran)};
      auto accuracy = sample->accuracy_of(out);
      if (!accuracy) return {failed(c, device, accuracy.error())};
      contenders[i].accuracy = *accuracy;
    }

  double copy = 0;
  std::vector<PeerMeasurement> peers;
  for (std::size_t i = ours; i < contenders.size(); ++i) {
    const Timing t = summarise(contenders[i].us);
    if (contenders[i].name == "copy") copy = ceiling->gbs(t.us);
    else peers.push_back({contenders[i].name, t, contenders[i].accuracy});
  }
  for (std::size_t i = 0; i < ours; ++i) {
    const Contender& contender = contenders[i];
    const Explanation e = contender.plan->explain();
    Measurement m;
    m.case_text = c.text();
    m.variant = contender.name;
    m.op = e.op;
    m.problem = e.problem;
    m.device = device.name;
    m.time = summarise(contender.us);
    m.accuracy = contender.accuracy;
    m.gbs = e.cost.bytes() / m.time.us * 1e-3;
    m.copy_share = copy > 0 ? m.gbs / copy : 0;
    m.tflops = e.cost.all_operations() / m.time.us * 1e-6;
    m.predicted_us = e.predicted_us;
    m.least_us = e.least_us;
    m.plan_us = contender.plan_us;
    m.chosen = contender.name == chosen;
    m.peers = peers;
    results.push_back(std::move(m));
  }
  return results;
}

Result<double> copy_gbs(const DeviceInfo& device) {
  auto clock = make_clock(device);
  if (!clock) return clock.error();
  auto ceiling = CopyCeiling::make(device.id);
  if (!ceiling) return ceiling.error();
  void *to = ceiling->to.data(), *from = ceiling->from.data();
  const Stream stream = (*clock)->stream();
  auto measure = (*clock)->prepare(
      1,
      [=](int) {
        return device.is_cpu() ? copy_bytes(to, device.id, from, device.id, CopyCeiling::bytes)
                               : gpu::copy_on(device.id.index, to, from, CopyCeiling::bytes, stream);
      },
      true);
  if (!measure) return measure.error();
  std::vector<double> us;
  for (int i = 0; i < 12; ++i) {
    auto t = (*measure)();
    if (!t) return t.error();
    if (i >= 2) us.push_back(*t);
  }
  return ceiling->gbs(summarise(us).us);
}

}  // namespace ridge::bench
