#!/usr/bin/env python3
"""scripts/measured.py BUILD: every row of every operator's table has a figure in bench/results, or a reason in
bench/unmeasured.txt why it has none. A reason for a row that is measured, or that is not there, is refused too.

--cases DEVICE   prints for each row without a figure the case of `ridge plans` that it fits on that device's model, and
                 whose predicted time is nearest to 100 us: `ridge bench` is to measure the row with it."""

import argparse
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REASONS = ROOT / "bench" / "unmeasured.txt"
SUITABLE_US = 100  # long beside a launch, and short enough for a hundred rows


def ask(ridge, *arguments):
    return subprocess.run([ridge, *arguments], check=True, capture_output=True, text=True).stdout


def tables(ridge):
    """{family: [row]}, and {operator: family}."""
    rows, family_of = {}, {}
    for op in json.loads(ask(ridge, "ops", "--json"))["operators"]:
        family_of[op["name"]] = op["family"]
        family = rows.setdefault(op["family"], {})
        family.update(dict.fromkeys(variant["name"] for variant in op["variants"]))
    return {family: list(names) for family, names in rows.items()}, family_of


def measured_in(results, family_of):
    """(family, row) of each measurement in a results file, however deep it lies."""
    if isinstance(results, list):
        for entry in results:
            yield from measured_in(entry, family_of)
    if isinstance(results, dict):
        row, case = results.get("variant"), results.get("case")
        if isinstance(row, str) and isinstance(case, str) and case.split(":")[0] in family_of:
            yield family_of[case.split(":")[0]], row
        for entry in results.values():
            yield from measured_in(entry, family_of)


def all_measured(family_of):
    found = set()
    for file in sorted((ROOT / "bench" / "results").glob("*/*.json")):
        found.update(measured_in(json.loads(file.read_text()), family_of))
    return found


def reasons():
    """{(family, row): reason} of lines 'family row row ...: reason'."""
    found = {}
    for line in REASONS.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        names, _, reason = line.partition(": ")
        family, *rows = names.split()
        found.update({(family, row): reason for row in rows})
    return found


def check(rows, measured, why):
    known = {(family, row) for family, names in rows.items() for row in names}
    kinds = [("has no figure in bench/results, and no reason", known - measured - why.keys()),
             ("has a reason, and is measured", measured & why.keys()),
             ("has a reason, and is no row", why.keys() - known),
             ("has an empty reason", {key for key, reason in why.items() if not reason})]
    faults = [f"{REASONS.name}: {family} {row} {fault}" for fault, keys in kinds for family, row in sorted(keys)]
    return faults


def suitable_cases(ridge, family_of, wanted, device):
    """{(family, row): case} by the plans' predictions."""
    best = {}
    for op, family in family_of.items():
        if not any(row_family == family for row_family, _ in wanted):
            continue
        for line in ask(ridge, "plans", op, "--on", device).splitlines():
            case, _, row, says = (part.strip() for part in line.split(" | ", 3))
            if (family, row) not in wanted or says.startswith("no:"):
                continue
            distance = abs(math.log(max(float(says.split()[0]), 1e-3) / SUITABLE_US))
            if (family, row) not in best or distance < best[family, row][0]:
                best[family, row] = distance, f"{case}:variant={row}"
    return {key: case for key, (_, case) in best.items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("--cases", metavar="DEVICE")
    given = arguments.parse_args()
    ridge = given.build / "bin" / "ridge"
    rows, family_of = tables(ridge)
    measured = all_measured(family_of)
    without = {(family, row) for family, names in rows.items() for row in names} - measured
    if given.cases:
        cases = suitable_cases(ridge, family_of, without, given.cases)
        for key in sorted(without):
            print(cases.get(key, f"# {' '.join(key)}: no case of the survey fits it on {given.cases}"))
        return 0
    faults = check(rows, measured, reasons())
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    total = sum(map(len, rows.values()))
    print(f"{total - len(without)} of {total} rows have figures, {len(without)} a reason" if not faults
          else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
