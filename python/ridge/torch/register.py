"""Every operator of the registry under torch.ops.ridge: schema, kernels, shapes, gradient, transforms."""

import functools

import torch

import ridge
from ridge.torch import accept, autocast, library, node, schema, shapes, vmap

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
    shaped = accept.SHAPED.get(op.name)
    if shaped:
        function = _as_taken(op, function, shaped)
    if accept.PARAMETERS & set(op.inputs):
        function = _of_one_type(op, function)
    if schema.returns_list(op):

        def kernel(*tensors, **options):
            outputs = function(**dict(zip(names, tensors)), **options)
            return list(outputs) if isinstance(outputs, tuple) else [outputs]

        return kernel
    if function is getattr(ridge, op.name) and names == op.inputs:
        return function
    return lambda *tensors, **options: function(**dict(zip(names, tensors)), **options)


def _apart(op, arguments):
    """A call's (inputs, options) by name."""
    inputs = {name: value for name, value in arguments.items() if name in op.inputs}
    return inputs, {name: value for name, value in arguments.items() if name not in inputs}


def _as_taken(op, function, shaped):
    def call(**arguments):
        inputs, options = _apart(op, arguments)
        return function(**shaped(inputs), **options)

    return call


def _of_one_type(op, function):
    """The function for parameters of any float type: where its own are of one type, it computes in float32."""

    def call(**arguments):
        inputs, options = _apart(op, arguments)
        if not accept.mixes_types(op, inputs):
            return function(**arguments)
        outputs = function(**accept.widened(inputs), **options)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        types = _result_types(op, [inputs.get(name) for name in op.inputs], options)
        several = tuple(output.to(dtype) for output, (dtype, _) in zip(several, types))
        return several if isinstance(outputs, tuple) else several[0]

    return call


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
        shaped = accept.SHAPED.get(op.name)
        given = shaped(given) if shaped else given
        inputs = [given.get(name) for name in op.inputs]
        like = next(t for t in inputs if t is not None)
        outputs = [like.new_empty(shape, dtype=dtype) for dtype, shape in _result_types(op, inputs, options)]
        return outputs if schema.returns_list(op) else outputs[0] if len(outputs) == 1 else tuple(outputs)

    return fake
