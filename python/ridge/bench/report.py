"""What is shown of measurements: a table for people, JSON as the command line writes it, and README's table."""

import datetime
import json
import pathlib

import torch

import ridge


def _rate(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else "<0.001"


def _share(m):
    return "" if m.copy_share is None else f" ({100 * m.copy_share:3.0f} %)"


def _ratios(m):
    texts = [f"{m.times_faster(name):.2f}x {name}" for name in m.peers]
    return ", ".join(texts + [f"{name}: {why}" for name, why in m.refusals.items()]) or "-"


class Table:
    """Printed line by line, each as soon as it was measured."""

    def __init__(self, cases, device, all_variants=False):
        self.all_variants = all_variants  # * marks the chosen one
        self.width = max(len(case.text) for case in cases)
        if torch.device(device).type == "cpu":
            print("On the CPU: these are times of the CPU runtime, which says nothing of a GPU.")
        self._line("case", "variant", "us", "noise", "GB/s (% of copy)", "TFLOP/s", "x peer")

    def row(self, m):
        if m.error:
            self._line(m.case, m.variant or "-", "-", "-", "-", "-", m.error)
            return
        tflops = _rate(m.tflops) if m.operations else "-"
        self._line(
            m.case,
            m.variant + (" *" if m.chosen and self.all_variants else ""),
            f"{m.time.us:.2f}",
            f"{100 * m.time.noise:.1f} %",
            _rate(m.gbs) + _share(m),
            tflops,
            _ratios(m),
        )

    def _line(self, case, variant, us, noise, gbs, tflops, peers):
        print(f"{case:<{self.width}}  {variant:<16}  {us:>11}  {noise:>6}  {gbs:>16}  {tflops:>8}  {peers}", flush=True)


def markdown(measurements):
    names = list(dict.fromkeys(name for m in measurements for name in m.peers))
    head = ["case", "variant", "us", "GB/s", "of copy", "TFLOP/s", *(f"x {name}" for name in names)]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for m in measurements:
        if m.error:
            continue
        share = "" if m.copy_share is None else f"{100 * m.copy_share:.0f} %"
        ratios = [f"{m.times_faster(name):.2f}" if name in m.peers else "" for name in names]
        tflops = _rate(m.tflops) if m.operations else ""
        lines.append(
            "| "
            + " | ".join([f"`{m.case}`", f"`{m.variant}`", f"{m.time.us:.1f}", _rate(m.gbs), share, tflops, *ratios])
            + " |"
        )
    return "\n".join(lines)


def _driver():
    try:
        return pathlib.Path("/sys/module/nvidia/version").read_text().strip()
    except OSError:
        return None


def _device_info(device):
    properties = torch.cuda.get_device_properties(device)
    return {
        "id": str(torch.device(device)),
        "name": properties.name,
        "compute_capability": 10 * properties.major + properties.minor,
        "multiprocessors": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "memory_bytes": properties.total_memory,
    }


def _measured(m, device_name):
    if m.error:
        return {"case": m.case, "variant": m.variant, "device": device_name, "chosen": m.chosen, "error": m.error}
    peers = [
        {"name": name, "us": t.us, "noise": t.noise, "times_faster": m.times_faster(name)}
        for name, t in m.peers.items()
    ]
    return {
        "case": m.case,
        "variant": m.variant,
        "device": device_name,
        "chosen": m.chosen,
        "us": m.time.us,
        "noise": m.time.noise,
        "gbs": m.gbs,
        "copy_share": m.copy_share,
        "tflops": m.tflops,
        "predicted_us": m.predicted_us,
        "least_us": m.least_us,
        "plan_us": m.plan_us,
        "peers": peers,
        "peers_left_out": m.refusals,
    }


def facts(device, commit=None):
    """Where and when results were made."""
    gpu = torch.device(device).type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if gpu else "CPU runtime",
        "device_info": _device_info(device) if gpu else None,
        "driver": _driver() if gpu else None,
        "ridge": ridge.__version__,
        "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "torch": torch.__version__,
        "cuda": torch.version.cuda if gpu else None,
        "cudnn": torch.backends.cudnn.version() if gpu else None,
    }


def fields(measurements, of):
    return {"measurements": [_measured(m, of["device"]) for m in measurements]}


def to_json(measurements, device, settings, commit=None):
    of = facts(device, commit)
    return json.dumps(of | {"settings": settings} | fields(measurements, of), indent=2) + "\n"
