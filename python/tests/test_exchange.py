"""Tensors that lie about themselves, by each way that they come: a sentence, and neither a crash nor a wrong answer."""

import ctypes

import numpy as np
import pytest
from foreign import Foreign, Versioned, sizes

import ridge

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
MOST = 2**64 - 1

# What a DLTensor says, how it is refused where there is one of a kind (an input, a result), and in which words.
LIES = {
    "negative rank": (dict(ndim=-1), ValueError, ".shape has -1 axes"),
    "lowest rank": (dict(ndim=-(2**31)), ValueError, ".shape has -2147483648 axes"),
    "nine axes": (dict(ndim=9, shape=sizes(*[1] * 9)), ValueError, ".shape has 9 axes"),
    "greatest rank": (dict(ndim=2**31 - 1), ValueError, ".shape has 2147483647 axes"),
    "no shape": (dict(shape=None), ValueError, ".shape is NULL; it must be an array of ndim sizes"),
    "negative size": (dict(shape=sizes(4, -6)), ValueError, ".shape is 4x-6; it must be of sizes that are not"),
    "lowest size": (dict(shape=sizes(-(2**63), 6)), ValueError, "; it must be of sizes that are not negative"),
    "too many bytes": (dict(shape=sizes(2**40, 2**21)), ValueError, "; it must be of fewer than 2^63 bytes"),
    "too many bytes in all": (dict(shape=sizes(2**62, 2**62)), ValueError, "; it must be of fewer than 2^63 bytes"),
    "too many beside none": (dict(shape=sizes(0, 2**62)), ValueError, "; it must be of fewer than 2^63 bytes"),
    "far strides": (dict(strides=sizes(2**62, 1)), ValueError, ".strides is 4611686018427387904,1"),
    "lowest stride": (dict(strides=sizes(-(2**63), 1)), ValueError, "; it must be such that elements lie within"),
    "before all memory": (dict(strides=sizes(-(2**58), 1)), ValueError, "elements lie"),
    "offset past the end": (dict(byte_offset=MOST - 3), ValueError, ".byte_offset is 18446744073709551612"),
    "misaligned": (dict(byte_offset=2), ValueError, ".data is at an address that is not a multiple of 4"),
    "no data": (dict(data=None), ValueError, ".data is NULL; it must be a pointer to its elements"),
    "no data, an offset": (dict(data=None, byte_offset=MOST), ValueError, ".data is NULL; it must be a pointer"),
    "lanes": (dict(lanes=4), TypeError, ".dtype is float32 in 4 lanes"),
    "no lanes": (dict(lanes=0), TypeError, ".dtype is float32 in 0 lanes"),
    "int16": (dict(code=0, bits=16), TypeError, ".dtype is int16; it must be one of float64"),
    "int4": (dict(code=0, bits=4), TypeError, ".dtype is int4"),
    "no bits": (dict(code=2, bits=0), TypeError, ".dtype is float0"),
    "complex64": (dict(code=5, bits=64), TypeError, ".dtype is complex64"),
    "a handle": (dict(code=3, bits=64), TypeError, ".dtype is DLPack's code 3 of 64 bits"),
    "no type": (dict(code=255, bits=255), TypeError, ".dtype is DLPack's code 255 of 255 bits"),
    "Metal": (dict(device_type=8), ValueError, ".device.device_type is 8; it must be kDLCPU"),
    "no device": (dict(device_type=-1), ValueError, ".device.device_type is -1; it must be kDLCPU"),
    "a GPU unsaid": (dict(device_type=2), ValueError, " is on a GPU; its __dlpack_device__() must say so"),
    "a GPU below 0": (dict(device=(2, -1)), (ValueError, ridge.Unsupported), ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", [Foreign, Versioned])
@pytest.mark.parametrize("lie", LIES)
def test_a_tensor_that_lies(lie, kind):
    fields, error, sentence = LIES[lie]
    x, y = X.copy(), np.full_like(X, 7)
    plan = ridge.plan("relu", X)
    for name, call in {
        "a": lambda: ridge.relu(kind.of(x, **fields)),
        "b": lambda: ridge.add(X, kind.of(x, **fields)),
        "y": lambda: ridge.relu(X, out=kind.of(y, **fields)),
        "A": lambda: plan.run(kind.of(x, **fields)),
        "Y": lambda: plan.run(X, out=kind.of(y, **fields)),
    }.items():
        with pytest.raises(error) as raised:
            call()
        assert (f": {name.lower()}" in str(raised.value) and sentence in str(raised.value)) or not sentence
    for call in [
        lambda: ridge.plan("relu", kind.of(x, **fields)),
        lambda: ridge.infer("relu", kind.of(x, **fields)),
    ]:
        try:
            call()  # a plan can come before its tensors' data
        except error:
            continue
        assert "data" in lie or lie == "misaligned" or "all memory" in lie
    np.testing.assert_array_equal(x, X)
    assert (y == 7).all()


def test_truths_that_look_like_lies():
    x = X.copy()
    relu = np.maximum(X, 0)
    np.testing.assert_array_equal(ridge.relu(Versioned.of(x)), relu)
    np.testing.assert_array_equal(ridge.relu(Versioned.of(x, version=(1, 99), flags=1)), relu)  # read-only
    np.testing.assert_array_equal(ridge.relu(Foreign.of(x, strides=sizes(6, 1), byte_offset=0)), relu)
    back = Foreign(x[-1:].ctypes.data, (4, 6), strides=sizes(-6, 1))
    np.testing.assert_array_equal(ridge.relu(back), relu[::-1])
    assert ridge.relu(Foreign(0, (0, 6), strides=sizes(-(2**63), 2**63 - 1))).shape == (0, 6)
    assert ridge.relu(Foreign(x.ctypes.data, (), shape=None)) == relu[0, 0]


def test_versions_and_flags():
    y = X.copy()
    with pytest.raises(ridge.Unsupported, match="a comes as DLPack 2.0; it must come as DLPack 1"):
        ridge.relu(Versioned.of(y, version=(2, 0)))
    with pytest.raises(ValueError, match="y is read-only"):
        ridge.relu(X, out=Versioned.of(y, flags=1))
    with pytest.raises(ValueError, match="y came as a copy of itself; it must be lent"):
        ridge.relu(X, out=Versioned.of(y, flags=2))
    np.testing.assert_array_equal(y, X)


@pytest.mark.parametrize("device", [None, 3, (), (1,), (1, 0, 0), [1, 0], "ab", ("a", "b"), (2**70, 0), (1.5, 0)])
def test_a_device_that_is_no_pair(device):
    class Odd(Foreign):
        def __dlpack_device__(self):
            return device

    with pytest.raises(TypeError, match=r"a.__dlpack_device__\(\) gave .*; it must give a pair of numbers"):
        ridge.relu(Odd.of(X))


@pytest.mark.parametrize("given", [None, 3, X, ctypes.py_object.from_buffer])
def test_no_capsule(given):
    class Odd(Foreign):
        def __dlpack__(self, **_):
            return given

    with pytest.raises(TypeError, match=r"a.__dlpack__\(\) gave no DLPack capsule"):
        ridge.relu(Odd.of(X))


def test_a_capsule_that_was_taken():
    class Used(Foreign):
        def __dlpack__(self, **_):
            return used

    tensor = Foreign.of(X.copy())
    used = tensor.__dlpack__()
    assert ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(used), b"used_dltensor") == 0
    with pytest.raises(TypeError, match=r"a.__dlpack__\(\) gave no DLPack capsule"):
        ridge.relu(Used.of(X))


def test_a_producer_that_raises():
    class Raises(Foreign):
        def __dlpack__(self, **_):
            raise BufferError("not today")

    with pytest.raises(BufferError, match="not today"):
        ridge.relu(Raises.of(X))


def test_other_ways_to_lend_memory():
    """Those that Ridge does not take: what comes by them alone is no tensor, whatever it says of itself."""
    lies = {"shape": (-1,), "typestr": "<f4", "data": (0, False), "version": 3}
    told = [type("T", (), {name: lies})() for name in ("__array_interface__", "__cuda_array_interface__")]
    for thing in [*told, bytes(16), bytearray(16), memoryview(X), (ctypes.c_float * 4)()]:
        with pytest.raises(TypeError, match="; it must be a tensor: a NumPy"):
            ridge.relu(thing)


def test_arrays_that_lie():
    class Lies(np.ndarray):
        __array_struct__ = 3

    with pytest.raises((TypeError, ValueError)):
        ridge.relu(X.view(Lies))


# ---- PyTorch's tensors that are more than memory --------------------------------------------------------------------


def torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.ones(3, 3)
    return torch, {
        "int16": (lambda: x.to(torch.int16), "a.dtype is torch.int16; it must be one of float64"),
        "complex": (lambda: x.to(torch.complex64), "a.dtype is torch.complex64"),
        "quantized": (lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "a.dtype is torch.qint8"),
        "meta": (lambda: x.to("meta"), "a is on the meta device, which has no data"),
        "sparse": (lambda: x.to_sparse(), "a is of layout torch.sparse_coo; it must be of torch.strided"),
        "rows": (lambda: x.to_sparse_csr(), "a is of layout torch.sparse_csr; it must be of torch.strided"),
        "nested": (lambda: torch.nested.nested_tensor([x[0], x[0, :2]]), "a is a nested tensor"),
        "jagged": (
            lambda: torch.nested.nested_tensor([x[0], x[0, :2]], layout=torch.jagged),
            "a is a nested tensor",
        ),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["int16", "complex", "quantized", "meta", "sparse", "rows", "nested", "jagged"])
def test_torch(kind):
    torch, tensors = torch_tensors()
    make, sentence = tensors[kind]
    try:
        x = make()
    except RuntimeError:
        pytest.skip("this PyTorch makes none")
    with pytest.raises(TypeError) as raised:
        ridge.relu(x)
    assert f"relu: {sentence}" in str(raised.value) and "\n" not in str(raised.value)
    with pytest.raises(TypeError, match="relu: y"):
        ridge.relu(torch.ones(3, 3), out=x)


@pytest.mark.filterwarnings("ignore")
def test_torch_that_lends_nothing():
    torch, _ = torch_tensors()
    with pytest.raises(TypeError, match="a is a tensor that PyTorch does not lend"):
        torch.vmap(ridge.relu)(torch.ones(3, 2))
