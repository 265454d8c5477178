"""ridge.trace_case(): what an operator's kernels do to memory, per source line, by the program ridge-trace."""

import json
import os
import shutil
import subprocess

from ._ridge import Unsupported


def _program():
    program = os.environ.get("RIDGE_TRACE") or shutil.which("ridge-trace")
    if program is None:
        raise Unsupported(
            "trace: kernels are traced by the program ridge-trace, which is neither on the PATH nor named by "
            "RIDGE_TRACE; it is made in a clone of Ridge by `cmake --build build --target ridge_trace_cli`"
        )
    return program


def trace_case(case, /, *, variant=None):
    """Trace a case ("softmax:f32:rows=64,cols=256") without a GPU; variant="all" for every one.

    Gives what `ridge trace --json` prints: {"device", "traces": [{"case", "launches": [{"accesses": ...}]}]}, where an
    access has its source line, its sectors or wavefronts, and the least that they could be.
    """
    command = [_program(), "trace", case, "--json"]
    if variant is not None:
        command += ["--variant", variant]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise ValueError(done.stderr.strip() or f"ridge-trace ended with {done.returncode}")
    return json.loads(done.stdout)
