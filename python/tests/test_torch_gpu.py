"""ridge.torch on a GPU: kernels, streams, CUDA graphs, torch.compile."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU here", allow_module_level=True)

from torch_samples import REQUESTS, WITH_GRADIENT, overload, samples, tensors  # noqa: E402

import ridge.torch  # noqa: E402
from ridge.torch import autograd, schema  # noqa: E402


@pytest.fixture(autouse=True)
def exact_float32():
    torch.backends.cuda.matmul.allow_tf32 = False


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_same_as_on_the_cpu(op, inputs, options):
    if "variant" in options:
        pytest.skip("a variant by name may not fit both devices")
    if "math" in options:
        pytest.skip("where products may be rounded, a device may do without")
    on_cpu, on_gpu = tensors(op, inputs), tensors(op, inputs, "cuda")
    want, got = overload(op)(**on_cpu, **options), overload(op)(**on_gpu, **options)
    for g, w in zip(*(x if isinstance(x, (tuple, list)) else (x,) for x in (got, want)), strict=True):
        assert g.is_cuda
        torch.testing.assert_close(g.cpu(), w, equal_nan=True)


@pytest.mark.parametrize("op, inputs, options", REQUESTS)
def test_opcheck(op, inputs, options):
    made = tensors(op, inputs, "cuda", requires_grad=op.name in autograd.FORMULAS)
    torch.library.opcheck(overload(op), [made.get(name) for name in schema.arguments(op)], options)


@pytest.mark.parametrize("op, inputs, options", [p for p in WITH_GRADIENT if "f64" in p.values[0].dtypes])
def test_gradient(op, inputs, options):
    made = tensors(op, inputs, "cuda", torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda *given: overload(op)(**dict(zip(made, given)), **options), tuple(made.values())
    )


@pytest.mark.parametrize("op, inputs, options", [p for p in WITH_GRADIENT if "f64" not in p.values[0].dtypes])
def test_gradient_as_on_the_cpu(op, inputs, options):
    if "math" in options:
        pytest.skip("where products may be rounded, a device may do without")
    found = []
    for device in ("cpu", "cuda"):
        made = tensors(op, inputs, device, requires_grad=True)
        out = overload(op)(**made, **options)
        results = [y for y in (out if isinstance(out, (tuple, list)) else (out,)) if y.requires_grad]
        bits = torch.Generator().manual_seed(2)
        given = [torch.randn(y.shape, generator=bits).to(device) for y in results]
        wanted = [t for t in made.values() if t.requires_grad]
        found.append([g.cpu() for g in torch.autograd.grad(results, wanted, given)])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)


def layer(x, w, b):
    return torch.ops.ridge.softmax(torch.ops.ridge.gemm(x, w, bias=b, layout="nt", epilogue="bias+relu"))


def reference(x, w, b):
    return torch.nn.functional.linear(x, w, b).relu().softmax(-1)


def arguments(m, n, k, dtype=torch.bfloat16):
    return [torch.randn(*s, device="cuda").to(dtype) / 4 for s in ((m, k), (n, k), (n,))]


def test_cuda_graph():
    """Captured after other shapes were run, replayed on new values, and again after yet other shapes."""
    layer(*arguments(64, 40, 24))
    inputs = arguments(128, 256, 64)
    layer(*inputs)  # kernels are loaded before a capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(*inputs)
    for _ in range(2):
        for old, new in zip(inputs, arguments(128, 256, 64)):
            old.copy_(new)
        graph.replay()
        torch.testing.assert_close(y, layer(*inputs), rtol=0, atol=0)
        torch.testing.assert_close(y, reference(*inputs), rtol=2e-2, atol=2e-2)
        layer(*arguments(32, 512, 8))


def test_every_operator_in_a_cuda_graph():
    for op, (inputs, options) in ((op, samples(op)[0]) for op in ridge.torch.OPERATORS.values() if samples(op)):
        made = tensors(op, inputs, "cuda")
        want = overload(op)(**made, **options)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = overload(op)(**made, **options)
        graph.replay()
        for g, w in zip(*(x if isinstance(x, (tuple, list)) else (x,) for x in (got, want)), strict=True):
            torch.testing.assert_close(g, w, rtol=0, atol=0, equal_nan=True, msg=op.name)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_inductor(mode):
    torch._dynamo.reset()
    compiled = torch.compile(lambda *t: layer(*t) * 2, fullgraph=True, mode=mode)
    inputs = [t.requires_grad_() for t in arguments(128, 256, 64)]
    copies = [t.detach().clone().requires_grad_() for t in inputs]
    for _ in range(3):
        y, want = compiled(*inputs), reference(*copies) * 2
        torch.testing.assert_close(y, want, rtol=2e-2, atol=2e-2)
        for t in inputs + copies:
            t.grad = None
        weights = torch.randn_like(want)
        y.backward(weights)
        want.backward(weights)
        for got, right in zip(inputs, copies):
            scale = right.grad.float().abs().max().item()
            torch.testing.assert_close(got.grad, right.grad, rtol=5e-2, atol=2e-2 * scale)


def test_current_stream():
    """Work goes to the current stream: behind what was queued there."""
    x = torch.zeros(1 << 24, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x.fill_(3)
        y = torch.ops.ridge.relu(x)
    stream.synchronize()
    assert bool((y == 3).all())


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU here")
def test_the_tensors_device_counts():
    x = torch.randn(5, 7, device="cuda:1")
    with torch.cuda.device(0):
        y = torch.ops.ridge.softmax(x)
    assert y.device == x.device
    torch.testing.assert_close(y, x.softmax(-1))
