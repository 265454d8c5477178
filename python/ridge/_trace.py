"""ridge.trace_case(): what an operator's kernels do to memory, per source line, by the program ridge-trace."""

import json
import subprocess

from . import _program
from ._ridge import Unsupported


def trace_case(case, /, *, variant=None):
    """Trace a case ("softmax:f32:rows=64,cols=256") without a GPU; variant="all" for every one.

    Gives what `ridge trace --json` prints: {"device", "traces": [{"case", "launches": [{"accesses": ...}]}]}, where an
    access has its source line, its sectors or wavefronts, and the least that they could be.
    """
    made_by = "cmake --build build --target ridge_trace_cli"
    program = _program.find("ridge-trace", "RIDGE_TRACE", "trace: kernels are traced", made_by, Unsupported)
    command = [program, "trace", case, "--json"]
    if variant is not None:
        command += ["--variant", variant]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise ValueError(done.stderr.strip() or f"ridge-trace ended with {done.returncode}")
    return json.loads(done.stdout)
