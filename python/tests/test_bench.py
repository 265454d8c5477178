"""python -m ridge.bench, on CPU tensors: cases of every operator in its table, small."""

import functools
import importlib.util
import json

import pytest

torch = pytest.importorskip("torch")

import ridge  # noqa: E402
from ridge.bench import __main__ as program  # noqa: E402
from ridge.bench.case import Case  # noqa: E402
from ridge.torch.clock import Timing  # noqa: E402
from ridge.bench.peers import TABLE  # noqa: E402


def small(case):
    """The same case with sizes of a few: 3 for axes of a permutation and for windows, odd ones for widths, of heads as
    many for each of keys as there were, and 4 groups."""
    case = Case.parse(case)

    def size(i, key):
        if key == "hkv":
            return 2
        if key == "hq":
            return 2 * (case["hq"] // case["hkv"])
        if key[0] == "d" and key != "d":
            return 3 + i
        windows = "rstd" if case.op == "conv3d" else "" if case.op == "rope" else "rs"
        return 3 if key in windows else 8 * (1 + i) + (key == "w")

    sizes = ",".join(f"{key}={size(i, key)}" for i, key in enumerate(case.sizes))
    options = [f"{key}={4 if key == 'groups' else value}" for key, value in case.options.items()]
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


# What a sweep draws and no row of the table has among its own cases.
DRAWN = [
    "attention:f32:b=2,hq=4,hkv=2,sq=9,sk=17,d=8,mask=1,mb=2,mq=1",
    "attention:bf16:b=2,hq=4,hkv=2,sq=9,sk=17,d=8,mask=2,mh=4:layout=bshd:lse",
    "attention:f32:b=2,hq=2,hkv=2,sq=9,sk=9,d=8,mask=2,mh=2:backward",
    "attention:f32:b=2,hq=2,hkv=2,sq=9,sk=17,d=8:causal=lower_right",
    "attention:f32:b=2,hq=4,hkv=1,sq=9,sk=9,d=8:causal:layout=bshd:place=packed",
    "gemm:f32:m=9,n=17,k=24,batch=3:place=packed:layout=nt:epilogue=bias+silu+gate+residual",
    "gemm:f16:m=9,n=17,k=24:layout=nt:epilogue=bias+gelu+gate+gate_bias+residual",
    "gemm:bf16:m=9,n=17,k=24:place=padded:layout=tn:beta",
    "gemm:i8:m=32,n=16,k=24:out=bf16:layout=nt:epilogue=bias+relu:alpha=0.01",
    "linear:bf16:m=9,n=17,k=24,batch=2:out=f32:place=offset:inputs=x,w,bias,residual:activation=silu",
    "grouped_gemm:f32:m=40,n=17,k=24,groups=9:layout=nt:epilogue=bias+gelu+residual",
    "layer_norm:f32:rows=9,cols=17:inputs=dy,x,gamma:outputs=dx,dgamma,dbeta:backward",
    "layer_norm:f32:rows=9,cols=17:inputs=dy,x:outputs=dx:backward",
    "add_rms_norm:f32:rows=9,cols=17:inputs=dy,sum,gamma:outputs=dx,dgamma:eps=1e-6:backward",
    "softmax:bf16:rows=9,cols=17:place=inplace",
    "rope:f32:b=2,s=9,h=3,d=16,positions=2:base=500000",
    "rope:f32:b=2,s=9,h=3,d=16,positions=1,tables=20:style=gptj:place=packed",
    "rope:bf16:b=2,s=9,h=3,d=16,tables=20,narrow=1:rotary_dim=4",
    "embedding:f32:rows=9,cols=17,n=5,b=3,wide=1:place=padded",
    "embedding_norm:bf16:rows=9,cols=24,n=5,wide=1:inputs=table,indices,gamma:eps=1e-6:scale=45.25",
    "embedding_norm:f32:rows=9,cols=17,n=5:inputs=table,indices,gamma,beta:mode=layer:place=padded",
    "group_norm:bf16:n=2,c=12,h=5,w=6,narrow=1:groups=4:layout=nhwc:activation=silu:eps=1e-6:place=inplace",
    "group_norm:f32:n=2,c=12,h=5,w=6:groups=12:backward",
]


def test_what_sweeps_draw(tmp_path):
    status, results = run(tmp_path, *(case for case in DRAWN if case.split(":")[0] in ridge.ops()), "--peers", "torch")
    assert status == 0
    for m in results["measurements"]:
        assert "error" not in m and m["peers"], m


@pytest.mark.parametrize(
    "inputs", ["q,k,v,cu_q,cu_k", "q,k,v,lengths", "q,k,v,lengths,block_table", "do,q,k,v,o,lse,cu_q,cu_k"]
)
def test_uneven_sequences_are_timed_alone(tmp_path, inputs):
    backward = ":backward" if inputs.startswith("do") else ""
    _, results = run(tmp_path, f"attention:f32:b=3,hq=4,hkv=2,sq=9,sk=20,d=8,uneven=2:inputs={inputs}{backward}")
    [m] = results["measurements"]
    assert m["us"] > 0 and not m["peers"], m


def drawer(tmp_path, monkeypatch, body):
    """A program in place of `ridge`, which draws."""
    program = tmp_path / "ridge"
    program.write_text("#!/bin/sh\n" + body)
    program.chmod(0o755)
    monkeypatch.setenv("RIDGE_PROGRAM", str(program))


def test_sweep(tmp_path, monkeypatch, capsys):
    lines = [f"softmax:f32:rows=8,cols={cols}" for cols in range(1, 31)] + ["softmax:f32:rows=8,cols=9:variant=nothing"]
    drawer(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked\n' + "".join(f"echo {line}\n" for line in lines))
    file = tmp_path / "results.json"
    arguments = ["--sweep", "softmax", "--seed", "7", "--count", "31", "--peers", "torch", "--device", "cpu"]
    assert program.main([*arguments, "--repeats", "1", "--json", str(file)]) == 0
    asked = (tmp_path / "asked").read_text()
    assert asked.split() == "bench --sweep softmax --seed 7 --count 31 --list --device cpu".split()
    shown = capsys.readouterr().out
    assert "30 measured, 0 of them without a peer; 1 could not be measured" in shown and "geometric mean" in shown
    results = json.loads(file.read_text())
    assert (results["operator"], results["seed"], results["count"], results["measured"]) == ("softmax", 7, 31, 30)
    assert len(results["worst"]) == len(results["furthest"]) == 20 and len(results["measurements"]) == 31
    ratios = [worst["peer_us"] / worst["ridge_us"] for worst in results["worst"]]
    assert ratios == sorted(ratios) and results["p5"] == pytest.approx(ratios[1]) and results["geomean"] > 0
    assert results["failed"][0]["case"] == lines[-1] and "variant" in results["failed"][0]["why"]


def test_a_sweep_that_cannot_be_drawn(tmp_path, monkeypatch, capsys):
    drawer(tmp_path, monkeypatch, "echo 'ridge: no such problems' >&2; exit 2\n")
    assert program.main(["--sweep", "softmax", "--device", "cpu"]) == 2
    assert program.main(["--sweep", "nothing", "--device", "cpu"]) == 2
    assert program.main(["softmax", "--sweep", "softmax", "--device", "cpu"]) == 2
    monkeypatch.delenv("RIDGE_PROGRAM")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr("ridge._program.__file__", str(tmp_path / "_program.py"))  # nor in the package
    assert program.main(["--sweep", "softmax", "--device", "cpu"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "ridge.bench: no such problems" and "'nothing' is none of" in told[1]
    assert "without CASE" in told[2] and "RIDGE_PROGRAM" in told[3]


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


def test_all_variants(tmp_path):
    """One measurement for each, the fastest first, and one of them chosen; cases may come from a file."""
    cases = tmp_path / "cases"
    cases.write_text("softmax:f32:rows=3,cols=40\n")
    status, results = run(tmp_path, f"@{cases}", "--all-variants", "--peers", "torch")
    found = results["measurements"]
    assert status == 0 and results["settings"]["all_variants"] and len(found) > 5
    assert len({m["variant"] for m in found}) == len(found)
    assert [m["us"] for m in found] == sorted(m["us"] for m in found)
    chosen = [m for m in found if m["chosen"]]
    plan = ridge.plan("softmax", ridge.Spec((3, 40), "f32"))
    assert [m["variant"] for m in chosen] == [plan.variant]
    assert len({m["peers"][0]["us"] for m in found}) == 1  # measured once
