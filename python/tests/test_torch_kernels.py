"""Ridge as a local kernel of Hugging Face's `kernels` library, in models of transformers, offline."""

import os
import sys

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = pytest.importorskip("torch")
kernels = pytest.importorskip("kernels")
transformers = pytest.importorskip("transformers")
F, nn = torch.nn.functional, torch.nn
import ridge.torch  # noqa: E402
from ridge.torch.kernels import __main__ as writer  # noqa: E402
from ridge.torch.kernels import layers  # noqa: E402

NEEDED = {"rms_norm", "silu", "gelu", "gelu_tanh", "mul", "linear", "gemm", "rope"}
if not NEEDED <= set(ridge.torch.OPERATORS):
    pytest.skip("this build has not the operators of the layers", allow_module_level=True)


# The backend that the library looks for.
TORCHS = f"cu{torch.version.cuda.replace('.', '')}" if torch.version.cuda else "cpu"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    writer.write(folder, TORCHS)
    return folder


def compare(found, expected):
    torch.testing.assert_close(found, expected, rtol=2e-4, atol=2e-4)


def mapping(repository, *names):
    return {name: {"cpu": kernels.LocalLayerRepository(repo_path=repository, layer_name=name)} for name in names}


def kernelized(model, repository, *names, mode=kernels.Mode.INFERENCE):
    with kernels.use_kernel_mapping(mapping(repository, *names), inherit_mapping=False):
        return kernels.kernelize(model, mode=mode, device="cpu")


def test_the_repository_is_loaded(repository):
    found = kernels.get_local_kernel(repository)
    assert found.__version__ == ridge.__version__
    assert found.layers.RMSNorm is layers.RMSNorm
    compare(found.softmax(torch.zeros(1, 4)), torch.full((1, 4), 0.25))


def test_a_process_without_the_package_takes_the_copy(repository, tmp_path):
    """No ridge on its path: the repository is all there is."""
    import subprocess

    program = tmp_path / "program.py"
    program.write_text(
        "import kernels, pathlib, torch\n"
        f"found = kernels.get_local_kernel(pathlib.Path({str(repository)!r}))\n"
        "print(found.silu(torch.zeros(2)).tolist(), found.ridge.__file__)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-I", program], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[0.0, 0.0]") and str(repository) in done.stdout


def test_a_folder_that_exists_is_refused(repository, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["kernels", str(repository), "--backend", TORCHS])
    with pytest.raises(SystemExit, match="it must be a new folder"):
        writer.main()


def small_llama():
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
        vocab_size=64, hidden_act="silu",
    )  # fmt: skip
    torch.manual_seed(1)
    return transformers.LlamaForCausalLM(config)


@pytest.mark.parametrize("training", [False, True])
def test_llama(repository, training, monkeypatch):
    """Its norms, MLPs and products."""
    model, plain, tokens = small_llama().train(training), small_llama().train(training), torch.arange(12).view(2, 6)
    llama = transformers.models.llama.modeling_llama
    marked = {"RMSNorm": llama.LlamaRMSNorm, "SwiGLUMLP": llama.LlamaMLP, "Linear": nn.Linear}
    for name, module in marked.items():  # as transformers does with a version of the library that it knows
        monkeypatch.setattr(module, "kernel_layer_name", name, raising=False)
    mode = kernels.Mode.TRAINING if training else kernels.Mode.INFERENCE
    model = kernelized(model, repository, *marked, mode=mode)
    with torch.set_grad_enabled(training):
        found, expected = model(tokens).logits, plain(tokens).logits
    compare(found, expected)
    replaced = [m for m in model.modules() if getattr(m.forward, "__func__", None) is not type(m).forward]
    assert (
        len(replaced) == 2 * (2 + 1 + 4) + 2 + 2 * 3
    )  # norms, MLPs and products of each layer; the last ones; in MLPs
    if training:
        found.square().sum().backward(), expected.square().sum().backward()
        for (name, a), b in zip(model.named_parameters(), plain.parameters()):
            torch.testing.assert_close(a.grad, b.grad, rtol=2e-3, atol=2e-3, msg=name)


class Halves(nn.Module):
    def forward(self, x):
        return F.silu(x[..., : x.shape[-1] // 2]) * x[..., x.shape[-1] // 2 :]


class Gated(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(16, 24, bias=bias), nn.Linear(16, 24, bias=bias)
        self.down_proj = nn.Linear(24, 16, bias=bias)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


@pytest.mark.parametrize(
    "name, make",
    [
        ("SiluAndMul", Halves),
        ("SwiGLUMLP", lambda: Gated(False)),
        ("SwiGLUMLP", lambda: Gated(True)),
        ("Linear", lambda: nn.Linear(16, 24)),
        ("Linear", lambda: nn.Linear(16, 24, bias=False)),
        ("GeLU", nn.GELU),
        ("GeluTanh", lambda: nn.GELU(approximate="tanh")),
        ("SiLU", nn.SiLU),
    ],
)
def test_layers(name, make):
    """Results and gradients are those of the layer that is replaced, as it is and compiled."""
    module, layer = make(), getattr(layers, name)
    x = torch.randn(2, 5, 16)
    expected = module(x)
    compare(layer.forward(module, x), expected)
    torch._dynamo.reset()
    compare(torch.compile(lambda x: layer.forward(module, x), fullgraph=True, backend="aot_eager")(x), expected)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    layer.forward(module, ours).square().sum().backward()
    module(theirs).square().sum().backward()
    compare(ours.grad, theirs.grad)


def test_mixed_types_are_the_layers_own():
    norm = transformers.models.llama.modeling_llama.LlamaRMSNorm(16)
    x = torch.randn(2, 16).to(torch.bfloat16)
    assert torch.equal(layers.RMSNorm.forward(norm, x), norm(x))


@pytest.mark.parametrize("tokens_first", [False, True])
@pytest.mark.parametrize("batches", [1, 3])
def test_rotation(tokens_first, batches):
    """Tables of one batch for all, or of each, with positions of their own."""
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    axis = 2 if tokens_first else 1
    q, k = torch.randn(3, 4, 6, 8), torch.randn(3, 2, 6, 8)
    q, k = (x.transpose(1, 2).contiguous() if tokens_first else x for x in (q, k))
    angles = torch.rand(batches, 6, 4) * 6
    cos, sin = (f(torch.cat([angles, angles], -1)) for f in (torch.cos, torch.sin))
    for found, expected in zip(layers.rotary_pos_emb.forward(None, q, k, cos, sin, axis),
                               apply_rotary_pos_emb.__wrapped__(q, k, cos, sin, axis)
                               if hasattr(apply_rotary_pos_emb, "__wrapped__")
                               else apply_rotary_pos_emb(q, k, cos, sin, axis)):  # fmt: skip
        compare(found, expected)
