"""Operators under torch.autocast: products in the region's type; exponentials, softmax, sums and norms in float32, and
what asks for double-floats.

The lists are those of PyTorch for CUDA, and hold on either device, so that a model has the same types on both.
Everything else keeps the types of its inputs. Of the inputs, floats but float64 are converted.
"""

import torch

CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d")
PRODUCTS = frozenset({"gemm", "linear", "gemv", *CONVOLUTIONS, "dwconv", "attention"})
IN_FLOAT32 = frozenset(
    {
        "exp",
        "softmax",
        "log_softmax",
        "sum",
        "layer_norm",
        "rms_norm",
        "add_layer_norm",
        "add_rms_norm",
        "group_norm",
    }
)
_FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16})


def register(library, name):
    """Registers an operator of the lists; others pass torch.autocast untouched."""
    if name not in PRODUCTS | IN_FLOAT32:
        return
    for device in ("cpu", "cuda"):
        library.impl(name, _kernel(name, device), f"Autocast{device.upper()}")


def _kernel(name, device):
    overload = getattr(torch.ops.ridge, name).default
    own_key = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{device.upper()}"))

    def kernel(*tensors, **options):
        in_float32 = name in IN_FLOAT32 or options.get("accumulate") == "two_float"
        dtype = torch.float32 if in_float32 else torch.get_autocast_dtype(device)
        if dtype != torch.float32:
            options.pop("math", None)  # how float32 is to be multiplied
        with torch._C._ExcludeDispatchKeyGuard(own_key):
            return overload(*(_cast(t, device, dtype) for t in tensors), **options)

    return kernel


def _cast(tensor, device, dtype):
    if tensor is None or tensor.device.type != device or tensor.dtype not in _FLOATS:
        return tensor
    return tensor.to(dtype)
