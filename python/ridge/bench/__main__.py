"""python -m ridge.bench [CASE|OP ...]: cases timed beside PyTorch, torch.compile, cuBLAS, cuDNN.
python -m ridge.bench --sweep OP: the same of problems at random, as models have them, and what they say together.
python -m ridge.bench --models [NAME|NAME:CASE ...]: whole models by PyTorch's operators and by Ridge's."""

import argparse
import importlib.util
import pathlib
import sys

import torch

import ridge
from ridge.bench import report, sweep
from ridge.bench.case import Case
from ridge.bench.measure import make_clock, measure, peer_names
from ridge.bench.peers import TABLE


def _cases(what):
    known = [op for op in TABLE if op in ridge.ops()]  # a build may hold some of the operators
    cases = []
    for text in what or known:
        if ":" in text:
            cases.append(Case.parse(text))
        elif text in known:
            cases += map(Case.parse, TABLE[text].cases)
        else:
            raise ValueError(f"'{text}' is neither a case (OP:DTYPE:k=v,...) nor one of {' '.join(known)}")
    for case in cases:
        if case.op not in known:
            raise ValueError(f"case '{case.text}': '{case.op}' is none of {' '.join(known)}")
    return cases


def _drawn(request):
    if request.what:
        raise ValueError("--sweep goes without CASE and OP: it draws the cases of its operator")
    if request.sweep not in TABLE:
        raise ValueError(f"--sweep: '{request.sweep}' is none of {' '.join(op for op in TABLE if op in ridge.ops())}")
    return sweep.cases(request.sweep, request.seed, request.count, torch.device(request.device).type == "cuda")


def _peers(text, cases):
    if text == "all":
        return None
    wanted = [name for name in text.split(",") if name and name != "none"]
    known = {"torch", *(name for case in cases for name in peer_names(case.op))}
    for name in wanted:
        if name not in known:
            raise ValueError(f"--peers: '{name}' is none of {' '.join(sorted(known))}, all, none")
    return wanted


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "python -m ridge.bench", description="Ridge beside what PyTorch would run.", fromfile_prefix_chars="@"
    )
    parser.add_argument(
        "what",
        nargs="*",
        metavar="CASE|OP",
        help="OP:DTYPE:k=v,k=v... or an operator (default: all); @FILE: a file's lines",
    )
    parser.add_argument("--models", action="store_true", help="time whole models: NAME or NAME:k=v,k=v (default: all)")
    parser.add_argument("--sweep", metavar="OP", help="time problems of an operator at random, drawn by the program ridge")
    parser.add_argument("--seed", type=int, default=1, help="of a sweep: other problems for each (1)")
    parser.add_argument("--count", type=int, default=100, help="of a sweep: how many problems (100)")
    parser.add_argument(
        "--all-variants", action="store_true", help="every variant that fits, the fastest first; * marks the chosen one"
    )
    parser.add_argument("--peers", default="all", help="torch (eager), compile, cublas, ...; all (default) or none")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cuda, cuda:N or cpu")
    parser.add_argument("--repeats", type=int, help="runs whose median counts (30; on the CPU 5)")
    parser.add_argument("--commit", help="a text for the results' field `commit`")
    parser.add_argument("--json", metavar="FILE", help="write results as `ridge bench --json` does")
    parser.add_argument("--markdown", action="store_true", help="print the results as a table for a page, too")
    parser.add_argument("--plot", metavar="DIR", help="draw Ridge and its peers over the size (needs matplotlib)")
    models = parser.add_argument_group("with --models")
    models.add_argument("--list", action="store_true", help="name them and their cases")
    models.add_argument("--quick", action="store_true", help="one case of each")
    models.add_argument("--check", action="store_true", help="compare tiny ones with PyTorch, also on the CPU")
    models.add_argument("--autotune", action="store_true", help="torch.compile's max-autotune-no-cudagraphs, too")
    request = parser.parse_args(arguments)
    if request.all_variants and (request.models or request.sweep or request.plot):
        parser.error("--all-variants goes without --models, --sweep and --plot: those are of the chosen variants")
    if request.models:
        from ridge.bench.models.program import run_or_refuse

        return run_or_refuse(request)
    if request.list or request.quick or request.check or request.autotune:
        parser.error("--list, --quick, --check and --autotune go with --models")
    try:
        cases = _drawn(request) if request.sweep else _cases(request.what)
        wanted = _peers(request.peers, cases)
        if request.plot and importlib.util.find_spec("matplotlib") is None:
            raise ValueError("--plot needs matplotlib, which is not here")
        if request.json:
            open(request.json, "a").close()  # refused now, and not after minutes of work
        clock = make_clock(request.device, **({"share_memory": True} if request.all_variants else {}))
    except (ValueError, RuntimeError, OSError) as error:
        print(f"ridge.bench: {error}", file=sys.stderr)
        return 2

    torch.backends.cudnn.benchmark = True  # the library's best
    torch.backends.cudnn.allow_tf32 = False  # float32 is float32
    table = report.Table(cases, request.device, request.all_variants)
    measurements = []
    settings = {
        "peers": request.peers,
        "all_variants": request.all_variants,
        "repeats": request.repeats or clock.repeats,
    }
    for case in cases:
        found = measure(case, request.device, clock, wanted, request.repeats, request.all_variants)
        measurements += found
        for m in found:
            table.row(m)
        if request.json:  # after each case, so that a run that is ended keeps what it has
            text = (
                sweep.to_json(measurements, request, settings)
                if request.sweep
                else report.to_json(measurements, request.device, settings, request.commit)
            )
            pathlib.Path(request.json).write_text(text)
    if request.sweep:
        sweep.Summary(measurements).show()
    if request.markdown:
        print("\n" + report.markdown(measurements))
    if request.json:
        print(f"results in {request.json}")
    if request.plot:
        from ridge.bench.plot import plot

        print(*(f"plot in {file}" for file in plot(measurements, request.plot)), sep="\n")
    return 1 if all(m.error for m in measurements) else 0


if __name__ == "__main__":
    sys.exit(main())
