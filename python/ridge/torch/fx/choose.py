"""Whether Ridge is the faster one: both are timed on the device, cold, at the sizes that the graph was captured with."""

import functools

import torch

from ridge.torch.clock import GpuClock, in_turns
from ridge.torch.fx.graph import hint, real_tensors

_ROUNDS, _WARM = 15, 1
_known = {}  # {what is timed: its times}, of all graphs


def _example(x):
    """A tensor as the graph's: its size, strides, type. Random normal; a mask that hides nothing."""
    if not isinstance(x, torch.Tensor):
        return x
    shape, strides = [[hint(s) for s in sizes] for sizes in (x.shape, x.stride())]
    made = torch.empty_strided(shape, strides, dtype=x.dtype, device=x.device)
    if x.dtype == torch.bool:
        return made.fill_(1)
    return made.normal_(generator=torch.Generator(x.device))  # the user's own numbers stay what they were


def _key(match, values):
    shapes = tuple(
        (tuple(map(hint, v.shape)), tuple(map(hint, v.stride())), v.dtype, v.device)
        if isinstance(v, torch.Tensor)
        else v
        for v in values
    )
    return match.what, shapes


class Stopwatch:
    """What times the matches of one graph; its clock's memory, four times the L2 cache, goes with it."""

    def __init__(self):
        self._clock = functools.cache(GpuClock)  # of a device

    def times(self, match, values):
        """Microseconds of Ridge and of PyTorch. `values` are fake tensors, or what else the functions take."""
        key = _key(match, values)
        if key not in _known:
            with real_tensors():
                inputs = [_example(v) for v in values]
                clock = self._clock(next(v.device for v in inputs if isinstance(v, torch.Tensor)))
                both = match.ridge, match.torch
                once = {f: clock.prepare(functools.partial(f, *inputs)) for f in both}
                timings = in_turns(once, _ROUNDS, _WARM)
            _known[key] = tuple(timings[f].us for f in both)
        return _known[key]
