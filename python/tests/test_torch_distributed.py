"""ridge.torch.distributed: the sharding rules of every operator, by pieces in one process and by DTensor on two ranks;
ring attention; plans of parallel models; the example."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch is built without torch.distributed", allow_module_level=True)
pytest.importorskip("torch.distributed.tensor", reason="DTensor needs PyTorch 2.5 or newer")

from sharding_samples import OPERATORS, REQUESTS, assert_same, call, given, request, spread, together  # noqa: E402
from torch.distributed.tensor import Partial, Replicate, Shard  # noqa: E402
from torch.distributed.tensor.placement_types import _MaskPartial  # noqa: E402

from ridge.torch.distributed import sharding  # noqa: E402
from ridge.torch.distributed.axes import ROWS  # noqa: E402

HERE = pathlib.Path(__file__).parent


def test_every_operator_has_a_row():
    assert set(OPERATORS) <= set(ROWS)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", REQUESTS)
def test_choices_are_right(name, ranks):
    """What the ranks compute of their pieces, put together, is what one computes of all."""
    op, inputs, options = REQUESTS[name]
    made = given(op, inputs)
    want = call(op, made, options)
    for choice in sharding.choices(op, request(made, options), ranks):
        if any(isinstance(p, _MaskPartial) for p in choice.inputs.values()):
            continue  # which DTensor makes of the indices: distributed_checks.py
        pieces = {n: spread(made[n], placement, ranks) for n, placement in choice.inputs.items()}
        found = [call(op, {n: pieces[n][rank] for n in pieces}, options) for rank in range(ranks)]
        for i, placement in enumerate(choice.outputs.values()):
            assert_same(together([outputs[i] for outputs in found], placement), want[i])
        assert len(want) == len(choice.outputs)


def choices(name, options, **shapes):
    """Those of an operator for inputs of these shapes on two ranks, as text: "x:S0 w:R -> y:S0"."""
    made = {name: torch.empty(shape) for name, shape in shapes.items()}
    texts = {Replicate: lambda p: "R", Shard: lambda p: f"S{p.dim}", Partial: lambda p: f"P({p.reduce_op})"}
    return {
        " -> ".join(
            " ".join(f"{n}:{texts.get(type(p), str)(p)}" for n, p in side.items())
            for side in (choice.inputs, choice.outputs)
        )
        for choice in sharding.choices(OPERATORS[name], request(made, options), 2)
    }


def test_choices_of_linear():
    """Tensor parallelism needs the columns and the rows of a weight; an activation is not of a sum."""
    shapes = {"x": (2, 3, 6), "w": (5, 6), "bias": (5,)}
    by_rows = "x:S2 w:S1 bias:P(sum) -> y:P(sum)"
    assert choices("linear", {}, **shapes) == {
        "x:R w:R bias:R -> y:R",
        "x:S0 w:R bias:R -> y:S0",
        "x:S1 w:R bias:R -> y:S1",
        "x:R w:S0 bias:S0 -> y:S2",
        by_rows,
    }
    assert by_rows not in choices("linear", {"activation": "gelu"}, **shapes)
    assert "x:R w:S0 bias:S0 -> y:S2" in choices("linear", {"activation": "gelu"}, **shapes)


def test_choices_of_gemm_depend_on_what_follows_it():
    shapes = {"a": (4, 6), "b": (6, 8)}
    assert "a:S1 b:S0 -> d:P(sum)" in choices("gemm", {}, **shapes)
    assert "a:S1 b:S0 -> d:P(sum)" not in choices("gemm", {"epilogue": "relu"}, **shapes)
    gated = choices("gemm", {"epilogue": "silu+gate"}, **shapes, gate=(6, 8))
    assert "a:R b:S1 gate:S1 -> d:S1" in gated and not any("P(" in choice for choice in gated)


def test_choices_of_attention():
    """Heads that share keys are cut with them; queries alone where each sees all keys."""
    apart = "q:S2 k:R v:R -> o:S2 lse:S2"
    shapes = {"q": (2, 4, 6, 8), "k": (2, 2, 6, 8), "v": (2, 2, 6, 8)}
    assert apart in choices("attention", {"lse": True}, **shapes)
    causal = choices("attention", {"lse": True, "causal": "upper_left"}, **shapes)
    assert apart not in causal and "q:S1 k:S1 v:S1 -> o:S1 lse:S1" in causal
    shared = {"q": (2, 6, 6, 8), "k": (2, 3, 6, 8), "v": (2, 3, 6, 8)}  # of 3 heads two ranks would have 2 and 1
    assert not any("S1" in choice for choice in choices("attention", {"causal": "upper_left"}, **shared))
    one = {"q": (2, 4, 6, 8), "k": (2, 1, 6, 8), "v": (2, 1, 6, 8)}
    assert "q:S1 k:R v:R -> o:S1" in choices("attention", {"causal": "upper_left"}, **one)


def test_choices_of_norms():
    """Rows are apart; gradients of the parameters are sums over them."""
    assert choices("rms_norm", {}, x=(4, 6), gamma=(6,)) == {"x:R gamma:R -> y:R", "x:S0 gamma:R -> y:S0"}
    backward = choices("rms_norm_backward", {"outputs": "dx,dgamma"}, dy=(4, 6), x=(4, 6), gamma=(6,))
    assert "dy:S0 x:S0 gamma:R -> dx:S0 dgamma:P(sum)" in backward


def test_an_operator_without_a_row_is_whole_on_each_rank(monkeypatch):
    monkeypatch.delitem(ROWS, "softmax")
    assert choices("softmax", {}, x=(4, 6)) == {"x:R -> y:R"}


# ---- several ranks --------------------------------------------------------------------------------------------------


def run_checks(ranks):
    """{check: what is wrong with it} of distributed_checks.py."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "distributed_checks.py"), str(ranks)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0 and lines, done.stdout + done.stderr
    return json.loads(lines[-1])


@pytest.fixture(scope="module")
def results():
    return {ranks: run_checks(ranks) for ranks in (2, 4)}


def _checks():
    """(ranks, name) of each, without an import of the module, which is for processes of its own."""
    text = (HERE / "distributed_checks.py").read_text()
    found = re.findall(r"^@check\((.*?)\)\ndef (\w+)", text, re.MULTILINE)
    return [(int(ranks), name) for listed, name in found for ranks in listed.split(",")]


@pytest.mark.parametrize("ranks, name", _checks())
def test_on_ranks(results, ranks, name):
    assert results[ranks].get(name, "it did not run") == ""
