"""torch.compile(model, backend="ridge"): models written as the usual libraries write them, each replaced as it should be."""

import copy
import importlib
import math
import pathlib

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
import ridge.torch  # noqa: E402
from backend_models import (  # noqa: E402
    MODELS,
    SHARED,
    WIDTH,
    DecoderLayer,
    EncoderLayer,
    ImageBlock,
    compare,
    compiled,
    kinds,
    mask,
)
from ridge.bench import hub  # noqa: E402
from ridge.torch.fx import backend as fx  # noqa: E402
from ridge.torch.fx import choose, fold, graph, images, patterns  # noqa: E402
from ridge.torch.fx.match import Unfit  # noqa: E402

if "linear" not in ridge.torch.OPERATORS or "attention" not in ridge.torch.OPERATORS:
    pytest.skip("this build has not the operators of a transformer", allow_module_level=True)


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
    [call] = [n for n in graphs[0].graph.nodes if getattr(n.target, "__name__", "") == "ridge_attention"]
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


def test_a_folded_batch_norm_whose_changes_no_version_counts():
    model, x = ImageBlock().eval(), torch.randn(2, 16, 5, 5)
    fast = compiled(model)
    with torch.no_grad():
        fast(x)
        model.conv1.weight.data.mul_(2)
        model.bn2.running_mean.data.add_(1)
        compare(fast(x), model(x))


class SqueezeExcite(nn.Module):
    def __init__(self, channels=16, fewer=6):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, fewer, 1), nn.Conv2d(fewer, channels, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(nn.functional.silu(self.down(x.mean((2, 3), keepdim=True)))))


@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
def test_filters_of_one_pixel_are_products(form):
    model, x = SqueezeExcite().eval().to(memory_format=form), torch.randn(3, 16, 5, 4).to(memory_format=form)
    called = []

    def run(module, inputs):
        fx.replace(module.graph, training=False, stopwatch=None)
        called.extend(node.target for node in module.graph.nodes if node.target in vars(images).values())
        module.recompile()
        return module.forward

    with torch.no_grad():
        y, expected = torch.compile(model, backend=run)(x), model(x)
    compare(y, expected)
    assert y.stride() == expected.stride()
    assert called == 2 * [images._product_of_pixels]


def test_one_pixel_lies_as_eager_models_have_it():
    conv = nn.Conv2d(8, 4, 1).eval()

    def pooled(x):  # what follows takes its layout from the one pixel's
        return nn.functional.interpolate(torch.relu(conv(x.mean((2, 3), keepdim=True))), size=x.shape[-2:])

    x = torch.randn(2, 8, 6, 5)
    with torch.no_grad():
        y, expected = torch.compile(pooled, backend=lambda m, i: fx.backend(m, i, measure=False))(x), pooled(x)
    compare(y, expected)
    assert y.stride() == expected.stride()


class Branches(nn.Module):
    """A graph whose later nodes fetch attributes."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8)

    def forward(self, x):
        y = self.norm(self.conv(x))
        return torch.cond(y.sum() > 0, lambda z: z + 1, lambda z: z - 1, (y,))


class GradientsInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8)

    def forward(self, x):
        with torch.enable_grad():
            return self.norm(self.conv(x))


@pytest.mark.parametrize("kind", [Branches, GradientsInside])
def test_folds_do_not_leave_regions(kind):
    model, x = kind().eval(), torch.randn(2, 8, 7, 7)

    def run(module, inputs):
        fx.replace(module.graph, training=False, stopwatch=None)
        fold.together(module.graph)
        module.graph.lint()
        module.recompile()
        return module.forward

    with torch.no_grad():
        y, expected = torch.compile(model, backend=run)(x), model(x)
    compare(y.detach(), expected.detach())
    assert y.requires_grad == expected.requires_grad


class WritesBefore(ImageBlock):
    def forward(self, x):
        self.bn1.running_var.add_(1)
        return super().forward(x)


@pytest.mark.parametrize("kind, calls", [(ImageBlock, ["batch_norms"]), (WritesBefore, ["batch_norms", "batch_norm"])])
def test_batch_norms_are_folded_together_unless_they_are_written(kind, calls):
    found = []

    def look(module, _):
        fx.replace(module.graph, training=False, stopwatch=None)
        fold.together(module.graph)
        found.extend(node.target.__name__ for node in module.graph.nodes if node.target in vars(fold).values())
        module.recompile()
        return module.forward

    model, x = kind().eval(), torch.randn(2, 16, 5, 5)
    plain = copy.deepcopy(model)
    fast = torch.compile(model, backend=look)
    with torch.no_grad():
        for _ in range(2):
            compare(fast(x), plain(x))
    assert found == calls


def test_networks_in_training():
    """Batch norms by the batch's own statistics, which move the running ones, with what follows them."""
    model, x = ImageBlock().train(), torch.randn(2, 16, 5, 5)
    plain = copy.deepcopy(model)
    fast = compiled(model)
    for _ in range(2):
        got, want = fast(x), plain(x)
        compare(got, want)
        (got**2).sum().backward()
        (want**2).sum().backward()
    for norm, other in ((model.bn1, plain.bn1), (model.bn2, plain.bn2)):
        compare(norm.running_mean, other.running_mean)
        compare(norm.running_var, other.running_var)
        assert norm.num_batches_tracked == 2
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        compare(mine.grad, other.grad)
    entries = [entry.what for entry in ridge.torch.report(model).entries if entry.replaced]
    assert entries == ["conv2d", "conv2d", "batch_norm+relu", "batch_norm+residual+relu"]


@pytest.mark.parametrize("make, inputs", [(ImageBlock, (2, 16, 5, 5)), *((make, (2, 6, WIDTH)) for make, _ in MODELS.values())])
def test_what_is_timed_in_training_has_gradients(make, inputs):
    """Ridge's function and PyTorch's of all that patterns find, which may lack inputs of the other; the user's own random
    numbers stay what they were."""
    found = []

    def look(module, example):
        for pattern in patterns.TRAINING:
            for node in module.graph.nodes:
                try:
                    found.extend(pattern(node, True))
                except Unfit:
                    continue
        return module.forward

    model = make().train()
    more = {DecoderLayer: (), EncoderLayer: (mask(6),), ImageBlock: ()}[make]
    torch.compile(model, backend=look)(torch.randn(inputs), *more)
    before = torch.get_rng_state()
    for match in found:
        values = [graph.value(x) if isinstance(x, torch.fx.Node) else x for x in match.inputs]
        wanted = [isinstance(v, torch.Tensor) and v.requires_grad for v in values]
        for function in (match.ridge, match.torch):
            with graph.real_tensors():
                gradients = choose._WithGradients(function, [choose._example(v) for v in values], wanted)()
            assert len(gradients) == sum(wanted) > 0
    assert len(found) > 3 and torch.equal(before, torch.get_rng_state())


def test_statistics_that_are_read_before_the_norms_last_node():
    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm2d(4)

        def forward(self, x):
            y = self.norm(x)
            mean = self.norm.running_mean.clone()
            return torch.relu(y), mean

    model, x = Reads().train(), torch.randn(2, 4, 3, 3)
    plain = copy.deepcopy(model)
    for mine, other in zip(compiled(model)(x), plain(x), strict=True):
        compare(mine, other)
    assert [entry.what for entry in ridge.torch.report(model).entries if entry.replaced] == ["batch_norm"]


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


def test_dynamic_sizes_and_numbers():
    """With dynamic=True the numbers that a module has are inputs of the graph too: patterns read them, and a graph is made
    again where one has changed. A mask of sizes is still causal, at every size."""
    entries = []

    def keep(module, example):
        entries.append(fx.replace(module.graph, training=False, stopwatch=None))
        module.recompile()
        return module.forward

    class Layer(DecoderLayer):
        def __init__(self):
            super().__init__()
            self.norm3, self.scale = nn.LayerNorm(WIDTH, eps=1e-3), 0.3

        def forward(self, x):
            tokens = x.shape[1]
            x = self.norm3(super().forward(x))
            q = x.view(*x.shape[:2], -1, 8).transpose(1, 2)
            at = torch.arange(tokens, device=x.device)
            y = nn.functional.scaled_dot_product_attention(q, q, q, at[:, None] >= at, scale=self.scale)
            return y, 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    model = Layer().eval()
    torch._dynamo.reset()
    fast = torch.compile(model, backend=keep, dynamic=True)
    with torch.no_grad():
        for tokens in (5, 9, 33):
            x = torch.randn(2, tokens, WIDTH)
            for found, expected in zip(fast(x), model(x)):
                compare(found, expected)
        assert len(entries) == 1
        kinds = [entry.what for entry in entries[0] if entry.replaced]
        assert kinds.count("attention+causal") == 2 and {"rms_norm", "add_layer_norm"} & set(kinds)
        assert not [entry for entry in entries[0] if not entry.replaced]
        model.scale, model.norm3.eps = 0.7, 0.1
        for found, expected in zip(fast(x), model(x)):
            compare(found, expected)
    assert len(entries) > 1


def test_nothing_to_replace_is_no_error():
    model = torch.compile(nn.Sequential(nn.Softplus(), nn.PReLU(2)), backend=ridge.torch.backend)
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


SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "d_model": 64, "d_ff": 96, "d_kv": 16}
SMALL |= {"num_heads": 4, "encoder_attention_heads": 4, "encoder_ffn_dim": 96, "num_hidden_layers": 2, "num_layers": 2}
SMALL |= {"encoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 96}


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
