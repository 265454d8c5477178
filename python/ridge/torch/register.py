"""Every operator of the registry under torch.ops.ridge: schema, kernels, shapes, gradient, transforms."""

import functools

import torch

import ridge
from ridge.torch import autocast, library, node, schema, shapes, vmap

_LIBRARY = torch.library.Library("ridge", "DEF")


def register(op):
    """One operator. Nothing here knows any operator by name; only the gradients' formulas do."""
    names = schema.arguments(op)
    _LIBRARY.define(op.name + schema.schema_of(op), tags=(torch.Tag.pt2_compliant_tag,))
    for device in ("CPU", "CUDA"):
        _LIBRARY.impl(op.name, _kernel(op, names), device)
    torch.library.register_fake(f"ridge::{op.name}", _fake(op, names), lib=_LIBRARY)
    autograd = node.autograd_kernel(op, names, schema.returns_list(op))
    _LIBRARY.impl(op.name, autograd, "Autograd", with_keyset=True)
    torch.library.register_vmap(f"ridge::{op.name}", vmap.rule(op, names), lib=_LIBRARY)
    autocast.register(_LIBRARY, op.name)


def _kernel(op, names):
    function = getattr(ridge, op.name)  # on the tensors' device and its current stream, with PyTorch's memory
    if "cu_q" in op.inputs:
        function = _whole_results(op, function)
    if schema.returns_list(op):

        def kernel(*tensors, **options):
            outputs = function(**dict(zip(names, tensors)), **options)
            return list(outputs) if isinstance(outputs, tuple) else [outputs]

        return kernel
    if names == op.inputs and "cu_q" not in op.inputs:
        return function
    return lambda *tensors, **options: function(**dict(zip(names, tensors)), **options)


def _whole_results(op, function):
    """The function of packed sequences (cu_q), which writes no row that belongs to none of them. PyTorch has no such
    rows: a sum over them would be of whatever memory held. Here they have attended to nothing: 0, and a log of -inf.
    """

    def whole(**arguments):
        if arguments.get("cu_q") is None:
            return function(**arguments)
        inputs = [arguments.pop(name, None) for name in op.inputs]
        outputs = [
            inputs[0].new_full(shape, float("-inf") if name == "lse" else 0, dtype=dtype)
            for name, (dtype, shape) in zip(op.outputs, _result_types(op, inputs, arguments))
        ]
        return function(*inputs, **arguments, out=tuple(outputs) if len(outputs) > 1 else outputs[0])

    return whole


def _result_types(op, inputs, options):
    """[(dtype, shape)] of the outputs for these inputs, in the registry's order; extents may be symbols."""
    dtypes = [None if t is None else t.dtype for t in inputs]
    infer = functools.partial(library.infer, op.name, dtypes, options=node.given_options(options))
    return shapes.infer_symbolic(infer, [() if t is None else t.shape for t in inputs])


def _fake(op, names):
    def fake(*tensors, **options):
        given = dict(zip(names, tensors))
        inputs = [given.get(name) for name in op.inputs]
        like = next(t for t in inputs if t is not None)
        outputs = [like.new_empty(shape, dtype=dtype) for dtype, shape in _result_types(op, inputs, options)]
        return outputs if schema.returns_list(op) else outputs[0] if len(outputs) == 1 else tuple(outputs)

    return fake
