"""Gradients. Each formula is a pair: what to keep of the forward call, and the gradients of the inputs from that.

A formula's backward takes (call, *gradients of the outputs) and returns {input name: gradient}; inputs that it does not
name have none. Of several outputs, those that nothing came back through have None for a gradient; one output has one.
Operators without a formula say so when a gradient is asked of them.
"""

import math

import torch

FORMULAS = {}


class Call:
    """What a formula sees of the forward call: call.x, call.y (tensors by name, None if not given), call.options; and
    call.shapes, of the inputs by name, also of those that are not kept."""

    def __init__(self, op, tensors, shapes, options, needs):
        self.__dict__.update(tensors)
        self.op = op
        self.shapes = shapes
        self.options = options
        self.needs = needs  # {input name: whether its gradient is wanted}


def formula(*operators, keep):
    """Registers a backward for operators, which keeps these inputs and outputs of the forward call; or those that
    keep(options) names."""

    def register(backward):
        for operator in operators:
            FORMULAS[operator] = (keep, backward)
        return backward

    return register


def _ridge(name):
    return getattr(torch.ops.ridge, name)


def _sum_to(gradient, like):
    """The gradient of a tensor that was broadcast."""
    return gradient.sum_to_size(like.shape)


# ---- elementwise ----------------------------------------------------------------------------------------------------


@formula("copy", keep=())
def _(call, dy):
    return {"a": dy}


@formula("add", keep=("b",))
def _(call, dy):
    return {"a": dy, "b": _sum_to(dy, call.b) if call.needs["b"] else None}


@formula("mul", keep=("a", "b"))
def _(call, dy):
    return {
        "a": _ridge("mul")(dy, call.b) if call.needs["a"] else None,
        "b": _sum_to(_ridge("mul")(dy, call.a), call.b) if call.needs["b"] else None,
    }


@formula("relu", keep=("y",))
def _(call, dy):
    return {"a": torch.ops.aten.threshold_backward(dy, call.y, 0)}


@formula("sigmoid", keep=("y",))
def _(call, dy):
    return {"a": torch.ops.aten.sigmoid_backward(dy, call.y)}


@formula("tanh", keep=("y",))
def _(call, dy):
    return {"a": torch.ops.aten.tanh_backward(dy, call.y)}


@formula("exp", keep=("y",))
def _(call, dy):
    return {"a": _ridge("mul")(dy, call.y)}


@formula("gelu", keep=("a",))
def _(call, dy):
    return {"a": torch.ops.aten.gelu_backward(dy, call.a)}


@formula("gelu_tanh", keep=("a",))
def _(call, dy):
    return {"a": torch.ops.aten.gelu_backward(dy, call.a, approximate="tanh")}


@formula("silu", keep=("a",))
def _(call, dy):
    return {"a": torch.ops.aten.silu_backward(dy, call.a)}


# ---- transpose ------------------------------------------------------------------------------------------------------


@formula("transpose", keep=())
def _(call, dy):
    return {"x": _ridge("transpose")(dy)}


@formula("permute", keep=())
def _(call, dy):
    axes = call.options.get("axes")
    if axes is None:  # reversed, which is its own inverse
        return {"x": _ridge("permute")(dy)}
    order = [int(axis) % dy.dim() for axis in axes.split(",")]
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return {"x": _ridge("permute")(dy, axes=",".join(map(str, inverse)))}


# ---- reductions -----------------------------------------------------------------------------------------------------


def _axes(call, x):
    """Those that are reduced, counted from the first; they are all of them where none is named."""
    axes = call.options.get("axis")
    return range(x.dim()) if axes is None else sorted(axis % x.dim() for axis in axes)


def _spread(call, gradient, like):
    """A gradient of the result, over the elements that it was reduced from."""
    if not call.options.get("keepdims"):
        for axis in _axes(call, like):
            gradient = gradient.unsqueeze(axis)
    return gradient.expand(like.shape)


def _reduced(call, x):
    return math.prod(x.shape[axis] for axis in _axes(call, x))


@formula("sum", keep=("x",))
def _(call, dy):
    return {"x": _spread(call, dy, call.x)}


@formula("mean", keep=("x",))
def _(call, dy):
    return {"x": _spread(call, dy / _reduced(call, call.x), call.x)}


@formula("max", "min", keep=("x", "y"))
def _(call, dy):
    """Ties share evenly, as in torch.amax."""
    at = call.x == _spread(call, call.y, call.x)
    if not at.dim():
        return {"x": dy * at}
    ties = at.sum(tuple(_axes(call, call.x)), keepdim=bool(call.options.get("keepdims")))
    return {"x": _spread(call, dy / ties, call.x) * at}


@formula("dot", keep=("x", "z"))
def _(call, dy):
    return {"x": dy * call.z, "z": dy * call.x}


# ---- softmax --------------------------------------------------------------------------------------------------------


@formula("softmax", "log_softmax", keep=("y",))
def _(call, dy):
    name, axis = call.op + "_backward", call.options.get("axis", -1)
    if hasattr(torch.ops.ridge, name):
        return {"x": _ridge(name)(dy, call.y, axis=axis)}
    aten = {"softmax": torch.ops.aten._softmax_backward_data, "log_softmax": torch.ops.aten._log_softmax_backward_data}
    return {"x": aten[call.op](dy, call.y, axis, call.y.dtype)}


# ---- norms ----------------------------------------------------------------------------------------------------------


def _norm(call, dy, x, dsum=None, of=None):
    """The gradients by name, of those that are wanted; `of`: the norm, where it is not the operator itself."""
    wanted = ["dx"] + [f"d{vector}" for vector in ("gamma", "beta") if call.needs[vector]]
    if call.gamma is not None and call.gamma.dtype != x.dtype:  # its gradient is not to be rounded to x's type
        dy, x, dsum = (None if t is None else t.float() for t in (dy, x, dsum))
    if call.options.get("axes", 1) > 1:  # which are merged
        dy, dsum = dy.contiguous(), None if dsum is None else dsum.contiguous()
    more = () if dsum is None else (dsum,)
    gradients = _ridge((of or call.op) + "_backward")(
        dy, x, call.gamma, *more, eps=call.options.get("eps"), axes=call.options.get("axes"), outputs=",".join(wanted)
    )
    return {name[1:]: gradient for name, gradient in zip(wanted, gradients)}


@formula("layer_norm", "rms_norm", keep=("x", "gamma"))
def _(call, dy):
    return _norm(call, dy, call.x)


@formula("add_layer_norm", "add_rms_norm", keep=("sum", "gamma"))
def _(call, dy, dsum):
    gradients = {"x": dsum} if dy is None else _norm(call, dy, call.sum, dsum)
    return gradients | {"residual": gradients["x"]}


@formula("group_norm", keep=("x", "gamma", "beta"))
def _(call, dy):
    """With an activation its slope, which is why beta is kept."""
    wanted = ["dx"] + [f"d{vector}" for vector in ("gamma", "beta") if call.needs[vector]]
    options = {k: call.options[k] for k in ("groups", "eps", "activation", "layout") if k in call.options}
    gradients = _ridge("group_norm_backward")(dy, call.x, call.gamma, call.beta, outputs=",".join(wanted), **options)
    return {name[1:]: gradient for name, gradient in zip(wanted, gradients)}


# ---- pooling --------------------------------------------------------------------------------------------------------


def _without_variant(call):
    """A row that was named for the forward pass has no gradient."""
    return {k: v for k, v in call.options.items() if k != "variant"}


@formula("max_pool2d", keep=("x", "y"))
def _(call, dy):
    return {"x": _ridge("max_pool2d_backward")(dy, call.x, call.y, **_without_variant(call))}


@formula("avg_pool2d", "adaptive_avg_pool2d", keep=())
def _(call, dy):
    """Of x its sides alone."""
    first = 1 if call.options.get("layout") == "nhwc" else 2
    size = dict(zip("hw", map(int, call.shapes["x"][first : first + 2])))
    return {"x": _ridge(call.op + "_backward")(dy, **_without_variant(call) | size)}


# ---- batch norm -----------------------------------------------------------------------------------------------------


def _of_batch_norm(*names):
    """What is kept: these; with an activation also what it is computed again from."""

    def keep(options):
        return names if options.get("activation", "none") == "none" else (*names, "beta", "residual")

    return keep


def _batch_norm(call, dy, wanted):
    """The gradients by name, "dgamma" and "dbeta" where they are wanted, and the residual's."""
    options = {k: v for k, v in call.options.items() if k in ("eps", "layout", "activation")}
    activated = options.get("activation", "none") != "none"
    outputs = ["dx", *(name for name in ("dgamma", "dbeta") if name in wanted)]
    if activated and call.needs["residual"]:
        outputs.append("dresidual")
    again = (call.beta, call.residual) if activated else ()
    found = _ridge(call.op + "_backward")(
        dy, call.x, call.mean, call.var, call.gamma, *again, outputs=",".join(outputs), **options
    )
    return {"dresidual": dy} | dict(zip(outputs, found))


def _of_parameters(call, found):
    """gamma's and beta's, which are float32 as Ridge sums them, and the residual's; beta's type PyTorch knows."""
    gradients = {"beta": found.get("dbeta"), "residual": found["dresidual"]}
    if call.gamma is not None and "dgamma" in found:
        gradients["gamma"] = found["dgamma"].to(call.gamma.dtype)
    return gradients


@formula("batch_norm", keep=_of_batch_norm("x", "mean", "var", "gamma"))
def _(call, dy):
    """Given statistics have gradients as gamma and beta do, from the same sums."""
    needs = call.needs
    wanted = ["dgamma"] * (needs["gamma"] or needs["var"]) + ["dbeta"] * (needs["beta"] or needs["mean"])
    found = _batch_norm(call, dy, wanted)
    gradients = {"x": found["dx"]} | _of_parameters(call, found)
    inverse = (call.var.float() + call.options.get("eps", 1e-5)).rsqrt()
    scale = inverse if call.gamma is None else inverse * call.gamma.float()
    if needs["mean"]:
        gradients["mean"] = (-scale * found["dbeta"]).to(call.mean.dtype)
    if needs["var"]:
        gradients["var"] = (-0.5 * scale * inverse * found["dgamma"]).to(call.var.dtype)
    return gradients


@formula("batch_norm_train", keep=_of_batch_norm("x", "gamma", "mean", "var"))
def _(call, dy, dmean, dvar):
    """Of y by Ridge; what comes back through the statistics themselves is added."""
    gradients = {}
    if dy is not None:
        wanted = [f"d{name}" for name in ("gamma", "beta") if call.needs[name]]
        found = _batch_norm(call, dy, wanted)
        gradients = {"x": found["dx"]} | _of_parameters(call, found)
    if dmean is None and dvar is None:
        return gradients
    x = call.x
    channel = x.dim() - 1 if call.options.get("layout") == "nhwc" else 1
    shape = [-1 if axis == channel else 1 for axis in range(x.dim())]
    elements = x.numel() // max(x.shape[channel], 1)
    dx = torch.zeros_like(x, dtype=torch.float32)
    if dmean is not None:
        dx = dx + (dmean / elements).reshape(shape)
    if dvar is not None:
        dx = dx + (dvar * (2 / elements)).reshape(shape) * (x.float() - call.mean.reshape(shape))
    dx = dx.to(x.dtype)
    return gradients | {"x": gradients["x"] + dx if "x" in gradients else dx}


# ---- convolutions ---------------------------------------------------------------------------------------------------


@formula("dwconv", keep=("k", "w"))
def _(call, dy):
    dk, dw = _ridge("dwconv_backward")(dy, call.k, call.w)
    return {"k": dk, "w": dw}


_GEOMETRY = ("stride", "pad", "dilation", "groups", "layout")


def _through_epilogue(call, dy, more):
    """The gradient of the sums, and {input: gradient} of the bias and the residual. The parts of the epilogue are in the
    order that it has. more: the options besides geometry and epilogue that compute the sums again."""
    options = call.options
    parts = [part for part in (options.get("epilogue") or "").split("+") if part]
    at = next((i for i, part in enumerate(parts) if part in _ACTIVATIONS), len(parts))
    gradients, g = {}, dy
    if "residual" in parts[at:]:  # added behind the activation
        gradients["residual"] = g
    if at < len(parts):  # what the activation was given is computed again
        before = parts[:at]
        bias = call.bias if "bias" in before else None
        residual = call.residual if "residual" in before else None
        again = {k: options[k] for k in (*_GEOMETRY, *more) if k in options}
        given = _ridge(call.op)(call.x, call.w, bias, residual, epilogue="+".join(before) or None, **again)
        g = _ACTIVATIONS[parts[at]](g, given)
    if call.residual is not None:
        gradients.setdefault("residual", g)
    if call.bias is not None and call.needs["bias"]:
        channels = g.dim() - 1 if (options.get("layout") or "").endswith("c") else 1
        gradients["bias"] = g.sum([axis for axis in range(g.dim()) if axis != channels])
    return g, gradients


@formula("conv1d", "conv2d", "conv3d", keep=("x", "w", "bias", "residual"))
def _(call, dy):
    """y = act(the cross-correlation of x with w + bias) + residual. Gradients have no math but exact."""
    g, gradients = _through_epilogue(call, dy, ("math",))
    wanted = [name for name in ("x", "w") if call.needs[name]]
    if wanted:
        geometry = {k: call.options[k] for k in _GEOMETRY if k in call.options}
        outputs = ",".join("d" + name for name in wanted)
        gradients |= zip(wanted, _ridge(call.op + "_backward")(g, call.x, call.w, outputs=outputs, **geometry))
    return gradients


@formula("conv_transpose1d", "conv_transpose2d", keep=("x", "w", "bias", "residual"))
def _(call, dy):
    """The gradients are those of the convolution that takes y's images to x's."""
    g, gradients = _through_epilogue(call, dy, ("output_pad",))
    convolution = call.op.replace("_transpose", "")
    geometry = {k: call.options[k] for k in _GEOMETRY if k in call.options}
    if call.needs["x"]:
        gradients["x"] = _ridge(convolution)(g, call.w, **geometry)
    if call.needs["w"]:
        gradients["w"], *_ = _ridge(convolution + "_backward")(call.x, g, call.w, outputs="dw", **geometry)
    return gradients


# ---- images ---------------------------------------------------------------------------------------------------------


@formula("upsample", keep=())
def _(call, dy):
    """Of the image that was resized, its sides alone matter."""
    options = {k: call.options[k] for k in ("mode", "align_corners", "layout") if k in call.options}
    h, w = call.shapes["x"][1:3] if options.get("layout") == "nhwc" else call.shapes["x"][2:]
    return {"x": _ridge("upsample_backward")(dy, h=int(h), w=int(w), **options)}


# ---- tokens ---------------------------------------------------------------------------------------------------------


@formula("attention", keep=("q", "k", "v", "mask", "cu_q", "cu_k", "lengths", "block_table", "o", "lse"))
def _(call, do, dlse=None):
    """Without lse among the outputs the forward pass is computed again."""
    if call.lengths is not None or call.block_table is not None:
        raise NotImplementedError("ridge::attention has no gradient with lengths or a block_table")
    if call.needs["mask"]:
        raise NotImplementedError("ridge::attention has no gradient of its mask: detach() that")
    how = ("math", "accumulate")  # of the forward pass alone
    options = {k: v for k, v in call.options.items() if k not in ("lse", "variant", *how)}
    o, lse, among = call.o, call.lse, (call.mask, call.cu_q, call.cu_k)
    if lse is None:
        again = {k: call.options[k] for k in how if k in call.options}
        o, lse = _ridge("attention")(call.q, call.k, call.v, *among, lse=True, **options, **again)
    v, columns = call.v, o.shape[-1]
    if dlse is not None:
        # Scores' gradients are p (do v^T - sum of do o + dlse). One column more, of ones in do, of zeros in v and of
        # -dlse in o, makes dlse a part of that sum; further zeros keep rows on 16 bytes.
        heads_inside = call.cu_q is not None or options.get("layout") == "bshd"
        minus = -(dlse.mT if heads_inside else dlse).unsqueeze(-1).to(o.dtype)
        more = 8 - columns % 8
        if columns + more > 512:
            raise NotImplementedError("ridge::attention has a gradient through lse for v of at most 511 columns")
        do = torch.cat((torch.zeros_like(o) if do is None else do, torch.ones_like(minus)), -1)
        do, o = (torch.nn.functional.pad(x, (0, more - 1)) for x in (do, torch.cat((o, minus), -1)))
        v = torch.nn.functional.pad(v, (0, more))
    dq, dk, dv = _ridge("attention_backward")(do, call.q, call.k, v, o, lse, *among, **options)
    return {"q": dq, "k": dk, "v": dv[..., :columns]}


@formula("rope", keep=("positions", "cos", "sin"))
def _(call, dy):
    """A turn back by the same angle."""
    if call.needs["cos"] or call.needs["sin"]:
        raise NotImplementedError("ridge::rope has no gradient of its tables: detach() them")
    if call.sin is not None:
        return {"x": _ridge("rope")(dy, call.positions, call.cos, -call.sin, **call.options)}
    positions = call.positions
    if positions is None and hasattr(dy, "placements"):  # 0, 1, 2, ..., spread over ranks as dy is
        positions = dy.new_ones(dy.shape[-3], dtype=torch.int64).cumsum(0) - 1
    elif positions is None:
        positions = torch.arange(dy.shape[-3], device=dy.device)
    return {"x": _ridge("rope")(dy, -positions, **call.options)}


def _of_table(call, dy):
    """Indices outside of the table read no row of it: their gradients go to one behind the last, which is cut off."""
    rows, indices, scale = call.table.shape[0], call.indices, call.options.get("scale")
    inside = torch.where((indices >= 0) & (indices < rows), indices, rows)
    dtable = torch.ops.aten.embedding_dense_backward(dy, inside, rows + 1, rows, False)[:rows]
    return dtable if scale is None else dtable * scale


@formula("embedding", keep=("table", "indices"))
def _(call, dy):
    return {"table": _of_table(call, dy)}


@formula("embedding_norm", keep=("table", "indices", "gamma", "x"))
def _(call, dx, dy):
    """The norm's gradient, with what comes back through x itself added in, is that of the rows that were looked up."""
    norm = f"add_{call.options.get('mode') or 'rms'}_norm"
    gradients = {"x": dx} if dy is None else _norm(call, dy, call.x, dx, of=norm)
    dx = gradients.pop("x")
    if call.needs["table"]:
        gradients["table"] = _of_table(call, dx)
    return gradients


# ---- gemm -----------------------------------------------------------------------------------------------------------

_ACTIVATIONS = {
    "relu": lambda g, x: torch.ops.aten.threshold_backward(g, x, 0),
    "sigmoid": lambda g, x: torch.ops.aten.sigmoid_backward(g, x.sigmoid()),
    "gelu": lambda g, x: torch.ops.aten.gelu_backward(g, x),
    "gelu_tanh": lambda g, x: torch.ops.aten.gelu_backward(g, x, approximate="tanh"),
    "silu": lambda g, x: torch.ops.aten.silu_backward(g, x),
    "relu6": lambda g, x: torch.ops.aten.hardtanh_backward(g, x, 0, 6),
    "hardswish": lambda g, x: torch.ops.aten.hardswish_backward(g, x),
    "hardsigmoid": lambda g, x: torch.ops.aten.hardsigmoid_backward(g, x),
}


def _product(a, b, dtype, **options):
    """gemm of a gradient and an operand of type dtype, in that type. A gradient in float32 may be beyond float16's
    range: TF32 has that of float32, and float16's ten bits, so that the operand is exact in it.
    """
    if dtype == torch.float16 and torch.float32 in (a.dtype, b.dtype):
        return _ridge("gemm")(a.float(), b.float(), **options | {"math": "tf32"}).to(dtype)
    return _ridge("gemm")(a.to(dtype), b.to(dtype), **options)


def _through_activation(call, g, inputs):
    """The gradient of what the activation was given. That is computed again: a product more, and nothing kept."""
    parts = (call.options.get("epilogue") or "").split("+")
    for part in parts:
        if part in _ACTIVATIONS:
            options = {k: v for k, v in call.options.items() if k not in ("scale", "variant")}
            options["epilogue"] = "+".join(p for p in parts if p.startswith("bias")) or None
            return _ACTIVATIONS[part](g, _ridge(call.op)(*inputs, **options))
    return g


def _sum_of_rows(g):
    """[..., n] to [n]."""
    return g.sum(tuple(range(g.dim() - 1))) if g.dim() > 1 else g


def _axis_of_ranks(*tensors):
    """Of leading axes the one that DTensors are cut along, which must come first for them to be flattened; else 0."""
    for tensor in tensors:
        for placement in getattr(tensor, "placements", ()):
            if placement.is_shard() and placement.dim < tensor.dim() - 1:
                return placement.dim
    return 0


@formula("gemm", keep=("a", "b", "c", "bias", "residual", "gate", "gate_bias"))
def _(call, dd):
    """d = scale * (act(alpha * op(a) op(b) + beta * c + bias) [* (alpha * op(a) op(gate) + gate_bias)] + residual), in
    the axes of d: [batches,] m, n."""
    a, b, options = call.a, call.b, call.options
    gemm = _ridge("gemm")
    layout = options.get("layout") or "nn"
    alpha, beta, scale = (
        options.get(k) if options.get(k) is not None else v for k, v in (("alpha", 1.0), ("beta", 0.0), ("scale", 1.0))
    )
    parts = (options.get("epilogue") or "").split("+")
    gradients = {}
    dd = dd.contiguous() if dd.dim() > 3 else dd  # several batch axes must merge into one
    g = dd * scale if scale != 1 else dd
    if call.residual is not None:
        gradients["residual"] = g.to(call.residual.dtype)
    by_gate = None
    if call.gate is not None:  # both factors are computed again
        again = {k: v for k, v in options.items() if k not in ("scale", "variant", "epilogue")}
        kept = "+".join(p for p in parts if p not in ("gate", "gate_bias", "residual")) or None
        by_gate = g * gemm(a, b, call.c, call.bias, epilogue=kept, **again)
        if call.gate_bias is not None and call.needs["gate_bias"]:
            gradients["gate_bias"] = _sum_of_rows(by_gate).to(call.gate_bias.dtype)
        with_bias = {} if call.gate_bias is None else {"bias": call.gate_bias, "epilogue": "bias"}
        g = g * gemm(a, call.gate, **with_bias, **{k: v for k, v in again.items() if k != "beta"})
    g = _through_activation(call, g, (a, b, call.c, call.bias))
    if call.bias is not None and call.needs["bias"]:
        along = g if "bias" in parts else g.transpose(-1, -2)
        gradients["bias"] = _sum_of_rows(along).to(call.bias.dtype)
    if call.c is not None:
        gradients["c"] = (beta * g).to(call.c.dtype)
    rest = {"alpha": alpha, "math": options.get("math")}
    ta, tb = layout[0] == "t", layout[1] == "t"
    for name, b, g in (("b", b, g), ("gate", call.gate, by_gate)):
        if g is None:
            continue
        if call.needs["a"]:  # g op(b)^T as [m, k], or its transpose op(b) g^T as [k, m]
            da = (
                _product(b, g, a.dtype, layout=("t" if tb else "n") + "t", **rest)
                if ta
                else _product(g, b, a.dtype, layout="n" + ("n" if tb else "t"), **rest)
            )
            da = da.sum_to_size(a.shape)
            gradients["a"] = gradients["a"] + da if "a" in gradients else da
        if call.needs[name]:  # op(a)^T g as [k, n], or its transpose g^T op(a) as [n, k]
            db = (
                _product(g, a, a.dtype, layout="t" + ("t" if ta else "n"), **rest)
                if tb
                else _product(a, g, a.dtype, layout=("n" if ta else "t") + "n", **rest)
            )
            gradients[name] = db.sum_to_size(b.shape)
    return gradients


@formula("linear", keep=("x", "w", "bias", "residual"))
def _(call, dy):
    """y = act(x w^T + bias) + residual."""
    x, w, options = call.x, call.w, call.options
    gradients = {}
    if call.residual is not None:
        gradients["residual"] = dy.to(call.residual.dtype)
    g, activation = dy, options.get("activation")
    if activation in _ACTIVATIONS:
        again = {k: v for k, v in options.items() if k not in ("activation", "variant")}
        g = _ACTIVATIONS[activation](g, _ridge("linear")(x, w, call.bias, **again))
    if call.bias is not None and call.needs["bias"]:
        gradients["bias"] = _sum_of_rows(g).to(call.bias.dtype)
    first = _axis_of_ranks(g, x)
    g, x = g.movedim(first, 0), x.movedim(first, 0)
    rows = g.reshape(-1, g.shape[-1])
    if call.needs["x"]:
        dx = _product(rows, w, x.dtype, math=options.get("math")).reshape(x.shape)
        gradients["x"] = dx.movedim(0, first)
    if call.needs["w"]:
        gradients["w"] = _product(rows, x.reshape(-1, x.shape[-1]), x.dtype, layout="tn", math=options.get("math"))
    return gradients


@formula("gemv", keep=("a", "x", "c", "bias"))
def _(call, dy):
    """y = act(alpha * op(a) x + beta * c + bias)."""
    options = call.options
    transposed = options.get("layout") == "t"
    alpha = 1.0 if options.get("alpha") is None else options["alpha"]
    g = _through_activation(call, dy, (call.a, call.x, call.c, call.bias))
    gradients = {"bias": g, "c": g * (options.get("beta") or 0.0)}
    if call.needs["a"]:
        gradients["a"] = torch.outer(call.x, g * alpha) if transposed else torch.outer(g * alpha, call.x)
    if call.needs["x"]:
        gradients["x"] = _ridge("gemv")(call.a, g, layout="n" if transposed else "t", alpha=alpha)
    return gradients
