"""A case's input tensors: random, of the fill that the case names."""

import math

import torch

from ridge.torch.library import DTYPES


class Source:
    """Makes tensors for one case, each other than the last."""

    def __init__(self, case, device):
        if case.dtype not in DTYPES:
            raise ValueError(f"case '{case.text}': dtype '{case.dtype}' is none of {' '.join(DTYPES)}")
        self.case, self.device, self.dtype = case, device, DTYPES[case.dtype]
        self.random = torch.Generator(device)
        self.random.manual_seed(int(case.option("seed", 1)))

    def __call__(self, *shape, dtype=None):
        dtype = dtype or self.dtype
        fill, _, constant = self.case.option("fill", "normal").partition(",")
        x = torch.empty(shape, dtype=torch.float64 if dtype == torch.float64 else torch.float32, device=self.device)
        if fill == "normal" and dtype.is_floating_point:
            x.normal_(generator=self.random)
        elif fill in ("normal", "uniform"):
            low, high = _range(dtype)
            x.uniform_(0, 1, generator=self.random)
            x = x if dtype.is_floating_point else x.mul_(high - low).add_(low).floor_()
        elif fill == "ints":
            x.uniform_(0 if dtype == torch.uint8 else -4, 5, generator=self.random).floor_()
        elif fill == "zipf":  # whole k >= 0 with a probability of about 1 / (k + 1)
            x.uniform_(0, 1, generator=self.random).mul_(math.log(256)).exp_().floor_().sub_(1).clamp_(max=255)
        elif fill in ("ones", "constant"):
            x.fill_(float(constant or 1))
        else:
            raise ValueError(
                f"case '{self.case.text}': fill '{fill}' is none of normal uniform ints ones constant,X zipf"
            )
        return self.placed(x.to(dtype))

    def placed(self, x):
        """The same elements where place= puts them, as `ridge bench` does. Outputs are PyTorch's own, and so never in
        place: a peer would not find what Ridge was given. Indices lie plainly."""
        place = self.case.option("place", "plain")
        if place in ("plain", "inplace") or not x.is_floating_point():
            return x
        if place == "offset":
            view = x.new_empty(x.numel() + 1)[1:].view(x.shape)
        elif x.dim() < 2:
            return x
        elif place == "padded":
            view = x.new_empty(*x.shape[:-1], x.shape[-1] + 3)[..., : x.shape[-1]]
        elif place == "packed":  # one of three beside each other: heads, or all heads of a token
            row = x.shape[-2:] if x.dim() >= 4 else x.shape[-1:]
            view = x.new_empty(*x.shape[: -len(row)], 3, *row).select(-len(row) - 1, 1)
        else:
            raise ValueError(f"case '{self.case.text}': place '{place}' is none of plain offset padded packed")
        return view.copy_(x)


def _range(dtype):
    """The first whole number, and one past the last, of a type; wide integers are bytes, as Ridge's own fills are."""
    if dtype == torch.bool:
        return 0, 2
    return (-128, 128) if dtype == torch.int8 else (0, 256)
