"""What is refused, by which exception, in which words; and that a refusal costs no memory."""

import gc
import os
import pathlib
import sys

import numpy as np
import pytest
from foreign import Foreign

import ridge

X = np.ones((4, 6), np.float32)


def read_only():
    y = np.empty_like(X)
    y.flags.writeable = False
    return y


def off_element():
    return np.zeros(X.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(X.shape)


RECORDS = np.zeros(4, [("a", np.float32), ("b", np.uint8), ("c", np.uint8)])
SQUARE = np.ones((4, 4), np.float32)

BAD = {
    "dtype": (lambda: ridge.softmax(np.ones((2, 2), np.int32)), TypeError, "softmax: x.dtype is i32; it must be"),
    "complex": (lambda: ridge.relu(np.ones(3, np.complex64)), TypeError, "relu: a.dtype is complex64"),
    "int16": (lambda: ridge.relu(np.ones(3, np.int16)), TypeError, "relu: a.dtype is int16; it must be one of"),
    "records": (lambda: ridge.relu(RECORDS), TypeError, "it must be one of float64"),
    "no bytes": (lambda: ridge.relu(np.zeros(3, "V0")), TypeError, "relu: a.dtype is |V0; it must be one of"),
    "object": (lambda: ridge.relu(np.array([X, None], object)), TypeError, "relu: a.dtype is object"),
    "text": (lambda: ridge.relu(np.array(["x"])), TypeError, "relu: a.dtype is <U1"),
    "foreign byte order": (lambda: ridge.relu(X.astype(">f4")), TypeError, "this machine's byte order"),
    "odd stride": (lambda: ridge.relu(RECORDS["a"]), ValueError, "multiples of the element's 4"),
    "misaligned element": (lambda: ridge.relu(off_element()), ValueError, "relu: "),
    "masked": (lambda: ridge.relu(np.ma.masked_array(X)), TypeError, "relu: a is a masked array"),
    "a list": (lambda: ridge.relu([1.0, 2.0]), TypeError, "relu: a is of type list; it must be a tensor"),
    "a number": (lambda: ridge.add(X, 2.0), TypeError, "add: b is of type float; it must be a tensor"),
    "no input": (lambda: ridge.relu(), TypeError, "relu: a is missing"),
    "too few": (lambda: ridge.add(X), ValueError, "add: the number of inputs is 1; it must be 2 (a, b)"),
    "too many": (lambda: ridge.relu(X, X), TypeError, "positional arguments is 2; it must be at most 1 (a)"),
    "twice": (lambda: ridge.relu(X, a=X), TypeError, "relu: a is given twice"),
    "shapes": (lambda: ridge.add(X, X[:2]), ValueError, "add: "),
    "rank": (lambda: ridge.relu(np.ones((1,) * 9, np.float32)), ValueError, "relu: a.shape has 9 axes"),
    "option": (lambda: ridge.softmax(X, along=0), ValueError, "softmax: option is 'along'"),
    "axis": (lambda: ridge.softmax(X, axis=2), ValueError, "softmax: axis is 2; it must be from -"),
    "axes": (lambda: ridge.sum(X, axis=(0, 0)), ValueError, "sum: axis is 0,0; it must be without any axis named twice"),
    "option's value": (lambda: ridge.histogram(X, bins="many"), ValueError, "histogram: "),
    "no number": (lambda: ridge.embedding(X, X[:, 0].astype(np.int32), scale=float("nan")), ValueError, "finite number"),
    "no float32": (lambda: ridge.embedding(X, X[:, 0].astype(np.int32), scale=1e300), ValueError, "of type float32"),
    "a NUL in a value": (lambda: ridge.softmax(X, variant="online\0x"), ValueError, "softmax: variant has a NUL inside"),
    "a NUL in a name": (lambda: ridge.softmax(X, **{"variant\0x": "online"}), ValueError, "has a NUL inside"),
    "a NUL in a device": (lambda: ridge.plan("relu", X, device="cpu\0x"), ValueError, "device has a NUL inside"),
    "a NUL in an operator": (lambda: ridge.plan("relu\0x", X), ValueError, "has a NUL inside"),
    "an escape": (lambda: ridge.softmax(X, variant="\x1b[2J"), ValueError, "'?[2J'; it must be text without control"),
    "variant": (lambda: ridge.softmax(X, variant="fastest"), ValueError, "'fastest'; it must be one of"),
    "unfit variant": (lambda: ridge.relu(X[:, ::2], variant="vec4"), (ridge.Unsupported, ValueError), "relu: "),
    "read-only out": (lambda: ridge.relu(X, out=read_only()), ValueError, "relu: y is read-only"),
    "out's dtype": (lambda: ridge.relu(X, out=np.empty(X.shape)), TypeError, "relu: y.dtype is f64; it must be f32"),
    "out's shape": (lambda: ridge.relu(X, out=X[:2].copy()), ValueError, "relu: y.shape is 2x6; it must be 4x6"),
    "out is a number": (lambda: ridge.relu(X, out=3), TypeError, "relu: y is of type int"),
    "outs": (lambda: ridge.relu(X, out=(X.copy(), X.copy())), ValueError, "relu: outputs is 2 tensors; it must be 1"),
    "no outs": (lambda: ridge.relu(X, out=()), ValueError, "relu: out is an empty sequence"),
    "overlap": (lambda: ridge.relu(SQUARE[:-1], out=SQUARE[1:]), ValueError, "relu: y is overlapping"),
    "in place": (lambda: ridge.transpose(SQUARE, out=SQUARE), ValueError, "transpose: y is overlapping"),
    "a spec": (lambda: ridge.relu(ridge.Spec((4,))), TypeError, "relu: a is a ridge.Spec"),
    "two devices": (lambda: ridge.add(X, Foreign.of(X, (2, 0))), ValueError, "add: b.device is"),
    "out's device": (lambda: ridge.relu(X, out=Foreign.of(X.copy(), (2, 0))), ValueError, "relu: "),
    "no operator": (lambda: ridge.plan("sofmax", X), ValueError, "there is no operator 'sofmax'"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_refusal(bad):
    call, error, sentence = BAD[bad]
    before = X.copy()
    with pytest.raises(error) as raised:
        call()
    assert sentence in str(raised.value)
    np.testing.assert_array_equal(X, before)


def test_a_refused_result_is_not_written():
    y = np.full((2, 6), 7, np.float32)
    with pytest.raises(ValueError):
        ridge.relu(X, out=y)
    assert (y == 7).all()


def test_no_device():
    if _gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(ridge.NoDevice) as raised:
        ridge.relu(Foreign.of(X, (2, 0)), out=Foreign.of(X.copy(), (2, 0)))
    assert "GPU" in str(raised.value) or "CUDA" in str(raised.value)
    assert issubclass(ridge.NoDevice, RuntimeError) and issubclass(ridge.Unsupported, RuntimeError)


def _gpu():
    try:
        ridge.plan("relu", ridge.Spec((4,), device="cuda"))
    except ridge.NoDevice:
        return False
    return True


def test_a_foreign_tensor():
    y = Foreign.of(np.zeros_like(X))
    x = Foreign.of(-X, offset=8)
    assert ridge.relu(x, out=y) is y
    result = ridge.relu(x)
    assert type(result) is np.ndarray and (result == 0).all()
    assert set(x.asked) == {None}  # on the CPU no stream is named


def used():
    """Objects of Python's, and KiB that the process holds."""
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return sys.getallocatedblocks(), pages * os.sysconf("SC_PAGE_SIZE") // 1024


def assert_costs_no_memory(calls):
    """Caches fill in the first rounds. What leaked in one kind of call out of thirty would show in every round."""
    before = used()
    for _ in range(20):
        calls(10000)
        after = used()
        grown = after[0] - before[0], after[1] - before[1]
        if grown[0] < 100 and grown[1] < 64:
            return
        before = after
    raise AssertionError(f"the last 10,000 calls left {grown[0]} objects and {grown[1]} KiB behind")


def test_refusals_cost_no_memory():
    def calls(n):
        bad = list(BAD.values())
        for i in range(n):
            call, error, _ = bad[i % len(bad)]
            try:
                call()
            except error:
                pass

    assert_costs_no_memory(calls)


def test_calls_cost_no_memory():
    y = np.empty_like(X)
    kinds = [
        lambda: ridge.relu(X),
        lambda: ridge.relu(X, out=y),
        lambda: ridge.histogram(X, bins=4, range=(0, 2)),
        lambda: ridge.plan("relu", X).run(X),
        lambda: ridge.relu(Foreign.of(X)),
    ]

    def calls(n):
        for i in range(n):
            kinds[i % len(kinds)]()

    assert_costs_no_memory(calls)
