"""Plots: Ridge and its peers over the size in which cases differ, one SVG for each operator, type and set of options.

Needs matplotlib.
"""

import collections
import math
import pathlib

from ridge.bench.case import Case
from ridge.bench.peers import TABLE


def _place(case):
    """Where a case stands on the axis: a product's geometric mean, else the size that the operator's row names."""
    if case.op == "gemm":
        return (case["m"] * case["n"] * case["k"]) ** (1 / 3)
    return case.get(TABLE[case.op].axis) or math.prod(case.sizes.values())


def _axis_name(op, keys):
    if op == "gemm":
        return "cube root of m n k"
    return TABLE[op].axis if TABLE[op].axis in keys else "elements"


def plot(measurements, folder):
    """Returns the files written."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    groups = collections.defaultdict(list)
    for m in measurements:
        if not m.error:
            case = Case.parse(m.case)
            options = [f"{key}={value}" for key, value in case.options.items()]
            groups[(case.op, case.dtype, *case.sizes, *options)].append((_place(case), m))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for (op, dtype, *rest), points in groups.items():
        if len(points) < 2:  # no line
            continue
        options = [word for word in rest if "=" in word]
        points.sort(key=lambda point: point[0])
        arithmetic = op == "gemm"
        amount = (lambda m: m.operations * 1e-6) if arithmetic else (lambda m: m.bytes * 1e-3)
        figure, axes = pyplot.subplots(figsize=(7, 4.2), constrained_layout=True)
        for name in ["ridge", *dict.fromkeys(name for _, m in points for name in m.peers)]:
            timed = [
                (x, amount(m) / (m.time if name == "ridge" else m.peers[name]).us)
                for x, m in points
                if name == "ridge" or name in m.peers
            ]
            axes.plot(*zip(*timed), marker="o", linewidth=2 if name == "ridge" else 1, label=name)
        copies = [m.copy_gbs for _, m in points if m.copy_gbs]
        if copies and not arithmetic:
            axes.axhline(sum(copies) / len(copies), linestyle=":", color="grey", label="copy of 1 GiB")
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(_axis_name(op, rest))
        axes.set_ylabel("TFLOP/s" if arithmetic else "GB/s")
        axes.set_title(", ".join([op, dtype, *options]))
        axes.grid(alpha=0.3)
        axes.legend()
        files.append(folder / ("_".join([op, dtype, *rest]) + ".svg"))
        figure.savefig(files[-1])
        pyplot.close(figure)
    return files
