"""stubs.py BUILT OUT.pyi: the types of `import ridge`, for editors and type checkers; made from the library's list."""

import pathlib
import sys

sys.path[0] = sys.argv[1]  # the package as built, in place of its source, which lies beside this file

import ridge  # noqa: E402
from ridge import _docs  # noqa: E402

HEAD = """\
# Made by python/stubs.py from the operators of this build.
from typing import Any, Sequence

__version__: str

class Unsupported(RuntimeError): ...
class NoDevice(RuntimeError): ...

class Spec:
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    device: str
    def __init__(
        self, shape: Sequence[int], dtype: Any = ..., strides: Sequence[int] | None = ..., device: Any = ...
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
    def run(self, *inputs: Any, out: Any = ..., workspace: Any = ..., stream: Any = ..., **named: Any) -> Any: ...

def plan(op: Any, /, *inputs: Any, out: Any = ..., device: Any = ..., **options: Any) -> Plan: ...
def infer(op: Any, /, *inputs: Any, **options: Any) -> tuple[Spec, ...]: ...
def ops() -> dict[str, dict[str, Any]]: ...
def tune(mode: bool | str = ...) -> None: ...
def trace_case(case: str, /, *, variant: str | None = ...) -> dict[str, Any]: ...
def trace(x: Any, **options: Any) -> Any: ...
"""


def stub(op):
    optional = _docs.optional_inputs(op)
    parameters, defaults = [], False
    for name in op["inputs"]:
        defaults = defaults or name in optional
        parameters.append(f"{name}: Any = ..." if defaults else f"{name}: Any")
    parameters += [
        "*",
        *(f"{name}: Any = ..." for name in ["out", *_docs.keyword_names(op)]),
        "variant: str | None = ...",
        "tune: bool | None = ...",
    ]
    # A comment, for a docstring in a stub is not shown by every editor; the function itself has one.
    return f"def {op['name']}({', '.join(parameters)}) -> Any: ...  # {op['summary']}"


lines = [stub(op) for name, op in _docs.with_gradients().items() if name != "trace"]
pathlib.Path(sys.argv[2]).write_text(HEAD + "\n" + "\n".join(lines) + "\n", "utf-8")
