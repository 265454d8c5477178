"""What is shown of models: a table line by line, and a list in JSON."""

import json
import pathlib

import torch

from ridge.bench.models import kernels

_COLUMNS = (
    *("model", "case", "eager ms", "compile ms", "ridge ms", "and compiled"),
    *("floor ms", "x compile", "error", "eager's"),
)
_WIDTHS = (15, 30, 10, 10, 10, 12, 10, 9, 8, 8)


def _line(cells):
    texts = [f"{text:<{width}}" if i < 2 else f"{text:>{width}}" for i, (text, width) in enumerate(zip(cells, _WIDTHS))]
    print("  ".join(texts).rstrip(), flush=True)


def head():
    _line(_COLUMNS)


def row(m):
    """The times, what was not measured and why, and the kernels beside torch.compile's."""
    ms = [*map(m.ms, ("eager", "compile", "ridge", "ridge_compile")), m.floor_ms]
    ratio = f"{ms[1] / m.ridge_ms():.2f}" if ms[1] and m.ridge_ms() else "-"
    errors = [m.error(name) for name in ("ridge", "eager")]
    texts = [f"{t:.3f}" if t else "-" for t in ms] + [ratio] + ["-" if e is None else f"{e:.1e}" for e in errors]
    _line([m.model, m.case, *texts])
    if "autotune" in m.times and m.ridge_ms():
        print(f"    max-autotune: {m.ms('autotune'):.3f} ms, {m.ms('autotune') / m.ridge_ms():.2f}x")
    for name, why in m.refusals.items():
        print(f"    {name}: {why}")
    if m.failure:
        print(f"    FAILED: {m.failure}")
    if m.kernels.get("ridge") and m.kernels.get("compile"):
        print(
            "    Ridge beside torch.compile:", *kernels.beside(m.kernels["ridge"], m.kernels["compile"]), sep="\n    "
        )


def fields(m, device, commit):
    result = {
        "model": m.model,
        "case": m.case,
        "device": torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else "CPU runtime",
        "torch": torch.__version__,
        "commit": commit,
        "eager_ms": m.ms("eager"),
        "compile_ms": m.ms("compile"),
        "ridge_ms": m.ridge_ms(),
        "ridge_eager_ms": m.ms("ridge"),
        "ridge_compile_ms": m.ms("ridge_compile"),
        "floor_ms": m.floor_ms,
        "error": m.error("ridge"),
        "eager_error": m.error("eager"),
        "compile_error": m.error("compile"),
    }
    if "autotune" in m.times:
        result["autotune_ms"] = m.ms("autotune")
    if m.failure:
        result["failure"] = m.failure
    if m.refusals:
        result["left_out"] = m.refusals
    return result


def write(file, results):
    """Into a list that may be there: a result takes the place of that of its model, case and device."""
    file = pathlib.Path(file)
    text = file.read_text() if file.exists() else ""

    def key(result):
        return result["model"], result["case"], result["device"]

    merged = {key(result): result for result in [*(json.loads(text) if text.strip() else []), *results]}
    file.write_text(json.dumps(list(merged.values()), indent=2) + "\n")
