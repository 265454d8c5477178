"""contracts.py SOURCE OUT.json: the head of each operator folder's header, for the docstrings."""

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


source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
headers = {op.parent.name: op.parent / f"{op.parent.name}.hpp" for op in sorted(source.glob("ridge/*/op.cmake"))}
contracts = {folder: head(header) for folder, header in headers.items() if header.exists()}
out.write_text(json.dumps(contracts, indent=1) + "\n", "utf-8")
