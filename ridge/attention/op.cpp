// attention by name.
#include <ridge/attention/families.hpp>
#include <ridge/attention/request.hpp>
#include <ridge/core/op.hpp>

namespace ridge {

using namespace attention_detail;

using Names = std::vector<std::string_view>;

// All after k and v, or after lse, are optional.
static Result<Names> takes(const Options& options, std::size_t) {
  auto request = request_of(options);
  if (!request) return request.error();
  return request->backward ? Names{"do", "q", "k", "v", "o", "lse", "mask", "cu_q", "cu_k"}
                           : Names{"q", "k", "v", "mask", "cu_q", "cu_k", "lengths", "block_table"};
}
static Result<Names> gives(const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  if (request->backward) return Names{"dq", "dk", "dv"};
  return request->lse ? Names{"o", "lse"} : Names{"o"};
}

namespace {
// A request, and the names of its inputs.
struct Named {
  Request request;
  Names names;
};
}  // namespace
static Result<Named> named(Views in, const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  auto op = find_op("attention");
  if (!op) return op.error();
  auto names = input_names(**op, options, in.size());
  if (!names) return names.error();
  return Named{*request, std::move(*names)};
}

// Views as AttentionProblem::of takes them. Pages and packed rows have the heads behind them in any layout.
static TensorView as_bhsd(const Named& n, const TensorView& v, bool of_pages = false) {
  return n.request.rows_first && v.rank() == 4 && !of_pages ? heads_first(v) : v;
}
static std::optional<TensorView> given(const Named& n, Views in, std::string_view name) {
  const TensorView* found = find_view(in, n.names, name);
  return found ? std::optional(*found) : std::nullopt;
}

static AttentionTensors forward_of(const Named& n, Views in, Views out) {
  const auto block_table = given(n, in, "block_table");
  const bool paged = block_table.has_value();
  AttentionTensors t{.q = as_bhsd(n, in[0]),
                     .k = as_bhsd(n, in[1], paged),
                     .v = as_bhsd(n, in[2], paged),
                     .o = as_bhsd(n, out[0]),
                     .mask = given(n, in, "mask"),
                     .cu_q = given(n, in, "cu_q"),
                     .cu_k = given(n, in, "cu_k"),
                     .lengths = given(n, in, "lengths"),
                     .block_table = block_table,
                     .max_q = n.request.max_q,
                     .max_k = n.request.max_k};
  if (out.size() == 2) t.lse = out[1];
  return t;
}
static AttentionGradientTensors backward_of(const Named& n, Views in, Views out) {
  return {.q = as_bhsd(n, in[1]),
          .k = as_bhsd(n, in[2]),
          .v = as_bhsd(n, in[3]),
          .o = as_bhsd(n, in[4]),
          .lse = in[5],
          .grad_o = as_bhsd(n, in[0]),
          .mask = given(n, in, "mask"),
          .grad_q = as_bhsd(n, out[0]),
          .grad_k = as_bhsd(n, out[1]),
          .grad_v = as_bhsd(n, out[2]),
          .cu_q = given(n, in, "cu_q"),
          .cu_k = given(n, in, "cu_k"),
          .max_q = n.request.max_q,
          .max_k = n.request.max_k};
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto n = named(in, options);
  if (!n) return n.error();
  const Request& request = n->request;
  const Views qkv = in.subspan(request.backward ? 1 : 0, 3);
  const bool packed_q = given(*n, in, "cu_q").has_value(), packed_k = given(*n, in, "cu_k").has_value();
  for (int i = 0; i < 3; ++i)
    if (const bool packed = i == 0 ? packed_q : packed_k; qkv[i].rank() != (packed ? 3 : 4))
      return Status::invalid("attention", std::string(1, "qkv"[i]) + ".shape", qkv[i].layout.text(),
                             packed               ? "of 3 axes: rows of all sequences, heads and columns"
                             : request.rows_first ? "of 4 axes: batch, rows, heads and columns"
                                                  : "of 4 axes: batch, heads, rows and columns");
  std::vector<TensorType> types;
  if (request.backward) {
    for (const TensorView& like : qkv)
      types.push_back({like.dtype, {like.layout.shape.begin(), like.layout.shape.begin() + like.rank()}});
    return types;
  }
  const Layout& q = qkv[0].layout;
  types.push_back({qkv[0].dtype, {q.shape.begin(), q.shape.begin() + q.rank}});
  types[0].shape.back() = qkv[2].size(-1);
  if (!request.lse) return types;
  const int heads = packed_q || !request.rows_first ? 1 : 2, rows = packed_q ? 0 : 3 - heads;
  types.push_back({f32, {q.shape[heads], q.shape[rows]}});
  if (!packed_q) types[1].shape.insert(types[1].shape.begin(), q.shape[0]);
  return types;
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto n = named(in, options);
  if (!n) return n.error();
  const AttentionRule& rule = n->request.rule;
  auto checked = options.flag_if_given("attention", "checked");
  if (!checked) return checked.error();
  auto problem = n->request.backward ? AttentionProblem::of_gradient(backward_of(*n, in, out), rule)
                                     : AttentionProblem::of(forward_of(*n, in, out), rule);
  if (!problem) return problem.error();
  auto plan = plan_attention(*problem, device, {.variant = std::string(options.text("variant")), .checked = *checked});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan),
                      [n = *n](const AttentionPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
                        return n.request.backward ? p.run_gradient(backward_of(n, x, y), workspace, stream)
                                                  : p.run(forward_of(n, x, y), workspace, stream);
                      });
}

static const RegisterOp registered(
    {.name = "attention",
     .family = "attention",
     .summary = "o = softmax(scale * q k^T + mask) v, of each batch and head",
     .inputs = {"q", "k", "v", "mask", "cu_q", "cu_k", "lengths", "block_table"},
     .outputs = {"o", "lse"},
     .dtypes = {f32, f16, bf16},
     .options = {{"causal", "0|1|upper_left|lower_right", "a query attends to keys up to its own position", "0"},
                 {"window", "L,R", "and to L keys before and R after it; -1: all", "-1,-1"},
                 {"align", "upper_left|lower_right", "query i stands at key i, or at i + sk - sq", "upper_left"},
                 {"scale", "number", "of scores; default 1 / sqrt(d)"},
                 {"softcap", "number", "c: scores become c tanh(score / c) before the mask; 0: they stay", "0"},
                 {"layout", "bhsd|bshd", "the order of axes of q, k, v and o", "bhsd"},
                 {"lse", "0|1", "gives lse [b, hq, sq] too, the logarithm of the sum of exp(score)", "0"},
                 {"max_q", "number", "with cu_q: the most queries of a sequence; default all of q's rows"},
                 {"max_k", "number",
                  "with cu_k or lengths: the most keys of a sequence; default as many as there can be"},
                 {"backward", "0|1", "takes do, q, k, v, o, lse and the mask, and gives dq, dk and dv", "0"},
                 {"nondeterministic", "0|1", "dq may be summed in another order from run to run", "0"},
                 {"math", "exact|bf16x6", "f32: products of bf16 on tensor cores, with float32's error", "exact"},
                 {"accumulate", "plain|two_float", "two_float: f32 with nearly the accuracy of f64", "plain"},
                 {"checked", "0|1",
                  "wrong offsets, lengths and pages are refused, for which a GPU is waited for; default on the CPU"}},
     .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
     .infer = infer,
     .plan = plan_by_name,
     .takes = takes,
     .gives = gives,
     .optional = {"mask", "cu_q", "cu_k", "lengths", "block_table"}});

}  // namespace ridge
