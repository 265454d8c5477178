"""python -m ridge.bench --models, on the CPU: tiny models, Ridge's operators beside PyTorch's."""

import functools
import json

import pytest

torch = pytest.importorskip("torch")

import ridge.torch  # noqa: E402
from ridge.bench import __main__ as program  # noqa: E402
from ridge.torch.clock import CpuClock, GpuClock  # noqa: E402
from ridge.bench.models import MODELS, kernels, report, run  # noqa: E402
from ridge.bench.models.floor import Counting  # noqa: E402
from ridge.bench.models.ops import Flex, Ridge, Torch  # noqa: E402
from ridge.bench.models.table import text_of  # noqa: E402

NEEDED = (
    "attention batch_norm_train conv2d conv3d conv_transpose2d dwconv embedding gemm group_norm grouped_gemm layer_norm "
    "linear max_pool2d mean mul nms rms_norm rope silu softmax upsample"
).split()
if not set(NEEDED) <= set(ridge.torch.OPERATORS):
    pytest.skip("this build does not have all operators that models are made of", allow_module_level=True)
if not hasattr(torch.nn.functional, "grouped_mm"):
    pytest.skip("models need PyTorch 2.10 or newer", allow_module_level=True)


def _different():
    """(model, case) of each tiny model once: several large ones may share it."""
    found = {
        (model.module, model.tiny, text): model for model in reversed(MODELS.values()) for text in model.tiny_cases
    }
    return [pytest.param(model, model.case(key[2]), id=f"{model.name}-{key[2]}") for key, model in found.items()]


TINY = _different()
FORWARD = [p for p in TINY if not any(word in p.id for word in ("train", "qwen", "phi", "yolov8-s-images=1"))]


@pytest.fixture(autouse=True)
def one_thread():
    """More cost tiny models more than they bring."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def without_inductor(monkeypatch):
    """torch.compile traces, and Inductor, which takes its time, is not looked at."""
    compile = functools.partial(torch.compile, backend="aot_eager")
    monkeypatch.setattr(torch, "compile", lambda module, mode=None, **how: compile(module, **how))


@pytest.mark.parametrize("model, case", TINY)
def test_as_pytorch(model, case):
    """Of a case with `train` the gradients of all parameters too."""
    errors, eager = run.check(model, case, "cpu", torch.float32)
    assert max(errors) < 2e-5
    assert len(errors) == 1 or len(errors) == 1 + len(
        list(model.build(case, "cpu", torch.float32, True)[0].parameters())
    )
    assert max(eager) < 1e-5


@pytest.mark.parametrize("model, case", FORWARD)
def test_one_graph(model, case, monkeypatch):
    """What torch.compile is given is one graph, in which FlexAttention stands for attention with a softcap. That has no
    gradient on the CPU."""
    without_inductor(monkeypatch)
    step = run.Step(*model.build(case, "cpu", torch.bfloat16, tiny=True), train=False)
    ops = Flex()
    [want], [got] = step(ops), step.compiled()(ops)
    assert run.relative_errors([got.float()], [want.float()])[0] < 2e-2


def test_measure(monkeypatch, tmp_path, capsys):
    without_inductor(monkeypatch)
    monkeypatch.setattr(run, "_WARM", 1)
    monkeypatch.setattr(run, "_ROUNDS", 2)
    model, file = MODELS["llama-3-8b"], tmp_path / "models.json"
    for text in model.tiny_cases:
        m = run.measure(model, model.case(text), "cpu", CpuClock(), autotune="decode" in text, tiny=True)
        report.row(m)
        report.write(file, [report.fields(m, "cpu", "a commit")])
    report.write(file, [report.fields(m, "cpu", "another commit")])  # takes its own place
    results = json.loads(file.read_text())
    assert [r["case"] for r in results] == [text_of(model.case(text)) for text in model.tiny_cases]
    assert [r["commit"] for r in results] == ["a commit", "a commit", "another commit"]
    for r in results:
        assert "failure" not in r and "left_out" not in r
        assert r["model"] == "llama-3-8b" and r["device"] == "CPU runtime" and r["torch"] == torch.__version__
        assert all(r[f"{name}_ms"] > 0 for name in ("eager", "compile", "ridge"))
        assert r["floor_ms"] is None and 0 < r["error"] < 2e-2
    assert "max-autotune" in capsys.readouterr().out


def test_a_wrong_operator_fails(monkeypatch, capsys):
    monkeypatch.setattr(Ridge, "rms_norm", lambda self, x, gamma, eps: x)
    assert program.main(["--models", "--check", "t5-base", "--device", "cpu"]) == 1
    assert "output 0 is off by" in capsys.readouterr().out
    model = MODELS["t5-base"]
    monkeypatch.setattr(
        run, "_work", lambda step, name: functools.partial(step, Ridge() if name == "ridge" else Torch())
    )
    m = run.measure(model, model.case(model.tiny_cases[0]), "cpu", CpuClock(), tiny=True)
    assert "output 0 is off by" in m.failure and "ridge" not in m.times and m.ms("eager") > 0


def test_what_a_step_moves():
    """All weights are read once, of the embedding the rows of the tokens; a product has 2 operations a weight."""
    model = MODELS["qwen2.5-7b"]
    module, inputs = model.build(model.case("prefill=24,layers=2"), "cpu", torch.float32, tiny=True)
    counting = Counting()
    with torch.no_grad():
        module(counting, *inputs)
    c = module.c
    layer = (c.heads + 2 * c.kv_heads) * c.head * c.width + c.heads * c.head * c.width + 3 * c.hidden * c.width
    biases, head, rows = 2 * (c.heads + 2 * c.kv_heads) * c.head, c.vocab * c.width, 24 * c.width
    assert counting.weights == 2 * layer + biases + head + rows
    pairs = 24 * 25 // 2
    assert counting.operations == 2 * (24 * 2 * layer + head) + 2 * 4 * pairs * c.heads * c.head


def test_windows_have_fewer_pairs():
    q, k = torch.randn(1, 6, 1, 4), torch.randn(1, 6, 1, 4)
    counting = Counting()
    counting.attention(q, k, k, causal=True, window=2)
    assert counting.operations == 4 * (1 + 5 * 2) * 4


def test_what_convolutions_do():
    """A filter of one channel has its own products alone; a transposed convolution's are of its input's pixels."""
    x, counting = torch.randn(1, 4, 4, 6), Counting()
    counting.conv2d(x, torch.randn(6, 3, 3, 1), torch.randn(6), pad=1, groups=6)
    assert counting.operations == 2 * 16 * 6 * 9
    y = counting.conv_transpose2d(x, torch.randn(6, 2, 2, 5), torch.randn(5), stride=2)
    assert y.shape == (1, 8, 8, 5) and counting.operations == 2 * 16 * (6 * 9 + 6 * 4 * 5)


def test_residuals_of_convolutions():
    """Before and after an activation."""
    x, w, bias, other = torch.randn(1, 4, 4, 6), torch.randn(6, 1, 1, 6), torch.randn(6), torch.randn(1, 4, 4, 6)
    for activation in ("silu", "hardswish"):
        for how in ("residual", "added"):
            got, want = (ops.conv2d(x, w, bias, activation=activation, **{how: other}) for ops in (Ridge(), Torch()))
            assert run.relative_errors([got], [want])[0] < 1e-6
        rows = x.flatten(0, 2)
        got, want = (ops.linear(rows, w[:, 0, 0], bias, activation, rows) for ops in (Ridge(), Torch()))
        assert run.relative_errors([got], [want])[0] < 1e-6


def greedy(boxes, scores, classes, iou):
    """Box by box."""
    kept = []
    for i in scores.sort(descending=True, stable=True).indices.tolist():
        low = torch.maximum(boxes[kept, :2], boxes[i, :2])
        common = (torch.minimum(boxes[kept, 2:], boxes[i, 2:]) - low).clamp(min=0).prod(-1)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
        if not ((common > iou * (area[kept] + area[i] - common)) & (classes[kept] == classes[i])).any():
            kept.append(i)
    return kept


def test_nms():
    """In rounds, as a CUDA graph can hold them, and Ridge's."""
    torch.manual_seed(1)
    images, best = 3, 60
    corner = torch.rand(images, best, 2)
    boxes = torch.cat((corner, corner + 0.05 + torch.rand(images, best, 2) * 0.3), -1)
    scores = torch.rand(images, best).sort(descending=True).values
    classes = torch.randint(2, (images, best)) + 2 * torch.arange(images).unsqueeze(1)
    want = greedy(boxes.flatten(0, 1), scores.flatten(), classes.flatten(), 0.3)
    assert 0 < len(want) < 0.9 * images * best
    for ops in (Torch(), Ridge()):
        assert ops.nms(boxes, scores, classes, 0.3).tolist() == want + [-1] * (images * best - len(want))


def test_kernels():
    ours = [
        kernels.Kernel("void ridge::norm_kernels::(anonymous namespace)::norm_even<ridge::Row<(int)3>>(int)", 30, 9)
    ]
    theirs = [
        kernels.Kernel("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", 100, 4),
        kernels.Kernel("triton_red_fused__scaled_dot_product_flash_attention_add_7", 11, 2),
    ]
    assert kernels.short(ours[0].name) == "norm_kernels::norm_even"
    assert [kernel.kind for kernel in ours + theirs] == ["other", "products", "other"]
    lines = kernels.beside(ours, theirs)
    assert lines[0] == "other 30 us beside 11, products 0 us beside 100" and len(lines) == 3
    assert "norm_even" in lines[1] and "nvjet" in lines[1]


def test_list(capsys):
    assert program.main(["--models", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(MODELS)
    assert "decode=8,context=4096,layers=4" in lines[list(MODELS).index("llama-3-8b")]


@pytest.mark.parametrize("what", ["nothing", "bert-base:batch=x", "bert-base:images=4", "resnet-50:images=1,layers=2"])
def test_wrong_requests(what, capsys):
    assert program.main(["--models", what, "--device", "cpu"]) == 2
    assert "ridge.bench: " in capsys.readouterr().err


def test_cases_of_other_sizes():
    assert MODELS["llama-3-8b"].case("prefill=1000,layers=32") == {"prefill": 1000, "layers": 32}
    assert MODELS["resnet-50"].case("images=3") == {"images": 3}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_times_are_a_gpus(capsys):
    assert program.main(["--models", "resnet-50"]) == 2
    assert "on a GPU" in capsys.readouterr().err


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.parametrize("model, case", TINY)
def test_on_a_gpu(model, case, monkeypatch):
    without_inductor(monkeypatch)
    m = run.measure(model, case, "cuda", GpuClock("cuda", share_memory=True), tiny=True)
    assert not m.failure and m.ms("ridge") > 0 and m.kernels["ridge"]
