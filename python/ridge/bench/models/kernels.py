"""Which kernels a step consists of, by PyTorch's profiler."""

import collections
import dataclasses
import re

import torch

# What a kernel is about, by its name; the first that fits. The rest is "other": norms and elementwise operators, and
# what Inductor makes of those, whose names have the operators around in them.
_KINDS = {
    "other": r"^triton_(?!tem)",
    "attention": r"attention|flash|fmha|sdpa|flex",
    "convolution": r"conv|fprop|implicit|winograd|fft",
    "products": r"gemm|gemv|nvjet|cutlass|xmma|splitk|fused_mm|grouped_mm|dot_kernel",
}


@dataclasses.dataclass
class Kernel:
    name: str
    us: float
    count: int

    @property
    def kind(self):
        return next((kind for kind, names in _KINDS.items() if re.search(names, self.name, re.IGNORECASE)), "other")


def of(work):
    """The kernels of one call, those of a name together, the longest first."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        work()
        torch.cuda.synchronize()
    events = [e for e in profile.key_averages() if e.self_device_time_total > 0 and not e.is_user_annotation]
    return sorted((Kernel(e.key, e.self_device_time_total, e.count) for e in events), key=lambda k: -k.us)


def short(name, width=44):
    """void ridge::gemm_detail::kernel<...>(...) as gemm_detail::kernel."""
    plain = re.sub(r"\(anonymous namespace\)::|^void ", "", name)
    plain = re.split(r"[<(]", plain, maxsplit=1)[0] or name
    return "::".join(plain.split("::")[-2:])[:width]


def beside(ours, theirs, rows=5):
    """Lines for people: kinds of kernels with the largest loss first, and the longest kernels side by side."""
    by_kind = collections.defaultdict(lambda: [0.0, 0.0])
    for side, kernels in enumerate((ours, theirs)):
        for kernel in kernels:
            by_kind[kernel.kind][side] += kernel.us
    ordered = sorted(by_kind.items(), key=lambda item: item[1][1] - item[1][0])
    lines = [", ".join(f"{kind} {us[0]:.0f} us beside {us[1]:.0f}" for kind, us in ordered)]
    for i in range(min(rows, max(len(ours), len(theirs)))):
        lines.append("  ".join(_cell(kernels[i] if i < len(kernels) else None) for kernels in (ours, theirs)).rstrip())
    return lines


def _cell(kernel):
    text = f"{kernel.us:9.1f} us {kernel.count:4d}x {short(kernel.name)}" if kernel else ""
    return f"{text:<62}"
