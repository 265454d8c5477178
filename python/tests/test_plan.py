"""ridge.plan(): what it says, and what it runs."""

import copy
import pickle
import re
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import references
from foreign import Foreign, sizes

import ridge

X = np.random.default_rng(0).standard_normal((8, 100)).astype(np.float32)


def test_explains():
    plan = ridge.plan("softmax", X)
    explanation = plan.explain()
    assert plan.op == "softmax" and plan.variant == explanation.json["variant"] and plan.workspace == 0
    for key in [
        "operator",
        "device",
        "variant",
        "bound",
        "bytes",
        "operations",
        "least_us",
        "predicted_us",
        "candidates",
    ]:
        assert key in explanation.json
    assert [c["variant"] for c in explanation.json["candidates"]] == [
        v["name"] for v in ridge.ops()["softmax"]["variants"]
    ]
    assert plan.variant in str(explanation) and repr(explanation) == str(explanation)
    assert "softmax" in repr(plan) and "8x100" in repr(plan) and plan.variant in repr(plan)
    assert "<table>" in plan._repr_html_() and plan.variant in plan._repr_html_()
    for candidate in explanation.json["candidates"]:
        assert candidate["variant"] in explanation._repr_html_()


def test_html_is_escaped():
    facts = ridge.plan("softmax", X).explain()
    facts.json["variant"] = "<b>"
    assert "&lt;b&gt;" in facts._repr_html_() and "<b>" not in facts._repr_html_()


def test_runs():
    plan = ridge.plan("softmax", X)
    want = ridge.softmax(X)
    np.testing.assert_array_equal(plan.run(X), want)
    y = np.empty_like(X)
    assert plan.run(X, out=y) is y
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(ridge.plan(ridge.softmax, X, out=y).run(X), want)
    z = X.copy()
    in_place = ridge.plan("softmax", z, out=z)
    np.testing.assert_array_equal(in_place.run(z, out=z), want)


def test_planned_without_tensors():
    plan = ridge.plan("softmax", ridge.Spec((8, 100), "f32"))
    np.testing.assert_array_equal(plan.run(X), ridge.softmax(X))
    assert ridge.plan("histogram", ridge.Spec((8,), np.uint8.__name__), bins=256).variant


def test_planned_for_another_device():
    plan = ridge.plan("gemm", ridge.Spec((4096, 4096), "bf16"), ridge.Spec((4096, 4096), "bf16"), device="H200")
    assert "H200" in plan.explain().json["device"] and plan.explain().json["predicted_us"] > 0
    with pytest.raises((ValueError, ridge.Unsupported, ridge.NoDevice)):
        ridge.plan("softmax", X, device="H200").run(X)
    with pytest.raises(ValueError, match="XYZ"):
        ridge.plan("softmax", X, device="XYZ")


def test_options_and_variants():
    plan = ridge.plan("histogram", X, bins=10, range=(-3, 3))
    np.testing.assert_array_equal(plan.run(X), np.histogram(X.astype(float), 10, (-3, 3))[0])
    assert ridge.plan("softmax", X, variant="naive").variant == "naive"
    with pytest.raises(TypeError, match="run\\(\\) takes no bins"):
        plan.run(X, bins=10)


def test_other_tensors_than_planned_for_are_refused():
    plan = ridge.plan("softmax", X)
    for other in [X[:4], X.astype(np.float64), X[:, ::2], X.T.copy().T]:
        with pytest.raises((TypeError, ValueError)):
            plan.run(other)
    with pytest.raises(TypeError, match="x is missing"):
        plan.run()
    with pytest.raises(TypeError, match="must be a, b"):
        ridge.plan("add", X, X).run(X)
    with pytest.raises(TypeError, match="must have 1, as planned"):
        plan.run(X, out=(X.copy(), X.copy()))


def workspaces():
    """A plan that borrows a workspace, and its input."""
    x = np.ones(1 << 20, np.float32)
    for variant in ridge.ops()["sum"]["variants"]:
        try:
            plan = ridge.plan("sum", x, variant=variant["name"])
        except ridge.Unsupported:
            continue
        if plan.workspace:
            yield plan, x


def test_workspace():
    plan, x = next(workspaces())
    want = np.float32(1 << 20)
    assert plan.run(x) == want
    room = np.empty(plan.workspace + 256, np.uint8)
    room = room[-room.ctypes.data % 256 :][: plan.workspace]
    assert plan.run(x, workspace=room) == want
    for other in [room.view(np.float32), room.reshape(1, -1, 1), room[np.newaxis, ::1]]:
        assert plan.run(x, workspace=other) == want
    with pytest.raises(ValueError, match=f"sum: workspace has {plan.workspace - 1} bytes; it must have"):
        plan.run(x, workspace=room[:-1])
    with pytest.raises(ValueError, match="sum: workspace has 0 bytes; it must have"):
        plan.run(x, workspace=room[:0])
    with pytest.raises(ValueError, match="sum: workspace is memory that overlaps x; it must be memory that"):
        plan.run(x, workspace=x.view(np.uint8)[-x.ctypes.data % 256 :])
    room.flags.writeable = False
    with pytest.raises(ValueError, match="sum: workspace is read-only"):
        plan.run(x, workspace=room)


def test_a_workspace_is_memory_without_gaps():
    """Sizes alone would say that these are large enough; around them lies what is somebody else's."""
    plan, x = next(workspaces())
    n = plan.workspace
    around = np.full(4 * n + 512, 7, np.uint8)
    room = around[n + -(around.ctypes.data + n) % 256 :][: 2 * n]
    for view in [
        room[: 2 * n : 2],
        room[:n][::-1],
        np.lib.stride_tricks.as_strided(room, (n,), (0,)),
        np.lib.stride_tricks.as_strided(room, (2, n // 2), (1, 1)),
        room[: 2 * n].reshape(n // 2, 4)[:, :2],
        np.lib.stride_tricks.as_strided(room, (n, 1, 2), (1, 1, 0)),
    ]:
        assert view.size >= n
        with pytest.raises(ValueError, match="sum: workspace.strides is .*; it must be .*, as of memory without gaps"):
            plan.run(x, workspace=view)
    with pytest.raises(ValueError, match="sum: workspace.shape has a negative size, or 2"):
        plan.run(x, workspace=Foreign.of(room, ndim=2, shape=sizes(2**40, 2**40)))
    with pytest.raises(ValueError, match="sum: workspace.device is cuda:0; it must be that of the inputs, cpu"):
        plan.run(x, workspace=Foreign.of(room, device=(2, 0)))
    assert (around == 7).all()


def test_streams():
    plan = ridge.plan("relu", X)

    class Stream:
        cuda_stream = 0

    for stream in [None, 0, Stream()]:
        np.testing.assert_array_equal(plan.run(X, stream=stream), np.maximum(X, 0))
    with pytest.raises(TypeError, match="stream is of type str"):
        plan.run(X, stream="default")


def test_specs():
    spec = ridge.Spec((2, 0, 3), "torch.float16", device="cuda:1")
    assert spec.strides == (3, 3, 1) and spec.dtype == "float16" and "cuda:1" in repr(spec)
    for wrong in [{"device": "tpu"}, {"strides": (1,)}]:
        with pytest.raises(ValueError):
            ridge.Spec((2, 2), **wrong)


def test_dtypes_of_specs():
    for name, numpy_type in references.DTYPES.items():
        for given in [name, numpy_type, np.dtype(numpy_type), str(np.dtype(numpy_type))]:
            spec = ridge.Spec((4, 8), given)
            assert ridge.infer("copy", spec)[0].dtype == name, given
    assert ridge.Spec((1,), ml_dtypes.bfloat16).dtype == "bfloat16" and ridge.Spec((1,), bool).dtype == "bool"
    for wrong in ["f31", "", np.complex64, np.dtype(">f4"), np.dtype("V4"), float, object(), None, 32, np.float32(32)]:
        sentence = f"Spec: dtype is {wrong!r}; it must be one of f64 f32"
        with pytest.raises(TypeError, match=re.escape(sentence)):
            ridge.Spec((2, 2), wrong)


class torch_like:
    """What a Spec sees of PyTorch's dtypes: str() alone."""

    def __str__(self):
        return "torch.bfloat16"


def test_dtypes_of_libraries_that_are_not_here():
    assert ridge.Spec((1,), torch_like()).dtype == "bfloat16"


# ---- copies ----------------------------------------------------------------------------------------------------------

COPIES = [copy.copy, copy.deepcopy, *(lambda p, n=n: pickle.loads(pickle.dumps(p, n)) for n in (2, 5))]


@pytest.mark.parametrize("name", ridge.ops())
def test_plans_can_be_copied(name):
    """Of every operator: the copy explains itself in the same words, and gives the same bits."""
    dtype = ridge.ops()[name]["dtypes"][0]
    for number, case in enumerate(references.OPERATORS[name](dtype, np.random.default_rng(1))):
        plan = ridge.plan(name, *case.inputs, **case.options)
        again = COPIES[number % len(COPIES)](plan)
        assert type(again) is ridge.Plan and again is not plan and again.op == name
        assert again.explain().json == plan.explain().json
        assert again.workspace == plan.workspace
        one, other = plan.run(*case.inputs), again.run(*case.inputs)
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (one, other)), strict=True):
            assert a.tobytes() == b.tobytes()


def test_what_a_copy_keeps():
    for copied in COPIES:
        assert copied(ridge.plan("softmax", X, variant="naive")).variant == "naive"
        z = X.copy()
        in_place = copied(ridge.plan("softmax", z, out=z))
        np.testing.assert_array_equal(in_place.run(z, out=z), ridge.softmax(X))
        misaligned = np.empty(X.nbytes + 4, np.uint8)[4:].view(np.float32).reshape(X.shape)
        misaligned[:] = X
        for x in [misaligned, X.T, X[::-1, ::-2], np.broadcast_to(X[0], X.shape), X[:0]]:
            plan = ridge.plan("relu", x)
            assert copied(plan).explain().json == plan.explain().json
            np.testing.assert_array_equal(copied(plan).run(x), np.maximum(x, 0))
        dy, y = np.ones_like(X), ridge.softmax(X)
        np.testing.assert_array_equal(
            copied(ridge.plan("softmax_backward", dy, y)).run(dy, y), ridge.softmax_backward(dy, y)
        )
        counts = copied(ridge.plan(ridge.histogram, X, bins=7, range=(-3, 3), out="i32")).run(X)
        assert counts.dtype == np.int32 and counts.shape == (7,)
        noted = ridge.plan("relu", X)
        noted.note = "mine"
        assert copied(noted).note == "mine"
        model = copied(ridge.plan("gemm", ridge.Spec((64, 64), "bf16"), ridge.Spec((64, 64), "bf16"), device="H200"))
        assert "H200" in model.explain().json["device"]


def test_a_pickle_is_of_no_process():
    """It holds no address, and another process loads it."""
    x = np.ones((8, 100), np.float32)
    pickles = {pickle.dumps(ridge.plan("softmax", y)) for y in [x, x.copy(), ridge.Spec(x.shape)]}
    assert len(pickles) == 2  # NumPy's memory lies on 16 bytes or on more, and a Spec's nowhere
    assert {pickle.dumps(pickle.loads(text)) for text in pickles} == pickles
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).variant)"
    for text in pickles:
        done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, cwd="/")
        assert done.stdout.decode().strip() == ridge.plan("softmax", x).variant, done.stderr


def test_a_pickle_of_a_device_that_is_not_here():
    make, (op, inputs, *rest) = ridge.plan("softmax", ridge.Spec((8, 100))).__reduce__()[:2]
    (name, (code, bits, _, _, *more)) = inputs[0]
    with pytest.raises(ridge.NoDevice):
        make(op, ((name, (code, bits, 2, 99, *more)),), *rest)


def test_plans_are_made_by_plan():
    for make in [ridge.Plan, lambda: ridge.Plan.__new__(ridge.Plan), lambda: object.__new__(ridge.Plan)]:
        with pytest.raises(TypeError):
            make()


# ---- tuning ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tuning_file(tmp_path, monkeypatch):
    path = tmp_path / "cache" / "tuning"
    monkeypatch.setenv("RIDGE_TUNE_CACHE", str(path))
    ridge.tune(False)  # or the file that is named would have to be there
    yield path
    ridge.tune(False)


def test_a_tuned_call_is_kept_and_found(tuning_file):
    x = np.random.default_rng(1).standard_normal((33, 70), np.float32)
    expected = ridge.softmax(x)
    ridge.tune()
    np.testing.assert_allclose(ridge.softmax(x), expected, rtol=1e-6)
    first, entry = tuning_file.read_text().splitlines()
    assert first == "ridge tuning 2"
    version, _, op, _, variant, us = entry.split("\t")
    assert (version, op) == (ridge.__version__, "softmax") and float(us) > 0
    ridge.tune("read")
    assert ridge.plan("softmax", x).variant == variant
    np.testing.assert_allclose(ridge.softmax(x), expected, rtol=1e-6)


def test_a_call_can_ask_for_itself(tuning_file):
    x = np.ones((5, 6), np.float32)
    ridge.softmax(x, tune=1)
    assert len(tuning_file.read_text().splitlines()) == 2
    ridge.softmax(x[:4])
    assert len(tuning_file.read_text().splitlines()) == 2


def test_what_tune_takes():
    with pytest.raises(ValueError, match="ridge.tune: mode is 'yes'; it must be True, False or 'read'"):
        ridge.tune("yes")
    with pytest.raises(ValueError, match="softmax: tune is '3'; it must be 0 or 1"):
        ridge.softmax(np.ones((5, 6), np.float32), tune=3)
