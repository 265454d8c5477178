"""ridge.Spec: a tensor that is not there."""

_DTYPES = {
    "f64": (2, 64), "f32": (2, 32), "f16": (2, 16), "bf16": (4, 16), "f8e4m3": (10, 8), "f8e5m2": (12, 8),
    "i64": (0, 64), "i32": (0, 32), "i8": (0, 8), "u8": (1, 8), "bool": (6, 8),
    "float64": (2, 64), "float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16),
    "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8), "int64": (0, 64), "int32": (0, 32), "int8": (0, 8),
    "uint8": (1, 8),
}  # fmt: skip
_CPU, _CUDA = 1, 2


def _dtype_name(dtype):
    """An element type's name: of a text, or of a type or dtype of NumPy's, PyTorch's, ml_dtypes' or JAX's.

    What an object says of itself is enough, so that no library is imported for it.
    """
    name = None
    if isinstance(dtype, type):
        name = dtype.__name__.rstrip("_")  # numpy.float32, jax.numpy.bfloat16; numpy.bool_ before NumPy 2
    elif getattr(dtype, "isnative", True):  # numpy.dtype(">f4") has its bytes in another order
        name = str(dtype).rpartition(".")[2]  # "f32", numpy.dtype("f4"), torch.bfloat16
    if name not in _DTYPES:
        raise TypeError(
            f"Spec: dtype is {dtype!r}; it must be one of {' '.join(_DTYPES)}, "
            "or such a dtype of NumPy, PyTorch, ml_dtypes or JAX"
        )
    return name


class Spec:
    """What a tensor would be: enough for ridge.plan().

    shape    its sizes
    dtype    "f32", "bf16", ... or a library's name for it, "float32", "torch.bfloat16"; or the library's own:
             numpy.float32, numpy.dtype("f4"), torch.bfloat16, ml_dtypes.float8_e5m2. TypeError for what is none
    strides  in elements; row major without gaps where they are not given
    device   "cpu" or "cuda:1"
    """

    _address = 0  # of no memory: as if aligned to anything, and apart from every other tensor

    def __init__(self, shape, dtype="f32", strides=None, device="cpu"):
        self.shape = tuple(int(size) for size in shape)
        self.dtype = _dtype_name(dtype)
        if strides is None:
            strides, step = [], 1
            for size in reversed(self.shape):
                strides.insert(0, step)
                step *= max(size, 1)
        self.strides = tuple(int(stride) for stride in strides)
        if len(self.strides) != len(self.shape):
            raise ValueError(f"Spec: strides are of {len(self.strides)} axes; they must be of {len(self.shape)}")
        kind, _, index = str(device).partition(":")
        if kind not in ("cpu", "cuda") or not (index or "0").isdecimal():
            raise ValueError(f"Spec: device is '{device}'; it must be cpu, cuda or cuda:N")
        self.device = str(device)
        self._place = (_CPU, 0) if kind == "cpu" else (_CUDA, int(index or 0))

    @staticmethod
    def name_of(code, bits):
        """The dtype of DLPack's type code and bits."""
        return next(name for name, kind in _DTYPES.items() if kind == (code, bits))

    def _fields(self):  # what the extension reads
        return (*_DTYPES[self.dtype], *self._place, self.shape, self.strides, self._address)

    def __repr__(self):
        return f"ridge.Spec({self.shape}, '{self.dtype}', strides={self.strides}, device='{self.device}')"


class Lent(Spec):
    """What a plan keeps of a tensor that it was made from: all that the choice of a variant can see of it."""

    def __init__(self, code, bits, device_type, device_id, shape, strides, address):
        self.shape, self.strides, self.dtype = shape, strides, self.name_of(code, bits)
        self.device = "cpu" if device_type == _CPU else f"cuda:{device_id}"
        self._place, self._address = (device_type, device_id), address
