// attention by name.
#include <ridge/attention/request.hpp>
#include <ridge/attention/variants.hpp>

namespace ridge {

using namespace attention_detail;

// What a row of the table is about.
static std::string_view checklist_item(const Variant& row) {
  switch (row.config.family) {
    case Family::naive: return {};
    case Family::tiled: return "tiling";
    case Family::register_tile:
    case Family::gradient_tile: return "coarsening";
    default: return "better maths";
  }
}

using Names = std::vector<std::string_view>;

// A mask may be left out.
static Result<Names> takes(const Options& options, std::size_t) {
  auto request = request_of(options);
  if (!request) return request.error();
  return request->backward ? Names{"do", "q", "k", "v", "o", "lse", "mask"} : Names{"q", "k", "v", "mask"};
}
static Result<Names> gives(const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  if (request->backward) return Names{"dq", "dk", "dv"};
  return request->lse ? Names{"o", "lse"} : Names{"o"};
}

static TensorView lie(const Request& r, const TensorView& v) {
  return r.rows_first && v.rank() == 4 ? heads_first(v) : v;
}

// The views as AttentionProblem::of takes them.
static AttentionTensors forward_of(const Request& r, Views in, Views out) {
  AttentionTensors t{.q = lie(r, in[0]), .k = lie(r, in[1]), .v = lie(r, in[2]), .o = lie(r, out[0])};
  if (in.size() == 4) t.mask = in[3];
  if (out.size() == 2) t.lse = out[1];
  return t;
}
static AttentionGradientTensors backward_of(const Request& r, Views in, Views out) {
  AttentionGradientTensors t{.q = lie(r, in[1]),
                             .k = lie(r, in[2]),
                             .v = lie(r, in[3]),
                             .o = lie(r, in[4]),
                             .lse = in[5],
                             .grad_o = lie(r, in[0])};
  if (in.size() == 7) t.mask = in[6];
  t.grad_q = lie(r, out[0]);
  t.grad_k = lie(r, out[1]);
  t.grad_v = lie(r, out[2]);
  return t;
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  const Views qkv = in.subspan(request->backward ? 1 : 0, 3);
  for (int i = 0; i < 3; ++i)
    if (qkv[i].rank() != 4)
      return Status::invalid("attention", std::string(1, "qkv"[i]) + ".shape", qkv[i].layout.text(),
                             request->rows_first ? "of 4 axes: batch, rows, heads and columns"
                                                 : "of 4 axes: batch, heads, rows and columns");
  std::vector<TensorType> types;
  if (request->backward) {
    for (const TensorView& like : qkv)
      types.push_back({like.dtype, {like.layout.shape.begin(), like.layout.shape.begin() + 4}});
    return types;
  }
  const Layout& q = qkv[0].layout;
  const int heads = request->rows_first ? 2 : 1, rows = 3 - heads;
  types.push_back({qkv[0].dtype, {q.shape[0], q.shape[1], q.shape[2], qkv[2].size(3)}});
  if (request->lse) types.push_back({f32, {q.shape[0], q.shape[heads], q.shape[rows]}});
  return types;
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(options);
  if (!request) return request.error();
  auto problem = request->backward ? AttentionProblem::of_gradient(backward_of(*request, in, out), request->rule)
                                   : AttentionProblem::of(forward_of(*request, in, out), request->rule);
  if (!problem) return problem.error();
  auto plan = plan_attention(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan),
                      [r = *request](const AttentionPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
                        return r.backward ? p.run_gradient(backward_of(r, x, y), workspace, stream)
                                          : p.run(forward_of(r, x, y), workspace, stream);
                      });
}

static const RegisterOp registered(
    {.name = "attention",
     .family = "attention",
     .summary = "o = softmax(scale * q k^T + mask) v, of each batch and head",
     .inputs = {"q", "k", "v", "mask"},
     .outputs = {"o", "lse"},
     .dtypes = {f32, f16, bf16},
     .options = {{"causal", "0|1|upper_left|lower_right", "a query attends to keys up to its own position"},
                 {"window", "L,R", "and to L keys before and R after it; -1: all"},
                 {"align", "upper_left|lower_right", "query i stands at key i, or at i + sk - sq"},
                 {"scale", "number", "of scores; default 1 / sqrt(d)"},
                 {"softcap", "number", "c: scores become c tanh(score / c) before the mask"},
                 {"layout", "bhsd|bshd", "the order of axes of q, k, v and o; default bhsd"},
                 {"lse", "0|1", "gives lse [b, hq, sq] too, the logarithm of the sum of exp(score)"},
                 {"backward", "0|1", "takes do, q, k, v, o, lse and the mask, and gives dq, dk and dv"},
                 {"nondeterministic", "0|1", "dq may be summed in another order from run to run"}},
     .variants = variant_infos(variants, checklist_item),
     .infer = infer,
     .plan = plan_by_name,
     .takes = takes,
     .gives = gives,
     .optional = {"mask"}});

}  // namespace ridge
