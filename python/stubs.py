"""stubs.py BUILT OUT.pyi: the types of `import ridge`, for editors and type checkers; made from the library's list."""

import pathlib
import sys

sys.path[0] = sys.argv[1]  # the package as built, in place of its source, which lies beside this file

from ridge import _docs, _options  # noqa: E402

HEAD = """\
# Made by python/stubs.py from the operators of this build.
from typing import Any, Callable, Literal, Protocol, Sequence, TypeVar, overload

import numpy

__version__: str

class _Array(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

_N = numpy.ndarray[Any, Any]  # results have dtypes and axes of their own
_A = TypeVar("_A", bound=_Array)  # of PyTorch, CuPy or JAX: results are of the first input's kind

class Unsupported(RuntimeError): ...
class NoDevice(RuntimeError): ...

class Spec:
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    device: str
    def __init__(
        self, shape: Sequence[int], dtype: Any = "f32", strides: Sequence[int] | None = None, device: str = "cpu"
    ) -> None: ...

class Explanation:
    text: str
    json: dict[str, Any]

class Plan:
    @property
    def op(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def workspace(self) -> int: ...
    def explain(self) -> Explanation: ...
    def run(self, *inputs: Any, out: Any = None, workspace: Any = None, stream: Any = None, **named: Any) -> Any: ...

_Operator = str | Callable[..., Any]

def plan(op: _Operator, /, *inputs: Any, out: Any = None, device: str | None = None, **options: Any) -> Plan: ...
def infer(op: _Operator, /, *inputs: Any, **options: Any) -> tuple[Spec, ...]: ...
def ops() -> dict[str, dict[str, Any]]: ...
def tune(mode: bool | Literal["read"] = True) -> None: ...
def trace_case(case: str, /, *, variant: str | None = None) -> dict[str, Any]: ...
def trace(x: Any, **options: Any) -> Any: ...
"""


def result(op, kind):
    """What a call gives; how many results there are, options decide in some operators."""
    if op.get("optional_outputs"):
        return "Any"
    return kind if len(op["outputs"]) == 1 else f"tuple[{', '.join([kind] * len(op['outputs']))}]"


def stub(op, first):
    """The function on arrays of the kind `first`."""
    options = {option["name"]: option for option in op["options"]}
    kinds = {name: _options.annotation(option) for name, option in options.items()}
    kinds["out"] = " | ".join([result(op, first), *([kinds["out"]] if "out" in kinds else []), "None"])
    kinds["variant"] = f"Literal[{', '.join(repr(variant['name']) for variant in op['variants'])}] | None"
    kinds["tune"] = "bool | None"
    parameters = []
    for name, parameter in _docs.signature(op).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        kind = kinds.get(name, "str") if "*" in parameters else "_Array" if parameters else first
        if parameter.default is parameter.empty:
            parameters.append(f"{name}: {kind}")
        else:  # None is: not given
            kind = kind if "Any" in kind or kind.endswith("None") else kind + " | None"
            parameters.append(f"{name}: {kind} = {parameter.default!r}")
    # A comment, for a docstring in a stub is not shown by every editor; the function itself has one.
    return f"def {op['name']}({', '.join(parameters)}) -> {result(op, first)}: ...  # {op['summary']}"


lines = []
for name, op in _docs.with_gradients().items():
    kinds_of_arrays = ["_Array"] if result(op, "_A") == "Any" else ["_N", "_A"]
    if name != "trace":
        lines += ["@overload\n" * (len(kinds_of_arrays) > 1) + stub(op, kind) for kind in kinds_of_arrays]
pathlib.Path(sys.argv[2]).write_text(HEAD + "\n" + "\n".join(lines) + "\n", "utf-8")
