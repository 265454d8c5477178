"""Ridge: GPU operators at the roof of the hardware, on NumPy, PyTorch, CuPy and JAX arrays.

Every operator of the library is a function of this module, made from the library's own list on import:

    >>> import numpy, ridge
    >>> ridge.softmax(numpy.ones((2, 4), numpy.float32))
    >>> ridge.plan("softmax", ridge.Spec((8192, 50257), "bf16"), device="H200").explain()

The result is the caller's kind of array, on the caller's device and stream. Nothing is copied, and nothing waits.
ridge.ops() lists the operators; help(ridge.softmax) says what one promises.
"""

from . import _docs, _frameworks, _plan, _ridge
from ._plan import Explanation, Plan, infer, plan
from ._ridge import NoDevice, Unsupported, __version__
from ._spec import Spec
from ._trace import trace_case
from ._tuning import tune

_ridge.connect(_frameworks.of)
_functions = {name: _docs.function(op) for name, op in _docs.with_gradients().items()}
_trace_operator = _functions.pop("trace", None)


def ops():
    """Every operator: a dict from its name to its family, summary, inputs, outputs, dtypes, options and variants."""
    return _docs.operators()


def trace(x, **options):
    """A case's text is traced (ridge.trace_case); anything else goes to the operator `trace`, the diagonal's sum."""
    if isinstance(x, str):
        return trace_case(x, **options)
    if _trace_operator is None:
        raise Unsupported("trace: this build has no operator of that name, and x is no case's text")
    return _trace_operator(x, **options)


trace.__doc__ += _docs.example("trace")

__all__ = ["Explanation", "NoDevice", "Plan", "Spec", "Unsupported"]
__all__ += ["infer", "ops", "plan", "trace", "trace_case", "tune", *_functions]
globals().update(_functions)  # last: some have the names of builtins
