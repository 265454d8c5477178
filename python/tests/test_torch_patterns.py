"""The patterns of torch.compile(function, backend="ridge"): what each takes, what it leaves alone, and that results, their
types, places and gradients stay what they were."""

import math
import types

import pytest

torch = pytest.importorskip("torch")
F = pytest.importorskip("torch.nn.functional")
import ridge.torch  # noqa: E402
from backend_models import compare, repeat_kv, replaced_of, rewritten, same  # noqa: E402
from ridge.torch.fx import backend as fx  # noqa: E402
from ridge.torch.fx import choose, graph  # noqa: E402

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
        (lambda x, w, r, b: F.linear(x, w) + b, ["linear+bias"]),
        (lambda x, w, r, b: torch.add(F.linear(x, w), r, alpha=2), ["linear"]),
        (lambda x, w, r, b: F.linear(x, w).sigmoid().add(r), ["linear+sigmoid+residual"]),
        (lambda x, w, r, b: (lambda y: F.silu(y) + y)(F.linear(x, w)), ["linear"]),  # y is used twice
        (lambda x, w, r, b: (lambda y: y + y)(F.linear(x, w)), ["linear"]),
        (lambda x, w, r, b: F.silu(F.linear(x, w)) * F.linear(x, w * 2), ["linear+silu+gate"]),
        (lambda x, w, r, b: F.silu(F.linear(x, w)) * F.linear(x + 1, w), ["linear+silu", "linear"]),
        (lambda x, w, r, b: F.silu(F.linear(x, w, b)) * F.linear(x, w), ["linear+silu+gate"]),
        (lambda x, w, r, b: F.silu(F.linear(x, w)) * F.linear(x, w, b), ["linear+silu+gate"]),
        (lambda x, w, r, b: F.gelu(F.linear(x, w, b)) * F.linear(x, w * 2, b - 1), ["linear+gelu+gate"]),
        (lambda x, w, r, b: packed(F.linear(x, w).chunk(2, dim=-1)), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(torch.chunk(F.linear(x, w), 2, 1)[::-1]), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(F.linear(x, w).split(12, -1)), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(torch.split(F.linear(x, w), [12, 12], dim=1)), ["linear+silu+gate"]),
        (lambda x, w, r, b: (lambda y: y[..., 12:] * F.gelu(y[..., :12]))(F.linear(x, w)), ["linear+gelu+gate"]),
        (lambda x, w, r, b: (lambda y: y[..., :12] * F.gelu(y[..., 12:]))(F.linear(x, w)), ["linear+gelu+gate"]),
        (lambda x, w, r, b: (lambda y: y[..., :12] * F.gelu(y[..., :12]))(F.linear(x, w)), ["linear"]),
        (lambda x, w, r, b: (lambda y: y[..., :12] * F.gelu(y[..., 12:]) + y.sum())(F.linear(x, w)), ["linear"]),
        (lambda x, w, r, b: packed(F.linear(x, w, b).chunk(2, dim=-1)), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(F.linear(x, w, b).chunk(2, dim=-1)[::-1]), ["linear+silu+gate"]),
        (lambda x, w, r, b: packed(F.linear(x, w).chunk(3, dim=-1)[:2]), ["linear"]),
        (lambda x, w, r, b: packed(F.linear(w, x).view(2, 12, 5)), ["linear"]),  # another axis
    ],
)
def test_products(function, expected):
    with torch.no_grad():
        assert replaced_of(function, X, W, R, B)[0] == expected


@pytest.mark.parametrize(
    "activation, expected",
    [
        (lambda y: y * torch.sigmoid(y), "silu"),
        (lambda y: 0.5 * y * (1 + torch.erf(y / math.sqrt(2))), "gelu"),
        (lambda y: y * (torch.erf(y * 0.70710678) + 1) / 2, "gelu"),
        (
            lambda y: 0.5 * y * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0)))),
            "gelu_tanh",
        ),
        (lambda y: y * 0.5 * (1.0 + torch.tanh(0.79788456 * y * (1 + 0.044715 * y * y))), "gelu_tanh"),
        (lambda y: y * F.relu6(y + 3) / 6, "hardswish"),
        (lambda y: F.hardtanh(y + 3, 0, 6) / 6, "hardsigmoid"),
        (lambda y: y * torch.sigmoid(1.702 * y), None),
        (lambda y: 0.5 * y * (1 + torch.tanh(0.8 * (y + 0.044715 * y**3))), None),
        (lambda y: (lambda t: y * t + t)(torch.sigmoid(y)), None),  # t is asked for
    ],
)
def test_activations_spelled_out(activation, expected):
    kinds = ["linear" + (f"+{expected}" if expected else "")]
    with torch.no_grad():
        assert replaced_of(lambda x, w, r, b: activation(F.linear(x, w)), X, W, R, B)[0] == kinds
    assert same(lambda x, w: activation(F.linear(x, w)), X, W, training=True) == ["linear"]


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, w, b: torch.addmm(b, x.view(-1, 16), w).view(2, 5, 24), ["linear+bias"]),
        (lambda x, w, b: F.relu(torch.addmm(b, x.view(-1, 16), w).view(2, 5, 24)), ["linear+bias+relu"]),
        (lambda x, w, b: F.relu(torch.addmm(b, x.view(-1, 16), w)), ["linear+bias+relu"]),
        (lambda x, w, b: torch.addmm(b, x.view(-1, 16), w, beta=2), []),
        (lambda x, w, b: x @ w + b, ["linear+bias"]),
        (lambda x, w, b: torch.matmul(x, w), ["linear"]),
        (lambda x, w, b: x[0].mm(w), ["linear"]),
        (lambda x, w, b: x @ w.t().contiguous().t(), []),  # the matrix is no parameter
        (lambda x, w, b: x @ w + b[None], ["linear"]),
    ],
)
def test_products_spelled_out(function, expected):
    x, w = torch.randn(2, 5, 16), torch.randn(16, 24)
    assert same(function, x, w, B) == expected
    trained = [kind.replace("+relu", "") for kind in expected]
    assert same(function, x, w, B, training=True) == trained


def centered(x, w, b, root):
    u = x.mean(-1, keepdim=True)
    s = (x - u).pow(2).mean(-1, keepdim=True)
    return w * root(x - u, s + 1e-6) + b


def rms(x, scaled, kind=torch.float32):
    wide = x.to(kind)
    return scaled(wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6))


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, w, b: centered(x, w, b, lambda d, s: d / torch.sqrt(s)), ["layer_norm"]),
        (lambda x, w, b: centered(x, w, b, lambda d, s: d * torch.rsqrt(s)), ["layer_norm"]),
        (lambda x, w, b: centered(x, w, b, lambda d, s: x / torch.sqrt(s)), []),  # x itself is scaled
        (lambda x, w, b: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6), ["rms_norm"]),
        (lambda x, w, b: rms(x, lambda y: y), ["rms_norm"]),
        (lambda x, w, b: rms(x, lambda y: y * (1.0 + w.float())).type_as(x), ["rms_norm"]),
        (lambda x, w, b: rms(x, lambda y: w * y + b), ["rms_norm"]),
        (lambda x, w, b: rms(x, lambda y: b + y), ["rms_norm"]),
        (lambda x, w, b: rms(x.view(5, 2, 8).transpose(0, 1), lambda y: y * w[:8]), ["rms_norm"]),  # heads first
        (lambda x, w, b: rms(x.t(), lambda y: y), []),  # rows are not contiguous
        (lambda x, w, b: rms(x, lambda y: y * x), ["rms_norm"]),  # x is no vector
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms_spelled_out(function, expected, dtype):
    x, w, b = (t.to(dtype) for t in (X, W[0], W[1]))
    rewrote, entries = rewritten(function)
    with torch.no_grad():
        found, wanted = rewrote(x, w, b), function(x, w, b)
    if dtype == torch.bfloat16 and wanted.dtype != dtype:
        expected = []  # a result in float32, which Ridge's norms do not give
    assert found.dtype == wanted.dtype and found.stride() == wanted.stride()
    torch.testing.assert_close(found, wanted, **({"rtol": 2e-2, "atol": 5e-2} if dtype == torch.bfloat16 else {}))
    assert [e.what for e in entries if e.replaced] == expected


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, "linear+attention+linear"),
        ({"attn_mask": True, "is_causal": True}, "linear+attention+causal+linear"),
        ({"attn_mask": True}, "linear+attention+mask+linear"),
        ({"key_padding_mask": True}, "linear+attention+mask+linear"),
        ({"attn_mask": True, "key_padding_mask": True}, "linear+attention+mask+linear"),
    ],
)
def test_layers_of_attention(options, expected, batch_first):
    """torch.nn.MultiheadAttention, which a captured graph has as one call."""
    layer = torch.nn.MultiheadAttention(32, 4, batch_first=batch_first).eval()
    x = torch.randn(3, 7, 32)
    batch, tokens = (3, 7) if batch_first else (7, 3)
    masks = {
        "attn_mask": torch.ones(tokens, tokens).triu(1).bool(),
        "key_padding_mask": torch.arange(tokens).expand(batch, tokens) > 1,
    }
    given = {key: masks.get(key) if key in masks else of for key, of in options.items()}

    def function(x):
        return layer(x, x, x, need_weights=False, **given)[0] * 2

    for training in (False, True):
        assert same(function, x, training=training) == [expected]
    assert same(lambda x: layer(x, x, x)[0], x) == []  # its weights are asked for


@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"activation": "gelu"}])
def test_layers_of_encoders(options):
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options).eval()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, 0, 0.3)
    with torch.no_grad():
        assert replaced_of(lambda x: layer(x), torch.randn(3, 7, 32))[0] == ["encoder layer"]


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_alone(axis):
    x = torch.randn(3, 4, 5)
    for training in (False, True):
        assert same(lambda x: torch.softmax(x, axis) * 2, x, training=training) == ["softmax"]
        assert same(lambda x: F.log_softmax(x, dim=axis), x, training=training) == ["log_softmax"]
    assert same(lambda x: x.softmax(axis, torch.float64), x) == []


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
    q = torch.randn(1, 2, 4, 520)
    with torch.no_grad():
        assert replaced_of(lambda q: F.scaled_dot_product_attention(q, q, q), q) == ([], ["its heads are 520 wide"])
        assert replaced_of(lambda q: F.scaled_dot_product_attention(q, q, q), q[..., :300])[0] == ["attention"]
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
        (lambda x, w, g: F.conv2d(x, w, padding="same"), ["conv2d"]),
        (lambda x, w, g: F.conv2d(x, w[:, :, :2, :], padding="same", dilation=(3, 1)), ["conv2d"]),  # of uneven sides
        (lambda x, w, g: F.conv2d(x, w, padding="valid"), ["conv2d"]),
        (lambda x, w, g: F.conv2d(x, w[:, :, :1, :1].contiguous(), dilation=2), ["conv2d"]),
        (lambda x, w, g: F.conv2d(x[0], w), []),
        (lambda x, w, g: F.conv2d(x.transpose(2, 3), w), ["conv2d"]),  # which lies otherwise than its result
        (lambda x, w, g: F.conv2d(x, w).transpose(2, 3).relu(), ["conv2d"]),
        (lambda x, w, g: F.max_pool2d(x, 3, 2, 1), ["max_pool2d"]),
        (lambda x, w, g: F.max_pool2d(x, (2, 3), padding=(1, 0), dilation=2, ceil_mode=True), ["max_pool2d"]),
        (lambda x, w, g: F.max_pool2d(x, 2, return_indices=True)[0], []),
        (lambda x, w, g: F.avg_pool2d(x, 3, stride=(2, 1), padding=1, count_include_pad=False), ["avg_pool2d"]),
        (lambda x, w, g: F.avg_pool2d(x, 2, divisor_override=3), []),
        (lambda x, w, g: F.adaptive_avg_pool2d(x, (3, 2)), ["adaptive_avg_pool2d"]),
        (lambda x, w, g: F.adaptive_avg_pool2d(x, (1, None)), []),
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
        (lambda x, w: F.conv1d(x, w[..., :2], padding="same", dilation=3), ["conv1d"]),
        (
            lambda x, w: F.relu(F.conv_transpose1d(x, w.transpose(0, 1).contiguous(), stride=2)),
            ["conv_transpose1d+relu"],
        ),
        (lambda x, w: F.conv1d(x[0], w), []),
    ],
)
def test_signals(function, expected):
    with torch.no_grad():
        found = replaced_of(function, torch.randn(2, 8, 11), torch.randn(12, 8, 3))
    assert found[0] == expected, found


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x, w, b: F.silu(F.conv3d(x, w, b, padding=1)), ["conv3d+bias+silu"]),
        (lambda x, w, b: F.conv3d(x, w, stride=(1, 2, 2), dilation=(2, 1, 1)) * 2, ["conv3d"]),
        (lambda x, w, b: x[..., :4] + F.conv3d(x, w[:8, :, :, :, :2], padding="same")[..., :4], ["conv3d"]),
        (lambda x, w, b: F.conv3d(x[0], w), []),
        (lambda x, w, b: F.silu(F.group_norm(x.float() * 2, 4)), ["group_norm+silu"]),
    ],
)
def test_volumes(function, expected, last):
    form = torch.channels_last_3d if last else torch.contiguous_format
    given = (torch.randn(size).to(memory_format=form) for size in ((2, 8, 5, 6, 7), (12, 8, 3, 3, 3)))
    with torch.no_grad():
        found = replaced_of(function, *given, torch.randn(12))
    assert found[0] == expected, found


@pytest.mark.parametrize("last", [False, True])
def test_transposed_convolutions(last):
    form = torch.channels_last if last else torch.contiguous_format
    layer = torch.nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=(1, 0), groups=2).to(
        memory_format=form
    )
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
LOWEST, SINKS = torch.finfo(torch.float32).min, "attention+mask+sinks"


def with_sinks(q, k, mask, sinks, shifted=lambda s: s - s.max(dim=-1, keepdim=True).values):
    """As models with a learned sink of each head are written."""
    s = torch.matmul(q, k.transpose(2, 3)) * 0.3 + mask
    sinks = sinks.reshape(1, -1, 1, 1).expand(q.shape[0], -1, q.shape[-2], -1)
    s = shifted(torch.cat([s, sinks], dim=-1))
    return torch.matmul(F.softmax(s, dim=-1, dtype=s.dtype)[..., :-1], k)


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
        (lambda q, k, m: torch.softmax(q @ k.mT / 3 + m, -1) @ k, ["attention+mask"]),
        (lambda q, k, m: torch.softmax(q @ k.permute(0, 1, 3, 2), -1) @ k, ["attention"]),
        (lambda q, k, m: torch.softmax(q @ (k * 2).mT.contiguous(), -1) @ k, ["attention"]),  # keys that lie turned
        (lambda q, k, m: torch.softmax((q @ k.mT).masked_fill(m > 1, -float("inf")), -1) @ k, ["attention+mask"]),
        (lambda q, k, m: torch.softmax((q @ k.mT + m).masked_fill(m > 1, -1e9), -1) @ k, ["attention+mask"]),
        (lambda q, k, m: torch.softmax((q @ k.mT / 3 + m) + m[:, :1] * 2, -1) @ k, ["attention+mask"]),
        (lambda q, k, m: torch.softmax(q @ k.mT + m + m[:, :1] + m[0, 0], -1) @ k, ["softmax"]),  # of three
        (lambda q, k, m: torch.softmax(torch.where(m > 1, -1e9, q @ k.mT), -1) @ k, ["attention+mask"]),
        (lambda q, k, m: torch.softmax((q @ k.mT).masked_fill(m > 1, -1.0), -1) @ k, ["softmax"]),  # hides nothing
        # A query that sees no key gets the mean of values where hidden scores are finite.
        (lambda q, k, m: torch.softmax((q @ k.mT).masked_fill(m < 99, LOWEST), -1) @ k, ["attention+mask"]),
        (lambda q, k, m: torch.bmm(torch.softmax(torch.bmm(q[0], k[0].mT) / 3, -1), k[0]), ["attention"]),
        (lambda q, k, m: torch.softmax(q[0] @ k[0].mT + m[0], -1) @ k[0], ["attention+mask"]),
        (lambda q, k, m: torch.softmax(q[None] @ k[None].mT + m, -1) @ k[None], ["attention+mask"]),
        (
            lambda q, k, m: torch.einsum(
                "b h i j, b h j d -> b h i d", torch.einsum("bhid,bhjd->bhij", q, k).softmax(-1), k
            ),
            ["attention"],
        ),
        (lambda q, k, m: with_sinks(q, k, m, torch.tensor([0.5, -1.0, 2.0, 0.0])), ["attention+mask+sinks"]),
        (lambda q, k, m: with_sinks(q, k, m, torch.zeros(4), lambda s: s - s.amax(-1, keepdim=True)), [SINKS]),
        (
            lambda q, k, m: with_sinks(q, k, m, torch.zeros(4), lambda s: s - s.min(-1, keepdim=True).values),
            ["softmax"],
        ),
        (lambda q, k, m: torch.softmax(m + q @ k.transpose(-1, -2) / 3, -1) @ k, ["attention+mask"]),
        (lambda q, k, m: (q @ k.transpose(-2, -1)).softmax(3) @ k, ["attention"]),
        (lambda q, k, m: torch.softmax(q @ k.transpose(2, 3), 2) @ k, ["softmax"]),
        (lambda q, k, m: torch.softmax(torch.tanh(q @ k.transpose(2, 3) / 2) * 3, -1) @ k, ["softmax"]),
        (lambda q, k, m: torch.softmax(q @ k.transpose(2, 3) + (m > 0), -1) @ k, ["softmax"]),
        (lambda q, k, m: (lambda p: (p @ k, p))(torch.softmax(q @ k.transpose(2, 3), -1))[0], ["attention"]),
        (lambda q, k, m: (lambda p: (p @ k, p))(torch.softmax(q @ k.transpose(2, 3), -1)), ["softmax"]),  # asked for
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

    def angles(x, w, r, g):
        """As rotary embeddings keep to float32, under an autocast or not."""
        y = F.linear(x, w)
        with torch.autocast("cpu", enabled=False):
            z = F.linear(y.float(), 0.1 * w.float()).cos()
        return F.layer_norm(y * z, (16,), g)

    for function in (product, norm, router):
        same(function, x, w, r, g, training=True)
    assert same(angles, x, w, r, g, training=True) == ["layer_norm", "linear", "linear"]


def test_sums_before_norms_under_autocast():
    """Of two products a sum is in the region's type; the norm's result is in float32 on a GPU, and not on a CPU."""

    def function(x, w, g):
        y = F.linear(x, w) + F.linear(x + 1, w)
        z = F.layer_norm(y, (16,), g)
        return z + y, y

    x, w, g = torch.randn(5, 16), torch.randn(16, 16), torch.randn(16)
    rewrote, _ = rewritten(function)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        for found, expected in zip(rewrote(x, w, g), function(x, w, g), strict=True):
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected, rtol=2e-2, atol=0.2)


def test_a_sum_with_nothing_is_a_tensor_of_its_own():
    def written(x):
        y = x + 0
        y.mul_(2)
        return y + x

    x = torch.randn(3, 4)
    same(written, x)
    rewrote, _ = rewritten(lambda x: x + 0)
    assert rewrote(x).data_ptr() != x.data_ptr()


@pytest.mark.parametrize("training", [False, True])
def test_under_autocast(training):
    """Products in the region's type and norms in float32, as PyTorch's own; gradients in the parameters' types."""

    def function(x, w, r, g):
        h = F.layer_norm(x, (16,), g)
        y = F.relu(F.linear(h, w)) + F.linear(h, w)  # of one type
        with torch.autocast("cpu", enabled=False):
            z = F.linear(r, w)
        return y * z

    x, w, r, g = torch.randn(5, 16), torch.randn(16, 16), torch.randn(5, 16), torch.randn(16)
    rewrote, entries = rewritten(function)
    ours, theirs = ([t.clone().requires_grad_(training) for t in (x, w, r, g)] for _ in range(2))
    with torch.autocast("cpu", torch.bfloat16), torch.set_grad_enabled(training):
        found, expected = rewrote(*ours), function(*theirs)
    assert found.dtype == expected.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=0.5)
    kinds = sorted(entry.what for entry in entries if entry.replaced)
    assert kinds == (
        ["layer_norm", "linear", "linear+residual"] if training else ["layer_norm", "linear", "linear+relu+residual"]
    )
    if training:
        found.sum().backward(), expected.sum().backward()
        for a, b in zip(ours, theirs):
            assert a.grad.dtype == b.grad.dtype
            torch.testing.assert_close(a.grad, b.grad, rtol=5e-2, atol=2.0)


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


class CallsOnce:
    """A clock that times nothing: both sides of a match run, at the sizes of the graph."""

    def __init__(self, device):
        pass

    def prepare(self, function):
        return function()


@pytest.mark.parametrize(
    "function",
    [
        lambda q, k, m: torch.softmax((q @ k.mT + m.expand(2, -1, -1, -1)).masked_fill(m > 1, -1e9), -1) @ k,
        lambda q, k, m: with_sinks(q, k, m, torch.zeros(4)),
        lambda q, k, m: F.scaled_dot_product_attention(q, k, k, (m > 0).expand(2, -1, -1, -1)),
        lambda q, k, m: F.max_pool2d(F.softmax(q, 1), 2) + F.adaptive_avg_pool2d(q, (3, 4)),
        lambda q, k, m: F.layer_norm(q.transpose(1, 2), (8,)),
    ],
)
def test_what_is_measured_runs(function, monkeypatch):
    """A mask or sinks that are broadcast have one element for many."""
    monkeypatch.setattr(choose, "GpuClock", CallsOnce)
    monkeypatch.setattr(choose, "in_turns", lambda once, *_: dict.fromkeys(once, types.SimpleNamespace(us=1.0)))
    judge, timed = fx._judge, []

    def also_timed(match, stopwatch, apart):
        values = tuple(graph.value(x) if isinstance(x, torch.fx.Node) else x for x in match.inputs)
        timed.append(choose.Stopwatch(True).times(match, values))
        return judge(match, stopwatch, apart)

    monkeypatch.setattr(fx, "_judge", also_timed)
    with torch.no_grad():
        found = replaced_of(function, Q, K, BIAS)
    assert timed and found[0] and not found[1]


# ---- what may not be rewritten or dropped ----------------------------------------------------------------------------


def _frozen_product(x, w, b):
    with torch.no_grad():
        y = F.linear(x, w)
    return y + b


def _stopped_gate(x, w, b):
    with torch.no_grad():
        t = torch.sigmoid(x)
    return x * t


def _written_between(x, w, b):
    x = x * 1.5
    y = F.linear(x, w)
    x.mul_(2)
    return y + b, x


def _copy_of_what_is_written(x, w, b):
    x = x * 1.5
    y = x + 0
    x.mul_(2)
    return y * 1, x


def _gate_of_what_is_written(x, w, b):
    x = x * 1.5
    t = torch.sigmoid(x)
    x.mul_(0.5)
    return x * t


def _through_backend(function):
    torch._dynamo.reset()
    return torch.compile(function, backend=lambda g, i: fx.backend(g, i, inductor=False, measure=False))


@pytest.mark.parametrize("function", [_written_between, _copy_of_what_is_written, _gate_of_what_is_written])
def test_nothing_moves_across_a_write(function):
    x, w, b = torch.randn(3, 8), torch.randn(8, 8), torch.randn(8)
    with torch.no_grad():
        torch.testing.assert_close(_through_backend(function)(x, w, b), function(x, w, b))


@pytest.mark.parametrize("function", [_frozen_product, _stopped_gate])
def test_what_has_no_gradient_gets_none(function):
    tensors = [torch.randn(3, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True), torch.randn(8)]
    tensors[2].requires_grad_()
    ours, theirs = (
        torch.autograd.grad(call(*tensors).square().sum(), tensors, allow_unused=True)
        for call in (_through_backend(function), function)
    )
    assert [g is None for g in ours] == [g is None for g in theirs]
    torch.testing.assert_close([g for g in ours if g is not None], [g for g in theirs if g is not None])


@pytest.mark.parametrize("window", [16, 4096])
def test_a_window_wider_than_the_first_call_is_kept(window):
    def function(q, k):
        i = torch.arange(q.shape[2])[:, None]
        j = torch.arange(k.shape[2])
        return F.scaled_dot_product_attention(q, k, k, attn_mask=(i >= j) & (i - j < window))

    torch._dynamo.reset()
    backend = lambda g, i: fx.backend(g, i, inductor=False, measure=False)  # noqa: E731
    fast = torch.compile(function, backend=backend, dynamic=True)
    with torch.no_grad():
        for tokens in (7, 40):
            q = torch.randn(1, 2, tokens, 8)
            compare(fast(q, q), function(q, q))


def test_masks_keep_their_type_under_autocast():
    """What is added to scores in float32 is not rounded to the type of the products."""
    steps = -0.5 * torch.arange(300.0).expand(1, 1, 300, 300)

    def function(q, mask):
        s = torch.matmul(q, q.transpose(2, 3)) * 0.3 + mask
        return torch.matmul(torch.softmax(s, -1), q)

    q = torch.randn(1, 2, 300, 8)
    fast = _through_backend(function)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(fast(q, steps), function(q, steps), rtol=2e-2, atol=2e-2)


def test_batches_of_attention_that_broadcast_are_left():
    q, k = torch.randn(1, 2, 5, 8), torch.randn(3, 2, 9, 8)
    same(lambda q, k: torch.softmax(q @ k.transpose(2, 3), -1) @ k, q, k)
    q, k = torch.randn(2, 1, 2, 5, 8), torch.randn(1, 2, 2, 9, 8)
    same(lambda q, k: torch.softmax(q @ k.transpose(-2, -1), -1) @ k, q, k)
