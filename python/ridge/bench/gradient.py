"""PyTorch's backward pass as a peer: the gradients of a function's inputs, from what a forward pass kept."""

import torch


def _one_output(dy, *inputs):
    return [dy], inputs


class Gradient:
    """A peer of (gradient of the output, *inputs), or of what `arrange` makes ([gradients of outputs], [inputs]) of, and
    perhaps of a third list: inputs that have no gradient. The forward pass is done once, and not in the measured calls."""

    def __init__(self, forward, arrange=_one_output):
        self._forward, self._arrange = forward, arrange
        self._recorded = {}  # by stream: the backward pass runs where the forward pass ran

    def compiled(self, compile):
        return Gradient(compile(self._forward), self._arrange)

    @torch.enable_grad()
    def __call__(self, *taken):
        gradients, inputs, *constants = self._arrange(*taken)
        device = inputs[0].device
        stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else None
        if stream not in self._recorded:
            leaves = [x.detach().requires_grad_() for x in inputs]
            self._recorded[stream] = self._forward(*leaves, *(constants[0] if constants else ())), leaves
        y, leaves = self._recorded[stream]
        return torch.autograd.grad(y, leaves, gradients, retain_graph=True)
