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
    case Family::register_tile: return "coarsening";
    default: return "better maths";
  }
}

using Names = std::vector<std::string_view>;

static Result<Names> takes(const Options&, std::size_t given) {
  return given == 4 ? Names{"q", "k", "v", "mask"} : Names{"q", "k", "v"};
}
static Result<Names> gives(const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  return request->lse ? Names{"o", "lse"} : Names{"o"};
}

// The views as AttentionProblem::of takes them. Precondition: q, k, v and o have 4 axes.
static AttentionTensors tensors_of(const Request& r, Views in, Views out) {
  AttentionTensors t{.q = in[0], .k = in[1], .v = in[2], .o = out[0]};
  if (r.rows_first)
    for (TensorView* view : {&t.q, &t.k, &t.v, &t.o}) *view = heads_first(*view);
  if (in.size() == 4) t.mask = in[3];
  if (out.size() == 2) t.lse = out[1];
  return t;
}

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  for (int i = 0; i < 3; ++i)
    if (in[i].rank() != 4)
      return Status::invalid("attention", std::string(1, "qkv"[i]) + ".shape", in[i].layout.text(),
                             request->rows_first ? "of 4 axes: batch, rows, heads and columns"
                                                 : "of 4 axes: batch, heads, rows and columns");
  const Layout& q = in[0].layout;
  const int heads = request->rows_first ? 2 : 1, rows = 3 - heads;
  std::vector<TensorType> types{{in[0].dtype, {q.shape[0], q.shape[1], q.shape[2], in[2].size(3)}}};
  if (request->lse) types.push_back({f32, {q.shape[0], q.shape[heads], q.shape[rows]}});
  return types;
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(options);
  if (!request) return request.error();
  auto problem = AttentionProblem::of(tensors_of(*request, in, out), request->rule);
  if (!problem) return problem.error();
  auto plan = plan_attention(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan),
                      [r = *request](const AttentionPlan& p, Views x, Views y, Workspace workspace, Stream stream) {
                        return p.run(tensors_of(r, x, y), workspace, stream);
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
                 {"lse", "0|1", "gives lse [b, hq, sq] too, the logarithm of the sum of exp(score)"}},
     .variants = variant_infos(variants, checklist_item),
     .infer = infer,
     .plan = plan_by_name,
     .takes = takes,
     .gives = gives});

}  // namespace ridge
