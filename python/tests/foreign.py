"""Tensors of a library that speaks DLPack and nothing else, which may lie about itself."""

import ctypes


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):  # before DLPack 1.0
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


def sizes(*values):
    return (ctypes.c_int64 * len(values))(*values)


def capsule(pointer, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(pointer), name, None)


class Foreign:
    """Float32s at an address, on any device that is claimed. `fields` are the DLTensor's, told as they are given."""

    def __init__(self, address, shape, /, device=(1, 0), offset=0, **fields):
        self.device, self.asked = device, []
        self.managed = _Managed()
        self.tell(self.managed.tensor, address - offset, shape, device, offset, fields)

    def tell(self, tensor, data, shape, device, offset, fields):
        told = {
            "data": data, "device_type": device[0], "device_id": device[1], "ndim": len(shape), "code": 2, "bits": 32,
            "lanes": 1, "shape": sizes(*shape), "byte_offset": offset, **fields,
        }  # fmt: skip
        self.kept = told
        for field, value in told.items():
            setattr(tensor, field, value)

    @classmethod
    def of(cls, array, /, *arguments, **fields):
        made = cls(array.ctypes.data, array.shape, *arguments, **fields)
        made.array = array
        return made

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):  # before DLPack 1.0: no max_version
        self.asked.append(stream)
        return capsule(self.managed, b"dltensor")


class Versioned(Foreign):
    def __init__(self, address, shape, /, device=(1, 0), offset=0, version=(1, 1), flags=0, **fields):
        self.device, self.asked = device, []
        self.managed = _Versioned(major=version[0], minor=version[1], flags=flags)
        self.tell(self.managed.tensor, address - offset, shape, device, offset, fields)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append(stream)
        return capsule(self.managed, b"dltensor_versioned")
