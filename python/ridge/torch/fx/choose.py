"""Whether Ridge is the faster one: both are timed on the device, cold, at the sizes that the graph was captured with."""

import functools

import torch

from ridge.torch.clock import GpuClock, in_turns
from ridge.torch.fx import fold
from ridge.torch.fx.graph import autocast_type, hint, local, real_tensors

_ROUNDS, _WARM = 15, 1
_COPIED = 1 << 26  # bytes
_known = {}  # {what is timed: its times}, of all graphs


def _example(x, hides=False):
    """A tensor as the graph's: its size, strides, type. Random normal; a mask that hides nothing."""
    if not isinstance(x, torch.Tensor):
        return x
    shape, strides = [[hint(s) for s in sizes] for sizes in (x.shape, x.stride())]
    once = [size if stride else 1 for size, stride in zip(shape, strides)]  # of what is broadcast
    made = torch.empty_strided(once, strides, dtype=x.dtype, device=x.device)
    if x.dtype == torch.bool:
        return made.fill_(not hides).expand(shape)
    made.normal_(generator=torch.Generator(x.device))  # the user's own numbers stay what they were
    return made.expand(shape)


class _WithGradients:
    """A function and its backward pass, of the inputs whose gradients a graph in training asks for."""

    def __init__(self, function, inputs, wanted):
        self._function = function
        self._inputs = [x.detach().requires_grad_() if w else x for x, w in zip(inputs, wanted)]
        self._leaves = [x for x, w in zip(self._inputs, wanted) if w]
        self._gradients = None

    @torch.enable_grad()
    def __call__(self):
        found = self._function(*self._inputs)
        outputs = [y for y in (found if isinstance(found, (tuple, list)) else (found,)) if y.requires_grad]
        if self._gradients is None:
            self._gradients = [_example(y) for y in outputs]
        # PyTorch's function may lack what follows a product, and so an input that has a gradient here.
        return torch.autograd.grad(outputs, self._leaves, self._gradients, allow_unused=True)


def _key(match, values, *more):
    shapes = tuple(
        (tuple(map(hint, v.shape)), tuple(map(hint, v.stride())), v.dtype, v.device)
        if isinstance(v, torch.Tensor)
        else v
        for v in values
    )
    kinds = {v.device.type for v in values if isinstance(v, torch.Tensor)}
    return match.what, match.ridge, shapes, tuple(map(autocast_type, kinds)), *more


class Stopwatch:
    """What times the matches of one graph; its clock's memory, four times the L2 cache, goes with it.

    together    all batch norms of a graph are folded at once, which costs the bytes of the filters; else each by itself
    """

    def __init__(self, together):
        self._together = together
        self._clock = functools.cache(GpuClock)  # of a device
        self._copies_us = {}  # of a device

    def times(self, match, values, norm=()):
        """Microseconds of Ridge and of PyTorch, in training with the backward pass. `values` and `norm` are those of the
        match: fake tensors, or what else the functions take."""
        values, norm = ([local(v) for v in of] for of in (values, norm))  # each rank computes its own part
        wanted = tuple(torch.is_grad_enabled() and isinstance(v, torch.Tensor) and v.requires_grad for v in values)
        key = _key(match, (*values, *norm), self._together, wanted)
        if key not in _known:
            with real_tensors():
                inputs = [_example(v, given in match.hides) for v, given in zip(values, match.inputs)]
                norm = [_example(v) for v in norm]
                device = next(v.device for v in inputs if isinstance(v, torch.Tensor))
                folding_us = 0
                ours, theirs = (functools.partial(f, *inputs) for f in (match.ridge, match.torch))
                if norm:
                    norm[1].abs_()  # a variance
                    x, filter_and_bias, rest = inputs[0], inputs[1:3], inputs[3:]
                if norm and self._together:
                    folding_us = inputs[1].numel() * inputs[1].element_size() / _COPIED * self._copy_us(device)
                    ours = functools.partial(match.ridge, x, *fold.batch_norm(*filter_and_bias, *norm), *rest)
                elif norm:
                    ours = lambda: match.ridge(x, *fold.batch_norm(*filter_and_bias, *norm), *rest)  # noqa: E731
                if any(wanted):
                    ours, theirs = (_WithGradients(f, inputs, wanted) for f in (match.ridge, match.torch))
                once = {"ours": self._clock(device).prepare(ours), "theirs": self._clock(device).prepare(theirs)}
                timings = in_turns(once, _ROUNDS, _WARM)
            _known[key] = timings["ours"].us + folding_us, timings["theirs"].us
        return _known[key]

    def _copy_us(self, device):
        """Of _COPIED bytes."""
        if device not in self._copies_us:
            source = torch.ones(_COPIED // 4, dtype=torch.float32, device=device)
            target = torch.empty_like(source)
            copy = self._clock(device).prepare(lambda: target.copy_(source))
            self._copies_us[device] = in_turns({"copy": copy}, _ROUNDS, _WARM)["copy"].us
        return self._copies_us[device]
