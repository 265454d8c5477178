#!/usr/bin/env python3
"""scripts/quotes.py [--write] [PAGE...]: whether the code that pages quote is that of the source.

A quotation is a fenced block with a comment right before it:

  <!-- quote ridge/reduce/textbook.cuh "for (int distance = 1;" 4 -->

It holds the four lines from that one on whose text begins so; no other line of the file may. What all of them are indented
by is left out. Prints the quotations that differ, and exits with 1 where there are any; `--write` fills them in instead.
Pages are docs/learn/*.md where none is named. scripts/snippets.py checks the same.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r'(\S+) "([^"]+)" (\d+)')
QUOTED = re.compile(r"^<!-- quote (.*?) -->\n(```[^\n]*\n)(.*?)^```$", re.M | re.S)


def lines_at(place):
    """The lines that the words after `quote` name; a ValueError says why there are none."""
    match = PLACE.fullmatch(place)
    if not match:
        raise ValueError(f'quote {place}: must be a file, "the first words of a line" and a number of lines')
    path, words, count = ROOT / match[1], match[2], int(match[3])
    if not path.is_file():
        raise ValueError(f"{match[1]} is not here")
    lines = path.read_text().splitlines()
    found = [i for i, line in enumerate(lines) if line.lstrip().startswith(words)]
    if len(found) != 1 or found[0] + count > len(lines):
        raise ValueError(f'{match[1]}: {len(found)} lines begin with "{words}", of {count} to quote')
    return textwrap.dedent("\n".join(lines[found[0] : found[0] + count]) + "\n")


def main():
    names = [name for name in sys.argv[1:] if name != "--write"]
    if any(name.startswith("-") for name in names):
        sys.exit(__doc__)
    write, wrong = "--write" in sys.argv[1:], 0
    for page in [Path(name) for name in names] or sorted((ROOT / "docs" / "learn").glob("*.md")):
        text = page.read_text()

        def refresh(match):
            nonlocal wrong
            try:
                now = lines_at(match[1])
            except ValueError as why:
                wrong += 1
                print(f"{page}: {why}")
                return match[0]
            if not write and now != match[3]:
                wrong += 1
                print(f"{page}: quote {match[1]}: the source has changed; scripts/quotes.py --write")
            return f"<!-- quote {match[1]} -->\n{match[2]}{now}```"

        fresh = QUOTED.sub(refresh, text)
        if write and fresh != text:
            page.write_text(fresh)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
