"""torch.compile(model, backend="ridge"): models written as the usual libraries write them, each replaced as it should be."""

import copy
import importlib
import pathlib

import pytest

torch = pytest.importorskip("torch")
F = pytest.importorskip("torch.nn.functional")
nn = torch.nn
import ridge.torch  # noqa: E402
from ridge.bench import hub  # noqa: E402
from ridge.torch.fx import backend as fx  # noqa: E402

if "linear" not in ridge.torch.OPERATORS or "attention" not in ridge.torch.OPERATORS:
    pytest.skip("this build has not the operators of a transformer", allow_module_level=True)

WIDTH, HEADS, SHARED, D = 32, 4, 2, 8


class WrittenRmsNorm(nn.Module):
    def __init__(self, wide_first=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH))
        self.wide_first = wide_first

    def forward(self, x):
        dtype = x.dtype
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        x = (wide if self.wide_first else x) * torch.rsqrt(variance + 1e-6)
        return self.weight * x.to(dtype)


def repeat_kv(x, times):
    batch, heads, tokens, d = x.shape
    return x[:, :, None, :, :].expand(batch, heads, times, tokens, d).reshape(batch, heads * times, tokens, d)


class DecoderLayer(nn.Module):
    """As Llama is written: separate projections, heads that are repeated, a gate, norms spelled out."""

    def __init__(self):
        super().__init__()
        make = lambda out, width=WIDTH: nn.Linear(width, out, bias=False)  # noqa: E731
        self.q, self.k, self.v = make(HEADS * D), make(SHARED * D), make(SHARED * D)
        self.o, self.gate, self.up, self.down = make(WIDTH), make(48), make(48), make(WIDTH, 48)
        self.norm1, self.norm2 = WrittenRmsNorm(), WrittenRmsNorm(wide_first=False)

    def forward(self, x):
        batch, tokens, _ = x.shape
        h = self.norm1(x)
        q, k, v = (p(h).view(batch, tokens, -1, D).transpose(1, 2) for p in (self.q, self.k, self.v))
        k, v = repeat_kv(k, HEADS // SHARED), repeat_kv(v, HEADS // SHARED)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(o.transpose(1, 2).contiguous().view(batch, tokens, -1))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class EncoderLayer(nn.Module):
    """As BERT is written: dropout everywhere, norms after the sums, a mask of numbers."""

    def __init__(self):
        super().__init__()
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, mask):
        q, k, v = (t.unflatten(-1, (HEADS, D)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        o = F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)
        x = self.norm1(self.dropout(self.o(o)) + x)
        return self.norm2(self.dropout(self.down(F.gelu(self.up(x)))) + x)


def mask(tokens):
    return torch.where(torch.ones(tokens, tokens).tril() > 0, 0.0, torch.finfo(torch.float32).min)[None, None]


MODELS = {"decoder": (DecoderLayer, ()), "encoder": (EncoderLayer, (mask(6),))}


def compiled(model, **options):
    torch._dynamo.reset()
    return torch.compile(model, backend=lambda g, x: fx.backend(g, x, inductor=False, measure=False, **options))


def kinds(model):
    return sorted(entry.what for entry in ridge.torch.report(model).entries if entry.replaced)


def compare(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_inference(name):
    make, more = MODELS[name]
    torch.manual_seed(1)
    model, x = make().eval(), torch.randn(2, 6, WIDTH)
    with torch.no_grad():
        compare(compiled(model)(x, *more), model(x, *more))
    assert (
        kinds(model)
        == {
            "decoder": [
                "attention+causal",
                *["linear"] * 3,
                *["linear+residual"] * 2,
                "linear+silu+gate",
                *["rms_norm"] * 2,
            ],
            "encoder": [
                *["attention+mask", "layer_norm", "layer_norm", "linear+bias"],
                *["linear+bias+gelu", "linear+bias+residual", "linear+bias+residual"],
            ],
        }[name]
    )


@pytest.mark.parametrize("name", MODELS)
def test_training(name):
    make, more = MODELS[name]
    torch.manual_seed(2)
    model, x = make().eval(), torch.randn(2, 6, WIDTH)
    dy = torch.randn(2, 6, WIDTH)
    model(x, *more).backward(dy)
    expected = {k: p.grad.clone() for k, p in model.named_parameters()}
    model.zero_grad()
    compiled(model)(x, *more).backward(dy)
    assert "linear+silu+gate" not in kinds(model) and any(kind.startswith("add_") for kind in kinds(model))
    for key, parameter in model.named_parameters():
        scale = expected[key].abs().max()
        compare(parameter.grad / scale, expected[key] / scale)


def test_repeated_heads_are_not_copied():
    model = DecoderLayer().eval()
    graphs = []

    def keep(graph, inputs):
        run = fx.backend(graph, inputs, inductor=False, measure=False)
        graphs.append(graph)
        return run

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=keep)(torch.randn(1, 4, WIDTH))
    [call] = [n for n in graphs[0].graph.nodes if getattr(n.target, "__name__", "") == "_attention"]
    assert call.args[1].meta["example_value"].shape[1] == SHARED


def test_dynamic_shapes_are_compiled_once():
    model, count = EncoderLayer().eval(), []

    def counting(graph, inputs):
        count.append(1)
        return fx.backend(graph, inputs, inductor=False, measure=False)

    torch._dynamo.reset()
    fast = torch.compile(model, backend=counting, dynamic=True)
    with torch.no_grad():
        for tokens in (5, 6, 9):
            x = torch.randn(2, tokens, WIDTH)
            compare(fast(x, mask(tokens)), model(x, mask(tokens)))
    assert len(count) == 1


def rewritten(function):
    """A function as the backend leaves it, and what its graph's entries will be. Functions have no parameters to ask by."""
    entries = []

    def keep(graph, example):
        entries.extend(fx.replace(graph.graph, fx._is_trained(example), stopwatch=None))
        graph.recompile()
        return graph.forward

    torch._dynamo.reset()
    return torch.compile(function, backend=keep), entries


def replaced_of(function, *inputs):
    """What is replaced in a function, whose result stays what it was; and why the rest is not."""
    ours, entries = rewritten(function)
    compare(ours(*(x.clone() for x in inputs)), function(*inputs))
    return [e.what for e in entries if e.replaced], [e.why for e in entries if not e.replaced]


def packed(halves):
    return F.silu(halves[0]) * halves[1]


X, W, R, B = torch.randn(5, 16), torch.randn(24, 16), torch.randn(5, 24), torch.randn(24)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, w, r, b: F.linear(x, w), ["linear"]),
        (lambda x, w, r, b: torch.relu(F.linear(x, w, b)) + r, ["linear+bias+relu+residual"]),
        (lambda x, w, r, b: r + F.gelu(F.linear(x, w), approximate="tanh"), ["linear+gelu_tanh+residual"]),
        (lambda x, w, r, b: F.linear(x, w) + b, ["linear"]),  # a row is no residual
        (lambda x, w, r, b: torch.add(F.linear(x, w), r, alpha=2), ["linear"]),
        (lambda x, w, r, b: F.linear(x, w).sigmoid().add(r), ["linear+sigmoid+residual"]),
        (lambda x, w, r, b: (lambda y: F.silu(y) + y)(F.linear(x, w)), ["linear"]),  # y is used twice
        (lambda x, w, r, b: (lambda y: y + y)(F.linear(x, w)), ["linear"]),
        (lambda x, w, r, b: F.silu(F.linear(x, w)) * F.linear(x, w * 2), ["linear+silu+gate"]),
        (lambda x, w, r, b: F.silu(F.linear(x, w)) * F.linear(x + 1, w), ["linear+silu", "linear"]),
        (lambda x, w, r, b: F.silu(F.linear(x, w, b)) * F.linear(x, w), ["linear+bias+silu", "linear"]),
        (lambda x, w, r, b: packed(F.linear(x, w).chunk(2, dim=-1)), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(torch.chunk(F.linear(x, w), 2, 1)[::-1]), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(F.linear(x, w).split(12, -1)), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(torch.split(F.linear(x, w), [12, 12], dim=1)), ["linear+silu+gate"]),
        (lambda x, w, r, b: (lambda y: y[..., 12:] * F.gelu(y[..., :12]))(F.linear(x, w)), ["linear+gelu+gate"]),
        (lambda x, w, r, b: (lambda y: y[..., :12] * F.gelu(y[..., 12:]))(F.linear(x, w)), ["linear+gelu+gate"]),
        (lambda x, w, r, b: (lambda y: y[..., :12] * F.gelu(y[..., :12]))(F.linear(x, w)), ["linear"]),
        (lambda x, w, r, b: (lambda y: y[..., :12] * F.gelu(y[..., 12:]) + y.sum())(F.linear(x, w)), ["linear"]),
        (lambda x, w, r, b: packed(F.linear(x, w, b).chunk(2, dim=-1)), ["linear+bias"]),
        (lambda x, w, r, b: packed(F.linear(x, w).chunk(3, dim=-1)[:2]), ["linear"]),
        (lambda x, w, r, b: packed(F.linear(w, x).view(2, 12, 5)), ["linear"]),  # another axis
    ],
)
def test_products(function, expected):
    with torch.no_grad():
        assert replaced_of(function, X, W, R, B)[0] == expected


def test_writes_in_place():
    def residual_is_written(x, w, r, b):
        r += F.linear(x, w)
        return r * 2

    def product_is_written(x, w, r, b):
        y = F.linear(x, w)
        y += r
        return y * 2

    def residual_changes_between(x, w, r, b):
        y = F.linear(x, w)
        r.mul_(2)
        return y + r

    with torch.no_grad():
        assert replaced_of(residual_is_written, X, W, R, B)[0] == ["linear"]
        assert replaced_of(product_is_written, X, W, R, B)[0] == ["linear+residual"]
        assert replaced_of(residual_changes_between, X, W, R, B)[0] == ["linear"]


def test_what_does_not_fit_says_why():
    q = torch.randn(1, 2, 4, 300)
    with torch.no_grad():
        assert replaced_of(lambda q: F.scaled_dot_product_attention(q, q, q), q) == ([], ["its heads are 300 wide"])
        assert replaced_of(lambda x: F.layer_norm(x, (5, 16)), X) == ([], ["it is over several axes"])
        assert replaced_of(lambda x: F.linear(x, x), X.double()) == ([], ["its type is torch.float64"])


def test_report_and_accelerate():
    model = DecoderLayer().eval()
    assert "nothing was captured" in str(ridge.torch.report(model))
    with torch.no_grad():
        x = torch.randn(1, 4, WIDTH)
        expected = model(x)
        assert ridge.torch.accelerate(model, measure=False) is model
        compare(model(x), expected)
    text = str(ridge.torch.report(model))
    assert "linear+silu+gate" in text and text.endswith("9 of 9 are Ridge's") and "gate" in text
    # A CPU's own operators are faster than a runtime that checks.
    with torch.no_grad():
        other = ridge.torch.accelerate(EncoderLayer().eval())
        other(torch.randn(1, 6, WIDTH), mask(6))
    assert "0 of 7 are Ridge's" in str(ridge.torch.report(other))


def test_nothing_to_replace_is_no_error():
    model = torch.compile(nn.Sequential(nn.Softplus(), nn.Conv1d(2, 2, 1)), backend=ridge.torch.backend)
    assert model(torch.randn(1, 2, 8)).shape == (1, 2, 8)
    assert str(ridge.torch.report(model)) == "0 of 0 are Ridge's"


def test_under_autocast_the_types_stay_pytorchs():
    model = compiled(EncoderLayer().eval())
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        x = torch.randn(1, 6, WIDTH)
        expected, found = model._orig_mod(x, mask(6)), model(x, mask(6))
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_inductor_and_its_modes():
    """The whole way, with what is C++ here; on a GPU the same in bf16."""
    model, x = DecoderLayer().eval(), torch.randn(1, 4, WIDTH)
    torch._dynamo.reset()
    fast = torch.compile(model, backend=ridge.torch.backend, mode="max-autotune-no-cudagraphs")
    with torch.no_grad():
        compare(fast(x), model(x))
    found = {entry.what for entry in ridge.torch.report(fast).entries}
    assert {"linear+silu+gate", "linear+residual", "rms_norm", "attention+causal"} <= found


def test_the_packages_entry_point():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["torch_dynamo_backends"]["ridge"].partition(":")
    assert getattr(importlib.import_module(module), name) is ridge.torch.backend


def test_default_eps_is_that_of_float32():
    """Of 16 bits too, as PyTorch has it: rows of 1e-3 are far below bf16's own."""
    x = torch.full((2, 16), 1e-3, dtype=torch.bfloat16)
    with torch.no_grad():
        assert replaced_of(lambda x: F.rms_norm(x, (16,)), x)[0] == ["rms_norm"]


def test_parameters_that_are_made_after_the_sum():
    """The call that gives the sum stands where the sum stood: what is computed later is not there yet."""

    def function(x, r, w):
        y = x + r
        return F.rms_norm(y, (16,), 1 + w, 1e-6) + y

    with torch.no_grad():
        assert replaced_of(function, X, X * 2, W[0])[0] == ["rms_norm"]
        assert replaced_of(lambda x, r, w: F.rms_norm(x + r, (16,), w, 1e-6), X, X * 2, W[0])[0] == ["add_rms_norm"]


@pytest.mark.parametrize("tokens_first", [False, True])
def test_views_of_attentions_result(tokens_first):
    """It lies as PyTorch's: a model may take views of it that need that."""
    q = torch.randn(2, 6, 4, 8).transpose(1, 2) if tokens_first else torch.randn(2, 4, 6, 8)
    o = F.scaled_dot_product_attention(q, q, q)
    as_view = (lambda o: o.transpose(1, 2).view(2, 6, 32)) if o.stride(1) < o.stride(2) else (lambda o: o.view(8, 6, 8))
    with torch.no_grad():
        assert replaced_of(lambda q: as_view(F.scaled_dot_product_attention(q, q, q)), q)[0] == ["attention"]


def written(q, k, v, mask=None, scale=0.5, softcap=None, turned=True):
    s = torch.matmul(q, k.transpose(2, 3)) * scale
    if softcap:
        s = torch.tanh(s / softcap) * softcap
    s = s if mask is None else s + mask
    o = torch.matmul(F.dropout(F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype), 0.0, False), v)
    return o.transpose(1, 2).contiguous() if turned else o


Q, K = torch.randn(2, 4, 6, 8), torch.randn(2, 4, 9, 8)
BIAS = torch.randn(1, 4, 6, 9)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda q, k, m: written(q, k, k), ["attention"]),
        (lambda q, k, m: written(q, k, k, turned=False), ["attention"]),
        (lambda q, k, m: written(q, k, k, m), ["attention+mask"]),
        (lambda q, k, m: written(q, k, k, m[0, 0]), ["attention+mask"]),
        (lambda q, k, m: written(q, k, k, m, softcap=2.0), ["attention+mask+softcap"]),
        (
            lambda q, k, m: written(q, repeat_kv(k[:, :2], 2), repeat_kv(k[:, :2], 2), softcap=2.0),
            ["attention+softcap"],
        ),
        (lambda q, k, m: torch.softmax(q @ k.mT / 3 + m, -1) @ k, []),  # mT is no transpose by name
        (lambda q, k, m: torch.softmax(m + q @ k.transpose(-1, -2) / 3, -1) @ k, ["attention+mask"]),
        (lambda q, k, m: (q @ k.transpose(-2, -1)).softmax(3) @ k, ["attention"]),
        (lambda q, k, m: torch.softmax(q @ k.transpose(2, 3), 2) @ k, []),
        (lambda q, k, m: torch.softmax(torch.tanh(q @ k.transpose(2, 3) / 2) * 3, -1) @ k, []),
        (lambda q, k, m: torch.softmax(q @ k.transpose(2, 3) + (m > 0), -1) @ k, []),
        (lambda q, k, m: (lambda p: (p @ k, p))(torch.softmax(q @ k.transpose(2, 3), -1))[0], ["attention"]),
        (lambda q, k, m: (lambda p: (p @ k, p))(torch.softmax(q @ k.transpose(2, 3), -1)), []),  # asked for
    ],
)
def test_attention_spelled_out(function, expected):
    with torch.no_grad():
        found = replaced_of(function, Q, K, BIAS)
    assert found[0] == expected, found


def band(queries, keys, left=None, dtype=torch.bool):
    """As models make masks: of positions."""
    apart = torch.arange(queries)[:, None] - torch.arange(keys)
    seen = (apart >= 0) & (apart <= (queries if left is None else left))
    return seen if dtype == torch.bool else torch.zeros(queries, keys).masked_fill(~seen, torch.finfo(dtype).min)


@pytest.mark.parametrize(
    "mask, expected",
    [
        (lambda x: band(6, 6), "attention+causal"),
        (lambda x: band(6, 6)[None, None].expand(2, 1, 6, 6), "attention+causal"),
        (lambda x: band(6, 6, dtype=torch.float32), "attention+causal"),
        (lambda x: band(6, 6, left=2), "attention+causal+window"),
        (lambda x: band(6, 6, left=0), "attention+causal+window"),
        (lambda x: torch.ones(6, 6, dtype=torch.bool), "attention"),
        (lambda x: band(6, 6).T, "attention+mask"),
        (lambda x: band(6, 6) ^ (torch.arange(6) == 3), "attention+mask"),
        (lambda x: torch.stack([band(6, 6), band(6, 6, left=2)])[:, None], "attention+mask"),
        (lambda x: band(6, 6, dtype=torch.float32) * 0.5, "attention+mask"),
        (lambda x: band(6, 6) & (x[:, :1, :, :1] == x[:, :1, :, :1]), "attention+mask"),  # of an input
    ],
)
@pytest.mark.parametrize("spelled_out", [False, True])
def test_masks_that_a_model_computes(mask, expected, spelled_out):
    def function(q):
        m = mask(q)
        if not spelled_out:
            return F.scaled_dot_product_attention(q, q, q, m)
        return written(q, q, q, m if m.dtype != torch.bool else torch.where(m, 0.0, torch.finfo(torch.float32).min))

    with torch.no_grad():
        assert replaced_of(function, torch.randn(2, 4, 6, 8)) == ([expected], [])


def test_masks_of_other_shapes():
    q, k = torch.randn(2, 4, 6, 8), torch.randn(2, 4, 9, 8)
    with torch.no_grad():
        for left, expected in ((None, "attention+causal"), (2, "attention+causal+window")):
            assert replaced_of(lambda q, k: F.scaled_dot_product_attention(q, k, k, band(6, 9, left)), q, k)[0] == [
                expected
            ]
        assert replaced_of(lambda q, k: F.scaled_dot_product_attention(k, q, q, band(9, 6)), q, k)[0] == [
            "attention+causal"
        ]
        # The last queries see nothing.
        kept = replaced_of(lambda q, k: F.scaled_dot_product_attention(k, q, q, band(9, 6, 1)), q, k)[0]
        assert kept == ["attention+mask"]


def test_a_folded_batch_norm_whose_changes_no_version_counts():
    model, x = ImageBlock().eval(), torch.randn(2, 16, 5, 5)
    fast = compiled(model)
    with torch.no_grad():
        fast(x)
        model.conv1.weight.data.mul_(2)
        model.bn2.running_mean.data.add_(1)
        compare(fast(x), model(x))


def same(function, *inputs, training=False):
    """What is replaced in a function that may write its inputs; results, their types and gradients stay the same."""
    rewrote, entries = rewritten(function)
    ours, theirs = ([x.clone().requires_grad_(training and x.is_floating_point()) for x in inputs] for _ in range(2))
    with torch.set_grad_enabled(training):
        found, expected = rewrote(*ours), function(*theirs)
    compare(found, expected)
    assert found.dtype == expected.dtype and found.requires_grad == expected.requires_grad
    if training and expected.requires_grad:
        found.square().sum().backward(), expected.square().sum().backward()
        for a, b in zip(ours, theirs):
            assert (a.grad is None) == (b.grad is None)
            if b.grad is not None:
                compare(a.grad, b.grad)
    return [e.what for e in entries if e.replaced]


def test_masks_that_are_written():
    def additive(q):
        mask = torch.zeros(6, 6)
        mask.masked_fill_(torch.ones(6, 6, dtype=torch.bool).tril().logical_not(), float("-inf"))
        return F.scaled_dot_product_attention(q, q, q, mask)

    def boolean(q):
        mask = torch.ones(6, 6, dtype=torch.bool)
        mask[:, 4:] = False
        return F.scaled_dot_product_attention(q, q, q, mask)

    for function in (additive, boolean):
        assert same(function, torch.randn(2, 4, 6, 8)) == ["attention+mask"]


def test_a_mask_for_two_sizes():
    def function(q):
        mask = torch.arange(9)[None] < 1
        k = torch.cat([q, q[:, :, :3]], 2)
        one, all_of = (F.scaled_dot_product_attention(x, k, k, mask.expand(x.shape[2], 9)) for x in (q[:, :, :1], q))
        return one + all_of

    same(function, torch.randn(2, 4, 6, 8))


def test_what_is_written_in_between():
    x, w, r = torch.randn(5, 16), torch.randn(24, 16), torch.randn(5, 24)

    def by_operator(x, w, r):
        y = F.linear(x, w)
        x **= 2
        return torch.relu(y) + x.sum()

    def by_position(x, w, r):
        y = F.linear(x, w)
        F.hardtanh(x, 0.0, 1.0, True)
        return torch.relu(y)

    def by_out(x, w, r):
        buffer = torch.empty(5, 24)
        torch.add(F.linear(x, w), r, out=buffer)
        return buffer * 2

    def of_heads(x, w, r):
        k = x.reshape(1, 2, 5, 8)
        repeated = repeat_kv(k, 2)
        k.zero_()
        return F.scaled_dot_product_attention(repeated, repeated, repeated)

    for function in (by_operator, by_position, by_out, of_heads):
        same(function, x, w, r)


def test_heads_that_are_permuted_or_repeated_alone():
    def permuted(k):
        q = k.repeat_interleave(2, 1)
        a = k[:, torch.tensor([[1], [0]])].expand(2, 2, 2, 6, 8).reshape(2, 4, 6, 8)
        return F.scaled_dot_product_attention(q, a, a)

    def alone(k):
        q = k.repeat_interleave(2, 1)
        return F.scaled_dot_product_attention(q, repeat_kv(k, 2), q)

    for function in (permuted, alone):
        assert same(function, torch.randn(2, 2, 6, 8)) == ["attention"]


def test_regions_of_modes():
    x, w, r, g = torch.randn(5, 16), torch.randn(16, 16), torch.randn(5, 16), torch.randn(16)

    def product(x, w, r, g):
        with torch.no_grad():
            y = F.linear(x, w)
        return y + r

    def norm(x, w, r, g):
        with torch.no_grad():
            y = x + r
        return F.layer_norm(y, (16,), g)

    def router(x, w, r, g):
        with torch.autocast("cpu", torch.bfloat16):
            h = F.linear(x, w)
            with torch.autocast("cpu", enabled=False):
                y = F.linear(h.float(), w)
            return torch.sigmoid(y)

    for function in (product, norm, router):
        same(function, x, w, r, g, training=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert same(lambda x, w, r, g: F.linear(F.layer_norm(x, (16,), g), w), x, w, r, g) == []


def test_results_that_lie_otherwise():
    x, g, w, r = torch.randn(2, 16, 7), torch.randn(16), torch.randn(16, 16), torch.randn(2, 16, 7)

    def norm(x, g, w, r):
        h = x.transpose(1, 2)
        return (g * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6))).transpose(1, 2).view(32, 7)

    def product(x, g, w, r):
        return (r.transpose(1, 2) + F.linear(x.transpose(1, 2), w)).transpose(1, 2).contiguous().view(-1)

    for function in (norm, product):
        same(function, x, g, w, r)


def test_attention_spelled_out_of_dynamic_sizes():
    """Sizes are inputs of the graph, and stay."""

    def function(q, k):
        return written(q, repeat_kv(k, 2), repeat_kv(k, 2), softcap=2.0)

    entries = []

    def keep(graph, example):
        entries.extend(fx.replace(graph.graph, training=False, stopwatch=None))
        graph.recompile()
        return graph.forward

    torch._dynamo.reset()
    fast = torch.compile(function, backend=keep, dynamic=True)
    with torch.no_grad():
        for tokens in (5, 9):
            q, k = torch.randn(2, 4, tokens, 8), torch.randn(2, 2, tokens, 8)
            compare(fast(q, k), function(q, k))
    assert [e.what for e in entries if e.replaced] == ["attention+softcap"]


def test_patterns_that_fail_do_not_end_a_compilation():
    def function(x):
        return F.layer_norm(x, x.shape[-1:])

    torch._dynamo.reset()
    fast = torch.compile(function, backend=lambda g, i: fx.backend(g, i, inductor=False, measure=False), dynamic=True)
    x = torch.randn(3, 8)
    compare(fast(x), function(x))
    q, k = torch.randn(6, 8), torch.randn(2, 4, 9, 8)
    same(lambda q, k: torch.softmax(q @ k.transpose(2, 3), -1) @ k, q, k)
    same(lambda q, k: torch.softmax(torch.div(k @ k.transpose(2, 3), 2, rounding_mode="floor"), -1) @ k, q, k)


SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "d_model": 64, "d_ff": 96, "d_kv": 16}
SMALL |= {"num_heads": 4, "encoder_attention_heads": 4, "encoder_ffn_dim": 96, "num_hidden_layers": 2, "num_layers": 2}
SMALL |= {"encoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 96}


class ImageBlock(nn.Module):
    """As residual networks are written."""

    def __init__(self, channels=16, groups=1, bias=False, affine=True):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, groups=groups, bias=bias)
        self.bn1 = nn.BatchNorm2d(channels, affine=affine)
        self.conv2 = nn.Conv2d(channels, channels, 1, bias=bias)
        self.bn2 = nn.BatchNorm2d(channels, affine=affine)
        for bn in (self.bn1, self.bn2):
            bn.running_mean.normal_()
            bn.running_var.uniform_(0.5, 2)
            if affine:
                nn.init.normal_(bn.weight)
                nn.init.normal_(bn.bias)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x
        return self.relu(y)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("how", [{}, {"bias": True}, {"affine": False}, {"groups": 16}])
def test_residual_networks(last, how):
    form = torch.channels_last if last else torch.contiguous_format
    model, x = ImageBlock(**how).eval().to(memory_format=form), torch.randn(2, 16, 9, 7).to(memory_format=form)
    fast = compiled(model)
    with torch.no_grad():
        y = fast(x)
        compare(y, model(x))
    assert y.stride() == model(x).stride()
    entries = [e.what for e in ridge.torch.report(model).entries if e.replaced]
    assert entries == ["conv2d+batch_norm+relu", "conv2d+batch_norm+residual+relu"]


@pytest.mark.parametrize("make", [compiled, lambda model: ridge.torch.accelerate(model, measure=False)])
def test_a_folded_batch_norm_that_changes(make):
    """What is folded follows each of its tensors: written in place, or another one's memory, counted or not."""
    model, other, x = ImageBlock().eval(), ImageBlock().eval(), torch.randn(2, 16, 5, 5)
    plain = copy.deepcopy(model)
    fast = make(model)

    def check():
        with torch.no_grad():
            compare(fast(x), plain(x))

    check()
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.dtype.is_floating_point:
            with torch.no_grad():
                tensor.mul_(1.5)
                plain.get_parameter(name).mul_(1.5) if name in dict(plain.named_parameters()) else plain.get_buffer(
                    name
                ).mul_(1.5)
            check()
    for changed in (model, plain):
        changed.load_state_dict(other.state_dict())
    check()
    for changed in (model, plain):
        changed.conv1.weight.data = other.conv2.weight.data.expand(16, 16, 3, 3).clone()
    check()


def test_networks_in_training_keep_their_batch_norms():
    model, x = ImageBlock().train(), torch.randn(2, 16, 5, 5)
    plain = copy.deepcopy(model)
    compare(compiled(model)(x), plain(x))
    compare(model.bn1.running_mean, plain.bn1.running_mean)
    assert not ridge.torch.report(model).entries


IMAGE, FILTERS, GAMMA = torch.randn(2, 8, 6, 5), torch.randn(12, 8, 3, 3), torch.randn(8)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, w, g: F.conv2d(x, w), ["conv2d"]),
        (lambda x, w, g: F.silu(F.conv2d(x, w, stride=2, padding=(1, 2))), ["conv2d+silu"]),
        (lambda x, w, g: F.conv2d(x, w, padding="same"), []),
        (lambda x, w, g: F.conv2d(x, w[:, :, :1, :1].contiguous(), dilation=2), ["conv2d"]),
        (lambda x, w, g: F.conv2d(x[0], w), []),
        (lambda x, w, g: F.conv2d(x.transpose(2, 3), w), []),
        (lambda x, w, g: F.hardswish(F.conv2d(x, w)), ["conv2d"]),
        (lambda x, w, g: F.batch_norm(F.conv2d(x, w[:8]), g * 0, g.abs() + 1), ["conv2d+batch_norm"]),
        (lambda x, w, g: F.silu(F.group_norm(x, 4, g, g)), ["group_norm+silu"]),
        (lambda x, w, g: F.group_norm(x, 2), ["group_norm"]),
        (lambda x, w, g: F.group_norm(x[:, :, 0], 2), []),
    ],
)
@pytest.mark.parametrize("last", [False, True])
def test_images(function, expected, last):
    form = torch.channels_last if last else torch.contiguous_format
    with torch.no_grad():
        found = replaced_of(function, *(x.to(memory_format=form) for x in (IMAGE, FILTERS)), GAMMA)
    assert found[0] == expected, found


# Of the libraries of images: those that have no numbers of layers and widths are whole, on small images.
SMALL_IMAGES = {
    "vit_b_16": {"image_size": 32, "num_classes": 10},
    "swin_tiny_patch4_window7_224": {"img_size": 56, "embed_dim": 24, "depths": (1, 1, 1, 1), "num_classes": 10},
}


@pytest.mark.parametrize("name", hub.MODELS)
def test_models_of_a_library(name, monkeypatch):
    """Those that `python -m ridge.bench.hub` measures, with few and narrow layers."""
    made = hub.MODELS[name]
    pytest.importorskip(made.library)
    size = SMALL_IMAGES.get(made.maker, {})
    side = size.get("image_size", size.get("img_size", 64))
    monkeypatch.setattr(hub, "_tokens", lambda batch, count: torch.randint(0, 1000, (2, 12)))
    if made.library != "transformers":
        monkeypatch.setattr(hub, "_pixels", lambda batch, *shape: torch.randn(1, 3, side, side))
        smaller = size
    else:
        monkeypatch.setattr(hub, "_pixels", lambda batch, *shape: torch.randn(1, *shape))
        few = {"num_key_value_heads": 2, "head_dim": 16} if "ForCausalLM" in made.maker else {}
        smaller = {**SMALL, **few}
    model, call = hub.build(name, "cpu", torch.float32, **smaller)
    with torch.no_grad():
        expected, found = call(model), call(compiled(model))
    torch.testing.assert_close(found, expected, rtol=2e-4, atol=2e-4)
    entries = ridge.torch.report(model).entries
    assert all(entry.replaced for entry in entries), [entry for entry in entries if not entry.replaced]
    found = {word for word in ("attention", "linear", "norm") if any(word in entry.what for entry in entries)}
    networks = ("resnet50", "efficientnet_b0")
    wanted = {"linear"} if made.maker in networks else {"linear", "norm"}
    assert found >= wanted | ({"attention"} if made.library == "transformers" and made.attention == "sdpa" else set())
