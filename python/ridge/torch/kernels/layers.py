"""Layers of the `kernels` library. Each takes over the forward of a module that has the parameters it names; it has no
state of its own, gradients as the operators have them, and compiles without a graph break.

    RMSNorm         weight; variance_epsilon or eps
    SiLU  GeLU  GeluTanh  NewGELU  FastGELU         activations; the last three are the same function
    SiluAndMul  GeluAndMul  GeluTanhAndMul          of the halves of the last axis, act(x1) * x2
    Linear          weight, bias
    SwiGLUMLP  GeGLUMLP                             gate_proj, up_proj and down_proj, of which the first two are one kernel
    rotary_pos_emb  of q and k, by tables of cosines and sines

Tensors of types that an operator does not mix, such as a float32 weight with bfloat16 activations, are computed by
PyTorch, as the layer's own forward would.
"""

import torch
import torch.nn.functional as F
from torch import nn

import ridge.torch  # noqa: F401, registers the operators
from ridge.torch.gated import gated

_RIDGE = torch.ops.ridge


class _Layer(nn.Module):
    """What is true of all. The library takes layers that have a forward and these two, and no constructor."""

    can_torch_compile = True
    has_backward = True


class RMSNorm(_Layer):
    def forward(self, hidden_states):
        eps = self.variance_epsilon if hasattr(self, "variance_epsilon") else self.eps
        if self.weight.dtype != hidden_states.dtype:
            wide = hidden_states.float()
            wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
            return self.weight * wide.to(hidden_states.dtype)
        return _RIDGE.rms_norm(hidden_states, self.weight, eps=eps)


class SiLU(_Layer):
    def forward(self, input):
        return _RIDGE.silu(input)


class GeLU(_Layer):
    def forward(self, input):
        return _RIDGE.gelu(input)


class GeluTanh(_Layer):
    def forward(self, input):
        return _RIDGE.gelu_tanh(input)


class NewGELU(GeluTanh):
    pass


class FastGELU(GeluTanh):
    pass


def _and_mul(activation, x):
    acted, other = x.chunk(2, dim=-1)
    return _RIDGE.mul(activation(acted), other)


class SiluAndMul(_Layer):
    def forward(self, x):
        return _and_mul(_RIDGE.silu, x)


class GeluAndMul(_Layer):
    def forward(self, x):
        return _and_mul(_RIDGE.gelu, x)


class GeluTanhAndMul(_Layer):
    def forward(self, x):
        return _and_mul(_RIDGE.gelu_tanh, x)


class Linear(_Layer):
    def forward(self, input):
        if self.weight.dtype != input.dtype:  # under autocast
            return F.linear(input, self.weight, self.bias)
        return _RIDGE.linear(input, self.weight, self.bias)


def _gated(module, x, activation):
    """down(act(gate(x)) * up(x)), the first two products in one kernel."""
    gate, up, down = module.gate_proj, module.up_proj, module.down_proj
    if gate.weight.dtype != x.dtype:
        acted = {"silu": F.silu, "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}[activation](gate(x))
        return down(acted * up(x))
    inner = gated(x, gate.weight, gate.bias, up.weight, up.bias, activation)
    return _RIDGE.linear(inner, down.weight, down.bias)


class SwiGLUMLP(_Layer):
    def forward(self, x):
        return _gated(self, x, "silu")


class GeGLUMLP(_Layer):
    def forward(self, x):
        return _gated(self, x, "gelu_tanh")


def _rotate(x, cos, sin, tokens_first):
    """x [batch, heads, tokens, d], or with tokens first; cos and sin [batch, tokens, rotary d], whose halves are alike."""
    x = x if tokens_first else x.transpose(1, 2)
    batch, tokens = x.shape[:2]
    rotated = cos.shape[-1]
    tables = (t.expand(batch, tokens, rotated).reshape(batch * tokens, rotated)[:, : rotated // 2] for t in (cos, sin))
    positions = torch.arange(batch * tokens, device=x.device).view(batch, tokens)
    y = _RIDGE.rope(x, positions, *tables, rotary_dim=rotated)
    return y if tokens_first else y.transpose(1, 2)


class rotary_pos_emb(_Layer):
    def forward(self, q, k, cos, sin, unsqueeze_dim=1):
        tokens_first = unsqueeze_dim == 2
        return _rotate(q, cos, sin, tokens_first), _rotate(k, cos, sin, tokens_first)
