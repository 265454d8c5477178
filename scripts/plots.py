#!/usr/bin/env python3
"""scripts/plots.py [OPERATOR...]: draws docs/plots/OPERATOR.svg from bench/results/h200/*.json.

One plot per operator folder, a panel per operator and options: bandwidth over the length of a row (or what takes its
place: LENGTHS), Ridge's chosen variant beside the peers measured in the same run, and the copy of that run as a line.
Panels of cases that differ in no length show one place for each case. Of a case that several files hold, the newest
measurement with peers counts. The SVG is written by hand: nothing to install, and the same numbers give the same bytes.
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "h200"
PLOTS = ROOT / "docs" / "plots"

# Of each folder the operators that are drawn, and the key of their cases that is the length.
LENGTHS = {
    "softmax": (["softmax", "log_softmax"], "cols"),
    "norm": (["layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"], "cols"),
    "reduce": (["sum", "max", "argmax", "dot"], "cols"),
    "transpose": (["transpose", "permute"], "cols"),
    "gemv": (["gemv"], "k"),
    "window_sum": (["window_sum"], "w"),
    "histogram": (["histogram"], None),
    "pool": (["max_pool2d", "avg_pool2d"], None),
    "batch_norm": (["batch_norm", "batch_norm_stats", "batch_norm_train"], None),
    "rope": (["rope"], None),
    "elementwise": (["add", "relu", "gelu", "copy"], None),
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 300, 58, 16, 34, 46  # of a panel, and of the margins around its axes
COLUMNS = 2  # panels side by side
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
        for m in results.get("measurements", []):
            if not m.get("chosen", True) or m.get("error") or not m.get("us"):
                continue
            rank = (bool(m.get("peers")), results.get("date", ""))
            if m["case"] not in newest or rank > newest[m["case"]][0]:
                newest[m["case"]] = (rank, m)
    return {case: m for case, (_, m) in newest.items()}


def panels_of(measured, operators, key):
    """title -> [(place, label, contender, dtype, GB/s)], and the copy's GB/s."""
    panels, copies = defaultdict(list), []
    for case, m in measured.items():
        op, dtype, sizes, options = parse(case)
        if op not in operators or not m.get("gbs"):
            continue
        if m.get("copy_share"):
            copies.append(m["gbs"] / m["copy_share"])
        by_length = key in sizes
        title = ":".join([op, *options]) if by_length else op
        label = sizes[key] if by_length else ":".join([",".join(f"{k}={v}" for k, v in sizes.items()), *options])
        place = float(sizes[key]) if by_length else None
        for name, us in [("Ridge", m["us"]), *((p["name"], p["us"]) for p in m.get("peers", []))]:
            panels[title if by_length else op + " "].append((place, label, name, dtype, m["gbs"] * m["us"] / us))
    copy = sorted(copies)[len(copies) // 2] if copies else 0
    # A panel of lengths needs two of them to be a curve.
    return {t: p for t, p in panels.items() if p[0][0] is None or len({q[0] for q in p}) > 1}, copy


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_at(x, y, text, anchor="middle", size=10, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>{escape(text)}</text>'


def short(length):
    n = float(length)
    return f"{n / 2**20:g}Mi" if n >= 2**20 and n % 2**20 == 0 else f"{n:g}" if n < 1e6 else f"{n:.3g}"


def draw_panel(title, points, copy, left, top):
    """One panel's SVG lines, with its upper left corner at (left, top)."""
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
    out = [text_at(left + LEFT, top + 16, title.strip(), "start", 12, ' font-weight="bold"')]
    for tick in range(0, int(most) + 1, 1000):
        y = y_of(tick)
        out.append(f'<path d="M{left + LEFT} {y:.1f}h{wide}" stroke="#ddd"/>')
        out.append(text_at(left + LEFT - 6, y + 3, f"{tick / 1000:g}", "end"))
    middle = top + TOP + high / 2
    out.append(text_at(left + 14, middle, "TB/s", extra=f' transform="rotate(-90 {left + 14} {middle})"'))
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
    at = left + LEFT + 6
    for name, dtype in sorted(series, key=lambda s: (names.index(s[0]), s[1])):
        color, dash = COLORS.get(dtype, "#444"), DASHES[min(names.index(name), len(DASHES) - 1)]
        y = top + TOP - 6
        out.append(f'<path d="M{at} {y - 3}h16" stroke="{color}" stroke-width="1.6" stroke-dasharray="{dash}"/>')
        out.append(text_at(at + 19, y, f"{name} {dtype}", "start", 8))
        at += 26 + 4.6 * len(f"{name} {dtype}")
    return out


def draw(folder, measured):
    panels, copy = panels_of(measured, *LENGTHS[folder])
    if not panels:
        return None
    order = sorted(panels, key=lambda t: (LENGTHS[folder][0].index(t.split(":")[0].strip()), t))
    rows = -(-len(order) // COLUMNS)
    width = WIDTH * min(COLUMNS, len(order))
    # Labels of cases hang below their panel.
    extra = 60 if any(panels[t][0][0] is None for t in order) else 0
    size = f'width="{width}" height="{rows * (HEIGHT + extra) + 4}"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" fill="#222">',
           f'<rect {size} fill="#fff"/>']
    for i, title in enumerate(order):
        out += draw_panel(title, panels[title], copy, WIDTH * (i % COLUMNS), (HEIGHT + extra) * (i // COLUMNS))
    return "\n".join([*out, "</svg>", ""])


def main(chosen):
    unknown = set(chosen) - set(LENGTHS)
    if unknown:
        sys.exit(f"plots.py: {', '.join(sorted(unknown))}: not one of {' '.join(LENGTHS)}")
    measured = load()
    PLOTS.mkdir(parents=True, exist_ok=True)
    for folder in chosen or LENGTHS:
        svg = draw(folder, measured)
        if svg:
            (PLOTS / f"{folder}.svg").write_text(svg)
        print(f"docs/plots/{folder}.svg" if svg else f"{folder}: no results")


if __name__ == "__main__":
    main(sys.argv[1:])
