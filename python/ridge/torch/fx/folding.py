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
        self._sizes, self._device = [len(one.bias) for one in folded], folded[0].bias.device
        self._eps = self._row([one.eps for one in folded])
        # In place of what is not given: a bias, mean, variance, gamma, beta.
        self._usual = [self._row([usual] * len(folded)).split(self._sizes) for usual in (0.0, 0.0, 1.0, 1.0, 0.0)]

    def _row(self, numbers):
        parts = [torch.full((n,), x, dtype=torch.float32, device=self._device) for n, x in zip(self._sizes, numbers)]
        return torch.cat(parts)

    def refresh(self, inputs):
        def row(i):
            given = [
                usual if one.at[i + 1] is None else inputs[one.at[i + 1]]
                for one, usual in zip(self._folded, self._usual[i])
            ]
            return torch.cat([x.detach() for x in given]).float()

        bias, mean, var, gamma, beta = map(row, range(5))
        scale = gamma * torch.rsqrt(var + self._eps)
        shifts, scales = (beta + (bias - mean) * scale).split(self._sizes), scale.split(self._sizes)
        for one, of_filter, shift in zip(self._folded, scales, shifts):
            torch.mul(inputs[one.at[0]], of_filter.view(-1, 1, 1, 1), out=one.weight)
        torch._foreach_copy_([one.bias for one in self._folded], list(shifts))


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
