#!/usr/bin/env python3
"""scripts/plots.py [--check] [OPERATOR...]: draws docs/plots/OPERATOR.svg from bench/results/h200/*.json.

One plot per operator folder, a panel per operator and options: bandwidth, operations or time (FOLDERS) over the length
of a row or what takes its place, Ridge's chosen variant beside the peers measured in the same run, and where it is
bandwidth the copy of that run as a line. Panels of cases that differ in no length show one place for each case. Of a
case that several files hold, the newest measurement with peers counts. The SVG is written by hand: nothing to install,
and the same numbers give the same bytes.

--check draws nothing: it says which plots are not those of the results, and which no page shows, and ends with 1.
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "h200"
PLOTS = ROOT / "docs" / "plots"

# What is drawn upwards: the field of a measurement, the unit of the axis, and how many of the field make one of it.
BANDWIDTH, OPERATIONS, TIME = ("gbs", "TB/s", 1000), ("tflops", "TFLOP/s", 1), ("us", "ms", 1000)

# Of each folder the operators that are drawn, the key of their cases that is the length (None: a place for each case, a
# panel for each operator; EACH: a panel for its options too), and what is drawn.
EACH = "each case"
FOLDERS = {
    "softmax": (["softmax", "log_softmax"], "cols", BANDWIDTH),
    "norm": (["layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"], "cols", BANDWIDTH),
    "reduce": (["sum", "max", "argmax", "dot"], "cols", BANDWIDTH),
    "transpose": (["transpose", "permute"], "cols", BANDWIDTH),
    "gemv": (["gemv"], "k", BANDWIDTH),
    "window_sum": (["window_sum"], "w", BANDWIDTH),
    "histogram": (["histogram"], None, BANDWIDTH),
    "pool": (["max_pool2d", "avg_pool2d"], None, BANDWIDTH),
    "batch_norm": (["batch_norm", "batch_norm_stats", "batch_norm_train"], None, BANDWIDTH),
    "rope": (["rope"], None, BANDWIDTH),
    "elementwise": (["add", "relu", "gelu", "copy"], None, BANDWIDTH),
    "embedding": (["embedding"], None, BANDWIDTH),
    "gemm": (["gemm", "grouped_gemm", "linear"], EACH, OPERATIONS),
    "attention": (["attention"], EACH, OPERATIONS),
    "conv": (["conv2d"], None, OPERATIONS),
    "dwconv": (["dwconv"], None, OPERATIONS),
    "nms": (["nms"], "n", TIME),
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 300, 58, 16, 34, 46  # of a panel, and of the margins around its axes
COLUMNS = 2  # panels side by side
LEGEND_LINE = 11
LEAST_PLACES = 3  # of a panel for one choice of options
COLORS = {"f32": "#1f5fa8", "bf16": "#c8442b", "f16": "#c8442b", "u8": "#3a8a3a", "i32": "#7a4fa3"}
DASHES = ["", "7 3", "2 3", "9 3 2 3"]  # Ridge, then peers in the order of their names


def parse(text):
    """A case's text as operator, dtype, sizes and options: OP:DTYPE:k=v,...[:option]..."""
    op, *rest = text.split(":")
    dtype = rest.pop(0) if rest and "=" not in rest[0] else ""
    sizes = dict(pair.split("=") for pair in rest.pop(0).split(",")) if rest and "=" in rest[0] else {}
    return op, dtype, sizes, rest


def load():
    """case -> its measurement, with the date of its file."""
    newest = {}
    for path in sorted(RESULTS.glob("*.json")):
        results = json.loads(path.read_text())
        if not isinstance(results, dict):
            continue  # whole models, a list of their own form
        for m in results.get("measurements", []):
            if not m.get("chosen") or m.get("error") or not m.get("us"):
                continue
            rank = (bool(m.get("peers")), results.get("date", ""))
            if m["case"] not in newest or rank > newest[m["case"]][0]:
                newest[m["case"]] = (rank, m)
    return {case: m for case, (_, m) in newest.items()}


def panels_of(measured, operators, key, rate):
    """title -> [(place, label, contender, dtype, rate)], and the copy's GB/s (0 where another rate is drawn)."""
    field, panels, copies = rate[0], defaultdict(list), []
    for case, m in measured.items():
        op, dtype, sizes, options = parse(case)
        # One query is bound by memory: it would be a point at the bottom.
        if op not in operators or not m.get(field) or (rate is OPERATIONS and sizes.get("sq") == "1"):
            continue
        if m.get("copy_share") and rate is BANDWIDTH:
            copies.append(m["gbs"] / m["copy_share"])
        by_length = key in sizes
        title = ":".join([op, *options]) if by_length or key == EACH else op + " "
        of_case = [",".join(f"{k}={v}" for k, v in sizes.items()), *(options if key != EACH else [])]
        label = sizes[key] if by_length else ":".join(of_case)
        place = float(sizes[key]) if by_length else None
        for name, us in [("Ridge", m["us"]), *((p["name"], p["us"]) for p in m.get("peers") or [])]:
            value = us if rate is TIME else m[field] * m["us"] / us
            panels[title].append((place, label, name, dtype, value))
    copy = sorted(copies)[len(copies) // 2] if copies else 0
    # A panel of lengths needs two of them to be a curve; one of a choice of options, some cases to be worth its place.
    least = {True: 2, False: LEAST_PLACES if key == EACH else 1}
    return {t: p for t, p in panels.items() if len({q[:2] for q in p}) >= least[p[0][0] is not None]}, copy


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_at(x, y, text, anchor="middle", size=10, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>{escape(text)}</text>'


def short(length):
    n = float(length)
    return f"{n / 2**20:g}Mi" if n >= 2**20 and n % 2**20 == 0 else f"{n:g}" if n < 1e6 else f"{n:.3g}"


def tick_of(most):
    """The distance of lines across a panel: 1, 2 or 5 times a power of ten, at most seven of them."""
    power = 10 ** math.floor(math.log10(most))
    return next(step for step in (power / 5, power / 2, power, power * 2) if most / step <= 7)


def legend_of(points):
    """[(x, line, name, dtype)] of a panel's series, as many on a line as there is room for; Ridge's come first."""
    places, x, line = [], 0, 0
    for name, dtype in sorted({(p[2], p[3]) for p in points}, key=lambda s: (s[0] != "Ridge", *s)):
        wide = 26 + 4.6 * len(f"{name} {dtype}")
        if places and x + wide > WIDTH - LEFT - RIGHT:
            x, line = 0, line + 1
        places.append((x, line, name, dtype))
        x += wide
    return places


def draw_panel(title, points, copy, rate, left, top, head):
    """One panel's SVG lines, with its upper left corner at (left, top) and head more above its axes."""
    _, unit, per_unit = rate
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    most = max([copy, *(p[4] for p in points)]) * 1.08
    labels = sorted({(p[0], p[1]) for p in points}, key=lambda p: (p[0] is not None, p[0] or 0, p[1]))
    lengths = [p for p, _ in labels if p]
    if lengths:
        low, span = math.log(lengths[0]), math.log(lengths[-1] / lengths[0])
        x_of = {label: left + LEFT + 12 + (wide - 24) * (math.log(place) - low) / span for place, label in labels}
    else:
        x_of = {label: left + LEFT + wide * (i + 0.5) / len(labels) for i, (_, label) in enumerate(labels)}
    y_of = lambda gbs: top + TOP + high * (1 - gbs / most)  # noqa: E731
    out = [text_at(left + LEFT, top - head + 16, title.strip(), "start", 12, ' font-weight="bold"')]
    tick = 1000 if rate is BANDWIDTH else tick_of(most)
    for i in range(int(most / tick) + 1):
        y = y_of(i * tick)
        out.append(f'<path d="M{left + LEFT} {y:.1f}h{wide}" stroke="#ddd"/>')
        out.append(text_at(left + LEFT - 6, y + 3, f"{i * tick / per_unit:g}", "end"))
    middle = top + TOP + high / 2
    out.append(text_at(left + 14, middle, unit, extra=f' transform="rotate(-90 {left + 14} {middle})"'))
    if copy:
        out.append(f'<path d="M{left + LEFT} {y_of(copy):.1f}h{wide}" stroke="#888" stroke-dasharray="1 2"/>')
        out.append(text_at(left + LEFT + wide, y_of(copy) - 4, "copy", "end", 9))
    last = -1e9
    for _, label in labels:
        if lengths:
            if x_of[label] - last > 34:  # as many as there is room for
                out.append(text_at(x_of[label], top + TOP + high + 14, short(label)))
                last = x_of[label]
        else:
            at = f"{x_of[label]:.1f} {top + TOP + high + 8}"
            out.append(f'<g transform="translate({at}) rotate(24)">{text_at(0, 0, label, "start", 7)}</g>')
    series = defaultdict(list)
    for _, label, name, dtype, gbs in points:
        series[name, dtype].append((x_of[label], y_of(gbs)))
    names = ["Ridge", *sorted({name for name, _ in series} - {"Ridge"})]
    for (name, dtype), places in sorted(series.items(), key=lambda s: (names.index(s[0][0]), s[0][1])):
        color, dash = COLORS.get(dtype, "#444"), DASHES[min(names.index(name), len(DASHES) - 1)]
        places.sort()
        if lengths:
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            out.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.6" stroke-dasharray="{dash}"/>')
        fill = color if name == "Ridge" else "#fff"
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{fill}" stroke="{color}"/>' for x, y in places]
    for x, line, name, dtype in legend_of(points):
        color, dash = COLORS.get(dtype, "#444"), DASHES[min(names.index(name), len(DASHES) - 1)]
        at, y = left + LEFT + 6 + x, top + TOP - 6 - head + LEGEND_LINE * line
        out.append(f'<path d="M{at} {y - 3}h16" stroke="{color}" stroke-width="1.6" stroke-dasharray="{dash}"/>')
        out.append(text_at(at + 19, y, f"{name} {dtype}", "start", 8))
    return out


def draw(folder, measured):
    operators, key, rate = FOLDERS[folder]
    panels, copy = panels_of(measured, operators, key, rate)
    if not panels:
        return None
    order = sorted(panels, key=lambda t: (operators.index(t.split(":")[0].strip()), t))
    rows = -(-len(order) // COLUMNS)
    width = WIDTH * min(COLUMNS, len(order))
    # Labels of cases hang below their panel.
    below = 60 if any(panels[t][0][0] is None for t in order) else 0
    head = LEGEND_LINE * max(place[1] for t in order for place in legend_of(panels[t]))
    high = head + HEIGHT + below
    size = f'width="{width}" height="{rows * high + 4}"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" fill="#222">',
           f'<rect {size} fill="#fff"/>']
    for i, title in enumerate(order):
        out += draw_panel(title, panels[title], copy, rate, WIDTH * (i % COLUMNS), head + high * (i // COLUMNS), head)
    return "\n".join([*out, "</svg>", ""])


def faults_of(folder, measured):
    """Sentences about a plot that is not what the results give, or that its page does not show."""
    svg, path = draw(folder, measured), PLOTS / f"{folder}.svg"
    name = path.relative_to(ROOT)
    if not svg:
        return [f"{name}: there are no results for it"] if path.exists() else []
    faults = []
    if not path.exists() or path.read_text() != svg:
        faults.append(f"{name}: not drawn from the results of today; scripts/plots.py {folder} draws it")
    if f"docs/plots/{folder}.svg" not in (ROOT / "ridge" / folder / "README.md").read_text():
        faults.append(f"{name}: ridge/{folder}/README.md does not show it")
    return faults


def main(arguments):
    check, chosen = "--check" in arguments, [a for a in arguments if a != "--check"]
    unknown = set(chosen) - set(FOLDERS)
    if unknown:
        sys.exit(f"plots.py: {', '.join(sorted(unknown))}: not one of {' '.join(FOLDERS)}")
    measured = load()
    if check:
        faults = [fault for folder in chosen or FOLDERS for fault in faults_of(folder, measured)]
        print("\n".join(faults) or "the plots are those of the results, and their pages show them")
        sys.exit(1 if faults else 0)
    PLOTS.mkdir(parents=True, exist_ok=True)
    for folder in chosen or FOLDERS:
        svg = draw(folder, measured)
        if svg:
            (PLOTS / f"{folder}.svg").write_text(svg)
        print(f"docs/plots/{folder}.svg" if svg else f"{folder}: no results")


if __name__ == "__main__":
    main(sys.argv[1:])
