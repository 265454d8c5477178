"""python -m ridge.bench --models [NAME|NAME:CASE...]"""

import sys

import torch

from ridge.bench.measure import make_clock
from ridge.bench.models import MODELS, report, run
from ridge.bench.models.table import text_of


def chosen(what, cases_of):
    """[(model, case)] of names, and of NAME:CASE; without any, all."""
    pairs = []
    for text in what or MODELS:
        name, _, case = text.partition(":")
        if name not in MODELS:
            raise ValueError(f"'{name}' is none of the models {' '.join(MODELS)}")
        model = MODELS[name]
        pairs += [(model, model.case(one)) for one in ([case] if case else cases_of(model))]
    return pairs


def main(request):
    """`request` as ridge.bench's parser gives it. Returns the exit code: 1 where a result of Ridge's is wrong."""
    if request.list:
        for model in MODELS.values():
            print(f"{model.name:<15} {' '.join(text_of(model.case(case)) for case in model.cases)}")
        return 0
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # what all is checked by is float32
    if request.check:
        return _check(request)
    pairs = chosen(request.what, lambda model: model.cases[:1] if request.quick else model.cases)
    if torch.device(request.device).type != "cuda":
        raise ValueError("--models times whole models, on a GPU; --models --check compares small ones anywhere")
    if request.json:
        open(request.json, "a").close()  # refused now, and not after minutes of work

    failed = False
    report.head()
    for model, case in pairs:
        # A clock of its own for each case: the memory of its graphs goes with it.
        clock = make_clock(request.device, share_memory=True)
        m = run.measure(model, case, request.device, clock, request.autotune)
        failed |= bool(m.failure)
        report.row(m)
        if request.json:  # after each case, so that a run that is ended keeps what it has
            report.write(request.json, [report.fields(m, request.device, request.commit)])
    if request.json:
        print(f"results in {request.json}")
    return 1 if failed else 0


def _check(request):
    """Small models in float32, and on a GPU in bf16 as well."""
    gpu = torch.device(request.device).type == "cuda"
    failed = False
    for model, case in chosen([text.partition(":")[0] for text in request.what], lambda model: model.tiny_cases):
        for dtype in (torch.float32, torch.bfloat16)[: 1 + gpu]:
            ours, eager = run.check(model, case, request.device, dtype)
            wrong = run.judge(ours, eager)
            failed |= bool(wrong)
            kind = str(dtype).rpartition(".")[2]
            errors = f"off by {max(ours):.1e}, eager mode by {max(eager):.1e}"
            print(f"{model.name:<15} {text_of(case):<30} {kind:<9} {errors}  {wrong or 'ok'}", flush=True)
    return 1 if failed else 0


def run_or_refuse(request):
    try:
        return main(request)
    except (ValueError, OSError) as error:
        print(f"ridge.bench: {error}", file=sys.stderr)
        return 2
