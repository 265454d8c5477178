"""act(x gate^T + bias) * (x up^T + up_bias) by one product: what gated layers and the patterns of them call."""

import torch


def gated(x, gate, bias, up, up_bias, activation):
    """x [..., in]; gate and up [out, in], each bias [out] or None. Returns [..., out]."""
    parts = ["bias" if bias is not None else "", activation, "gate", "gate_bias" if up_bias is not None else ""]
    y = torch.ops.ridge.gemm(
        x.reshape(-1, x.shape[-1]),
        gate,
        bias=bias,
        gate=up,
        gate_bias=up_bias,
        layout="nt",
        epilogue="+".join(part for part in parts if part),
    )
    return y.view(*x.shape[:-1], gate.shape[0])
