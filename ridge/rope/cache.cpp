// rope_cache: problem, plan, and the operator by name. Pure, except run().
#include <ridge/core/check_data.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/roofline/predict.hpp>
#include <ridge/rope/cache_launch.hpp>
#include <ridge/rope/cache_variants.hpp>
#include <ridge/rope/launch.hpp>
#include <ridge/rope/rotation.hpp>

#include <algorithm>
#include <cstdlib>

namespace ridge {

using namespace rope_detail;

static constexpr std::string_view op = "rope_cache";

// ---- problem --------------------------------------------------------------------------------------------------------

RopeCacheProblem RopeCacheProblem::contiguous(DType dtype, std::int64_t b, std::int64_t s, std::int64_t hq,
                                              std::int64_t hkv, std::int64_t d, std::int64_t rows,
                                              const RopeOptions& options) {
  const Layout q = Layout::contiguous({b, s, hq, d}), k = Layout::contiguous({b, s, hkv, d});
  const Layout cache = Layout::contiguous({b, hkv, rows, d});
  return {.options = options, .dtype = dtype, .q = q, .k = k, .v = k, .q_out = q, .k_cache = cache, .v_cache = cache};
}

namespace {

// Exchanges axes 1 and 2: heads before the rows of a page.
Layout heads_first(Layout t) {
  std::swap(t.shape[1], t.shape[2]);
  std::swap(t.stride[1], t.stride[2]);
  return t;
}

using Named = std::pair<const char*, const TensorView*>;

Status check_shape(const Named& t, std::initializer_list<std::int64_t> wanted) {
  const Layout shape = Layout::contiguous(wanted);
  if (t.second->layout.same_shape(shape)) return {};
  return Status::invalid(op, std::string(t.first) + ".shape", t.second->layout.text(), shape.text());
}

// Refuses an output that overlaps an input or an earlier output. q_out may be q.
Status check_apart(std::initializer_list<Named> outputs, const Named& other) {
  for (const auto& [name, output] : outputs) {
    if (output == other.second) return {};
    if (!share_memory(*other.second, *output)) continue;
    const bool in_place = name == std::string_view("q_out") && other.first == std::string_view("q");
    if (!in_place) return Status::invalid(op, name, std::string("overlapping ") + other.first, "apart from it");
    if (!same_elements(*other.second, *output))
      return Status::invalid(op, name, "overlapping q", "apart from it, or the same elements");
  }
  return {};
}

}  // namespace

Result<RopeCacheProblem> RopeCacheProblem::of(const RopeCacheTensors& t, const RopeOptions& options) {
  const auto outputs = {Named{"q_out", &t.q_out}, Named{"k_cache", &t.k_cache}, Named{"v_cache", &t.v_cache}};
  const int rank = t.q.rank();
  if (rank != 3 && rank != 4)
    return Status::invalid(op, "q.shape", t.q.layout.text(), "of 3 axes, s h d, or of 4, b s h d");
  RopeCacheProblem p{.options = options, .dtype = t.q.dtype, .q = with_batch(t.q.layout)};
  p.paged = t.block_table.has_value();

  // Shapes. k determines the number of its heads, v its width, and the caches the number of rows or pages.
  for (const auto& [name, view] : {Named{"k", &t.k}, Named{"v", &t.v}})
    if (view->rank() != rank)
      return Status::invalid(op, std::string(name) + ".shape", view->layout.text(),
                             "of as many axes as q, " + std::to_string(rank));
  for (const auto& [name, view] : {Named{"k_cache", &t.k_cache}, Named{"v_cache", &t.v_cache}})
    if (view->rank() != 4)
      return Status::invalid(
          op, std::string(name) + ".shape", view->layout.text(),
          p.paged ? "of 4 axes: pages, rows, heads and columns" : "of 4 axes: batch, heads, rows and columns");
  const std::int64_t b = p.q.shape[0], s = p.q.shape[1], hq = p.q.shape[2], d = p.q.shape[3];
  const std::int64_t hkv = t.k.size(-2), dv = t.v.size(-1);
  const auto check_tokens = [&](const Named& view, std::int64_t heads, std::int64_t columns) {
    return rank == 3 ? check_shape(view, {s, heads, columns}) : check_shape(view, {b, s, heads, columns});
  };
  RIDGE_TRY(check_tokens({"k", &t.k}, hkv, d));
  RIDGE_TRY(check_tokens({"v", &t.v}, hkv, dv));
  RIDGE_TRY(check_tokens({"q_out", &t.q_out}, hq, d));
  const auto check_cache = [&](const Named& view, std::int64_t columns) {
    const std::int64_t first = p.paged ? t.k_cache.size(0) : b, rows = t.k_cache.size(p.paged ? 1 : 2);
    return p.paged ? check_shape(view, {first, rows, hkv, columns}) : check_shape(view, {first, hkv, rows, columns});
  };
  RIDGE_TRY(check_cache({"k_cache", &t.k_cache}, d));
  RIDGE_TRY(check_cache({"v_cache", &t.v_cache}, dv));
  p.k = with_batch(t.k.layout);
  p.v = with_batch(t.v.layout);
  p.q_out = with_batch(t.q_out.layout);
  p.k_cache = p.paged ? heads_first(t.k_cache.layout) : t.k_cache.layout;
  p.v_cache = p.paged ? heads_first(t.v_cache.layout) : t.v_cache.layout;

  // Types, devices, addresses, overlap.
  const auto belongs = [&](const TensorView& view, const char* label) -> Status {
    RIDGE_TRY(check_same_device(op, label, view.device, "q", t.q.device));
    RIDGE_TRY(check_data(op, label, view));
    return check_apart(outputs, {label, &view});
  };
  for (const auto& [name, view] : {Named{"q", &t.q}, Named{"k", &t.k}, Named{"v", &t.v}, Named{"q_out", &t.q_out},
                                   Named{"k_cache", &t.k_cache}, Named{"v_cache", &t.v_cache}}) {
    if (view->dtype != p.dtype)
      return Status::invalid(op, std::string(name) + ".dtype", std::string(ridge::name(view->dtype)),
                             "that of q, " + std::string(ridge::name(p.dtype)));
    RIDGE_TRY(belongs(*view, name));
    p.alignment = std::min(p.alignment, alignment_of(view->data));
  }
  p.positions = t.positions.has_value();
  p.tables = t.cos.has_value();
  RIDGE_TRY(check_angles(op, {t.positions, t.cos, t.sin}, b, s, rotary_dim(options, d) / 2, p.dtype, "q", belongs));
  if (t.block_table) {
    const TensorView& table = *t.block_table;
    if (table.dtype != DType::i32 && table.dtype != DType::i64)
      return Status::invalid(op, "block_table.dtype", std::string(ridge::name(table.dtype)), "i32 or i64");
    if (table.rank() != 2 || table.size(0) != b)
      return Status::invalid(op, "block_table.shape", table.layout.text(), "of " + std::to_string(b) + " rows");
    RIDGE_TRY(belongs(table, "block_table"));
  }
  return p;
}

std::string RopeCacheProblem::text() const {
  Text text;
  text << name(dtype) << " " << q.shape[0] << "x" << q.shape[1] << " tokens, " << q.shape[2] << "/" << k.shape[2]
       << " heads, d " << q.shape[3];
  if (v.shape[3] != q.shape[3]) text << "/" << v.shape[3];
  text << (options.style == RopeStyle::neox ? ", neox, " : ", gptj, ");
  if (paged) text << k_cache.shape[0] << " pages of ";
  text << k_cache.shape[2] << " rows";
  return text.str();
}

// ---- plan -----------------------------------------------------------------------------------------------------------

static Status validate(const RopeCacheProblem& p) {
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "q.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  for (const auto& [argument, layout] :
       {std::pair("q", &p.q), std::pair("k", &p.k), std::pair("v", &p.v), std::pair("q_out", &p.q_out),
        std::pair("k_cache", &p.k_cache), std::pair("v_cache", &p.v_cache)})
    RIDGE_TRY(check_extent(op, argument, *layout));
  RIDGE_TRY(check_rotation(op, p.options, p.q.shape[3]));
  if (const std::int64_t page = p.k_cache.shape[2]; p.paged && (page < least_page || (page & (page - 1)) != 0))
    return Status::invalid(op, "the number of rows of a page", std::to_string(page),
                           "a power of two, at least " + std::to_string(least_page));
  RIDGE_TRY(check_elements_apart(op, "q_out", p.q_out));
  RIDGE_TRY(check_elements_apart(op, "k_cache", p.k_cache));
  return check_elements_apart(op, "v_cache", p.v_cache);
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const RopeCacheProblem& p) {
  const Config& c = row.config;
  if (c.method == Method::pairs) return {};
  const std::string bytes = std::to_string(c.vector_bytes);
  const std::int64_t vector = vector_elements(c, p.dtype), n = rotary_dim(rotation_of(p));
  const std::int64_t d = p.q.shape[3], dv = p.v.shape[3];
  if (n % (p.options.style == RopeStyle::neox ? 2 * vector : vector) != 0 || (d - n) % vector != 0)
    return "what is turned, or what is copied, is not whole vectors of " + bytes + " bytes";
  if (dv % vector != 0) return "a head of v is not whole vectors of " + bytes + " bytes";
  if (p.alignment < c.vector_bytes) return "heads do not start on " + bytes + " bytes";
  for (const Layout* t : {&p.q, &p.k, &p.v, &p.q_out, &p.k_cache, &p.v_cache}) {
    if (t->shape[3] > 1 && t->stride[3] != 1) return "a head's elements are not contiguous";
    for (int axis = 0; axis < 3; ++axis)
      if (t->shape[axis] > 1 && t->stride[axis] % vector != 0) return "heads do not start on " + bytes + " bytes";
  }
  if (cache_items_of(c, p) >= Divider::limit) return "more than 2^31 pieces of work";
  if (std::max({p.q.shape[2], p.k.shape[2], d, dv}) >= Divider::limit) return "more than 2^31 heads or columns";
  return {};
}

static Cost cost(const RopeCacheProblem& p) {
  const double n = static_cast<double>(p.q.count() + p.k.count() + p.v.count());
  const double tokens = static_cast<double>(tokens_of(p)), heads = static_cast<double>(p.q.shape[2] + p.k.shape[2]);
  const double pairs = static_cast<double>(rotary_dim(rotation_of(p))) / 2;
  const double size = static_cast<double>(size_of(p.dtype));
  Cost c;
  c.bytes_read = n * size + (p.positions ? 4 * tokens : 0) + (p.paged ? 4 * tokens : 0) +
                 (p.tables ? 2 * pairs * size * static_cast<double>(p.q.shape[1]) : 0);
  c.bytes_written = n * size;
  c.on(Unit::fp32) = 6 * tokens * heads * pairs + (p.tables ? 0 : 20 * tokens * pairs);
  return c;
}

static std::int64_t grid_of(const Config& c, const RopeCacheProblem& p) {
  return ceil_div(cache_items_of(c, p), c.threads);
}

static roofline::Kernel kernel_of(const Variant& row, const RopeCacheProblem& p) {
  const Config& c = row.config;
  const double rotated_elements = static_cast<double>(p.q.count() + p.k.count());
  const double copied_elements = static_cast<double>(p.v.count()), size = static_cast<double>(size_of(p.dtype));
  const bool vectors = c.method == Method::vectors, neox = p.options.style == RopeStyle::neox;
  roofline::Kernel k;
  k.cost = cost(p);
  k.blocks = grid_of(c, p);
  k.block = {.threads = c.threads, .registers = cache_registers(c)};
  k.registers_source = "an estimate for sm_90a";
  k.bytes_read = k.cost.bytes_read;
  k.bytes_written = k.cost.bytes_written;
  k.trips = 1 + (p.positions || p.tables) + p.paged;  // to the elements, the position, the position's page
  k.trip_bytes = c.threads * (vectors ? c.vector_bytes * (neox ? 2.0 : 1.0) * c.heads : 2 * size);
  // Instructions per element: those of rope's rows for rotated ones; a load, a store and addresses for v.
  k.clocks = rotated_elements / 32 / 4 * (vectors ? 15.0 / c.heads + (c.vector_bytes < 16 ? 7 : 5) : 160) +
             copied_elements / 32 / 4 * (vectors ? 3 : 100);
  if (c.vector_bytes < 16) {  // a rotated run begins and ends within sectors, which are requested twice
    const double run = static_cast<double>(rotary_dim(rotation_of(p))) * size / (neox ? 2 : 1);
    k.memory_share = run / (run + 16);
  }
  if (c.heads > 1) k.overlap = 6;
  return k;
}

static double predict_us(const Variant& row, const RopeCacheProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p), device).us;
}

static Result<int> choose(const RopeCacheProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, cache_variants, options, [&](const Variant& row) { return fits(row, p); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<RopeCachePlan> plan_rope_cache(const RopeCacheProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Config& c = cache_variants[*chosen].config;
  const std::int64_t grid = grid_of(c, p);
  if (grid > max_grid)
    return Status::invalid(op, "q.shape", Layout::contiguous(std::span(p.q.shape.data(), 4)).text(),
                           "such that the pairs of q and k and the elements of v are at most " +
                               std::to_string(max_grid * c.threads) + " for this variant");
  return RopeCachePlan{p, device, *chosen, grid, options.checked.value_or(false)};
}

Explanation RopeCachePlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = cache_variants[variant].name;
  roofline::account(e, kernel_of(cache_variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// Checks that each token has a row of the caches, and of the tables.
static Status check_tokens(const RopeCacheProblem& p, const RopeCacheTensors& t, Stream stream) {
  RIDGE_TRY(check_positions(op, {t.positions, t.cos, t.sin}, p.q.shape[1], stream));
  const std::int64_t b = p.q.shape[0], s = p.q.shape[1], page = p.paged ? p.k_cache.shape[2] : 0;
  const std::int64_t columns = p.paged ? t.block_table->size(1) : 0,
                     rows = p.paged ? columns * page : p.k_cache.shape[2];
  Result<std::vector<std::int64_t>> positions = std::vector<std::int64_t>(), pages = positions;
  if (t.positions) positions = read_indices(op, "positions", *t.positions, stream);
  if (!positions) return positions.error();
  if (p.paged) pages = read_indices(op, "block_table", *t.block_table, stream);
  if (!pages) return pages.error();
  const bool shared = t.positions && t.positions->rank() == 1;  // the same for all sequences
  for (std::int64_t token = 0; token < b * s; ++token) {
    const std::int64_t i = token / s, at = shared ? token % s : token;
    const std::int64_t position = t.positions ? (*positions)[static_cast<std::size_t>(at)] : token % s;
    const std::string of_token = std::to_string(token % s);
    const std::string place = !t.positions ? "the position of token " + of_token
                              : shared     ? "positions[" + of_token + "]"
                                           : "positions[" + std::to_string(i) + ", " + of_token + "]";
    RIDGE_TRY(check_index(op, place, position, 0, rows - 1,
                          p.paged ? "the rows of a sequence's pages" : "the rows of k_cache"));
    if (!p.paged) continue;
    const std::int64_t column = position / page;
    RIDGE_TRY(check_index(op, "block_table[" + std::to_string(i) + ", " + std::to_string(column) + "]",
                          (*pages)[static_cast<std::size_t>(i * columns + column)], 0, p.k_cache.shape[0] - 1,
                          "the pages of k_cache"));
  }
  return {};
}

Status RopeCachePlan::run(const RopeCacheTensors& t, Stream stream) const {
  auto given = RopeCacheProblem::of(t, problem.options);
  if (!given) return given.error();
  // Tensors may have a higher alignment than planned.
  given->alignment = std::min(given->alignment, problem.alignment);
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, t.q.device, device));
  if (grid == 0) return {};
  if (checked) RIDGE_TRY(check_tokens(problem, t, stream));
  return on_backend(device.id, [&](auto backend) { return launch_cache<decltype(backend)>(*this, t, stream); });
}

void rope_cache(const RopeCacheTensors& t, const RopeOptions& options, Stream stream) {
  run_cached(
      RopeCacheProblem::of(t, options), [](auto& p, auto& d) { return plan_rope_cache(p, d); }, t.q.device, stream,
      [&](const RopeCachePlan& plan, Workspace) { return plan.run(t, stream); });
}

// ---- by name --------------------------------------------------------------------------------------------------------

using Names = std::vector<std::string_view>;

namespace {
// The options of a request, and the names of its inputs.
struct Request {
  RopeOptions rotation;
  bool rows_first = false;                        // caches without a block table: [b, rows, hkv, d]
  std::int64_t rows = -1, pages = -1, page = -1;  // of the caches; -1: not given
  Names names;
};
}  // namespace

// One more input is positions, two are the tables; the block table follows if pages are given; all in this order. Other
// combinations need the option inputs, which names them.
static Result<Names> takes(const Options& options, std::size_t given) {
  if (options.has("inputs")) return Names{"q", "k", "v", "positions", "cos", "sin", "block_table"};
  const bool paged = options.has("page");
  const std::size_t always = 3 + (paged ? 1 : 0), more = given > always ? given - always : 0;
  Names names{"q", "k", "v"};
  if (more == 1 || more >= 3) names.push_back("positions");
  if (more >= 2) names.insert(names.end(), {"cos", "sin"});
  if (paged || more > 3) names.push_back("block_table");
  return names;
}

static Result<Request> request_of(Views in, const Options& options) {
  Request r;
  auto rotation = rope_options(op, options);
  if (!rotation) return rotation.error();
  r.rotation = *rotation;
  const std::string_view layout = options.text("layout", "bhsd");
  if (layout != "bhsd" && layout != "bshd")
    return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "bhsd or bshd");
  r.rows_first = layout == "bshd";
  auto info = find_op(op);
  if (!info) return info.error();
  auto names = input_names(**info, options, in.size());
  if (!names) return names.error();
  r.names = std::move(*names);
  const bool paged = find_view(in, r.names, "block_table") != nullptr;
  const struct {
    const char* key;
    std::int64_t& size;
    bool of_pages;
  } sizes[] = {{"rows", r.rows, false}, {"pages", r.pages, true}, {"page", r.page, true}};
  for (const auto& [key, size, of_pages] : sizes) {
    auto given = options.integer(op, key, -1);
    if (!given) return given.error();
    if (options.has(key) && paged != of_pages)
      return Status::invalid(op, key, paged ? "given with a block table" : "given without a block table", "left out");
    if (options.has(key) && *given < 0) return Status::invalid(op, key, std::to_string(*given), "0 or more");
    if (of_pages && paged && !options.has(key))
      return Status::invalid(op, key, "missing", "given along with a block table");
    size = *given;
  }
  return r;
}

static RopeCacheTensors tensors_of(const Request& r, Views in, Views out) {
  const auto given = [&](std::string_view name) {
    const TensorView* found = find_view(in, r.names, name);
    return found ? std::optional(*found) : std::nullopt;
  };
  const auto block_table = given("block_table");
  const auto cache = [&](TensorView v) {
    if (r.rows_first && !block_table && v.rank() == 4) v.layout = heads_first(v.layout);
    return v;
  };
  return {.q = in[0],
          .k = in[1],
          .v = in[2],
          .q_out = out[0],
          .k_cache = cache(out[1]),
          .v_cache = cache(out[2]),
          .positions = given("positions"),
          .cos = given("cos"),
          .sin = given("sin"),
          .block_table = block_table};
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto r = request_of(in, options);
  if (!r) return r.error();
  const TensorView &q = in[0], &k = in[1], &v = in[2];
  for (const auto& [name, view] : {Named{"q", &q}, Named{"k", &k}, Named{"v", &v}})
    if (view->rank() != 3 && view->rank() != 4)
      return Status::invalid(op, std::string(name) + ".shape", view->layout.text(),
                             "of 3 axes, s h d, or of 4, b s h d");
  const std::int64_t b = q.rank() == 4 ? q.size(0) : 1, hkv = k.size(-2), rows = r->rows < 0 ? q.size(-3) : r->rows;
  const auto cache = [&](std::int64_t columns) -> TensorType {
    if (r->page >= 0) return {q.dtype, {r->pages, r->page, hkv, columns}};
    if (r->rows_first) return {q.dtype, {b, rows, hkv, columns}};
    return {q.dtype, {b, hkv, rows, columns}};
  };
  const Layout& like = q.layout;
  return std::vector<TensorType>{
      {q.dtype, {like.shape.begin(), like.shape.begin() + like.rank}}, cache(k.size(-1)), cache(v.size(-1))};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(in, options);
  if (!request) return request.error();
  auto problem = RopeCacheProblem::of(tensors_of(*request, in, out), request->rotation);
  if (!problem) return problem.error();
  auto checked = options.flag_if_given(op, "checked");
  if (!checked) return checked.error();
  auto plan = plan_rope_cache(*problem, device, {.variant = std::string(options.text("variant")), .checked = *checked});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [r = *request](const RopeCachePlan& p, Views x, Views y, const Workspace&,
                                                       Stream stream) { return p.run(tensors_of(r, x, y), stream); });
}

static const RegisterOp registered(
    {.name = op,
     .family = "rope",
     .summary = "rotary embedding of q and k, and k and v written into the caches that attention reads",
     .inputs = {"q", "k", "v", "positions", "cos", "sin", "block_table"},
     .outputs = {"q_out", "k_cache", "v_cache"},
     .dtypes = {f32, f16, bf16},
     .options = {{"style", "neox|gptj", "pairs are halves or neighbours", "neox"},
                 {"rotary_dim", "even number", "elements rotated; default all"},
                 {"base", "number", "of the angles: finite, and 1 or more", "10000"},
                 {"rows", "whole number", "of the caches; default as many as tokens"},
                 {"pages", "whole number", "with block_table: pages of the caches"},
                 {"page", "whole number", "with block_table: rows of a page, a power of two from 16"},
                 {"layout", "bhsd|bshd", "the order of axes of caches without pages", "bhsd"},
                 {"checked", "0|1",
                  "tokens without a row of the caches or of the tables are refused, for which a GPU is waited for",
                  "0"}},
     .variants = variant_infos(cache_variants, checklist_item),
     .infer = infer,
     .plan = plan_by_name,
     .takes = takes,
     .optional = {"positions", "cos", "sin", "block_table"}});

}  // namespace ridge
