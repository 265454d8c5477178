"""Whether Ridge is the faster one: both are timed on the device, cold, at the sizes that the graph was captured with."""

import functools

import torch

from ridge.bench.clock import GpuClock

ROUNDS = 15  # of each, in turns; the median counts


@functools.cache
def _clock(device):
    return GpuClock(device)


def _hint(size):
    """A symbol's size in the call that was captured, without a guard on it."""
    return size if isinstance(size, int) else int(size.node.hint)


def _example(x):
    """A tensor as the graph's: its size, strides, type. Random normal; a mask that hides nothing."""
    if not isinstance(x, torch.Tensor):
        return x
    shape, strides = [_hint(s) for s in x.shape], [_hint(s) for s in x.stride()]
    made = torch.empty_strided(shape, strides, dtype=x.dtype, device=x.device)
    if x.dtype == torch.bool:
        return made.fill_(1)
    return made.normal_(generator=torch.Generator(x.device))  # the user's own numbers stay what they were


def _key(match, values):
    shapes = tuple(
        (tuple(map(_hint, v.shape)), tuple(map(_hint, v.stride())), v.dtype, v.device)
        if isinstance(v, torch.Tensor)
        else v
        for v in values
    )
    return match.what, shapes


_known = {}


def times(match, values):
    """Microseconds of Ridge and of PyTorch. `values` are fake tensors, or what else the functions take."""
    key = _key(match, values)
    if key not in _known:
        # The compiler's modes of fake tensors and of recorded calls do not belong here.
        with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
            inputs = [_example(v) for v in values]
            device = next(v.device for v in inputs if isinstance(v, torch.Tensor))
            clock = _clock(device)
            runs = [clock.prepare(functools.partial(f, *inputs)) for f in (match.ridge, match.torch)]
            measured = [sorted(times) for times in zip(*([run() for run in runs] for _ in range(ROUNDS + 1)))]
        _known[key] = tuple(m[ROUNDS // 2] for m in measured)
    return _known[key]
