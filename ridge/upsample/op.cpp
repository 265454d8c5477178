// upsample by name.
#include <ridge/core/op.hpp>
#include <ridge/upsample/families.hpp>
#include <ridge/upsample/request.hpp>

namespace ridge {

using namespace upsample_detail;

static constexpr std::string_view op = "upsample";

static std::string text(Sides sides) { return std::to_string(sides.h) + "x" + std::to_string(sides.w); }

static Result<std::vector<TensorType>> infer(Views in, const Options& options) {
  auto request = request_of(options);
  if (!request) return request.error();
  const Layout& given = in[0].layout;
  const std::string argument = request->backward ? "dy.shape" : "x.shape";
  const UpsampleLayout layout = request->how.layout;
  if (given.rank != 4)
    return Status::invalid(op, argument, given.text(),
                           layout == UpsampleLayout::nchw ? "of 4 axes, n c h w" : "of 4 axes, n h w c");
  const Sides sides = sides_of(layout, given.shape);
  if (request->backward) {
    const Sides inputs{*request->h, *request->w};
    if (request->size || request->scale) {
      auto outputs = request->outputs(inputs);
      if (!outputs) return outputs.error();
      if (outputs->h != sides.h || outputs->w != sides.w)
        return Status::invalid(op, argument, given.text(), "of " + text(*outputs) + " pixels, as y is");
    }
    return std::vector<TensorType>{{in[0].dtype, with_sides(layout, given.shape, inputs)}};
  }
  const Sides named{request->h.value_or(sides.h), request->w.value_or(sides.w)};
  if (named.h != sides.h)
    return Status::invalid(op, "h", std::to_string(named.h), "that of x, " + std::to_string(sides.h));
  if (named.w != sides.w)
    return Status::invalid(op, "w", std::to_string(named.w), "that of x, " + std::to_string(sides.w));
  auto outputs = request->outputs(sides);
  if (!outputs) return outputs.error();
  return std::vector<TensorType>{{in[0].dtype, with_sides(layout, given.shape, *outputs)}};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto request = request_of(options);
  if (!request) return request.error();
  auto problem = request->backward ? UpsampleProblem::of_gradient(request->how, in[0], out[0])
                                   : UpsampleProblem::of(request->how, in[0], out[0]);
  if (!problem) return problem.error();
  auto plan = plan_upsample(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [](const UpsamplePlan& p, Views x, Views y, Workspace, Stream stream) {
    return p.problem.backward ? p.run_gradient(x[0], y[0], stream) : p.run(x[0], y[0], stream);
  });
}

using Names = std::vector<std::string_view>;

static const RegisterOp registered(
    {.name = op,
     .family = "upsample",
     .summary = "x resized along h and w: to the nearest pixel, or to means of four",
     .inputs = {"x"},
     .outputs = {"y"},
     .dtypes = {f32, f16, bf16, i8, u8},
     .options = {{"size", "n or h,w", "of y; it or scale must be given, but to a gradient"},
                 {"scale", "number or h,w", "y has floor(h scale) rows and floor(w scale) columns"},
                 {"mode", "nearest|nearest_exact|bilinear", "nearest and nearest_exact copy, in i8 and u8 too",
                  "nearest"},
                 {"align_corners", "0|1", "bilinear: whether the outermost pixels of x and y lie on each other", "0"},
                 {"layout", "nchw|nhwc", "of x and y", "nchw"},
                 {"backward", "0|1", "takes dy, h and w, and gives dx", "0"},
                 {"h", "rows", "of x: a gradient must be given it"},
                 {"w", "columns", "of x: a gradient must be given it"}},
     .variants = variant_infos(variants, [](const Variant& row) { return family_of(row).lesson(row); }),
     .infer = infer,
     .plan = plan_by_name,
     .takes = [](const Options& options, std::size_t) -> Result<Names> {
       auto backward = options.flag(op, "backward");
       if (!backward) return backward.error();
       return Names{*backward ? "dy" : "x"};
     },
     .gives = [](const Options& options) -> Result<Names> {
       auto backward = options.flag(op, "backward");
       if (!backward) return backward.error();
       return Names{*backward ? "dx" : "y"};
     }});

}  // namespace ridge
