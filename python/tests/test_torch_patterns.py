"""The patterns of torch.compile(function, backend="ridge"): what each takes, what it leaves alone, and that results, their
types, places and gradients stay what they were."""

import pytest

torch = pytest.importorskip("torch")
F = pytest.importorskip("torch.nn.functional")
import ridge.torch  # noqa: E402
from backend_models import compare, repeat_kv, replaced_of, same  # noqa: E402
from ridge.torch.fx import backend as fx  # noqa: E402

if "linear" not in ridge.torch.OPERATORS or "attention" not in ridge.torch.OPERATORS:
    pytest.skip("this build has not the operators of a transformer", allow_module_level=True)


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
        assert replaced_of(lambda x: F.layer_norm(x, (5, 16)), X)[0] == ["layer_norm"]
        columns = "it is over several axes of a tensor that is not contiguous"
        assert replaced_of(lambda x: F.layer_norm(x.T, (16, 5)), X) == ([], [columns])
        assert replaced_of(lambda x: F.linear(x, x), X.double()) == ([], ["its type is torch.float64"])


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
        (lambda x, w, g: F.hardswish(F.conv2d(x, w)), ["conv2d+hardswish"]),
        (lambda x, w, g: F.hardtanh(F.conv2d(x, w), 0, 6), ["conv2d+relu6"]),
        (lambda x, w, g: F.hardtanh(F.conv2d(x, w)), ["conv2d"]),
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


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, w: F.gelu(F.conv1d(x, w, padding=1)), ["conv1d+gelu"]),
        (lambda x, w: F.conv1d(x, w, stride=2, dilation=2) * 2, ["conv1d"]),
        (lambda x, w: F.conv1d(x, w, padding="same"), []),
        (lambda x, w: F.relu(F.conv_transpose1d(x, w.transpose(0, 1).contiguous(), stride=2)), ["conv_transpose1d+relu"]),
        (lambda x, w: F.conv1d(x[0], w), []),
    ],
)
def test_signals(function, expected):
    with torch.no_grad():
        found = replaced_of(function, torch.randn(2, 8, 11), torch.randn(12, 8, 3))
    assert found[0] == expected, found


@pytest.mark.parametrize("last", [False, True])
def test_transposed_convolutions(last):
    form = torch.channels_last if last else torch.contiguous_format
    layer = torch.nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=(1, 0), groups=2).to(memory_format=form)
    norm = torch.nn.BatchNorm2d(6).eval()
    x = IMAGE.to(memory_format=form)
    with torch.no_grad():
        assert replaced_of(lambda x: F.silu(layer(x)), x)[0] == ["conv_transpose2d+bias+silu"]
        assert replaced_of(lambda x: norm(layer(x)), x)[0] == ["conv_transpose2d+bias"]
        beyond = torch.nn.ConvTranspose2d(8, 6, 3, stride=(2, 1), dilation=2, output_padding=1)
        assert replaced_of(beyond, x)[0] == []


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
