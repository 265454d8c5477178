"""Every operator of the registry under torch.ops.ridge: schema, kernels, shapes, gradient."""

import functools

import torch

import ridge
from ridge.torch import library, schema, shapes
from ridge.torch.autograd import FORMULAS, Call

_LIBRARY = torch.library.Library("ridge", "DEF")


def register(op):
    """One operator. Nothing here knows any operator by name; only the gradients' formulas do."""
    names = schema.arguments(op)
    _LIBRARY.define(op.name + schema.schema_of(op), tags=(torch.Tag.pt2_compliant_tag,))
    for device in ("CPU", "CUDA"):
        _LIBRARY.impl(op.name, _kernel(op, names), device)
    torch.library.register_fake(f"ridge::{op.name}", _fake(op, names), lib=_LIBRARY)
    backward, setup_context = _gradient(op, names)
    torch.library.register_autograd(f"ridge::{op.name}", backward, setup_context=setup_context, lib=_LIBRARY)


def _given(options):
    return {name: value for name, value in options.items() if value is not None}


def _kernel(op, names):
    function = getattr(ridge, op.name)  # on the tensors' device and its current stream, with PyTorch's memory
    if schema.returns_list(op):

        def kernel(*tensors, **options):
            outputs = function(**dict(zip(names, tensors)), **options)
            return list(outputs) if isinstance(outputs, tuple) else [outputs]

        return kernel
    if names == op.inputs:
        return function
    return lambda *tensors, **options: function(**dict(zip(names, tensors)), **options)


def _fake(op, names):
    def fake(*tensors, **options):
        given = dict(zip(names, tensors))
        inputs = [given.get(name) for name in op.inputs]
        dtypes = [None if t is None else t.dtype for t in inputs]
        infer = functools.partial(library.infer, op.name, dtypes, options=_given(options))
        types = shapes.infer_symbolic(infer, [() if t is None else t.shape for t in inputs])
        like = next(t for t in inputs if t is not None)
        outputs = [like.new_empty(shape, dtype=dtype) for dtype, shape in types]
        return outputs if schema.returns_list(op) else outputs[0] if len(outputs) == 1 else tuple(outputs)

    return fake


def _gradient(op, names):
    keep, formula = FORMULAS.get(op.name, ((), None))

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        known = dict(zip(names, inputs))
        known.update(zip(op.outputs, output if isinstance(output, (tuple, list)) else (output,)))
        ctx.set_materialize_grads(False)  # zeros for an output that nothing came from need not be read
        ctx.options = _given(keyword_only_inputs)
        ctx.save_for_backward(*(known.get(name) for name in keep))

    def backward(ctx, *gradients):
        if formula is None:
            raise NotImplementedError(f"ridge::{op.name} has no gradient; call it on tensors that do not require one")
        if schema.returns_list(op):
            [gradients] = gradients
        given = names[: len(ctx.needs_input_grad)]
        if all(gradient is None for gradient in gradients):
            return (None,) * len(given)
        needs = dict.fromkeys(names, False) | dict(zip(given, ctx.needs_input_grad))
        found = formula(Call(op.name, dict(zip(keep, ctx.saved_tensors)), ctx.options, needs), *gradients)
        results = tuple(found.get(name) if needs[name] else None for name in given)
        return results if len(results) > 1 else results[0]

    return backward, setup_context
