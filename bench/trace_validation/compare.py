#!/usr/bin/env python3
"""compare.py TRACE.csv NCU.csv OUT: what the CPU runtime traced against what an NVIDIA GPU counted.

TRACE.csv is what trace_validation prints; NCU.csv is `ncu --csv` of trace_validation_gpu. Launches are paired by their
order, and must agree in kernel, blocks and threads. Writes OUT.json (every figure) and OUT.md (a table), and exits
with 1 where fewer than 20 cases agree within 2 % in all of requests, sectors and shared wavefronts.
"""
import csv
import json
import re
import sys

TOLERANCE = 0.02
WANTED_CASES = 20

# What is compared: our column, the one if nvcc widens neighbouring accesses, and the counters whose sum it is.
FIGURES = []
for kind, ops in (("load", ["ld"]), ("store", ["st"]), ("atomic", ["red", "atom"])):
    for unit in ("requests", "sectors"):
        FIGURES.append((f"global_{kind}_{unit}", None, [f"l1tex__t_{unit}_pipe_lsu_mem_global_op_{op}.sum" for op in ops]))
for kind, op in (("load", "ld"), ("store", "st"), ("atomic", "atom")):
    FIGURES.append((f"shared_{kind}_requests", f"shared_{kind}_requests_widened", [f"smsp__inst_executed_op_shared_{op}.sum"]))
    FIGURES.append((f"shared_{kind}_wavefronts", f"shared_{kind}_wavefronts_widened",
                    [f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"]))
# Instructions are shown beside wavefronts; they are not a promise, since nvcc joins them.
INFORMATIVE = {f"shared_{kind}_requests" for kind in ("load", "store", "atomic")}


def read_trace(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(text):
    return float(text.replace(",", "")) if text.strip() not in ("", "n/a", "nan") else None


def threads(text):
    product = 1
    for extent in re.findall(r"\d+", text):
        product *= int(extent)
    return product


def read_ncu(path):
    """Launches in order: {kernel, blocks, threads, metrics}. The program's own output and ncu's remarks are skipped."""
    with open(path, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    launches = {}
    for row in csv.DictReader(lines):
        if not row["ID"].isdigit():
            continue  # a line of units
        launch = launches.setdefault(int(row["ID"]), {
            "kernel": row["Kernel Name"], "blocks": threads(row["Grid Size"]), "threads": threads(row["Block Size"]),
            "metrics": {}})
        launch["metrics"][row["Metric Name"]] = number(row["Metric Value"])
    return [launches[i] for i in sorted(launches)]


def base_name(kernel):
    """void ridge::x::softmax_online<...>(...) -> softmax_online"""
    name = re.split(r"[<(]", kernel.strip())[0].strip()
    return name.split(" ")[-1].split("::")[-1]


def difference(traced, counted):
    if traced == counted:
        return 0.0
    return abs(traced - counted) / max(abs(counted), 1.0)


def compare_launch(traced, counted):
    figures = []
    for column, widened, counters in FIGURES:
        values = [counted["metrics"].get(counter) for counter in counters]
        values = [value for value in values if value is not None]
        ours = float(traced[column])
        if not values:  # this ncu has no such counter
            figures.append({"figure": column, "traced": ours, "counted": None, "agrees": None})
            continue
        gpu = sum(values)
        if ours == 0 and gpu == 0:
            continue
        figure = {"figure": column, "traced": ours, "counted": gpu, "difference": round(difference(ours, gpu), 6)}
        figure["agrees"] = figure["difference"] <= TOLERANCE
        if widened and not figure["agrees"]:
            wide = float(traced[widened])
            if wide != ours:
                figure["if_widened"] = wide
                figure["difference_if_widened"] = round(difference(wide, gpu), 6)
                if figure["difference_if_widened"] <= TOLERANCE:
                    figure["agrees"], figure["widened"] = True, True
        figures.append(figure)
    return figures


def plain(x):
    return "-" if x is None else f"{x:,.0f}"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    traced, counted = read_trace(sys.argv[1]), read_ncu(sys.argv[2])
    if not counted:
        sys.exit(f"{sys.argv[2]} holds no launch: is it the output of ncu --csv?")
    results, problems, next_counted = [], [], 0
    for launch in traced:
        # Kernels that are not Ridge's (a fill of the driver, say) are passed over.
        at = next_counted
        while at < len(counted) and base_name(counted[at]["kernel"]) != base_name(launch["kernel"]):
            at += 1
        if at == len(counted):
            problems.append(f"{launch['case']}: the GPU launched no {base_name(launch['kernel'])} here")
            continue
        next_counted = at + 1
        gpu = counted[at]
        if (gpu["blocks"], gpu["threads"]) != (int(launch["blocks"]), int(launch["threads"])):
            problems.append(f"{launch['case']}: {base_name(launch['kernel'])} ran {gpu['blocks']} x {gpu['threads']} threads "
                            f"on the GPU, {launch['blocks']} x {launch['threads']} in the trace")
            continue
        figures = compare_launch(launch, gpu)
        promised = [f for f in figures if f["figure"] not in INFORMATIVE and f["agrees"] is not None]
        results.append({"case": launch["case"], "kernel": base_name(launch["kernel"]), "figures": figures,
                        "agrees": all(f["agrees"] for f in promised),
                        "widened": any(f.get("widened") for f in promised)})

    cases = {}
    for result in results:
        cases.setdefault(result["case"], []).append(result["agrees"])
    for problem in problems:
        cases.setdefault(problem.split(": ")[0], []).append(False)
    agreeing = [case for case, launches in cases.items() if all(launches)]
    report = {"tolerance": TOLERANCE, "cases": len(cases), "cases_that_agree": len(agreeing), "problems": problems,
              "launches": results}
    with open(sys.argv[3] + ".json", "w") as file:
        json.dump(report, file, indent=1)
        file.write("\n")

    lines = [f"{len(agreeing)} of {len(cases)} cases agree within {TOLERANCE:.0%} in requests, sectors and shared "
             "wavefronts.", "", "| case | kernel | figure | traced | counted | difference |", "| --- | --- | --- | --: | --: | --- |"]
    for result in results:
        first = True
        for f in result["figures"]:
            if f["counted"] is None:
                remark = "no such counter"
            elif f.get("widened"):
                remark = f"widened by nvcc: {plain(f['if_widened'])}"
            elif f["agrees"]:
                remark = "equal" if f["difference"] == 0 else f"{f['difference']:.2%}"
            else:
                remark = f"**{f['difference']:.1%}**" if f["figure"] not in INFORMATIVE else f"{f['difference']:.1%} (instructions)"
            names = (result["case"], f"`{result['kernel']}`") if first else ("", "")
            lines.append(f"| {names[0]} | {names[1]} | {f['figure'].replace('_', ' ')} | {plain(f['traced'])} | "
                         f"{plain(f['counted'])} | {remark} |")
            first = False
    lines += [""] + [f"- {problem}" for problem in problems]
    with open(sys.argv[3] + ".md", "w") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    print(lines[0])
    for case in cases:
        if case not in agreeing:
            print(f"differs: {case}")
    for problem in problems:
        print(problem)
    sys.exit(0 if len(agreeing) >= WANTED_CASES else 1)


if __name__ == "__main__":
    main()
