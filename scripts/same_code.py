#!/usr/bin/env python3
"""scripts/same_code.py BEFORE AFTER: whether two builds' objects have the same machine code, whatever kernels are called.

BEFORE and AFTER are object files, or folders whose *.o are compared by their path. Prints a line for each object: its
kernels before and after, and how many there are in one of both alone; exits with 1 where there are any. What a
refactoring of kernels says of itself: `ridge plans` compares what plans say, this what runs.
"""

import struct
import sys
from collections import Counter
from pathlib import Path

ELF64 = b"\x7fELF\x02"


def kernels(path):
    """The contents of each .text section of each ELF image for a GPU that lies in the object, uncompressed."""
    data, found, at = path.read_bytes(), Counter(), 1  # the object itself begins at 0
    while (at := data.find(ELF64, at)) > 0:
        image = data[at:]
        at += len(ELF64)
        table = struct.unpack_from("<Q", image, 40)[0]
        size, count, names = struct.unpack_from("<HHH", image, 58)
        if table + size * count > len(image):
            continue
        sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
        for name, _, _, _, begin, length, *_ in sections:
            if image.startswith(b".text.", sections[names][4] + name):
                found[image[begin : begin + length]] += 1
    return found


def main(before, after):
    pairs = [(before, after)]
    if after.is_dir():
        pairs = [(before / path.relative_to(after), path) for path in sorted(after.rglob("*.o"))]
    differ = 0
    for old, new in pairs:
        if not old.exists():
            print(f"{new}: not there before")
            continue
        a, b = kernels(old), kernels(new)
        only = (a - b).total(), (b - a).total()
        differ += sum(only)
        print(f"{new.name}: {a.total()} and {b.total()} kernels; only before {only[0]}, only after {only[1]}")
    return 1 if differ else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
