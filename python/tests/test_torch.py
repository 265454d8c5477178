"""ridge.torch on CPU tensors: every operator of the registry is PyTorch's, by PyTorch's own checks."""

import inspect
import math
import pydoc

import pytest

torch = pytest.importorskip("torch")

from torch_samples import OPERATORS, REQUESTS, WITH_GRADIENT, overload, samples, tensors  # noqa: E402

import ridge  # noqa: E402
import ridge.torch  # noqa: E402
from ridge import _docs, _options  # noqa: E402
from ridge.torch import autograd, schema, shapes  # noqa: E402


def test_every_operator_is_there():
    assert set(_docs.with_gradients()) == set(OPERATORS)
    for op in OPERATORS.values():
        names = [argument.name for argument in overload(op)._schema.arguments]
        assert set(op.inputs) | set(schema.option_types(op)) == set(names)
        assert len(overload(op)._schema.returns) == (1 if schema.returns_list(op) else len(op.outputs))


@pytest.mark.parametrize("name", [*OPERATORS, "rope_cache_"])
def test_functions_show_their_parameters(name):
    function = getattr(ridge.torch, name)
    parameters = inspect.signature(function).parameters
    arguments = getattr(torch.ops.ridge, name).default._schema.arguments
    assert list(parameters) == [argument.name for argument in arguments]
    kinds = {p.name: p.kind is p.KEYWORD_ONLY for p in parameters.values()}
    assert kinds == {argument.name: argument.kwarg_only for argument in arguments}
    shown = pydoc.plain(pydoc.render_doc(function))
    assert all(f"{parameter}:" in shown for parameter in parameters) or name == "rope_cache_"
    if name == "rope_cache_":
        assert parameters["base"].default == 10000
        return
    for option in OPERATORS[name].options:
        expected = inspect.Parameter.empty if option.required else _options.default(vars(option))
        assert parameters[option.name].default == expected
        assert option.help in function.__doc__


def test_help_of_gelu():
    shown = pydoc.plain(pydoc.render_doc(ridge.torch.gelu))
    assert "gelu(a: torch.Tensor, *, variant: str | None = None) -> torch.Tensor" in shown
    assert "torch.ops.ridge.gelu(Tensor a, *, str? variant=None) -> Tensor" in shown
    assert function_defaults_run(ridge.torch.histogram)


def function_defaults_run(function):
    """Whether a call with all defaults that it shows is one without them."""
    x = torch.randint(0, 255, (100,), dtype=torch.uint8)
    parameters = inspect.signature(function).parameters.values()
    given = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    return torch.equal(function(x, **given), function(x))


@pytest.mark.parametrize(
    "values, kind",
    [
        ("0|1", bool),
        ("-1", int),
        ("1..2^30", int),
        ("odd", int),
        ("even number", int),
        ("number", float),
        ("nn|nt|tn|tt", str),
        ("lo,hi", str),
        ("2,0,1", str),
        ("bias+relu ...", str),
        ("dtype", str),
        ("i64|i32", str),
    ],
)
def test_option_types(values, kind):
    assert schema.option_type(values) is kind


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_same_as_ridge(op, inputs, options):
    made = tensors(op, inputs)
    got = overload(op)(**made, **options)
    want = getattr(ridge, op.name)(**made, **options)
    for g, w in zip(*(x if isinstance(x, (tuple, list)) else (x,) for x in (got, want)), strict=True):
        torch.testing.assert_close(g, w, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_opcheck(op, inputs, options):
    made = tensors(op, inputs, requires_grad=op.name in autograd.FORMULAS)
    arguments = [made.get(name) for name in schema.arguments(op)]
    torch.library.opcheck(overload(op), arguments, options)


@pytest.mark.parametrize("op, inputs, options", [p for p in WITH_GRADIENT if "f64" in p.values[0].dtypes])
def test_gradient(op, inputs, options):
    made = tensors(op, inputs, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda *given: overload(op)(**dict(zip(made, given)), **options), tuple(made.values())
    )


# Operators that do not take float64: in float32, beside PyTorch's formula in float64.
def _convolution(name):
    """F.conv1d and its like, and the epilogue. Padding is by hand: PyTorch's is the same on both sides."""
    axes, transposed = int(name[-2]), "transpose" in name

    def function(x, w, bias=None, residual=None, *, layout=None, epilogue="", groups="1", **sizes):
        last = (layout or "").endswith("c")
        if last:
            x, w = x.movedim(-1, 1), w.movedim(-1, 1)
        numbers = {key: [int(n) for n in text.split(",")] for key, text in sizes.items()}
        pads = numbers.pop("pad", [0])
        pads = pads * (axes // len(pads)) if len(pads) <= axes else pads
        before, after = pads[:axes], pads[-axes:]
        if not transposed:
            sides = [side for pair in zip(before[::-1], after[::-1]) for side in pair]
            x = torch.nn.functional.pad(x, sides)
        if "output_pad" in numbers:
            numbers["output_padding"] = numbers.pop("output_pad")
        y = getattr(torch.nn.functional, name)(x, w, None, groups=int(groups), **numbers)
        if transposed:
            y = y[(..., *(slice(first, side - end) for first, end, side in zip(before, after, y.shape[2:])))]
        y = y.movedim(1, -1) if last else y
        for part in filter(None, epilogue.split("+")):
            if part == "bias":
                y = y + (bias if last else bias.view(-1, *[1] * axes))
            elif part == "residual":
                y = y + residual
            else:
                y = getattr(torch.nn.functional, part)(y)
        return y

    return function


def _in_nchw(function):
    """The same of an x whose channels are the last axis, as `layout` says."""

    def pool(x, *, layout="nchw", **options):
        if layout == "nchw":
            return function(x, **options)
        return function(x.permute(0, 3, 1, 2), **options).permute(0, 2, 3, 1)

    return pool


def _numbers(text):
    numbers = [int(n) for n in str(text).split(",")]
    return numbers * 2 if len(numbers) == 1 else numbers


def _sides(pad):
    """Left, right, top, bottom, which is the order of F.pad."""
    pads = _numbers(pad)
    top, left, bottom, right = pads if len(pads) == 4 else pads * 2
    return [left, right, top, bottom]


@_in_nchw
def _max_pool2d(x, *, r, s=None, stride="1", pad="0", dilation="1", ceil_mode=False):
    """With ceil_mode there is no padding in the samples, which PyTorch would count as input here."""
    padded = torch.nn.functional.pad(x, _sides(pad), value=-math.inf)
    window = [r, s or r]
    return torch.nn.functional.max_pool2d(
        padded, window, _numbers(stride), dilation=_numbers(dilation), ceil_mode=ceil_mode
    )


@_in_nchw
def _avg_pool2d(x, *, r, s=None, stride="1", pad="0", ceil_mode=False, count_include_pad=True):
    window, (left, right, top, bottom) = [r, s or r], _sides(pad)
    more = {"stride": _numbers(stride), "ceil_mode": ceil_mode}
    if (top, left) == (bottom, right):
        more |= {"padding": [top, left], "count_include_pad": count_include_pad}
        return torch.nn.functional.avg_pool2d(x, window, **more)
    sums, inside = (
        torch.nn.functional.avg_pool2d(torch.nn.functional.pad(t, _sides(pad)), window, divisor_override=1, **more)
        for t in (x, torch.ones_like(x))
    )
    return sums / (r * (s or r) if count_include_pad else inside.detach())


@_in_nchw
def _adaptive_avg_pool2d(x, *, size):
    return torch.nn.functional.adaptive_avg_pool2d(x, _numbers(size))


def _normed(x, mean, var, gamma, beta, eps, layout):
    channel = x.dim() - 1 if layout == "nhwc" else 1
    shape = [-1 if axis == channel else 1 for axis in range(x.dim())]
    mean, var, gamma, beta = (t if t is None else t.double().reshape(shape) for t in (mean, var, gamma, beta))
    y = (x - mean) / (var + eps).sqrt()
    y = y if gamma is None else y * gamma
    return y if beta is None else y + beta


def _activated(y, activation):
    if activation == "gelu_tanh":
        return torch.nn.functional.gelu(y, approximate="tanh")
    return getattr(torch.nn.functional, activation)(y) if activation else y


def _batch_norm(x, mean, var, gamma=None, beta=None, residual=None, *, eps=1e-5, layout="nchw", activation=""):
    y = _normed(x, mean, var, gamma, beta, eps, layout)
    return _activated(y if residual is None else y + residual, activation)


def _batch_norm_train(x, gamma=None, beta=None, residual=None, *, eps=1e-5, layout="nchw", activation=""):
    axes = [axis for axis in range(x.dim()) if axis != (x.dim() - 1 if layout == "nhwc" else 1)]
    mean, var = x.mean(axes), x.var(axes, correction=0)
    y = _batch_norm(x, mean, var, gamma, beta, residual, eps=eps, layout=layout, activation=activation)
    return y, mean, var


def _dwconv(k, w, *, eps=0.0):
    padded = torch.nn.functional.pad(k, (w.shape[1] - 1, 0))
    return torch.nn.functional.conv1d(padded, w[:, None], groups=w.shape[0]) + eps


def _attention(
    q, k, v, mask=None, cu_q=None, cu_k=None, *, causal="", window="-1,-1", layout="", softcap=0, scale=None
):
    if cu_q is not None:  # one sequence after the other
        parts = [
            [x[first[i] : first[i + 1]].unsqueeze(0) for x, first in ((q, cu_q), (k, cu_k), (v, cu_k))]
            for i in range(cu_q.numel() - 1)
        ]
        return torch.cat([_attention(*p, causal=causal, layout="bshd", softcap=softcap, scale=scale)[0] for p in parts])
    if layout == "bshd":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = softcap * torch.tanh(scores / softcap) if softcap else scores
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    sq, sk = scores.shape[-2:]
    away = torch.arange(sk) - torch.arange(sq)[:, None] - (sk - sq if causal == "lower_right" else 0)
    left, right = (int(n) if int(n) >= 0 else sk + sq for n in window.split(","))
    attends = (-away <= left) & (away <= (0 if causal else right))
    o = scores.masked_fill(~attends, -math.inf).softmax(-1) @ v
    return o.transpose(1, 2) if layout == "bshd" else o


def _rope(x, positions=None, cos=None, sin=None, *, style="neox", rotary_dim=None):
    turned = rotary_dim or x.shape[-1]
    if cos is None:
        positions = torch.arange(x.shape[-3]) if positions is None else positions
        angles = positions[:, None] * 10000.0 ** (-torch.arange(0, turned, 2).double() / turned)
        cos, sin = angles.cos(), angles.sin()
    cos, sin = cos[:, None].double(), sin[:, None].double()  # [s, 1, pairs]
    a, b = (x[..., :turned:2], x[..., 1:turned:2]) if style == "gptj" else x[..., :turned].chunk(2, -1)
    pairs = (a * cos - b * sin, b * cos + a * sin)
    y = torch.stack(pairs, -1).flatten(-2) if style == "gptj" else torch.cat(pairs, -1)
    return torch.cat((y, x[..., turned:]), -1)


def _embedding(table, indices, *, scale=1.0):
    inside = (indices >= 0) & (indices < table.shape[0])
    return table[torch.where(inside, indices, 0)] * inside[..., None] * scale


def _embedding_norm(table, indices, gamma=None, beta=None, *, mode="rms", eps=1e-5, scale=1.0):
    x = _embedding(table, indices, scale=scale)
    if mode == "layer":
        return x, torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    y = torch.nn.functional.rms_norm(x, x.shape[-1:], gamma, eps)
    return x, y if beta is None else y + beta


def _group_norm(x, gamma=None, beta=None, *, groups, eps=1e-5, activation="", layout="nchw"):
    x = x.movedim(-1, 1) if layout == "nhwc" else x
    gamma = x.new_ones(x.shape[1]) if gamma is None else gamma  # without, PyTorch's gradient fails
    y = torch.nn.functional.group_norm(x, groups, gamma, beta, eps)
    y = _activated(y, activation)
    return y.movedim(1, -1) if layout == "nhwc" else y


def _upsample(x, *, size=None, scale=None, mode="nearest", align_corners=False, layout="nchw"):
    x = x.permute(0, 3, 1, 2) if layout == "nhwc" else x
    pair = [float(n) for n in (scale or size).split(",")]
    sides = [math.floor(a * b) if scale else int(b) for a, b in zip(x.shape[2:], pair * (2 // len(pair)))]
    more = {"align_corners": align_corners} if mode == "bilinear" else {}
    y = torch.nn.functional.interpolate(x, size=sides, mode=mode.replace("_", "-"), **more)
    return y.permute(0, 2, 3, 1) if layout == "nhwc" else y


IN_FLOAT32 = {
    **{name: _convolution(name) for name in ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d")},
    "dwconv": _dwconv,
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
    "adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "batch_norm": _batch_norm,
    "batch_norm_train": _batch_norm_train,
    "attention": _attention,
    "rope": _rope,
    "embedding": _embedding,
    "embedding_norm": _embedding_norm,
    "group_norm": _group_norm,
    "upsample": _upsample,
}
NO_ARITHMETIC = ("lse", "max_q", "max_k", "math", "accumulate")  # options of the request alone


def test_every_gradient_is_checked():
    for op in OPERATORS.values():
        if op.name in autograd.FORMULAS:
            assert ("f64" in op.dtypes) != (op.name in IN_FLOAT32), op.name


@pytest.mark.parametrize("op, inputs, options", [p for p in WITH_GRADIENT if p.values[0].name in IN_FLOAT32])
def test_gradient_in_float32(op, inputs, options):
    made = tensors(op, inputs, requires_grad=True)
    wide = {k: t.detach().double().requires_grad_() if t.requires_grad else t for k, t in made.items()}
    got = overload(op)(**made, **options)
    want = IN_FLOAT32[op.name](**wide, **{k: v for k, v in options.items() if k not in NO_ARITHMETIC})
    want = want if isinstance(want, tuple) else (want,)
    got = (got if isinstance(got, (list, tuple)) else (got,))[: len(want)]  # attention's lse has a test of its own
    random = torch.Generator().manual_seed(2)
    dy = [torch.randn(y.shape, generator=random) for y in got]
    for y, w in zip(got, want, strict=True):
        torch.testing.assert_close(y.double(), w, rtol=1e-5, atol=1e-5)
    names = [name for name, t in made.items() if t.requires_grad]
    found = torch.autograd.grad(got, [made[name] for name in names], dy)
    wanted = torch.autograd.grad(want, [wide[name] for name in names], [d.double() for d in dy])
    for name, g, w in zip(names, found, wanted, strict=True):
        torch.testing.assert_close(g.double(), w, rtol=1e-4, atol=1e-4, msg=lambda text, name=name: f"d{name}: {text}")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "op, inputs, options", [p for p in WITH_GRADIENT if p.values[0].name != "attention" and "math" not in p.values[2]]
)
def test_gradient_in_16_bits(op, inputs, options, dtype):
    """Of numbers of the type, beside the gradient of the same numbers in a wide one, which is checked above. What is
    rounded to the type, in a chain of four at most: the output or what an activation was given, the gradient on its way,
    the sum of two, the result."""
    made = tensors(op, inputs, dtype=dtype, requires_grad=True)
    to = torch.float64 if "f64" in op.dtypes else torch.float32
    wide = {k: t.detach().to(to).requires_grad_() if t.requires_grad else t for k, t in made.items()}
    leaves = [[t for t in of.values() if t.requires_grad] for of in (made, wide)]
    got, want = (x if isinstance(x, tuple) else (x,) for x in (overload(op)(**t, **options) for t in (made, wide)))
    random = torch.Generator().manual_seed(5)
    dy = [torch.randn(y.shape, generator=random).to(dtype) for y in got]
    found = torch.autograd.grad(got, leaves[0], [d.to(y.dtype) for d, y in zip(dy, got)])
    right = torch.autograd.grad(want, leaves[1], [d.to(to) for d in dy])
    for g, w in zip(found, right, strict=True):
        assert g.dtype == dtype
        assert (g.double() - w.double()).abs().max() <= 4 * torch.finfo(dtype).eps * w.abs().max()


@pytest.mark.parametrize(
    "name, shapes, options",
    [
        ("gemm", ((7, 40), (40, 9)), {"epilogue": "gelu"}),
        ("linear", ((7, 40), (9, 40)), {"activation": "gelu"}),
        ("softmax", ((7, 40),), {"axis": 0}),
        ("log_softmax", ((7, 40),), {}),
        ("attention", ((1, 2, 7, 40),) * 3, {"causal": "1"}),
    ],
)
def test_sums_in_two_floats(name, shapes, options):
    """Results are those of float64, rounded once or twice; gradients are float32's; under autocast float32 stays."""
    random = torch.Generator().manual_seed(8)

    def op(*tensors, **more):
        found = getattr(torch.ops.ridge, name)(*tensors, **options, **more)
        return found[0] if isinstance(found, (tuple, list)) else found

    given = [10 * torch.randn(s, generator=random) for s in shapes]
    leaves = [x.clone().requires_grad_() for x in given]
    y = op(*leaves, accumulate="two_float")
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(op(*given, accumulate="two_float"), y)
    dy = torch.randn(y.shape, generator=random)
    found, of_plain = torch.autograd.grad(y, leaves, dy), torch.autograd.grad(op(*leaves), leaves, dy)
    for g, p in zip(found, of_plain, strict=True):
        torch.testing.assert_close(g, p, rtol=1e-3, atol=1e-3)
    wide = [x.double() for x in given]
    want = {
        "gemm": lambda a, b: torch.nn.functional.gelu(a @ b),
        "linear": lambda x, w: torch.nn.functional.gelu(x @ w.T),
        "softmax": lambda x: x.softmax(0),
        "log_softmax": lambda x: x.log_softmax(-1),
        "attention": lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    }[name](*wide)
    rounded = (2.0**-22 if name in ("gemm", "linear", "log_softmax") else 2.0**-24 * 1.01) * want.abs() + 2.0**-20 * (
        name == "log_softmax"
    )
    assert ((y.double() - want).abs() <= rounded + 1e-37).all()


@pytest.mark.parametrize("math_of_products, lost", [("tf32", 2.0**-10 * (1 + 2.0**-12)), ("3xtf32", 0)])
def test_gradient_by_named_math(math_of_products, lost):
    """Each factor is rounded to TF32; the sums are float32's."""
    random = torch.Generator().manual_seed(6)
    x, w, dy = (torch.randn(s, generator=random) for s in ((9, 40), (7, 40), (9, 7)))
    want = (dy.double() @ w.double(), dy.T.double() @ x.double())
    size = (dy.abs().double() @ w.abs().double(), dy.T.abs().double() @ x.abs().double())
    for product in (
        lambda x, w: torch.ops.ridge.linear(x, w, math=math_of_products),
        lambda x, w: torch.ops.ridge.gemm(x, w, layout="nt", math=math_of_products),
    ):
        leaves = [x.clone().requires_grad_(), w.clone().requires_grad_()]
        found = torch.autograd.grad(product(*leaves), leaves, dy)
        for g, right, s in zip(found, want, size, strict=True):
            assert ((g.double() - right).abs() <= (lost + 16 * 2.0**-24) * s).all()


def attention_gradients(q, k, v, do, scale, attends):
    """dq, dk and dv by definition, and of each the sum of magnitudes that roundings are relative to."""
    share = q.shape[1] // k.shape[1]

    def of_group(x):  # heads that share keys, summed
        return x.reshape(x.shape[0], -1, share, *x.shape[2:]).sum(2)

    wide_k, wide_v = (x.repeat_interleave(share, 1) for x in (k, v))
    p = (scale * q @ wide_k.mT).masked_fill(~attends, -math.inf).softmax(-1)
    o, dp = p @ wide_v, do @ wide_v.mT
    ds = p * (dp - (do * o).sum(-1, keepdim=True)) * scale
    size = p * (do.abs() @ wide_v.mT.abs() + (do * o).abs().sum(-1, keepdim=True)) * scale
    right = (ds @ wide_k, of_group(ds.mT @ q), of_group(p.mT @ do))
    return right, (size @ wide_k.abs(), of_group(size.mT @ q.abs()), of_group(p.mT @ do.abs()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rule", ["", "causal", "window", "mask"])
def test_gradient_of_attention_in_16_bits(dtype, rule):
    """Heads that share keys, D other than Dv, masks. What is rounded to the type: O, weights, gradients of scores, results;
    the rest is float32, and its error small beside these."""
    random = torch.Generator().manual_seed(3)
    shapes = ((2, 4, 7, 24), (2, 2, 11, 24), (2, 2, 11, 16), (2, 4, 7, 16))
    q, k, v, do = (torch.randn(shape, generator=random).to(dtype) for shape in shapes)
    away = torch.arange(11) - torch.arange(7)[:, None]
    mask = torch.rand((4, 7, 11), generator=random) < 0.6
    attends = {"causal": away <= 4, "window": (away <= 1) & (away >= -3), "mask": mask}.get(rule, away < 99)
    options = {"causal": {"causal": "lower_right"}, "window": {"window": "3,1"}}.get(rule, {})
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    [o] = torch.ops.ridge.attention(*leaves, mask if rule == "mask" else None, **options)
    found = torch.autograd.grad(o, leaves, do)
    right, sizes = attention_gradients(*(x.double() for x in (q, k, v, do)), 24**-0.5, attends)
    for got, want, size in zip(found, right, sizes, strict=True):
        assert got.dtype == dtype
        assert ((got.double() - want).abs() <= 4 * torch.finfo(dtype).eps / 2 * size + 2.0**-24).all()


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("of_o", [False, True])
def test_gradient_of_lse(layout, of_o):
    """Of the logarithm of the sum, alone and beside O."""
    random = torch.Generator().manual_seed(4)
    q, k, v = (torch.randn(2, 3, 5, 8, generator=random, requires_grad=True) for _ in range(3))
    to_layout = (lambda x: x.transpose(1, 2)) if layout == "bshd" else (lambda x: x)
    o, lse = torch.ops.ridge.attention(*map(to_layout, (q, k, v)), lse=True, layout=layout, scale=0.7)
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    scores = 0.7 * wide[0] @ wide[1].mT
    weights = torch.randn(o.shape, generator=random)
    right = lambda o, lse: lse.sin().sum() + (o * weights).sum() * of_o  # noqa: E731
    found = torch.autograd.grad(right(o, lse), (q, k, v))
    want = torch.autograd.grad(right(to_layout(scores.softmax(-1) @ wide[2]), scores.logsumexp(-1)), wide)
    for g, w in zip(found, want, strict=True):
        torch.testing.assert_close(g.double(), w, rtol=1e-4, atol=1e-5)


def test_a_sum_alone_has_a_gradient():
    """Of an operator with two results, only one of which is used."""
    x, residual, gamma = torch.randn(3, 9), torch.randn(3, 9), torch.randn(9)
    leaves = [t.requires_grad_() for t in (x, residual, gamma)]
    y, total = torch.ops.ridge.add_rms_norm(*leaves)
    dx, dresidual, dgamma = torch.autograd.grad(total.sum(), leaves, allow_unused=True)
    assert bool((dx == 1).all()) and bool((dresidual == 1).all()) and dgamma is None
    y, _ = torch.ops.ridge.add_rms_norm(*leaves)
    want = torch.autograd.grad(torch.nn.functional.rms_norm(x + residual, (9,), gamma, 1e-5).sum(), leaves)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), leaves), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["rms", "layer"])
@pytest.mark.parametrize("of_x, of_y", [(True, False), (False, True)])
def test_either_result_of_embedding_norm_has_a_gradient(mode, of_x, of_y):
    """A table's row that is named twice, one index outside of it; and of vectors alone, of a table that has none."""
    table, gamma, beta = torch.randn(5, 8), torch.randn(8), torch.randn(8)
    indices = torch.tensor([[1, 4], [1, 5]])
    leaves = [t.requires_grad_() for t in (table, gamma, beta)]
    wide = [t.detach().double().requires_grad_() for t in leaves]
    results = torch.ops.ridge.embedding_norm(table, indices, gamma, beta, mode=mode)
    wanted = _embedding_norm(wide[0], indices, *wide[1:], mode=mode)
    weights = torch.randn(2, 2, 8)
    loss, right = (sum((y * weights).sum() for y, of in zip(pair, (of_x, of_y)) if of) for pair in (results, wanted))
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    want = torch.autograd.grad(right, wide, allow_unused=True)
    assert [g is None for g in found] == [g is None for g in want]
    for g, w in zip(found, want, strict=True):
        if w is not None:
            torch.testing.assert_close(g.double(), w, rtol=1e-4, atol=1e-4)
    if of_y:
        y = torch.ops.ridge.embedding_norm(table.detach(), indices, gamma, beta, mode=mode)[1]
        alone = torch.autograd.grad((y * weights).sum(), leaves[1:])
        torch.testing.assert_close(alone, found[1:], rtol=0, atol=0)


CACHES = {  # how a cache of 2 sequences of 32 rows lies, and where rows [b, rows, h, d] are in it
    "bhsd": ((2, 2, 32, 8), lambda cache: cache.transpose(1, 2)),
    "bshd": ((2, 32, 2, 8), lambda cache: cache),
    "pages": ((5, 16, 2, 8), lambda cache: cache[torch.tensor([[3, 0], [1, 4]])].flatten(1, 2)),
}


def rope_cache_request(layout):
    random = torch.Generator().manual_seed(7)
    q, k, v = (torch.randn(2, 3, heads, 8, generator=random) for heads in (4, 2, 2))
    shape, rows = CACHES[layout]
    caches = [torch.full(shape, 7.0) for _ in "kv"]
    positions = torch.tensor([[4, 31, 32], [-1, 0, 17]])  # two of them are no rows
    table = torch.tensor([[3, 0], [1, 4]], dtype=torch.int32) if layout == "pages" else None
    options = {"rotary_dim": 6, "layout": None if layout == "pages" else layout}
    return [q, k, v, *caches, positions, None, None, table], options, rows


@pytest.mark.skipif("rope_cache" not in OPERATORS, reason="this build has no rope_cache")
@pytest.mark.parametrize("layout", CACHES)
@pytest.mark.parametrize("compiled", [False, True])
def test_caches_are_written_in_place(layout, compiled):
    arguments, options, rows = rope_cache_request(layout)
    q, k, v, k_cache, v_cache, positions, *_ = arguments

    def step(*tensors):
        return torch.ops.ridge.rope_cache_(*tensors, **options)

    torch._dynamo.reset()
    got = torch.compile(step, fullgraph=True, backend="aot_eager")(*arguments) if compiled else step(*arguments)
    torch.testing.assert_close(got, torch.ops.ridge.rope(q, positions, rotary_dim=6), rtol=0, atol=0)
    turned = torch.ops.ridge.rope(k, positions, rotary_dim=6)
    for cache, x in ((k_cache, turned), (v_cache, v)):
        want = torch.full((2, 32, 2, 8), 7.0)
        for b, s in ((0, 0), (0, 1), (1, 1), (1, 2)):
            want[b, positions[b, s]] = x[b, s]
        torch.testing.assert_close(rows(cache), want, rtol=0, atol=0)
    if layout == "pages":
        assert bool((k_cache[2] == 7).all())  # nobody's


@pytest.mark.skipif("rope_cache" not in OPERATORS, reason="this build has no rope_cache")
@pytest.mark.parametrize("layout", CACHES)
def test_opcheck_of_caches_in_place(layout):
    arguments, options, _ = rope_cache_request(layout)
    torch.library.opcheck(torch.ops.ridge.rope_cache_.default, arguments, options)


@pytest.mark.skipif("rope_cache" not in OPERATORS, reason="this build has no rope_cache")
def test_caches_that_do_not_fit_are_refused():
    [q, k, v, k_cache, v_cache, *_], _, _ = rope_cache_request("bhsd")
    with pytest.raises(ValueError, match="k_cache.shape"):
        ridge.torch.rope_cache_(q, k, v, k_cache[0], v_cache)
    with pytest.raises(ValueError, match="v_cache.shape"):
        ridge.torch.rope_cache_(q, k, v, k_cache, v_cache[:, :, :5])
    with pytest.raises(ValueError, match="overlapping"):
        ridge.torch.rope_cache_(q, k, v, k_cache, k_cache)


def test_no_gradient_is_refused():
    x = torch.randn(3, 5, requires_grad=True)
    assert not torch.ops.ridge.argmax(x).requires_grad
    y = torch.ops.ridge.checklist_window(x)
    with pytest.raises(NotImplementedError, match="checklist_window has no gradient"):
        y.sum().backward()


def test_refusals_are_ridges():
    with pytest.raises(ValueError, match="layout"):
        torch.ops.ridge.gemm(torch.ones(2, 2), torch.ones(2, 2), layout="xy")
    with pytest.raises((TypeError, ValueError), match="softmax"):
        torch.ops.ridge.softmax(torch.ones(2, 2, dtype=torch.int32))


def test_functions_take_any_value_that_means_the_same():
    x = torch.randn(2, 3, 5)
    torch.testing.assert_close(ridge.torch.permute(x, axes=(2, 0, 1)), x.permute(2, 0, 1).contiguous())
    counts = ridge.torch.histogram(x.reshape(-1), bins="4", range=[-2, 2.0], out=torch.int32)
    assert counts.dtype == torch.int32 and counts.shape == (4,)
    a, b, bias = torch.randn(4, 6), torch.randn(6, 5), torch.randn(5)
    torch.testing.assert_close(ridge.torch.gemm(a, b, bias=bias, epilogue="bias", alpha=2), 2 * (a @ b) + bias)
    q = x[None]
    torch.testing.assert_close(ridge.torch.attention(q, q, q), torch.ops.ridge.attention(q, q, q)[0])
    with pytest.raises(AttributeError, match="no operator 'nothing'"):
        ridge.torch.nothing


def test_views():
    x = torch.randn(6, 10)[::2, 1::3]
    torch.testing.assert_close(torch.ops.ridge.softmax(x), x.softmax(-1))
    torch.testing.assert_close(torch.ops.ridge.add(x.t(), x.t()), 2 * x.t())


def layer(x, w, b):
    return torch.ops.ridge.softmax(torch.ops.ridge.gemm(x, w, bias=b, epilogue="bias+relu"))


def reference(x, w, b):
    return (x @ w + b).relu().softmax(-1)


def test_compiles_without_a_break():
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    made = [torch.randn(*s, requires_grad=True) for s in ((5, 6), (6, 7), (7,))]
    copies = [t.detach().clone().requires_grad_() for t in made]
    y, want = compiled(*made), reference(*copies)
    torch.testing.assert_close(y, want)
    weights = torch.randn_like(y)
    (y * weights).sum().backward()
    (want * weights).sum().backward()
    for got, right in zip(made, copies):
        torch.testing.assert_close(got.grad, right.grad)


def test_inductor():
    compiled = torch.compile(lambda x: torch.ops.ridge.softmax(x * 2) + 1, fullgraph=True)
    x = torch.randn(5, 6)
    torch.testing.assert_close(compiled(x), (x * 2).softmax(-1) + 1)


def graphs_for(function, *calls):
    """How many graphs torch.compile(dynamic=True) makes for these calls."""
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=counter)
    for inputs in calls:
        torch.testing.assert_close(compiled(*inputs), function(*inputs))
    return counter.frame_count


def test_one_graph_for_all_sizes():
    sizes = ((3, 4, 5), (7, 4, 9), (30, 50, 20))
    assert graphs_for(layer, *((torch.randn(m, k), torch.randn(k, n), torch.randn(n)) for m, k, n in sizes)) == 1
    for function in (lambda x: torch.ops.ridge.permute(x, axes="2,0,1"), lambda x: torch.ops.ridge.sum(x, axis=-1)):
        assert graphs_for(function, *((torch.randn(*s),) for s in sizes)) == 1
    attend = lambda x: torch.ops.ridge.attention(x, x, x, causal="upper_left")[0]  # noqa: E731
    assert graphs_for(attend, *((torch.randn(2, *s),) for s in sizes)) == 1


def test_a_block_of_attention_compiles():
    """Lists, optional results and the gradients that are computed again, in one graph with its backward pass."""

    def block(table, indices, gamma, w):
        x = torch.ops.ridge.embedding(table, indices)  # [b, s, h * d]
        h, _ = torch.ops.ridge.add_rms_norm(x, x, gamma)
        q, k, v = torch.ops.ridge.linear(h, w).unflatten(-1, (3, 2, 8)).unbind(-3)
        q, k = torch.ops.ridge.rope(q), torch.ops.ridge.rope(k)
        return ridge.torch.attention(q, k, v, causal="upper_left", layout="bshd").flatten(-2)

    indices = torch.tensor([[1, 4, 0], [2, 2, 5]])
    weights = [torch.randn(shape, requires_grad=True) for shape in ((6, 16), (16,), (48, 16))]
    torch._dynamo.reset()
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    runs = [(f(weights[0], indices, *weights[1:]), weights) for f in (block, compiled)]
    torch.testing.assert_close(*(y for y, _ in runs))
    dy = torch.randn(runs[0][0].shape)
    torch.testing.assert_close(*(torch.autograd.grad(y, leaves, dy) for y, leaves in runs))


def symbolic(*sizes):
    """Shapes of symbols, as a compiler has them in its hands."""
    from torch._dynamo.source import ConstantSource
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    mode = FakeTensorMode(shape_env=ShapeEnv())
    return [
        mode.from_tensor(
            torch.empty(size),
            source=ConstantSource(f"t{i}"),
            symbolic_context=StatelessSymbolicContext([DimDynamic.DYNAMIC] * len(size)),
        ).shape
        for i, size in enumerate(sizes)
    ]


def are_symbols(shape):
    """Which extents are still free, and not guarded to be the number that they are."""
    return [bool(extent.node.expr.free_symbols) for extent in shape]


def test_extents_that_are_copied_stay_symbols():
    [x] = symbolic((6, 10))
    [(_, shape)] = shapes.infer_symbolic(lambda s: [("f32", (s[0][1], 7, s[0][0]))], [x])
    assert shape[0] is x[1] and shape[1] == 7 and shape[2] is x[0]
    assert are_symbols(x) == [True, True]


def test_extents_that_are_computed_make_their_symbols_concrete():
    [x] = symbolic((6, 10, 21))
    [(_, shape)] = shapes.infer_symbolic(lambda s: [("f32", (s[0][0], (s[0][2] - 3) // 2 + 1))], [x])
    assert shape[0] is x[0] and shape[1] == 10
    assert are_symbols(x) == [True, True, False]


def test_extents_that_have_to_divide_each_other_stay_symbols():
    def infer(s):
        if s[0][0] % s[1][0]:
            raise ValueError("heads")
        return [("f32", (s[0][0], s[1][1]))]

    [q, k] = symbolic((8, 5), (2, 7))
    [(_, shape)] = shapes.infer_symbolic(infer, [q, k])
    assert shape[0] is q[0] and shape[1] is k[1]
    assert are_symbols(q) + are_symbols(k) == [True] * 4


def test_a_request_that_is_refused_for_its_real_sizes_is_refused():
    def infer(s):
        raise ValueError("never")

    [x] = symbolic((6, 10))
    with pytest.raises(ValueError, match="never"):
        shapes.infer_symbolic(infer, [x])
