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


def fold(weight, bias, mean, var, gamma, beta, eps):
    """(w, b) of w x + b = gamma (weight x + bias - mean) / sqrt(var + eps) + beta, for each filter."""
    scale = torch.rsqrt(var.float() + eps)
    if gamma is not None:
        scale = scale * gamma
    shift = -mean.float() if bias is None else bias.float() - mean
    shift = shift * scale if beta is None else shift * scale + beta
    return weight * scale.view(-1, 1, 1, 1), shift


class _Folded:
    """One convolution's filters and bias, and of which parameters they are."""

    def __init__(self, fold, order, example_inputs):
        self._at = [None if p is None else order[p] for p in fold.parameters()]
        self._eps, self._state = fold.eps, None
        weight = example_inputs[self._at[0]]
        self.weight = torch.empty_like(weight, requires_grad=False)
        self.bias = torch.empty(len(weight), dtype=weight.dtype, device=weight.device)

    def refresh(self, inputs, always):
        given = [None if at is None else inputs[at] for at in self._at]
        # A tensor of inference mode counts no versions.
        known = not always and not any(p is not None and p.is_inference() for p in given)
        state = [p if p is None else (p.data_ptr(), p._version) for p in given] if known else None
        if known and state == self._state:
            return
        with torch.no_grad():
            weight, bias = fold(*given, self._eps)
            self.weight.copy_(weight)
            self.bias.copy_(bias)
        self._state = state


class Folding:
    """All that is folded in one graph."""

    def __init__(self, module, example_inputs):
        self._module, self._inputs, self._all = module, example_inputs, []
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

        def folded(*inputs):
            capturing = torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
            for one in self._all:
                one.refresh(inputs, capturing)
            return call(*inputs)

        return folded
