#!/usr/bin/env python3
"""bench_overhead.py: what a call from Python costs on the host, beside what the same run costs by the C ABI alone.

A call reads its tensors, finds the plan, makes the result (unless `out` is given) and runs. On the CPU runtime the run
itself takes microseconds even where there is nothing to do; it is measured by the C function on prepared tensors, and
the difference is Python's part. An empty tensor launches nothing, so its call is nearly that part alone.
"""

import ctypes
import pathlib
import sys
import timeit

if pathlib.Path(sys.path[0]) == pathlib.Path(__file__).resolve().parent:
    del sys.path[0]  # the package's source lies beside this file; what is measured is the one that is installed

import numpy
import ridge


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def microseconds(call):
    calls = 2000
    return min(timeit.repeat(call, number=calls, repeat=15)) / calls * 1e6


def dl_tensor(array, keep):
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    keep.append(shape)
    return DLTensor(array.ctypes.data, 1, 0, array.ndim, 2, 8 * array.itemsize, 1, shape, None, 0)


def c_run(op, x, y):
    """ridge_plan_run on prepared tensors, less what calling a C function through ctypes costs by itself."""
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    library = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libridge.so" in line))  # which the extension uses
    keep = []
    inputs, outputs = (ctypes.POINTER(DLTensor) * 1)(), (ctypes.POINTER(DLTensor) * 1)()
    inputs[0], outputs[0] = ctypes.pointer(dl_tensor(x, keep)), ctypes.pointer(dl_tensor(y, keep))
    plan = ctypes.c_void_p()
    library.ridge_plan_create(op.encode(), inputs, 1, outputs, 1, None, 0, None, ctypes.byref(plan))
    arguments = (plan, inputs, outputs, None, ctypes.c_size_t(0), None)
    run = microseconds(lambda: library.ridge_plan_run(*arguments))
    return run - microseconds(lambda: library.ridge_plan_destroy(None))


def report(name, us):
    print(f"{name:58s} {us:8.2f} us")


x, empty = numpy.ones(16, numpy.float32), numpy.ones(0, numpy.float32)
y = numpy.empty_like(x)
print(f"ridge {ridge.__version__}, Python {sys.version.split()[0]}, NumPy {numpy.__version__}")
run = c_run("relu", x, y)
call, into = microseconds(lambda: ridge.relu(x)), microseconds(lambda: ridge.relu(x, out=y))
report("the run itself: ridge_plan_run, relu of 16 elements", run)
report("ridge.relu(x)", call)
report("ridge.relu(x, out=y)", into)
report("Python's part of ridge.relu(x)", call - run)
report("Python's part of ridge.relu(x, out=y)", into - run)
report("ridge.relu(empty), which launches nothing", microseconds(lambda: ridge.relu(empty)))
report("ridge.relu(empty, out=empty)", microseconds(lambda: ridge.relu(empty, out=empty)))
plan = ridge.plan("relu", empty, out=empty)
report("plan.run(empty, out=empty)", microseconds(lambda: plan.run(empty, out=empty)))
report("ridge.plan('relu', x), which is what the first call adds", microseconds(lambda: ridge.plan("relu", x)))
if "torch" in sys.argv[1:]:
    import torch

    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        t = torch.ones(0, device=device)
        report(f"torch, {device}: ridge.relu(empty)", microseconds(lambda: ridge.relu(t)))
        report(f"torch, {device}: ridge.relu(empty, out=empty)", microseconds(lambda: ridge.relu(t, out=t)))
