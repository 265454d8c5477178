"""Batch norms folded into the filters before them: made once, and again when a parameter has changed.

The folded filters are buffers of the captured module, so that a CUDA graph of Inductor's may hold their addresses, and
are written in place before a call that finds other parameters. Under a capture of the user's own, whose replays run no
Python, folding is part of what is captured.
"""

import dataclasses

import torch
from torch._dynamo.source import AttrSource


@dataclasses.dataclass(frozen=True)
class Fold:
    """The placeholders of a convolution's filters and bias, and of the batch norm's tensors; None: not given."""

    weight: torch.fx.Node
    bias: torch.fx.Node | None
    running_mean: torch.fx.Node
    running_var: torch.fx.Node
    gamma: torch.fx.Node | None
    beta: torch.fx.Node | None
    eps: float

    def parameters(self):
        return (self.weight, self.bias, self.running_mean, self.running_var, self.gamma, self.beta)


class _Folded:
    """One convolution's filters and bias as its batch norm leaves them, and where their parameters are in a call."""

    def __init__(self, fold, order, example_inputs):
        self.at = [None if p is None else order[p] for p in fold.parameters()]
        self.eps = fold.eps
        weight = example_inputs[self.at[0]]
        self.weight = torch.empty_like(weight, requires_grad=False)
        self.bias = torch.empty(len(weight), dtype=weight.dtype, device=weight.device)


class _Channels:
    """The channels of all that is folded on one device, in one row: few launches for any number of convolutions.

    w x + b = gamma (weight x + bias - mean) / sqrt(var + eps) + beta, for each filter.
    """

    def __init__(self, folded):
        self._folded = folded
        sizes, device = [len(one.bias) for one in folded], folded[0].bias.device
        self._eps = torch.cat(
            [torch.full((n,), one.eps, dtype=torch.float32, device=device) for n, one in zip(sizes, folded)]
        )
        # What is not given: no bias, gamma of 1, beta of 0.
        self._rows = (
            torch.tensor([0.0, 0, 1, 1, 0], dtype=torch.float32, device=device).repeat(sum(sizes), 1).T.contiguous()
        )
        self._views = [row.split(sizes) for row in self._rows]
        self._scale, self._shift = (torch.empty_like(self._eps) for _ in range(2))
        self._scales, self._shifts = self._scale.split(sizes), self._shift.split(sizes)

    def refresh(self, inputs):
        for i, views in enumerate(self._views, 1):
            given = [(view, inputs[one.at[i]]) for view, one in zip(views, self._folded) if one.at[i] is not None]
            if given:
                torch._foreach_copy_(*map(list, zip(*given)))
        bias, mean, var, gamma, beta = self._rows
        torch.mul(torch.rsqrt(var + self._eps), gamma, out=self._scale)
        torch.addcmul(beta, bias - mean, self._scale, out=self._shift)
        for one, scale in zip(self._folded, self._scales):
            torch.mul(inputs[one.at[0]], scale.view(-1, 1, 1, 1), out=one.weight)
        torch._foreach_copy_([one.bias for one in self._folded], list(self._shifts))


class Folding:
    """All that is folded in one graph."""

    def __init__(self, module, example_inputs):
        self._module, self._inputs, self._all = module, example_inputs, []
        self._channels, self._state = [], None
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._order = {node: i for i, node in enumerate(placeholders)}

    def place(self, fold):
        """Two nodes of the folded filters and bias, where the graph's insertion point is."""
        made = _Folded(fold, self._order, self._inputs)
        nodes = []
        for what, tensor in (("weight", made.weight), ("bias", made.bias)):
            target = f"ridge_folded_{what}_{len(self._all)}"
            self._module.register_buffer(target, tensor, persistent=False)
            # Where Dynamo has found each parameter, which Inductor asks of all that a module has.
            self._module._param_name_to_source[target] = AttrSource(fold.weight._dynamo_source, target)
            nodes.append(self._module.graph.get_attr(target))
        self._all.append(made)
        return nodes

    def around(self, call):
        """`call` with what is folded up to date."""
        if not self._all:
            return call
        devices = {one.bias.device for one in self._all}
        self._channels = [_Channels([one for one in self._all if one.bias.device == device]) for device in devices]

        def folded(*inputs):
            self._refresh(inputs)
            return call(*inputs)

        return folded

    def _refresh(self, inputs):
        given = [inputs[at] for one in self._all for at in one.at if at is not None]
        capturing = torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
        # A tensor of inference mode counts no versions.
        known = not capturing and not any(tensor.is_inference() for tensor in given)
        state = [(tensor.data_ptr(), tensor._version) for tensor in given] if known else None
        if known and state == self._state:
            return
        with torch.no_grad():
            for channels in self._channels:
                channels.refresh(inputs)
        self._state = state
