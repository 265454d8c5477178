"""An operator's place in PyTorch's graphs: the kernel of its Autograd key, also under torch.func's transforms.

torch.library.register_autograd would do for plain backward passes. It refuses torch.func (grad, vjp, jacrev), and
forward mode goes past it: tangents are dropped, and what comes out looks like a constant.
"""

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from ridge.torch.autograd import FORMULAS, Call


def given_options(options):
    """A schema's options but those that were left out."""
    return {name: value for name, value in options.items() if value is not None}


def autograd_kernel(op, names, returns_list):
    """The function for the Autograd key of an operator with these inputs, in the order of its schema."""
    overload = getattr(torch.ops.ridge, op.name).default
    name, node = overload.name(), _node(op, names, returns_list, overload)

    def kernel(keyset, *tensors, **options):
        if forward_ad._current_level >= 0:
            _refuse_tangents(name, tensors)
        if not (torch.is_grad_enabled() and torch._C._any_requires_grad(*tensors)):
            return _below(overload, keyset, tensors, options)
        outputs = _apply(node, keyset, options, *tensors)
        return list(outputs) if returns_list else outputs

    return kernel


def kernel_without_gradient(overload):
    """The function for the Autograd key of an operator that writes to its arguments: it records nothing."""
    name = overload.name()

    def kernel(keyset, *tensors, **options):
        if forward_ad._current_level >= 0:
            _refuse_tangents(name, tensors)
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*tensors):
            raise NotImplementedError(
                f"{name} has no gradient; it must be called under torch.no_grad(), or on tensors that require none"
            )
        return _below(overload, keyset, tensors, options)

    return kernel


def _below(overload, keyset, tensors, options):
    """What the keys behind Autograd make of the call: the devices' kernels, or the next of several transforms."""
    with torch._C._AutoDispatchBelowAutograd():
        return overload.redispatch(keyset & torch._C._after_autograd_keyset, *tensors, **options)


def _apply(node, *arguments):
    """A node for the tensors of this level. Function.apply would begin at the outermost transform again."""
    if not torch._C._are_functorch_transforms_active():
        return node.apply(*arguments)
    with enable_single_level_autograd_function():
        return super(torch.autograd.Function, node).apply(*arguments)


def _refuse_tangents(name, tensors):
    for tensor in tensors:
        if tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(
                f"{name} has no derivative in forward mode (jvp, jacfwd, make_dual); it must be taken in reverse "
                "(vjp, jacrev, backward)"
            )


def _node(op, names, returns_list, overload):
    keep, formula = FORMULAS.get(op.name, ((), None))
    kept_names = keep if callable(keep) else lambda options: keep

    def forward(ctx, keyset, options, *tensors):
        # Here gradients are off, for those of this level are the node's. A further transform below records its own.
        with torch.set_grad_enabled(torch._C._are_functorch_transforms_active()):
            output = _below(overload, keyset, tensors, options)
        outputs = tuple(output) if isinstance(output, (tuple, list)) else (output,)
        known = dict(zip(names, tensors)) | dict(zip(op.outputs, outputs))
        ctx.set_materialize_grads(False)  # zeros for an output that nothing came from need not be read
        ctx.options = given_options(options)
        ctx.shapes = {name: tensor.shape for name, tensor in zip(names, tensors) if tensor is not None}
        ctx.save_for_backward(*(known.get(name) for name in kept_names(ctx.options)))
        return outputs if returns_list or len(op.outputs) > 1 else output

    def backward(ctx, *gradients):
        if formula is None:
            raise NotImplementedError(f"ridge::{op.name} has no gradient; call it on tensors that do not require one")
        needed = ctx.needs_input_grad[2:]  # behind the keys and the options
        if all(gradient is None for gradient in gradients):
            return (None,) * len(ctx.needs_input_grad)
        needs = dict.fromkeys(names, False) | dict(zip(names, needed))
        kept = dict(zip(kept_names(ctx.options), ctx.saved_tensors))
        found = formula(Call(op.name, kept, ctx.shapes, ctx.options, needs), *gradients)
        return None, None, *(found.get(name) if needs[name] else None for name in names[: len(needed)])

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(f"ridge_{op.name}", (torch.autograd.Function,), methods)
