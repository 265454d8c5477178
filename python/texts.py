"""texts.py SOURCE OUT.json: what the operators' folders say for docstrings: the head of each header, and examples."""

import json
import pathlib
import sys


def head(header):
    lines = []
    for line in header.read_text("utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" ").rstrip())
    return lines


def examples(file):
    """{operator: lines}: an operator's name on a line of its own, and below it what one would type, indented."""
    found, lines = {}, None
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("    "):
            lines.append(line[4:].rstrip())
        elif line.strip():
            lines = found.setdefault(line.strip(), [])
    return found


source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
folders = [op.parent for op in sorted(source.glob("ridge/*/op.cmake"))]
headers = {folder.name: folder / f"{folder.name}.hpp" for folder in folders}
texts = {
    "contracts": {name: head(header) for name, header in headers.items() if header.exists()},
    "examples": {
        k: v for file in (f / "examples.txt" for f in folders) if file.exists() for k, v in examples(file).items()
    },
}
out.write_text(json.dumps(texts, indent=1) + "\n", "utf-8")
