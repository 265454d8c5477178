#!/usr/bin/env python3
"""scripts/plots.py [--check] [OPERATOR...]: draws docs/plots/OPERATOR.svg from bench/results/h200/*.json.

One plot per operator folder (PLOTTED): bandwidth, operations or time of what Ridge chooses, and of the peers measured
in the same run. Of a case that several files hold, the newest measurement with peers counts. A case is a line of
points, with a panel for each type; cases that differ in their length alone are a curve over it. Where it is bandwidth,
a dashed line is the copy measured in the same runs.

--check draws nothing: it says which plots are not those of the results, and which no page shows, and ends with 1. Every
plot carries a digest of the numbers in it and of this script, and that is what --check compares: only drawing needs
matplotlib (scripts/setup.sh plots).
"""

import hashlib
import io
import json
import math
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "h200"
PLOTS = ROOT / "docs" / "plots"
BANDWIDTH, OPERATIONS, TIME = "TB/s", "TFLOP/s", "ms"


class Row(NamedTuple):  # of panels
    title: str
    axis: str  # what lengths, or the numbers in labels, are
    labels: list  # of the panels' lines; none where they have curves
    panels: dict  # type -> [(length, or place of the label, contender, value)]


class Plot(NamedTuple):
    operators: tuple
    unit: str
    first: str = ""  # the size that cases are sorted by before the others
    lengths: dict = {}  # size -> title of its axis: cases that differ in it alone are a curve
    apart: tuple = ()  # types whose panels are a row of their own: they take other cases, or have other rates
    together: bool = False  # the operators are cases of one row of panels


PLOTTED = {
    "softmax": Plot(("softmax", "log_softmax"), BANDWIDTH, first="cols"),
    "norm": Plot(("layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"), BANDWIDTH, first="cols"),
    "reduce": Plot(("sum", "max", "argmax", "dot"), BANDWIDTH, first="cols",
                   lengths={"cols": "columns of a row", "n": "elements"}),
    "transpose": Plot(("transpose", "permute"), BANDWIDTH),
    "gemv": Plot(("gemv",), BANDWIDTH, first="k"),
    "window_sum": Plot(("window_sum",), BANDWIDTH, lengths={"w": "elements of a window"}),
    "histogram": Plot(("histogram",), BANDWIDTH),
    "pool": Plot(("max_pool2d", "avg_pool2d"), BANDWIDTH),
    "batch_norm": Plot(("batch_norm", "batch_norm_stats", "batch_norm_train"), BANDWIDTH),
    "rope": Plot(("rope",), BANDWIDTH),
    "elementwise": Plot(("add", "relu", "gelu", "copy"), BANDWIDTH, together=True),
    "embedding": Plot(("embedding",), BANDWIDTH),
    "gemm": Plot(("gemm", "grouped_gemm", "linear"), OPERATIONS,
                 apart=(("bf16", "f16"), ("f32 math=tf32", "i8", "f8e4m3", "f8e4m3 out=bf16"))),
    "attention": Plot(("attention",), OPERATIONS, first="d", apart=(("f32 causal", "f32 causal math=bf16x6"),)),
    "conv": Plot(("conv2d",), OPERATIONS, apart=(("f32 math=tf32", "bf16", "f16"),)),
    "dwconv": Plot(("dwconv",), TIME),
    "nms": Plot(("nms",), TIME, lengths={"n": "boxes"}),
}

# Of every contender the name in legends, color and marker, the same in all plots. A library has one color, of those by
# Okabe and Ito that the color-blind tell apart. Ridge alone is filled, so that a peer's outline is visible upon it.
CONTENDERS = {
    "Ridge": ("Ridge", "#d55e00", "o"),
    "cuBLAS": ("cuBLAS", "#0072b2", "s"),
    "cuBLAS gemv": ("cuBLAS gemv", "#0072b2", "x"),
    "cublasLt best": ("cuBLASLt, best", "#0072b2", "D"),
    "cudnn": ("cuDNN", "#009e73", "v"),
    "cudnn_fused": ("cuDNN, fused", "#009e73", "+"),
    "cudnn without the window": ("cuDNN without the window", "#009e73", "x"),
    "cufft": ("cuFFT", "#000000", "*"),
    "CUB": ("CUB", "#56b4e9", "h"),
    "cub": ("CUB", "#56b4e9", "h"),
    "torch": ("PyTorch", "#cc79a7", "D"),
    "flash": ("PyTorch, flash", "#cc79a7", "<"),
    "efficient": ("PyTorch, memory-efficient", "#cc79a7", ">"),
    "torchvision": ("torchvision", "#cc79a7", "p"),
    "compile": ("torch.compile", "#e69f00", "^"),
}
NO_PEER = "an empty kernel"  # the time of a launch, not of the problem
TYPES = ("f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u8")  # from left to right
IN_TITLE = ("axis", "backward", "nondeterministic", "epilogue", "inputs", "outputs", "accumulate")
IN_COLUMN = ("causal", "math", "out")  # other options are in a case's label
BARE = ("layout", "epilogue", "fill", "style")  # options whose value says what it is
DEFAULTS = {("stride", "1"), ("layout", "nn"), ("layout", "nchw")}
EXTRAS = ("batch", "bins", "classes", "groups", "positions")  # sizes that few cases have
PRODUCTS = {"3xtf32": 3, "bf16x6": 6}  # that tensor cores take for one of float32
LEAST_LENGTHS, LOW = 3, 1 / 4  # of a curve; of the highest rate, from where on a rate is low


def words(*parts):
    return " ".join(part for part in parts if part)


def number(text):
    n = int(text) if text.isdigit() else 0
    power = str(n.bit_length() - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"2{power}" if n >= 2**20 and n & (n - 1) == 0 else text


class Case:
    """A case's text, OP:DTYPE:k=v,...[:option]..., and what a plot says of it. What is a default is left out."""

    def __init__(self, text):
        self.op, dtype, sizes, *options = text.split(":")
        sizes = dict(pair.split("=") for pair in sizes.split(","))
        if "d1" in sizes:
            sizes = {"shape": "×".join(sizes.values())}
        self.sizes = {k: v for k, v in sizes.items() if k != "s" or v != sizes.get("r")}
        pairs = [(key, value or "1") for key, _, value in (option.partition("=") for option in sorted(options))]
        self.options = {key: value for key, value in pairs if (key, value) not in DEFAULTS}
        beside = [key for key in IN_COLUMN if self.options.get(key, "fast") != "fast"]
        self.column, self.title = words(dtype, self.say(beside)), words(self.op, self.say(IN_TITLE))
        self.rest = self.say(self.options.keys() - {*beside, *IN_TITLE})
        self.label = f"{self.op} {self.sizes} {self.rest}"  # tells it from other cases of a row of panels
        self.values = []  # (contender, what is drawn of it)

    def say(self, keys):
        return words(*(v if k in BARE else k if v == "1" and k != "pad" else f"{k}={v}"
                       for k, v in self.options.items() if k in keys))


def load():
    """[(case, its measurement)]: of texts that mean the same case the newest with peers."""
    newest = {}
    for path in sorted(RESULTS.glob("*.json")):
        results = json.loads(path.read_text())
        if isinstance(results, list) or "seed" in results:  # of whole models, and of problems at random
            continue
        for m in results.get("measurements", []):
            if m.get("chosen") and not m.get("error") and m.get("us") and "variant=" not in m["case"]:
                case, rank = Case(m["case"]), (bool(m.get("peers")), results.get("date", ""))
                known = case.column, case.title, case.label
                if known not in newest or rank > newest[known][0]:
                    newest[known] = (rank, case, m)
    return [(case, m) for _, case, m in newest.values()]


def work_of(unit, case, m):
    """What is done in m's microseconds. Operations are the definition's, so that contenders compare: a kernel's own may
    be fewer (Winograd's) or more (float32 on tensor cores)."""
    if unit == BANDWIDTH:
        return m.get("gbs", 0) * m["us"] / 1000
    if m.get("variant") != "winograd":
        return m.get("tflops", 0) * m["us"] / PRODUCTS.get(case.options.get("math"), 1)
    n, c, h, w, k, r = (int(case.sizes[key]) for key in "nchwkr")  # of r = s = 3, stride 1
    top, left, bottom, right = ([int(pad) for pad in case.options.get("pad", "0").split(",")] * 4)[:4]
    return 2 * n * k * (h + top + bottom - 2) * (w + left + right - 2) * c * r * r / 1e6


def values_of(unit, case, m):
    """[(contender, what is drawn of it)]: none where there is nothing to draw, or only a launch to compare with."""
    times = {"Ridge": m["us"], **{p["name"]: p["us"] for p in m.get("peers") or []}}
    unknown = times.keys() - {NO_PEER, *CONTENDERS}
    if unknown:
        sys.exit(f"plots.py: {', '.join(sorted(unknown))}: a peer without a color and a marker in CONTENDERS")
    work = 0 if unit == TIME else work_of(unit, case, m)
    if times.keys() == {"Ridge", NO_PEER} or (unit != TIME and not work):
        return []
    return [(CONTENDERS[name][0], float(f"{work / us if work else us / 1000:.4g}"))
            for name, us in times.items() if name != NO_PEER]


def rows_of(folder, measured):
    """The rows of panels, and the copy's bandwidth, 0 where another rate is drawn."""
    plot, groups, copies, rows = PLOTTED[folder], defaultdict(list), [], []
    for case, m in measured:
        # One query is bound by memory: it would be a point at the bottom.
        if case.op not in plot.operators or (plot.unit == OPERATIONS and case.sizes.get("sq") == "1"):
            continue
        case.values = values_of(plot.unit, case, m)
        if case.values:
            apart = next((i + 1 for i, types in enumerate(plot.apart) if case.column in types), 0)
            order = (0, folder) if plot.together else (plot.operators.index(case.op), case.title)
            groups[(*order, apart)].append(case)
            copies += [m["gbs"] / m["copy_share"] / 1000] if plot.unit == BANDWIDTH and m.get("copy_share") else []
    for (_, title, _), cases in sorted(groups.items()):
        curves, others = curves_of(plot, title, cases)
        rows += curves + [lines_of(plot, words(title, at), some) for at, some in by_rate(plot, others) if some]
    return rows, round(statistics.median(copies), 3) if copies else 0


def curves_of(plot, title, cases):
    """Rows of curves, and the cases that are on none."""
    series, rows, others = defaultdict(list), {}, []
    for case in cases:
        length = next((size for size in plot.lengths if size in case.sizes), "")
        rest = (f"{k}={number(v)}" for k, v in case.sizes.items() if k != length)
        series[words(title, *rest, case.rest), length, case.column].append(case)
    for (title, length, column), some in series.items():
        if length and len(some) >= LEAST_LENGTHS:
            panels = rows.setdefault(title, Row(title, plot.lengths[length], [], {})).panels
            panels[column] = sorted((int(case.sizes[length]), *value) for case in some for value in case.values)
        else:
            others += some
    return list(rows.values()), others


def by_rate(plot, cases):
    """[(words for the title, cases)]: operations run over decades, so low rates have panels of their own."""
    fastest = {case: max(value for _, value in case.values) for case in cases}
    best = {of.column: max(fastest[case] for case in cases if case.column == of.column) for of in cases}
    high = {case.label for case in cases if plot.unit != OPERATIONS or fastest[case] >= LOW * best[case.column]}
    low = [case for case in cases if case.label not in high]
    if len({case.label for case in low}) < 2:
        return [("", cases)]
    return [("", [case for case in cases if case.label in high]), ("at low rates", low)]


def lines_of(plot, title, cases):
    """A row whose panels have a line for each case. Its label says what differs among them."""
    shared = set.intersection(*(set(case.sizes.items()) for case in cases))
    if not plot.together and all(len(case.sizes) == len(shared) for case in cases):
        shared = set()  # one case, or one size with several options
    labels, meanings, panels = {}, set(), defaultdict(list)
    for case in cases:
        own = {k: v for k, v in case.sizes.items() if (k, v) not in shared}
        product = {k: number(v) for k, v in own.items() if k not in EXTRAS}
        extras = (f"{k}={v}" for k, v in own.items() if k in EXTRAS)
        case.label = words(case.op * plot.together, "×".join(product.values()), *extras, case.rest)
        by_size = sorted(own.items(), key=lambda size: (size[0] != plot.first, size[0] in EXTRAS))
        labels[case.label] = [int(n) for _, v in by_size for n in v.split("×")], case.rest
        meanings.add(" × ".join(product))
    order = sorted(labels, key=labels.get)
    for case in cases:
        panels[case.column] += [(order.index(case.label), *value) for value in case.values]
    fixed = (f"{k}={number(v)}" for k, v in cases[0].sizes.items() if (k, v) in shared)
    axis = ", ".join(filter(None, [*fixed, " or ".join(sorted(meanings))]))
    return Row(title, axis, order, {column: sorted(points) for column, points in panels.items()})


def digest_of(drawn):
    return hashlib.sha256((json.dumps(drawn, sort_keys=True) + Path(__file__).read_text()).encode()).hexdigest()


# ---- drawing, in pixels of a plot that is shown 800 wide -----------------------------------------------------------

WIDTH, LEGEND = 800, 20
HEAD, FOOT, GAP, MARGIN = 36, 40, 14, 50  # above, below and between panels; left of curves
LINE, CURVE, DIGIT = 13, 150, 6  # heights of a case and of a panel of curves; width of a digit
GRID = {"color": "#e4e4e4", "linewidth": 0.5}
DASHES = {"color": "#444444", "linewidth": 0.8, "linestyle": "--"}
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "ridge", "font.sans-serif": ["DejaVu Sans"], "font.size": 7,
    "axes.facecolor": "none", "axes.edgecolor": "#999999", "axes.linewidth": 0.5, "axes.spines.top": False,
    "axes.spines.right": False, "axes.titlelocation": "left", "axes.titlesize": 7.5, "axes.titlepad": 3,
    "axes.axisbelow": True, "xtick.major.size": 0, "ytick.major.size": 0, "lines.markersize": 4.4,
    "lines.linewidth": 1, "legend.frameon": False, "legend.fontsize": 7.5,
}
MARKS = {label: {"label": label, "color": color, "marker": marker, "markerfacecolor": "none", "zorder": 4}
         for label, color, marker in CONTENDERS.values()}
MARKS["Ridge"].update(markerfacecolor=CONTENDERS["Ridge"][1], zorder=3)


def scale(axis, low, high):
    """Linear from 0, logarithmic from anything else."""
    from matplotlib import ticker
    axis.axes.set(**{f"{axis.axis_name}scale": "log" if low else "linear", f"{axis.axis_name}lim": (low, high)})
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,), numticks=9) if low else
                           ticker.MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(ticker.EngFormatter(sep="") if high > 9999 else "{x:g}")
    axis.set_minor_locator(ticker.NullLocator())


def draw_panel(axes, row, column, unit, copy, top):
    points, labels = row.panels[column], row.labels
    curve, values = not labels, [value for of in row.panels.values() for _, _, value in of]
    low, high = 0, top or max(values) * 1.08
    if unit == TIME and max(values) > 20 * min(values):
        low, high = min(values) / 1.3, max(values) * 1.3
    of_values, of_places = (axes.yaxis, axes.xaxis) if curve else (axes.xaxis, axes.yaxis)
    scale(of_values, low, high)
    of_values.set_label_text(unit)
    axes.grid(True, **GRID)
    if curve:
        scale(of_places, points[0][0] / 1.15, points[-1][0] * 1.15)
        of_places.set_label_text(row.axis)
    else:
        axes.set(ylim=(len(labels) - 0.5, -0.5), yticks=[])
        axes.plot(*zip(*((at, i) for i in range(len(labels)) for at in (low, high, math.nan))), zorder=1, **GRID)
    for contender in sorted({point[1] for point in points}, key=list(MARKS).index):
        places, own = zip(*((place, value) for place, name, value in points if name == contender))
        axes.plot(*((places, own) if curve else (own, places)), linestyle="-" if curve else "none", clip_on=False,
                  **MARKS[contender])
    if copy:
        (axes.axhline if curve else axes.axvline)(copy, **DASHES)
        at, by = ((0.5, copy), axes.get_yaxis_transform()) if curve else ((copy, 1), axes.get_xaxis_transform())
        axes.text(*at, "copy", ha="center", va="bottom", color=DASHES["color"], transform=by)
    axes.set_title(column)


def order_of(column):
    dtype = column.split()[0]
    return (*TYPES, dtype).index(dtype), column


def draw(folder, rows, copy):
    """The SVG's text."""
    try:
        import matplotlib
    except ImportError:
        sys.exit(f"plots.py: {sys.executable} has no matplotlib; scripts/setup.sh plots sees to it")
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    points = [point for row in rows for panel in row.panels.values() for point in panel]
    top = max(copy, *(value for _, _, value in points)) * 1.1 if copy else 0
    names = sorted({name for _, name, _ in points}, key=list(MARKS).index)
    longest = max((len(text) for row in rows if row.labels for text in [*row.labels, row.axis]), default=0)
    highs = [LINE * len(row.labels) or CURVE for row in rows]
    height = LEGEND + sum(HEAD + high + FOOT for high in highs)
    with matplotlib.rc_context(STYLE):
        figure = Figure((WIDTH / 96, height / 96), facecolor="white")
        handles = [Line2D([], [], linestyle="none", **MARKS[name]) for name in names]
        handles += [Line2D([], [], label=f"copy on the same GPU, {copy:.2f} TB/s", **DASHES)] if copy else []
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncol=len(handles))
        write = lambda x, y, text, **how: figure.text(x / WIDTH, 1 - y / height, text, **how)  # noqa: E731
        y = LEGEND
        for row, high in zip(rows, highs):
            left, gap = (18 + DIGIT * longest, GAP) if row.labels else (MARGIN, 3 * GAP)
            write(8, y + 14, row.title, fontsize=8.5, fontweight="bold", va="center")
            y += HEAD
            for i, label in enumerate(row.labels):
                write(left - 6, y + LINE * (i + 0.5), label, ha="right", va="center")
            if row.labels:
                write(left - 6, y - 4, row.axis, ha="right", va="baseline", color="#666666")
            wide = (WIDTH - 16 - left + gap) / max(2, len(row.panels)) - gap
            for i, column in enumerate(sorted(row.panels, key=order_of)):
                corner = (left + i * (wide + gap)) / WIDTH, 1 - (y + high) / height
                axes = figure.add_axes((*corner, wide / WIDTH, high / height))
                draw_panel(axes, row, column, PLOTTED[folder].unit, copy, top)
            y += high + FOOT
        svg = io.StringIO()
        about = f"SHA-256 of the numbers drawn and of scripts/plots.py: {digest_of((rows, copy))}"
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Description": about})
    # Half of it says nothing: comments, names of groups, turns by 0 degrees, indents, more digits than a pixel has.
    empty = r'<!--.*?-->|(?<=<g) id="[^"]*"| transform="rotate\(-0[^"]*"|^ +| +$'
    return re.sub(r"(\.\d\d)\d+", r"\1", re.sub(empty, "", svg.getvalue(), flags=re.MULTILINE))


def faults_of(folder, rows, copy):
    """Sentences about a plot that is not what the results give, or that its page does not show."""
    path = PLOTS / f"{folder}.svg"
    name = path.relative_to(ROOT)
    if not rows:
        return [f"{name}: there are no results for it"] if path.exists() else []
    faults = []
    if not path.exists() or digest_of((rows, copy)) not in path.read_text():
        faults.append(f"{name}: not drawn from the results of today; scripts/plots.py {folder} draws it")
    if f"docs/plots/{folder}.svg" not in (ROOT / "ridge" / folder / "README.md").read_text():
        faults.append(f"{name}: ridge/{folder}/README.md does not show it")
    return faults


def main(arguments):
    check, chosen = "--check" in arguments, [a for a in arguments if a != "--check"]
    unknown = set(chosen) - set(PLOTTED)
    if unknown:
        sys.exit(f"plots.py: {', '.join(sorted(unknown))}: not one of {' '.join(PLOTTED)}")
    measured = load()
    drawn = {folder: rows_of(folder, measured) for folder in chosen or PLOTTED}
    if check:
        faults = [fault for folder, of in drawn.items() for fault in faults_of(folder, *of)]
        print("\n".join(faults) or "the plots are those of the results, and their pages show them")
        sys.exit(1 if faults else 0)
    PLOTS.mkdir(parents=True, exist_ok=True)
    for folder, (rows, copy) in drawn.items():
        if rows:
            (PLOTS / f"{folder}.svg").write_text(draw(folder, rows, copy))
        print(f"docs/plots/{folder}.svg" if rows else f"{folder}: no results")


if __name__ == "__main__":
    main(sys.argv[1:])
