"""A program that ends while another thread is inside an operator."""

import pathlib
import subprocess
import sys

import pytest

# Operators are called on memory of ctypes', so that the interpreter can be one without NumPy.
SETUP = f"""
import ctypes, sys, threading, time
sys.path.append({str(pathlib.Path(__file__).parent)!r})
import ridge
from foreign import Foreign

class Memory(Foreign):
    def __init__(self, *shape):
        size = 1
        for extent in shape:
            size *= extent
        self.memory = (ctypes.c_float * size)(*range(size))
        super().__init__(ctypes.addressof(self.memory), shape)

def loop(call):
    def work():
        while True:
            call()
    threading.Thread(target=work, daemon=True).start()

small, result = Memory(4, 6), Memory(4, 6)
square, product = Memory(300, 300), Memory(300, 300)
"""

WORK = {
    "without the GIL": "loop(lambda: ridge.gemm(square, square, out=product))",
    "between Python and the library": "loop(lambda: ridge.relu(small, out=result))",
    "in a plan": "plan = ridge.plan('relu', small, out=result); loop(lambda: plan.run(small, out=result))",
    "in refusals": """
def refused():
    try:
        ridge.relu(small, out=square)
    except ValueError:
        pass
loop(refused)
""",
    "in Python's code": """
class Slow(Memory):
    def __dlpack_device__(self):
        for _ in range(1000):
            pass
        return self.device
    def __dlpack__(self, **_):
        for _ in range(1000):
            pass
        return super().__dlpack__()
slow = Slow(4, 6)
loop(lambda: ridge.relu(slow, out=result))
""",
    "in several threads": "for _ in range(4): loop(lambda: ridge.relu(small, out=result))",
}


@pytest.mark.parametrize("work", WORK)
def test_daemon_threads(work):
    for attempt in range(12):
        code = f"{SETUP}{WORK[work]}\ntime.sleep({0.02 + 0.003 * attempt})\n"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), attempt
