"""ridge.torch under what PyTorch does to operators: torch.func, forward mode, autocast, version counters, checkpoints.

Each test is over all operators, as the registry has them, so that a new one is held to the same.
"""

import concurrent.futures
import copy
import io
import os
import warnings

import pytest

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from torch_samples import OPERATORS, REQUESTS, WITH_GRADIENT, overload, samples, tensors  # noqa: E402

import ridge  # noqa: E402
import ridge.torch  # noqa: E402
from ridge.torch import accept, autocast, schema  # noqa: E402
from ridge.torch.autograd import FORMULAS  # noqa: E402


def flat(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def floats(made):
    return [name for name, t in made.items() if t.is_floating_point()]


def scalar(outputs):
    """A number that every float output has a part in."""
    results = [t.double() for t in flat(outputs) if t.is_floating_point()]
    return sum((t * torch.linspace(1, 2, t.numel()).reshape(t.shape)).sum() for t in results)


# ---- torch.func ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op, inputs, options", WITH_GRADIENT)
def test_func_grad_is_the_gradient_of_backward(op, inputs, options):
    made = tensors(op, inputs, requires_grad=True)
    differentiable = [name for name, t in made.items() if t.requires_grad]

    def loss(*given):
        return scalar(overload(op)(**(made | dict(zip(differentiable, given))), **options))

    loss(*(made[name] for name in differentiable)).backward()
    plain = [made[name].detach() for name in differentiable]
    found = torch.func.grad(loss, argnums=tuple(range(len(plain))))(*plain)
    for name, gradient in zip(differentiable, found):
        torch.testing.assert_close(gradient, made[name].grad, rtol=0, atol=0)


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_vmap_is_one_call_after_another(op, inputs, options):
    """Over every input by itself and over all of them, along another axis than the first where there is one."""
    made = tensors(op, inputs)
    names = [name for name in schema.arguments(op) if name in made]
    for batched in [*([name] for name in names), names]:
        given, dims = {}, {}
        for name in names:
            t = made[name]
            if name in batched:
                other = t * 0.5 if t.is_floating_point() else t
                dims[name] = min(1, t.dim())
                given[name] = torch.stack((t, other, t), dims[name])
            else:
                given[name], dims[name] = t, None

        def call(*arguments):
            return overload(op)(**dict(zip(names, arguments)), **options)

        order = [given[name] for name in names]
        one_by_one = [
            flat(call(*(t if dims[n] is None else t.select(dims[n], i).contiguous() for n, t in zip(names, order))))
            for i in range(3)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = flat(torch.func.vmap(call, in_dims=tuple(dims[name] for name in names))(*order))
        for got, want in zip(found, zip(*one_by_one), strict=True):
            torch.testing.assert_close(got, torch.stack(want), equal_nan=True)


@pytest.mark.parametrize(
    "name, options, own, why",
    [
        ("softmax", {}, (), "x.shape"),
        ("layer_norm", {}, (), "x.shape"),
        ("softmax", {"axis": -2}, (3,), "axis is -2"),
        ("sum", {"axis": -2}, (3,), "axis is -2"),
        ("sum", {"axis": [0, -2], "keepdims": True}, (3,), "axis is 0,-2"),
        ("argmax", {"axis": 1}, (3,), "axis is 1"),
        ("layer_norm", {"axes": 2}, (3,), "axes is 2"),
    ],
)
def test_a_batch_is_no_axis_of_what_is_in_it(name, options, own, why):
    with pytest.raises(ValueError, match=f"{name}: {why}"):
        torch.func.vmap(lambda x: getattr(torch.ops.ridge, name)(x, **options))(torch.randn(5, *own))


@pytest.mark.parametrize("turn", [lambda y: y.transpose(1, 2).reshape(2, -1), lambda y: y.sum(1), lambda y: y.mT])
@pytest.mark.parametrize("name", ["gemm", "layer_norm"])
def test_gradients_that_lie_otherwise(name, turn):
    """Of operators that merge axes: an upstream gradient is permuted, or repeated without a copy."""
    x = torch.randn(2, 3, 4, 5, requires_grad=True)
    w = torch.randn(2, 3, 5, 6) if name == "gemm" else torch.randn(4, 5)
    ours = torch.ops.ridge.gemm(x, w) if name == "gemm" else torch.ops.ridge.layer_norm(x, w, axes=2)
    theirs = x @ w if name == "gemm" else torch.nn.functional.layer_norm(x, (4, 5), w)
    again = torch.randn(turn(theirs).shape)
    found, expected = (torch.autograd.grad((turn(y) * again).sum(), x)[0] for y in (ours, theirs))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_jacobians_of_reverse_mode():
    x = torch.randn(3, 5, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = torch.func.jacrev(torch.ops.ridge.softmax)(x)
    torch.testing.assert_close(found, torch.func.jacrev(lambda x: x.softmax(-1))(x))


def test_gradients_of_each_example():
    """Of a layer's weight, for every example by itself: grad under vmap."""
    x, w = torch.randn(4, 3, 5, dtype=torch.float64), torch.randn(6, 5, dtype=torch.float64)

    def loss(linear, w, x):
        return linear(x, w).square().sum()

    found = torch.func.vmap(torch.func.grad(lambda w, x: loss(torch.ops.ridge.linear, w, x)), (None, 0))(w, x)
    want = torch.func.vmap(torch.func.grad(lambda w, x: loss(torch.nn.functional.linear, w, x)), (None, 0))(w, x)
    torch.testing.assert_close(found, want)


def test_second_derivatives():
    x = torch.randn(5, dtype=torch.float64)
    found = torch.func.grad(lambda x: torch.func.grad(lambda x: torch.ops.ridge.exp(x).sum())(x).square().sum())(x)
    torch.testing.assert_close(found, 2 * (2 * x).exp())


def test_transforms_are_compiled():
    x = torch.randn(5)
    f = torch.func.grad(lambda x: torch.ops.ridge.silu(x).sum())
    torch.testing.assert_close(torch.compile(f, backend="aot_eager", fullgraph=True)(x), f(x))


# ---- forward mode: refused, where it was dropped ---------------------------------------------------------------------


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_forward_mode_is_refused(op, inputs, options):
    made = tensors(op, inputs)
    for name in floats(made):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(made[name], torch.ones_like(made[name]))
            with pytest.raises(NotImplementedError, match=f"ridge::{op.name} has no derivative in forward mode"):
                overload(op)(**(made | {name: dual}), **options)
        with pytest.raises(NotImplementedError, match="no derivative in forward mode"):
            torch.func.jvp(
                lambda t, name=name: overload(op)(**(made | {name: t}), **options),
                (made[name],),
                (torch.ones_like(made[name]),),
            )


def test_caches_in_place_have_no_derivatives():
    q, k, v = (torch.randn(1, 2, heads, 8) for heads in (2, 1, 1))
    caches = [torch.zeros(1, 1, 4, 8) for _ in "kv"]
    with pytest.raises(NotImplementedError, match="ridge::rope_cache_ has no gradient"):
        ridge.torch.rope_cache_(q.requires_grad_(), k, v, *caches)
    with torch.no_grad():
        ridge.torch.rope_cache_(q, k, v, *caches)
    assert [cache._version > 0 for cache in caches] == [True, True]
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="no derivative in forward mode"):
        ridge.torch.rope_cache_(forward_ad.make_dual(q.detach(), q.detach()), k, v, *caches)


def test_constants_pass_forward_mode():
    x = torch.randn(3, 4)
    with forward_ad.dual_level():
        assert torch.equal(torch.ops.ridge.softmax(x), torch.ops.ridge.softmax(x.clone()))


# ---- autocast --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_autocast(op, inputs, options, dtype):
    made = tensors(op, inputs, dtype=torch.float32)
    with torch.autocast("cpu", dtype):
        found = flat(overload(op)(**made, **options))
    cast = torch.float32
    if op.name in autocast.PRODUCTS and options.get("accumulate") != "two_float":
        cast = dtype
        options = {k: v for k, v in options.items() if k != "math"}  # of float32
    as_cast = {n: t.to(cast) if t.is_floating_point() else t for n, t in made.items()}
    for got, want in zip(found, flat(overload(op)(**as_cast, **options)), strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", sorted(autocast.IN_FLOAT32))
def test_autocast_widens(name):
    op = OPERATORS[name]
    inputs, options = samples(op)[0]
    made = tensors(op, inputs, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        found = flat(overload(op)(**made, **options))
    assert all(t.dtype == torch.float32 for t in found)


def test_autocast_leaves_float64():
    x = torch.randn(3, 4, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.ops.ridge.softmax(x).dtype == torch.float64


def test_a_block_trains_under_autocast():
    """Products in bfloat16, norms in float32, weights and their gradients in float32."""
    x, gamma, w = (torch.randn(*shape, requires_grad=True) for shape in ((4, 8), (8,), (6, 8)))
    with torch.autocast("cpu", torch.bfloat16):
        y = torch.ops.ridge.linear(torch.ops.ridge.rms_norm(x, gamma), w)
        assert y.dtype == torch.bfloat16
        loss = torch.ops.ridge.softmax(y).square().sum()
    loss.backward()
    assert {t.grad.dtype for t in (x, gamma, w)} == {torch.float32}


# ---- tensors that are written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_a_callers_result_counts_as_changed(op, inputs, options):
    """A backward pass that saved it says so, as after any operation in place."""
    made = tensors(op, inputs)
    options = {k: v for k, v in options.items() if k != "out"}  # a dtype, where out is not the tensor
    outputs = flat(getattr(ridge, op.name)(**made, **options))
    into = [torch.empty_like(t) for t in outputs]
    view = [t.view_as(t) for t in into]
    before = [t._version for t in into]
    getattr(ridge, op.name)(**made, **options, out=tuple(view) if len(view) > 1 else view[0])
    assert [t._version for t in into] == [v + 1 for v in before]


def test_backward_refuses_what_a_call_has_changed():
    x = torch.randn(5, requires_grad=True)
    c = torch.randn(5)
    y = x * c
    ridge.relu(torch.randn(5), out=c)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_plans_count_their_results_as_changed():
    plan = ridge.plan("relu", ridge.Spec((5,), "f32"), device="cpu")
    out = torch.empty(5)
    plan.run(torch.randn(5), out=out)
    assert out._version == 1


# ---- gradients that were not right -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(0, 3, 6), (2, 3, 6), (0, 0, 0)])
def test_rows_of_no_sequence_have_no_gradient(ends):
    """Packed sequences with rows before and behind them: these attend to nothing, whatever memory held."""
    cu = torch.tensor(ends, dtype=torch.int32)
    torch.empty(10, 2, 8).fill_(float("nan"))  # likely to be what the results are made of
    q, k, v = (torch.randn(10, 2, 8, requires_grad=True) for _ in range(3))
    o, lse = torch.ops.ridge.attention(q, k, v, None, cu, cu, lse=True, max_q=4, max_k=4)
    inside = torch.zeros(10, dtype=torch.bool)
    inside[ends[0] : ends[-1]] = True
    assert not o[~inside].any() and (lse[~inside] if lse.shape[0] == 10 else lse.mT[~inside]).isneginf().all()
    o.sum().backward()
    for t in (q, k, v):
        assert t.grad.isfinite().all() and not t.grad[~inside].any()


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_a_gradient_beyond_float16_of_a_product_in_float32(layout):
    """d's gradient is beyond float16, and its products with small operands are not."""
    a, b = ((torch.randn(8, 8) * 2**-10).half().requires_grad_() for _ in range(2))
    g = torch.randn(8, 8) * 2**20
    torch.ops.ridge.gemm(a, b, layout=layout, out="f32").backward(g)
    exact = [t.detach().double().requires_grad_() for t in (a, b)]
    left, right = (t.mT if kind == "t" else t for t, kind in zip(exact, layout))
    (left @ right).backward(g.double())
    for t, wide in zip((a, b), exact):
        torch.testing.assert_close(t.grad.double(), wide.grad, rtol=2e-3, atol=8)


def test_a_large_gradient_cancels_before_it_narrows():
    a = torch.zeros(1, 2, dtype=torch.float16, requires_grad=True)
    b = torch.ones(2, 2, dtype=torch.float16)
    torch.ops.ridge.gemm(a, b, out="f32").backward(torch.tensor([[2.0**20, 2.0**10 - 2.0**20]]))
    assert a.grad.tolist() == [[1024.0, 1024.0]]


# ---- copies, checkpoints ---------------------------------------------------------------------------------------------


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.randn(8))
        self.w = torch.nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        return x + ridge.torch.silu(ridge.torch.linear(ridge.torch.rms_norm(x, self.gamma), self.w))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints(use_reentrant):
    block = Block()
    again = copy.deepcopy(block)
    x = torch.randn(4, 8)
    block(x).square().sum().backward()
    checkpoint(again, x.clone().requires_grad_(), use_reentrant=use_reentrant).square().sum().backward()
    for plain, checkpointed in zip(block.parameters(), again.parameters()):
        assert torch.equal(plain.grad, checkpointed.grad)


def test_deterministic_mode():
    torch.use_deterministic_algorithms(True)
    try:
        block, x = Block(), torch.randn(4, 8)
        assert torch.equal(block(x), block(x))
    finally:
        torch.use_deterministic_algorithms(False)


# ---- what PyTorch's users write without thinking ---------------------------------------------------------------------

MIXED = [p for p in REQUESTS if accept.PARAMETERS & set(p.values[1]) and not p.values[0].name.startswith("rope")]


@pytest.mark.parametrize("wide, narrow", [(torch.float32, torch.bfloat16), (torch.float16, torch.float32)])
@pytest.mark.parametrize("op, inputs, options", MIXED)
def test_parameters_of_another_float_type(op, inputs, options, wide, narrow):
    """wide is that of the parameters. What is computed in float32 is rounded to x's type once; gradients have each
    tensor's own."""
    if {torch.bfloat16: "bf16", torch.float32: "f32"}[narrow] not in op.dtypes:
        pytest.skip("of other types")
    made = tensors(op, inputs, dtype=narrow)
    made = {n: t.to(wide) if n in accept.PARAMETERS else t for n, t in made.items()}
    found = flat(overload(op)(**made, **options))
    exact = flat(overload(op)(**{n: t.float() if t.is_floating_point() else t for n, t in made.items()}, **options))
    for got, want in zip(found, exact, strict=True):
        torch.testing.assert_close(got.float(), want, rtol=1e-2, atol=1e-2)
    if op.name in FORMULAS and any(t.dtype == narrow for t in found):
        made = {n: t.requires_grad_(t.is_floating_point()) for n, t in made.items()}
        scalar(overload(op)(**made, **options)).backward()
        assert all(t.grad is None or t.grad.dtype == t.dtype for t in made.values())


@pytest.mark.parametrize("op, inputs, options", [p for p in REQUESTS if accept.PARAMETERS & set(p.values[1])])
def test_parameters_are_widened_where_they_must_be(op, inputs, options):
    """A copy of x in float32 costs more than many an operator: what takes float32 parameters as they are gets them so."""
    if "bf16" not in op.dtypes:
        pytest.skip("of other types")
    made = tensors(op, inputs, dtype=torch.bfloat16)
    made = {n: (t.float() if n in accept.PARAMETERS else t).detach() for n, t in made.items()}
    try:
        getattr(ridge, op.name)(*[made.get(name) for name in op.inputs], **options)
        taken = True
    except (TypeError, ValueError):
        taken = False
    assert accept.mixes_types(op, made) == (not taken)


@pytest.mark.parametrize(
    "left, right",
    [
        ((2, 1, 4, 6), (1, 3, 6, 5)),
        ((2, 3, 4, 6), (3, 6, 5)),
        ((3, 4, 6), (2, 1, 6, 5)),
        ((2, 1, 3, 4, 6), (2, 3, 6, 5)),
        ((4, 6), (2, 3, 6, 5)),
        ((1, 1, 4, 6), (2, 3, 6, 5)),
    ],
)
def test_batches_of_products_broadcast(left, right):
    ours, theirs = ([torch.randn(s, generator=torch.Generator().manual_seed(3)) for s in (left, right)] for _ in "ab")
    for made in (ours, theirs):
        for t in made:
            t.requires_grad_()
    y, expected = torch.ops.ridge.gemm(*ours), theirs[0] @ theirs[1]
    torch.testing.assert_close(y, expected)
    y.square().sum().backward(), expected.square().sum().backward()
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)
    compiled = torch.compile(lambda a, b: torch.ops.ridge.gemm(a, b), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*(t.detach() for t in ours)), expected)


def test_axes_that_do_not_merge():
    a, w = torch.randn(2, 5, 3, 6).transpose(1, 2), torch.randn(7, 6)
    torch.testing.assert_close(torch.ops.ridge.gemm(a, torch.randn(6, 7).copy_(w.T)), a @ w.T)
    torch.testing.assert_close(torch.ops.ridge.linear(a, w), a @ w.T)
    r = torch.randn(1, 1, 5, 7)
    torch.testing.assert_close(torch.ops.ridge.linear(a, w, None, r), a @ w.T + r)


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
def test_histograms_of_integers(dtype):
    x = torch.randint(-300, 300, (1000,), dtype=dtype)
    counts = ridge.torch.histogram(x, bins=6, range="-300,300")
    assert torch.equal(counts.long(), torch.histc(x.double(), 6, -300, 300).long())


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_means_of_integers_do_not_wrap(dtype):
    x = torch.full((3, 5), torch.iinfo(dtype).max, dtype=dtype)
    torch.testing.assert_close(torch.ops.ridge.mean(x, axis=-1), x.double().mean(-1))


@pytest.mark.parametrize("layout", [None, "bshd"])
def test_attention_with_sinks(layout):
    ours, theirs = ([torch.randn(2, h, 5, 8) for h in (4, 2, 2)] + [torch.randn(4)] for _ in "ab")
    for a, b in zip(ours, theirs):
        b.copy_(a)
        a.requires_grad_(), b.requires_grad_()
    q, k, v, sinks = theirs
    k, v = (t.repeat_interleave(2, 1) for t in (k, v))
    scores = (q @ k.mT * 0.5).masked_fill(torch.ones(5, 5).triu(1).bool(), -float("inf"))
    scores = torch.cat((scores, sinks[:, None, None].expand(2, 4, 5, 1)), -1)
    expected = scores.softmax(-1)[..., :-1] @ v
    turn = (lambda t: t.transpose(1, 2)) if layout else (lambda t: t)
    found = ridge.torch.attention_with_sinks(
        *map(turn, ours[:3]), ours[3], causal="upper_left", scale=0.5, layout=layout
    )
    torch.testing.assert_close(turn(found), expected, rtol=1e-4, atol=1e-5)
    turn(found).square().sum().backward(), expected.square().sum().backward()
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4)


# ---- every operator, under what else PyTorch does --------------------------------------------------------------------


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_deterministic_algorithms(op, inputs, options):
    made = tensors(op, inputs)
    torch.use_deterministic_algorithms(True)
    try:
        first, second = (flat(overload(op)(**made, **options)) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    for a, b in zip(first, second, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("op, inputs, options", WITH_GRADIENT)
def test_checkpointed_gradients(op, inputs, options, use_reentrant):
    plain, again = (tensors(op, inputs, requires_grad=True) for _ in range(2))
    scalar(overload(op)(**plain, **options)).backward()
    names = list(again)

    def call(*given):
        return scalar(overload(op)(**dict(zip(names, given)), **options))

    checkpoint(call, *again.values(), use_reentrant=use_reentrant).backward()
    for name in names:
        if plain[name].grad is not None:
            torch.testing.assert_close(again[name].grad, plain[name].grad, rtol=0, atol=0)


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_exported_programs(op, inputs, options):
    """torch.export, and what it saves and loads again."""
    made = tensors(op, inputs)

    class Module(torch.nn.Module):
        def forward(self, given):
            return flat(overload(op)(**given, **options))

    program = torch.export.export(Module(), (made,), strict=False)
    saved = io.BytesIO()
    torch.export.save(program, saved)
    saved.seek(0)
    for one in (program, torch.export.load(saved)):
        for a, b in zip(one.module()(made), flat(overload(op)(**made, **options)), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def _all_of_them():
    return [flat(overload(p.values[0])(**tensors(*p.values[:2]), **p.values[2])) for p in REQUESTS]


def _agree(found, expected):
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_threads_at_once():
    expected = _all_of_them()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: _all_of_them(), range(4)):
            _agree(found, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_processes():
    """A child has what its parent has, as workers of a data loader do."""
    expected = _all_of_them()
    child = os.fork()
    if not child:
        try:
            torch.set_num_threads(1)
            _agree(_all_of_them(), expected)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
@pytest.mark.parametrize(
    "kind, make",
    [
        ("float8", lambda t: t.to(torch.float8_e4m3fn)),
        ("complex", lambda t: t.to(torch.complex64)),
        ("sparse", lambda t: t.to_sparse()),
        ("nested", lambda t: torch.nested.nested_tensor([t, t])),
        ("quantized", lambda t: torch.quantize_per_tensor(t, 0.1, 0, torch.qint8)),
    ],
)
def test_other_kinds_of_tensors_are_taken_or_refused(op, inputs, options, kind, make):
    """An error of Python, with a reason; no wrong result, and no crash. float8 that is taken is right by the operator's
    own tests."""
    made = tensors(op, inputs)
    names = [name for name, t in made.items() if t.dtype == torch.float32]
    if not names:
        pytest.skip("it has no floats")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = make(made[names[0]])
        if kind == "float8" and "f8e4m3" in op.dtypes:
            return
        with pytest.raises((ValueError, TypeError, RuntimeError, NotImplementedError)) as refused:
            overload(op)(**(made | {names[0]: other}), **options)
    assert str(refused.value).strip()


class Marked(torch.Tensor):
    """A subclass that changes nothing."""


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_subclasses_and_meta_tensors(op, inputs, options):
    made = tensors(op, inputs)
    expected = flat(overload(op)(**made, **options))
    marked = {n: t.as_subclass(Marked) for n, t in made.items()}
    for a, b in zip(flat(overload(op)(**marked, **options)), expected, strict=True):
        torch.testing.assert_close(a.as_subclass(torch.Tensor), b, rtol=0, atol=0, equal_nan=True)
    meta = flat(overload(op)(**{n: t.to("meta") for n, t in made.items()}, **options))
    assert [(t.shape, t.dtype, t.device.type) for t in meta] == [(t.shape, t.dtype, "meta") for t in expected]
