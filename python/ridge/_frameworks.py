"""The array libraries: how each one's arrays are read, and how results are made for it.

Libraries are known by what is imported already: an array of a library that nobody imported cannot be here.
"""

import functools
import sys

from ._ridge import Unsupported
from ._spec import Lent, Spec

_CPU, _CUDA = 1, 2
_NAMES = {
    (2, 64): "float64", (2, 32): "float32", (2, 16): "float16", (4, 16): "bfloat16", (10, 8): "float8_e4m3fn",
    (12, 8): "float8_e5m2", (0, 64): "int64", (0, 32): "int32", (0, 8): "int8", (1, 8): "uint8", (6, 8): "bool",
}  # fmt: skip


def _numpy_dtype(dtype):
    import numpy

    name = _NAMES[dtype]
    if hasattr(numpy, name) or name == "bool":
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise Unsupported(
            f"a NumPy array of {name} is wanted, and NumPy has it from ml_dtypes, which is not here"
        ) from None
    return numpy.dtype(getattr(ml_dtypes, name))


class Framework:
    """What the extension asks of a library. make(shape, dtype, device) gives a function that makes one array."""

    reader = "dlpack"  # or: numpy, torch, spec
    stream = None  # stream(device) -> the current one's address
    finish = None  # finish(result) -> what the caller gets
    written = None  # written(tensor): a result went to this tensor of the caller's
    grad_enabled = None
    writable = True


class _NumPy(Framework):
    reader = "numpy"

    def make(self, shape, dtype, device):
        import numpy

        return functools.partial(numpy.empty, shape, _numpy_dtype(dtype))


class _Spec(Framework):
    """Never run; a plan made for it may be, with NumPy's arrays."""

    reader = "spec"
    make = _NumPy.make

    def __init__(self, writable):
        self.writable = writable


class _Torch(Framework):
    reader = "torch"

    def __init__(self, torch):
        self._torch = torch
        self.grad_enabled = torch.is_grad_enabled
        # Of what a backward pass saved, autograd then knows that it has changed.
        self.written = torch.autograd.graph.increment_version
        self.stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.to_dlpack = torch.utils.dlpack.to_dlpack  # where __dlpack_c_exchange_api__ is missing

    def refusal(self, tensor, error):
        """Why a tensor is not lent: the end of a sentence that begins with its name."""
        torch = self._torch
        if tensor.is_nested:
            return " is a nested tensor; it must be one of rows of one length (x.to_padded_tensor(0.0))"
        if tensor.layout != torch.strided:
            return f" is of layout {tensor.layout}; it must be of torch.strided (x.to_dense())"
        if tensor.device.type == "meta":
            return " is on the meta device, which has no data; it must be on the CPU or a GPU"
        if tensor.dtype not in {getattr(torch, name, None) for name in _NAMES.values()}:
            return f".dtype is {tensor.dtype}; it must be one of {' '.join(_NAMES.values())}"
        reason = str(error).partition("\n")[0]
        return f" is a tensor that PyTorch does not lend ({reason}); it must be one of data of its own"

    def make(self, shape, dtype, device):
        kind, index = device
        torch = self._torch
        where = torch.device("cpu") if kind != _CUDA else torch.device("cuda", index)
        return functools.partial(torch.empty, shape, dtype=getattr(torch, _NAMES[dtype]), device=where)


class _CuPy(Framework):
    def __init__(self, cupy):
        self._cupy = cupy

    def stream(self, device):
        with self._cupy.cuda.Device(device):
            return self._cupy.cuda.get_current_stream().ptr

    def make(self, shape, dtype, device):
        cupy, numpy_dtype = self._cupy, _numpy_dtype(dtype)

        def empty():
            with cupy.cuda.Device(device[1]):
                return cupy.empty(shape, numpy_dtype)

        return empty


class _ArrayApi(Framework):
    """JAX, and whatever else speaks DLPack. Its arrays need not be mutable: results are made by NumPy, and lent."""

    def __init__(self, cls):
        self._cls = cls
        self.writable = not cls.__module__.startswith("jax")
        self._namespace = self._namespace_of_jax() if not self.writable else None

    @staticmethod
    def _namespace_of_jax():
        import jax.numpy

        return jax.numpy

    def make(self, shape, dtype, device):
        if device[0] == _CUDA:
            raise Unsupported(
                f"{self._cls.__module__}.{self._cls.__qualname__}: its library cannot be asked for memory on a GPU; "
                "give out=, or bring PyTorch or CuPy arrays"
            )
        try:
            return _NumPy().make(shape, dtype, device)
        except ImportError:
            raise Unsupported("the result's array is made by NumPy, which is not here; give out=") from None

    def finish(self, result):
        if self._namespace is None:
            return result
        try:
            made = self._namespace.from_dlpack(result)
            if str(made.dtype) == str(result.dtype):
                return made
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # NumPy lends no bfloat16 through DLPack
        return self._namespace.asarray(result)


def _class(module, name):
    return getattr(sys.modules.get(module), name, ())


def of(cls):
    """The framework of arrays of this class; None where they are no arrays; a sentence's end where they are refused."""
    if issubclass(cls, _class("numpy", "ndarray")):
        if issubclass(cls, _class("numpy.ma", "MaskedArray")):
            return "is a masked array, whose mask would be lost; it must be filled (x.filled()) or compressed"
        return _NumPy()
    if issubclass(cls, _class("torch", "Tensor")):
        return _Torch(sys.modules["torch"])
    if issubclass(cls, _class("cupy", "ndarray")):
        return _CuPy(sys.modules["cupy"])
    if issubclass(cls, Spec):
        return _Spec(writable=issubclass(cls, Lent))
    return _ArrayApi(cls) if hasattr(cls, "__dlpack__") and hasattr(cls, "__dlpack_device__") else None
