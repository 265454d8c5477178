"""The operators on PyTorch's CUDA tensors: every one, on side streams, from threads, in CUDA graphs."""

import threading

import numpy as np
import pytest
import references

import ridge

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

NAMES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def to_gpu(array):
    if array is None:
        return None
    name = array.dtype.name
    if name in NAMES.values():  # PyTorch takes none of ml_dtypes' arrays: the bits go over
        return torch.from_numpy(array.view(f"u{array.itemsize}").copy()).cuda().view(getattr(torch, name))
    return torch.from_numpy(array.copy()).cuda()


def to_numpy(tensor):
    for dtype, name in NAMES.items():
        if tensor.dtype == getattr(torch, name):
            bits = tensor.contiguous().view(torch.uint8 if dtype.startswith("f8") else torch.int16).cpu().numpy()
            return bits.view(references.DTYPES[dtype])
    return tensor.cpu().numpy()


def tuple_of(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", ridge.ops())
def test_operator(name):
    for dtype in ridge.ops()[name]["dtypes"]:
        for case in references.OPERATORS[name](dtype, np.random.default_rng(1)):
            inputs = [to_gpu(array) for array in case.inputs]
            got = tuple_of(getattr(ridge, name)(*inputs, **case.options))
            assert all(t.device == inputs[0].device for t in got)
            references.check(case, [to_numpy(t) for t in got])
            into = tuple(torch.empty_like(t) for t in got)
            options = {**case.options, "out": into if len(into) > 1 else into[0]}
            getattr(ridge, name)(*inputs, **options)
            for a, b in zip(got, into, strict=True):
                assert to_numpy(a).tobytes() == to_numpy(b).tobytes()


def test_the_current_stream_is_used():
    """The stream is held up, so that on any other one the operator would read what is not there yet. That no call waits
    is what test_graphs shows: a capture allows none to.
    """
    x = torch.zeros(1 << 20, device="cuda")
    ridge.relu(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        x.fill_(3)
        y = ridge.relu(x)
        total = ridge.sum(y)  # borrows a workspace
    torch.cuda.synchronize()
    assert (y == 3).all() and total.item() == 3 * (1 << 20)


def test_a_plan_on_a_stream_that_is_named():
    x = torch.zeros(1 << 20, device="cuda")
    plan, y = ridge.plan("relu", x), torch.empty_like(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        x.fill_(3)
    plan.run(x, out=y, stream=stream)
    torch.cuda.synchronize()
    assert (y == 3).all()


def test_a_workspace_is_lent_for_the_current_stream_alone():
    x = torch.ones(1 << 24, device="cuda")
    plan = ridge.plan("sum", x)
    if not plan.workspace:
        pytest.skip(f"{plan.variant} needs no workspace")
    stream = torch.cuda.Stream()
    with pytest.raises(ValueError, match="workspace is missing"):
        plan.run(x, stream=stream)
    stream.wait_stream(torch.cuda.current_stream())
    room = torch.empty(plan.workspace, dtype=torch.uint8, device="cuda")
    y = plan.run(x, workspace=room, stream=stream)
    torch.cuda.synchronize()
    assert y.item() == 1 << 24


def test_threads():
    x = torch.randn(64, 1025, device="cuda")
    want, wrong = ridge.softmax(x), []
    torch.cuda.synchronize()

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(200):
                rows = 1 + (seed + i) % 64
                y = ridge.softmax(x[:rows])
                if not torch.equal(y, want[:rows]):
                    wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(7 * seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("op", ["softmax", "sum", "relu"])
def test_graphs(op):
    function = getattr(ridge, op)
    x = torch.randn(64, 1000, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        function(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = function(x)  # the result and the workspace are the graph's own
    for _ in range(3):
        x.normal_()
        function(torch.randn(7, 33, device="cuda"))  # other shapes between the replays
        graph.replay()
        assert torch.equal(y, function(x))


def test_views_of_devices():
    x = torch.randn(33, 65, device="cuda")
    for view in [x.T, x[:, ::2], x[1:, 1:], x[:0], x[0, 0]]:
        assert torch.equal(ridge.relu(view), view.relu())
    with pytest.raises(ValueError, match="add: b.device"):
        ridge.add(x, x.cpu())
    with pytest.raises(ValueError):
        ridge.relu(x, out=torch.empty(33, 65))
    pinned = torch.randn(33, 65).pin_memory()
    assert torch.equal(ridge.relu(pinned), pinned.relu())


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_the_tensors_device_is_used_whatever_is_current():
    x = torch.randn(1000, device="cuda:1")
    with torch.cuda.device(0):
        y = ridge.relu(x)
    assert y.device == x.device and torch.equal(y, x.relu())


def test_nothing_is_kept():
    x = torch.randn(1 << 16, device="cuda")

    def calls(n):
        for _ in range(n):
            ridge.relu(x)
            ridge.sum(x)

    calls(100)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    calls(10000)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = cupy.random.randn(33, 65).astype(cupy.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = ridge.relu(x)
        stream.synchronize()
    assert isinstance(y, cupy.ndarray) and (y == cupy.maximum(x, 0)).all()
    out = cupy.empty_like(x)
    assert ridge.softmax(x, out=out) is out


def test_jax():
    """Its arrays are read on a GPU; results there need another library's memory, and say so."""
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    x = jax.numpy.arange(-4.0, 4.0)
    with pytest.raises(ridge.Unsupported, match="give out="):
        ridge.relu(x)
    y = torch.empty(8, device="cuda")
    assert ridge.relu(x, out=y) is y and y.tolist() == [0, 0, 0, 0, 0, 1, 2, 3]
