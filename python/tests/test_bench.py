"""python -m ridge.bench, on CPU tensors: cases of every operator in its table, small."""

import functools
import importlib.util
import json

import pytest

torch = pytest.importorskip("torch")

import ridge  # noqa: E402
from ridge.bench import __main__ as program  # noqa: E402
from ridge.bench.case import Case  # noqa: E402
from ridge.bench.clock import Timing  # noqa: E402
from ridge.bench.peers import TABLE  # noqa: E402


def small(case):
    """The same case with sizes of a few: 3 for axes of a permutation and for windows, odd ones for widths, and of heads
    as many for each of keys as there were."""
    case = Case.parse(case)

    def size(i, key):
        if key == "hkv":
            return 2
        if key == "hq":
            return 2 * (case["hq"] // case["hkv"])
        if key[0] == "d" and key != "d":
            return 3 + i
        return 3 if key in "rs" and case.op != "rope" else 8 * (1 + i) + (key == "w")

    sizes = ",".join(f"{key}={size(i, key)}" for i, key in enumerate(case.sizes))
    options = [f"{key}={value}" for key, value in case.options.items()]
    return ":".join([case.op, case.dtype, sizes, *options])


SMALL = sorted({small(case) for op, row in TABLE.items() if op in ridge.ops() for case in row.cases})


# Where there may be no peer: one that counts does not take every case, and the other may not be here.
WITHOUT_PEER = ("histogram",) if importlib.util.find_spec("torchvision") else ("histogram", "nms")


def run(tmp_path, *arguments):
    file = tmp_path / "results.json"
    status = program.main([*arguments, "--device", "cpu", "--repeats", "2", "--json", str(file)])
    return status, json.loads(file.read_text())


def test_every_row(tmp_path, capsys):
    """Each peer that eager mode has agrees with Ridge: one that differed would be left out with the reason."""
    status, results = run(tmp_path, *SMALL, "--peers", "torch", "--markdown")
    assert status == 0
    shown = capsys.readouterr().out
    assert "CPU runtime" in shown and "| `softmax:f32:" in shown
    assert [m["case"] for m in results["measurements"]] == SMALL
    for m in results["measurements"]:
        assert "error" not in m, m
        assert m["us"] > 0 and m["noise"] >= 0 and m["variant"] and m["gbs"] > 0
        assert m["peers"] or m["case"].startswith(WITHOUT_PEER), m
        assert all(peer["times_faster"] > 0 for peer in m["peers"])


def test_every_row_compiled(tmp_path, monkeypatch):
    """Every peer, and the forward pass of every gradient, is one graph for torch.compile. What Inductor makes of it takes
    its time, and is not looked at."""
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager", fullgraph=True))
    one_of_each = {(case.split(":")[0], "backward" in case): case for case in SMALL}
    status, results = run(tmp_path, *one_of_each.values(), "--peers", "compile")
    assert status == 0
    for m in results["measurements"]:
        assert [peer["name"] for peer in m["peers"]] == ["compile"] or m["case"].startswith(("histogram", "nms")), m


def test_a_peer_that_differs_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(TABLE["relu"], "peer", lambda case: lambda x: x)
    _, results = run(tmp_path, "relu:f32:n=64", "--peers", "torch")
    [m] = results["measurements"]
    assert m["peers"] == [] and "differs from Ridge's" in m["peers_left_out"]["torch"]


def test_a_refused_case_is_a_line_of_its_own(tmp_path):
    status, results = run(
        tmp_path, "softmax:f32:rows=8,cols=16:variant=nothing", "softmax:f32:rows=8,cols=16", "--peers", "none"
    )
    assert status == 0
    assert "variant" in results["measurements"][0]["error"] and "error" not in results["measurements"][1]


@pytest.mark.parametrize("what", ["nothing", "nothing:f32:n=1", "softmax:f32", "softmax:f32:rows=x"])
def test_wrong_requests(what, capsys):
    assert program.main([what, "--device", "cpu"]) == 2
    assert "ridge.bench: " in capsys.readouterr().err


def test_unknown_peer(capsys):
    assert program.main(["relu", "--device", "cpu", "--peers", "nobody"]) == 2
    assert "'nobody' is none of" in capsys.readouterr().err


def test_results_that_cannot_be_written(capsys):
    assert program.main(["relu", "--device", "cpu", "--json", "/nowhere/results.json"]) == 2
    assert "/nowhere/results.json" in capsys.readouterr().err


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    cases = [f"softmax:f32:rows=8,cols={cols}" for cols in (16, 32, 64)]
    assert program.main([*cases, "--device", "cpu", "--repeats", "2", "--peers", "torch", "--plot", str(tmp_path)]) == 0
    [file] = tmp_path.glob("*.svg")
    assert file.name == "softmax_f32_rows_cols.svg" and "cols" in file.read_text()


def test_case():
    case = Case.parse("gemm:bf16:m=1,n=2,k=3:layout=nt:causal:fill=ints:variant=x")
    assert case.sizes == {"m": 1, "n": 2, "k": 3} and case["k"] == 3
    assert case.operator_options({"k"}) == {"k": "3", "layout": "nt", "causal": "1", "variant": "x"}


def test_timing():
    timing = Timing([1, 2, 3, 4, 100])
    assert timing.us == 3 and timing.noise == pytest.approx((4 - 2) / 2 / 3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_on_a_gpu(tmp_path):
    """Every contender is timed, the copy too; an operator that no graph can hold is timed without one."""
    file = tmp_path / "results.json"
    cases = ["softmax:bf16:rows=512,cols=1024", "gemm:bf16:m=256,n=256,k=256:layout=nt:epilogue=bias+relu"]
    assert program.main([*cases, "histogram:u8:n=100000", "--repeats", "5", "--json", str(file)]) == 0
    results = json.loads(file.read_text())
    assert results["device"] == torch.cuda.get_device_name()
    for m, peers in zip(results["measurements"], (2, 3, 1)):
        assert 0 < m["copy_share"] < 3 and 0 < m["us"] < 1e4
        assert len(m["peers"]) >= peers, m
